"""The driver of the simulated cloud: for VMs and what they share, or for clusters and the apps in them.

A provider of the name `edge` has sites for regions, and a site has clusters and apps and nothing else. One of the
name `rack` hands hosts over to reservations, and nothing else.

It shows what a driver of a real cloud has to get right: what was made is found by token, an error tells whether the
deed may have been done, and a call ends within its time whatever the other side does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Meta, Struct

from stead.drivers import settings
from stead.drivers.base import (
    PROBE,
    TRANSITIONAL,
    VM,
    FoundObject,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    ThrottledError,
    UnreachableError,
    check_batch,
    closest_names,
)
from stead.drivers.sim import rules
from stead.drivers.sim.wire import (
    BREAKS,
    COLLECTIONS,
    ORDER_HEADER,
    OWNER_TAG,
    PATH_TAG,
    RETRYABLE,
    TOKEN_TAG,
    ActBody,
    Answer,
    Answers,
    Ask,
    CreateBody,
    Instance,
    Offered,
    Page,
    Pick,
    Problem,
)
from stead.lifecycle.rows import ABSENT, BROKEN

WORDS = {
    rules.RUNNING: "Running",
    rules.STOPPED: "Suspended",
    rules.TERMINATED: ABSENT,
    rules.BROKEN: BROKEN,
    **dict.fromkeys(rules.MOVING, TRANSITIONAL),
}
"""The lifecycle's words for the states of an instance."""

AVAILABLE = "Available"
"""The lifecycle's word for what VMs share, where a VM runs."""

READY = "Ready"
"""The lifecycle's word for what is at a site, where a VM runs."""

ACTIVE = "active"
"""The lifecycle's word for hosts that are handed over."""

ENDS = {"create": rules.CREATE.ends} | {name: verb.ends for name, verb in rules.VERBS.items()}
"""The state that each verb is to lead to."""

MACHINES = {verb: verb for verb in ("create", "suspend", "resume", "reboot", "terminate")}
"""What is done to VMs, and the cloud's verb for it."""

SHARED = {"create": "create", "delete": "terminate"}
"""The same of things that VMs share."""

INSTALLED = SHARED | {verb: verb for verb in rules.RESPEC}
"""The same of clusters and apps."""

EDGE = "edge"
"""The provider whose regions are sites."""

SITE = frozenset({"clusterinst", "appinst"})
"""The kinds that a site has, and no other place."""

HANDED = {"start": "restore", "update": "restore", "release": "terminate"}
"""What is done to the hosts of a reservation, and the cloud's verb for it."""

RACK = "rack"
"""The provider whose regions have hosts that are handed over, and nothing else."""

HOSTS = frozenset({"reservation"})
"""The kind that a rack has."""

FAMILIES = {EDGE: SITE, RACK: HOSTS}
"""The kinds that such a provider has; no other has them."""

PLACES = {kind: place for place, kind in COLLECTIONS.items()}
"""Where the cloud has what is of a kind."""

LIMIT = 100
"""Members in one call, of any verb."""

