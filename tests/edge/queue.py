"""`python -m tests.edge.queue`: what happens to packets on bad links, in the network namespace it runs in.

The kernel hands packets over by NFQUEUE, one queue for each link, and gets them back some time later: each with a
delay of its own, so that they overtake each other, and some of them twice. It speaks netlink with the kernel.

What a link is like comes in as a line of JSON each; at the end of the input it says what it has done.
"""

from __future__ import annotations

import errno
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NETLINK_NETFILTER = 12
QUEUE = 3 << 8
"""The part of netfilter that it speaks to."""
PACKET, VERDICT, CONFIG = 0, 1, 2
REQUEST = 1
CFG_CMD, CFG_PARAMS, CFG_MAXLEN = 1, 2, 3
BIND, COPY_PACKET = 1, 2
PACKET_HDR, VERDICT_HDR, PAYLOAD = 1, 2, 10
ACCEPT = 1
MOST = 65_536
ROOM = 16 * 1024 * 1024

SO_RCVBUFFORCE = 33


@dataclass(frozen=True)
class Weather:
    """What a link is like for what comes through its queue."""

    delay: float = 0.0
    jitter: float = 0.0
    """Up to so many seconds more, drawn for each packet: that is how they come in another order."""
    duplicate: float = 0.0
    """The part of packets that come twice."""


@dataclass(frozen=True, order=True)
class Held:
    """A packet on its way."""

    due: float
    number: int
    """In the order in which they came."""
    queue: int
    id: int


class Netlink:
    """The kernel's end of the queues."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self.socket.bind((0, 0))
        self.socket.setblocking(False)

    def bind(self, queue: int) -> None:
        """Packets of a queue come here from now on."""
        self._send(CONFIG, queue, _attribute(CFG_CMD, struct.pack("!BxH", BIND, socket.AF_INET)))
        self._send(CONFIG, queue, _attribute(CFG_PARAMS, struct.pack("!IB", MOST, COPY_PACKET)))
        self._send(CONFIG, queue, _attribute(CFG_MAXLEN, struct.pack("!I", MOST)))

    def accept(self, queue: int, id: int) -> None:
        """Let a packet go on."""
        self._send(VERDICT, queue, _attribute(VERDICT_HDR, struct.pack("!II", ACCEPT, id)))

    def packets(self) -> Iterator[tuple[int, int, bytes]]:
        """What has come: its queue, its id there, and what it is."""
        while True:
            try:
                data = self.socket.recv(2 * MOST)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:  # more came than there is room for: that is lost
                    raise
                continue
            yield from _packets(data)

    def _send(self, message: int, queue: int, attributes: bytes) -> None:
        body = struct.pack("!BBH", socket.AF_UNSPEC, 0, queue) + attributes
        head = struct.pack("=IHHII", 16 + len(body), QUEUE | message, REQUEST, 0, 0)
        self.socket.send(head + body)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _packets(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + 16 <= len(data):
        size, kind, _, _, _ = struct.unpack_from("=IHHII", data, at)
        if size < 16:
            return
        if kind == QUEUE | PACKET:
            (queue,) = struct.unpack_from("!H", data, at + 18)
            found = dict(_attributes(data[at + 20 : at + size]))
            (id,) = struct.unpack_from("!I", found[PACKET_HDR])
            yield queue, id, found.get(PAYLOAD, b"")
        at += (size + 3) & ~3


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        if size < 4:
            return
        yield kind & 0x3FFF, data[at + 4 : at + size]
        at += (size + 3) & ~3


class Sky:
    """All links and what is on its way on them."""

    def __init__(self, links: int, chance: random.Random) -> None:
        self.netlink = Netlink()
        for queue in range(links):
            self.netlink.bind(queue)
        # Where it is sent from here it does not come through a queue again.
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.chance = chance
        self.weather: dict[int, Weather] = {}
        self.held: list[Held] = []
        self.latest: dict[int, int] = {}
        self.number = 0
        self.rest = b""
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Until the input ends."""
        while True:
            wait = max(0.0, self.held[0].due - time.monotonic()) if self.held else 1.0
            readable, _, _ = select.select([self.netlink.socket, sys.stdin], [], [], wait)
            if self.netlink.socket in readable:
                self._take()
            self._release()
            if sys.stdin in readable and not self._hear():
                return

    def _hear(self) -> bool:
        """Whether there may be more to hear."""
        said = os.read(sys.stdin.fileno(), MOST)
        *lines, self.rest = (self.rest + said).split(b"\n")
        for line in lines:
            link: dict[str, Any] = json.loads(line)
            number = link.pop("link")
            self.weather[number] = Weather(**link)
        return bool(said)

    def _take(self) -> None:
        now = time.monotonic()
        for queue, id, payload in self.netlink.packets():
            weather = self.weather.get(queue, Weather())
            self.counts["delayed"] += 1
            self.number += 1
            due = now + weather.delay + self.chance.random() * weather.jitter
            heapq.heappush(self.held, Held(due, self.number, queue, id))
            if payload and self.chance.random() < weather.duplicate:
                self.counts["repeated"] += 1
                self._again(payload)

    def _again(self, packet: bytes) -> None:
        try:
            self.raw.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
        except OSError:
            self.counts["not repeated"] += 1  # the link is down, or the packet too large

    def _release(self) -> None:
        now = time.monotonic()
        while self.held and self.held[0].due <= now:
            one = heapq.heappop(self.held)
            if one.number < self.latest.get(one.queue, 0):
                self.counts["overtaken"] += 1
            self.latest[one.queue] = max(one.number, self.latest.get(one.queue, 0))
            self.netlink.accept(one.queue, one.id)


def main() -> None:
    sky = Sky(int(sys.argv[1]), random.Random(sys.argv[2]))
    print("ready", flush=True)
    sky.run()
    print(json.dumps(sky.counts), flush=True)


if __name__ == "__main__":
    main()
