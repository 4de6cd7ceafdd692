"""Bad requests, as bytes: what is wrong may be a value, a header, the path, the framing, or all of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.fuzz.samples import Asked
from tests.fuzz.spoil import TEXTS, Spoiler, deep

PATIENCE = 60.0
"""Seconds for an answer. Whoever says half of a request gets none, and is cut off before."""

TYPES = (
    *("text/plain", "application/xml", "application/json; charset=utf-16", "multipart/form-data", "", "x"),
    *("application/x-www-form-urlencoded", "application/json\t", "application/problem+json", "a" * 3000),
)
NAMES = (
    "If-Match",
    "Idempotency-Key",
    "X-Request-Id",
    "Accept",
    "Cookie",
    "Origin",
    "Host",
    "Last-Event-ID",
    "Range",
)
ASKED = (
    *("cursor", "limit", "path", "action", "kind", "below", "since", "until", "state", "wait", "dry_run", "after"),
    *("from", "to", "refresh", "option", "lately"),
)
"""Parameters that some address has."""
PIECES = ("%00", "..", "%2e%2e", "%2f", "%ff", "%ed%a0%80", "%", "%zz", ".", "", "%0d%0a", "a" * 5000, "%F0%9F%98%80")


@dataclass(frozen=True)
class Sent:
    """What goes over the connection."""

    data: bytes
    whole: bool
    """It is a request that HTTP knows: there has to be an answer."""
    about: str


class Asking:
    """Makes them."""

    def __init__(self, spoiler: Spoiler, samples: Sequence[Sequence[Asked]], tokens: Sequence[str]) -> None:
        self.spoiler = spoiler
        self.samples = samples
        self.tokens = tokens

    def next(self) -> Sent:
        spoiler, choose = self.spoiler, self.spoiler.random.choice
        asked = choose(choose(self.samples))
        target, body, headers = asked.target, asked.body, dict(asked.headers)
        for _ in range(choose((1, 1, 2))):
            match choose(("body", "body", "body", "path", "query", "query", "type", "header", "nothing")):
                case "body":
                    body = self._body(body)
                    headers.setdefault("Content-Type", "application/json")
                case "path":
                    target = self._path(asked)
                case "query":
                    target = self._query(asked)
                case "type":
                    headers["Content-Type"] = choose(TYPES)
                case "header":
                    headers[choose(NAMES)] = self._header()
        token = choose(self.tokens)
        if token:
            headers["Authorization"] = f"Bearer {token}" if spoiler.chance(0.95) else self._header()
        return self._framed(asked.method, target, headers, body)

    def _body(self, body: bytes) -> bytes:
        spoiler = self.spoiler
        if spoiler.chance(0.03):
            return spoiler.random.choice(
                (deep().encode(), deep(60).encode(), b"[" * 100_000, b"1" * 5000, b"\xff\xfe")
            )
        try:
            value: Any = json.loads(body) if body else {}
        except (ValueError, RecursionError):
            return spoiler.data(body)
        return spoiler.json(value)

    def _path(self, asked: Asked) -> str:
        parts = asked.path.split("/")
        at = self.spoiler.random.randrange(1, len(parts))
        if self.spoiler.chance(0.5):
            parts[at] = self.spoiler.random.choice(PIECES)
        else:
            parts[at] = quoted(self.spoiler.text(parts[at]))
        return "/".join(parts)[:20_000]

    def _query(self, asked: Asked) -> str:
        said = dict(pair.partition("=")[::2] for pair in asked.query.split("&") if pair)
        name = self.spoiler.random.choice([*said, *ASKED])
        said[name] = quoted(
            str(self.spoiler.any() if self.spoiler.chance(0.7) else self.spoiler.text(said.get(name, "")))
        )
        return f"{asked.path}?{'&'.join(f'{key}={value}' for key, value in said.items())}"[:40_000]

    def _header(self) -> str:
        text = str(self.spoiler.random.choice(TEXTS)) if self.spoiler.chance(0.8) else "x" * 30_000
        return "".join(letter for letter in text if letter not in "\r\n\0")

    def _framed(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Sent:
        """As bytes; sometimes not as HTTP wants it."""
        spoiler = self.spoiler
        chunked = bool(body) and spoiler.chance(0.1)
        headers.setdefault("Host", "127.0.0.1")
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if chunked:
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        else:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", errors="replace")
        about = f"{method} {target[:300]} {body[:300]!r}"
        if spoiler.chance(0.08):
            return Sent(spoiler.data(head) + body, False, f"raw {about}")
        if chunked and spoiler.chance(0.5):
            return Sent(head + spoiler.data(body), False, f"chunks {about}")
        if body and spoiler.chance(0.01):
            return Sent(head + body[:-1], False, f"cut off {about}")
        return Sent(head + body, True, about)


def quoted(text: str) -> str:
    """As a part of an address."""
    return quote_from_bytes(text.encode(errors="surrogatepass"), safe="")


async def send(port: int, sent: Sent) -> tuple[str, bytes]:
    """The status that was answered, and the body; `none` where the connection was just closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError):
                writer.write(sent.data)
                await writer.drain()
                if not sent.whole and writer.can_write_eof():
                    writer.write_eof()
            head, body = b"", b""
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"text/event-stream" not in head and b" 204 " not in head[:14]:
                    body = await reader.read(1_000_000)
    except TimeoutError:
        return "silence", b""
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    words = head.split(b" ", 2)
    return (words[1].decode(errors="replace") if len(words) > 1 else "none"), body


__all__ = ["Asking", "Sent", "quote", "send"]
