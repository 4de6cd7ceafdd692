"""A running cell, examined: what is well, what will be trouble, what is, and what to do about it.

Everything that is looked at is looked at from the server, so nobody needs the database's password for it. What cannot
be looked at is told as that, and is not well.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from stead.schema import Model
from stead.store import Store
from stead.store.migrate import newest
from stead.telemetry.exposition import values

CONNECTED_SECONDS = 30.0
MAX_SHOWN = 5
"""Things that a finding names."""
MIN_DAYS_AHEAD = 5
"""Days ahead for which there have to be partitions."""
LONG, TOO_LONG = 60.0, 600.0
"""Seconds of a transaction."""
SKEW, TOO_MUCH = 1.0, 5.0
"""Seconds between two clocks."""
MAX_UNNUMBERED_SECONDS = 10.0
"""Seconds that a line of the journal may wait for its position."""
SELDOM = {"partitions": 7200.0}
RECONCILE_SECONDS = 180.0
"""Seconds in which every other reconciler looks at least once."""
SOON = timedelta(days=7)
FROZEN = 1_000_000_000
"""Transactions since the last freeze; at two thousand million the database stops."""


class Grade(StrEnum):
    """How well something is."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True)
class Finding(Model):
    """One check and its result."""

    check: str
    grade: Grade
    """`warn`: it works, and will be trouble. `bad`: it is trouble."""
    message: str
    remedy: str = ""
    """What to do about it; empty where nothing is wrong."""


@dataclass(frozen=True)
class HealthReport(Model):
    """How a cell is."""

    at: datetime
    """By the server's clock."""
    version: str
    """Of the server."""
    findings: tuple[Finding, ...]


def ok(what: str, says: str) -> Finding:
    """It is well."""
    return Finding(what, Grade.OK, says)


def warn(what: str, says: str, do: str) -> Finding:
    """It works, and will be trouble."""
    return Finding(what, Grade.WARN, says, do)


def bad(what: str, says: str, do: str) -> Finding:
    """It is trouble."""
    return Finding(what, Grade.BAD, says, do)


