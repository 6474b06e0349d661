"""What a key costs: work under a claim, and a replay, in both databases. `python -m benchmarks.kit_idempotency`.

Work that does nothing is run under new keys (found free, claimed, completed: two commits), and under keys that
were used before. Beside it stands what one durable row costs by itself: the claim alone.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path

import asyncpg
import msgspec

from benchmarks.load import Load, Run, measure
from benchmarks.machine import NotADisk, look_at_machine, must_be_disk
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import Runs, ratio, take_turns
from dawr.bootstrap.system import now
from dawr.reliability.idempotency import Claim, Idempotency, Reply
from dawr.reliability.postgres_records import PostgresRecords
from dawr.reliability.records import Records
from dawr.reliability.sqlite_records import SqliteRecords
from tests.servers import PostgresServer, server_directory

CALLERS = (1, 64)
POOL = 16
DONE = Reply(201, b'{"number":42,"status":"WAITING","ahead":3}')
LEASE = ("fingerprint", 2**50, 1, 2**50)

_names = count()


def main() -> int:
    given = _arguments()
    try:
        must_be_disk(given.directory)
    except NotADisk as error:
        sys.exit(str(error))
    tempfile.tempdir = str(given.directory)
    print(asyncio.run(bench(given.directory, rounds=given.rounds, seconds=given.seconds)))
    return 0


async def bench(directory: Path, *, rounds: int, seconds: float) -> str:
    figures: list[Figure] = []
    with server_directory() as inside, PostgresServer(inside) as server:
        async with in_sqlite(directory) as records:
            figures += await _figures("SQLite", records, rounds, seconds)
        async with in_postgres(server.url) as records:
            figures += await _figures("PostgreSQL", records, rounds, seconds)
        machine = look_at_machine(directory, postgres="PostgreSQL")
    return f"{machine.sentence()}\n\n{table(figures)}"


@asynccontextmanager
async def in_sqlite(directory: Path) -> AsyncIterator[Records]:
    with tempfile.TemporaryDirectory(dir=directory) as inside:
        records = SqliteRecords(Path(inside) / "kit.db")
        await records.create_tables()
        yield records
        await records.close()


@asynccontextmanager
async def in_postgres(url: str) -> AsyncIterator[Records]:
    async with asyncpg.create_pool(url, min_size=POOL, max_size=POOL, ssl=False) as pool:
        records = PostgresRecords(pool)
        await records.create_tables()
        yield records


async def _figures(name: str, records: Records, rounds: int, seconds: float) -> list[Figure]:
    figures: list[Figure] = []
    for callers in CALLERS:
        load = Load(callers, seconds, 40_000)
        runs = await take_turns(
            {
                "claim": partial(claim_only, records, load),
                "run": partial(run_new, records, load),
                "replay": partial(replay, records, load),
            },
            rounds=rounds,
        )
        who = "one caller" if callers == 1 else f"{callers} callers"
        figures += [
            figure(f"{name}, {who}: one row by itself", runs["claim"]),
            _beside(f"{name}, {who}: work under a new key", "run", runs),
            _beside(f"{name}, {who}: a replay", "replay", runs),
        ]
    return figures


def _beside(what: str, name: str, runs: Runs) -> Figure:
    return msgspec.structs.replace(figure(what, runs[name]), ratio=ratio(runs[name], runs["claim"]))


async def claim_only(records: Records, load: Load) -> Run:
    async def claim(key: str) -> None:
        await records.change_rows("claim_answer", "by-itself", "anonymous", key, *LEASE)

    return await measure(_new_keys(load), claim, load)


async def run_new(records: Records, load: Load) -> Run:
    idempotency = Idempotency(records, now, secret=b"a benchmark")
    return await measure(_new_keys(load), partial(_run, idempotency), load)


async def replay(records: Records, load: Load) -> Run:
    idempotency = Idempotency(records, now, secret=b"a benchmark")
    used = _new_keys(load)[:100]
    for key in used:
        await _run(idempotency, key)
    return await measure(used * (load.most // len(used)), partial(_run, idempotency), load)


async def _run(idempotency: Idempotency, key: str) -> None:
    payload = {"clinic": "lab", "user": key}
    await idempotency.run(Claim.of(payload, scope="bench", key=key), _work)


async def _work() -> Reply:
    return DONE


def _new_keys(load: Load) -> list[str]:
    return [f"8e03978e-40d5-43dd-bc93-{next(_names):012}" for _ in range(load.most)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kit_idempotency", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="on a disk")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
