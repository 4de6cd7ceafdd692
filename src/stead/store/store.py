"""The store: one façade over its parts, each of which has the statements of one subject."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from stead.store.access import Access
from stead.store.agents import Agents
from stead.store.archives import Archives
from stead.store.attachments import Attachments
from stead.store.cell import Cell
from stead.store.claims import Claims
from stead.store.connections import Connections
from stead.store.credentials import Credentials
from stead.store.diagnostics import Diagnostics
from stead.store.durations import Durations
from stead.store.groups import Groups
from stead.store.hosts import Hosts
from stead.store.identities import Identities
from stead.store.incarnation import Incarnation
from stead.store.journal import Journal
from stead.store.labels import Labels
from stead.store.lanes import Lanes
from stead.store.leases import Leases
from stead.store.lifecycles import Lifecycles
from stead.store.nodes import Nodes
from stead.store.notices import LeaseNotices
from stead.store.observations import Observations
from stead.store.operations import Operations
from stead.store.orders import Orders
from stead.store.orphans import Orphans
from stead.store.overview import Overview
from stead.store.partitions import Partitions
from stead.store.queues import Queues
from stead.store.quotas import Quotas
from stead.store.recovery import Recovery
from stead.store.references import References
from stead.store.resources import Resources
from stead.store.scaling import ScalingPolicies
from stead.store.sites import Sites
from stead.store.slots import Slots
from stead.store.statements import Statements
from stead.store.systems import Systems
from stead.store.timers import Timers
from stead.store.transitions import Transitions
from stead.store.tree import Tree

_encode = msgspec.json.Encoder().encode


class StandbyReached(ConnectionError):
    """The way to the database leads to a server that follows another: in a moment it leads elsewhere."""


class Store:
    """The parts of the store, on one pool of connections. No part decides: it writes what was decided before."""

    def __init__(self, pool: Connections, incarnation: Incarnation | None = None) -> None:
        self.pool = pool
        self._incarnation = incarnation or Incarnation()
        self.clock = self._incarnation.clock
        self.statements = sql = Statements(pool)
        self.resources = Resources(sql)
        self.timers = Timers(sql)
        self.observations = Observations(sql)
        self.cell = Cell(sql, self._incarnation)
        self.recovery = Recovery(sql)
        self.orders = Orders(sql)
        self.slots = Slots(sql)
        self.lanes = Lanes(sql)
        self.transitions = Transitions(sql)
        self.operations = Operations(sql)
        self.claims = Claims(sql)
        self.references = References(sql)
        self.journal = Journal(sql)
        self.archives = Archives(sql)
        self.leases = Leases(sql)
        self.notices = LeaseNotices(sql)
        self.hosts = Hosts(sql)
        self.groups = Groups(sql)
        self.agents = Agents(sql)
        self.sites = Sites(sql)
        self.identities = Identities(sql)
        self.orphans = Orphans(sql)
        self.queues = Queues(sql)
        self.scaling = ScalingPolicies(sql)
        self.durations = Durations(sql)
        self.diagnostics = Diagnostics(sql)
        self.overview = Overview(sql)
        self.tree = Tree(sql)
        self.quotas = Quotas(sql)
        self.nodes = Nodes(sql)
        self.attachments = Attachments(sql)
        self.lifecycles = Lifecycles(sql)
        self.partitions = Partitions(sql)
        self.systems = Systems(sql)
        self.access = Access(sql)
        self.credentials = Credentials(sql)
        self.labels = Labels(sql)

    @classmethod
    @asynccontextmanager
    async def open(cls, dsn: str, *, connections: int = 10) -> AsyncIterator[Store]:
        """A store on a database whose schema is there already."""
        incarnation = Incarnation()

        async def meet(connection: asyncpg.Connection[asyncpg.Record]) -> None:
            await speak_json(connection)
            try:
                met = await connection.fetchval("SELECT record_server()")
            except asyncpg.ObjectNotInPrerequisiteStateError as error:  # it is being recovered
                raise StandbyReached("the database server follows another, and takes no changes") from error
            incarnation.now = met or incarnation.now  # none where there is no cell yet

        async with Connections(dsn, connections, meet, incarnation.clock) as pool:
            store = cls(pool, incarnation)
            await store.cell.read()
            yield store

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Store]:
        """The same parts, all of which read the database as it is at one moment; one at a time, none writes."""
        async with self.statements.snapshot() as connection:
            yield Store(connection, self._incarnation)

    @property
    def incarnation(self) -> int:
        """Of the cell, as it was last read."""
        return self._incarnation.now

    def connections(self) -> tuple[int, int, int]:
        """Connections to the database: in use, idle, and how many there may be."""
        return self.pool.counts()

    @property
    def trouble(self) -> str:
        """What keeps the database from being used; empty if nothing does."""
        return self.pool.trouble


async def speak_json(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """JSON goes in and out as Python values."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: b"\x01" + _encode(value),
        decoder=lambda data: json.loads(data[1:]),
        format="binary",
    )
