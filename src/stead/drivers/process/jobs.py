"""Jobs: apps that run once to their end. A run is known by its token and the revision of its spec.

Nothing is run twice: whoever asks for a run that has been begun is told what became of it, however it ended, and even
where nobody knows how. A newer revision is a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from stead.drivers.base import TRANSITIONAL, Member, PermanentError, Result, RetryableError
from stead.drivers.process import spec
from stead.drivers.process.folders import JOBS, OTHER_SPEC, REMOVED, App, Group, Wanted, identity
from stead.drivers.process.leading import UNHEARD
from stead.drivers.process.resources import SinglePrograms
from stead.drivers.process.runner import READY, Frame, Sight
from stead.drivers.process.users import User
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "job"
SUCCEEDED = "succeeded"


class Jobs(SinglePrograms):
    """Those on this machine."""

    kind = KIND

    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Run it, if that has not been done; afterwards it has ended, or is on its way."""
        asked = self._runner.read(_once(member.spec))
        user = self._runner.user(member.path, asked.user)
        place = self._place(member.path)
        with self._root.alone(KIND, member.path, until):
            wanted = self._want(place, member, order, asked, user)
            sight = self._lead(place, wanted, until)
        facts = {"id": identity(place, wanted.token)}
        state = self._state(sight)
        if state == BROKEN:
            return Result(path=member.path, ok=False, facts=facts, error=sight.error)
        return Result(path=member.path, ok=True, pending="" if state == SUCCEEDED else SUCCEEDED, facts=facts)

    def _place(self, path: str) -> App:
        return self._root.group(JOBS, path).copy(1)

    def _places(self) -> Iterable[App]:
        return [group.copy(1) for group in self._root.groups(JOBS)]

    def _lock(self, path: str, until: float) -> AbstractContextManager[None]:
        return self._root.alone(KIND, path, until)

    def _want(self, place: App, member: Member, order: str, asked: spec.App, user: User | None) -> Wanted:
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
        group = Group(place.above)
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
            if self._state(sight) != TRANSITIONAL or time.monotonic() > (until if sight.fresh else patience):
                return sight
            time.sleep(self._runner.pause)

    def _sight(self, place: App, there: Wanted, view: object) -> Sight:
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
                return sight if sight.state != ABSENT or self._finish(place, now) else Sight(state=TRANSITIONAL)
        except RetryableError:
            return Sight(state=TRANSITIONAL)  # somebody is at it

    def _heard(self, place: App, there: Wanted, sight: Sight) -> Sight:
        """It is broken, where whoever wrote down what is wanted went away before its keeper was told."""
        if sight.state == TRANSITIONAL and (self._leader.overdue(place, there) if there.absent else sight.fresh):
            return Sight(state=BROKEN, error=UNHEARD)
        return sight

    def _state(self, sight: Sight) -> str:
        """In the words of a job: what is up has not come to its end."""
        if sight.state == READY:
            return SUCCEEDED if sight.ended else TRANSITIONAL
        return sight.state

    def _finish(self, place: App, there: Wanted) -> bool:
        """Remove what is left, if nothing runs any more."""
        if not self._leader.ended(place, there):
            return False
        group = Group(place.above)
        self._machine.unlimit(self._machine.group(self._machine.group_name(group.folder)))
        self._root.remove(group)
        return True


def _once(said: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a job as that of an app: it is run once, and whether it is well shows in how it ends."""
    return {**said, "restart": "never", "health": None}
