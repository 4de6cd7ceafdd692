"""What a controller or a server stands on, as its metrics tell it: connections to the database, and to the bus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stead.bus import Bus, BusState
from stead.store import Store
from stead.telemetry import metrics


@contextmanager
def watched(store: Store, bus: Bus) -> Iterator[None]:
    """Tell the metrics of both, for as long as this lasts."""

    def look() -> None:
        used, idle, most = store.connections()
        metrics.POOL.labels("used").set(used)
        metrics.POOL.labels("idle").set(idle)
        metrics.POOL_MOST.set(most)
        metrics.BUS.set(bus.connected)
        metrics.CLOCK_OFFSET.set(store.clock.offset)

    def on_state(state: BusState) -> None:
        if state is BusState.DISCONNECTED:
            metrics.BREAKS.inc()

    bus.on_state(on_state)
    with metrics.REGISTRY.before(look):
        yield
