"""Races: two people ask something of one machine at the same moment, each at a controller of their own.

The controllers are processes. An agent is played by hand, once both have been answered: so whoever comes second meets
an operation that is under way, however late they are.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import asyncpg
import httpx

from stead.access.direct import create_token
from stead.catalog import KINDS
from stead.controller.dispatch.custody import CustodyService
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import TransitionInput
from stead.dev.engines import Nats
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Trigger
from stead.store import Store
from stead.store.commit import Custody
from tests.integration.datacenter import LANE
from tests.integration.test_processes import Stead

ACCOUNT, SPACE = "/acme", "/acme/space"
MACHINES = 12
"""That are raced for at once."""
AGENT = Custody("agent", 1)

WISHES = {
    "RUNNING": ("pause", "stop", "reboot", "reset", "delete", "destroy"),
    "PAUSED": ("resume", "stop", "reboot", "delete", "destroy"),
    "HALTED": ("start", "delete", "destroy"),
    "DELETED": ("restore", "destroy"),
}
"""What may be asked of a machine in a state. Two may also want the same."""

RARE = 0.1
"""How often a machine may be destroyed where something else can be done to it."""


@dataclass(frozen=True)
class Person:
    """Somebody, at a controller."""

    name: str
    web: httpx.AsyncClient

    async def ask(self, path: str, action: str, **body: Any) -> httpx.Response:
        return await self.web.post(f"/v1/resources{path}", params={"action": action}, json=body)


@dataclass
class Races:
    """All of them, and how they went."""

    people: tuple[Person, Person]
    store: Store
    random: Random
    run: int = 0
    wins: Counter[str] = field(default_factory=Counter)
    """By who won."""
    codes: Counter[str] = field(default_factory=Counter)
    """By what the loser was told."""
    wrong: list[str] = field(default_factory=list)
    made: int = 0
    """Operations that were no race."""

    def __post_init__(self) -> None:
        self.executor = TransitionExecutor(self.store, KINDS, time.time)
        self.custody = CustodyService(self.executor)

    async def all(self, count: int) -> None:
        """So many, of which each begins when the one before on the same machine is settled."""
        for person in self.people * MACHINES:
            await person.web.get("/v1/claims")  # nobody is slow because they have just come
        await self.make(ACCOUNT, "create", "account")
        await self.make(SPACE, "deploy", "cloudspace")
        shares = [count // MACHINES + (n < count % MACHINES) for n in range(MACHINES)]
        await asyncio.gather(*(self.machine(n, share) for n, share in enumerate(shares)))

    async def machine(self, number: int, count: int) -> None:
        path, state = "", "DESTROYED"
        for turn in range(count):
            if state == "DESTROYED":
                path = f"{SPACE}/m{number}-{turn}"
                state = await self.make(path, "deploy", "machine")
            state = await self.race(path, state)

    async def make(self, path: str, action: str, kind: str) -> str:
        answer = await self.people[0].ask(path, action, kind=kind, lane=LANE, expect_agent=True)
        assert answer.status_code == 202, answer.text
        self.made += 1
        return await self.settle(path)

    async def race(self, path: str, state: str) -> str:
        """One race; the state in which it left the machine."""
        wishes = [wish for wish in WISHES[state] if wish != "destroy" or self.random.random() < RARE]
        people = self.random.sample(self.people, 2)  # neither is always the first
        asked = [(person, self.random.choice(wishes)) for person in people]
        answers = await asyncio.gather(*(person.ask(path, action) for person, action in asked))
        self.run += 1
        told = {answer.status_code: (who, answer.json()) for who, answer in zip(asked, answers, strict=True)}
        if set(told) != {202, 409}:
            self.wrong.append(f"{path}: {[answer.text for answer in answers]}")
        else:
            (winner, action), won = told[202]
            _, refused = told[409]
            self.wins[winner.name] += 1
            self.codes[refused["code"]] += 1
            holder = refused.get("holder") or {}
            named = [holder.get(part) for part in ("operation", "action", "principal", "path")]
            if named != [won["operation"]["id"], action, f"token:{winner.name}", path]:
                self.wrong.append(f"{path}: {action} by {winner.name} won, and the other heard {refused}")
        return await self.settle(path)

    async def settle(self, path: str) -> str:
        """An agent does what is ordered, until nothing is."""
        while True:
            row = await self.store.resources.read(path)
            assert row is not None
            if row.snapshot.operation is None:
                return row.snapshot.state
            fences = await self.custody.take(AGENT, {path: row.snapshot.fence})
            if path in fences:
                await self.executor.apply(
                    [TransitionInput(path, Report(Trigger.SUCCEEDED, fences[path]), principal="agent")]
                )

    async def left(self, dsn: str) -> dict[str, int]:
        """What the database says of it all."""
        await self.store.journal.number()
        connection = await asyncpg.connect(dsn)
        try:
            row = await connection.fetchrow(_LEFT)
            assert row is not None
            return dict(row)
        finally:
            await connection.close()


_LEFT = """SELECT (SELECT count(*) FROM operations) + (SELECT count(*) FROM claims) + (SELECT count(*) FROM orders)
        AS under_way,
    (SELECT count(*) FROM ended_operations WHERE outcome = 'succeeded') AS done,
    (SELECT count(*) FROM ended_operations WHERE outcome <> 'succeeded') AS otherwise,
    (SELECT count(*) FROM journal WHERE trigger = 'request' AND rejections = 0) AS begun,
    (SELECT coalesce(sum(rejections), 0)::int FROM journal) AS refused"""


@asynccontextmanager
async def grounds(dsn: str, server: Nats, seed: int) -> AsyncIterator[Races]:
    """Two controllers, and somebody at each."""
    bus = ("--nats", server.url, "--cell", f"r{secrets.token_hex(4)}")
    rates = [f"--rate={name}=0" for name in ("changes", "reads", "namespace-changes", "namespace-reads")]
    async with AsyncExitStack() as stack:
        people = []
        for name in ("ann", "bob"):
            token = await create_token(dsn, name, [("operator", "*")], timedelta(hours=1))
            one = stack.enter_context(Stead("server", "--database", dsn, *bus, *rates, port_option=True))
            shown = {"Authorization": f"Bearer {token}"}
            address = f"http://127.0.0.1:{one.port}"
            web = httpx.AsyncClient(base_url=address, headers=shown, trust_env=False, timeout=60)
            people.append(Person(name, await stack.enter_async_context(web)))
        store = await stack.enter_async_context(Store.open(dsn, connections=6))
        yield Races((people[0], people[1]), store, Random(seed))
