"""The certificate that the server shows: read once, so that every worker has the same until the next start."""

import ssl
from pathlib import Path
from typing import NoReturn

from dawr.settings import Settings, SettingUnfit


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """None: plain HTTP. What cannot be used is refused in a sentence."""
    if not (settings.tls_cert or settings.tls_key):
        return None
    if not (settings.tls_cert and settings.tls_key):
        missing, given = ("KEY", "CERT") if settings.tls_cert else ("CERT", "KEY")
        raise SettingUnfit(f"DAWR_TLS_{given} needs DAWR_TLS_{missing} beside it: TLS takes a certificate and its key.")
    must_be_readable("DAWR_TLS_CERT", settings.tls_cert)
    must_be_readable("DAWR_TLS_KEY", settings.tls_key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=_refuse_password)
    except ssl.SSLError as error:
        is_other = "MISMATCH" in (error.reason or "")
        why = "the key is another certificate's" if is_other else "they are not a certificate and its key in PEM"
        raise SettingUnfit(
            f"DAWR_TLS_CERT ({settings.tls_cert}) and DAWR_TLS_KEY ({settings.tls_key}) do not fit: {why}."
        ) from error
    return context


def must_be_readable(setting: str, file: str) -> None:
    try:
        with Path(file).open("rb"):
            pass
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SettingUnfit(f"{setting} names {Path(file).absolute()}, which cannot be read: {why}.") from error


def _refuse_password() -> NoReturn:
    """Nobody is there to type one when a server starts by itself."""
    raise SettingUnfit("DAWR_TLS_KEY names a key with a password: give one without, that only Dawr may read.")
