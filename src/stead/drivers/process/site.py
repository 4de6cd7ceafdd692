"""The driver of a machine, whatever its apps are: processes or containers.

It works on files and leaves apps to others, who outlive the agent. A call does what it can in its time; an app that
is still coming up, or still stopping, is on its way, and a service that is not led to the end asks for another call.
Looks start nothing. What they do finish is a deletion whose app has ended meanwhile.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from stead.drivers.base import (
    PROBE,
    VM,
    DriverError,
    FoundObject,
    LogTail,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    check_batch,
)
from stead.drivers.process.apps import Apps
from stead.drivers.process.clusters import Clusters
from stead.drivers.process.folders import App
from stead.drivers.process.jobs import Jobs
from stead.drivers.process.machine import Machine
from stead.drivers.process.recovery import Recovery
from stead.drivers.process.runner import Runner
from stead.drivers.process.services import Services

log = logging.getLogger(__name__)

CLUSTER, APP = "clusterinst", "appinst"
SERVICE, JOB = "service", "job"
VERBS = {
    CLUSTER: ("create", "update", "restore", "delete"),
    APP: ("create", "update", "restore", "delete"),
    SERVICE: ("create", "update", "scale", "restore", "delete"),
    JOB: ("create", "run", "delete"),
}
"""What can be asked of each kind."""
LIMIT = 20
"""Members in one call: each of them starts a process."""
MAX_OBSERVED = 500
"""Members in one look."""
PASSING = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EBUSY, errno.ETIMEDOUT}
)
"""Errors of the machine that pass by themselves. All others are its answer, and the order has failed."""
TIMEOUT_MARGIN = 2.0
"""Seconds of a call that are kept for its end."""


class SiteDriver:
    """Runs things on the machine that it runs on."""

    def __init__(self, machine: Machine, runner: Runner, timeout: float, says: str) -> None:
        self._writers: dict[str, Apps | Services | Jobs] = {
            APP: Apps(machine, runner),
            SERVICE: Services(machine, runner),
            JOB: Jobs(machine, runner),
        }
        clusters = Clusters(machine)
        self._keep: dict[str, Clusters | Apps | Services | Jobs] = {CLUSTER: clusters, **self._writers}
        self._recovery = Recovery(machine, runner, clusters)
        self._timeout = timeout
        self._says = says
        self._threads = ThreadPoolExecutor(LIMIT, thread_name_prefix="site-driver")

    @property
    def kinds(self) -> frozenset[str]:
        """What a site has, and what systems are made of."""
        return frozenset(VERBS)

    @property
    def longest_call(self) -> float:
        """The time after which a call has ended."""
        return self._timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """Some for what is done; a look takes many."""
        if kind not in VERBS or verb not in (PROBE, *VERBS[kind]):
            raise ValueError(f"{self._says} does not know {verb} of a {kind}")
        return MAX_OBSERVED if verb == PROBE else LIMIT

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """For all members side by side."""
        if not members:
            return []
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        until = time.monotonic() + self._timeout - TIMEOUT_MARGIN
        return await asyncio.gather(*(self._off_loop(self._one, verb, m, token, until) for m in members))

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """From what stands in the folders."""
        if not members:
            return []
        check_batch(self, PROBE, members)
        return await self._off_loop(self._observe, self._keep[members[0].kind], members)

    async def inventory(self) -> list[FoundObject]:
        """All folders there are."""
        return await self._off_loop(lambda: [found for keeps in self._keep.values() for found in keeps.all()])

    async def logs(self, member: Member, lines: int, since: str = "") -> LogTail:
        """From the files that its keeper keeps."""
        writers = self._writers.get(member.kind)
        if writers is None:
            raise PermanentError(f"a {member.kind} writes nothing")
        return await self._off_loop(writers.tail, member, lines, since)

    async def recover(self) -> list[str]:
        """As it stands in the folders, side by side."""
        until = time.monotonic() + self._timeout - TIMEOUT_MARGIN
        places = await self._off_loop(self._recovery.places, until)
        return [path for path in await asyncio.gather(*(self._started(place) for place in places)) if path]

    async def _started(self, place: App) -> str:
        def start() -> str:
            return self._recovery.start(place, time.monotonic() + self._timeout - TIMEOUT_MARGIN)

        try:
            return await self._off_loop(start)
        except DriverError as error:
            log.warning("recover.failed place=%s error=%r", place.folder.name, error.message)
            return ""

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Only trying tells."""
        return None

    async def close(self) -> None:
        """What runs goes on running."""
        self._threads.shutdown(wait=False)

    def _one(self, verb: str, member: Member, token: str, until: float) -> Result:
        try:
            keeps = self._keep[member.kind]
            if verb == "delete":
                return keeps.delete(member, until)
            return keeps.make(verb, member, token, until)
        except RetryableError as error:
            return Result(
                path=member.path, ok=False, error=error.message, permanent=False, retry_after=max(error.after, 0.2)
            )
        except PermanentError as error:
            return Result(path=member.path, ok=False, error=error.message)
        except OSError as error:
            if error.errno in PASSING:
                raise
            return Result(path=member.path, ok=False, error=f"the machine says: {error}")

    def _observe(self, keeps: Clusters | Apps | Services | Jobs, members: Sequence[Member]) -> list[ObservedObject]:
        view = keeps.view()
        return [keeps.observe(member, view) for member in members]

    async def _off_loop[**P, T](self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))
        except OSError as error:
            raise RetryableError(f"the machine says: {error}", unknown=True, detail=repr(error)) from error
        except DriverError:
            raise
