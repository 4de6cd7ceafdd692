"""The driver of an operator's own program: whatever it takes to do something to a thing of any kind, it does.

The program is run with one word, and with JSON on its standard input; what it writes to its standard output is read,
and the last line of its standard error is why it failed. It is run again where nobody knows how far it came, so it
has to bear that. Its words:

- the verbs of the lifecycle: `{"order", "kind", "path", "token", "revision", "spec", "facts"}`. It may answer with an
  object of facts, which come back with every later word. With exit code 0 it is done; where it has only begun, it
  answers with `pending` among the facts: what a look will show when it is done. With exit code 75 it is tried again
  later.
- `look`: `[{"kind", "path", "token", "spec", "facts"}, …]`. It answers `[{"token", "state"}, …]` with what the kind's
  states are seen as, or `absent`, `broken` or `moving`, and may say `revision` and `error`.
- `list`: nothing. It answers with all that there is: `[{"token", "path", "state", "kind"}, …]`.

Of what it does not mention in a look there is nothing, and what nobody asked about does no harm: it may answer `look`
as it answers `list`. What is one word (`kind`, `path`, `token`, `order`, `revision`) is in its environment as well,
as `RESOURCE_KIND` and so on.

Of reservations, whose verbs are `start`, `update` and `release`, it is told `hosts` beside the spec, and what it has
done is looked at until a look shows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from typing import Annotated, Any

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
    check_batch,
)
from stead.lifecycle.rows import ABSENT, BROKEN

log = logging.getLogger(__name__)

RESERVATION = "reservation"
ACTIVE = "active"
ENDS = {"start": ACTIVE, "update": ACTIVE, "release": ABSENT}
"""What is done to a reservation, and what a look shows when it is."""
STATES = (ACTIVE, ABSENT, BROKEN, TRANSITIONAL)
"""All that a reservation can be seen as."""
PENDING = "pending"
"""The fact that is none: what a look is to show when it is done."""
MAX_OBSERVED = 100
"""Members in one look."""
RETRY_EXIT_CODE = 75
"""The exit code that says to try again later, as mail programs have it."""
MAX_OUTPUT_BYTES = 2**20
"""Bytes of an answer."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which program, and for what.

    Credentials: none; the program has its own.
    """

    program: str
    """The program, and words that it is always given."""
    kinds: str = RESERVATION
    """The kinds that it knows, with commas between them."""
    provider: str = ""
    """As the lane has it; without meaning here."""
    region: str = ""
    """As the lane has it; without meaning here."""
    timeout: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    """Seconds after which it is killed. What takes longer it begins, and says `moving` of it."""


Ran = tuple[int, bytes, str]
"""How a program ended, what it wrote, and the last line of what it complained of."""


class Sight(Struct, frozen=True):
    """What the program says of one thing."""

    token: str
    state: str
    path: str = ""
    kind: str = ""
    revision: int | None = None
    error: str = ""
    facts: dict[str, Any] = {}


_EACH = msgspec.json.Decoder(list[msgspec.Raw])
_SIGHT = msgspec.json.Decoder(Sight)
_FACTS = msgspec.json.Decoder(dict[str, Any])


def from_config(config: Mapping[str, Any]) -> ProgramDriver:
    """For the registry."""
    try:
        return ProgramDriver(settings.read(Config, config))
    except ValueError as error:
        raise ValueError(f"the configuration of the program is wrong: {error}") from error


class ProgramDriver:
    """Runs the program."""

    def __init__(self, config: Config) -> None:
        self._words = shlex.split(config.program)
        if not self._words:
            raise ValueError("no program is named")
        self._kinds = [kind.strip() for kind in config.kinds.split(",")]
        if not all(self._kinds):
            raise ValueError("kinds: a kind has no name")
        self._timeout = config.timeout

    @property
    def kinds(self) -> frozenset[str]:
        """Those that it was told of, and nothing else."""
        return frozenset(self._kinds)

    @property
    def longest_call(self) -> float:
        """The time after which it is killed."""
        return self._timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """What is done is done for one; a look takes many."""
        if kind not in self._kinds or (kind == RESERVATION and verb not in (PROBE, *ENDS)):
            raise ValueError(f"the driver of programs does not know {verb} of a {kind}")
        return MAX_OBSERVED if verb == PROBE else 1

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """Run it for the one member."""
        if not members:
            return []
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        (member,) = members
        said = {"order": token, "revision": member.revision, **_told(member)}
        code, out, says = await self._run(verb, said, _in_words(said))
        if code != 0:
            why = f"{self._words[0]} {verb}: {says or f'exit code {code}'}"
            return [Result(path=member.path, ok=False, error=why, permanent=code != RETRY_EXIT_CODE)]
        try:
            facts = _FACTS.decode(out) if out.strip() else {}
        except msgspec.MsgspecError as error:
            raise RetryableError("the program's answer makes no sense", unknown=True, detail=repr(error)) from error
        pending = ENDS[verb] if member.kind == RESERVATION else str(facts.pop(PENDING, ""))
        return [Result(path=member.path, ok=True, pending=pending, facts=facts)]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """What it says of each; what it does not mention is not there."""
        if not members:
            return []
        check_batch(self, PROBE, members)
        sights = {sight.token: sight for sight in await self._sights("look", [_told(member) for member in members])}
        return [_seen(member, sights.get(member.token)) for member in members]

    async def inventory(self) -> list[FoundObject]:
        """All that there is."""
        return [
            FoundObject(
                id=sight.token,
                token=sight.token,
                state=sight.state,
                path=sight.path,
                kind=sight.kind or self._kinds[0],
            )
            for sight in self._readable(await self._run("list", None))
            if sight.state != ABSENT
        ]

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Only trying tells."""
        return None

    async def close(self) -> None:
        """Nothing stays open."""

    async def _sights(self, verb: str, said: object) -> list[Sight]:
        return [self._checked(verb, one) for one in self._each(verb, await self._run(verb, said))]

    def _readable(self, ran: Ran) -> list[Sight]:
        """Of a list of all that there is: what makes no sense is left out with a warning."""
        sights: list[Sight] = []
        for one in self._each("list", ran):
            try:
                sights.append(self._checked("list", one))
            except RetryableError as error:
                log.warning("%s (%s)", error, error.detail)
        return sights

    def _each(self, verb: str, ran: Ran) -> list[msgspec.Raw]:
        code, out, says = ran
        if code != 0:
            raise RetryableError(f"{self._words[0]} {verb}: {says or f'exit code {code}'}", unknown=True)
        try:
            return _EACH.decode(out)
        except msgspec.MsgspecError as error:
            raise RetryableError("the program's answer makes no sense", unknown=True, detail=repr(error)) from error

    def _checked(self, verb: str, one: msgspec.Raw) -> Sight:
        try:
            sight = _SIGHT.decode(one)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RetryableError("the program's answer makes no sense", unknown=True, detail=repr(error)) from error
        if (sight.kind or self._kinds[0]) == RESERVATION and sight.state not in STATES:
            raise RetryableError(f"{self._words[0]} {verb}: {sight.state!r} is none of {', '.join(STATES)}")
        return sight

    async def _run(self, verb: str, said: object, beside: Mapping[str, str] | None = None) -> Ran:
        """How it ended, what it wrote, and the last line of what it complained of."""
        with TemporaryFile() as told:  # no pipe: it may end before anybody writes to that, and need not listen
            told.write(msgspec.json.encode(said))
            told.seek(0)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._words,
                    verb,
                    stdin=told,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env={**os.environ, **(beside or {})},
                    start_new_session=True,  # so that all it has begun ends with it, when its time is over
                )
            except OSError as error:
                raise PermanentError(f"{self._words[0]} cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._timeout):
                out, err = await process.communicate()
        except TimeoutError as error:
            raise RetryableError(
                f"{self._words[0]} {verb} took longer than {self._timeout:g} s", unknown=True
            ) from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        lines = err.decode(errors="replace").strip().splitlines()
        return process.returncode or 0, out[:MAX_OUTPUT_BYTES], lines[-1][:500] if lines else ""


def _told(member: Member) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": member.kind, "path": member.path, "token": member.token}
    if member.kind == RESERVATION:
        told["hosts"] = member.spec.get("hosts", [])
    return {**told, "spec": dict(member.spec), "facts": dict(member.facts)}


def _in_words(said: Mapping[str, Any]) -> dict[str, str]:
    """What is one word, for programs that would rather not read JSON."""
    return {f"RESOURCE_{name.upper()}": str(value) for name, value in said.items() if isinstance(value, str | int)}


def _seen(member: Member, sight: Sight | None) -> ObservedObject:
    if sight is None:
        return ObservedObject(path=member.path, state=ABSENT)
    return ObservedObject(
        path=member.path, state=sight.state, revision=sight.revision, error=sight.error, facts=dict(sight.facts)
    )
