"""One machine on one node: what it is at libvirt, and the single steps that lead it elsewhere.

Whether a step succeeded is told by what is there afterwards, not by its answer: who was asked to stop what has just
ended says no, and has nothing to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import libvirt
import msgspec
from msgspec import Struct

from stead.drivers.base import TRANSITIONAL, DriverError, PermanentError, RetryableError
from stead.drivers.libvirt import marks
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.marks import PREFIX, SPACE, Mark
from stead.drivers.libvirt.nodes import Call, Node
from stead.lifecycle.rows import BROKEN

RUNNING, PAUSED, HALTED, DELETED = "RUNNING", "PAUSED", "HALTED", "DELETED"

_PAUSE = 0.05

_WORDS = {
    libvirt.VIR_DOMAIN_NOSTATE: RUNNING,
    libvirt.VIR_DOMAIN_RUNNING: RUNNING,
    libvirt.VIR_DOMAIN_BLOCKED: RUNNING,
    libvirt.VIR_DOMAIN_PAUSED: PAUSED,
    libvirt.VIR_DOMAIN_PMSUSPENDED: PAUSED,
    libvirt.VIR_DOMAIN_SHUTDOWN: TRANSITIONAL,
    libvirt.VIR_DOMAIN_SHUTOFF: HALTED,
    libvirt.VIR_DOMAIN_CRASHED: BROKEN,
}
"""The lifecycle's words for the states of a domain."""

_PAUSED = {
    libvirt.VIR_DOMAIN_PAUSED_SHUTTING_DOWN: TRANSITIONAL,
    libvirt.VIR_DOMAIN_PAUSED_STARTING_UP: TRANSITIONAL,
    libvirt.VIR_DOMAIN_PAUSED_IOERROR: BROKEN,
    libvirt.VIR_DOMAIN_PAUSED_CRASHED: BROKEN,
}
"""Who is paused for one of these reasons was not asked to be."""

_AT_WORK = frozenset({libvirt.VIR_DOMAIN_PAUSED_MIGRATION, libvirt.VIR_DOMAIN_PAUSED_SAVE})
"""Reasons for which libvirt pauses while it works, and that it keeps telling of one that it has woken as it was."""

_LEFT_OVERS = libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
"""What goes with a definition."""

_METADATA = libvirt.VIR_DOMAIN_METADATA_ELEMENT
_CONFIG, _LIVE = libvirt.VIR_DOMAIN_AFFECT_CONFIG, libvirt.VIR_DOMAIN_AFFECT_LIVE


class Sight(Struct, frozen=True, kw_only=True):
    """How it is."""

    state: str
    """Of the domain itself; it may be put aside besides that."""
    error: str = ""


