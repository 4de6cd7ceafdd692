"""Connections to nodes: one for each, opened when it is needed, and anew when it has died.

libvirt's calls block, so they are made in threads. A thread cannot be ended from outside: a call that takes too long
goes on, and its caller no longer waits for it. Two things keep that harmless. Before each step a thread looks at the
clock and begins nothing that is too late. And libvirt itself asks a daemon every other second whether it is still
there; of one that does not answer the connection is closed, and with that the call ends.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import libvirt

from stead.drivers.base import DriverError
from stead.drivers.libvirt.errors import Missing, NoAnswer, meaning

ALIVE = (2, 2)
"""Seconds between two questions whether a daemon is there, and how many may go unanswered."""
OPENING = 3.0
"""Seconds after which nobody waits any more for a connection that is being opened."""


class Call:
    """One call of the driver: it ends in time, and knows whether it has done anything."""

    def __init__(self, until: float) -> None:
        self.until = until
        """By the monotonic clock: nothing is begun after that."""
        self.acted = False
        """Whether anything may have been done."""

    @property
    def left(self) -> float:
        """Seconds."""
        return self.until - time.monotonic()


class Node:
    """One host."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self._lock = threading.Lock()
        self._opening: _Opening | None = None
        self._connection: Any = None

    def ask[T](self, call: Call, question: Callable[[Any], T]) -> T:
        """What libvirt answers; nothing is changed by it."""
        return self._ask(call, question)

    def find[T](self, call: Call, question: Callable[[Any], T]) -> T | None:
        """The same; None where libvirt says that there is no such thing."""
        try:
            return self._ask(call, question)
        except Missing:
            return None

    def act[T](self, call: Call, deed: Callable[[Any], T]) -> T:
        """Change something. From here on, what goes wrong leaves open how much of it was done."""
        before, call.acted = call.acted, True
        try:
            return self._ask(call, deed, before=before)
        except DriverError as error:
            if not (isinstance(error, NoAnswer) and error.unknown):
                call.acted = before
            raise

    def close(self) -> None:
        """Let go."""
        with self._lock:
            self._opening = None
            self._drop(self._connection)

    def _ask[T](self, call: Call, question: Callable[[Any], T], *, before: bool | None = None) -> T:
        known = call.acted if before is None else before
        if call.left <= 0:
            raise NoAnswer("libvirt takes longer than a call may last", unknown=known)
        connection = self._connected(call, known)
        try:
            return question(connection)
        except libvirt.libvirtError as error:
            alive = _is_alive(connection)
            if not alive:
                with self._lock:
                    self._drop(connection)
            raise meaning(error, alive=alive, acted=call.acted, before=known) from error

    def _connected(self, call: Call, acted: bool) -> Any:
        """The connection that there is, or a new one. For one that takes long to come nobody waits twice."""
        with self._lock:
            if self._connection is not None and _is_alive(self._connection):
                return self._connection
            self._drop(self._connection)
            if self._opening is None:
                self._opening = _Opening(self.name, self.address)
            opening = self._opening
        came = opening.wait(call.left)
        with self._lock:
            if came and self._opening is opening:
                self._opening, self._connection = None, opening.connection
        if not came or opening.connection is None:
            raise NoAnswer(f"node {self.name} does not answer", unknown=acted, detail=opening.error)
        return opening.connection

    def _drop(self, connection: Any) -> None:
        if connection is not None and connection is self._connection:
            self._connection = None
            with contextlib.suppress(libvirt.libvirtError):
                connection.close()


class _Opening:
    """A connection that is being opened, by a thread of its own: nothing ends that, if a daemon says nothing."""

    def __init__(self, name: str, address: str) -> None:
        self.connection: Any = None
        self.error = ""
        self._address = address
        self._began = time.monotonic()
        self._done = threading.Event()
        threading.Thread(target=self._open, name=f"libvirt-open-{name}", daemon=True).start()

    def wait(self, left: float) -> bool:
        """Whether it has come to an end."""
        return self._done.wait(max(0.0, min(left, self._began + OPENING - time.monotonic())))

    def _open(self) -> None:
        try:
            connection = libvirt.open(self._address)
            with contextlib.suppress(libvirt.libvirtError):  # one within this process is always there
                connection.setKeepAlive(*ALIVE)
            self.connection = connection
        except libvirt.libvirtError as error:
            self.error = str(error)
        finally:
            self._done.set()


class Nodes:
    """All of a datacenter."""

    def __init__(self, addresses: Mapping[str, str], peers: Mapping[str, str]) -> None:
        self._nodes = {name: Node(name, address) for name, address in addresses.items()}
        self._peers = peers
        events.start()

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def get(self, name: str) -> Node | None:
        """The node of that name."""
        return self._nodes.get(name)

    def known(self, name: str) -> Node:
        """The node that something is on. One that this agent was not told of can say nothing."""
        node = self.get(name)
        if node is None:
            raise NoAnswer(f"it is on node {name}, of which this agent knows nothing")
        return node

    def way_to(self, node: Node) -> str:
        """The address under which other nodes reach it."""
        return self._peers.get(node.name, node.address)

    def close(self) -> None:
        """Let go of all."""
        for node in self._nodes.values():
            node.close()


class _Events:
    """A thread that runs libvirt's own loop, without which nobody is asked whether they are still there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Once in a process, before the first connection."""
        with self._lock:
            if not self._started:
                self._started = True
                libvirt.registerErrorHandler(_say_nothing, None)
                libvirt.virEventRegisterDefaultImpl()
                threading.Thread(target=self._run, name="libvirt-events", daemon=True).start()

    def _run(self) -> None:
        while True:
            libvirt.virEventRunDefaultImpl()


events = _Events()


def _say_nothing(_context: object, _error: object) -> None:
    """Errors are raised; libvirt need not write them, too."""


def _is_alive(connection: Any) -> bool:
    try:
        return bool(connection.isAlive())
    except libvirt.libvirtError:
        return False
