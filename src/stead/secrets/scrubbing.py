"""Known secrets are taken out of texts, in whatever form somebody may have brought them in.

A provider's error may repeat the request, a traceback may show what an exception was made of. So whatever a secret
was read as is known here, for as long as the process lives, and what is written passes through `scrub`.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType
from urllib.parse import quote, quote_plus

HIDDEN = "***"
"""What stands where a secret was."""

MIN_SECRET_CHARS = 4
"""Characters below which a value is too common to be looked for: it would blot out half of every text."""

MAX_SECRETS = 1000
"""Values that are known at a time; with more, the oldest are forgotten."""


def forms(value: str) -> Iterator[str]:
    """What a value looks like in headers, addresses and JSON, also in the middle of something encoded."""
    raw = value.encode()
    yield value
    yield from (quote(value, safe=""), quote(value), quote_plus(value), json.dumps(value)[1:-1], repr(value)[1:-1])
    yield raw.hex()
    for before in range(3):
        # Base64 takes three bytes at a time: what comes before decides on the form, and the ends mix with others.
        padded = bytes(before) + raw
        whole = padded[: len(padded) // 3 * 3]
        encoded = base64.b64encode(whole).decode()[4 if before else 0 :]
        if len(encoded) >= 2 * MIN_SECRET_CHARS:
            yield encoded
            yield encoded.replace("+", "-").replace("/", "_")


class KnownSecrets:
    """The secrets that this process has read."""

    def __init__(self) -> None:
        self._values: dict[str, None] = {}
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def remember(self, value: str) -> None:
        """From now on it is taken out."""
        if len(value) < MIN_SECRET_CHARS or value in self._values:
            return
        with self._lock:
            self._values[value] = None
            while len(self._values) > MAX_SECRETS:
                del self._values[next(iter(self._values))]
            # The longest first: a form may be the beginning of another.
            every = sorted({form for known in self._values for form in forms(known)}, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, every)))

    def scrub(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def __bool__(self) -> bool:
        """Whether there is anything to take out."""
        return self._pattern is not None


KNOWN = KnownSecrets()
scrub = KNOWN.scrub


class ScrubbingFormatter(logging.Formatter):
    """Writes lines of the log, tracebacks included, without what is secret."""

    def format(self, record: logging.LogRecord) -> str:
        """As usual, and then scrubbed."""
        return scrub(super().format(record))


def install_hooks() -> None:
    """What the interpreter itself writes when nobody catches an exception is scrubbed, too."""

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        sys.stderr.write(scrub("".join(traceback.format_exception(kind, error, trace))))

    def in_thread(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None and not issubclass(told.exc_type, SystemExit):
            uncaught(told.exc_type, told.exc_value, told.exc_traceback)

    def unraisable(told: sys.UnraisableHookArgs) -> None:
        if told.exc_value is not None:
            uncaught(told.exc_type, told.exc_value, told.exc_traceback)

    sys.excepthook = uncaught
    sys.unraisablehook = unraisable
    threading.excepthook = in_thread