# The call was never sent: nothing can have been done.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the simulated cloud is, and who speaks to it.

    Credentials: none.
    """

    url: str
    """Its address, such as `http://127.0.0.1:7780`."""
    provider: str
    """As the lane has it."""
    region: str
    """As the lane has it."""
    owner: str = "stead"
    """What our instances are tagged with; two who share a provider differ in it."""
    timeout: Annotated[float, Meta(gt=0)] = 10.0
    """Seconds that a call may last."""


def from_config(config: Mapping[str, Any]) -> SimDriver:
    """For the registry."""
    try:
        return SimDriver(settings.read(Config, config))
    except ValueError as error:
        raise ValueError(f"the configuration of the simulated cloud is wrong: {error}") from error


class SimDriver:
    """Speaks to one region of a provider of the simulated cloud."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._path = f"/v1/{quote(config.provider, safe='')}/{quote(config.region, safe='')}"
        self._client = httpx.AsyncClient(
            base_url=config.url,
            timeout=config.timeout,
            limits=httpx.Limits(max_connections=16, keepalive_expiry=15),
            verify=config.url.startswith("https:"),  # reading the certificates takes longer than many a call
            trust_env=False,  # a proxy in the environment is for the world outside
        )

    @property
    def kinds(self) -> frozenset[str]:
        """All that are of such a place."""
        return FAMILIES.get(self._config.provider, frozenset(PLACES) - SITE - HOSTS)

    @property
    def longest_call(self) -> float:
        """The time after which a call is given up."""
        return self._config.timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """The same for all."""
        if kind not in self.kinds or verb not in (PROBE, *verbs_of(kind)):
            raise ValueError(f"the simulated cloud does not know {verb} of a {kind}")
        return LIMIT

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """One call; what it makes is tagged with its owner and its path."""
        if not members:
            return []
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        body: CreateBody | ActBody
        kind = members[0].kind
        path = f"{self._path}/{PLACES[kind]}"
        verb = verbs_of(kind)[verb]
        if verb == "create":
            body = CreateBody([Ask(m.token, dict(m.spec), self._tags(m), m.revision) for m in members])
        else:
            body = ActBody([self._pick(verb, member) for member in members])
            path = f"{path}/{verb}"
        content = msgspec.json.encode(body)
        answers = (await self._call(Answers, "POST", path, content=content, headers={ORDER_HEADER: token})).answers
        if len(answers) != len(members):
            raise RetryableError(
                "the provider's answer makes no sense", unknown=True, detail=f"{len(answers)} answers"
            )
        return [_result(verb, member, answer) for member, answer in zip(members, answers, strict=True)]

    def _tags(self, member: Member) -> dict[str, str]:
        return {OWNER_TAG: self._config.owner, PATH_TAG: member.path}

    def _pick(self, verb: str, member: Member) -> Pick:
        id = member.facts.get("id", "")
        if verb not in rules.RESPEC:
            return Pick(id, member.token)
        return Pick(id, member.token, dict(member.spec), member.revision, self._tags(member))

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """One call, which asks for ids and tokens together: an id that is wrong or lost does no harm."""
        if not members:
            return []
        check_batch(self, PROBE, members)
        ids = [member.facts["id"] for member in members if member.facts.get("id")]
        # One page has them all: a member is found twice at most, by an id that is not its own and by its token.
        params = {"ids": ids, "tokens": [member.token for member in members], "limit": 2 * LIMIT}
        path = f"{self._path}/{PLACES[members[0].kind]}"
        there = (await self._call(Page, "GET", path, params=params)).instances
        by_id = {instance.id: instance for instance in there}
        by_token = {instance.token: instance for instance in there}
        return [_seen(m, by_id.get(m.facts.get("id", "")) or by_token.get(m.token)) for m in members]

    async def inventory(self) -> list[FoundObject]:
        """Page by page. What comes or goes meanwhile may be listed or not; what stays is listed."""
        found: list[FoundObject] = []
        for kind, place in PLACES.items():
            after = "0" if kind in self.kinds else ""
            while after:
                params = {"owner": self._config.owner, "after": after}
                page = await self._call(Page, "GET", f"{self._path}/{place}", params=params)
                found += [_found(kind, instance) for instance in page.instances]
                after = page.next
        return found

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """It says what it has."""
        offered = getattr(await self._call(Offered, "GET", f"{self._path}/offers"), field, [name])
        return None if name in offered else closest_names(name, offered)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _call[T](self, kind: type[T], method: str, path: str, **request: Any) -> T:
        try:
            # The client's own timeouts are for one wait each; a slow trickle would outlast them.
            async with asyncio.timeout(self._config.timeout):
                response = await self._client.request(method, path, **request)
        except _UNSENT as error:
            raise UnreachableError("the provider cannot be reached", detail=repr(error)) from error
        except (httpx.TransportError, TimeoutError) as error:
            raise RetryableError("the provider's answer did not come", unknown=True, detail=repr(error)) from error
        if response.is_success:
            try:
                return msgspec.json.decode(response.content, type=kind)
            except msgspec.MsgspecError as error:
                raise RetryableError(
                    "the provider's answer makes no sense", unknown=True, detail=repr(error)
                ) from error
        raise _error(response)


