"""What commands share: the options that overrule settings, and sentences instead of stack traces."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec

from dawr import bootstrap
from dawr.bootstrap.control import ControlFailed
from dawr.domain.errors import Refused
from dawr.ports.faults import Busy, StoreFault
from dawr.settings import Settings, SettingUnfit, from_environment
from dawr.stores.backup import BackupFailed
from dawr.stores.data_directory import DataDirectoryUnfit
from dawr.stores.migrations import SchemaUnfit
from dawr.stores.moving import MoveFailed
from dawr.web.server.server import AddressTaken
from dawr.web.wording import sentence_of

SAID_IN_A_SENTENCE = (
    AddressTaken,
    BackupFailed,
    Busy,
    ControlFailed,
    DataDirectoryUnfit,
    MoveFailed,
    SchemaUnfit,
    SettingUnfit,
    StoreFault,
)


host_option = click.option("--host", help="Address to listen on (DAWR_HOST).")
port_option = click.option("--port", type=int, help="Port to listen on (DAWR_PORT).")
tls_cert_option = click.option("--tls-cert", metavar="FILE", help="TLS certificate with its chain (DAWR_TLS_CERT).")
tls_key_option = click.option("--tls-key", metavar="FILE", help="Private key of the certificate (DAWR_TLS_KEY).")
data_option = click.option("--data", metavar="DIR", help="Directory of the embedded database (DAWR_DATA).")
venue_option = click.option("--venue", metavar="SLUG", help="The venue (DAWR_CLINIC_VENUE); the only one by default.")


@contextmanager
def sentences() -> Iterator[None]:
    """What is wrong with the set-up or the request is said in a sentence, with exit code 1."""
    try:
        yield
    except Refused as refusal:
        raise click.ClickException(sentence_of(refusal)) from refusal
    except SAID_IN_A_SENTENCE as error:
        raise click.ClickException(str(error) or str(error.__doc__)) from error


def settings_of(**given: str | int | None) -> Settings:
    settings = from_environment(bootstrap.environment(), **given)
    bootstrap.refuse_what_cannot_be(settings)
    return settings


def quiet(settings: Settings) -> Settings:
    """The same, while only what goes wrong is to be logged: what is said is for a person or a script to read."""
    level = settings.log_level if settings.log_level == "error" else "warning"
    return msgspec.structs.replace(settings, log_level=level)
