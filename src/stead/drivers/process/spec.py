"""What the specs of clusters and apps say, held to what a machine can do.

Fields that say nothing to this driver are left to others; within what it knows nothing else may stand.
"""

from __future__ import annotations

import hashlib
import re
import signal
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from stead.drivers.base import PermanentError

Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Span = Annotated[float, Meta(gt=0, le=86_400)]
Cores = Annotated[float, Meta(gt=0, le=4096)]
Argument = Annotated[str, Meta(max_length=100_000, pattern="^[^\0]*$")]
Command = Annotated[list[Argument], Meta(min_length=1, max_length=1000)]
Variable = Annotated[str, Meta(pattern="^[^=\0]+$")]

_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)i?B?")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SMALLEST = 2**20
_FILLED = ("command", "env", "health")


class Limits(Struct, frozen=True, kw_only=True):
    """What may be used at most; nothing said is no limit."""

    cpu: Cores | None = None
    """In cores."""
    memory: int | str | None = None
    """In bytes, or with a unit: `64M`."""
    pids: Annotated[int, Meta(ge=1, le=4_000_000)] | None = None
    """Processes and threads."""

    def __post_init__(self) -> None:
        if self.memory is not None and size(self.memory) < _SMALLEST:
            raise ValueError(f"{self.memory} of memory are less than 1M")

    @property
    def bytes(self) -> int | None:
        """Of memory."""
        return None if self.memory is None else size(self.memory)

    @property
    def some(self) -> bool:
        """Whether anything is limited."""
        return not (self.cpu is None and self.memory is None and self.pids is None)


class Cluster(Limits, frozen=True, kw_only=True):
    """The spec of a cluster: what all of its apps may use together, and what they see of the network."""

    net: Literal["host", "own"] = "host"
    """The machine's, or one of its own in which there is nothing but loopback."""


class Http(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that answers with a status below 400."""

    port: Annotated[int, Meta(ge=1, le=65_535)]
    path: Annotated[str, Meta(pattern="^/[!-~]*$")] = "/"
    host: Annotated[str, Meta(pattern="^[!-~]+$")] = "127.0.0.1"


class Tcp(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port that takes connections."""

    port: Annotated[int, Meta(ge=1, le=65_535)]
    host: Annotated[str, Meta(pattern="^[!-~]+$")] = "127.0.0.1"


class Health(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How it is known that an app is well: one of three ways, tried from inside its cluster."""

    command: Command | None = None
    """Well if it ends with 0."""
    http: Http | None = None
    tcp: Tcp | None = None
    every: Span = 10.0
    timeout: Span = 5.0
    """For one try."""
    failures: Annotated[int, Meta(ge=1, le=1000)] = 3
    """So many tries in a row must fail before an app that was well counts as ill."""
    grace: Span = 30.0
    """Time that a new app has to become well."""

    def __post_init__(self) -> None:
        if sum(way is not None for way in (self.command, self.http, self.tcp)) != 1:
            raise ValueError("health names one of command, http and tcp")


class Backoff(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pauses before a restart: each twice as long as the one before."""

    first: Seconds = 0.5
    most: Seconds = 60.0
    tries: Annotated[int, Meta(ge=1, le=1000)] = 5
    """After so many starts in a row of which none came up, an app counts as broken. It is tried further."""


class Stop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an app is asked to end, and how long it may take; then all of it is killed."""

    signal: str = "TERM"
    grace: Seconds = 5.0

    def __post_init__(self) -> None:
        if f"SIG{self.signal}" not in signal.Signals.__members__:
            raise ValueError(f"there is no signal {self.signal}")


class App(Limits, frozen=True, kw_only=True):
    """The spec of an app."""

    command: Command
    env: dict[Variable, Argument] = {}
    health: Health | None = None
    restart: Literal["always", "on-failure", "never"] = "always"
    backoff: Backoff = Backoff()
    stop: Stop = Stop()
    settle: Seconds = 0.5
    """Time for which an app without a health check must live before it counts as up."""
    user: Annotated[int, Meta(ge=0, le=2**31)] | str | None = None
    """The user that it runs as, by number or name, which the operator must have allowed. Nothing said: the
    namespace's own, where the agent is root."""


class Service(Struct, frozen=True, kw_only=True):
    """What the spec of a service says beside that of an app."""

    count: Annotated[int, Meta(ge=0, le=1000)] = 1
    """Of the app's copies."""
    port: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    """Of the first copy; each of the others has the next one."""

    def __post_init__(self) -> None:
        if self.port is not None and self.port + self.count - 1 > 65_535:
            raise ValueError(f"there are no {self.count} ports from {self.port} on")

    def own(self, number: int) -> dict[str, str]:
        """What one copy has for itself, by the names that its environment has for it."""
        own = {"COPY": str(number)}
        return own if self.port is None else {**own, "PORT": str(self.port + number - 1)}


# What a type is made of, msgspec finds out when it is first used, which must not happen in two threads at once.
msgspec.json.Decoder(App)
msgspec.json.Decoder(Cluster)
msgspec.json.Decoder(Service)


def cluster(spec: Mapping[str, Any]) -> Cluster:
    """What a cluster's spec says. Raises `PermanentError` where it makes no sense."""
    return read(Cluster, spec)


def app(spec: Mapping[str, Any]) -> App:
    """What an app's spec says. Raises `PermanentError` where it makes no sense."""
    return read(App, spec)


def service(spec: Mapping[str, Any]) -> Service:
    """What a service's spec says of its copies. Raises `PermanentError` where it makes no sense."""
    return read(Service, spec)


def copy(spec: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The spec of one copy of a service. In command, environment and health `${COPY}` and `${PORT}` are the copy's
    own, and so is a port of 0 that is checked."""
    own = service(spec).own(number)
    one = {name: _filled(said, own) if name in _FILLED else said for name, said in spec.items()}
    if isinstance(health := one.get("health"), Mapping):
        one["health"] = {way: _checked(at, own) for way, at in health.items()}
    return one


def digest(spec: Mapping[str, Any]) -> str:
    """Tells one spec from another."""
    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:32]


def size(said: int | str) -> int:
    """In bytes."""
    match = _SIZE.fullmatch(str(said))
    if match is None:
        raise ValueError(f"{said} is no size; one is 64M")
    return int(match[1]) * _UNITS[match[2]]


def _filled(said: Any, own: Mapping[str, str]) -> Any:
    if isinstance(said, str):
        for name, value in own.items():
            said = said.replace(f"${{{name}}}", value)
        return said
    if isinstance(said, Mapping):
        return {name: _filled(value, own) for name, value in said.items()}
    return [_filled(value, own) for value in said] if isinstance(said, list) else said


def _checked(at: Any, own: Mapping[str, str]) -> Any:
    if isinstance(at, Mapping) and at.get("port") == 0 and "PORT" in own:
        return {**at, "port": int(own["PORT"])}
    return at


def read[T: Struct](kind: type[T], spec: Mapping[str, Any]) -> T:
    """What a spec of that kind says. Raises `PermanentError` where it makes no sense."""
    try:
        return msgspec.convert(dict(spec), kind)
    except ValueError as error:
        raise PermanentError(f"the spec makes no sense: {error}") from error
