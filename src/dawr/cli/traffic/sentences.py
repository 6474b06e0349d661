"""What goes wrong with the statistics, in a sentence and with exit code 1."""

import apsw
import asyncpg
import click

from dawr.stores import reasons
from dawr.traffic.archive.query import QueryFailed
from dawr.traffic.database import DatabaseAway
from dawr.traffic.dead import DeadLetterRefused

SAID = (DeadLetterRefused, QueryFailed)


class SentencesGroup(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SAID as error:
            raise click.ClickException(str(error)) from error
        except DatabaseAway as away:
            raise click.ClickException(reasons.of_either(away)) from away
        except (apsw.Error, asyncpg.PostgresError) as error:
            raise click.ClickException(
                f"The traffic statistics cannot be read ({error}): does another version of Dawr serve here?"
            ) from error
