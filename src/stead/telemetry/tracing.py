"""Traces of requests, through all processes that have a part in them, where somebody collects traces.

Nobody does unless `OTEL_EXPORTER_OTLP_ENDPOINT` says where. Then, and only then, OpenTelemetry is loaded; otherwise a
span is nothing and costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Span(Protocol):
    """Something that takes time."""

    @property
    def traceparent(self) -> str:
        """How another process names it; empty where nobody collects traces."""

    def rename(self, name: str) -> None:
        """Say what it is, where that shows only later."""

    def fail(self, why: str) -> None:
        """It did not go well."""


class Tracer(Protocol):
    """Begins spans."""

    def begin(self, name: str, parent: str, since: float, attributes: dict[str, str]) -> tuple[Span, Any]:
        """A span, and what ends it."""

    def end(self, held: Any) -> None:
        """End it."""

    def current(self) -> str:
        """How another process names the one that this task is in."""


class _NoSpan:
    traceparent = ""

    def rename(self, name: str) -> None:
        """There is none."""

    def fail(self, why: str) -> None:
        """There is none."""


_NO_SPAN = _NoSpan()
_tracer: Tracer | None = None


def begin(part: str) -> None:
    """Collect traces from now on, if somebody wants them."""
    global _tracer  # noqa: PLW0603 - as there is one log, there is one collector of traces
    if any(os.environ.get(name) for name in ENDPOINTS):
        _tracer = import_module("stead.telemetry.otlp").Otlp(part)


def on() -> bool:
    """Whether anybody collects traces."""
    return _tracer is not None


def current() -> str:
    """How another process names what is being done here; empty where nobody collects traces."""
    return _tracer.current() if _tracer is not None else ""


@contextmanager
def span(name: str, parent: str = "", since: float = 0.0, **attributes: str) -> Iterator[Span]:
    """Something that takes time: part of what this task does, or of what another process does, the `parent`.

    It began before, where it is `since` a time.
    """
    if _tracer is None:
        yield _NO_SPAN
        return
    found, held = _tracer.begin(name, parent, since or time.time(), attributes)
    try:
        yield found
    except BaseException as error:
        found.fail(f"{type(error).__name__}: {error}")
        raise
    finally:
        _tracer.end(held)
