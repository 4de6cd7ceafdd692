"""The streams of a cell, and how one knows that they are still the same ones.

A stream carries and never keeps: what is in it can be lost with its disk, and PostgreSQL knows all of it. But
somebody has to notice. So each stream gets an id of its own when it is made, kept in its metadata; a different id is
a different stream, which knows nothing of what was published before.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from typing import NamedTuple, TypedDict

from nats.errors import Error as NatsError
from nats.js.api import ClusterInfo, DiscardPolicy, RetentionPolicy, StorageType, StreamConfig, StreamInfo
from nats.js.errors import BadRequestError, NotFoundError, ServerError
from nats.js.manager import JetStreamManager

from stead.bus.errors import WrongStream, translated
from stead.bus.subjects import Subjects, from_token

ID = "stead.id"

DEDUP_WINDOW = 120.0
"""Seconds in which a message with an id that was seen already is not stored again."""

MAX_CREATE_SECONDS = 15.0
"""What the server may take to find or create a stream; its disk, or the machine, may be busy."""

MAX_CONSUMERS = 1_000_000
"""There is one for every lane. A stream without a limit of its own gets the server's, which may be a thousand."""

MAX_REPORTS = 50_000
"""Messages of one lane, or of one agent, that wait to be heard. Whoever says more has to wait, and nobody else."""

_REPORTS = re.compile(r"STEAD-(.+)-REPORTS")

REQUIRED_SETTINGS = (
    "subjects",
    "retention",
    "storage",
    "max_consumers",
    "max_msgs_per_subject",
    "duplicate_window",
    "discard",
    "discard_new_per_subject",
)
"""The settings that must be exactly so. Of replicas there may be more."""

NAME_IN_USE = 10058
"""The server's code for: it exists, and is not configured so."""


class StreamIdentity(NamedTuple):
    """Which streams these are, those of orders in one word.

    A controller that meets another identity begins a new bus epoch."""

    orders: str
    reports: str


async def ensure(manager: JetStreamManager, subjects: Subjects, replicas: int = 1) -> StreamIdentity:
    """Make the streams of a cell where they are missing; say which ones they are.

    Any number of controllers may do so at once: one of them makes a stream, the others find it.
    """
    wanted = {name: [subject] for name, subject in subjects.orders_streams.items()}
    made = [_ensure(manager, name, taken, replicas) for name, taken in wanted.items()]
    made.append(_ensure(manager, subjects.reports_stream, subjects.all_reports, replicas, MAX_REPORTS))
    *orders, reports = await asyncio.gather(*made)
    return StreamIdentity(hashlib.sha256(" ".join(orders).encode()).hexdigest()[:16], reports)


class StreamHealth(TypedDict):
    """How the streams of a cell are."""

    streams: int
    missing: list[str]
    messages: int
    used: int
    """Bytes."""
    most: int
    """Bytes that there may be in all; 0 where nobody says."""
    leaderless: list[str]
    """Streams and consumers that cannot go on, since no majority of the nodes with a copy of them is there."""


async def read_health(manager: JetStreamManager, subjects: Subjects) -> StreamHealth:
    """Look at the streams, and make none."""
    wanted = [*subjects.orders_streams, subjects.reports_stream]
    found: list[StreamInfo] = []
    missing: list[str] = []
    leaderless: list[str] = []
    with translated("streams"):
        for name, answer in zip(wanted, await asyncio.gather(*(_look(manager, n) for n in wanted)), strict=True):
            if isinstance(answer, NotFoundError):
                missing.append(name)
            elif isinstance(answer, NatsError):  # without a majority no node answers, or says that it cannot
                leaderless.append(name)
            else:
                found.append(answer)
                leaderless += await _leaderless(manager, answer)
        try:
            most = max((await manager.account_info()).limits.max_storage, 0)
        except (NatsError, TimeoutError):  # an account that may use streams may not always ask for that
            most = 0
    messages, used = sum(one.state.messages for one in found), sum(one.state.bytes for one in found)
    return StreamHealth(
        streams=len(found), missing=missing, messages=messages, used=used, most=most, leaderless=leaderless
    )


