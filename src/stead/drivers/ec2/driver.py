"""The driver of Amazon EC2, for the kind `vm`.

A creation is one launch of one member. EC2 can launch many at once, but under one client token, all alike and with
the same tags. A member that comes again in another batch, after an answer was lost, would come under another client
token and be made twice; and no look beforehand could prevent that, since EC2 is slow to show what it has made. Under
a client token of its own a member is made once, whoever asks at the same time, and its tags are there from its first
moment. EC2 keeps a client token as long as the instance lives, and a day longer.

All other verbs, and looks, take a hundred members in a call. EC2 refuses a whole call for one instance that is gone
or in the wrong state. Then, and only then, the driver looks at all of them, and calls again for those that are ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from botocore.exceptions import BotoCoreError
from msgspec import Meta, Struct

from stead.drivers.base import PROBE, Found, Member, Result, Seen, TryAgain, check_batch
from stead.drivers.ec2 import rules
from stead.drivers.ec2.calls import Calls, Task
from stead.drivers.ec2.errors import REMOVED, SOME, Refused
from stead.drivers.ec2.wire import (
    OWNER_TAG,
    PATH_TAG,
    TOKEN_TAG,
    WORDS,
    Changes,
    Instance,
    Page,
    Reservation,
    having,
    launch,
)
from stead.lifecycle.rows import ABSENT, BROKEN

LIMIT = 100
"""Members in one call, of any verb but `create`. EC2 takes 200 values in a filter."""

PAGE = 1000
"""Instances on a page, at most."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where EC2 is, and who speaks to it."""

    region: str
    provider: str = ""
    """As the lane has it; it makes no difference here."""
    profile: str = ""
    """Of the shared credentials and configuration files; without it, the default chain of boto3 is used."""
    endpoint_url: str = ""
    """Where the interface is, if not at Amazon's own address for the region."""
    owner: str = "stead"
    """What our instances are tagged with; two who share an account differ in it."""
    timeout: Annotated[float, Meta(gt=0)] = 10.0
    """Seconds that a `perform` or a look may last, with all the calls it takes."""


def from_config(config: Mapping[str, Any]) -> Ec2Driver:
    """For the registry."""
    try:
        return Ec2Driver(msgspec.convert(config, Config, strict=False))
    except (msgspec.ValidationError, BotoCoreError, ValueError) as error:
        raise ValueError(f"the configuration of EC2 is wrong: {error}") from error


