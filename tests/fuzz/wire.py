"""Bad messages to every decoder of the bus, in this process: each is read, or is a `BadMessage`."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from stead.bus.codec import FROM_AGENT, ORDER, PRESENCE, MessageFormat, encode
from stead.bus.errors import BadMessage
from stead.bus.messages import FromAgent, FullState, Hello, Message, Report
from stead.bus.subjects import Subjects, from_token
from stead.controller.observation.listener import words
from tests.bus.test_messages import ALL
from tests.fuzz.memory import Memory
from tests.fuzz.result import Result
from tests.fuzz.spoil import Spoiler

SUBJECTS = Subjects("fuzz")
FORMS: dict[type[Message], MessageFormat[Any]] = {kind: MessageFormat(kind) for kind in Message.__subclasses__()}
COMMON: tuple[MessageFormat[Any], ...] = (ORDER, FROM_AGENT, PRESENCE)
"""Those of the streams, and of what is said to whoever listens."""

VERSIONS: tuple[Any, ...] = ([1, 0], [1, 9], [1, 2**63 - 1], [2, 0], [0, 1], [2**62, 1], [], [1], "1.1", None)


def bad_messages(count: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Result:
    """So many of them; what none of the decoders may do is in the result."""
    spoiler = Spoiler(f"wire {seed}")
    samples = [(type(message), json.loads(encode(message))) for message in ALL]
    known = [name for _, fields in samples for name in fields]
    answers: Counter[str] = Counter()
    failures: list[str] = []
    memory = Memory()
    began = time.monotonic()
    for number in range(count):
        kind, fields = spoiler.random.choice(samples)
        data = spoiled(spoiler, fields, known)
        for form in (FORMS[kind], COMMON[number % 3]):
            try:
                through(form, data)
                answers["read"] += 1
            except BadMessage:
                answers["rejections"] += 1
            except Exception:
                failures.append(f"{kind.__name__} {data[:300]!r}: {traceback.format_exc(limit=-3)}")
        subject = spoiler.text(SUBJECTS.report("edge.site-17"))
        try:
            from_token(SUBJECTS.lane(subject))
        except (ValueError, IndexError) as error:
            if not isinstance(error, ValueError):
                failures.append(f"subject {subject!r}: {error!r}")
        if memory.at(number + 1, count):
            say(f"  {number + 1} messages, {memory.line}")
    return Result("messages", count, seed, dict(answers), failures, memory.samples, time.monotonic() - began)


def spoiled(spoiler: Spoiler, fields: dict[str, Any], known: list[str]) -> bytes:
    """One message that is not quite one."""
    dice = spoiler.random.random()
    if dice < 0.05:
        return json.dumps({**fields, "v": spoiler.random.choice(VERSIONS)}).encode()
    if dice < 0.1:
        return json.dumps({**fields, spoiler.random.choice(known): spoiler.any()}).encode()
    return spoiler.json(fields)


def through(form: MessageFormat[Any], data: bytes) -> None:
    """Read it, and make of it what a controller makes of it before the database is asked."""
    message = form.decode(data)
    assert isinstance(message, Message)
    if isinstance(message, Report):
        words([message])
    if isinstance(message, Report | FullState | Hello):
        where(message)


def where(message: FromAgent) -> str:
    """The subject on which alone it may be said."""
    try:
        return SUBJECTS.hello(message.agent) if isinstance(message, Hello) else SUBJECTS.report(message.lane)
    except ValueError as error:  # as a consumer takes it
        raise BadMessage(str(error)) from error