@dataclass(frozen=True)
class Doctor:
    """Examines a cell."""

    store: Store
    bus: Callable[[], Awaitable[Mapping[str, Any] | None]]
    """How the bus is; None where it is away."""
    beside: Callable[[], Awaitable[str | None]] | None
    """The metrics of the controller beside the server."""
    stuck: Callable[[], Awaitable[Sequence[str]]]
    """Paths of what does not come to its end."""
    expires: Callable[[], datetime] | None
    """When what the server shows the bus is over; None where the bus lets everybody in."""

    async def examine(self) -> list[Finding]:
        """Look at everything, one after the other."""
        found: list[Finding] = []
        looks = {
            "database": self._database,
            "recovery": self._recovery,
            "bus": self._bus,
            "controller": self._controller,
            "work": self._work,
            "agents": self._agents,
            "certificates": self._certificates,
        }
        for what, look in looks.items():
            try:
                found += await look()
            except Exception as error:
                says = f"it could not be looked at: {type(error).__name__}: {error}"
                found.append(bad(what, says, "see the log of the server; /readyz?verbose says what it lacks"))
        return found

    async def _database(self) -> list[Finding]:
        began = time.time()
        read = await self.store.diagnostics.examine_database()
        return [*database(read), clocks(read["now"], began, time.time())]

    async def _recovery(self) -> list[Finding]:
        """Whether the cell is held after a restore; nothing is said where it is not."""
        hold = await self.store.recovery.read_hold()
        if hold.since is None:
            return []
        says = f"the cell is held since {hold.since:%Y-%m-%d %H:%M} UTC, after a restore; {hold.orders} orders wait"
        return [
            warn(
                "recovery", says, "see what they would do, and let it act: stead backup compare, stead backup release"
            )
        ]

    async def _bus(self) -> list[Finding]:
        said = await self.bus()
        if said is None:
            do = "start NATS, or mend the way to it; what was accepted is kept, and sent when the bus is back"
            return [bad("bus", "the server is not connected to it", do)]
        used, most = said["used"], said["most"]
        size = f"{said['streams']} streams, {said['messages']} messages, {_bytes(used)} on disk"
        if said["missing"]:
            do = "a controller makes them: see whether one runs, and its log"
            return [bad("bus", f"{len(said['missing'])} streams are missing, such as {said['missing'][0]}", do)]
        if said["leaderless"]:
            do = "start the nodes of NATS that are away: orders and reports go on when a majority is there"
            count, first = len(said["leaderless"]), said["leaderless"][0]
            return [bad("bus", f"{count} streams or consumers have no leader, such as {first}", do)]
        if most and used > 0.8 * most:
            do = "give JetStream more (max_file_store), or see who does not take what is sent: stead lane list"
            return [bad("bus", f"{size}, of {_bytes(most)}", do)]
        return [ok("bus", f"connected; {size}" + (f" of {_bytes(most)}" if most else ""))]

    async def _controller(self) -> list[Finding]:
        text = await self.beside() if self.beside is not None else None
        if text is None:
            do = "the server starts it again by itself: its log says why it ends"
            return [bad("controller", "the controller beside the server does not answer", do)]
        offset = max(values(text, "stead_clock_offset_seconds").values(), default=0.0)
        return [*reconcilers(text, self.store.clock() + offset), controller_clock(offset)]

    async def _work(self) -> list[Finding]:
        gauges = await self.store.diagnostics.read_gauges(10_000, CONNECTED_SECONDS)
        stuck = await self.stuck()
        lanes = await self.store.lanes.list_unserved(CONNECTED_SECONDS, MAX_SHOWN + 1)
        return [numberer(gauges), timers(gauges), *work(gauges, stuck), unserved(lanes)]

    async def _agents(self) -> list[Finding]:
        agents = [dict(agent) for agent in await self.store.agents.read_all()]
        return [silent(agents), rejected(agents), skew(agents), expiring(agents, self.store.clock.now())]

    async def _certificates(self) -> list[Finding]:
        if self.expires is None:
            do = "make identities (stead pki init), unless everything is on this machine"
            return [warn("identities", "the bus lets everybody in, and agents are not known", do)]
        left = self.expires() - self.store.clock.now()
        says = f"what the server shows the bus holds for {left.days} days"
        do = "renew it where the folder of the authority is: stead pki renew FOLDER"
        if left < timedelta(days=1):
            return [bad("identity", says, do)]
        return [ok("identity", says) if left > SOON else warn("identity", says, do)]


def database(read: Mapping[str, Any]) -> Iterable[Finding]:
    """How the database is."""
    version, size = read["version"].split()[0], _bytes(read["size"])
    yield ok("database", f"PostgreSQL {version}, {size}, {read['connections']} connections")
    expected = newest()
    if read["revision"] == expected:
        yield ok("schema", f"revision {expected}, as this server expects it")
    else:
        do = "run servers of one version: a newer one brings the schema up to date when it starts"
        yield bad("schema", f"revision {read['revision']}, and this server expects {expected}", do)
    if read["fsync"] != "on" or read["synchronous_commit"] == "off":
        do = "set fsync and synchronous_commit to on: what was accepted could be lost"
        yield bad("durability", "the database does not wait for its disk", do)
    elif read["synchronous"]:
        yield ok("durability", f"{read['synchronous']} synchronous standby")
    else:
        do = "set synchronous_standby_names, or know that losing this machine loses the last moments"
        yield warn("durability", f"no synchronous standby; {read['standbys']} standby in all", do)
    longest = read["longest"] or 0.0
    do = "find and end it: SELECT pid, xact_start, application_name FROM pg_stat_activity ORDER BY xact_start"
    if longest > LONG:
        grade = bad if longest > TOO_LONG else warn
        yield grade(
            "transactions", f"one has been open for {longest:.0f} s, and keeps old rows from being removed", do
        )
    else:
        yield ok("transactions", f"the longest has been open for {longest:.1f} s")
    if read["connections"] > 0.9 * read["most_connections"]:
        do = "raise max_connections, or run fewer servers"
        says = f"{read['connections']} of {read['most_connections']} connections are used"
        yield bad("connections", says, do)
    if read["frozen_age"] > FROZEN:
        do = "let VACUUM (FREEZE) run; see what keeps it off: a long transaction, an abandoned replication slot"
        yield bad("freezing", f"{read['frozen_age']:,} transactions since the last freeze", do)
    if read["bloated"]:
        tables = ", ".join(f"{name} ({dead:,} dead, {live:,} live)" for name, dead, live in read["bloated"])
        do = "see why autovacuum does not keep up: a long transaction, or settings made for smaller tables"
        yield warn("bloat", f"old rows pile up in {tables}", do)
    else:
        yield ok("bloat", "no table that is written often has many old rows")
    yield partitions(read)


