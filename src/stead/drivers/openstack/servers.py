"""VMs: servers of Nova's. Each is found by id or, failing that, by a tag that follows from its token."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stead.drivers.base import (
    DriverError,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
)
from stead.drivers.openstack import rules
from stead.drivers.openstack.calls import COMPUTE, Calls, Task
from stead.drivers.openstack.errors import RejectedError
from stead.drivers.openstack.lock import Lock, TokenSpentError
from stead.drivers.openstack.names import Names
from stead.drivers.openstack.wire import (
    MAX_NAME_CHARS,
    OWNER,
    PATH,
    RUNNING,
    SPEC,
    TOKEN,
    Made,
    One,
    Page,
    Server,
    digest,
    name_of,
    next_page,
    owner_tag,
    tag_of,
)
from stead.lifecycle.rows import ABSENT

ANY_WAY = ("auto", "none")
"""Nova's own words for a network that it finds or makes itself, and for no network at all."""


class Servers:
    """The servers of one project that are ours."""

    def __init__(self, calls: Calls, names: Names, owner: str) -> None:
        self._calls = calls
        self._names = names
        self._owner = owner

    async def create(self, task: Task, member: Member) -> Result:
        """The server of that token, from now or from before. See `lock` for why it is made once."""
        spec = digest({name: value for name, value in member.spec.items() if name != "shared"})
        try:
            asked = await self._body(task, member, spec)
        except PermanentError as error:
            # What it was once made of may be gone by now.
            there = await self._by_token(task, member)
            return rules.failed(member, "", error.message) if there is None else rules.made(member, there, spec)
        lock = Lock(self._calls, task, self._owner, member.token)
        if not await lock.take():
            there = await self._by_token(task, member)
            if there is None:
                spent = False
                try:
                    await lock.take_over()
                except TokenSpentError:
                    spent = True
                # Whoever was at it may have made it since the look.
                there = await self._by_token(task, member)
                if there is None and spent:
                    return rules.failed(member, "", rules.REMOVED)
            if there is not None:
                await lock.settle()
                return rules.made(member, there, spec)
        try:
            made = await self._calls.ask(task, Made, COMPUTE, "POST", "/servers", {"server": asked})
        except DriverError as error:
            if not (isinstance(error, RetryableError) and error.unknown):
                await lock.give_back()
            if isinstance(error, RejectedError):
                self._names.forget()  # a name may mean something else by now
                return rules.failed(member, "", error.message)
            raise
        await lock.settle()
        return rules.accepted(member, made.server.id, RUNNING)

    async def act(self, task: Task, verb: rules.Verb, member: Member) -> Result:
        """A look, and what follows from it."""
        (server,) = await self._observe(task, [member])
        result = rules.settled(verb, member, server)
        if result is not None or server is None:
            return result or rules.failed(member, "", rules.NOT_THERE)
        path = f"/servers/{server.id}/action"
        try:
            await self._calls.ask(task, type(None), COMPUTE, "POST", path, verb.actions[server.status])
        except RejectedError as error:
            if error.status not in (404, 409):
                return rules.failed(member, server.id, error.message)
            # Something happened to it since the look.
            (now,) = await self._observe(task, [member])
            again = rules.failed(member, server.id, error.message, permanent=False)
            return rules.settled(verb, member, now) or again
        return rules.accepted(member, server.id, verb.end)

    async def terminate(self, task: Task, member: Member) -> Result:
        """Its token is spent first: whatever happens then, it is not made again."""
        await Lock(self._calls, task, self._owner, member.token).spend()
        (server,) = await self._observe(task, [member])
        if server is None:
            return rules.gone(member)
        if not server.going:
            try:
                await self._calls.ask(task, type(None), COMPUTE, "DELETE", f"/servers/{server.id}")
            except RejectedError as error:
                if error.status != 404:
                    return rules.failed(member, server.id, error.message, permanent=error.status != 409)
        return rules.accepted(member, server.id, ABSENT)

    async def observe(self, task: Task, members: Sequence[Member]) -> list[ObservedObject]:
        """What is there of each."""
        there = await self._observe(task, members)
        return [_seen(member, server) for member, server in zip(members, there, strict=True)]

    async def found(self, task: Task) -> list[FoundObject]:
        """All that is ours."""
        ours = await self._list(task, tags=owner_tag(self._owner))
        return [
            FoundObject(
                id=server.id,
                token=server.metadata.get(TOKEN, ""),
                state=server.word,
                path=server.metadata.get(PATH, ""),
                facts={"id": server.id},
            )
            for server in ours
            if server.word != ABSENT
        ]

    async def _body(self, task: Task, member: Member, spec: str) -> dict[str, Any]:
        """What Nova is asked to make. Fields of the spec that say nothing to it are left to others."""
        if missing := [field for field in ("image", "spec") if not member.spec.get(field)]:
            raise PermanentError(f"the spec lacks {' and '.join(missing)}")
        shared = member.spec.get("shared") or {}
        asked: dict[str, Any] = {
            "name": name_of(member),
            "imageRef": await self._names.image(task, str(member.spec["image"])),
            "flavorRef": await self._names.flavor(task, str(member.spec["spec"])),
            "networks": await self._network(task, member.spec, shared),
            "metadata": {
                OWNER: self._owner,
                TOKEN: member.token,
                PATH: member.path if len(member.path) <= MAX_NAME_CHARS else "",
                SPEC: spec,
            },
            "tags": [owner_tag(self._owner), tag_of(self._owner, member.token)],
        }
        if "securitygroup" in shared and asked["networks"] != "none":
            asked["security_groups"] = [{"name": _fact(shared, "securitygroup", "id")}]
        if "sshkey" in shared:
            asked["key_name"] = _fact(shared, "sshkey", "name")
        return asked

    async def _network(self, task: Task, spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
        if "network" in shared:
            return [{"uuid": _fact(shared, "network", "id")}]
        named = str(spec.get("network") or "auto")
        return named if named in ANY_WAY else [{"uuid": await self._names.network(task, named)}]

    async def _by_token(self, task: Task, member: Member) -> Server | None:
        return (await self._tagged(task, [member])).get(member.token)

    async def _observe(self, task: Task, members: Sequence[Member]) -> list[Server | None]:
        """By one list for all, and one question for each that has an id and is not listed: there Nova also tells of
        what it cannot see at the moment, which lists leave out."""
        by_token: dict[str, Server] = {}
        if len(members) > 1 or not all(member.facts.get("id") for member in members):
            by_token = await self._tagged(task, members)
        by_id = {server.id: server for server in by_token.values()}
        ids = {str(id) for member in members if (id := member.facts.get("id"))} - by_id.keys()
        by_id |= {s.id: s for s in await asyncio.gather(*(self._get(task, id) for id in ids)) if s is not None}
        if len(members) == 1 and not by_id and not by_token and ids:
            by_token = await self._tagged(task, members)
        return [by_id.get(str(m.facts.get("id", ""))) or by_token.get(m.token) for m in members]

    async def _get(self, task: Task, id: str) -> Server | None:
        try:
            return (await self._calls.ask(task, One, COMPUTE, "GET", f"/servers/{id}")).server
        except RejectedError as error:
            if error.status == 404:
                return None
            raise

    async def _tagged(self, task: Task, members: Iterable[Member]) -> dict[str, Server]:
        """The servers of these members, by token."""
        tags = sorted({tag_of(self._owner, member.token) for member in members})
        there = await self._list(task, **{"tags-any": ",".join(tags)})
        return {server.metadata.get(TOKEN, ""): server for server in there}

    async def _list(self, task: Task, **wanted: str) -> list[Server]:
        """Page by page. What comes or goes meanwhile may be listed or not; what stays is listed."""
        servers: list[Server] = []
        more: dict[str, str] = wanted
        while more:
            page = await self._calls.ask(task, Page, COMPUTE, "GET", "/servers/detail", query=more)
            servers += page.servers
            more = next_page(page.servers_links)
        return servers


def _seen(member: Member, server: Server | None) -> ObservedObject:
    if server is None or server.word == ABSENT:
        return ObservedObject(path=member.path, state=ABSENT)
    return ObservedObject(path=member.path, state=server.word, facts={"id": server.id})


def _fact(shared: Mapping[str, Any], kind: str, name: str) -> str:
    facts = shared[kind]
    if not isinstance(facts, Mapping) or not facts.get(name):
        raise PermanentError(f"the {kind} that it is to have is not there")
    return str(facts[name])
