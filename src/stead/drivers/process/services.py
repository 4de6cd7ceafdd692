"""Services: so many copies of one app, which are led from one version to the next while the others stay up."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from stead.drivers.base import (
    TRANSITIONAL,
    LogTail,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
)
from stead.drivers.process import spec
from stead.drivers.process.copies import Copies, Copy
from stead.drivers.process.folders import OTHER_SPEC, REMOVED, SERVICES, Group, Wanted, identity
from stead.drivers.process.logs import together
from stead.drivers.process.resources import Programs
from stead.drivers.process.runner import READY
from stead.drivers.process.users import User, marked
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "service"
STABLE = "stable"

SOON = 0.5
"""Seconds before another call, where this one waited for somebody in vain."""

LISTENED = 20
"""What so many copies wrote is told, of the first ones: a position in all of them must not be long."""


class Services(Programs[Group]):
    """Those on this machine."""

    kind = KIND

    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Create, update, scale and restore: afterwards there are as many copies as the spec says, and as it says."""
        asked = self._runner.read(spec.copy(member.spec, 1))
        user = self._runner.user(member.path, asked.user)
        place = self._place(member.path)
        with self._root.alone(KIND, member.path, until):
            wanted = self._want(verb, place, member, order, asked.__struct_fields__, user)
            copies = self._copies(place, wanted)
            facts = {"id": identity(place, wanted.token), "copies": copies.count}
            try:
                done = copies.roll(until)
            except PermanentError as error:
                return Result(path=member.path, ok=False, facts=facts, error=error.message)
        if not done:
            return Result(path=member.path, ok=True, again=True, retry_after=SOON, facts=facts)
        return Result(path=member.path, ok=True, facts={**facts, "up": copies.count})

    def delete(self, member: Member, until: float) -> Result:
        """Stop all copies and remove what is left; their keepers end them, however long it may take."""
        place = self._place(member.path)
        with self._root.alone(KIND, member.path, until):
            there = self._begin_deletion(place, member)
            if there is None:
                return Result(path=member.path, ok=True)
            facts = {"id": identity(place, there.token)}
            patience = min(until, time.monotonic() + self._machine.patience)
            while not self._finish(place, there, until):
                if time.monotonic() > patience:
                    return Result(path=member.path, ok=True, again=True, retry_after=SOON, facts=facts)
                time.sleep(self._runner.pause)
        return Result(path=member.path, ok=True, facts=facts)

    def _place(self, path: str) -> Group:
        return self._root.group(SERVICES, path)

    def _places(self) -> Iterable[Group]:
        return self._root.groups(SERVICES)

    def _tail(self, place: Group, there: Wanted, lines: int, since: str) -> LogTail:
        """The last that its copies wrote."""
        numbers = [number for number in place.copies() if number <= LISTENED]
        named = there.run["count"] > 1
        return together({n: place.copy(n) for n in numbers}, self._runner.tail, lines, since, named=named)

    def _want(
        self, verb: str, place: Group, member: Member, order: str, known: tuple[str, ...], user: User | None
    ) -> Wanted:
        """What is wanted from now on, written down."""
        there = place.wanted()
        digest = spec.digest(member.spec)
        if there is not None and there.token != member.token:
            raise PermanentError("another service has its place, which has to be deleted first")
        if verb == "create":
            if self._root.is_spent(member.token):
                raise PermanentError(REMOVED)
            if there is not None:
                if digest not in (there.first, there.digest):
                    raise PermanentError(OTHER_SPEC)
                return there
        of_one = {name: said for name, said in member.spec.items() if name in (*known, "port")}
        wanted = Wanted(
            token=member.token,
            path=member.path,
            revision=member.revision,
            digest=digest,
            first=digest if there is None else there.first,
            spec=dict(member.spec),
            order=order,
            run={"count": spec.service(member.spec).count, "digest": marked(spec.digest(of_one), user)},
        )
        place.write(wanted)
        place.furnish()
        return wanted

    def _seen(self, place: Group, there: Wanted, view: object) -> ObservedObject:
        """How it is. Nobody may be at it where something is wrong; a deletion is finished, where all has ended."""
        seen = self._told(place, there, view)
        if seen.state not in (ABSENT, BROKEN):
            return seen
        try:
            with self._root.alone(KIND, there.path, 0):
                now = place.wanted()
                if now is None or now.token != there.token:
                    return ObservedObject(path=there.path, state=ABSENT)
                seen = self._told(place, now, None)
                if seen.state == ABSENT and not self._finish(place, now, 0):
                    return msgspec.structs.replace(seen, state=TRANSITIONAL)
                return seen
        except RetryableError:
            return msgspec.structs.replace(seen, state=TRANSITIONAL, error="")

    def _told(self, place: Group, there: Wanted, view: object) -> ObservedObject:
        """How it is, from what its copies are."""
        copies = self._copies(place, there)
        every = copies.seen(view)
        if there.absent:
            return self._leaving(place, there, copies, every)
        mine = [copy for copy in every if copy.number <= copies.count]
        states = [copy.sight.state for copy in mine]
        error = ""
        if bad := copies.wrong(mine):
            state, error = BROKEN, copies.says(mine, bad)
        elif TRANSITIONAL in states:
            state = TRANSITIONAL
        elif left := len(every) - sum(copy.right for copy in mine):
            state, error = BROKEN, f"{copies.says(mine, [])}; {left} are not as they should be, and nobody is at it"
        else:
            state = STABLE
        facts = {"id": identity(place, there.token), "copies": copies.count, "up": states.count(READY)}
        return ObservedObject(path=there.path, state=state, facts=facts, revision=there.revision, error=error)

    def _leaving(self, place: Group, there: Wanted, copies: Copies, every: Sequence[Copy]) -> ObservedObject:
        """How one is that is being deleted."""
        left = [copy for copy in every if copy.there is not None and copy.sight.state != ABSENT]
        state, error = TRANSITIONAL if left else ABSENT, ""
        if copies.wrong(left) or not all(copy.leaves for copy in left):
            state, error = BROKEN, "it was being deleted, and nobody is at it"
        return ObservedObject(path=there.path, state=state, facts={"id": identity(place, there.token)}, error=error)

    def _finish(self, place: Group, there: Wanted, until: float) -> bool:
        """Take down what is left of it; whether nothing is."""
        if self._copies(place, there).take_down(place.copies(), until):
            return False
        self._machine.unlimit(self._machine.group(self._machine.group_name(place.folder)))
        self._root.remove(place)
        return True

    def _copies(self, place: Group, wanted: Wanted) -> Copies:
        return Copies(self._machine, self._runner, place, wanted)
