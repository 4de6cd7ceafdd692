"""Every metric there is, each with the question that it answers.

No label says a path, a principal, a lane or an id: how many series there are depends on the program, never on what is
operated with it. A server, its controller and every agent have the same ones, and each counts what it does itself.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

from stead import __version__

disable_created_metrics()  # type: ignore[no-untyped-call]


class Registry(CollectorRegistry):
    """Metrics, some of which are read at the moment of a scrape."""

    def __init__(self) -> None:
        super().__init__(auto_describe=True)
        self._before: list[Callable[[], None]] = []
        self.reads_cell = False
        """Whether this process reads the cell. One that does not says nothing of it, rather than zeros."""

    @contextmanager
    def before_scrape(self, read: Callable[[], None]) -> Iterator[None]:
        """Call it before every scrape, for as long as this lasts."""
        self._before.append(read)
        try:
            yield
        finally:
            self._before.remove(read)

    def collect(self) -> Iterator[Metric]:
        """All there are, as they are now."""
        for read in self._before:
            read()
        unread = () if self.reads_cell else {family.name for gauge in OF_CELL for family in gauge.describe()}
        return iter([family for family in super().collect() if family.name not in unread])


class WorstGauge:
    """A gauge of the largest value of the last minute or two; no number where none was reported in that time."""

    def __init__(self, gauge: Gauge, window: float = 60.0) -> None:
        self.window = window
        self._before = self._now = math.nan
        self._since = time.monotonic()
        gauge.set_function(self._worst)

    def report(self, value: float) -> None:
        """One more value."""
        self._advance()
        self._now = _larger(self._now, value)

    def _advance(self) -> None:
        elapsed = time.monotonic() - self._since
        if elapsed > self.window:
            self._before, self._now = self._now if elapsed <= 2 * self.window else math.nan, math.nan
            self._since = time.monotonic()

    def _worst(self) -> float:
        self._advance()
        return _larger(self._now, self._before)


def _larger(one: float, other: float) -> float:
    """The larger of two values, of which either may be no number."""
    return one if math.isnan(other) or one > other else other


REGISTRY = Registry()
ProcessCollector(registry=REGISTRY)

FAST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SLOW_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def _counter(name: str, description: str, *labels: str) -> Counter:
    return Counter(f"stead_{name}", description, labels, registry=REGISTRY)


def _gauge(name: str, description: str, *labels: str) -> Gauge:
    return Gauge(f"stead_{name}", description, labels, registry=REGISTRY)


def _histogram(name: str, description: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"stead_{name}", description, labels, buckets=buckets, registry=REGISTRY)


BUILD = _gauge("build_info", "Which program this is; always 1.", "version", "python")
BUILD.labels(__version__, platform.python_version()).set(1)

# Requests

REQUESTS = _counter("http_requests_total", "Requests that were answered.", "method", "route", "status")
ANSWERS = _histogram("http_response_seconds", "Time until a response began.", FAST_BUCKETS, "method", "route")
ADMISSIONS = _counter(
    "admissions_total",
    "Changes that were asked for: accepted, or rejected with a code. One that joins another or waits is accepted.",
    *("answer", "code"),
)

# Work

ENDED = _counter(
    "resource_operations_ended_total",
    "Operations that ended, for each resource.",
    "outcome",
)
REPORTS = _counter(
    "reports_total",
    "What agents reported of resources: applied, unchanged, stale (under an old fence), or ignored otherwise.",
    "result",
)
NUMBERED = _counter("journal_numbered_total", "Lines of the journal that got their positions here.")
RECONCILER_RUNS = _counter("reconciler_runs_total", "Runs of a reconciler.", "reconciler")
RECONCILER_REPAIRS = _counter("reconciler_repairs_total", "Repairs of a reconciler.", "reconciler")
RECONCILER_FAILURES = _counter("reconciler_failures_total", "Failed runs of a reconciler.", "reconciler")
RECONCILER_SUCCESS = _gauge("reconciler_success_timestamp_seconds", "When a reconciler last succeeded.", "reconciler")
PUBLISHED = _counter("orders_published_total", "Orders that were published on the bus.")
UNPUBLISHED = _counter("publish_failures_total", "Failures to publish orders.")

# What a process depends on

BUS = _gauge("bus_connected", "Whether this process is connected to the bus.")
LEADERLESS = _gauge("bus_leaderless", "Streams and consumers of the bus that have no leader.")
BREAKS = _counter("bus_disconnects_total", "Breaks of the connection to the bus.")
CERTIFICATE_EXPIRY = _gauge(
    "certificate_expiry_timestamp_seconds",
    "When a certificate of a server or controller expires: of its identity on the bus, of the authority, of the bus, "
    "and its own for HTTPS.",
    "certificate",
)
POOL = _gauge("database_connections", "Connections of this process to the database.", "state")
POOL_MAX = _gauge("database_connections_max", "Limit of connections of this process to the database.")

# The cell as a whole, as its database has it

DATABASE = _gauge("database_up", "Whether the last read of the cell's database succeeded.")
READING = _gauge("database_read_seconds", "Duration of the last read, with the wait for a connection.")
OPERATIONS = _gauge("operations_in_progress", "Operations in progress; counted up to 10,000.")
OPERATION_AGE = _gauge("operations_oldest_seconds", "Age of the oldest operation in progress, of those counted.")
QUEUED = _gauge("operations_queued", "Operations that wait their turn in a queue; counted up to 10,000.")
WAITING = _gauge("orders_waiting", "Orders that wait for room on their lanes; counted up to 10,000.")
WAITING_AGE = _gauge("orders_waiting_oldest_seconds", "Age of the oldest of them.")
UNTAKEN = _gauge("orders_untaken", "Orders with room that no agent has taken; counted up to 10,000.")
UNTAKEN_AGE = _gauge("orders_untaken_oldest_seconds", "Age of the oldest of them.")
UNNUMBERED_AGE = _gauge("journal_unnumbered_oldest_seconds", "Age of the oldest journal line without a position.")
POSITION = _gauge("journal_position", "The last position of the journal.")
TIMERS_LATE = _gauge("timers_late_seconds", "By how much the timer that is due first is late.")
EPOCH = _gauge("bus_epoch", "Replacements of the bus by another.")
INCARNATION = _gauge("cell_incarnation", "Restores and failovers of the database.")
AGENTS = _gauge("agents", "Agents that were heard of in the last 30 seconds (connected), or not.", "state")
CLOCK_OFFSET = _gauge("clock_offset_seconds", "By how much the clock of this process is ahead of the database's.")
SKEW = _gauge("agents_clock_skew_seconds", "How far off the worst clock of an agent was, in the last two minutes.")
BACKUP_AGE = _gauge(
    "backup_age_seconds", "Age of the newest backup of `stead backup create`, or of the journal where there is none."
)
EXPIRING = _gauge("identities_expiring", "Agents whose identity has less than a quarter of its lifetime left.")
UNSERVED = _gauge("lanes_unserved", "Lanes with orders that no connected agent serves.")

CELL = (
    *(OPERATIONS, OPERATION_AGE, QUEUED, WAITING, WAITING_AGE, UNTAKEN, UNTAKEN_AGE),
    *(UNNUMBERED_AGE, POSITION, TIMERS_LATE, EPOCH, INCARNATION, BACKUP_AGE, EXPIRING, UNSERVED),
)

OF_CELL = (*CELL, DATABASE, READING, AGENTS)

# Agents

IN_HAND = _gauge("agent_orders_in_hand", "Orders that an agent takes or carries out.")
CALLS = _counter("driver_calls_total", "Calls to drivers.", "verb", "outcome")
CALL_TIME = _histogram("driver_call_seconds", "How long calls to drivers took.", SLOW_BUCKETS, "verb")
THROTTLED = _counter("driver_throttled_total", "Calls that a provider rejected because there were too many.")
LOST = _counter("agent_custody_lost_total", "Orders whose custody an agent lost while it worked.")
