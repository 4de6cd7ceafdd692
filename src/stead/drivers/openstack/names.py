"""What a place has of images, flavors and networks, so that a spec can call them by their names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from msgspec import Struct

from stead.drivers.base import PermanentError, closest_names
from stead.drivers.openstack.calls import COMPUTE, IMAGE, NETWORK, Calls, Task
from stead.drivers.openstack.wire import Link, next_page

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

FRESH = 60.0
"""Seconds for which a name is known to mean what it meant."""


class Named(Struct, frozen=True):
    """An id with its name."""

    id: str
    name: str | None = None


class Flavors(Struct, frozen=True):
    """A page of them."""

    flavors: list[Named]
    flavors_links: list[Link] = []


class Images(Struct, frozen=True):
    """A page of them."""

    images: list[Named]
    next: str = ""


class Networks(Struct, frozen=True):
    """All of that name."""

    networks: list[Named]


class Names:
    """The names of one region, remembered for a while: a thousand servers are mostly made of the same."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._known: dict[tuple[str, str], tuple[str, float]] = {}

    async def image(self, task: Task, name: str) -> str:
        """The id of the image of that name, or with that id."""
        return name if UUID.fullmatch(name) else await self._id(task, "image", name)

    async def flavor(self, task: Task, name: str) -> str:
        """The id of the flavor of that name, or with that id."""
        return await self._id(task, "flavor", name)

    async def network(self, task: Task, name: str) -> str:
        """The id of the network of that name, or with that id."""
        return name if UUID.fullmatch(name) else await self._id(task, "network", name)

    def forget(self) -> None:
        """Ask again for every name."""
        self._known.clear()

    async def check_offer(self, task: Task, field: str, name: str) -> list[str] | None:
        """The names that come closest to one that is not there; None, if it is there."""
        there = await self._list(task, "flavor" if field == "spec" else "image", "")
        if any(name in (one.id, one.name) for one in there):
            return None
        return closest_names(name, (one.name for one in there if one.name))

    async def _id(self, task: Task, what: str, name: str) -> str:
        id, until = self._known.get((what, name), ("", 0.0))
        if time.monotonic() < until:
            return id
        there = await self._list(task, what, name)
        id = _one(what, name, there)
        self._known[what, name] = (id, time.monotonic() + FRESH)
        return id

    async def _list(self, task: Task, what: str, name: str) -> list[Named]:
        """At least those of that name; all, if it is empty."""
        found: list[Named] = []
        by_name = {"name": name} if name else {}
        if what == "network":
            return (await self._calls.ask(task, Networks, NETWORK, "GET", "/networks", query=by_name)).networks
        more: dict[str, str] | None = {"status": "active", **by_name} if what == "image" else {}
        while more is not None:
            if what == "image":
                images = await self._calls.ask(task, Images, IMAGE, "GET", "/images", query=more)
                found += images.images
                more = next_page([Link("next", images.next)]) if images.next else None
            else:
                flavors = await self._calls.ask(task, Flavors, COMPUTE, "GET", "/flavors", query=more)
                found += flavors.flavors
                more = next_page(flavors.flavors_links) or None
        return found


def _one(what: str, name: str, there: Iterable[Named]) -> str:
    """The only one that can be meant."""
    there = list(there)
    by_name = [one.id for one in there if one.name == name]
    ids = by_name or [one.id for one in there if one.id == name]
    if not ids:
        raise PermanentError(f"there is no {what} {name} here")
    if len(ids) > 1:
        raise PermanentError(f"there are {len(ids)} of the name {name}: say which {what} by its id")
    return ids[0]
