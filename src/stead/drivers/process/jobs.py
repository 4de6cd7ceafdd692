"""Jobs: apps that run once to their end. A run is known by its token and the revision of its spec.

Nothing is run twice: whoever asks for a run that has been begun is told what became of it, however it ended, and even
where nobody knows how. A newer revision is a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from stead.drivers.base import (
    TRANSITIONAL,
    FoundObject,
    LogTail,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
)
from stead.drivers.process import spec
from stead.drivers.process.folders import JOBS, OTHER_SPEC, REMOVED, App, Group, Wanted, identity, is_it
from stead.drivers.process.leading import UNHEARD, Leader
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Frame, Runner, Sight
from stead.drivers.process.users import User
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "job"
SUCCEEDED = "succeeded"


class Jobs:
    """Those on this machine."""

    def __init__(self, machine: Machine, runner: Runner) -> None:
        self._machine = machine
        self._runner = runner
        self._leader = Leader(machine, runner)
        self._root = machine.root

    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Run it, if that has not been done; afterwards it has ended, or is on its way."""
        asked = self._runner.read(_once(member.spec))
        user = self._runner.user(member.path, asked.user)
        group, place = self._places(member.path)
        with self._root.alone(KIND, member.path, until):
            wanted = self._want(group, place, member, order, asked, user)
            sight = self._lead(place, wanted, until)
        facts = {"id": identity(place, wanted.token)}
        state = _state(sight)
        if state == BROKEN:
            return Result(path=member.path, ok=False, facts=facts, error=sight.error)
        return Result(path=member.path, ok=True, pending="" if state == SUCCEEDED else SUCCEEDED, facts=facts)

    def delete(self, member: Member, until: float) -> Result:
        """Stop it, if it still runs, and remove what is left."""
        group, place = self._places(member.path)
        with self._root.alone(KIND, member.path, until):
            there = place.wanted()
            if there is None or not is_it(place, there, member):
                self._root.spend(member.token)
                return Result(path=member.path, ok=True)
            facts = {"id": identity(place, there.token)}
            self._root.spend(there.token)
            if not there.absent:
                there = msgspec.structs.replace(there, absent=True)
                place.write(there)
            while not self._finish(group, place, there):
                self._runner.heed(place)
                if time.monotonic() > until:
                    return Result(path=member.path, ok=True, pending=ABSENT, facts=facts)
                time.sleep(self._runner.pause)
        return Result(path=member.path, ok=True, facts=facts)

    def observe(self, member: Member, view: object = None) -> ObservedObject:
        """What became of the last run, seen anew or in a view of all."""
        group, place = self._places(member.path)
        there = place.wanted()
        if there is None or not is_it(place, there, member):
            return ObservedObject(path=member.path, state=ABSENT)
        sight = self._sight(group, place, there, view)
        if sight.state == ABSENT:
            return ObservedObject(path=member.path, state=ABSENT)
        return ObservedObject(
            path=member.path,
            state=_state(sight),
            facts={"id": identity(place, there.token)},
            revision=there.revision,
            error=sight.error,
        )

    def all(self) -> list[FoundObject]:
        """What is there."""
        view = self._runner.view()
        found = []
        for group in self._root.groups(JOBS):
            place = group.copy(1)
            there = place.readable()
            sight = self._sight(group, place, there, view) if there is not None else None
            if there is None or sight is None or sight.state == ABSENT:
                continue
            id = identity(place, there.token)
            found.append(
                FoundObject(
                    id=id, token=there.token, state=_state(sight), path=there.path, facts={"id": id}, kind=KIND
                )
            )
        return found

    def view(self) -> object:
        """Of all jobs, for many looks at once."""
        return self._runner.view()

    def tail(self, member: Member, lines: int, since: str) -> LogTail:
        """The last that it wrote."""
        _, place = self._places(member.path)
        there = place.wanted()
        if there is None or not is_it(place, there, member):
            raise PermanentError("it is not there")
        return self._runner.tail(place, lines, since)

    def _places(self, path: str) -> tuple[Group, App]:
        group = self._root.group(JOBS, path)
        return group, group.copy(1)

    def _want(
        self, group: Group, place: App, member: Member, order: str, asked: spec.App, user: User | None
    ) -> Wanted:
        """The run that is wanted from now on, written down."""
        there = place.wanted()
        digest = spec.digest(member.spec)
        if there is not None and there.token != member.token:
            raise PermanentError("another job has its place, which has to be deleted first")
        if self._root.is_spent(member.token):
            raise PermanentError(REMOVED)
        if there is not None and there.revision == member.revision:
            if there.first != digest:
                raise PermanentError(OTHER_SPEC)
            return there
        if there is not None and there.revision > member.revision:
            raise PermanentError(f"it was run with a newer spec, of revision {there.revision}")
        frame = Frame(
            path=member.path,
            token=member.token,
            digest=spec.digest({"spec": digest, "revision": member.revision}),  # no two runs have the same
            env={"JOB_PATH": member.path},
            host=member.path.rstrip("/").rpartition("/")[2][:60],
            tmp=str(group.tmp),
        )
        wanted = Wanted(
            token=member.token,
            path=member.path,
            revision=member.revision,
            digest=frame.digest,
            first=digest,
            spec=dict(member.spec),
            order=order,
            run=self._runner.run(place, frame, asked),
        )
        group.furnish()
        place.write(wanted)
        place.furnish(user)
        return wanted

    def _lead(self, place: App, wanted: Wanted, until: float) -> Sight:
        """Begin with a run that nobody has begun with; an older one is stopped first. Then wait a little."""
        patience = min(until, time.monotonic() + self._machine.patience)
        while True:
            sight = self._runner.observe(place, wanted)
            if sight.fresh and not sight.alive:
                self._runner.start(place, wanted, until - time.monotonic())
                sight = self._runner.observe(place, wanted)
            elif sight.fresh:
                self._runner.heed(place)
            if _state(sight) != TRANSITIONAL or time.monotonic() > (until if sight.fresh else patience):
                return sight
            time.sleep(self._runner.pause)

    def _sight(self, group: Group, place: App, there: Wanted, view: object) -> Sight:
        """How it is; a deletion is finished, where the job has ended meanwhile."""
        sight = self._heard(place, there, self._runner.observe(place, there, view))
        if sight.state not in (ABSENT, BROKEN):
            return sight
        try:
            with self._root.alone(KIND, there.path, 0):
                now = place.wanted()
                if now is None or now.token != there.token:
                    return Sight(state=ABSENT)
                sight = self._heard(place, now, self._runner.observe(place, now))
                return (
                    sight if sight.state != ABSENT or self._finish(group, place, now) else Sight(state=TRANSITIONAL)
                )
        except RetryableError:
            return Sight(state=TRANSITIONAL)  # somebody is at it

    def _heard(self, place: App, there: Wanted, sight: Sight) -> Sight:
        """It is broken, where whoever wrote down what is wanted went away before its keeper was told."""
        if sight.state == TRANSITIONAL and (self._leader.overdue(place, there) if there.absent else sight.fresh):
            return Sight(state=BROKEN, error=UNHEARD)
        return sight

    def _finish(self, group: Group, place: App, there: Wanted) -> bool:
        """Remove what is left, if nothing runs any more."""
        if not self._leader.ended(place, there):
            return False
        self._machine.unlimit(self._machine.group(self._machine.group_name(group.folder)))
        self._root.remove(group)
        return True


def _once(said: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a job as that of an app: it is run once, and whether it is well shows in how it ends."""
    return {**said, "restart": "never", "health": None}


def _state(sight: Sight) -> str:
    """In the words of a job: what is up has not come to its end."""
    if sight.state == READY:
        return SUCCEEDED if sight.ended else TRANSITIONAL
    return sight.state
