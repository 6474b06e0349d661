"""Links: whether they lead here from paper and from another phone."""

from dawr.cli.check.findings import Report
from dawr.settings import Settings


def look_at_links(settings: Settings, report: Report) -> None:
    if settings.public_url:
        report.fine(f"QR codes and links begin with {settings.public_url}.", about="settings")
    else:
        report.warn(
            "DAWR_PUBLIC_URL is empty, so links do not say where this server is: pages show no QR code, and a link "
            "that is sent or printed leads nowhere. Set it to the address that phones open, like "
            "https://queue.example.org.",
            about="settings",
        )
