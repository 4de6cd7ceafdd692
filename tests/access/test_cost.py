"""What policies and grants of lanes cost an admission, in processor time of the server and of the database."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from stead.access.access import Access
from stead.access.caller import Caller
from stead.access.policies import Policies
from stead.application import Accepted, ActionRequest
from stead.application.authorized_commands import request_action
from stead.build import Authenticator
from stead.catalog import KINDS
from tests.api.cell import Cell

ACTIONS = sorted({action.name for kind in KINDS.values() for action in kind.actions})
PLACE = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
ROUNDS, EACH = 21, 60
TICK = 100
"""Ticks a second of /proc."""
ANN = Caller("user:ann", groups=("ops",), roles=frozenset({("operator", "*")}))
GRANT = (
    "INSERT INTO lane_grants (lane, namespace, allowed, changed_by) "
    "SELECT 'x' || n || '.r', 'shop', true, 'a test' FROM generate_series(1, $1::int) n"
)


def policies(many: int) -> Policies:
    """Each is about the action that is requested, and reads paths and labels."""
    texts = {
        f"p{n}": f'forbid (principal in Group::"g{n}", action in [Action::"create", Action::"terminate"], '
        f'resource in Resource::"/n{n}") when {{ resource.hasTag("l{n}") }};'
        for n in range(many)
    }
    return Policies(texts, ACTIONS)


@pytest.mark.long
def test_hundred_policies_and_thousand_grants_cost_an_admission_little(strict: str) -> None:
    with Cell(strict, Authenticator()) as cell:
        access = Access(cell.store, ACTIONS)
        access._looked = float("inf")
        service = replace(cell.service, access=access)
        cell.run(cell._hand.execute("DELETE FROM lane_grants"))
        cell.run(cell.store.lanes.allow("sim.a", "shop", "a test", ""))
        number = 0

        def database() -> float:
            query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            query += " AND backend_type = 'client backend'"  # a worker of autovacuum may end meanwhile
            pids = [row["pid"] for row in cell.run(cell._hand.fetch(query))]
            stats = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
            return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICK

        async def admit() -> None:
            nonlocal number
            for _ in range(EACH):
                number += 1
                path = f"/shop/m/g/{number}"
                assert isinstance(
                    await request_action(service, ActionRequest(path, "create", "vm", PLACE), ANN), Accepted
                )

        few, many = policies(1), policies(100)
        costs: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * ROUNDS):
            loaded = turn % 2 == 1
            access.policies = many if loaded else few
            if loaded:
                cell.run(cell._hand.execute(GRANT, 1000))
            else:
                cell.run(cell._hand.execute("DELETE FROM lane_grants WHERE lane LIKE 'x%'"))
            before = time.process_time() + database()
            cell.run(admit())
            costs[loaded].append(time.process_time() + database() - before)
        ratio = median(costs[True][1:]) / median(costs[False][1:])
        assert ratio <= 1.15, f"{ratio:.2f}"
