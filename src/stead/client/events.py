"""Server-sent events, read as they come.

Lines are split at line feeds only: texts inside an event may have other characters that count as line ends elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or, without data, a sign of life that may have moved the place to resume from."""

    id: str = ""
    data: str = ""
    retry: int | None = None
    name: str = ""


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Event]:
    """The events of a stream."""
    rest = b""
    fields: dict[str, str] = {}
    data: list[str] = []
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode()
            if not text:
                retry = fields.get("retry", "")
                wait = int(retry) if retry.isdecimal() else None
                yield Event(fields.get("id", ""), "\n".join(data), wait, fields.get("event", ""))
                fields, data = {}, []
                continue
            name, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name:  # without a name it is a comment
                fields[name] = value