class Ec2Driver:
    """Speaks to one region of one account."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._calls = Calls(
            region=config.region,
            profile=config.profile,
            endpoint_url=config.endpoint_url,
            timeout=config.timeout,
        )

    @property
    def longest_call(self) -> float:
        """The time in which calls are sent, and the time that the last of them may take."""
        return self._config.timeout

    def batch_limit(self, verb: str) -> int:
        """One for a creation, many for all else."""
        if verb not in ("create", PROBE, *rules.VERBS):
            raise ValueError(f"EC2 does not know {verb}")
        return 1 if verb == "create" else LIMIT

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """One call, unless EC2 refuses it for some of the members, or a member's id is not known."""
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        task = self._calls.task(token)
        if verb == "create":
            return [await self._create(task, member) for member in members]
        return await self._act(task, rules.VERBS[verb], members)

    async def describe(self, members: Sequence[Member]) -> list[Seen]:
        """One call for those whose id is known, and one by token for those who have none or are not there by it."""
        check_batch(self, PROBE, members)
        there = await self._look(self._calls.task(), members)
        return [_seen(member, instance) for member, instance in zip(members, there, strict=True)]

    async def inventory(self) -> list[Found]:
        """Page by page. What comes or goes meanwhile may be listed or not; what stays is listed."""
        states = [state for state, word in WORDS.items() if word != ABSENT]
        ours = [having(f"tag:{OWNER_TAG}", [self._config.owner]), having("instance-state-name", states)]
        found: list[Found] = []
        after: str | None = ""
        while after is not None:
            instances, after = await self._page(self._calls.task(), ours, after)
            found += map(_found, instances)
        return found

    async def close(self) -> None:
        """Let the threads go."""
        self._calls.close()

    async def _create(self, task: Task, member: Member) -> Result:
        try:
            asked = launch(member, self._config.owner)
        except ValueError as error:
            return rules.refused(member, "", str(error))
        try:
            made = (await self._calls.ask(task, Reservation, "run_instances", **asked)).instances
        except Refused as error:
            removed = error.code == REMOVED
            return rules.refused(member, "", "it was made, and has been removed since" if removed else error.message)
        if len(made) != 1:
            raise TryAgain("the provider's answer makes no sense", unknown=True, detail=f"{len(made)} instances")
        return rules.launched(member, made[0])

    async def _act(self, task: Task, verb: rules.Verb, members: Sequence[Member]) -> list[Result]:
        """Every round either ends it or leaves out a member at least."""
        ids = [member.facts.get("id", "") for member in members]
        if not all(ids):
            there = await self._look(task, members)
            ids = [id or (i.instance_id if i else "") for id, i in zip(ids, there, strict=True)]
        results = [None if id else rules.missing(verb, m) for m, id in zip(members, ids, strict=True)]
        while open_ := [n for n, result in enumerate(results) if result is None]:
            wanted = list(dict.fromkeys(ids[n] for n in open_))
            try:
                states = (await self._calls.ask(task, Changes, verb.call, InstanceIds=wanted)).states()
            except Refused as error:
                if error.code not in SOME:
                    raise
                there = await self._look(task, [members[n] for n in open_])
                for n, instance in zip(open_, there, strict=True):
                    results[n] = rules.settled(verb, members[n], instance)
                    if instance is not None:
                        ids[n] = instance.instance_id
                if all(results[n] is None for n in open_):
                    self._blame(error, verb, members, ids, results)
            else:
                for n in open_:
                    results[n] = rules.accepted(verb, members[n], ids[n], states.get(ids[n], verb.way))
        return [result for result in results if result is not None]

    @staticmethod
    def _blame(
        error: Refused,
        verb: rules.Verb,
        members: Sequence[Member],
        ids: Sequence[str],
        results: list[Result | None],
    ) -> None:
        """All look ready, and yet EC2 refuses: it is those that it names, or else nobody knows who it is."""
        open_ = [n for n, result in enumerate(results) if result is None]
        named = [n for n in open_ if ids[n] in error.message] or open_
        moved = error.code in ("IncorrectInstanceState", "IncorrectState", "InvalidInstanceID.NotFound")
        for n in named:
            results[n] = rules.refused(members[n], ids[n], error.message, permanent=not moved)

    async def _look(self, task: Task, members: Sequence[Member]) -> list[Instance | None]:
        """What is there of each member, by id or, failing that, by token."""
        by_id: dict[str, Instance] = {}
        by_token: dict[str, Instance] = {}
        if ids := {id for member in members if (id := member.facts.get("id"))}:
            by_id = {instance.instance_id: instance for instance in await self._list(task, "instance-id", ids)}
        if tokens := {member.token for member in members if member.facts.get("id") not in by_id}:
            there = await self._list(task, f"tag:{TOKEN_TAG}", tokens)
            there.sort(key=lambda instance: instance.state.name != "terminated")  # the last one stays in the table
            by_token = {instance.tag(TOKEN_TAG): instance for instance in there}
        return [by_id.get(m.facts.get("id", "")) or by_token.get(m.token) for m in members]

    async def _list(self, task: Task, name: str, values: Iterable[str]) -> list[Instance]:
        instances: list[Instance] = []
        after: str | None = ""
        while after is not None:
            page, after = await self._page(task, [having(name, sorted(values))], after)
            instances += page
        return instances

    async def _page(self, task: Task, filters: list[dict[str, Any]], after: str) -> tuple[list[Instance], str | None]:
        more = {"NextToken": after} if after else {}
        asked = {"Filters": filters, "MaxResults": PAGE, **more}
        page = await self._calls.ask(task, Page, "describe_instances", **asked)
        return [i for reservation in page.reservations for i in reservation.instances], page.next_token or None


def _seen(member: Member, instance: Instance | None) -> Seen:
    if instance is None:
        return Seen(path=member.path, state=ABSENT)
    state = WORDS.get(instance.state.name, BROKEN)
    return Seen(path=member.path, state=state, facts={"id": instance.instance_id})


def _found(instance: Instance) -> Found:
    return Found(
        id=instance.instance_id,
        token=instance.tag(TOKEN_TAG),
        state=WORDS.get(instance.state.name, BROKEN),
        path=instance.tag(PATH_TAG),
        facts={"id": instance.instance_id},
    )