async def _look(manager: JetStreamManager, name: str) -> StreamInfo | NatsError:
    try:
        return await manager.stream_info(name)
    except NatsError as error:
        return error


def _is_leaderless(cluster: ClusterInfo | None) -> bool:
    """Whether no node leads, or the leader does not reach a majority any more; a single node has no cluster."""
    if cluster is None or not cluster.name:
        return False
    others = cluster.replicas or []
    there = 1 + sum(not one.offline for one in others)
    return not cluster.leader or 2 * there <= 1 + len(others)


async def _leaderless(manager: JetStreamManager, stream: StreamInfo) -> list[str]:
    """A stream without a leader, or its consumers without one: of those, the first page that the server sends.

    Consumers are many. They are listed only where there are copies of them on other nodes, and messages that wait.
    """
    name = str(stream.config.name)
    if _is_leaderless(stream.cluster):
        return [name]
    if (stream.config.num_replicas or 1) == 1 or not stream.state.messages:
        return []
    try:
        found = await manager.consumers_info(name)
    except NatsError:
        return [name]
    return [f"{name}/{one.name}" for one in found if _is_leaderless(one.cluster)]


async def _ensure(
    manager: JetStreamManager, name: str, subjects: list[str], replicas: int, each: int | None = None
) -> str:
    """With `each`, a subject has room for so many messages."""
    wanted = StreamConfig(
        name=name,
        subjects=subjects,
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        max_consumers=MAX_CONSUMERS,
        duplicate_window=DEDUP_WINDOW,
        num_replicas=replicas,
        max_msgs_per_subject=-1 if each is None else each,
        discard=DiscardPolicy.OLD if each is None else DiscardPolicy.NEW,
        discard_new_per_subject=each is not None,
    )
    with translated(f"stream {name}"):
        try:
            info = await manager.stream_info(name)
        except NotFoundError:
            info = await _create(manager, wanted)
        if _differs(info.config, wanted):
            info = await _update(manager, info, wanted)
        return _identity(info)


async def _create(manager: JetStreamManager, wanted: StreamConfig) -> StreamInfo:
    try:
        return await manager.add_stream(wanted.evolve(metadata={ID: secrets.token_hex(8)}))
    except BadRequestError as error:
        if error.err_code != NAME_IN_USE:
            raise
        assert wanted.name is not None
        return await manager.stream_info(wanted.name)  # somebody else was faster


async def _update(manager: JetStreamManager, info: StreamInfo, wanted: StreamConfig) -> StreamInfo:
    """Change what the bus needs; what somebody else has set beside it stays, and so does the id."""
    changes = {field: getattr(wanted, field) for field in REQUIRED_SETTINGS}
    replicas = max(info.config.num_replicas or 1, wanted.num_replicas or 1)
    try:
        return await manager.update_stream(info.config.evolve(**changes, num_replicas=replicas))
    except (BadRequestError, ServerError) as error:
        raise WrongStream(f"the stream {wanted.name} is not as the bus needs it: {error.description}") from error


def _differs(found: StreamConfig, wanted: StreamConfig) -> bool:
    if any(getattr(found, field) != getattr(wanted, field) for field in REQUIRED_SETTINGS):
        return True
    return (found.num_replicas or 1) < (wanted.num_replicas or 1)


def _identity(info: StreamInfo) -> str:
    """The id given at creation; for a stream that somebody made by hand, the moment they did."""
    return (info.config.metadata or {}).get(ID) or f"made {info.created}"


async def cells(manager: JetStreamManager) -> list[str]:
    """The cells that have streams on a bus, by name."""
    names: list[str] = []
    with translated("list streams"):
        while page := await manager.streams_info(offset=len(names)):  # the server answers with at most 256 at once
            names += [info.config.name or "" for info in page]
    return sorted(from_token(found[1]) for name in names if (found := _REPORTS.fullmatch(name)))
