"""How an infrastructure of a hundred thousand VMs stands, asked again and again while an action runs on all."""

from __future__ import annotations

import asyncio
import re

from bench.figure import Figure
from bench.fleet import FLEET, LANES, Fleet, fleet
from bench.ground import postgres
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

BAR = 20.0
"""Milliseconds."""
EVERY = 0.05
"""Seconds between two questions."""

COUNTS = """
INSERT INTO counts (path, kind, state, members)
SELECT $1, 'vm', 'Running', count(*) FROM resources WHERE kind = 'vm'
UNION ALL
SELECT regexp_replace(path, '/[^/]+$', ''), 'vm', 'Running', count(*) FROM resources WHERE kind = 'vm' GROUP BY 1
"""
"""What the journal would have added up to, had they been made one by one."""

GROUPS = """
INSERT INTO resources (path, kind, state, fence, token, spec)
SELECT DISTINCT ON (1) regexp_replace(path, '/[^/]+$', ''), 'subgroup', 'Running', 1, gen_random_uuid(),
       jsonb_build_object('provider', split_part(lane, '.', 1), 'region', split_part(lane, '.', 2))
  FROM resources WHERE kind = 'vm'
"""


async def asked(cell: Fleet, until: asyncio.Task[float]) -> list[float]:
    """Milliseconds that each answer took in the server, until something is over."""
    took: list[float] = []
    while not until.done():
        answer = await cell.web.get(f"/v1/status{FLEET}")
        found = re.search(r"dur=([\d.]+)", answer.headers["server-timing"])
        assert answer.status_code == 200, answer.text
        assert found is not None
        took.append(float(found[1]))
        await asyncio.sleep(EVERY)
    return took


async def measure(small: bool) -> list[Figure]:
    """The slowest of a hundred, while all are being suspended, and when nothing goes on."""
    vms = 5_000 if small else 100_000
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with fleet(server, nats, cloud, vms, name="status") as cell:
            await cell.database.execute(GROUPS)
            await cell.database.execute(COUNTS, FLEET)
            await asyncio.sleep(vms / 5_000)  # agents tell what is there
            quiet = await asked(cell, asyncio.create_task(_sleep(5)))
            busy = await asked(cell, asyncio.create_task(cell.act("suspend", "Suspended")))
            text = (await cell.web.get(f"/v1/status{FLEET}")).json()["text"]
            assert text.startswith("Suspended:"), text
    detail = {
        "questions": len(busy),
        "ms in the middle": round(_part(busy, 0.5), 1),
        "ms p99 when nothing goes on": round(_part(quiet, 0.99), 1),
    }
    beside = f"an action on all {vms:,} VMs, {len(LANES)} lanes"
    return [Figure("status p99", _part(busy, 0.99), "ms in the server", beside, BAR, True, detail)]


async def _sleep(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


def _part(values: list[float], part: float) -> float:
    return sorted(values)[max(round(len(values) * part) - 1, 0)]
