"""Bad messages through a real bus, into a controller and an agent that run.

Whoever can reach the bus can say anything on any subject, with any header, and ask for an answer anywhere. Controller
and agent count it and go on: no traceback, nobody ends, and an ordinary action goes as before. What is well formed is
said in the name of an agent that there is not; a lie of one that there is is another matter, and its own lane's.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error

from stead.bus.codec import encode
from stead.bus.invalid_messages import LOG_INTERVAL
from stead.bus.messages import (
    FullState,
    Hello,
    InventoryRequest,
    LogsRequest,
    Message,
    OffersRequest,
    OpenLane,
    Order,
    Presence,
    ProbeRequest,
    RenewCustody,
    RenewIdentity,
    Report,
    SiteRequest,
    StateSyncRequest,
    TakeCustody,
    Wakeup,
)
from stead.bus.subjects import Recipient, Subjects, inbox
from tests.bus.test_messages import ALL
from tests.fuzz.ground import AGENT, LANE, Ground
from tests.fuzz.memory import Memory
from tests.fuzz.result import Result
from tests.fuzz.spoil import BYTES, Spoiler
from tests.fuzz.wire import spoiled
from tests.subscribing import flushed

SPEED = 2000
"""Messages a second: what is said faster is dropped by the bus, and tries nothing."""
BATCH = 100
MANY = 10_000
PATIENCE = 60.0
"""Seconds for the stream of reports to be read to its end."""

WORTHLESS = re.compile(rb"(\d+) messages were worth nothing")
HEADERS: tuple[dict[str, str] | None, ...] = (
    *(None, None, None, None, {"Status": "503"}, {"Status": "404"}, {"Status": "100"}, {"a": "b" * 1000}),
    *({"Nats-Msg-Id": "1"}, {"Nats-Rollup": "all"}, {"Nats-Expected-Stream": "x"}, {"traceparent": "\u00ff"}),
)
FOR_AGENTS = (Order, ProbeRequest, OffersRequest, LogsRequest, StateSyncRequest)
"""What controllers say to agents: it is said on the lane of the one that runs."""


def subject_of(subjects: Subjects, message: Message) -> str:
    """Where a message is said."""
    match message:
        case Order():
            return subjects.order(LANE)
        case Report() | FullState():
            return subjects.report(message.lane)
        case Hello():
            return subjects.hello(message.agent)
        case Presence():
            return subjects.presence(message.agent)
        case TakeCustody():
            return subjects.agent_request("take-custody", message.agent)
        case RenewCustody():
            return subjects.agent_request("renew-custody", message.agent)
        case InventoryRequest():
            return subjects.agent_request("inventory", message.agent or "agent-1")
        case OpenLane():
            return subjects.agent_request("open-lane", message.agent)
        case SiteRequest():
            return subjects.agent_request("site", message.agent)
        case RenewIdentity():
            return subjects.agent_request("renew-identity", message.agent)
        case ProbeRequest():
            return subjects.lane_request("probe", LANE)
        case OffersRequest():
            return subjects.lane_request("offers", LANE)
        case LogsRequest():
            return subjects.lane_request("logs", LANE)
        case StateSyncRequest():
            return subjects.lane_request("state-sync", LANE)
        case Wakeup():
            return subjects.wakeup
        case _:
            return ""


class Speaker:
    """Says it all."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self.ground = ground
        self.spoiler = Spoiler(f"bus {seed}")
        self.subjects = Subjects(ground.cell)
        self.known: list[str] = []
        self.samples: list[tuple[str, dict[str, Any]]] = []
        for message in ALL:
            fields = json.loads(encode(message))
            self.known += fields
            if isinstance(message, FOR_AGENTS):
                fields["lane"] = LANE
            if subject := subject_of(self.subjects, message):
                self.samples.append((subject, fields))
        to = Recipient(AGENT, 1)
        self.samples.append((self.subjects.order(LANE, to), self.samples[0][1]))
        self.inboxes: set[str] = set()
        """Where others wait for answers."""
        self.said: Counter[str] = Counter()

    async def overhear(self, message: Msg) -> None:
        for subject in (message.subject, message.reply):
            if subject.startswith("_INBOX") and len(self.inboxes) < 1000:
                self.inboxes.add(subject)

    async def say(self, client: Client) -> None:
        """One of them."""
        spoiler, choose = self.spoiler, self.spoiler.random.choice
        subject, fields = choose(self.samples)
        data = spoiled(spoiler, fields, self.known)
        if spoiler.chance(0.05):
            subject = choose(self.samples)[0]
        elif spoiler.chance(0.05):
            subject = "".join(c for c in spoiler.text(subject) if c.isprintable() and c not in " *>")[:200] or "a"
        if self.inboxes and spoiler.chance(0.05):
            subject = choose(sorted(self.inboxes))
            data = data if spoiler.chance(0.5) else choose(BYTES)
        reply = choose(("", f"{inbox('agent-1')}.1", "_INBOX.a", f"{inbox(AGENT)}.1", f"{self.subjects.wakeup}"))
        try:
            await client.publish(subject, data, reply, choose(HEADERS))
            self.said["said"] += 1
        except (Error, ValueError):
            self.said["not said"] += 1  # the library knows better

    async def run(self, count: int, memory: Memory, say: Callable[[str], None]) -> None:
        client = await nats.connect(self.ground.bus, error_cb=refused)
        try:
            await client.subscribe("_INBOX.>", cb=self.overhear)
            await client.subscribe(f"{inbox(AGENT)}.>", cb=self.overhear)
            await client.subscribe("$JS.API.>", cb=self.overhear)
            await asyncio.sleep(1.5)  # sleep: what is sent at intervals has been overheard
            began = time.monotonic()
            for number in range(count):
                await self.say(client)
                if number % BATCH == 0:
                    await flushed(client)
                    await asyncio.sleep(max(0.0, began + number / SPEED - time.monotonic()))
                if memory.at(number + 1, count):
                    say(f"  {number + 1} messages on the bus, {memory.line}")
            await self.read_to_the_end(client)
            if count >= MANY:  # whatever was counted is told with what comes after a while
                await asyncio.sleep(LOG_INTERVAL + 1)
                for subject in (self.subjects.wakeup, self.subjects.lane_request("state-sync", LANE)):
                    await client.publish(subject, b"?")
                await flushed(client)
        finally:
            await client.close()

    async def read_to_the_end(self, client: Client) -> None:
        """Until whatever was reported has been looked at."""
        manager = client.jsm()
        until = time.monotonic() + PATIENCE
        while (await manager.consumer_info(self.subjects.reports_stream, "controllers")).num_pending:
            if time.monotonic() > until:
                raise TimeoutError("the controller does not read what is reported")
            await asyncio.sleep(0.2)


async def refused(_: Exception) -> None:
    """The server of the bus knows better."""


def bad_on_the_bus(ground: Ground, count: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Result:
    """So many, and an ordinary action after them."""
    speaker = Speaker(ground, seed)
    memory = Memory(ground.pids)
    failures: list[str] = []
    pids = ground.pids()
    began = time.monotonic()
    try:
        asyncio.run(speaker.run(count, memory, say))
    except TimeoutError as error:
        failures.append(str(error))
    seconds = time.monotonic() - began
    failures += ground.ordinary() + ground.complaints()
    if ground.pids() != pids:
        failures.append(f"processes ended and were started again: {pids} are now {ground.pids()}")
    counted = {process.arguments[0]: worthless(process.log.read_bytes()) for process in (ground.server, ground.agent)}
    for name, number in counted.items():
        if not number:
            failures.append(f"the {name} counted nothing as garbage")
    answers = {**speaker.said, **{f"counted by the {name}": number for name, number in counted.items()}}
    return Result("messages on the bus", count, seed, answers, failures, memory.samples, seconds)


def worthless(log: bytes) -> int:
    """How many messages were counted as garbage, as far as it was told."""
    return sum(int(found[1]) for found in WORTHLESS.finditer(log))
