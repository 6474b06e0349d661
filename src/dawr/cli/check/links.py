"""Links: whether they lead here from paper and from another phone."""

from dawr.cli.check.findings import Report
from dawr.settings import Settings


def look_at_links(settings: Settings, report: Report, *, is_of_server: bool) -> None:
    """Judge the setting of the running server if it is known, else that of this command."""
    if settings.public_url:
        report.fine(f"QR codes and links begin with {settings.public_url}.", about="settings")
        return
    whose = "is empty, so" if is_of_server else "is not set for this command. If the server has none either,"
    report.warn(
        f"DAWR_PUBLIC_URL {whose} links do not say where this server is: pages show no QR code, and a link that is "
        "sent or printed leads nowhere. Set it to the address that phones open, like https://queue.example.org.",
        about="settings",
    )
