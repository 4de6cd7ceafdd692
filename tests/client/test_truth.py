"""What is really there, through the client: with a loop, and without one."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from stead.client import Client, DriftReport, Lane, Orphan, SyncClient
from stead.dev.engines import Nats
from stead.store.agents import PresentAgent
from tests.drivers.cloud import SimWorld
from tests.integration.served import served
from tests.integration.whole import agent, ask, settled

PATHS = [f"/ns/m/g/{i}" for i in (1, 2, 3)]


def everything(url: str) -> tuple[list[DriftReport], tuple[Orphan, ...], list[Lane]]:
    with SyncClient(url, retries=0) as client:
        return list(client.drift(below="/ns", limit=2)), client.orphans().items, list(client.lanes(limit=1))


@pytest.mark.req("X-07", "X-08")
async def test_truth_orphans_and_lanes(migrated: str, nats_server: Nats, world: SimWorld) -> None:
    lane = f"{world.provider}.{world.region}"
    async with (
        served(migrated, nats_server) as s,
        agent(nats_server, s.cell, world, "a1"),
        Client(s.url, retries=0) as client,
    ):
        for path in PATHS:
            await ask(s.controller, world, "create", path)
        for path in PATHS:
            await settled(s.controller, "Running", path)
        row = await s.controller.store.resources.read(PATHS[1])
        assert row is not None
        await world.drift("delete", tokens=[str(row.token)])
        found = [x async for x in client.drift(kind="vm", below="/ns", limit=2)]
        assert [(x.path, x.recorded, x.observed, x.matches) for x in found] == [
            (PATHS[0], "Running", "Running", True),
            (PATHS[1], "Running", "absent", False),
            (PATHS[2], "Running", "Running", True),
        ]
        assert isinstance(found[0].observed_at, datetime)
        (stored,) = (await client.drift_page(below=PATHS[1], refresh=False)).items
        assert (stored.observed, stored.matches, stored.reason) == (None, None, "unasked")
        assert [x async for x in client.drift(kind="disk")] == []

        assert (await client.orphans()).items == ()
        for _ in range(2):
            left = {"token": "t-1", "path": "/ns/lost", "state": "Running", "facts": {"id": "i-9"}}
            await s.controller.store.orphans.record(lane, [left])
        (orphan,) = (await client.orphans(lane=lane)).items
        assert (orphan.lane, orphan.token, orphan.path, orphan.facts) == (lane, "t-1", "/ns/lost", {"id": "i-9"})
        assert isinstance(orphan.first_observed_at, datetime)
        assert (await client.orphans(lane="another.lane")).items == ()

        await s.controller.store.agents.record_presence([PresentAgent("a2", 1, ["edge.1", lane], "0.1")], "edge.")
        lanes = [x async for x in client.lanes(limit=1)]
        assert [(x.lane, [(a.name, a.connected) for a in x.agents]) for x in lanes] == [
            (lane, [("a1", True), ("a2", True)]),
            ("edge.1", [("a2", True)]),
        ]
        assert (lanes[0].waiting, lanes[0].in_flight, isinstance(lanes[0].next_inventory_at, datetime)) == (
            0,
            0,
            True,
        )

        truths, orphans, again = await asyncio.to_thread(everything, s.url)
        assert [(x.path, x.matches) for x in truths] == [(x.path, x.matches) for x in found]
        assert orphans == (orphan,)
        assert [x.lane for x in again] == [lane, "edge.1"]
