"""A simulated cloud for tests: a real server process, and the hand behind it."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from stead.dev.children import Server
from stead.drivers.base import PROBE, Member
from stead.drivers.sim.driver import Config, SimDriver


class SimCloud(Server):
    """The server. Tests keep apart by region, since any region exists; whoever kills it starts their own."""

    def __init__(self, *arguments: str) -> None:
        super().__init__("sim")
        self.arguments = arguments

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        where = ["--port", str(self.port), "--data", str(self.folder / "data")]
        return [sys.executable, "-m", "stead.drivers.sim", *where, *self.arguments]

    def ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class SimWorld:
    """One region of one provider, from behind."""

    def __init__(self, cloud: SimCloud, region: str = "", provider: str = "aws") -> None:
        self.cloud = cloud
        self.provider = provider
        self.region = region or f"region-{secrets.token_hex(4)}"
        self.client = httpx.AsyncClient(base_url=cloud.url, trust_env=False, verify=False, timeout=60)

    async def close(self) -> None:
        await self.heal()
        await self.client.aclose()

    def driver(self, **config: Any) -> SimDriver:
        place = {"url": self.cloud.url, "provider": self.provider, "region": self.region}
        return SimDriver(Config(**{**place, **config}))

    def member(self) -> Member:
        name = secrets.token_hex(4)
        return Member(path=f"/ns/mci/sub/{name}", token=f"token-{name}", spec={"cpu": 2, "image": "any"})

    def other_spec(self) -> Mapping[str, Any]:
        return {"cpu": 4, "image": "any"}

    async def made(self, token: str) -> int:
        return len(await self.history(token))

    async def calls(self, verb: str) -> int:
        names = {"describe", "list"} if verb == PROBE else {verb}
        return len([call for call in await self.recorded() if call["verb"] in names])

    async def stray(self, tags: Mapping[str, str]) -> str:
        (id,) = await self.drift("create", tags={"owner": "stead", "token": "", **tags})
        return id

    async def lose_reply(self, verb: str) -> None:
        await self.fault(kind="lost", verb=verb, times=1)

    async def reject(self) -> None:
        await self.fault(kind="fail", status=403, code="UnauthorizedOperation")

    async def throttle(self, after: float) -> None:
        await self.fault(kind="throttle", retry_after=after)

    async def silence(self) -> None:
        await self.fault(kind="drop")

    async def heal(self) -> None:
        for fault in (await self.get("_faults"))["faults"]:
            if fault.get("region") == self.region:
                await self.client.delete(f"/v1/_faults/{fault['id']}")

    async def fault(self, **fault: Any) -> int:
        """Set a fault in this region, and say its id."""
        place = {"provider": self.provider, "region": self.region}
        return int((await self.post("_faults", {"faults": [place | fault]}))["faults"][0]["id"])

    async def drift(self, do: str, **what: Any) -> list[str]:
        place = {"provider": self.provider, "region": self.region}
        ids: list[str] = (await self.post("_drift", place | {"do": do} | what))["ids"]
        return ids

    async def recorded(self) -> list[dict[str, Any]]:
        """Every call to this region."""
        calls: list[dict[str, Any]] = []
        page = await self.get("_calls")
        while page["calls"]:
            calls += page["calls"]
            page = await self.get(f"_calls?since={page['last']}")
        return [call for call in calls if (call["provider"], call["region"]) == (self.provider, self.region)]

    async def history(self, token: str) -> list[dict[str, Any]]:
        """Every instance of a token, anywhere, with what happened to it."""
        instances: list[dict[str, Any]] = (await self.get(f"_ledger/instances?token={token}"))["instances"]
        return instances

    async def get(self, what: str) -> Any:
        return (await self.client.get(f"/v1/{what}")).raise_for_status().json()

    async def post(self, what: str, body: object) -> Any:
        return (await self.client.post(f"/v1/{what}", json=body)).raise_for_status().json()
