"""Every setting has a name, a default and a range; a wrong one is said in a sentence."""

import pytest

from dawr.settings import Settings, SettingUnfit, from_environment, unknown


def test_without_an_environment_everything_has_its_default() -> None:
    assert from_environment({}) == Settings()


def test_the_environment_sets_and_the_command_line_overrules() -> None:
    environment = {"DAWR_PORT": "9000", "DAWR_HOST": " ::1 ", "DAWR_LANES": "8", "PATH": "/bin"}

    settings = from_environment(environment, port=9001, host=None)

    assert (settings.port, settings.host, settings.lanes) == (9001, "::1", 8)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("port", 0, 65535),
        ("workers", 1, 64),
        ("lanes", 1, 64),
        ("batch_limit", 1, 1000),
        ("most_waiting", 1, 1_000_000),
        ("answers_kept_hours", 24, 720),
    ],
)
def test_a_number_is_taken_within_its_range_and_refused_outside(name: str, least: int, most: int) -> None:
    for value in (least, most):
        assert getattr(from_environment({f"DAWR_{name.upper()}": str(value)}), name) == value

    for value in (least - 1, most + 1):
        with pytest.raises(SettingUnfit, match=rf"DAWR_{name.upper()} \({name}='{value}'\) cannot be used: Expected"):
            from_environment({f"DAWR_{name.upper()}": str(value)})


@pytest.mark.parametrize("value", ["", "abc", "1.5", "0x10", "٣", "9" * 40, "true", "null"])
def test_what_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(SettingUnfit, match="DAWR_PORT"):
        from_environment({"DAWR_PORT": value})


@pytest.mark.parametrize("name", ["data", "host", "metrics_host"])
def test_a_name_may_not_be_empty(name: str) -> None:
    with pytest.raises(SettingUnfit, match=f"DAWR_{name.upper()}"):
        from_environment({f"DAWR_{name.upper()}": "  "})


def test_a_level_of_the_log_is_one_of_four() -> None:
    assert from_environment({"DAWR_LOG_LEVEL": "debug"}).log_level == "debug"
    with pytest.raises(SettingUnfit, match="DAWR_LOG_LEVEL"):
        from_environment({"DAWR_LOG_LEVEL": "DEBUG"})


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]


def test_a_name_that_is_no_setting_is_noticed() -> None:
    environment = {"DAWR_PROT": "1", "DAWR_PORT": "1", "DAWR_TEST_VALKEY": "x", "DAWRF": "x", "dawr_port": "x"}

    assert unknown(environment) == {
        "DAWR_PROT": "DAWR_PROT is set, but is no setting of this version: do you mean DAWR_PORT?"
    }
