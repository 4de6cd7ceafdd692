"""A strict EC2 for tests: a real server process, and the hand behind it."""

from __future__ import annotations

import math
import os
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4, uuid5

import httpx
import pytest

from stead.dev.children import Server
from stead.drivers.base import PROBE, Member
from stead.drivers.ec2.calls import Calls
from stead.drivers.ec2.driver import Config, Ec2Driver
from stead.drivers.ec2.wire import client_token

ROOT = Path(__file__).parents[2]
REGION = "eu-central-1"

ACTIONS = {
    "create": "RunInstances",
    "suspend": "StopInstances",
    "resume": "StartInstances",
    "reboot": "RebootInstances",
    "terminate": "TerminateInstances",
    PROBE: "DescribeInstances",
}


class Ec2Cloud(Server):
    """The server. Tests keep apart by account, since any account exists."""

    def __init__(self) -> None:
        super().__init__("ec2")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        settings = [f"PYTHONPATH={path}", "MOTO_EC2_LOAD_DEFAULT_AMIS=false"]
        return ["/usr/bin/env", *settings, sys.executable, "-m", "tests.drivers.strict_ec2", str(self.port)]

    def ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class Ec2World:
    """One account, from behind."""

    def __init__(self, cloud: Ec2Cloud, patch: pytest.MonkeyPatch) -> None:
        self.cloud = cloud
        self.key = f"AKIA{secrets.token_hex(8).upper()}"
        self.client = httpx.AsyncClient(base_url=cloud.url, trust_env=False, verify=False, timeout=60)
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", self.key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, str(cloud.folder / "none"))

        self.behind = Calls(region=REGION, profile="", endpoint_url=cloud.url, timeout=30)
        """Whoever does something behind our backs."""

    async def close(self) -> None:
        await self.heal()
        await self.client.aclose()
        self.behind.close()

    def driver(self, **config: Any) -> Ec2Driver:
        """With much time, for a machine that has other work; what is about time says so."""
        return Ec2Driver(Config(**{"region": REGION, "endpoint_url": self.cloud.url, "timeout": 60, **config}))

    def member(self) -> Member:
        name = secrets.token_hex(4)
        spec = {"image": "ami-12345678", "spec": "t3.micro", "cpu": 2}
        return Member(path=f"/ns/mci/sub/{name}", token=f"token-{name}", spec=spec)

    def launch(self, count: int, **spec: Any) -> list[Member]:
        """Alike members that are planned as one launch."""
        token = uuid4()
        path = f"/ns/mci/sub-{token.hex[:4]}"
        return [
            Member(
                path=f"{path}/{index}",
                token=str(uuid5(token, str(index))),
                spec={
                    **self.other_spec(),
                    "name": f"vm-{index}",
                    **spec,
                    "launch": {"token": str(token), "index": index, "count": count, "path": path},
                },
            )
            for index in range(count)
        ]

    def thing(self, kind: str, **spec: Any) -> Member:
        """Something that VMs share."""
        name = secrets.token_hex(4)
        return Member(path=f"/ns/{kind}-{name}", token=f"token-{name}", spec=spec, kind=kind)

    def other_spec(self) -> Mapping[str, Any]:
        return {"image": "ami-12345678", "spec": "t3.large", "cpu": 2}

    async def made(self, token: str) -> int:
        return len((await self.hand())["launched"].get(client_token(token), []))

    async def calls(self, verb: str) -> int:
        return len(await self.recorded(verb))

    async def stray(self, tags: Mapping[str, str]) -> str:
        said = [{"Key": key, "Value": value} for key, value in marked(tags).items()]
        named = {"ResourceType": "instance", "Tags": said}
        made = await self.do(
            "run_instances", ImageId="ami-12345678", MinCount=1, MaxCount=1, TagSpecifications=[named]
        )
        return str(made["Instances"][0]["InstanceId"])

    async def lose_reply(self, verb: str) -> None:
        await self.fault(verb, do="lose", times=1)

    async def reject(self) -> None:
        await self.fault("*", do="refuse", status=403, code="UnauthorizedOperation")

    async def throttle(self, after: float) -> None:
        await self.fault("*", do="refuse", status=503, code="RequestLimitExceeded", after=math.ceil(after))

    async def silence(self) -> None:
        await self.fault("*", do="drop")

    async def heal(self) -> None:
        await self.hand(faults={}, delay=0, page=0, room=None, picky=False, hidden=False)

    async def fault(self, verb: str, **fault: Any) -> None:
        await self.hand(faults={ACTIONS.get(verb, verb): [fault]})

    async def recorded(self, verb: str) -> list[dict[str, Any]]:
        return [call for call in (await self.hand())["calls"] if call["action"] == ACTIONS.get(verb, verb)]

    async def hand(self, **settings: Any) -> dict[str, Any]:
        answer = await self.client.post(f"/_hand/{self.key}", json=settings)
        hand: dict[str, Any] = answer.raise_for_status().json()
        return hand

    async def do(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call, behind everybody's back."""
        return await self.behind.ask(self.behind.task(), dict[str, Any], operation, **parameters)

    async def things(self, operation: str, field: str) -> list[dict[str, Any]]:
        """Everything of a sort that we have made, by EC2's own list."""
        ours = [{"Name": "tag:stead:owner", "Values": ["stead"]}]
        return await self.behind.list(None, dict[str, Any], operation, field, Filters=ours)

    async def launched(self, member: Member) -> list[str]:
        """Every instance that was ever made by the launch that a member is planned in."""
        instances: list[str] = (await self.hand())["launched"].get(member.spec["launch"]["token"], [])
        return instances


class Planned:
    """The same account; its members come from launches of so many."""

    def __init__(self, world: Ec2World, size: int) -> None:
        self.world, self.size = world, size
        self.left: list[Member] = []
        self.other_spec, self.made, self.calls, self.stray = world.other_spec, world.made, world.calls, world.stray
        self.reject = world.reject
        self.lose_reply, self.throttle, self.silence, self.heal = (
            world.lose_reply,
            world.throttle,
            world.silence,
            world.heal,
        )

    def member(self) -> Member:
        self.left = self.left or self.world.launch(self.size)
        return self.left.pop(0)


def marked(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as EC2 has them."""
    return {"stead:owner": "stead"} | {f"stead:{name}": value for name, value in tags.items()}
