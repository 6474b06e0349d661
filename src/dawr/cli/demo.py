"""`dawr demo`: sample venues on this machine, to try everything on."""

import click
import uvloop

from dawr import bootstrap
from dawr.cli.options import address_options, data_option, sentences, settings_of
from dawr.cli.serve import serve
from dawr.sample import CLINIC, RESTAURANT

DEMO_DATA = "data/demo"


@click.command("demo")
@address_options
@data_option
@click.option(
    "--password", metavar="TEXT", help="Password of the sample staff account; accounts come with the staff API."
)
def command(host: str | None, port: int | None, data: str | None, password: str | None) -> None:
    """Start the sample venues: a clinic with twelve queues, and a restaurant."""
    if password is not None:
        click.echo("This version has no staff accounts yet: --password has no effect.", err=True)
    with sentences():
        settings = settings_of(host=host, port=port, data=data or DEMO_DATA, database_url="")
        bootstrap.configure_logs(settings)
        uvloop.run(serve(settings, CLINIC, RESTAURANT))
