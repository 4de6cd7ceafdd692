"""`stead` as it is in another version: the first argument says which, the second what is wrong with it."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from typing import Any

import msgspec

import stead
from stead.bus import NoAnswer, bus, codec, endpoints, rpc
from stead.bus.messages import MAJOR, Message, Order

PATCHED = ("stead.agent.session", "stead.agent.site", "stead.agent.handover")
"""Modules that know the version."""


async def nobody(pid: int) -> None:
    """End nobody, but oneself."""
    os._exit(3)


async def for_ever(pid: int) -> None:
    """Never go on."""
    await asyncio.sleep(3600)  # sleep: until the test ends the process


def newer() -> None:
    """Say more than controllers know, everywhere."""

    def more(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: more(inner) for name, inner in value.items()} | {"later": {"word": [1, "two"]}}
        return [more(inner) for inner in value] if isinstance(value, list) else value

    def encode(message: Message) -> bytes:
        told = msgspec.json.decode(codec.encode(message))
        top = {name: [more(v) for v in value] if name in STRUCTS else value for name, value in told.items()}
        return msgspec.json.encode(top | {"v": [MAJOR, 99], "later": {"word": True}})

    for module in (bus, rpc):
        vars(module)["encode"] = encode


STRUCTS = ("results", "objects")
"""Fields whose values are messages' parts, and not what a driver has said."""


def older() -> None:
    """Know nothing of what has come since the first version."""

    class Old(codec.MessageFormat[Any]):
        def decode(self, data: bytes) -> Any:
            told = msgspec.json.decode(data)
            told.pop("report_start", None)
            for member in told.get("members", ()):
                if isinstance(member, dict):
                    member.pop("revision", None)
            return super().decode(msgspec.json.encode(told | {"v": [MAJOR, 0]}))

    ask = endpoints.AgentRequests.__call__

    async def ask_as_before(requests: endpoints.AgentRequests[Any, Any], *rest: Any) -> Any:
        if requests.kind == "site":
            raise NoAnswer("there was no such question")
        return await ask(requests, *rest)

    vars(import_module("stead.agent.session"))["PRESENCE_INTERVAL"] = 1.0  # no controller says how often
    vars(bus)["ORDER"] = Old(Order)
    vars(endpoints)["MessageFormat"] = Old
    type.__setattr__(endpoints.AgentRequests, "__call__", ask_as_before)


WORDS = {"newer": newer, "older": older}


def main() -> None:
    """Be that version, with that fault."""
    version, fault, *arguments = sys.argv[1:]
    stead.__version__ = version
    sys.argv = ["stead", *arguments]
    if fault == "crashes":
        sys.exit("it cannot run here")
    for name in PATCHED:
        vars(import_module(name))["__version__"] = version
    if fault in ("dumb", "sleeps"):  # it is let in, and does not come further
        vars(import_module("stead.agent.handover"))["_end_parent"] = nobody if fault == "dumb" else for_ever
    if fault in WORDS:
        WORDS[fault]()
    import_module("stead.cli.main").app(prog_name="stead")


if __name__ == "__main__":
    main()
