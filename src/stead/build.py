"""The composition root: store, bus, controller and application put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from stead.access.access import Access
from stead.access.oidc import Issuer, OidcVerifier
from stead.application.commands import Application
from stead.application.reader import Reader
from stead.bus import Bus, Unavailable
from stead.catalog import KINDS
from stead.controller.admission.frontend import ControllerNotifier, RequestFrontend
from stead.controller.admission.served_lanes import ServedLanes
from stead.controller.execution.executor import CommitHook
from stead.controller.health.connections import watched
from stead.controller.health.readiness import BusReadiness
from stead.controller.kinds.kinds import REFRESH_SECONDS, CompiledKind, actions_of, live
from stead.controller.observation.agent_identities import LIFETIME, AgentIdentities
from stead.controller.reconcilers import Reconciler, told
from stead.controller.reconcilers.partitions import RETENTION
from stead.controller.runtime import Controller
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.pki.identity import Identity
from stead.store import Store
from stead.store.migrate import MigrationFailed, migrate

__all__ = [
    "Authenticator",
    "BusAddress",
    "Engine",
    "MigrationFailed",
    "access_of",
    "assemble_application",
    "assemble_engine",
    "assemble_frontend",
    "open_application",
    "open_engine",
]


@dataclass(frozen=True)
class BusAddress:
    """The address of a cell's bus, and the identity that a process connects with."""

    nats: str
    cell: str
    identity: Path | None = None
    """A folder; without one, the bus authenticates no client, and the cell issues no identities."""
    lifetime: float = LIFETIME
    """Lifetime of agent credentials in seconds."""
    leaves: bool = False
    """Whether agents of sites may be behind leaf nodes."""
    replicas: int = 1
    """Servers of the bus that keep each message."""


@dataclass(frozen=True)
class Engine:
    """A running controller, and the application that interfaces call."""

    controller: Controller
    application: Application


@dataclass(frozen=True)
class Authenticator:
    """How a server authenticates callers."""

    issuer: Issuer | None = None
    """The OpenID issuer whose ID tokens are accepted, beside tokens of the cell."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """Policies in Cedar by name, in addition to those in the database."""
    open: bool = False
    """The server authenticates no caller, and permits everything."""


@asynccontextmanager
async def open_engine(
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
    kept: float = RETENTION,
) -> AsyncIterator[Engine]:
    """Migrate the schema, connect, and assemble a controller with its application. The caller runs the controller.

    Without a bus it starts all the same: requests are accepted, and their orders are sent when the bus is back.
    Webhooks of leases go to addresses that begin with one of `webhooks`. What has ended is kept for `kept` seconds.
    """
    place = BusAddress(nats, cell, identity, lifetime, leaves, replicas)
    async with _open_store_and_bus(dsn, place, "controller", connections) as (store, bus, identities):
        engine = assemble_engine(store, bus, kinds, pace=pace, identities=identities, webhooks=webhooks, kept=kept)
        await engine.controller.kinds.fresh()
        yield engine


@asynccontextmanager
async def open_application(
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
    """Assemble the application without a controller: controllers in other processes carry on what it accepts.

    Without an `entry`, no caller is authenticated.
    """
    place = BusAddress(nats, cell, identity, lifetime, leaves, replicas)
    async with _open_store_and_bus(dsn, place, "server", connections) as (store, bus, identities):
        frontend = assemble_frontend(store, bus, pace=pace)
        await frontend.kinds.fresh()
        reading = asyncio.create_task(Reconciler("kinds", REFRESH_SECONDS, frontend.kinds.heal, told).run())
        try:
            access = access_of(entry, store, frontend.executor.kinds) if entry is not None else None
            yield assemble_application(frontend, identities, access)
        finally:
            reading.cancel()


@asynccontextmanager
async def _open_store_and_bus(
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
                with suppress(Unavailable):  # the bus goes on trying to connect
                    await bus.connect(2)
                yield store, bus, identities


def assemble_engine(
    store: Store,
    bus: Bus,
    kinds: Mapping[str, Lifecycle] = KINDS,
    clock: Callable[[], float] | None = None,
    *,
    pace: Pace = DEFAULT,
    identities: AgentIdentities | None = None,
    webhooks: Sequence[str] = (),
    kept: float = RETENTION,
    entry: Authenticator | None = None,
    publisher: CommitHook | None = None,
) -> Engine:
    """Assemble a controller with its application on a store and a bus. The caller runs the controller.

    Time is the database's, unless another clock is given. Orders go to the bus, unless another publisher is given.
    Without an `entry`, no caller is authenticated.
    """
    controller = Controller(store, bus, kinds, clock, pace, identities, webhooks, kept, publisher)
    access = access_of(entry, store, controller.kinds) if entry is not None else None
    return Engine(controller, assemble_application(controller, identities, access))


def assemble_frontend(
    store: Store, bus: Bus, clock: Callable[[], float] | None = None, *, pace: Pace = DEFAULT
) -> RequestFrontend:
    """Assemble what accepts requests where controllers run in other processes; it notifies them of each commit."""
    frontend = RequestFrontend(store, bus, KINDS, clock, pace)
    frontend.executor.on_commit(ControllerNotifier(bus))
    return frontend


def assemble_application(
    frontend: RequestFrontend, identities: AgentIdentities | None = None, access: Access | None = None
) -> Application:
    """Assemble the application that interfaces call on a controller, or on what accepts requests beside one."""
    return Application(
        frontend.admission,
        Reader(frontend.store, frontend.executor.kinds),
        {"bus": BusReadiness(frontend.bus)},
        frontend.observer,
        frontend.slots,
        access,
        identities,
        served=ServedLanes(frontend.store, frontend.executor.kinds),
        bus=frontend.bus.stream_health,
    )


def access_of(entry: Authenticator, store: Store, kinds: Mapping[str, Lifecycle]) -> Access:
    """Assemble authentication and policies."""
    oidc = OidcVerifier(entry.issuer) if entry.issuer is not None else None
    return Access(
        store, CompiledKind(live(kinds, store), actions_of), oidc=oidc, files=entry.policies, open=entry.open
    )
