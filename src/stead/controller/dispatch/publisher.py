"""Orders on their way to the bus, at once after the commit, by the controller that committed.

What cannot be published is not lost: the order stands in the database, and is sent when the bus is back, or anew by
its timer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from contextvars import Context
from dataclasses import replace
from typing import Any

import msgspec

from stead.bus import Bus, BusError, NotPublished, TooLarge
from stead.bus.codec import encode
from stead.bus.messages import Order, OrderMember
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.request_context import NOWHERE
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Report, Take
from stead.lifecycle.rows import PROBE, AwaitedParty, Trigger
from stead.store import Row
from stead.store.commit import CommitResult, Custody
from stead.telemetry import metrics, tracing
from stead.telemetry.context import TraceContext

log = logging.getLogger(__name__)

CONTROLLER = "controller"
"""Who takes an order that cannot be sent."""


class OrderPublisher:
    """The relay of a running controller. Nobody waits for it: what comes while it publishes is published next."""

    def __init__(self, executor: TransitionExecutor, bus: Bus) -> None:
        self.executor = executor
        self.bus = bus
        self._orders: list[Mapping[str, Any]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, written: CommitResult) -> None:
        """Publish the orders of changes that were committed."""
        self._orders.extend(written.orders)
        if self._orders and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._publish(), context=Context())  # for whoever comes meanwhile, too

    async def _publish(self) -> None:
        while self._orders:
            orders, self._orders = self._orders, []
            try:
                await send(self.executor, self.bus, orders)
            except BusError as error:
                log.info("orders wait for the bus: %s", error)


async def send(executor: TransitionExecutor, bus: Bus, orders: Sequence[Mapping[str, Any]]) -> None:
    """Put orders on their lanes, each with the request that it comes from.

    The bus rejects an order that is larger than its largest message. No agent has heard of it, so it is divided,
    and its halves are published; the order of a single member fails.
    """
    known = await executor.request_contexts.of(order["operation"] for order in orders)
    with ExitStack() as stack:
        wire = []
        for told in orders:
            trail = known.get(told["operation"], NOWHERE)
            if trail.traceparent:
                words = {"order": str(told["id"]), "lane": told["lane"], "verb": told["verb"]}
                made = stack.enter_context(tracing.span("publish order", trail.traceparent, **words))
                trail = replace(trail, traceparent=made.traceparent or trail.traceparent)
            wire.append(order_of(told, executor.kinds, trail))
        try:
            await bus.publish_orders(wire)
        except NotPublished as error:
            metrics.UNPUBLISHED.inc()
            too_large = [index for index, cause in error.failed.items() if isinstance(cause, TooLarge)]
            halves = [half for index in too_large for half in await _divide(executor, bus, wire[index])]
            if halves:
                await send(executor, bus, halves)
            if len(too_large) < len(error.failed):
                raise
        except BusError:
            metrics.UNPUBLISHED.inc()
            raise
    metrics.PUBLISHED.inc(len(wire))


async def _divide(executor: TransitionExecutor, bus: Bus, order: Order) -> list[Mapping[str, Any]]:
    """Both halves of an order that is too large; none where it has a single member, which cannot be sent at all.

    The controller takes such an order itself, so that no agent gets it, and declines it with the reason.
    """
    if len(order.members) > 1:
        return await executor.store.orders.halve(order.id)
    (member,) = order.members
    says = too_large(order, bus.max_message())
    log.error("order.too_large order=%d lane=%s path=%s error=%r", order.id, order.lane, member.path, says)
    (taken,) = await executor.apply(
        [TransitionInput(member.path, Take(member.fence), custody=Custody(CONTROLLER, 1))]
    )
    if isinstance(taken, Applied):
        declined = Report(Trigger.DECLINED, taken.fence)
        await executor.apply([TransitionInput(member.path, declined, detail={"error": says})])
    return []


def too_large(order: Order, limit: int) -> str:
    """Why the order of a single member cannot be sent, and what to do about it."""
    (member,) = order.members
    spec, facts = (len(msgspec.json.encode(part)) for part in (member.spec, member.facts))
    return (
        f"the order to {order.verb} {member.path} has {len(encode(order)):,} bytes, and a message of the bus at most "
        f"{limit:,} (max_payload of NATS); its spec has {spec:,} bytes, its facts {facts:,}. "
        "Shorten the spec, or raise max_payload."
    )


def order_of(told: Mapping[str, Any], kinds: Mapping[str, Lifecycle], trail: TraceContext = NOWHERE) -> Order:
    """An order, as the store tells of it."""
    lifecycle = kinds.get(told["kind"])
    members = msgspec.convert(told["members"], list[OrderMember])
    alone = f"{members[0].token}." if len(members) == 1 else ""
    return Order(
        id=told["id"],
        lane=told["lane"],
        kind=told["kind"],
        verb=told["verb"],
        token=f"{alone}{told['id']}",
        operation=told["operation"],
        attempt=told["attempt"],
        members=members,
        timeout=float(_allowed(lifecycle, told["verb"])) if lifecycle is not None else 0.0,
        request_id=trail.request_id,
        traceparent=trail.traceparent,
        report_start=lifecycle is None or _tells(lifecycle),
    )


def _allowed(lifecycle: Lifecycle, verb: str) -> int:
    """Seconds that an order of a verb has at least: until the state that waits for it times out."""
    if verb == PROBE:
        return lifecycle.pace.probe
    states = [lifecycle.state(name) for action in lifecycle.actions if verb in action.verbs for name in action.via]
    limits = [state.timeout for state in states if state.awaits is AwaitedParty.AGENT and state.timeout]
    return min(limits, default=lifecycle.pace.undo)


def _tells(lifecycle: Lifecycle) -> bool:
    """Whether it matters that an agent has begun."""
    return any(row.trigger is Trigger.STARTED for row in lifecycle.table)


def member_of(row: Row) -> OrderMember:
    """A resource, as an agent is told of it."""
    spec, revision = row.spec, row.summary.revision
    if row.next_spec is not None:
        spec, revision = row.next_spec, row.summary.next_revision
    facts = dict(row.facts or {})
    return OrderMember(row.path, row.snapshot.fence, str(row.token), dict(spec), facts, row.kind, revision)