def partitions(read: Mapping[str, Any]) -> Finding:
    """Whether there is a table for the days to come."""
    ahead, do = read["ahead"], "see whether a controller runs, and what its log says of partitions"
    if ahead == 0:
        return bad("partitions", "there is none for tomorrow: lines will go to the default one, and stay there", do)
    if ahead < MIN_DAYS_AHEAD:
        return warn("partitions", f"they are made for {ahead} days ahead, and should be for 7", do)
    first = "; the default one has the lines of the first day" if read["in_default"] else ""
    return ok("partitions", f"made for {ahead} days ahead{first}")


def clocks(there: float, began: float, ended: float) -> Finding:
    """Whether the server and the database agree on the time; the way there and back is not counted."""
    apart = max(there - ended, began - there, 0.0)
    says, do = f"the database's is {apart:.1f} s from the server's", "run an NTP client on both machines"
    if apart > TOO_MUCH:
        return bad("clocks", says, do)
    return warn("clocks", says, do) if apart > SKEW else ok("clocks", says)


def controller_clock(offset: float) -> Finding:
    """Whether the controller beside the server and the database agree on the time."""
    says = f"the controller's is {_off(offset)}"
    if abs(offset) > TOO_MUCH:
        return bad("controller's clock", says, "run an NTP client where the controller runs")
    return ok("controller's clock", says)


def skew(agents: Sequence[Mapping[str, Any]]) -> Finding:
    """Whether the agents that are there and the database agree on the time."""
    offsets = {a["name"]: a["clock_offset"] for a in agents if a["there"]}
    wrong = sorted((name for name in offsets if abs(offsets[name]) > TOO_MUCH), key=lambda name: -abs(offsets[name]))
    if wrong:
        more = f"; and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
        says = "; ".join(f"{name}'s is {_off(offsets[name])}" for name in wrong[:MAX_SHOWN])
        return warn("agents' clocks", f"{says}{more}", "run an NTP client where these agents run")
    worst = max(map(abs, offsets.values()), default=0.0)
    return ok("agents' clocks", f"the worst is {worst:.1f} s off")


def _off(offset: float) -> str:
    return f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} the database's"


def reconcilers(text: str, now: float) -> Iterable[Finding]:
    """Whether every reconciler has looked lately, and did not fail."""
    seen = {labels["reconciler"]: at for labels, at in _labelled(text, "stead_reconciler_success_timestamp_seconds")}
    began = {labels["reconciler"] for labels, _ in _labelled(text, "stead_reconciler_runs_total")}
    since = max(values(text, "process_start_time_seconds").values(), default=now)
    late = sorted(
        name for name in began if now - max(seen.get(name, 0.0), since) > SELDOM.get(name, RECONCILE_SECONDS)
    )
    do = "the log of the controller says why: it names the reconciler"
    if late:
        return [bad("reconcilers", f"{', '.join(late)} failed or hung for minutes", do)]
    failing = sorted(began - set(seen))
    if failing:
        return [warn("reconcilers", f"{', '.join(failing)} did not succeed yet", do)]
    return [ok("reconcilers", f"all {len(began)} have looked lately")]


def _labelled(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for labels, value in values(text, name).items()]


