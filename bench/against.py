"""Against peers: the same durable "suspend one VM" (state, journal, one provider call) as they do it and as we do.

Each VM has an action of its own, asked for through REST, as each has a job of its own there. What they have nothing
like, one action on all of them, stands beside it.
"""

from __future__ import annotations

import secrets

from bench.figure import Figure, middle
from bench.fleet import fleet
from bench.ground import postgres
from bench.peers.__main__ import PEERS
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

BARS = {"dbos": 10.0, "procrastinate": 3.0, "pgqueuer": 1.0}


async def measure(small: bool) -> list[Figure]:
    """How many times as many VMs a second."""
    vms, jobs, seconds, times = (500, 50, 1, 1) if small else (4_000, 500, 3, 3)
    alone, together = [], []
    theirs: dict[str, list[float]] = {name: [] for name in BARS}
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        for turn in range(times):
            async with fleet(server, nats, cloud, vms, name=f"fleet_{turn}") as cell:
                alone.append((await cell.each("suspend", seconds))[1])
                await cell.act("resume", "Running")
                together.append(vms / await cell.act("suspend", "Suspended"))
            for name, rates in theirs.items():
                dsn = server.create_database(f"{name}_{secrets.token_hex(4)}")
                rates.append(await PEERS[name](dsn, cloud.url, [f"/bench/peers/vm/{i}" for i in range(jobs)]))
    figures = []
    for name, rates in theirs.items():
        detail = {
            "single actions a second": round(middle(alone)),
            "members of one action a second": round(middle(together)),
            "theirs": round(middle(rates)),
        }
        for how, ours in (("alone", middle(alone)), ("together", middle(together))):
            ahead = ours / middle(rates)
            figures.append(Figure(f"{how} against {name}", ahead, "times theirs", name, BARS[name], detail=detail))
    return figures
