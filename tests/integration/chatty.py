"""The command `stead` with one more driver, `chatty`, which says its secret wherever a driver can say anything."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from stead.cli.main import app
from stead.drivers import registry
from stead.drivers.base import VM, FoundObject, Member, ObservedObject, PermanentError, Result
from stead.drivers.settings import read
from stead.secrets import NO_SECRET, Secret


class Config(Struct, frozen=True, kw_only=True):
    provider: str
    region: str
    token: Secret = NO_SECRET
    crash: str = ""
    """Once this file is there, the agent crashes when it starts."""


class Chatty:
    kinds = frozenset({VM})
    longest_call = 5.0

    def __init__(self, config: Config) -> None:
        self.config = config
        token = config.token.reveal()
        self.said = f"{token} {base64.b64encode(f'u:{token}'.encode()).decode()}"
        if config.crash and Path(config.crash).exists():
            raise RuntimeError(f"the end, with {self.said}") from KeyError(self.said)

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        return 100

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        name = members[0].path.rpartition("/")[2]
        if name == "raises":
            raise RuntimeError(f"a bug, asked with {self.said}") from ValueError(self.said)
        if name == "refuses":
            raise PermanentError(f"no, for {self.said}", detail=self.said)
        facts = {"id": "i", "said": self.said}
        return [Result(path=m.path, ok=name == "works", facts=facts, error=f"no: {self.said}") for m in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        return [ObservedObject(path=m.path, state="Running", facts={"said": self.said}) for m in members]

    async def inventory(self) -> list[FoundObject]:
        return []

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        return None

    async def close(self) -> None: ...


def from_config(config: Mapping[str, Any]) -> Chatty:
    return Chatty(read(Config, config))


if __name__ == "__main__":
    registry.register("chatty", from_config)
    app()
