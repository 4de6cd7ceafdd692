"""Hosts that are nodes of the private cloud, and hosts that go."""

from __future__ import annotations

import asyncpg

from tests.leases.lab import Lab, terms

LEASE = "/lab/monday"
NODE = "/dc/n1"


async def test_a_node_is_a_host_that_works_while_the_node_does(lab: Lab) -> None:
    store = lab.one.store
    connection = await asyncpg.connect(lab.dsn)
    put = "INSERT INTO resources (path, kind, state, token) VALUES ($1, 'node', 'MAINTENANCE', gen_random_uuid())"
    await connection.execute(put, NODE)
    host = await store.hosts.put("n1", lab.lane, {}, NODE)
    assert (host["works"], host["why"]) == (False, "its node is MAINTENANCE")
    assert "not so many" in (await lab.do("create", LEASE, terms(100, 1000)))[1]
    await connection.execute("UPDATE resources SET state = 'ENABLED' WHERE path = $1", NODE)
    assert await lab.do("create", LEASE, terms(100, 1000)) == ("succeeded", "")
    await connection.execute("UPDATE resources SET state = 'DISABLED' WHERE path = $1", NODE)
    later = await store.hosts.read("n1")
    assert later is not None
    assert (later["works"], later["why"]) == (False, "its node is DISABLED")
    await connection.close()


async def test_a_host_that_somebody_has_stays(lab: Lab) -> None:
    store = lab.one.store
    await lab.hosts("h1", "h2")
    await lab.do("create", LEASE, terms(100, 1000))
    assert [await store.hosts.remove(name) for name in ("h1", "h2", "h3")] == [False, True, False]
    changed = await store.hosts.put("h1", "rack.elsewhere", {"cpus": 4}, None)
    assert (changed["lane"], changed["properties"]) == (lab.lane, {"cpus": 4})  # its lane is that of who has it
