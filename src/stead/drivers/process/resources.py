"""What all kinds of resource on a machine have in common, whatever they are made of.

Each has a place that follows from its path. What is wanted there says which resource of that path it is.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager

import msgspec

from stead.drivers.base import FoundObject, LogTail, Member, ObservedObject, PermanentError, Result
from stead.drivers.process.folders import App, Place, Wanted, identity, is_it
from stead.drivers.process.leading import Leader
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import Runner, Sight
from stead.lifecycle.rows import ABSENT


class Resources[P: Place](ABC):
    """The resources of one kind on this machine."""

    kind: str

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._root = machine.root

    @abstractmethod
    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Do all that is asked of one except its deletion."""

    @abstractmethod
    def delete(self, member: Member, until: float) -> Result:
        """Stop it and remove what is left."""

    def observe(self, member: Member, view: object = None) -> ObservedObject:
        """How it is, seen anew or in a view of all."""
        place = self._place(member.path)
        there = self._own(place, member)
        if there is None:
            return ObservedObject(path=member.path, state=ABSENT)
        return self._seen(place, there, view)

    def all(self) -> list[FoundObject]:
        """What is there."""
        view = self.view()
        wanted = [(place, there) for place in self._places() if (there := place.readable()) is not None]
        observed = [(place, there, self._seen(place, there, view)) for place, there in wanted]
        return [
            FoundObject(
                id=identity(place, there.token),
                token=there.token,
                state=seen.state,
                path=there.path,
                facts=seen.facts,
                kind=self.kind,
            )
            for place, there, seen in observed
            if seen.state != ABSENT
        ]

    def view(self) -> object:
        """Of all of them, for many looks at once; None where single looks cost nothing."""
        return None

    @abstractmethod
    def _place(self, path: str) -> P:
        """Where the one of a path is, or would be."""

    @abstractmethod
    def _places(self) -> Iterable[P]:
        """Where there is one."""

    @abstractmethod
    def _seen(self, place: P, there: Wanted, view: object) -> ObservedObject:
        """How the one at a place is."""

    def _own(self, place: P, member: Member) -> Wanted | None:
        """What is wanted of the member; None where it is not there."""
        there = place.wanted()
        return there if there is not None and is_it(place, there, member) else None

    def _begin_deletion(self, place: P, member: Member) -> Wanted | None:
        """What was wanted of the member, marked as being deleted; None where it is not there."""
        there = self._own(place, member)
        self._root.spend(member.token if there is None else there.token)
        if there is None or there.absent:
            return there
        there = msgspec.structs.replace(there, absent=True)
        place.write(there)
        return there


class Programs[P: Place](Resources[P]):
    """Resources that run programs."""

    def __init__(self, machine: Machine, runner: Runner) -> None:
        super().__init__(machine)
        self._runner = runner

    def view(self) -> object:
        """Of all programs, for many looks at once."""
        return self._runner.view()

    def tail(self, member: Member, lines: int, since: str) -> LogTail:
        """The last that it wrote."""
        place = self._place(member.path)
        there = self._own(place, member)
        if there is None:
            raise PermanentError("it is not there")
        return self._tail(place, there, lines, since)

    @abstractmethod
    def _tail(self, place: P, there: Wanted, lines: int, since: str) -> LogTail:
        """The last that the one at a place wrote."""


class SinglePrograms(Programs[App]):
    """Resources of one program each."""

    def __init__(self, machine: Machine, runner: Runner) -> None:
        super().__init__(machine, runner)
        self._leader = Leader(machine, runner)

    def delete(self, member: Member, until: float) -> Result:
        """Stop it and remove what is left; its keeper ends it, however long it may take."""
        place = self._place(member.path)
        with self._lock(member.path, until):
            there = self._begin_deletion(place, member)
            if there is None:
                return Result(path=member.path, ok=True)
            facts = {"id": identity(place, there.token)}
            while not self._finish(place, there):
                self._runner.heed(place)
                if time.monotonic() > until:
                    return Result(path=member.path, ok=True, pending=ABSENT, facts=facts)
                time.sleep(self._runner.pause)
        return Result(path=member.path, ok=True, facts=facts)

    def _seen(self, place: App, there: Wanted, view: object) -> ObservedObject:
        sight = self._sight(place, there, view)
        if sight.state == ABSENT:
            return ObservedObject(path=there.path, state=ABSENT)
        return ObservedObject(
            path=there.path,
            state=self._state(sight),
            facts={"id": identity(place, there.token)},
            revision=there.revision,
            error=sight.error,
        )

    def _tail(self, place: App, there: Wanted, lines: int, since: str) -> LogTail:
        return self._runner.tail(place, lines, since)

    @abstractmethod
    def _lock(self, path: str, until: float) -> AbstractContextManager[None]:
        """Alone with a path."""

    @abstractmethod
    def _sight(self, place: App, there: Wanted, view: object) -> Sight:
        """How the program is; a deletion is finished, where it has ended meanwhile."""

    @abstractmethod
    def _finish(self, place: App, there: Wanted) -> bool:
        """Remove what is left, if nothing runs any more."""

    def _state(self, sight: Sight) -> str:
        """In the words of the kind."""
        return sight.state
