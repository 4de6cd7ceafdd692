"""The bus of one cell, as controllers and agents see it.

It carries and never keeps. Each way of sending says what it promises: an order is published or an error; a report is
tried until it is published; a question has an answer or a timeout; presence may be lost. Each way of receiving may
give the same thing twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Self
from uuid import uuid4

from nats.aio.msg import Msg

from stead.bus import consumer, rpc, streams
from stead.bus.codec import FROM_AGENT, ORDER, PRESENCE, MessageFormat, encode
from stead.bus.connection import Connection, DurableSubscription, Options, StateCallback
from stead.bus.consumer import ACK_WAIT, Consumer
from stead.bus.endpoints import AgentRequests, Endpoints, LaneRequests
from stead.bus.errors import BadMessage, BusError, NoAnswer, NotPublished, Unavailable, translated
from stead.bus.invalid_messages import InvalidMessages
from stead.bus.message_ids import message_id
from stead.bus.messages import (
    FromAgent,
    Hello,
    IdentityReply,
    InventoryReply,
    InventoryRequest,
    LogsReply,
    LogsRequest,
    Message,
    OffersReply,
    OffersRequest,
    OpenLane,
    OpenLaneReply,
    Order,
    Presence,
    ProbeReply,
    ProbeRequest,
    RenewCustody,
    RenewCustodyReply,
    RenewIdentity,
    SiteReply,
    SiteRequest,
    StateSyncReply,
    StateSyncRequest,
    Superseded,
    TakeCustody,
    TakeCustodyReply,
    Wakeup,
)
from stead.bus.publisher import Outgoing, Publisher
from stead.bus.rpc import QUEUE, RpcServer
from stead.bus.rpc_replies import ReplyStream
from stead.bus.streams import StreamIdentity
from stead.bus.subjects import Recipient, Subjects, inbox, is_reply_subject

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT = 5.0
"""Seconds for the server to acknowledge what was published."""

CONTROLLERS = "controllers"
"""The one consumer of reports, which all controllers pull from."""

CUSTODY_TIMEOUT = 5.0
INVENTORY_TIMEOUT = 10.0
SITE_TIMEOUT = 10.0
IDENTITY_TIMEOUT = 30.0
PROBE_TIMEOUT = 30.0
STATE_SYNC_TIMEOUT = 5.0
"""Seconds that an asker waits for an answer, with all its tries; no handler works on a question for longer."""

OPEN_LANE_TIMEOUT = 10.0
"""Seconds that an agent waits for its lane. A controller ends its own part when the agent asks again: what
the server of the bus has begun to make is there then."""

INACTIVE_THRESHOLD = 600.0
"""Seconds after which the server removes the consumer of one run of an agent that has stopped pulling."""


class Bus:
    """A connection to the servers of a cell, and all that is said over it."""

    def __init__(
        self,
        url: str | Sequence[str],
        cell: str,
        *,
        name: str = "stead",
        agent: str | None = None,
        on_state: StateCallback | None = None,
        replicas: int = 1,
        domain: str | None = None,
        apart: bool = False,
        ping_interval: float = 5.0,
        options: Options | None = None,
    ) -> None:
        """`agent` is who speaks here, where it is one: it gets answers in an inbox of its own, and only there.

        `domain` is JetStream's, for agents behind a leaf node; `apart` says that agents have an account of their own
        on this bus. `options` go to the client library as they are.
        """
        self.subjects = Subjects(cell)
        self.invalid_messages = InvalidMessages()
        where = inbox(agent) if agent is not None else "_INBOX"
        self._link = Connection(url, name, ping_interval=ping_interval, inbox=where, options=options)
        self.max_message = self._link.max_message
        self.certificate_expiry = self._link.certificate_expiry
        replies = ReplyStream(self._link)
        self._publisher = Publisher(replies)
        self._endpoints = of = Endpoints(self._link, replies, self.subjects, self.invalid_messages)
        self.take_custody = AgentRequests(of, "take-custody", TakeCustody, TakeCustodyReply, CUSTODY_TIMEOUT)
        """Ask for custody. It counts from before the request, since the answer may have been long on its way."""
        self.renew_custody = AgentRequests(of, "renew-custody", RenewCustody, RenewCustodyReply, CUSTODY_TIMEOUT)
        """Ask for more time."""
        self.inventory = AgentRequests(of, "inventory", InventoryRequest, InventoryReply, INVENTORY_TIMEOUT)
        """Ask which resources there should be on a lane."""
        self.site = AgentRequests(of, "site", SiteRequest, SiteReply, SITE_TIMEOUT)
        """Ask which epochs and sites are known, before a new epoch begins."""
        self.renew_identity = AgentRequests(of, "renew-identity", RenewIdentity, IdentityReply, IDENTITY_TIMEOUT)
        """Ask for credentials to be renewed."""
        self._open_lane = AgentRequests(of, "open-lane", OpenLane, OpenLaneReply, OPEN_LANE_TIMEOUT, rpc.TRY_TIMEOUT)
        self.probe = LaneRequests(of, "probe", ProbeRequest, ProbeReply, PROBE_TIMEOUT)
        """Ask an agent to observe some resources."""
        self.offers = LaneRequests(of, "offers", OffersRequest, OffersReply, PROBE_TIMEOUT)
        """Ask an agent whether the provider has what specs name."""
        self.logs = LaneRequests(of, "logs", LogsRequest, LogsReply, PROBE_TIMEOUT)
        """Ask an agent what a resource wrote."""
        self.state_sync = LaneRequests(of, "state-sync", StateSyncRequest, StateSyncReply, STATE_SYNC_TIMEOUT)
        """Ask an agent for its full state, which comes on the stream of reports."""
        self._replicas = replicas
        api = "$JS.API" if domain is None else f"$JS.{domain}.API"
        self._prefix = self.subjects.api if apart else api
        self._apart = agent if apart else None
        """Who speaks here, where it is an agent that may not make anything."""
        self._supersedes = ""
        """Where an agent hears that a newer run has taken its place."""
        if on_state is not None:
            self._link.watch(on_state)

    async def connect(self, timeout: float | None = None) -> None:
        """Begin to connect, and stay connected for ever; wait for the first connection, so many seconds.

        Raises `Unavailable` when it has not come by then; the bus goes on trying all the same.
        """
        await self._link.open(timeout)

    async def close(self) -> None:
        await self._endpoints.close()
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def connected(self) -> bool:
        return self._link.connected

    def on_state(self, callback: StateCallback) -> None:
        """Call it on every change; it must not block. After `connected`, a controller looks at `identity`."""
        self._link.watch(callback)

    async def reconnect(self) -> None:
        """Connect anew, with the options as they are now."""
        await self._link.renew()

    async def identity(self) -> StreamIdentity:
        """Which streams there are now, made here if there were none."""
        manager = self._link.client().jsm(prefix=self._prefix, timeout=streams.MAX_CREATE_SECONDS)
        return await self._link.unbroken(streams.ensure(manager, self.subjects, self._replicas))

    async def cells(self) -> list[str]:
        """The cells that have streams on this bus."""
        return await self._link.unbroken(streams.cells(self._link.client().jsm(prefix=self._prefix)))

    async def stream_health(self) -> streams.StreamHealth | None:
        """How the streams are; None where the bus is away."""
        if not self.connected:
            return None
        manager = self._link.client().jsm(prefix=self._prefix)
        return await self._link.unbroken(streams.read_health(manager, self.subjects))

    # Orders

    async def publish_order(
        self, order: Order, to: Recipient | None = None, timeout: float = PUBLISH_TIMEOUT
    ) -> bool:
        """Put an order on its lane, for whoever serves it or for one run of one agent.

        True says that the server had this order under these fences already, which is no proof that anybody got it;
        False is no proof that nobody did, since a restarted server knows only the ids of messages it still holds.
        """
        return await self._publisher.publish(self._outgoing(order, to), timeout)

    async def publish_orders(
        self, orders: Sequence[Order], to: Recipient | None = None, timeout: float = PUBLISH_TIMEOUT
    ) -> list[bool]:
        """The same for many at once; if any fails, `NotPublished` says which."""
        outcomes = await self._publisher.publish_all([self._outgoing(order, to) for order in orders], timeout)
        published = {index: outcome for index, outcome in enumerate(outcomes) if isinstance(outcome, bool)}
        failed = {index: outcome for index, outcome in enumerate(outcomes) if isinstance(outcome, BusError)}
        if failed:
            raise NotPublished(published, failed)
        return list(published.values())

    def orders(
        self, lane: str, agent: str | None = None, epoch: int | None = None, *, ack_wait: float = ACK_WAIT
    ) -> Consumer[Order]:
        """The orders of a lane, shared with all who serve it; with agent and epoch, those sent to that run alone."""
        if (agent is None) != (epoch is None):
            raise ValueError("an agent without an epoch, or an epoch without an agent, is nobody")
        to = None if agent is None or epoch is None else Recipient(agent, epoch)
        return Consumer(
            self._link,
            ORDER,
            stream=self.subjects.orders_stream(lane),
            name=self.subjects.consumer(lane, to),
            filter_subject=self.subjects.order(lane, to),
            ack_wait=ack_wait,
            inactive_threshold=None if to is None else INACTIVE_THRESHOLD,
            prefix=self._prefix,
            make=partial(self.open_lane, lane, self._apart) if self._apart is not None else None,
            invalid_messages=self.invalid_messages,
            belongs=lambda _, order: order.lane == lane,
        )

    async def forget(self, lane: str, to: Recipient | None = None) -> None:
        """Remove what is left of a lane, or of one run of an agent, that will not be served again."""
        name, subject = self.subjects.consumer(lane, to), self.subjects.order(lane, to)
        await consumer.forget(self._link, self.subjects.orders_stream(lane), name, subject, self._prefix)

    def _outgoing(self, order: Order, to: Recipient | None) -> Outgoing:
        subject = self.subjects.order(order.lane, to)
        return Outgoing(subject, encode(order), message_id(order, subject))

    # Reports

    async def publish_report(self, report: FromAgent, timeout: float | None = None) -> None:
        """Try until the report is published, or for so many seconds."""
        outgoing = Outgoing(self._subject_of(report), encode(report), uuid4().hex)
        try:
            async with asyncio.timeout(timeout):
                await self._until_published(outgoing)
        except TimeoutError as error:
            raise NoAnswer("the report was not published in time") from error

    async def _until_published(self, outgoing: Outgoing) -> None:
        pause = 0.05
        while True:
            await self._link.wait()
            try:
                await self._publisher.publish(outgoing, PUBLISH_TIMEOUT)
                return
            except Unavailable as error:
                log.info("a report was not published: %s; trying again", error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    def reports(self, batch: int = 500, *, ack_wait: float = ACK_WAIT) -> Consumer[FromAgent]:
        """All that agents report, shared by all controllers. Acknowledge a batch when it is committed, not before."""
        return Consumer(
            self._link,
            FROM_AGENT,
            stream=self.subjects.reports_stream,
            name=CONTROLLERS,
            ack_wait=ack_wait,
            batch=batch,
            prefix=self._prefix,
            invalid_messages=self.invalid_messages,
            belongs=lambda subject, report: subject == self._subject_of(report),
        )

    def _subject_of(self, report: FromAgent) -> str:
        """Where alone it may be said: the bus lets an agent speak for itself and for its lanes."""
        return self.subjects.hello(report.agent) if isinstance(report, Hello) else self.subjects.report(report.lane)

    # Lanes

    async def open_lane(self, lane: str, agent: str, timeout: float = OPEN_LANE_TIMEOUT) -> None:
        """Have a controller make the consumer of a lane's orders."""
        await self._open_lane(OpenLane(lane, agent), timeout)

    async def serve_open_lane(
        self, authorize: Callable[[OpenLane], Awaitable[None]]
    ) -> RpcServer[OpenLane, OpenLaneReply]:
        """Make consumers for agents that may not; `authorize` raises where an agent asks for a lane not its own."""

        async def made(request: OpenLane) -> OpenLaneReply:
            try:
                consumer = self.orders(request.lane)
            except ValueError as error:
                raise BadMessage(str(error)) from error
            async with consumer:
                await authorize(request)
                await consumer.make()
            return OpenLaneReply()

        return await self._open_lane.serve(made)

    # Presence

    async def announce(self, presence: Presence) -> None:
        """Say that an agent is there, to whichever controller listens now."""
        with translated("presence"):
            subject = self.subjects.presence(presence.agent)
            await self._link.client().publish(subject, encode(presence), self._supersedes)

    async def on_superseded(self, handler: Callable[[Superseded], object]) -> DurableSubscription:
        """Hear that a newer run has taken this agent's place: controllers answer its presence with that."""
        self._supersedes = self._link.new_inbox()

        async def heard(superseded: Superseded, _: Msg) -> None:
            handler(superseded)

        return await self._hear(self._supersedes, MessageFormat(Superseded), heard)

    async def tell_superseded(self, where: str, superseded: Superseded) -> None:
        """Tell a run of an agent that a newer one has taken its place; the word may be lost."""
        with translated("superseded"):
            await self._link.client().publish(where, encode(superseded))

    async def on_presence(self, handler: Callable[[Presence, str], Awaitable[None]]) -> DurableSubscription:
        """Hear of the agents that are there, and where each wants an answer; each word goes to one controller."""

        async def own(presence: Presence, message: Msg) -> None:
            if message.subject != self.subjects.presence(presence.agent):
                self.invalid_messages.note(message.subject, f"{presence.agent} speaks for another")
                return
            await handler(presence, message.reply if is_reply_subject(presence.agent, message.reply) else "")

        return await self._hear(self.subjects.presences, PRESENCE, own)

    async def wake(self, wakeup: Wakeup, *, heard: bool = False) -> None:
        """Tell one controller that there is work; with `heard`, fail where none listens."""
        with translated("wakeup"):
            client, data = self._link.client(), encode(wakeup)
            if heard:
                await client.request(self.subjects.wakeup, data, timeout=PUBLISH_TIMEOUT)
            else:
                await client.publish(self.subjects.wakeup, data)

    async def on_wakeup(self, handler: Callable[[Wakeup], Awaitable[None]]) -> DurableSubscription:
        """Hear that there is work; each message goes to one controller."""

        async def heard(wakeup: Wakeup, message: Msg) -> None:
            if message.reply:
                await message.respond(b"")
            await handler(wakeup)

        return await self._hear(self.subjects.wakeup, MessageFormat(Wakeup), heard)

    async def _hear[M: Message](
        self, subject: str, form: MessageFormat[M], handler: Callable[[M, Msg], Awaitable[None]]
    ) -> DurableSubscription:
        async def callback(message: Msg) -> None:
            try:
                heard = form.decode(message.data)
            except BadMessage as error:
                self.invalid_messages.note(message.subject, str(error))
                return
            await handler(heard, message)

        return await self._link.listen(subject, callback, QUEUE)
