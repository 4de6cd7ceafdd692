"""Commands that concern the cell as a whole: orphans, limits, queues, quotas, hosts, lifecycles and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stead.access.authorization import asked_thing, thing_of
from stead.access.authorized import THE_CELL, Authorized
from stead.access.caller import Caller
from stead.access.policies import HOSTS, LIFECYCLES, LIMIT, ORPHANS, QUEUE
from stead.application.acceptance import ActionAnswer
from stead.application.commands import Application
from stead.application.leases import Host, host_of
from stead.application.models import InvalidRequest, Page, Queue
from stead.application.orphan_adoption import adopt, remove
from stead.application.reader import shown_queue
from stead.controller.admission.request import NotFound
from stead.controller.kinds.kinds import RegisteredLifecycle
from stead.controller.kinds.registry import InvalidDocument
from stead.store.quotas import OF_LEASES, Quota, is_namespace

NO_SLOTS = "this process allocates no slots"


@dataclass(frozen=True)
class CellCommands:
    """Commands that operators of a cell give."""

    application: Application

    # Orphans

    async def adopt(self, lane: str, token: str, path: str, authorized: Authorized) -> ActionAnswer:
        """Adopt an orphan as a resource at a path, or at the path that it was made for."""
        authorized.check(ORPHANS)
        return await adopt(self.application.admission, self.application.observer, lane, token, path, authorized)

    async def remove_orphan(self, lane: str, token: str, authorized: Authorized) -> ActionAnswer:
        """Remove an orphan."""
        authorized.check(ORPHANS)
        return await remove(self.application.admission, self.application.observer, lane, token, authorized)

    async def survey(self, lane: str, authorized: Authorized) -> bool:
        """Have the agent of a lane report all that its provider has; whether one will."""
        authorized.check(ORPHANS)
        observer = self.application.observer
        return observer is not None and await observer.survey(lane)

    # Limits

    async def limit_lane(self, name: str, members: int | None, authorized: Authorized) -> None:
        """Set how many members a lane bears at once; None: as many as its provider says."""
        authorized.check(LIMIT)
        assert self.application.slots is not None, NO_SLOTS
        await self.application.slots.limit_lane(name, members)

    async def limit_provider(
        self, name: str, members: int | None, regions: int | None, authorized: Authorized
    ) -> None:
        """Set how many members a provider bears at once in a region, and how many regions."""
        authorized.check(LIMIT)
        assert self.application.slots is not None, NO_SLOTS
        await self.application.slots.limit_provider(name, members, regions)

    async def authorize_quotas(
        self, path: str, most: Mapping[str, int | None], caller: Caller
    ) -> Authorized | NotFound:
        """The permission to set quotas at a path; that nothing is there, where the caller may not see it.

        Raises `NotPermitted` where the caller may see it.
        """
        row = await self.application.reader.store.resources.read(path)
        of_leases = is_namespace(path) and set(most) <= set(OF_LEASES)
        seen = row is not None and self.application.authorization.sees(caller, thing_of(row))
        if not of_leases and not seen:
            return NotFound(f"there is nothing at {path}")
        return self.application.authorization.require(caller, LIMIT)

    async def set_quotas(self, path: str, most: Mapping[str, int | None], authorized: Authorized) -> Sequence[Quota]:
        """Set how much of each there may be at a path; what is not named stays as it is."""
        authorized.check(LIMIT)
        store = self.application.reader.store
        await store.quotas.set(path, most, authorized.principal)
        return await store.quotas.read(path)

    # Queues

    async def authorize_queue(self, path: str | None, caller: Caller) -> Authorized | None:
        """The permission to open and stop the queue of an object, or all queues; None where it is not for the caller.

        Raises `NotPermitted` where the caller may see it.
        """
        row = await self.application.reader.store.resources.read(path) if path is not None else None
        thing = THE_CELL if path is None else asked_thing(path, "", {}, row)
        if path is not None and not self.application.authorization.sees(caller, thing):
            return None
        return replace(self.application.authorization.require(caller, QUEUE, thing), row=row)

    async def open_queue(self, path: str, authorized: Authorized) -> Queue | NotFound:
        """Make the queue of an object, unless it is there."""
        authorized.check(QUEUE)
        if authorized.row is None:
            return NotFound(f"there is nothing at {path}")
        await self.application.reader.store.queues.open(path)
        return await self.application.reader.queue(path) or NotFound(f"the queue of {path} was removed again")

    async def stop_queues(self, authorized: Authorized, path: str | None = None) -> Page[Queue] | NotFound:
        """Have the queue of an object, or all, take nothing more; each goes when all that is in it is carried out."""
        authorized.check(QUEUE)
        store = self.application.reader.store
        stopped = [shown_queue(record) for record in await store.queues.stop(path)]
        for queue in stopped:
            await store.queues.close(queue.path)
        if path is not None and not stopped:
            return NotFound(f"{path} has no queue")
        return Page(tuple(sorted(stopped, key=lambda queue: queue.path)))

    # Hosts

    async def put_host(
        self, name: str, lane: str, properties: Mapping[str, object], node: str | None, authorized: Authorized
    ) -> Host | InvalidRequest | NotFound:
        """Make a host bookable, or change its properties."""
        authorized.check(HOSTS)
        store = self.application.reader.store
        if not all(isinstance(value, str | int | float | bool) for value in properties.values()):
            return InvalidRequest("properties", "a property is a text, a number or a truth")
        if node is not None and (await store.resources.read_states([node])).get(node, ("",))[0] != "node":
            return NotFound(f"there is no node {node}")
        return host_of(await store.hosts.put(name, lane, properties, node))

    async def set_host_health(self, name: str, works: bool, why: str, authorized: Authorized) -> Host | NotFound:
        """Record that a host works, or that it does not."""
        authorized.check(HOSTS)
        found = await self.application.reader.store.hosts.set_health(name, works, "" if works else why)
        return host_of(found) if found is not None else NotFound(f"there is no host {name}")

    async def remove_host(self, name: str, authorized: Authorized) -> NotFound | InvalidRequest | None:
        """Forget a host."""
        authorized.check(HOSTS)
        store = self.application.reader.store
        if await store.hosts.remove(name):
            return None
        if await store.hosts.read(name) is None:
            return NotFound(f"there is no host {name}")
        return InvalidRequest("name", f"leases have {name}, or had it: say that it failed, and it is booked no more")

    # Lifecycles

    async def register(
        self, kind: str, document: str, authorized: Authorized
    ) -> RegisteredLifecycle | InvalidDocument:
        """Register a kind, or put another document in the place of its own."""
        authorized.check(LIFECYCLES)
        return await self.application.registry.register(kind, document, authorized.principal)

    async def unregister(self, kind: str, authorized: Authorized) -> InvalidDocument | None:
        """Unregister a kind of which there are no resources."""
        authorized.check(LIFECYCLES)
        return await self.application.registry.unregister(kind, authorized.principal)
