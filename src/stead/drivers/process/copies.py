"""The copies of one service: as they are, as they should be, and step by step from the one to the other.

What is down is started at once, all of it side by side. What is up is replaced one by one, and nothing is touched
while another copy is on its way; so a bad change costs one copy at most. What is too many goes last.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched

import msgspec
from msgspec import Struct

from stead.drivers.base import TRANSITIONAL, PermanentError
from stead.drivers.process import spec
from stead.drivers.process.folders import Group, Wanted
from stead.drivers.process.leading import UNHEARD, Leader
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Frame, Runner, Sight
from stead.lifecycle.rows import ABSENT, BROKEN

DONE, BEGAN, WAITS, LATE = "done", "began", "waits", "late"
"""What a step came to: there is nothing left to do; something was; somebody is waited for; it takes another call."""

MAX_CONCURRENT_COPIES = 4
"""So many copies are started at the same moment."""

NAMED = 3
"""So many copies are named in an error."""


class Copy(Struct, frozen=True, kw_only=True):
    """One copy, as it was seen."""

    number: int
    there: Wanted | None
    """What is wanted of it by now; None where nobody has begun with it."""
    sight: Sight
    right: bool
    """That is what the service wants of it."""

    @property
    def leaves(self) -> bool:
        """It is being removed."""
        return self.there is not None and self.there.absent


class Copies:
    """Those of one service, during one call."""

    def __init__(self, machine: Machine, runner: Runner, place: Group, wanted: Wanted) -> None:
        self._machine = machine
        self._runner = runner
        self._leader = Leader(machine, runner)
        self._place = place
        self._wanted = wanted
        self._begun = False
        self.count: int = wanted.run["count"]

    def seen(self, view: object = None) -> list[Copy]:
        """All that are there or should be."""
        numbers = sorted({*range(1, self.count + 1), *self._place.copies()})
        if view is None and len(numbers) > 1:
            view = self._runner.view()
        return [self._observe(number, view) for number in numbers]

    def roll(self, until: float) -> bool:
        """Lead all of them on, as far as there is time; whether that was to the end. Raises `PermanentError` where a
        copy does not come up."""
        patience = time.monotonic() + self._machine.patience
        while (step := self._step(until)) != DONE:
            now = time.monotonic()
            if step == BEGAN:
                patience = now + self._machine.patience
            if step == LATE or now > min(patience, until):
                return False
            time.sleep(self._runner.pause)
        return True

    def take_down(self, numbers: Sequence[int], until: float) -> list[int]:
        """Stop copies, the last one first, and remove those that have ended; the others are returned."""
        left = []
        for number in sorted(numbers, reverse=True):
            place = self._place.copy(number)
            there = place.wanted()
            if there is not None and not there.absent:
                if time.monotonic() > until:
                    left.append(number)
                    continue
                there = msgspec.structs.replace(there, absent=True)
                place.write(there)
                self._runner.heed(place)
            if there is None or self._leader.ended(place, there):
                self._machine.root.remove(place)
            else:
                self._runner.heed(place)
                left.append(number)
        return left

    def wrong(self, copies: Sequence[Copy]) -> list[Copy]:
        """Those that do not come up, or end, by themselves."""
        return [copy for copy in copies if copy.sight.state in (BROKEN, ABSENT) or self._unheard(copy)]

    def says(self, copies: Sequence[Copy], bad: Sequence[Copy]) -> str:
        """What is wrong, in words."""
        up = sum(copy.sight.state == READY for copy in copies if copy.number <= self.count)
        named = [f"; copy {copy.number}: {copy.sight.error or UNHEARD}" for copy in bad[:NAMED]]
        more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
        return f"{up} of {self.count} copies are up{''.join(named)}{more}"

    def _unheard(self, copy: Copy) -> bool:
        """Whoever wrote down what is wanted of it went away, before its keeper was told."""
        if copy.there is None or copy.sight.state != TRANSITIONAL:
            return False
        if copy.leaves:
            return self._leader.overdue(self._place.copy(copy.number), copy.there)
        return copy.sight.fresh

    def _observe(self, number: int, view: object) -> Copy:
        place = self._place.copy(number)
        there = place.wanted()
        if there is None:
            nobody = Sight(state=BROKEN, error="nobody has started it")
            return Copy(number=number, there=None, sight=nobody, right=False)
        right = there.digest == self._wanted.run["digest"] and not there.absent
        return Copy(number=number, there=there, sight=self._runner.observe(place, there, view), right=right)

    def _step(self, until: float) -> str:
        copies = self.seen()
        mine = [copy for copy in copies if copy.number <= self.count]
        if failed := [copy for copy in mine if self._has_failed(copy)]:
            for copy in failed:
                self._runner.drop(self._place.copy(copy.number))
            raise PermanentError(self.says(mine, failed))
        if down := [copy for copy in mine if copy.sight.state in (BROKEN, ABSENT)]:
            return BEGAN if self._begin_all(down, until) else LATE
        if going := [copy for copy in mine if copy.sight.state == TRANSITIONAL and (copy.right or copy.leaves)]:
            for copy in going:
                self._urge(copy)
            return WAITS
        if others := [copy for copy in mine if not copy.right]:
            first = min(others, key=lambda copy: (copy.sight.state == READY, copy.number))
            return BEGAN if self._begin(first, until) else LATE
        surplus = [copy.number for copy in copies if copy.number > self.count]
        return WAITS if self.take_down(surplus, until) else DONE

    def _has_failed(self, copy: Copy) -> bool:
        """It was tried for this very order. One that failed before has another chance."""
        tried = copy.there is not None and copy.there.order == self._wanted.order
        return copy.right and tried and copy.sight.failed

    def _begin_all(self, copies: Sequence[Copy], until: float) -> bool:
        """Begin with some side by side, if there is time for all of them."""
        with ThreadPoolExecutor(MAX_CONCURRENT_COPIES, thread_name_prefix="copies") as threads:
            for some in batched(copies, MAX_CONCURRENT_COPIES):
                if not all(list(threads.map(lambda copy: self._begin(copy, until), some))):
                    return False
        return True

    def _begin(self, copy: Copy, until: float) -> bool:
        """Begin with what is wanted of a copy, if there is time for that."""
        place = self._place.copy(copy.number)
        try:
            wanted = self._want(copy)
            if self._begun and until - time.monotonic() < self._runner.room(wanted):
                return False
            self._begun = True
            if wanted != copy.there:
                place.write(wanted)
                place.furnish(self._runner.user(wanted.path, wanted.spec.get("user")))
            self._leader.begin(place, wanted, until)
        except PermanentError as error:
            raise PermanentError(f"copy {copy.number}: {error.message}") from error
        return True

    def _want(self, copy: Copy) -> Wanted:
        """What is wanted of one copy."""
        service, number = self._wanted, copy.number
        one = spec.copy(service.spec, number)
        name = service.path.rstrip("/").rpartition("/")[2]
        frame = Frame(
            path=service.path,
            token=service.token,
            digest=service.run["digest"],
            env={"SERVICE_PATH": service.path, **spec.service(service.spec).own(number)},
            host=f"{name[:50]}-{number}",
            tmp=str(self._place.tmp),
        )
        return Wanted(
            token=service.token,
            path=service.path,
            revision=service.revision,
            digest=frame.digest,
            first=frame.digest,
            spec=one,
            order=service.order,
            run=self._runner.run(self._place.copy(number), frame, self._runner.read(one)),
        )

    def _urge(self, copy: Copy) -> None:
        """Somebody may not have heard yet what is wanted, or does not end."""
        place = self._place.copy(copy.number)
        if copy.there is not None and copy.there.absent:
            self._leader.ended(place, copy.there)
        elif copy.sight.fresh:
            self._runner.heed(place)
