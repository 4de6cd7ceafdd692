"""Apps: a folder in that of the cluster, and somebody who sees to it that what stands in it is so."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from stead.drivers.base import TRANSITIONAL, Member, PermanentError, Result, RetryableError
from stead.drivers.process import spec
from stead.drivers.process.folders import OTHER_SPEC, REMOVED, App, Cluster, Wanted, identity
from stead.drivers.process.resources import SinglePrograms
from stead.drivers.process.runner import READY, Frame, Sight
from stead.drivers.process.users import User, marked
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "appinst"


class Apps(SinglePrograms):
    """Those on this machine."""

    kind = KIND

    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Create, update and restore: it runs afterwards, as the spec says, or is on its way to that."""
        asked = self._runner.read(member.spec)
        user = self._runner.user(member.path, asked.user)
        above = member.path.rstrip("/").rpartition("/")[0]
        place = self._root.app(member.path)
        with (
            self._root.hold("cluster", above, until, shared=True),
            self._root.hold("app", member.path, until),
        ):
            cluster = self._root.cluster(above)
            if cluster.wanted() is None:
                raise PermanentError(f"there is no cluster {above} here")
            wanted = self._want(verb, place, member, order, asked, user, cluster)
            facts = {"id": identity(place, wanted.token)}
            sight = self._runner.observe(place, wanted)
            if verb == "create" and sight.failed and not sight.fresh:
                return Result(path=member.path, ok=False, facts=facts, error=sight.error)
            sight = self._leader.lead(place, wanted, min(until, time.monotonic() + self._machine.patience), until)
            if sight.failed:
                self._runner.drop(place)
        if sight.state == BROKEN:
            return Result(path=member.path, ok=False, facts=facts, error=sight.error)
        return Result(path=member.path, ok=True, pending="" if sight.state == READY else READY, facts=facts)

    def _want(
        self,
        verb: str,
        place: App,
        member: Member,
        order: str,
        asked: spec.App,
        user: User | None,
        cluster: Cluster,
    ) -> Wanted:
        """What is wanted from now on, written down."""
        there = place.wanted()
        digest = spec.digest(member.spec)
        if there is not None and there.token != member.token:
            raise PermanentError("another app has its place, which has to be deleted first")
        if verb == "create":
            if self._root.is_spent(member.token):
                raise PermanentError(REMOVED)
            if there is not None:
                if digest not in (there.first, spec.digest(there.spec)):
                    raise PermanentError(OTHER_SPEC)
                return there
        first = digest if there is None else there.first
        net = spec.cluster(_spec(cluster)).net
        frame = Frame(
            path=member.path,
            token=member.token,
            digest=marked(digest, user),
            env={"APP_PATH": member.path},
            host=place.folder.name,
            tmp=str(cluster.tmp),
            net=str(cluster.net) if net == "own" else "",
        )
        wanted = Wanted(
            token=member.token,
            path=member.path,
            revision=member.revision,
            digest=frame.digest,
            first=first,
            spec=dict(member.spec),
            order=order,
            run=self._runner.run(place, frame, asked),
        )
        place.write(wanted)
        place.furnish(user)
        return wanted

    def _place(self, path: str) -> App:
        return self._root.app(path)

    def _places(self) -> Iterable[App]:
        return [app for cluster in self._root.clusters() for app in cluster.apps()]

    def _lock(self, path: str, until: float) -> AbstractContextManager[None]:
        return self._root.hold("app", path, until)

    def _sight(self, place: App, there: Wanted, view: object) -> Sight:
        """How it is; a deletion is finished, where the app has ended meanwhile."""
        sight = self._runner.observe(place, there, view)
        if sight.state not in (ABSENT, BROKEN):
            return sight
        try:
            with self._root.hold("app", there.path, 0):
                now = place.wanted()
                if now is None or now.token != there.token or (now.absent and self._finish(place, now)):
                    return Sight(state=ABSENT)
                return self._runner.observe(place, now)
        except RetryableError:
            return Sight(state=TRANSITIONAL)  # somebody is at it
        except OSError as error:
            return Sight(state=BROKEN, failed=True, error=f"what is left cannot be removed: {error}")

    def _finish(self, place: App, there: Wanted) -> bool:
        """Remove what is left, if nothing runs any more."""
        if not self._leader.ended(place, there):
            return False
        self._root.remove(place)
        return True


def _spec(cluster: Cluster) -> Mapping[str, Any]:
    wanted = cluster.wanted()
    return {} if wanted is None else wanted.spec
