"""`dawr traffic`: how the statistics fare, whether they are right, their dead letters, archives and rows."""

import click

from dawr.cli.traffic.archive import archive
from dawr.cli.traffic.dead import dead
from dawr.cli.traffic.query import query
from dawr.cli.traffic.replay import replay
from dawr.cli.traffic.sentences import SentencesGroup
from dawr.cli.traffic.status import status
from dawr.cli.traffic.verify import verify


@click.group("traffic", cls=SentencesGroup)
def command() -> None:
    """Look at the traffic statistics, verify them, and mend them. Also while the server runs."""


for _subject in (status, verify, dead, replay, archive, query):
    command.add_command(_subject)
