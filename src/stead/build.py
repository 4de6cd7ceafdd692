"""The composition root: store, bus, controller and application put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from stead.access.access import Access
from stead.access.oidc import Issuer, OidcVerifier
from stead.application import Application, Queries
from stead.bus import Bus, Unavailable
from stead.catalog import KINDS
from stead.controller.admission.frontend import ControllerNotifier, RequestFrontend
from stead.controller.admission.served_lanes import ServedLanes
from stead.controller.health.connections import watched
from stead.controller.health.readiness import BusReadiness
from stead.controller.kinds.kinds import EVERY, CompiledKind, actions_of, live
from stead.controller.observation.agent_identities import LIFETIME, AgentIdentities
from stead.controller.reconcilers import Reconciler, told
from stead.controller.reconcilers.partitions import KEPT
from stead.controller.runtime import Controller
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.pki.identity import Identity
from stead.store import Store
from stead.store.migrate import MigrationFailed, migrate

__all__ = ["Authenticator", "BusAddress", "Engine", "MigrationFailed", "access_of", "door", "engine"]


@dataclass(frozen=True)
class BusAddress:
    """Where the bus of a cell is, and as whom one speaks there."""

    nats: str
    cell: str
    identity: Path | None = None
    """A folder; without one, the bus lets everybody in, and the cell gives no identities out."""
    lifetime: float = LIFETIME
    """Seconds for which what agents connect with holds."""
    leaves: bool = False
    """Whether agents of sites may be behind leaf nodes."""
    replicas: int = 1
    """Servers of the bus that keep each message."""


@dataclass(frozen=True)
class Engine:
    """What runs, and what is asked."""

    controller: Controller
    service: Application


@dataclass(frozen=True)
class Authenticator:
    """How a server makes sure who asks."""

    issuer: Issuer | None = None
    """Who says who people are, beside tokens."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """Texts in Cedar by name, beside those that are in the database."""
    open: bool = False
    """The server authenticates no caller, and permits everything."""


@asynccontextmanager
async def engine(
    dsn: str,
    nats: str,
    cell: str,
    *,
    kinds: Mapping[str, Lifecycle] = KINDS,
    connections: int = 10,
    pace: Pace = DEFAULT,
    identity: Path | None = None,
    lifetime: float = LIFETIME,
    leaves: bool = False,
    replicas: int = 1,
    webhooks: Sequence[str] = (),
    kept: float = KEPT,
) -> AsyncIterator[Engine]:
    """Bring the schema up to date, connect, and put a controller together. Nothing runs until somebody runs it.

    Without a bus it begins all the same: requests are accepted, and what they order is sent when the bus is there.
    Webhooks of leases go to addresses that begin like one of `webhooks`. What has ended is kept for so many seconds.
    """
    place = BusAddress(nats, cell, identity, lifetime, leaves, replicas)
    async with _ground(dsn, place, "controller", connections) as (store, bus, identities):
        controller = Controller(store, bus, kinds, pace=pace, identities=identities, webhooks=webhooks, kept=kept)
        await controller.kinds.fresh()
        yield Engine(controller, _service(controller, identities))


@asynccontextmanager
async def door(
    dsn: str,
    nats: str,
    cell: str,
    *,
    entry: Authenticator | None = None,
    connections: int = 10,
    pace: Pace = DEFAULT,
    identity: Path | None = None,
    lifetime: float = LIFETIME,
    leaves: bool = False,
    replicas: int = 1,
) -> AsyncIterator[Application]:
    """The service alone: what it lets in is carried on by controllers in other processes.

    Without an entry, nobody is asked who they are.
    """
    place = BusAddress(nats, cell, identity, lifetime, leaves, replicas)
    async with _ground(dsn, place, "door", connections) as (store, bus, identities):
        opened = RequestFrontend(store, bus, KINDS, pace=pace)
        opened.executor.on_commit(ControllerNotifier(bus))
        await opened.kinds.fresh()
        reading = asyncio.create_task(Reconciler("kinds", EVERY, opened.kinds.heal, told).run())
        try:
            yield _service(opened, identities, entry)
        finally:
            reading.cancel()


@asynccontextmanager
async def _ground(
    dsn: str, place: BusAddress, name: str, connections: int
) -> AsyncIterator[tuple[Store, Bus, AgentIdentities | None]]:
    own = Identity(place.identity) if place.identity is not None else None
    await migrate(dsn)
    async with Store.open(dsn, connections=connections) as store:
        identities = None
        if own is None:
            bus = Bus(place.nats, place.cell, name=name, replicas=place.replicas)
        else:
            identities = AgentIdentities(store, own, place.lifetime, leaves=place.leaves)
            where = own.description
            bus = Bus(where.bus, where.cell, name=name, options=own.options, replicas=place.replicas)
        async with bus:
            with watched(store, bus, own):
                with suppress(Unavailable):  # it goes on trying
                    await bus.connect(2)
                yield store, bus, identities


def _service(
    door: RequestFrontend, identities: AgentIdentities | None, entry: Authenticator | None = None
) -> Application:
    view = Queries(door.store, door.executor.kinds)
    access = access_of(entry, door.store, door.executor.kinds) if entry is not None else None
    return Application(
        door.admission,
        view,
        {"bus": BusReadiness(door.bus)},
        door.observer,
        door.slots,
        access,
        identities,
        served=ServedLanes(door.store, door.executor.kinds),
        bus=door.bus.condition,
    )


def access_of(entry: Authenticator, store: Store, kinds: Mapping[str, Lifecycle]) -> Access:
    """Who knows callers, and judges them."""
    oidc = OidcVerifier(entry.issuer) if entry.issuer is not None else None
    return Access(
        store, CompiledKind(live(kinds, store), actions_of), oidc=oidc, files=entry.policies, open=entry.open
    )
