"""Apps: a folder in that of the cluster, and somebody who sees to it that what stands in it is so."""

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
from stead.drivers.process.folders import OTHER_SPEC, REMOVED, App, Cluster, Wanted, identity, is_it
from stead.drivers.process.leading import Leader
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Frame, Runner, Sight
from stead.drivers.process.users import User, marked
from stead.lifecycle.rows import ABSENT, BROKEN

KIND = "appinst"


class Apps:
    """Those on this machine."""

    def __init__(self, machine: Machine, runner: Runner) -> None:
        self._machine = machine
        self._runner = runner
        self._leader = Leader(machine, runner)
        self._root = machine.root

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

    def delete(self, member: Member, until: float) -> Result:
        """Stop it and remove what is left; its keeper ends it, however long it may take."""
        place = self._root.app(member.path)
        with self._root.hold("app", member.path, until):
            there = place.wanted()
            if there is None or not is_it(place, there, member):
                self._root.spend(member.token)
                return Result(path=member.path, ok=True)
            facts = {"id": identity(place, there.token)}
            self._root.spend(there.token)
            if not there.absent:
                there = msgspec.structs.replace(there, absent=True)
                place.write(there)
            while True:
                if self._finish(place, there):
                    return Result(path=member.path, ok=True, facts=facts)
                self._runner.heed(place)
                if time.monotonic() > until:
                    return Result(path=member.path, ok=True, pending=ABSENT, facts=facts)
                time.sleep(self._runner.pause)

    def observe(self, member: Member, view: object = None) -> ObservedObject:
        """How it is, seen anew or in a view of all."""
        place = self._root.app(member.path)
        there = place.wanted()
        if there is None or not is_it(place, there, member):
            return ObservedObject(path=member.path, state=ABSENT)
        sight = self._sight(place, there, view)
        if sight.state == ABSENT:
            return ObservedObject(path=member.path, state=ABSENT)
        return ObservedObject(
            path=member.path,
            state=sight.state,
            facts={"id": identity(place, there.token)},
            revision=there.revision,
            error=sight.error,
        )

    def all(self) -> list[FoundObject]:
        """What is there."""
        found = []
        view = self._runner.view()
        for place in (app for cluster in self._root.clusters() for app in cluster.apps()):
            there = place.readable()
            sight = self._sight(place, there, view) if there is not None else None
            if there is None or sight is None or sight.state == ABSENT:
                continue
            id = identity(place, there.token)
            found.append(
                FoundObject(id=id, token=there.token, state=sight.state, path=there.path, facts={"id": id}, kind=KIND)
            )
        return found

    def view(self) -> object:
        """Of all apps, for many looks at once."""
        return self._runner.view()

    def tail(self, member: Member, lines: int, since: str) -> LogTail:
        """The last that it wrote."""
        place = self._root.app(member.path)
        there = place.wanted()
        if there is None or not is_it(place, there, member):
            raise PermanentError("it is not there")
        return self._runner.tail(place, lines, since)

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

    def _sight(self, place: App, there: Wanted, view: object = None) -> Sight:
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
