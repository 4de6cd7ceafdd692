"""Settling: reports of agents applied, beside the bare statements that do it, in batches of the same size."""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import uuid4

import asyncpg

from bench.figure import Figure, middle
from bench.ground import LIKE_THE_FIRST, filled, path_of, pgbench, postgres
from bench.statement import kept, literal
from stead.bus.codec import MessageFormat, encode
from stead.bus.messages import Report, ReportResult
from stead.catalog import KINDS
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import Applied, TransitionInput
from stead.controller.observation.listener import words
from stead.dev.engines import Postgres
from stead.lifecycle.events import Request, Take
from stead.lifecycle.snapshot import Fence
from stead.store import Store
from stead.store.commit import Custody
from stead.store.decision_template import OperationStart
from stead.store.statements import statement

BAR = 0.50
BATCH = 100
"""Reports that one fetch brings at most."""

LANES = ["sim.a"]


async def taken(server: Postgres, name: str, vms: int) -> tuple[str, Fence]:
    """A database whose VMs are all being suspended, each by an operation of its own."""
    dsn = await filled(server, name, vms, LANES)
    async with Store.open(dsn, connections=1) as store:
        executor = TransitionExecutor(store, KINDS, time.time)
        first = path_of(0)
        begin = OperationStart(uuid4(), "suspend", "ann")
        request = Request("suspend", operation=str(begin.id), by="ann")
        (asked,) = await executor.apply([TransitionInput(first, request, principal="ann", begin=begin)])
        assert isinstance(asked, Applied), asked
        (took,) = await executor.apply([TransitionInput(first, Take(asked.fence), custody=Custody("me", 1))])
        assert isinstance(took, Applied), took
    connection = await asyncpg.connect(dsn)
    await connection.execute("SELECT setval('orders_id_seq', 100000000)")
    await connection.execute(LIKE_THE_FIRST, first, vms, "me", 1)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return dsn, took.fence


def messages(numbers: Sequence[int], fence: Fence) -> list[bytes]:
    """Reports as they come from the bus."""
    return [
        encode(Report("me", 1, i, "sim.a", [ReportResult(path_of(i), fence, "succeeded", facts={"id": f"i-{i}"})]))
        for i in numbers
    ]


async def ours(dsn: str, fence: Fence, first: int, count: int) -> float:
    """Reports a second, from bytes to committed."""
    form = MessageFormat(Report)
    said = [messages(range(at, at + BATCH), fence) for at in range(first, first + count, BATCH)]
    async with Store.open(dsn, connections=2) as store:
        executor = TransitionExecutor(store, KINDS, time.time)
        await executor.apply(words([form.decode(data) for data in said[0]]))  # what is prepared once is prepared now
        began = time.perf_counter()
        for batch in said[1:]:
            answers = await executor.apply(words([form.decode(data) for data in batch]))
            assert all(isinstance(answer, Applied) and answer.wrote for answer in answers), answers[0]
        return (count - BATCH) / (time.perf_counter() - began)


async def script(dsn: str, fence: Fence, spare: int) -> str:
    """The same as statements, for a batch that begins at a number."""
    form = MessageFormat(Report)
    async with Store.open(dsn, connections=1) as store:
        executor = TransitionExecutor(store, KINDS, time.time)
        with kept(store) as calls:
            await executor.apply(words([form.decode(data) for data in messages(range(spare, spare + BATCH), fence)]))
        ((templates, which, _, versions, extras, at, _, batch),) = calls
    assert (set(which), len(set(versions))) == ({1}, 1)
    paths = "ARRAY(SELECT '/bench/fleet/g' || lpad((n % 100)::text, 2, '0') || '/' || lpad(n::text, 7, '0')"
    paths += f" FROM generate_series(:i, :i + {BATCH - 1}) n)"
    extra = literal(extras[0]).replace(f"i-{spare}", "NUMBER")
    return f"""\\set n :n + 1
\\set i :first + (:n - 1) * {BATCH}
{statement("read_summaries").replace("$1", paths)};
SELECT commit_changes({literal(templates)}::jsonb, array_fill(1, ARRAY[{BATCH}]),
    ARRAY(SELECT n + 1 FROM generate_series(:i, :i + {BATCH - 1}) n)::bigint[],
    array_fill({versions[0]}::bigint, ARRAY[{BATCH}]),
    (SELECT jsonb_agg(replace({extra}, 'NUMBER', 'i-' || n)::jsonb) FROM generate_series(:i, :i + {BATCH - 1}) n),
    {at}, NULL, {batch});
"""


async def measure(small: bool) -> list[Figure]:
    """The ratio."""
    times, each, seconds = (1, 2_000, 1) if small else (3, 8_000, 2)
    vms = 2 * each + times * (each + 20_000 * seconds)
    with postgres() as server:
        dsn, fence = await taken(server, "settle", vms)
        text = await script(dsn, fence, vms - BATCH)
        found, first = [], BATCH
        for _ in range(times):
            rate = await ours(dsn, fence, first, each)
            first += each
            bare = pgbench(server, "settle", f"\\set first {first}\n{text}", 1, seconds) * BATCH
            first += 20_000 * seconds
            found.append((rate, bare))
    ratio = middle([rate / bare for rate, bare in found])
    detail = {"reports a second": round(middle([r for r, _ in found])), "bare": round(middle([b for _, b in found]))}
    return [Figure("settle", ratio, "of the bare engine", f"the statements, {BATCH} at once", BAR, detail=detail)]
