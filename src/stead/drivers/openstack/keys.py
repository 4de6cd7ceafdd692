"""Keys: Nova's key pairs, of which it has no two of one name for a user. The name says owner and token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from stead.drivers.base import FoundObject, Member, ObservedObject, Result
from stead.drivers.openstack.calls import COMPUTE, Calls, Task
from stead.drivers.openstack.errors import RejectedError
from stead.drivers.openstack.wire import AVAILABLE, Link, next_page
from stead.lifecycle.rows import ABSENT

KIND = "sshkey"

PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""A token that can stand in a name as it is. Of others, the bytes are written down."""


class Pair(Struct, frozen=True):
    """A key pair."""

    name: str
    public_key: str = ""


class Listed(Struct, frozen=True):
    """As lists have it."""

    keypair: Pair


class Pairs(Struct, frozen=True):
    """A page of them."""

    keypairs: list[Listed]
    keypairs_links: list[Link] = []


class Keys:
    """The keys of one user that are ours."""

    def __init__(self, calls: Calls, owner: str) -> None:
        self._calls = calls
        self._owner = owner

    async def create(self, task: Task, member: Member) -> Result:
        """Nova says if it has it already."""
        public = str(member.spec.get("publicKey") or "").strip()
        if not public:
            return Result(path=member.path, ok=False, error="the spec lacks publicKey, the key that is to be let in")
        name = key_name(self._owner, member.token)
        asked = {"keypair": {"name": name, "public_key": public, "type": "ssh"}}
        try:
            await self._calls.ask(task, Any, COMPUTE, "POST", "/os-keypairs", asked)
        except RejectedError as error:
            there = await self._get(task, name) if error.status == 409 else None
            if there is None:
                return Result(path=member.path, ok=False, error=error.message, permanent=error.status != 409)
            if there.public_key.split()[:2] != public.split()[:2]:
                return Result(
                    path=member.path, ok=False, facts=_facts(name), error="its token was used for another key"
                )
        return Result(path=member.path, ok=True, facts=_facts(name))

    async def delete(self, task: Task, member: Member) -> Result:
        """Servers that were made with it keep it."""
        name = str(member.facts.get("id") or key_name(self._owner, member.token))
        try:
            await self._calls.ask(task, type(None), COMPUTE, "DELETE", f"/os-keypairs/{quote(name, safe='')}")
        except RejectedError as error:
            if error.status != 404:
                return Result(path=member.path, ok=False, facts=_facts(name), error=error.message)
        return Result(path=member.path, ok=True)

    async def observe(self, task: Task, members: Sequence[Member]) -> list[ObservedObject]:
        """What is there of each."""
        there = {pair.name for pair in await self._list(task)}
        return [self._seen(member, there) for member in members]

    async def found(self, task: Task) -> list[FoundObject]:
        """All that is ours."""
        named = [(pair.name, token_of(self._owner, pair.name)) for pair in await self._list(task)]
        return [
            FoundObject(id=name, token=token, state=AVAILABLE, facts=_facts(name), kind=KIND)
            for name, token in named
            if token
        ]

    def _seen(self, member: Member, there: set[str]) -> ObservedObject:
        names = (str(member.facts.get("id", "")), key_name(self._owner, member.token))
        name = next((name for name in names if name in there), None)
        if name is None:
            return ObservedObject(path=member.path, state=ABSENT)
        return ObservedObject(path=member.path, state=AVAILABLE, facts=_facts(name))

    async def _get(self, task: Task, name: str) -> Pair | None:
        return next((pair for pair in await self._list(task) if pair.name == name), None)

    async def _list(self, task: Task) -> list[Pair]:
        pairs: list[Pair] = []
        more: dict[str, str] | None = {}
        while more is not None:
            page = await self._calls.ask(task, Pairs, COMPUTE, "GET", "/os-keypairs", query=more)
            pairs += [listed.keypair for listed in page.keypairs]
            more = next_page(page.keypairs_links) or None
        return pairs


def key_name(owner: str, token: str) -> str:
    """The name of the only key that a token can have."""
    if PLAIN.fullmatch(token) and not token.startswith("x-"):
        return f"stead-{owner}-{token}"
    return f"stead-{owner}-x-{token.encode().hex()}"


def token_of(owner: str, name: str) -> str:
    """The token from a name; nothing, where it is not one of ours."""
    before, mine, token = name.partition(f"stead-{owner}-")
    if before or not mine:
        return ""
    if not token.startswith("x-"):
        return token
    try:
        return bytes.fromhex(token[2:]).decode()
    except ValueError:
        return ""


def _facts(name: str) -> dict[str, Any]:
    return {"id": name, "name": name}
