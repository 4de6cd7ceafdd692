"""Makes bad input of good: one seed, one sequence of it.

Blind noise is refused at the first byte and tries nothing behind it. So most of what is made here is nearly right:
one or a few places of something valid are wrong.
"""

from __future__ import annotations

import json
import math
import string
from random import Random
from typing import Any

DEEP = 2000
"""Levels of what is nested too deeply: more than a thousand, which is where Python gives up."""

NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30),
    *(0.5, -0.0, 1e-320, 1e16, 1e308, math.nan, math.inf, -math.inf),
)
TEXTS = (
    *("", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "\ufeff", "\u202e", "\u2028", "\x1b[2J", "\r\n", "\n", "\x7f"),
    *("/", "//", "/..", "/../../etc/passwd", ".", "..", "%00", "%2e%2e%2f", "a/b", "/a/./b", "~", "*", ">", "a.*.b"),
    *("null", "NaN", "true", "-1", "1e999", "0x10", "9" * 400, "1" + "0" * 5000, "٣", "¼", "²"),
    *("{{7*7}}", "${x}", "';--", '"', "\\", "<script>", "%s%n", "$.a", "&a *a", "!!python/object:os.system", "---"),
    *("2001-99-99", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2030-01-31T12:00:00", "now", "24:61"),
    *("A" * 300, "a" * 70_000, "é" * 5000, "😀" * 200, "Z" * 129),
)
BYTES = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\0",
    b"\xfe\xff",
    b"\r\n\r\n",
    b"[" * 50,
    b'{"a":',
    b"\\u0000",
    b'"',
)


def deep(levels: int = DEEP) -> str:
    """JSON that goes down and down."""
    return "[" * levels + "]" * levels


class Spoiler:
    """A source of bad input."""

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def any(self) -> Any:
        """A value that nobody expects."""
        dice = self.random.random()
        if dice < 0.4:
            return self.random.choice(NUMBERS)
        if dice < 0.8:
            return self.random.choice(TEXTS)
        return self.random.choice(
            (None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": [1]}}, ["a"] * 1000)
        )

    def value(self, value: Any, times: int = 1) -> Any:
        """A copy of a value of JSON with something in it that is wrong."""
        for _ in range(times):
            value = self._once(value)
        return value

    def _once(self, value: Any) -> Any:
        whole = isinstance(value, dict | list)
        if not whole or not value or self.chance(0.15):
            return self._instead(value)
        if isinstance(value, list):
            at = self.random.randrange(len(value))
            return self._within(value, at, [*value[:at], *value[at + 1 :]])
        key = self.random.choice(list(value))
        rest = {name: one for name, one in value.items() if name != key}
        if self.chance(0.1):
            return {**rest, self.text(str(key)): value[key]}
        return self._within(value, key, rest)

    def _within(self, value: Any, at: Any, rest: Any) -> Any:
        dice = self.random.random()
        if dice < 0.12:
            return rest
        if dice < 0.2 and isinstance(value, list):
            return value + [value[at]] * self.random.choice((1, 2, 50))
        if dice < 0.2:
            return {**value, self.random.choice(TEXTS): self.any()}
        copy = dict(value) if isinstance(value, dict) else list(value)
        copy[at] = self._once(value[at])
        return copy

    def _instead(self, value: Any) -> Any:
        dice = self.random.random()
        if isinstance(value, str) and dice < 0.4:
            return self.text(value)
        if isinstance(value, int | float) and dice < 0.4:
            return self.random.choice((-value, value + 1, value * 10**12, str(value), [value], value + 0.5))
        if dice < 0.5:
            return [value] if self.chance(0.5) else {"a": value}
        return self.any()

    def text(self, text: str) -> str:
        """A text that is nearly the same."""
        dice = self.random.random()
        if not text or dice < 0.3:
            return str(self.random.choice(TEXTS))
        at = self.random.randrange(len(text))
        if dice < 0.5:
            return text[:at] + str(self.random.choice(TEXTS))[:100] + text[at:]
        if dice < 0.65:
            return text[:at]
        if dice < 0.8:
            return text[:at] + self.random.choice(string.printable) + text[at + 1 :]
        if dice < 0.9:
            return text[at:] + text[:at]
        return text * self.random.choice((2, 3, 40))

    def data(self, data: bytes) -> bytes:
        """Bytes that are nearly the same."""
        dice = self.random.random()
        if not data:
            return self.random.choice(BYTES)
        at = self.random.randrange(len(data))
        if dice < 0.3:
            return data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1 :]
        if dice < 0.5:
            return data[:at]
        if dice < 0.75:
            return data[:at] + self.random.choice(BYTES) + data[at:]
        if dice < 0.85:
            return data[:at] + data[at + self.random.randrange(1, 20) :]
        if dice < 0.95:
            return data[:at] + data[self.random.randrange(len(data)) :]
        return self.random.randbytes(self.random.randrange(1, 200))

    def json(self, value: Any) -> bytes:
        """A document of JSON: the value spoiled, or what is written of it, or both."""
        dice = self.random.random()
        if dice < 0.01:
            return json.dumps(value).encode().replace(b'""', deep().encode(), 1)
        if dice < 0.03:
            word = deep() if self.chance(0.5) else "1" + "0" * 5000
            return json.dumps(self._marked(value)).encode().replace(b'"\\u0001"', word.encode())
        if dice < 0.75:
            spoiled = self.value(value, self.random.choice((1, 1, 1, 2, 5)))
            return written(spoiled, ascii=self.chance(0.5))
        return self.data(json.dumps(value).encode())

    def _marked(self, value: Any) -> Any:
        """The same with a mark at one place."""
        if isinstance(value, dict) and value:
            key = self.random.choice(list(value))
            return {**value, key: self._marked(value[key])}
        if isinstance(value, list) and value:
            at = self.random.randrange(len(value))
            return [*value[:at], self._marked(value[at]), *value[at + 1 :]]
        return "\1"


def written(value: Any, *, ascii: bool = True) -> bytes:
    """JSON, and what is none: NaN, and halves of characters."""
    return json.dumps(value, ensure_ascii=ascii).encode(errors="surrogatepass")
