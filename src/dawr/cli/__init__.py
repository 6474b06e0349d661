"""The command line. Each command is a module that is imported only when it is asked for."""

from importlib import import_module

import click

COMMANDS = {
    "demo": "Start the sample venues.",
    "serve": "Serve this installation.",
    "consume": "Count requests where no server does so by itself.",
    "migrate": "Bring the database's schema up to date.",
    "check": "Look an installation over and explain what is wrong.",
    "backup": "Copy the database while it is in use.",
    "restore": "Put a backup in place.",
    "venue": "Begin a venue's file, set one up, list venues, or print one.",
    "queue": "Open, pause, resume, close or reset a queue.",
    "staff": "Add staff, change their roles and passwords, disable and enable them.",
    "token": "Make, list and revoke bearer tokens.",
    "traffic": "Look at the traffic statistics, verify them, and mend them.",
}


class LazyGroup(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        """What is wrong with the set-up or the request is said in a sentence, with exit code 1."""
        from dawr.cli.options import sentences  # noqa: PLC0415 - help and the version need nothing of it

        with sentences():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dawr.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 - click calls it
    if is_asked:
        from dawr import __version__  # noqa: PLC0415 - it may start git, and no command waits for that

        click.echo(f"dawr, version {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Dawr: a queue for places where people wait. Every number once."""
