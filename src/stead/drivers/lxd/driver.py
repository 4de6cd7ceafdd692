"""The driver of LXD, for the kind `vm`.

One call takes one member, and is a few requests: LXD makes an instance in one operation and starts it in another, and
what runs must be stopped before it can be deleted. A call waits for them within its time. What it leaves unfinished
is seen moving for as long as LXD is at it, and repeating the call finishes the rest.

An instance has the name that follows from its member's token, and LXD itself refuses a second one of that name. When
it is removed its name would be free again; so an empty profile, put there before, says that the token is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from stead.drivers import settings
from stead.drivers.base import (
    PROBE,
    VM,
    DriverError,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    check_batch,
    closest_names,
)
from stead.drivers.lxd.call import Call, calling
from stead.drivers.lxd.connection import Config, connect
from stead.drivers.lxd.making import FINGERPRINT, body, digest, is_mark, mark_of, name_of
from stead.drivers.lxd.steps import Led, lead, restart
from stead.drivers.lxd.wire import OWNER, PATH, SPEC, TOKEN, WORDS, Instance, Operation, never_started, word
from stead.lifecycle.rows import ABSENT, BROKEN

LIMIT = 100
"""Members in one look."""

FEW = 2
"""So many are asked for by name; for more, the whole list is shorter."""

ENDS = {"create": "Running", "suspend": "Suspended", "resume": "Running", "reboot": "Running", "terminate": ABSENT}
"""What a look shows at the end of each verb."""

REMOVED = "it was made, and has been removed since"


def from_config(config: Mapping[str, Any]) -> LxdDriver:
    """For the registry."""
    try:
        return LxdDriver(settings.read(Config, config))
    except ValueError as error:
        raise ValueError(f"the configuration of LXD is wrong: {error}") from error


class LxdDriver:
    """Speaks to one project of an LXD server."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._project = config.project or config.region
        self._client = connect(config)
        self._project_seen = False

    @property
    def kinds(self) -> frozenset[str]:
        """Nothing but VMs."""
        return frozenset({VM})

    @property
    def longest_call(self) -> float:
        """The time after which a call is given up."""
        return self._config.timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """One for what is done; a look takes many."""
        if verb not in (PROBE, *ENDS):
            raise ValueError(f"LXD does not know {verb}")
        return LIMIT if verb == PROBE else 1

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """What it makes is marked with its owner, its path, its token and the order."""
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        if not members:
            return []
        (member,) = members
        async with self._call() as call:
            await self._check_project(call)
            try:
                if verb == "create":
                    return [await self._create(call, member, token)]
                return [await self._change(call, verb, member)]
            except PermanentError as error:
                if not call.acted:
                    raise
                # Something was done before LXD said no: what was made must be found again.
                return [_failed(member, self._name(member), error.message)]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """By name: the one that was told, or the one that follows from the token. A wrong one does no harm."""
        check_batch(self, PROBE, members)
        if not members:
            return []
        wanted = {name for member in members for name in self._names(member)}
        async with self._call() as call:
            await self._check_project(call)
            moves = await call.under_way()
            if len(wanted) <= FEW:
                # LXD says nothing of an instance that is being started until it has: what moves is not asked for.
                asked = wanted - moves.keys()
                there = {name: found for name in asked if (found := await call.instance(name)) is not None}
            else:
                there = {instance.name: instance for instance in await call.instances()}
            return [self._seen(call, member, there, moves) for member in members]

    async def inventory(self) -> list[FoundObject]:
        """From the project's list, which is always complete."""
        async with self._call() as call:
            await self._check_project(call)
            moves = await call.under_way()
            ours = [i for i in await call.instances() if i.config.get(OWNER) == self._config.owner]
            return [
                FoundObject(
                    id=instance.name,
                    token=instance.config.get(TOKEN, ""),
                    state=word(instance, instance.name in moves, call.now, self.longest_call),
                    path=instance.config.get(PATH, ""),
                    facts={"id": instance.name},
                )
                for instance in ours
            ]

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """By the project's profiles, and by the aliases and fingerprints of its images."""
        async with self._call() as call:
            await self._check_project(call)
            if field == "spec":
                has = [profile for profile in await call.profiles() if not is_mark(profile)]
            elif field == "image":
                has = await (call.fingerprints() if FINGERPRINT.fullmatch(name) else call.aliases())
            else:
                return None
            return None if name in has else closest_names(name, has)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _create(self, call: Call, member: Member, order: str) -> Result:
        asked = body(member, self._config.owner, self._config.type, order)
        name = asked["name"]
        if await call.profile(mark_of(name)):
            return _failed(member, name, REMOVED)
        operation = await call.do("POST", "/1.0/instances", asked)
        if not operation.over:
            # Nobody but us starts it when it is made: it is not enough to look.
            raise RetryableError("LXD is still making it", unknown=True, detail=name)
        instance = await call.settled(name)
        if instance is None:
            return Result(path=member.path, ok=False, error=operation.err or REMOVED, permanent=bool(operation.err))
        if instance.config.get(TOKEN) != member.token or instance.config.get(SPEC) != digest(member.spec):
            return _failed(member, name, "its token was used for another spec")
        if WORDS.get(instance.status, BROKEN) == BROKEN:
            return _failed(member, name, "it was made, and is broken")
        if not never_started(instance):
            # An earlier call made it. Where it does not run, somebody has stopped it since, who meant it.
            pending = "" if WORDS[instance.status] == "Running" else "Running"
            return Result(path=member.path, ok=True, pending=pending, facts={"id": name})
        return _result("create", member, name, await lead(call, name, "create", self._config.grace))

    async def _change(self, call: Call, verb: str, member: Member) -> Result:
        name = await self._pick(call, member)
        if verb == "reboot":
            return _result(verb, member, name, await restart(call, name, self._config.grace))
        if verb == "terminate":
            await self._spend(call, name_of(self._config.owner, member.token))
        return _result(verb, member, name, await lead(call, name, verb, self._config.grace))

    async def _pick(self, call: Call, member: Member) -> str:
        """The name under which it is there; any, if it is not."""
        names = self._names(member)
        for name in names[:-1]:
            if await call.instance(name) is not None:
                return name
        return names[-1]

    async def _spend(self, call: Call, name: str) -> None:
        """See to it that nothing is made under that name again."""
        mark = mark_of(name)
        content = {"name": mark, "description": "removed for good", "config": {OWNER: self._config.owner}}
        try:
            await call.ask("POST", "/1.0/profiles", content)
        except DriverError:
            # It may be there already, which LXD calls an error of its own.
            if not await call.profile(mark):
                raise

    async def _check_project(self, call: Call) -> None:
        """Once: LXD has an empty list for a project that does not exist, and what has instances cannot be removed."""
        if not self._project_seen:
            if not await call.project():
                raise PermanentError(f"LXD has no project {self._project}")
            self._project_seen = True

    def _call(self) -> AbstractAsyncContextManager[Call]:
        return calling(self._client, self._project, self._config.timeout)

    def _name(self, member: Member) -> str:
        return self._names(member)[0]

    def _names(self, member: Member) -> list[str]:
        """The names it may have, the likeliest first."""
        own = name_of(self._config.owner, member.token)
        told = str(member.facts.get("id") or own)
        return list(dict.fromkeys((told, own)))

    def _seen(
        self, call: Call, member: Member, there: Mapping[str, Instance], moves: Mapping[str, Operation]
    ) -> ObservedObject:
        names = self._names(member)
        name = next((name for name in names if name in there or name in moves), None)
        if name is None:
            return ObservedObject(path=member.path, state=word(None, False, call.now, self.longest_call))
        state = word(there.get(name), name in moves, call.now, self.longest_call)
        return ObservedObject(path=member.path, state=state, facts={"id": name})


def _failed(member: Member, name: str, error: str) -> Result:
    return Result(path=member.path, ok=False, facts={"id": name}, error=error)


def _result(verb: str, member: Member, name: str, led: Led) -> Result:
    facts = {"id": name}
    match led.end:
        case "there" | "pending":
            return Result(path=member.path, ok=True, pending=ENDS[verb] if led.end == "pending" else "", facts=facts)
        case "gone" if verb == "terminate":
            return Result(path=member.path, ok=True, facts=facts)
        case "gone":
            return Result(path=member.path, ok=False, error="there is no such instance")
        case "failed":
            return Result(path=member.path, ok=False, facts=facts, error=led.error)
