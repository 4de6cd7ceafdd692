"""Clusters: a folder, a control group, and a network namespace where the spec asks for one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from stead.drivers.base import DriverError, Member, ObservedObject, PermanentError, Result, RetryableError
from stead.drivers.process import spec
from stead.drivers.process.folders import OTHER_SPEC, REMOVED, Cluster, Wanted, identity
from stead.drivers.process.keeper import isolation
from stead.drivers.process.processes import PACKAGES, PROGRAM
from stead.drivers.process.resources import Resources
from stead.drivers.process.runner import READY
from stead.lifecycle.rows import BROKEN

KIND = "clusterinst"


class Clusters(Resources[Cluster]):
    """Those on this machine."""

    kind = KIND

    def make(self, verb: str, member: Member, order: str, until: float) -> Result:
        """Create, update and restore: it is there afterwards, as the spec says."""
        asked = spec.cluster(member.spec)
        with self._root.hold("cluster", member.path, until):
            place = self._root.cluster(member.path)
            there = place.wanted()
            if there is not None and there.token != member.token:
                raise PermanentError("another cluster has its place, which has to be deleted first")
            digest = spec.digest(member.spec)
            if verb == "create":
                if self._root.is_spent(member.token):
                    raise PermanentError(REMOVED)
                if there is not None and digest not in (there.first, there.digest):
                    raise PermanentError(OTHER_SPEC)
            if there is None or verb != "create":
                if there is not None and there.digest != digest:
                    self._check_net(place, there, asked)
                wanted = Wanted(
                    token=member.token,
                    path=member.path,
                    revision=member.revision,
                    digest=digest,
                    first=digest if there is None else there.first,
                    spec=dict(member.spec),
                    order=order,
                )
                place.write(wanted)
            else:
                asked = spec.cluster(there.spec)
            self._furnish(place, asked)
            return Result(path=member.path, ok=True, facts=_facts(place, member.token))

    def delete(self, member: Member, until: float) -> Result:
        """With nothing in it."""
        with self._root.hold("cluster", member.path, until):
            place = self._root.cluster(member.path)
            there = self._own(place, member)
            if there is None:
                self._root.spend(member.token)
                return Result(path=member.path, ok=True)
            facts = _facts(place, there.token)
            if left := [app.folder.name for app in place.apps() if app.wanted() is not None]:
                names = ", ".join(left[:5]) + (" and more" if len(left) > 5 else "")
                return Result(path=member.path, ok=False, facts=facts, error=f"there are apps in it: {names}")
            self._root.spend(there.token)
            if place.net.exists():
                isolation.drop_net(str(place.net))
            self._machine.unlimit(self._machine.group(place.folder.name))
            self._root.remove(place)
            return Result(path=member.path, ok=True, facts=facts)

    def _place(self, path: str) -> Cluster:
        return self._root.cluster(path)

    def _places(self) -> Iterable[Cluster]:
        return self._root.clusters()

    def _seen(self, place: Cluster, there: Wanted, view: object) -> ObservedObject:
        """Whether it is whole."""
        why = self._missing(place, there)
        return ObservedObject(
            path=there.path,
            state=BROKEN if why else READY,
            facts=_facts(place, there.token),
            revision=there.revision,
            error=why,
        )

    def furnish_all(self, until: float) -> None:
        """Make again what clusters need and the machine has lost. What cannot be made, a look tells of."""
        for place in self._root.clusters():
            with contextlib.suppress(DriverError, OSError):
                there = place.wanted()
                if there is not None and self._missing(place, there):
                    with self._root.hold("cluster", there.path, until):
                        if place.wanted() == there:
                            self._furnish(place, spec.cluster(there.spec))

    def _furnish(self, place: Cluster, asked: spec.Cluster) -> None:
        """What it needs besides its folder; what is there stays."""
        place.tmp.mkdir(exist_ok=True)
        place.tmp.chmod(0o1777)
        self._machine.limit(self._machine.group(place.folder.name), asked)
        if asked.net == "own" and not _is_net(place.net):
            if not self._machine.isolation or os.geteuid() != 0:
                raise PermanentError("a network of its own needs isolation, and an agent that is root")
            place.net.touch()
            made = subprocess.run(
                [*PROGRAM, "--net", str(place.net)],
                env={"PYTHONPATH": PACKAGES},
                capture_output=True,
                timeout=5,
                check=False,
            )
            if made.returncode != 0:
                raise RetryableError(f"its network cannot be made: {made.stderr.decode(errors='replace')[-200:]}")

    def _missing(self, place: Cluster, there: Wanted) -> str:
        if spec.cluster(there.spec).net == "own" and not _is_net(place.net):
            return "its network is gone"
        if self._machine.cgroups is not None:
            gone = [g for g in self._machine.cgroups.group(self._machine.group(place.folder.name)) if not g.is_dir()]
            if gone:
                return "its control group is gone"
        return ""

    def _check_net(self, place: Cluster, there: Wanted, asked: spec.Cluster) -> None:
        if asked.net != spec.cluster(there.spec).net and place.apps():
            raise PermanentError("the network of a cluster cannot be changed while apps are in it")


def _facts(place: Cluster, token: str) -> dict[str, str]:
    return {"id": identity(place, token)}


def _is_net(file: Path) -> bool:
    """Whether a network namespace is kept at the file, as only a mount can."""
    try:
        return file.stat().st_dev != file.parent.stat().st_dev
    except FileNotFoundError:
        return False
