"""The driver of libvirt, for the kinds of a private cloud: one datacenter, with all of its nodes.

A deed is done to one member in a call, in a thread: a few steps at libvirt, each of which follows from what is there.
So what was interrupted is finished by doing it again. Nothing waits for a node longer than a call lasts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from stead.drivers import settings
from stead.drivers.base import (
    PROBE,
    TRANSITIONAL,
    VM,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    check_batch,
)
from stead.drivers.libvirt.attaching import Attaching
from stead.drivers.libvirt.cloudspaces import Cloudspaces
from stead.drivers.libvirt.disks import Disks
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.hosts import Hosts
from stead.drivers.libvirt.images import Images
from stead.drivers.libvirt.machines import Machines
from stead.drivers.libvirt.nodes import Call, Nodes
from stead.drivers.libvirt.pool import Pool
from stead.drivers.libvirt.settings import TIMEOUT_MARGIN, Config

MAX_OBSERVED = 100
"""Members in one look."""
THREADS = 32


class Keeper(Protocol):
    """Who does what is asked of one kind."""

    kind: str
    verbs: frozenset[str]

    def do(self, verb: str, member: Member, order: str, call: Call) -> Result:
        """Do it to one member."""

    def observe(self, member: Member, call: Call) -> ObservedObject:
        """How one member is."""

    def all(self, call: Call) -> list[FoundObject]:
        """What is there."""


def from_config(config: Mapping[str, Any]) -> LibvirtDriver:
    """For the registry."""
    try:
        return LibvirtDriver(settings.read(Config, config))
    except (ValueError, OSError) as error:
        raise ValueError(f"the configuration of libvirt is wrong: {error}") from error


class LibvirtDriver:
    """Speaks to the nodes of one datacenter."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._nodes = Nodes(config.addresses, config.meeting)
        pool = Pool(Path(config.pool))
        images = Images(pool)
        own = Machines(config, self._nodes, pool, images)
        disks = Disks(pool, own, Attaching(config.hypervisor))
        keepers: list[Keeper] = [
            own,
            disks,
            Cloudspaces(self._nodes, pool),
            images,
            Hosts(self._nodes, pool),
        ]
        self._keepers = {keeper.kind: keeper for keeper in keepers}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="libvirt-driver")

    @property
    def kinds(self) -> frozenset[str]:
        """What a datacenter has."""
        return frozenset(self._keepers)

    @property
    def longest_call(self) -> float:
        """The time after which a call has ended."""
        return self._config.timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """One for what is done; a look takes many."""
        keeper = self._keepers.get(kind)
        if keeper is None or verb not in (PROBE, *keeper.verbs):
            raise ValueError(f"libvirt's driver does not know {verb} of a {kind}")
        return MAX_OBSERVED if verb == PROBE else 1

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """For one member."""
        if not members:
            return []
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        (member,) = members
        keeper = self._keepers[member.kind]
        try:
            return [await self._off_loop(lambda call: keeper.do(verb, member, token, call))]
        except PermanentError as error:
            return [Result(path=member.path, ok=False, error=error.message)]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """Each member on its own node. Of those whose node does not answer nothing is known; where that is so of all
        of them, the look has no answer."""
        if not members:
            return []
        check_batch(self, PROBE, members)
        return await self._off_loop(lambda call: self._observe(members, call))

    async def inventory(self) -> list[FoundObject]:
        """On all nodes, and in the pool."""
        return await self._off_loop(
            lambda call: [found for each in self._keepers.values() for found in each.all(call)]
        )

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Only trying tells."""
        return None

    async def close(self) -> None:
        """What runs goes on running."""
        self._threads.shutdown(wait=False)
        await asyncio.to_thread(self._nodes.close)

    def _observe(self, members: Sequence[Member], call: Call) -> list[ObservedObject]:
        keeper = self._keepers[members[0].kind]
        seen: list[ObservedObject] = []
        silence: NoAnswer | None = None
        silent = 0
        for member in members:
            try:
                seen.append(keeper.observe(member, call))
            except NoAnswer as error:
                silence, silent = error, silent + 1
                seen.append(ObservedObject(path=member.path, state=TRANSITIONAL))
        if silence is not None and silent == len(members):
            raise silence
        return seen

    async def _off_loop[T](self, work: Callable[[Call], T]) -> T:
        """In a thread, and for no longer than a call may last."""
        call = Call(time.monotonic() + self._config.timeout - TIMEOUT_MARGIN)
        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads, work, call)
        except RuntimeError as error:
            raise RetryableError("the driver is closed") from error
        try:
            async with asyncio.timeout(self._config.timeout):
                return await asyncio.shield(future)
        except TimeoutError as error:
            future.add_done_callback(_ended)
            raise NoAnswer("libvirt's answer did not come", unknown=call.acted) from error
        except OSError as error:
            raise RetryableError(f"the pool says: {error}", unknown=call.acted, detail=repr(error)) from error


def _ended(future: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more; what it raises is looked at here, so that nobody complains."""
    if not future.cancelled():
        future.exception()
