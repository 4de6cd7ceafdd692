"""VMs: instances, which are made by launches (see `launches`) and changed by the hundred.

A creation takes as many launches as its members were planned in, one call each, a few at a time; usually that is one.
Where there are several, each of them has its own outcome, as long as EC2 answered.

All other verbs, and looks, take a hundred members in a call. EC2 refuses a whole call for one instance that is gone
or in the wrong state. Then, and only then, the driver looks at all of them, and calls again for those that are ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from stead.drivers.base import (
    PROBE,
    DriverError,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    ThrottledError,
)
from stead.drivers.ec2 import rules
from stead.drivers.ec2.calls import Calls, Task
from stead.drivers.ec2.errors import MISMATCH, REMOVED, SOME, RejectedError
from stead.drivers.ec2.launches import asked, launch_of, place_of, told_by
from stead.drivers.ec2.offers import Offers, named
from stead.drivers.ec2.wire import (
    LAUNCH_TAG,
    OWNER_TAG,
    PATH_TAG,
    TOKEN_TAG,
    WORDS,
    Changes,
    Instance,
    Page,
    Reservation,
    having,
)
from stead.lifecycle.rows import ABSENT, BROKEN

LIMIT = 100
"""Members in one call. EC2 takes 200 values in a filter."""

MAX_CONCURRENT_CALLS = 4
"""Launches at the same time. EC2 grants a handful, and then two a second."""

PAGE = 1000
"""Instances on a page, at most."""


class Part(Struct, kw_only=True):
    """The members of one launch that are asked for in one call."""

    parameters: dict[str, Any]
    members: list[Member] = []


class Instances:
    """The instances of one owner in one region."""

    def __init__(self, calls: Calls, owner: str, offers: Offers) -> None:
        self._calls = calls
        self._owner = owner
        self._offers = offers

    def limit(self, verb: str) -> int | None:
        """How many members a call of that verb takes; None for what is no verb."""
        return LIMIT if verb in ("create", PROBE, *rules.VERBS) else None

    async def perform(self, verb: str, members: Sequence[Member], order: str) -> list[Result]:
        """One call, unless there are several launches, EC2 refuses some of the members, or an id is not known."""
        task = self._calls.task(order)
        if verb == "create":
            return await self._create(task, members)
        return await self._act(task, rules.VERBS[verb], members)

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """One call for those whose id is known, and one by tag for those who have none or are not there by it."""
        there = await self._observe(self._calls.task(), members)
        return [_seen(member, instance) for member, instance in zip(members, there, strict=True)]

    async def inventory(self) -> list[FoundObject]:
        """Page by page. What comes or goes meanwhile may be listed or not; what stays is listed."""
        states = [state for state, word in WORDS.items() if word != ABSENT]
        ours = [having(f"tag:{OWNER_TAG}", [self._owner]), having("instance-state-name", states)]
        found: list[FoundObject] = []
        after: str | None = ""
        while after is not None:
            instances, after = await self._page(self._calls.task(), ours, after)
            found += map(_found, instances)
        return found

    async def _create(self, task: Task, members: Sequence[Member]) -> list[Result]:
        images = await self._named(task, members)
        results: dict[int, Result] = {}
        parts: dict[bytes, Part] = {}
        for n, member in enumerate(members):
            try:
                parameters = asked(member, launch_of(member), self._owner, _image(member, images))
            except ValueError as error:
                results[n] = rules.refused(member, "", str(error))
            else:
                alike = msgspec.msgpack.encode(parameters)
                parts.setdefault(alike, Part(parameters=parameters)).members.append(member)
        outcomes = await self._launch_all(task, parts.values())
        _raise_for_all(outcomes)
        made = [r for part, outcome in zip(parts.values(), outcomes, strict=True) for r in _told(part, outcome)]
        by_member = dict(zip((id(m) for part in parts.values() for m in part.members), made, strict=True))
        return [results.get(n) or by_member[id(member)] for n, member in enumerate(members)]

    async def _named(self, task: Task, members: Iterable[Member]) -> dict[str, str]:
        """The ids of the images that are given by name."""
        names = sorted({m.spec["image"] for m in members if m.spec.get("image") and named(m.spec["image"])})
        return {name: await self._offers.image(task, name) for name in names}

    async def _launch_all(self, task: Task, parts: Iterable[Part]) -> list[list[Result] | BaseException]:
        """A few at a time. When EC2 says that there are too many, the rest is not sent."""
        turn = asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        over: list[ThrottledError] = []

        async def launch(part: Part) -> list[Result]:
            async with turn:
                if over:
                    raise over[0]
                try:
                    return await self._launch(task.beside(), part)
                except ThrottledError as error:
                    over.append(error)
                    raise

        return await asyncio.gather(*(launch(part) for part in parts), return_exceptions=True)

    async def _launch(self, task: Task, part: Part) -> list[Result]:
        try:
            made = await self._run(task, part)
        except RejectedError as error:
            if error.code == REMOVED:
                # Some instance of the launch was terminated; there may be others.
                there = await self._observe(task, part.members)
                return [rules.launched(m, i) if i else _removed(m) for m, i in zip(part.members, there, strict=True)]
            return [rules.refused(member, "", error.message) for member in part.members]
        by_index = {instance.ami_launch_index: instance for instance in made}
        if not made or len(by_index) != len(made) or len(made) > part.parameters["MaxCount"]:
            raise RetryableError(
                "the provider's answer makes no sense", unknown=True, detail=f"{len(made)} instances"
            )
        places = [(m, by_index.get((place_of(m) or ("", 0))[1])) for m in part.members]
        # What was terminated long ago is not listed any more.
        return [rules.launched(member, instance) if instance else _removed(member) for member, instance in places]

    async def _run(self, task: Task, part: Part) -> list[Instance]:
        try:
            return (await self._calls.ask(task, Reservation, "run_instances", **part.parameters)).instances
        except RejectedError as error:
            if error.code != MISMATCH or not named(part.members[0].spec["image"]):
                raise
            # The name may have got a newer image since an earlier attempt: what that one took is asked for again.
            there = [i for i in await self._observe(task, part.members) if i is not None and i.image_id]
            if not there or there[0].image_id == part.parameters["ImageId"]:
                raise
        same = {**part.parameters, "ImageId": there[0].image_id}
        return (await self._calls.ask(task, Reservation, "run_instances", **same)).instances

    async def _act(self, task: Task, verb: rules.Verb, members: Sequence[Member]) -> list[Result]:
        """Every round either ends it or leaves out a member at least."""
        ids = [member.facts.get("id", "") for member in members]
        if not all(ids):
            there = await self._observe(task, members)
            ids = [id or (i.instance_id if i else "") for id, i in zip(ids, there, strict=True)]
        results = [None if id else rules.missing(verb, m) for m, id in zip(members, ids, strict=True)]
        while open_ := [n for n, result in enumerate(results) if result is None]:
            wanted = list(dict.fromkeys(ids[n] for n in open_))
            try:
                states = (await self._calls.ask(task, Changes, verb.call, InstanceIds=wanted)).states()
            except RejectedError as error:
                if error.code not in SOME:
                    raise
                there = await self._observe(task, [members[n] for n in open_])
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
        error: RejectedError,
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

    async def _observe(self, task: Task, members: Sequence[Member]) -> list[Instance | None]:
        """What is there of each member, by id or, failing that, by its place in its launch, or by token."""
        by_id: dict[str, Instance] = {}
        if ids := {id for member in members if (id := member.facts.get("id"))}:
            by_id = {instance.instance_id: instance for instance in await self._list(task, "instance-id", ids)}
        rest = [member for member in members if member.facts.get("id") not in by_id]
        places = {place for member in rest if (place := place_of(member))}
        tokens = {member.token for member in rest if not place_of(member)}
        there: list[Instance] = []
        if places:
            there += await self._list(task, f"tag:{LAUNCH_TAG}", {launch for launch, _ in places})
        if tokens:
            there += await self._list(task, f"tag:{TOKEN_TAG}", tokens)
        there.sort(key=lambda instance: instance.state.name != "terminated")  # the last one stays in the table
        by_token = {told_by(instance): instance for instance in there}
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


def _raise_for_all(outcomes: Sequence[object]) -> None:
    """Where there is no answer for any launch, or nobody knows what became of one, the whole call has none."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for error in errors:
        if not isinstance(error, DriverError) or (isinstance(error, RetryableError) and error.unknown):
            raise error
    if errors and len(errors) == len(outcomes):
        raise next((error for error in errors if isinstance(error, ThrottledError)), errors[0])


