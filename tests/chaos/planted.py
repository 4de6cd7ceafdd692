"""A process of the cell with a bug in it, which the chaos run has to catch: `python -m tests.chaos.planted NAME …`.

The words after the name are a command of `stead`, or `migrate` and the address of a database.
Functions of the database have a bug when a process with that bug has migrated it.

Each bug takes away one of the promises that the protocol stands on. It is put in from outside, before the command
begins, so that nothing in the product knows of it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import stead.store.migration_runner as migrations
from stead.agent import lane_worker
from stead.agent.custody import Custody
from stead.bus import Bus, Delivery
from stead.bus import bus as bus_module
from stead.bus.messages import FromAgent, Order, TakeCustodyReply
from stead.cli.main import app
from stead.controller.dispatch import publisher
from stead.controller.dispatch.slots import SlotAllocator
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.observation.listener import Listener
from stead.controller.reconcilers.redispatch import RedispatchReconciler
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle import decide, timers
from stead.lifecycle.decide.observe import on_full_state
from stead.lifecycle.decide.report import on_report, on_take
from stead.lifecycle.decision import Code, Decision, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import FullState, Report, Take
from stead.lifecycle.snapshot import Fence, Snapshot, Work
from stead.store import connections
from stead.store.migrate import migrate

Answer = Decision | Rejection


def ack_before_commit() -> None:
    """Reports are acknowledged before they are applied; what cannot be applied then is gone."""

    async def apply(self: Listener, deliveries: Sequence[Delivery[FromAgent]]) -> None:
        for delivery in deliveries:
            await delivery.ack()
        try:
            await self._apply([delivery.message for delivery in deliveries])
        except Exception as error:
            print(f"lost: {error!r}", flush=True)

    put(Listener, "apply", apply)


def fence_ignored() -> None:
    """Whoever reports is believed, under whatever fence."""

    def believe(lc: Lifecycle, snap: Snapshot, report: Report) -> Answer:
        return on_report(lc, snap, replace(report, fence=snap.fence))

    put(decide, "on_report", believe)


def custody_not_checked() -> None:
    """An order that is taken is given to another as well, and who has lost custody goes on and reports."""

    def give(lc: Lifecycle, snap: Snapshot, take: Take) -> Answer:
        if snap.work is None:
            return on_take(lc, snap, take)
        return on_take(lc, replace(snap, work=Work(snap.work.verb)), replace(take, fence=snap.fence))

    async def renew(self: Custody) -> None:
        await asyncio.Event().wait()

    def believe(order: Order, reply: TakeCustodyReply) -> dict[str, Fence]:
        return {m.path: reply.fences[m.path] for m in order.members if m.path in reply.fences}

    put(decide, "on_take", give)
    put(lane_worker, "granted_fences", believe)
    put(Custody, "_renew", renew)
    put(Custody, "check", lambda self: None)


def relay_without_healer() -> None:
    """What could not be published is never sent again: not by its timer, nor when the bus or an agent is back."""
    all_timers = timers.pending

    def pending(lc: Lifecycle, snap: Snapshot) -> Any:
        return {name: running for name, running in all_timers(lc, snap).items() if name != "resend"}

    def ignore(lc: Lifecycle, snap: Snapshot, line: FullState) -> Answer:
        if snap.work is not None:
            return Rejection((Reason(Code.NOT_EXPECTED, "nothing is sent again"),), snap.state)
        return on_full_state(lc, snap, line)

    async def send_nothing(self: RedispatchReconciler) -> int:
        return 0

    for module in [module for name, module in sys.modules.items() if name.startswith("stead.")]:
        if getattr(module, "pending", None) is all_timers:
            put(module, "pending", pending)
    put(decide, "on_full_state", ignore)
    put(RedispatchReconciler, "_send_all", send_nothing)


def dedup_without_fence() -> None:
    """The bus takes an order that is sent anew for one that it has had already."""

    def message_id(order: Order, subject: str) -> str:
        return f"{subject}-{order.operation}-{order.verb}"

    put(bus_module, "message_id", message_id)


def slot_freed_at_ack() -> None:
    """Room counts as free as soon as an order is taken, though whoever took it has only begun."""
    granted = "EXISTS (SELECT FROM orders o WHERE o.lane = l.name AND o.granted)"
    plant(
        "slots.sql",
        ("WHERE lane = this.name AND orders.granted;", "WHERE lane = this.name AND orders.granted AND agent = '';"),
        (f"       AND {granted});", f"       AND {granted.replace('o.granted', "o.granted AND o.agent = ''")});"),
    )


def last_by_count() -> None:
    """Whether a member was the last is decided by counting the others; two that commit at once each see the other."""
    lock = "unnest(its_ops))) ORDER BY o.id FOR UPDATE;"
    others = "(SELECT count(*) FROM resources r WHERE r.operation = o.id AND r.path <> o.path)"
    plant(
        "operations.sql",
        (lock, lock.replace(" FOR UPDATE", "")),
        ("remaining = o.remaining - c.members", f"remaining = {others}"),
    )


def slots_not_granted() -> None:
    """A slot that becomes free is given to no order that waits for it."""
    head = "CREATE OR REPLACE FUNCTION has_waiting_orders(lane_name text) RETURNS boolean LANGUAGE plpgsql STABLE"
    start = f"{head} AS $$\nBEGIN\n"
    plant("slots.sql", (start, f"{start}    RETURN false;\n"))

    async def grant_nothing(self: SlotAllocator, *_: object) -> int:
        return 0

    put(SlotAllocator, "__call__", grant_nothing)
    put(SlotAllocator, "heal", grant_nothing)


def region_never_freed() -> None:
    """A lane that once had a region of its provider keeps it, though nothing goes on there."""
    held = "EXISTS (SELECT FROM orders o WHERE o.lane = l.name AND o.granted)"
    counted = f"   AND {held});\nEND $$;\n\n-- The turn"
    plant("slots.sql", (counted, counted.replace(held, f"(l.since > '-infinity' OR {held})")))


def timers_not_fired() -> None:
    """Due timers are not looked for."""

    async def fire_nothing(self: TimerService) -> int:
        return 0

    put(TimerService, "tick", fire_nothing)


def large_order_kept() -> None:
    """An order that is too large for the bus is not divided."""

    async def divide_nothing(executor: TransitionExecutor, bus: Bus, order: Order) -> list[Mapping[str, Any]]:
        return []

    put(publisher, "_divide", divide_nothing)


def commit_not_flushed() -> None:
    """Requests are accepted before what was written about them is safe."""
    put(connections, "SETTINGS", {**connections.SETTINGS, "synchronous_commit": "off"})


DONE: list[str] = []
"""The files of functions that were changed while a database was migrated."""


def plant(name: str, *changes: tuple[str, str]) -> None:
    """Change the text of some functions of the database, which are made by the process that migrates it."""
    text = planted = files("stead.store").joinpath("sql", "functions", name).read_text(encoding="utf-8")
    for old, new in changes:
        assert planted.count(old) == 1, f"{name} has no {old!r} any more"
        planted = planted.replace(old, new)
    run = migrations._run

    async def run_planted(said: str, connection: Any) -> None:
        if said == text:
            DONE.append(name)
        await run(planted if said == text else said, connection)

    put(migrations, "_run", run_planted)


def put(where: object, name: str, what: object) -> None:
    """Put something in the place of what is there, and nowhere else."""
    assert hasattr(where, name), f"{where} has no {name} any more"
    setattr(where, name, what)


BUGS: dict[str, Callable[[], None]] = {
    "ack-before-commit": ack_before_commit,
    "fence-ignored": fence_ignored,
    "custody-not-checked": custody_not_checked,
    "relay-without-healer": relay_without_healer,
    "dedup-without-fence": dedup_without_fence,
    "slot-freed-at-ack": slot_freed_at_ack,
    "last-by-count": last_by_count,
    "slots-not-granted": slots_not_granted,
    "region-never-freed": region_never_freed,
    "timers-not-fired": timers_not_fired,
    "large-order-kept": large_order_kept,
    "commit-not-flushed": commit_not_flushed,
}

OF_DATABASE = ("slot-freed-at-ack", "last-by-count", "slots-not-granted", "region-never-freed")
"""Bugs in functions of the database: the process that migrates it has to have them."""


def main() -> None:
    bug = sys.argv.pop(1)
    BUGS[bug]()
    if sys.argv[1] != "migrate":
        app()
        return
    asyncio.run(migrate(sys.argv[2]))
    assert bool(DONE) == (bug in OF_DATABASE), f"{bug} has changed {DONE or 'no functions'}"


if __name__ == "__main__":
    main()
