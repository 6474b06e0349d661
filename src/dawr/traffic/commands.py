"""What tools ask of whoever may write to the statistics: the traffic process through its socket, or themselves.

An answer is a sentence, also when it was refused. An archive takes its time: whoever asks for it while it is under
way waits a moment and is told how far it is, and asks again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from dawr.traffic.archive.archiving import DAYS, Archived, ArchiveFailed, Step, archive_day, archive_due
from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.dead import DeadLetterRefused, Done, Progress, drop, drop_all, replay, replay_all
from dawr.traffic.directory import TrafficDirectory

DROP = "drop-dead-letters"
REPLAY = "replay-dead-letters"
ARCHIVE = "archive"
PATIENCE_SECONDS = 10.0
"""A tool gives up on an answer after 30."""

REFUSED = (ArchiveFailed, DatabaseAway, DeadLetterRefused)

Handler = Callable[[msgspec.Raw], Awaitable[object]]


class Letters(msgspec.Struct, frozen=True):
    """Which dead letters; None is all of them."""

    seqs: list[int] | None = None


class Day(msgspec.Struct, frozen=True):
    """Which day is archived; None is every day that is due."""

    day: int | None = None


class Said(msgspec.Struct, frozen=True):
    sentence: str
    is_done: bool = True
    is_refused: bool = False


class Commands:
    def __init__(
        self, database: Database, directory: TrafficDirectory, clock: Callable[[], int], *, details_days: int = DAYS
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._details_days = details_days
        self._archiving: tuple[Day, asyncio.Task[Said]] | None = None
        self._step: Step | None = None

    def handlers(self) -> Mapping[str, Handler]:
        """By name, for the socket."""

        async def drop_letters(argument: msgspec.Raw) -> Said:
            return await self.drop(msgspec.json.decode(argument, type=Letters))

        async def replay_letters(argument: msgspec.Raw) -> Said:
            return await self.replay(msgspec.json.decode(argument, type=Letters))

        async def archive(argument: msgspec.Raw) -> Said:
            return await self._archived_soon(msgspec.json.decode(argument, type=Day))

        return {DROP: drop_letters, REPLAY: replay_letters, ARCHIVE: archive}

    async def drop(self, letters: Letters, progress: Progress = lambda _: None) -> Said:
        async def work() -> str:
            seqs = letters.seqs
            done = await (drop_all(self._database, progress) if seqs is None else drop(self._database, seqs))
            return _dropped(done)

        return await _said(work())

    async def replay(self, letters: Letters, progress: Progress = lambda _: None) -> Said:
        async def work() -> str:
            seqs, now = letters.seqs, self._clock()
            if seqs is None:
                return _replayed(await replay_all(self._database, now, progress))
            return _replayed(await replay(self._database, seqs, now))

        return await _said(work())

    async def archive(self, day: Day, progress: Callable[[Step], None]) -> Said:
        async def work() -> str:
            now, where = self._clock(), (self._database, self._directory)
            if day.day is None:
                return _archived(await archive_due(*where, now, days=self._details_days, progress=progress))
            return _archived(await archive_day(*where, day.day, now, progress=progress))

        return await _said(work())

    async def _archived_soon(self, day: Day) -> Said:
        if self._archiving is not None and self._archiving[0] != day:
            if not self._archiving[1].done():
                return Said("Another archive is under way: ask again when it is done.", is_refused=True)
            self._archiving = None
        if self._archiving is None:
            self._step = None
            self._archiving = (day, asyncio.create_task(self.archive(day, self._stepped)))
        _, task = self._archiving
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not done:
            return Said("" if self._step is None else described(self._step), is_done=False)
        self._archiving = None
        return task.result()

    def _stepped(self, step: Step) -> None:
        self._step = step


def described(step: Step) -> str:
    return f"{step.name}: {step.rows:,} rows"


async def _said(work: Awaitable[str]) -> Said:
    try:
        return Said(await work)
    except REFUSED as refusal:
        return Said(str(refusal), is_refused=True)


def _dropped(done: Done) -> str:
    return f"Dropped {_letters(done.letters)}." if done.letters else "There are no dead letters."


def _replayed(done: Done) -> str:
    sentences = [f"Put {_letters(done.letters)} back into the queue." if done.letters else "There was none to replay."]
    if done.damaged:
        sentences.append(f"{done.damaged:,} damaged lines stay: nobody knows what they were. `dead drop` removes them.")
    return " ".join(sentences)


def _archived(done: Sequence[Archived]) -> str:
    lines = [f"Archived {archived.file}: {archived.rows:,} rows." for archived in done]
    return "\n".join(lines) or "There is nothing to archive."


def _letters(count: int) -> str:
    return "1 dead letter" if count == 1 else f"{count:,} dead letters"
