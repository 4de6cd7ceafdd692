"""SSH keys: the public half of a key that somebody has, under a name that follows from its token.

EC2 has no two keys of one name in a region, so it is made once: a second attempt is told that it is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from stead.drivers.base import FoundObject, Member, ObservedObject, Result, RetryableError
from stead.drivers.ec2 import shared
from stead.drivers.ec2.calls import Task
from stead.drivers.ec2.errors import RejectedError
from stead.drivers.ec2.wire import AVAILABLE, OWNER_TAG, Tagged, having, labels, name_of, tagging
from stead.lifecycle.rows import ABSENT


class Key(Tagged, kw_only=True):
    """As it is listed."""

    key_name: str
    public_key: str = ""


class Keys(shared.Shared):
    """The keys of one owner in one region."""

    kind = "sshkey"

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """By name."""
        names = {self._name(member) for member in members}
        there = {key.key_name for key in await self._keys(self._calls.task(), "key-name", *sorted(names))}
        return [
            ObservedObject(path=m.path, state=AVAILABLE, facts=_facts(self._name(m)))
            if self._name(m) in there
            else ObservedObject(path=m.path, state=ABSENT)
            for m in members
        ]

    async def inventory(self) -> list[FoundObject]:
        """By tag."""
        ours = await self._keys(None, f"tag:{OWNER_TAG}", self._owner)
        return [self._found(key, AVAILABLE, _facts(key.key_name)) for key in ours]

    async def create(self, task: Task, member: Member) -> Result:
        """Nothing but the public half ever comes here."""
        public, name = member.spec.get("publicKey"), self._name(member)
        if not isinstance(public, str) or not public.strip():
            return self._failed(
                member, member.facts, "the spec lacks publicKey: the public half of a key, as ssh has it"
            )
        if "PRIVATE KEY" in public:
            return self._failed(member, member.facts, "the publicKey of the spec is a private key: it is not sent")
        tags = tagging("key-pair", labels(member, self._owner))
        asked = {"KeyName": name, "PublicKeyMaterial": public.strip().encode(), "TagSpecifications": tags}
        try:
            await self._calls.ask(task, dict, "import_key_pair", **asked)
        except RejectedError as error:
            if error.code != "InvalidKeyPair.Duplicate":
                raise
            same = await self._keys(task, "key-name", name)
            if not same:
                raise RetryableError("EC2 does not show yet what it has made", unknown=True, detail=name) from error
            if _bare(same[0].public_key) != _bare(public):
                return self._failed(member, _facts(name), "its token was used for another key")
        return Result(path=member.path, ok=True, facts=_facts(name))

    async def delete(self, task: Task, member: Member) -> bool:
        """EC2 says nothing of whether it was there."""
        await self._drop(task, "delete_key_pair", KeyName=self._name(member))
        return True

    def _name(self, member: Member) -> str:
        return name_of(self._owner, member.token)

    async def _keys(self, task: Task | None, where: str, *values: str) -> list[Key]:
        asked = {"Filters": [having(where, values)], "IncludePublicKey": True}
        return await self._calls.list(task, Key, "describe_key_pairs", "KeyPairs", **asked)


def _facts(name: str) -> dict[str, str]:
    return {"id": name, "name": name}


def _bare(public: str) -> list[str]:
    """A key without the comment behind it."""
    return public.split()[:2]
