"""The driver of OpenStack: VMs by Nova, networks and security groups by Neutron, keys by Nova again.

One call takes one member, since Nova's take one server, and is a few requests. A look takes a hundred. Where the same
member is asked for several times at once, all of them wait for the one creation and get its result; between processes
a lock sees to it that a server is made once, see `lock`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException

from stead.drivers import settings
from stead.drivers.base import PROBE, VM, FoundObject, Member, ObservedObject, PermanentError, Result, check_batch
from stead.drivers.openstack import groups, keys, networks, rules
from stead.drivers.openstack.calls import Calls, Task
from stead.drivers.openstack.names import Names
from stead.drivers.openstack.servers import Servers
from stead.drivers.openstack.settings import Config
from stead.drivers.openstack.wire import digest

LIMIT = 100
"""Members in one look."""

VM_VERBS = ("create", "terminate", *rules.VERBS)
SHARED_VERBS = ("create", "delete")


def from_config(config: Mapping[str, Any]) -> OpenStackDriver:
    """For the registry."""
    try:
        return OpenStackDriver(settings.read(Config, config))
    except (ValueError, SDKException, ClientException) as error:
        raise ValueError(f"the configuration of OpenStack is wrong: {error}") from error


class OpenStackDriver:
    """Speaks to one region, for one project."""

    def __init__(self, config: Config) -> None:
        self._calls = Calls(config)
        self._names = Names(self._calls)
        self._servers = Servers(self._calls, self._names, config.owner)
        self._shared: dict[str, networks.Networks | groups.Groups | keys.Keys] = {
            networks.KIND: networks.Networks(self._calls, self._names, config.owner),
            groups.KIND: groups.Groups(self._calls, config.owner),
            keys.KIND: keys.Keys(self._calls, config.owner),
        }
        self._making: dict[tuple[str, str], asyncio.Task[Result]] = {}

    @property
    def kinds(self) -> frozenset[str]:
        """All of them."""
        return frozenset({VM, *self._shared})

    @property
    def longest_call(self) -> float:
        """The time in which requests are sent, and the time that the last of them may take."""
        return self._calls.longest

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """One for what is done; a look takes many."""
        if kind not in self.kinds or verb not in (PROBE, *(VM_VERBS if kind == VM else SHARED_VERBS)):
            raise ValueError(f"OpenStack does not know {verb} of a {kind}")
        return LIMIT if verb == PROBE else 1

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """What it makes is marked with its owner, its path and its token."""
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        return [await self._do(verb, member, token) for member in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """A list of all that are asked for, or of all that are ours where there are but few."""
        check_batch(self, PROBE, members)
        if not members:
            return []
        task, kind = self._calls.task(), members[0].kind
        return await (self._servers if kind == VM else self._shared[kind]).observe(task, members)

    async def inventory(self) -> list[FoundObject]:
        """Kind by kind, and page by page."""
        found = await self._servers.found(self._calls.task())
        for shared in self._shared.values():
            found += await shared.found(self._calls.task())
        return found

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Flavors and images are listed."""
        if field not in ("spec", "image"):
            return None
        return await self._names.check_offer(self._calls.task(), field, name)

    async def close(self) -> None:
        """Let the threads go."""
        self._calls.close()

    async def _do(self, verb: str, member: Member, order: str) -> Result:
        if verb == "create" and member.kind == VM:
            return await self._create(member, order)
        task = self._calls.task(order)
        if verb == "terminate":
            return await self._servers.terminate(task, member)
        if member.kind == VM:
            return await self._servers.act(task, rules.VERBS[verb], member)
        shared = self._shared[member.kind]
        try:
            return await (shared.create if verb == "create" else shared.delete)(task, member)
        except PermanentError as error:
            return Result(path=member.path, ok=False, error=error.message)

    async def _create(self, member: Member, order: str) -> Result:
        """Who asks for the same at the same time waits for the same answer."""
        key = (member.token, digest(member.spec))
        making = self._making.get(key)
        if making is None:
            task: Task = self._calls.task(order)
            making = asyncio.create_task(self._servers.create(task, member))
            self._making[key] = making
            making.add_done_callback(lambda done: self._made(key, done))
        return msgspec.structs.replace(await asyncio.shield(making), path=member.path)

    def _made(self, key: tuple[str, str], making: asyncio.Task[Result]) -> None:
        del self._making[key]
        if not making.cancelled():
            making.exception()  # it was told to whoever waited; where nobody did, there is nobody to tell