class Domain:
    """A machine of ours on a node."""

    def __init__(self, node: Node, name: str, mark: Mark) -> None:
        self.node = node
        self.name = name
        self.mark = mark

    def sight(self, call: Call) -> Sight | None:
        """How it is; None where it is gone."""
        state = self._find(call, lambda domain: domain.state())
        if state is None:
            return None
        word, error = _WORDS.get(state[0], BROKEN), ""
        if state[0] == libvirt.VIR_DOMAIN_PAUSED:
            word = _PAUSED.get(state[1], PAUSED)
            if state[1] in _AT_WORK and self.is_busy(call):
                word = TRANSITIONAL
        if word == BROKEN:
            error = (
                "libvirt says that it has crashed" if state[0] != libvirt.VIR_DOMAIN_PAUSED else "its disk has errors"
            )
        return Sight(state=word, error=error)

    def is_on(self, call: Call) -> bool:
        """Whether it runs, paused or not."""
        return bool(self._find(call, lambda domain: domain.isActive()))

    def runs(self, call: Call) -> bool:
        """Whether it runs and is not paused."""
        return self._is(call, RUNNING)

    def is_busy(self, call: Call) -> bool:
        """Whether libvirt itself is at something that lasts: saving it, or moving it."""
        try:
            job = self._find(call, lambda domain: domain.jobInfo())
        except PermanentError:
            return False  # what has no jobs is never at one
        except NoAnswer:
            raise
        except RetryableError:
            return self.is_on(
                call
            )  # it is off, and has none; or it waits for its memory, and only the source can tell
        return job is not None and job[0] not in (
            libvirt.VIR_DOMAIN_JOB_NONE,
            libvirt.VIR_DOMAIN_JOB_COMPLETED,
            libvirt.VIR_DOMAIN_JOB_FAILED,
            libvirt.VIR_DOMAIN_JOB_CANCELLED,
        )

    def definition(self, call: Call) -> str:
        """As it is when it starts the next time."""
        return str(self.node.ask(call, lambda c: _of(c, self.name).XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)))

    def start(self, call: Call, *, paused: bool = False) -> None:
        """Switched on."""
        flags = libvirt.VIR_DOMAIN_START_PAUSED if paused else 0
        self._step(call, lambda domain: domain.createWithFlags(flags), lambda: self.is_on(call))

    def pause(self, call: Call) -> None:
        """Frozen."""
        self._step(call, lambda domain: domain.suspend(), lambda: self._is(call, PAUSED))

    def resume(self, call: Call) -> None:
        """Woken."""
        self._step(call, lambda domain: domain.resume(), lambda: self._is(call, RUNNING))

    def kill(self, call: Call) -> None:
        """Switched off."""
        self._step(call, lambda domain: domain.destroy(), lambda: not self.is_on(call))

    def shut_down(self, call: Call, grace: float) -> None:
        """Asked to shut down, and switched off if it does not follow. What is frozen hears nothing."""
        if grace > 0 and self._is(call, RUNNING):
            self._step(call, lambda domain: domain.shutdown(), lambda: not self._is(call, RUNNING))
            end = min(time.monotonic() + grace, call.until)
            while time.monotonic() < end and self.is_on(call):
                time.sleep(_PAUSE)
        if self.is_on(call):
            self.kill(call)

    def reboot(self, call: Call) -> None:
        """Asked to restart, once."""
        self.node.act(call, lambda c: _of(c, self.name).reboot(0))

    def reset(self, call: Call) -> None:
        """Off and on, once."""
        self.node.act(call, lambda c: _of(c, self.name).reset(0))

    def undefine(self, call: Call) -> None:
        """Nothing is left of it on its node. It has to be off; one that was just being started is switched off."""
        self._step(call, lambda domain: domain.undefineFlags(_LEFT_OVERS), lambda: not self.is_there(call))
        if self.is_there(call):
            self.kill(call)

    def is_there(self, call: Call) -> bool:
        """Whether the node has it still."""
        return self._find(call, lambda domain: domain.name()) is not None

    def save(self, call: Call, file: str) -> None:
        """Its memory goes into a file, and it is off."""
        self._step(call, lambda domain: domain.save(file), lambda: not self.is_on(call))

    def wake(self, call: Call, file: str) -> None:
        """It goes on from what a file has of its memory."""
        self.node.act(call, lambda c: c.restore(file))

    def migrate(self, call: Call, way: str, flags: int) -> None:
        """To another node, as it runs."""
        self.node.act(call, lambda c: _of(c, self.name).migrateToURI3(way, {}, flags))

    def sign(self, call: Call, **changes: Any) -> None:
        """Another mark, for now and for later."""
        mark = msgspec.structs.replace(self.mark, **changes)
        flags = _CONFIG | (_LIVE if self.is_on(call) else 0)
        words = marks.element(mark)
        self.node.act(call, lambda c: _of(c, self.name).setMetadata(_METADATA, words, PREFIX, SPACE, flags))
        self.mark = mark

    def attach(self, call: Call, device: str, *, live: bool) -> None:
        """A disk more: in what it is, or in what it will be."""
        flags = _LIVE if live else _CONFIG
        self.node.act(call, lambda c: _of(c, self.name).attachDeviceFlags(device, flags))

    def detach(self, call: Call, device: str, *, live: bool) -> None:
        """A disk less, likewise. A machine that runs is asked to let go of it."""
        flags = _LIVE if live else _CONFIG
        self.node.act(call, lambda c: _of(c, self.name).detachDeviceFlags(device, flags))

    def running_definition(self, call: Call) -> str:
        """As it is now."""
        return str(self.node.ask(call, lambda c: _of(c, self.name).XMLDesc(0)))

    def _is(self, call: Call, state: str) -> bool:
        sight = self.sight(call)
        return sight is not None and sight.state == state

    def _find[T](self, call: Call, question: Callable[[Any], T]) -> T | None:
        return self.node.find(call, lambda c: question(_of(c, self.name)))

    def _step(self, call: Call, deed: Callable[[Any], Any], done: Callable[[], bool]) -> None:
        """Take it, where it has not been taken."""
        try:
            self.node.act(call, lambda c: deed(_of(c, self.name)))
        except NoAnswer:
            raise
        except DriverError:
            if not done():
                raise


def define(call: Call, node: Node, definition: str) -> None:
    """Put it on a node, switched off; or change what it will be."""
    node.act(call, lambda c: c.defineXML(definition))


def find(call: Call, node: Node, name: str) -> Domain | None:
    """The machine of that name, if it is ours."""
    words = node.find(call, lambda c: _of(c, name).metadata(_METADATA, SPACE, 0))
    mark = marks.read(words) if words else None
    return None if mark is None else Domain(node, name, mark)


def _of(connection: Any, name: str) -> Any:
    return connection.lookupByName(name)
