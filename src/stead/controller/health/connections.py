"""What a controller or a server needs, as its metrics tell it: the database, the bus, and its certificates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from stead.bus import Bus, BusState
from stead.pki.identity import Identity, NoIdentity
from stead.store import Store
from stead.telemetry import metrics


@contextmanager
def watched(store: Store, bus: Bus, identity: Identity | None) -> Iterator[None]:
    """Tell the metrics of all of it, for as long as this lasts."""

    def look() -> None:
        used, idle, most = store.connections()
        metrics.POOL.labels("used").set(used)
        metrics.POOL.labels("idle").set(idle)
        metrics.POOL_MAX.set(most)
        metrics.BUS.set(bus.connected)
        metrics.CLOCK_OFFSET.set(store.clock.offset)
        for name, until in _expiries(bus, identity).items():
            metrics.CERTIFICATE_EXPIRY.labels(name).set(until.timestamp())

    def on_state(state: BusState) -> None:
        if state is BusState.DISCONNECTED:
            metrics.BREAKS.inc()

    bus.on_state(on_state)
    with metrics.REGISTRY.before_scrape(look):
        yield


def _expiries(bus: Bus, identity: Identity | None) -> dict[str, datetime]:
    """Expiry of each certificate; without those that cannot be read now."""
    found: dict[str, datetime] = {}
    if shown := bus.certificate_expiry():
        found["bus"] = shown
    if identity is not None:
        with suppress(NoIdentity, ValueError):
            found["identity"] = identity.window()[1]
            found["authority"] = identity.authority_expiry()
    return found
