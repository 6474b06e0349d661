"""The directories that servers write to: whether a file can be written in each of them."""

from pathlib import Path

from dawr.traffic.directory import TrafficDirectory


def test_a_directory_is_writable_when_it_is_there_or_can_be_made(tmp_path: Path) -> None:
    directory = TrafficDirectory(tmp_path / "traffic")
    directory.prepare()
    directory.spools.rmdir()

    assert directory.count_unwritable() == 0
    assert list(directory.spools.iterdir()) == []


def test_each_directory_that_was_replaced_by_a_file_counts(tmp_path: Path) -> None:
    directory = TrafficDirectory(tmp_path / "traffic")
    directory.prepare()
    for number, folder in enumerate((directory.spools, directory.counters), start=1):
        folder.rmdir()
        folder.write_text("no directory can be here")

        assert directory.count_unwritable() == number
