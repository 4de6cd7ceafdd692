"""What is ours among Neutron's things: each carries a description, from its first moment, that says whose it is.

Only one agent has custody of a thing at a time, and Neutron shows at once what it has made. So whoever makes
something looks first, and makes what is not there yet; what was half made is finished that way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from stead.drivers.base import FoundObject, Member, ObservedObject
from stead.drivers.openstack.calls import NETWORK, Calls, Task
from stead.drivers.openstack.errors import RejectedError
from stead.drivers.openstack.wire import AVAILABLE, marked, next_page
from stead.drivers.openstack.wire import Link as PageLink
from stead.lifecycle.rows import ABSENT, BROKEN

PAGE = 500
"""Things on a page."""


class Thing(Struct, frozen=True):
    """A network, a subnet, a router or a security group, as far as all of them are alike."""

    id: str
    description: str = ""
    status: str = "ACTIVE"
    network_id: str = ""

    @property
    def owner(self) -> str:
        """Whose it is; nothing, if it is not ours."""
        return marked(self.description)[0]

    @property
    def token(self) -> str:
        """Of the member that it was made for."""
        return marked(self.description)[1]

    @property
    def path(self) -> str:
        """Of the member that it was made for."""
        return marked(self.description)[2]

    @property
    def word(self) -> str:
        """The lifecycle's word for it. A network that is down serves as well: nobody uses it yet."""
        return BROKEN if self.status == "ERROR" else AVAILABLE


class Things:
    """Those of one owner."""

    def __init__(self, calls: Calls, owner: str) -> None:
        self._calls = calls
        self._owner = owner

    async def ours(self, task: Task, what: str) -> list[Thing]:
        """All of a sort, such as `networks`, page by page."""
        found: list[Thing] = []
        # To whoever may see everything, Neutron shows what other projects have as well.
        project = await self._calls.project(task)
        more: dict[str, str] = {"project_id": project, "limit": str(PAGE), "sort_key": "id", "sort_dir": "asc"}
        address = f"/{what.replace('_', '-')}"
        while more:
            page = await self._calls.ask(task, dict[str, Any], NETWORK, "GET", address, query=more)
            found += [_thing(one) for one in page.get(what, [])]
            more = next_page([PageLink(link["rel"], link["href"]) for link in page.get(f"{what}_links", [])])
        return [thing for thing in found if thing.owner == self._owner]

    async def of(self, task: Task, what: str, member: Member) -> Thing | None:
        """The one that is this member's, by id or, failing that, by token."""
        return pick(member, await self.ours(task, what))

    async def make(self, task: Task, what: str, content: dict[str, Any]) -> Thing:
        """A new one, such as of the sort `networks`."""
        one = what[:-1]
        address = f"/{what.replace('_', '-')}"
        answer = await self._calls.ask(task, dict[str, Any], NETWORK, "POST", address, {one: content})
        return _thing(answer[one])

    async def put(self, task: Task, path: str, content: Any) -> None:
        """A change to one."""
        await self._calls.ask(task, Any, NETWORK, "PUT", path, content)

    async def delete(self, task: Task, what: str, id: str) -> None:
        """Remove it; it may be gone already."""
        try:
            await self._calls.ask(task, type(None), NETWORK, "DELETE", f"/{what.replace('_', '-')}/{id}")
        except RejectedError as error:
            if error.status != 404:
                raise


def pick(member: Member, things: Iterable[Thing]) -> Thing | None:
    """The one that is this member's, by id or, failing that, by token."""
    things = list(things)
    by_id = (thing for thing in things if thing.id == member.facts.get("id"))
    by_token = (thing for thing in things if thing.token == member.token)
    return next(by_id, None) or next(by_token, None)


def seen(member: Member, thing: Thing | None, facts: dict[str, Any]) -> ObservedObject:
    """What a look says of it."""
    if thing is None:
        return ObservedObject(path=member.path, state=ABSENT)
    return ObservedObject(path=member.path, state=thing.word, facts=facts)


def found(kind: str, thing: Thing, facts: dict[str, Any]) -> FoundObject:
    """What the inventory says of it."""
    return FoundObject(id=thing.id, token=thing.token, state=thing.word, path=thing.path, facts=facts, kind=kind)


def _thing(content: dict[str, Any]) -> Thing:
    return Thing(
        id=str(content["id"]),
        description=str(content.get("description") or ""),
        status=str(content.get("status") or "ACTIVE"),
        network_id=str(content.get("network_id") or ""),
    )