def _error(response: httpx.Response) -> PermanentError | RetryableError:
    """What an answer that is no success means for whoever made the call."""
    status = response.status_code
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
        message, after = f"{problem.error.code}: {problem.error.message}", problem.retry_after
    except msgspec.MsgspecError:
        message, after = f"the provider answered {status}", None
    if after is None:
        said = response.headers.get("retry-after", "")
        after = float(said) if said.isdecimal() else 1.0
    detail = f"{status} {response.request.method} {response.request.url.path}"
    if status == 429:
        return ThrottledError(message, after=after, detail=detail)
    if status == 503:
        return RetryableError(message, after=after, detail=detail)
    if status >= 500:
        # An error on their side says nothing about how far they had come.
        return RetryableError(message, after=after, unknown=True, detail=detail)
    return PermanentError(message, detail=detail)


def _result(verb: str, member: Member, answer: Answer) -> Result:
    facts = {"id": answer.id} if answer.id else {}
    if answer.error is not None:
        # What is on its way may be ready for the verb when it has arrived.
        again = answer.error.code in RETRYABLE or answer.state in rules.MOVING - rules.TERMINATING
        error = f"{answer.error.code}: {answer.error.message}"
        return Result(path=member.path, ok=False, facts=facts, error=error, permanent=not again)
    if verb == "create" and answer.state in rules.TERMINATING:
        # Its token is spent: whoever removed it meant this very creation.
        return Result(path=member.path, ok=False, facts=facts, error="it was made, and has been removed since")
    if verb in ("create", *rules.RESPEC) and answer.state == rules.BROKEN:
        deed = "made" if verb == "create" else "changed"
        error = ": ".join(filter(None, [f"it was {deed}, and is broken", _said(member.spec)]))
        return Result(path=member.path, ok=False, facts=facts, error=error)
    end = ENDS[verb]
    pending = "" if answer.state in ("", end) else word(member.kind, end)
    return Result(path=member.path, ok=True, pending=pending, facts=facts)


def word(kind: str, state: str) -> str:
    """The lifecycle's word for the state of something of a kind."""
    if state == rules.RUNNING and kind != VM:
        return READY if kind in SITE else ACTIVE if kind in HOSTS else AVAILABLE
    return WORDS.get(state, BROKEN)


def verbs_of(kind: str) -> Mapping[str, str]:
    """What is done to things of a kind, and the cloud's verb for it."""
    if kind in HOSTS:
        return HANDED
    return MACHINES if kind == VM else INSTALLED if kind in SITE else SHARED


def _seen(member: Member, instance: Instance | None) -> ObservedObject:
    if instance is None:
        return ObservedObject(path=member.path, state=ABSENT)
    return ObservedObject(
        path=member.path,
        state=word(member.kind, instance.state),
        facts={"id": instance.id},
        revision=instance.revision if member.kind in SITE | HOSTS else None,
        error=_said(instance.spec) if instance.state == rules.BROKEN else "",
    )


def _said(spec: Mapping[str, Any]) -> str:
    """What something that is broken says of that; nothing, where it was not its spec that broke it."""
    return str(spec.get(BREAKS, ""))


def _found(kind: str, instance: Instance) -> FoundObject:
    return FoundObject(
        id=instance.id,
        token=instance.tags.get(TOKEN_TAG, instance.token),
        state=word(kind, instance.state),
        path=instance.tags.get(PATH_TAG, ""),
        facts={"id": instance.id},
        kind=kind,
    )