def _told(part: Part, outcome: list[Result] | BaseException) -> list[Result]:
    """The results of one launch among several."""
    if isinstance(outcome, list):
        return outcome
    assert isinstance(outcome, DriverError)
    failed = Result(
        path="",
        ok=False,
        error=outcome.message,
        permanent=isinstance(outcome, PermanentError),
        retry_after=outcome.after if isinstance(outcome, RetryableError) else None,
    )
    return [msgspec.structs.replace(failed, path=member.path) for member in part.members]


def _image(member: Member, images: Mapping[str, str]) -> str:
    image: str = member.spec.get("image", "")
    if image and named(image) and not images[image]:
        raise ValueError(f"there is no image {image} among our own and Amazon's")
    return images[image] if image and named(image) else image


def _removed(member: Member) -> Result:
    return rules.refused(member, "", rules.GONE)


def _seen(member: Member, instance: Instance | None) -> ObservedObject:
    if instance is None:
        return ObservedObject(path=member.path, state=ABSENT)
    state = WORDS.get(instance.state.name, BROKEN)
    return ObservedObject(path=member.path, state=state, facts={"id": instance.instance_id})


def _found(instance: Instance) -> FoundObject:
    return FoundObject(
        id=instance.instance_id,
        token=told_by(instance),
        state=WORDS.get(instance.state.name, BROKEN),
        path=instance.tag(PATH_TAG),
        facts={"id": instance.instance_id},
    )
