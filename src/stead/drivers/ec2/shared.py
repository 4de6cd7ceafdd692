"""What networks, security groups and keys have in common: they are made and deleted one at a time, in a few calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stead.drivers.base import PROBE, FoundObject, Member, Result, RetryableError
from stead.drivers.ec2.calls import Calls, Task
from stead.drivers.ec2.errors import DEPENDENT, RejectedError
from stead.drivers.ec2.wire import PATH_TAG, TOKEN_TAG, Tagged
from stead.lifecycle.rows import ABSENT

LIMIT = 100
"""Members in one look. EC2 takes 200 values in a filter."""

LIMITS = {"create": 1, "delete": 1, PROBE: LIMIT}

LOOSE = "Gateway.NotAttached"


class Shared:
    """Things of one kind, of one owner in one region."""

    kind: str

    def __init__(self, calls: Calls, owner: str) -> None:
        self._calls = calls
        self._owner = owner

    def limit(self, verb: str) -> int | None:
        """How many members a call of that verb takes; None for what is no verb."""
        return LIMITS.get(verb)

    async def perform(self, verb: str, members: Sequence[Member], order: str) -> list[Result]:
        """A refusal is told in EC2's words. What something else still needs may be deleted later."""
        (member,) = members
        task = self._calls.task(order)
        try:
            if verb == "create":
                return [await self.create(task, member)]
            # What was made a moment ago may not be shown yet: where nothing was found, it is looked for once more.
            there = await self.delete(task, member)
            return [Result(path=member.path, ok=True, pending="" if there else ABSENT, facts=member.facts)]
        except RejectedError as error:
            return [self._failed(member, member.facts, error.message, permanent=error.code != DEPENDENT)]

    async def create(self, task: Task, member: Member) -> Result:
        """Make it, or what is missing of it."""
        raise NotImplementedError

    async def delete(self, task: Task, member: Member) -> bool:
        """Remove whatever is there of it, and say whether anything was."""
        raise NotImplementedError

    async def _drop(self, task: Task, operation: str, **what: Any) -> None:
        """Remove something; what is gone already is gone."""
        try:
            await self._calls.ask(task, dict, operation, **what)
        except RejectedError as error:
            if not error.absent and error.code != LOOSE:
                raise

    def _found(self, thing: Tagged, state: str, facts: Mapping[str, Any]) -> FoundObject:
        token, path = thing.tag(TOKEN_TAG), thing.tag(PATH_TAG)
        return FoundObject(id=facts["id"], token=token, state=state, path=path, facts=facts, kind=self.kind)

    @staticmethod
    def _failed(member: Member, facts: Mapping[str, Any], error: str, *, permanent: bool = True) -> Result:
        return Result(path=member.path, ok=False, facts=facts, error=error, permanent=permanent)


def given[T](thing: T | None) -> T:
    """What an answer must have in it."""
    if thing is None:
        raise RetryableError("the provider's answer makes no sense", unknown=True)
    return thing


def hundreds[T](things: Sequence[T]) -> Iterator[Sequence[T]]:
    """So many of them that they fit into a filter."""
    for start in range(0, len(things), LIMIT):
        yield things[start : start + LIMIT]
