"""Which alerts are shown: those that go on, then those that ended lately."""

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY
from dawr.traffic.reading.alerts import Alert, alerts
from tests.traffic.builders import NOON


async def test_alerts_that_go_on_come_first_then_those_of_the_last_seven_days(database: Database) -> None:
    def an_alert(name: str, began_at: int, ended_at: int | None) -> Alert:
        return Alert(name, "warning", "Too much.", 1.5, began_at, began_at + 1, began_at + 2, ended_at)

    given = [
        an_alert("ended", NOON - 5, NOON - 1),
        an_alert("goes on", NOON - 9, None),
        an_alert("ended a week ago", NOON - 8 * MS_PER_DAY, NOON - 7 * MS_PER_DAY),
        an_alert("ended before", NOON - 8 * MS_PER_DAY, NOON - 7 * MS_PER_DAY - 1),
        an_alert("goes on since", NOON - 3, None),
    ]
    rows = [(a.name, a.began_at, a.level, a.sentence, a.value, a.told_at, a.seen_at, a.ended_at) for a in given]
    await database.transact(lambda transaction: transaction.change_each("save_alerts", rows))

    found = await alerts(database, NOON)

    assert found == [given[4], given[1], given[0], given[2]]
