"""Which file systems an embedded database may live on."""

from pathlib import Path

import pytest

from dawr.stores.data_directory import NETWORK_FILE_SYSTEMS, file_system_of

MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
24 22 0:22 / /tmp rw,nosuid shared:5 - tmpfs tmpfs rw
25 22 0:23 / /var/lib/docker/overlay rw - overlay overlay rw,lowerdir=/a
30 22 0:40 / /srv rw,relatime shared:7 master:2 - nfs4 server:/srv rw,vers=4.2
31 30 254:1 / /srv/local rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/with\040space rw - cifs //server/share rw
33 22 0:42 / /mnt/عيادة rw - nfs server:/clinic rw
34 22 0:43 / /mnt/ssh rw - fuse.sshfs me@server: rw
35 22 0:44 / /mnt/twice rw - ext4 /dev/vdc rw
36 35 0:45 / /mnt/twice rw - nfs server:/over rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/dawr/data", "ext4"),
        ("/tmp/data", "tmpfs"),
        ("/tmpfiles", "ext4"),
        ("/var/lib/docker/overlay/data", "overlay"),
        ("/srv/local/data", "xfs"),
    ],
)
def test_a_local_disk_is_fit_for_a_database(mounts: Path, path: str, kind: str) -> None:
    assert file_system_of(Path(path), mounts) == kind
    assert kind not in NETWORK_FILE_SYSTEMS


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv", "nfs4"),
        ("/srv/data", "nfs4"),
        ("/mnt/with space/data", "cifs"),
        ("/mnt/عيادة/data", "nfs"),
        ("/mnt/ssh/data", "fuse.sshfs"),
        ("/mnt/twice/data", "nfs"),
    ],
)
def test_a_network_file_system_is_not(mounts: Path, path: str, kind: str) -> None:
    assert file_system_of(Path(path), mounts) == kind
    assert kind in NETWORK_FILE_SYSTEMS


def test_where_the_system_cannot_tell_nothing_is_refused(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "no-such-file") is None
    assert file_system_of(tmp_path, empty(tmp_path)) is None


def test_the_directory_of_this_test_is_fit(tmp_path: Path) -> None:
    assert file_system_of(tmp_path) not in NETWORK_FILE_SYSTEMS


def empty(directory: Path) -> Path:
    file = directory / "empty"
    file.touch()
    return file
