"""What a piece of work is about, known to every line of the log that is written on the way.

The words go with the task: whoever writes a line need not know for whose request it does what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_words: ContextVar[dict[str, str] | None] = ContextVar("words", default=None)


@dataclass(frozen=True, slots=True)
class TraceContext:
    """What leads from a piece of work back to the request that it is done for."""

    request_id: str = ""
    traceparent: str = ""

    def record(self) -> dict[str, str]:
        """As it is kept; nothing, where there was no request."""
        said = {"request_id": self.request_id, "traceparent": self.traceparent}
        return {name: word for name, word in said.items() if word}


@contextmanager
def log_context(**words: str) -> Iterator[None]:
    """What is done meanwhile is about this; words that are empty say nothing."""
    token = _words.set({**(_words.get() or {}), **{name: word for name, word in words.items() if word}})
    try:
        yield
    finally:
        _words.reset(token)


def add_context(**words: str) -> None:
    """Say more of what is being done; whoever has begun it knows it then, too."""
    there = _words.get()
    if there is not None:
        there.update({name: word for name, word in words.items() if word})


def current_context() -> Mapping[str, str]:
    """What is known of what is being done here."""
    return _words.get() or {}
