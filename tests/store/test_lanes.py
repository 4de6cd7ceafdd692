"""The lanes there are, who serves them, and what stands on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import asyncpg

from stead.store import Store
from stead.store.agents import PresentAgent

ORDER = "INSERT INTO orders (lane, kind, verb, members, agent) VALUES ($1, 'vm', 'create', '{1}', $2)"


def shown(lane: Mapping[str, Any]) -> tuple[str, list[tuple[str, bool]], int, int]:
    return lane["name"], [(a["name"], a["there"]) for a in lane["agents"]], lane["untaken"], lane["in_flight"]


async def test_lanes_with_who_serves_them_and_what_stands_on_them(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    async with Store.open(migrated) as store:
        assert await store.lanes.read_page("", 10, 30) == []
        await store.agents.record_presence([PresentAgent("b", 1, ["aws.x", "Edge.1"], "0.2")], "edge.")
        await store.agents.record_presence([PresentAgent("a", 1, ["aws.x"], "0.1")], "edge.")
        await store.agents.record_presence([PresentAgent("c", 1, ["aws.w"], "0.1")], "edge.")
        await store.agents.record_presence(
            [PresentAgent("c", 2, ["aws.x"], "0.1")], "edge."
        )  # serves another lane since it was started anew
        for agent, seconds in (("a", 31), ("b", 29)):
            await connection.execute(
                "UPDATE agents SET last_seen = now() - make_interval(secs => $2) WHERE name = $1", agent, seconds
            )
        for lane, agent in (("aws.x", ""), ("aws.x", ""), ("aws.x", "b"), ("never.served", ""), ("", "")):
            await connection.execute(ORDER, lane, agent)
        lanes = await store.lanes.read_page("", 10, 30)
        assert [shown(lane) for lane in lanes] == [
            ("Edge.1", [("b", True)], 0, 0),
            ("aws.w", [], 0, 0),
            ("aws.x", [("a", False), ("b", True), ("c", True)], 2, 3),
            ("never.served", [], 1, 1),
        ]
        assert [lane["inventory_at"] is None for lane in lanes] == [False, False, False, True]
        assert lanes[0]["agents"][0]["version"] == "0.2"
        assert [lane["name"] for lane in await store.lanes.read_page("", 2, 30)] == ["Edge.1", "aws.w"]
        assert [lane["name"] for lane in await store.lanes.read_page("aws.w", 2, 30)] == ["aws.x", "never.served"]
    await connection.close()
