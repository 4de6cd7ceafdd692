"""One project of a real OpenStack, from behind, with a user who may do what every member of a project may."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from stead.drivers.base import Member
from stead.drivers.openstack.driver import OpenStackDriver
from stead.drivers.openstack.settings import Config
from stead.drivers.settings import read
from tests.heavy.openstack.cloud import OpenStack
from tests.heavy.openstack.proxy import Proxy, saying, with_verb
from tests.heavy.openstack.settings import PASSWORD, REGION

NAMED = "STEAD_TEST_OPENSTACK"
"""The variable that the password is named by."""

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6r8l4YV0kD7lZlqyoU1lOqY2fXzQmHk3c2l8m8qk3F somebody"


class OpenStackWorld:
    """A project of one's own, where nothing is."""

    def __init__(self, cloud: OpenStack, proxy: Proxy) -> None:
        self.cloud = cloud
        self.proxy = proxy
        self.name = f"p{secrets.token_hex(4)}"
        ask = cloud.admin("identity", "/v3")
        self.project = ask("POST", "/projects", project={"name": self.name, "domain_id": "default"})["project"]["id"]
        user = {"name": self.name, "password": PASSWORD, "domain_id": "default"}
        self.user = ask("POST", "/users", user=user)["user"]["id"]
        roles = {role["name"]: role["id"] for role in ask("GET", "/roles")["roles"]}
        ask("PUT", f"/projects/{self.project}/users/{self.user}/roles/{roles['member']}")
        self.began = len(proxy.seen)
        self.throttled = 0

    def config(self, **config: Any) -> dict[str, Any]:
        keystone = f"http://127.0.0.1:{self.proxy.fronts['identity']}/v3"
        os.environ[NAMED] = PASSWORD
        who = {"username": self.name, "password": f"env:{NAMED}", "project_name": self.name, "timeout": 30}
        return {"provider": "lab", "region": REGION, "auth_url": keystone, **who, **config}

    def driver(self, **config: Any) -> OpenStackDriver:
        return OpenStackDriver(read(Config, self.config(**config)))

    def member(self, kind: str = "vm", **spec: Any) -> Member:
        name = secrets.token_hex(4)
        usual = {"image": "tiny", "spec": "m1.nano", "network": "none", "colour": "any"} if kind == "vm" else {}
        return Member(path=f"/ns/mci/sub/{name}", token=f"token-{name}", spec={**usual, **spec}, kind=kind)

    def other_spec(self) -> Mapping[str, Any]:
        return {"image": "tiny", "spec": "m1.micro", "network": "none"}

    async def made(self, token: str) -> int:
        """By what Nova's databases have, removed or not, scheduled or not."""
        ours = f"`key` = 'stead-token' and value = '{token}'"
        there = [
            f"select instance_uuid as id from {cell}.instance_metadata where {ours}"
            for cell in ("nova", "nova_cell0")
        ]
        there.append(f"select instance_uuid from nova_api.build_requests where instance like '%\"{token}\"%'")
        count = f"select count(distinct id) from ({' union '.join(there)}) as made"
        return int(await asyncio.to_thread(self.cloud.sql, count))

    async def calls(self, verb: str) -> int:
        """Of a call that is throttled, its first request alone is seen, which reads the server."""
        return sum(request.verb == verb for request in self.proxy.seen[self.began :]) + self.throttled

    async def stray(self, tags: Mapping[str, str]) -> str:
        driver = self.driver()
        try:
            (made,) = await driver.perform("create", [self.member()], "order-stray")
        finally:
            await driver.close()
        where = f"/servers/{made.facts['id']}"
        async with asyncio.timeout(60):  # what is being built takes no metadata
            while (await asyncio.to_thread(self.nova, "GET", where))["server"]["status"] == "BUILD":
                await asyncio.sleep(0.2)
        # Nova's tables have no characters beyond the first plane, and no longer values.
        fit = {name: "".join(c for c in value if c <= "\uffff")[:255] for name, value in tags.items()}
        said = {"stead-owner": "stead"} | {f"stead-{name}": value for name, value in fit.items()}
        await asyncio.to_thread(self.nova, "PUT", f"{where}/metadata", metadata=said)
        return str(made.facts["id"])

    async def lose_reply(self, verb: str) -> None:
        self.proxy.lost.append(with_verb(verb))

    async def reject(self) -> None:
        self.proxy.instead = lambda _: saying("403 Forbidden", "Content-Length: 0")

    async def throttle(self, after: float) -> None:
        def too_many(_: object) -> bytes:
            self.throttled += 1
            return saying("429 Too Many Requests", f"Retry-After: {after}")

        self.proxy.instead = too_many

    async def silence(self) -> None:
        self.proxy.instead = lambda _: b""

    async def heal(self) -> None:
        self.proxy.heal()

    @cached_property
    def nova(self) -> Any:
        return self.cloud.admin("compute", "/v2.1")

    @cached_property
    def neutron(self) -> Any:
        return self.cloud.admin("network", "/v2.0")

    @cached_property
    def glance(self) -> Any:
        return self.cloud.admin("image", "/v2")

    async def server(self, member: Member) -> dict[str, Any]:
        """What Nova has of it."""
        said = await asyncio.to_thread(self.nova, "GET", f"/servers/{member.facts['id']}")
        return dict(said["server"])

    async def act(self, member: Member, action: str, how: Any = None) -> None:
        """Do something to it behind everybody's back."""
        await asyncio.to_thread(self.nova, "POST", f"/servers/{member.facts['id']}/action", **{action: how})

    async def locks(self) -> list[dict[str, Any]]:
        """The locks that users can still see."""
        images = await asyncio.to_thread(self.glance, "GET", f"/images?owner={self.project}&limit=1000")
        return list(images["images"])

    async def quota(self, **limits: int) -> None:
        await asyncio.to_thread(self.nova, "PUT", f"/os-quota-sets/{self.project}", quota_set=limits)

    def empty(self) -> None:
        """Remove its servers. The rest is little, and goes with the cloud."""
        left = f"select uuid from nova.instances where deleted = 0 and project_id = '{self.project}'"
        for server in self.cloud.sql(left).split():
            with suppress(RuntimeError):  # it may be going already
                self.nova("DELETE", f"/servers/{server}")