def numberer(gauges: Mapping[str, Any]) -> Finding:
    """Whether the journal gets its positions."""
    waits = gauges["unnumbered"] or 0.0
    says = f"the oldest line of the journal without a position waits {waits:.1f} s"
    if waits > MAX_UNNUMBERED_SECONDS:
        do = "followers see nothing new: see whether a controller runs, and what it says of numbering"
        return bad("numberer", says, do)
    return ok(
        "numberer", f"position {gauges['last_position']}; {says}" if waits else f"position {gauges['last_position']}"
    )


def timers(gauges: Mapping[str, Any]) -> Finding:
    """Whether what is due is fired."""
    late = gauges["late"] or 0.0
    if late > MAX_UNNUMBERED_SECONDS:
        do = "nothing gets on that waits for a timer: see whether a controller runs, and what it says of the clock"
        return bad("timers", f"one is late by {late:.0f} s", do)
    return ok("timers", "none is late")


def work(gauges: Mapping[str, Any], stuck: Sequence[str]) -> Iterable[Finding]:
    """What goes on, and what does not come to its end."""
    (under_way, _), (untaken, age) = gauges["operations"], gauges["untaken"]
    yield ok("work", f"{under_way} operations under way, {untaken} orders that nobody has taken yet")
    if untaken and (age or 0.0) > LONG:
        do = "stead lane list says who serves which lane; see the log of the agent"
        yield warn("orders", f"one has been waiting for an agent for {age:.0f} s", do)
    if stuck:
        more = f" and {len(stuck) - MAX_SHOWN} more" if len(stuck) > MAX_SHOWN else ""
        yield warn("stuck", f"{', '.join(stuck[:MAX_SHOWN])}{more}", "stead stuck says why, and what to do")
    else:
        yield ok("stuck", "nothing")


def unserved(lanes: Sequence[str]) -> Finding:
    """Whether somebody serves every lane that has orders."""
    if lanes:
        more = " and more" if len(lanes) > MAX_SHOWN else ""
        do = "start an agent for them: stead agent run --lane …; what waits is taken then"
        return bad("lanes", f"nobody serves {', '.join(lanes[:MAX_SHOWN])}{more}, and orders wait there", do)
    return ok("lanes", "every lane with orders is served")


def silent(agents: Sequence[Mapping[str, Any]]) -> Finding:
    """Whether all agents are there that were heard of before."""
    away = [a["name"] for a in agents if a["last_seen"] is not None and not a["there"] and a["revoked_at"] is None]
    there = sum(bool(agent["there"]) for agent in agents)
    if away:
        more = f" and {len(away) - MAX_SHOWN} more" if len(away) > MAX_SHOWN else ""
        do = "see their machines; one that will not come back: stead agent revoke NAME"
        return warn("agents", f"{there} are there; not heard for 30 s: {', '.join(away[:MAX_SHOWN])}{more}", do)
    if not there:
        return warn("agents", "there is none", "start one: stead agent run --lane …")
    return ok("agents", f"all {there} are there")


def rejected(agents: Sequence[Mapping[str, Any]]) -> Finding:
    """Whether every agent may use its provider."""
    found = [f"{a['name']} on {lane}: {why}" for a in agents if a["there"] for lane, why in a["rejected"].items()]
    if found:
        more = f"; and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
        do = "give the agent credentials that the provider accepts, and start it again"
        return bad("providers", f"providers reject {'; '.join(found[:MAX_SHOWN])}{more}", do)
    return ok("providers", "no provider rejects its agent")


def expiring(agents: Sequence[Mapping[str, Any]], now: datetime) -> Finding:
    """Whether agents renew what they connect with."""
    due = [
        a["name"]
        for a in agents
        if a["expires_at"] is not None and a["revoked_at"] is None and now < a["expires_at"] < now + timedelta(days=2)
    ]
    over = [
        a["name"]
        for a in agents
        if a["expires_at"] is not None and a["revoked_at"] is None and a["expires_at"] <= now
    ]
    if over:
        do = "they have to join anew: stead agent invite, stead agent join"
        return bad("agents' identities", f"over: {', '.join(over[:MAX_SHOWN])}", do)
    if due:
        do = "agents renew by themselves while they are connected: see their logs"
        return warn("agents' identities", f"end within two days: {', '.join(due[:MAX_SHOWN])}", do)
    return ok("agents' identities", "none ends soon")


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
