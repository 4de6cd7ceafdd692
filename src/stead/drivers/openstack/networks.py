"""Networks, each with a subnet and, where the spec names an external network, with a router to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from stead.drivers.base import FoundObject, Member, ObservedObject, PermanentError, Result
from stead.drivers.openstack import neutron
from stead.drivers.openstack.calls import NETWORK, Calls, Task
from stead.drivers.openstack.errors import RejectedError
from stead.drivers.openstack.names import Names
from stead.drivers.openstack.neutron import Thing, Things
from stead.drivers.openstack.wire import mark, name_of
from stead.lifecycle.rows import BROKEN

KIND = "network"
CIDR = "10.0.0.0/16"
"""The addresses of a network whose spec says nothing."""


class Networks:
    """The networks of one project that are ours."""

    def __init__(self, calls: Calls, names: Names, owner: str) -> None:
        self._calls = calls
        self._names = names
        self._owner = owner
        self._things = Things(calls, owner)

    async def create(self, task: Task, member: Member) -> Result:
        """What is there already is taken, and what is missing is made."""
        cidr, version = _cidr(member)
        marks = {"name": name_of(member), "description": mark(self._owner, member)}
        outside = member.spec.get("external")
        gateway = await self._names.network(task, str(outside)) if outside else ""
        network = await self._things.of(task, "networks", member)
        if network is None:
            network = await self._things.make(task, "networks", marks)
        facts: dict[str, Any] = {"id": network.id}
        try:
            subnet = await self._things.of(task, "subnets", _part(member))
            if subnet is None:
                content = {**marks, "network_id": network.id, "cidr": cidr, "ip_version": version}
                subnet = await self._things.make(task, "subnets", content)
            facts["subnet"] = subnet.id
            if gateway:
                facts["router"] = await self._router(task, member, marks, gateway, subnet)
        except RejectedError as error:
            # What was made must be found again.
            return Result(path=member.path, ok=False, facts=facts, error=error.message)
        return Result(path=member.path, ok=True, facts=facts)

    async def delete(self, task: Task, member: Member) -> Result:
        """Nothing is removed as long as anything else is attached to it."""
        network = await self._things.of(task, "networks", member)
        part = _part(member)
        router = await self._things.of(task, "routers", part) if await self._routers(task) else None
        try:
            if network is not None:
                ports = await self._ports(task, network.id)
                if guests := [port for port in ports if not port["device_owner"].startswith("network:")]:
                    error = f"it is in use: {len(guests)} ports are attached to it"
                    return Result(path=member.path, ok=False, facts={"id": network.id}, error=error, permanent=False)
            if router is not None:
                await self._remove(task, router, network)
            if network is not None:
                await self._things.delete(task, "networks", network.id)  # its subnets go with it
        except RejectedError as error:
            facts = {"id": network.id} if network else {}
            return Result(path=member.path, ok=False, facts=facts, error=error.message, permanent=error.status != 409)
        return Result(path=member.path, ok=True)

    async def observe(self, task: Task, members: Sequence[Member]) -> list[ObservedObject]:
        """What is there of each. Without a subnet it is half made."""
        networks = await self._things.ours(task, "networks")
        subnets = await self._things.ours(task, "subnets")
        seen: list[ObservedObject] = []
        for member in members:
            network = neutron.pick(member, networks)
            seen.append(neutron.seen(member, network, _facts(network, subnets)))
            if network is not None and "subnet" not in seen[-1].facts:
                seen[-1] = ObservedObject(path=member.path, state=BROKEN, facts=seen[-1].facts)
        return seen

    async def found(self, task: Task) -> list[FoundObject]:
        """All that is ours."""
        networks = await self._things.ours(task, "networks")
        subnets = await self._things.ours(task, "subnets")
        return [neutron.found(KIND, network, _facts(network, subnets)) for network in networks]

    async def _router(self, task: Task, member: Member, marks: dict[str, str], gateway: str, subnet: Thing) -> str:
        router = await self._things.of(task, "routers", _part(member))
        if router is None:
            content = {**marks, "external_gateway_info": {"network_id": gateway}}
            router = await self._things.make(task, "routers", content)
        if not any(port["device_id"] == router.id for port in await self._ports(task, subnet.network_id)):
            await self._things.put(task, f"/routers/{router.id}/add_router_interface", {"subnet_id": subnet.id})
        return router.id

    async def _remove(self, task: Task, router: Thing, network: Thing | None) -> None:
        """A router goes when nothing is attached to it."""
        for port in await self._ports(task, network.id) if network else []:
            if port["device_id"] == router.id:
                await self._things.put(task, f"/routers/{router.id}/remove_router_interface", {"port_id": port["id"]})
        await self._things.delete(task, "routers", router.id)

    async def _ports(self, task: Task, network: str) -> list[dict[str, str]]:
        fields = ["id", "device_id", "device_owner"]
        answer = await self._calls.ask(
            task, dict[str, Any], NETWORK, "GET", "/ports", query={"network_id": network, "fields": fields}
        )
        return list(answer["ports"])

    async def _routers(self, task: Task) -> bool:
        """Whether the place has any; some have networks alone."""
        answer = await self._calls.ask(task, dict[str, Any], NETWORK, "GET", "/extensions", query={"fields": "alias"})
        return any(one["alias"] == "router" for one in answer["extensions"])


def _part(member: Member) -> Member:
    """For what belongs to a network, and is found by the token alone."""
    return Member(path=member.path, token=member.token)


def _facts(network: Thing | None, subnets: Sequence[Thing]) -> dict[str, Any]:
    if network is None:
        return {}
    subnet = next((one.id for one in subnets if one.network_id == network.id), None)
    return {"id": network.id, **({"subnet": subnet} if subnet else {})}


def _cidr(member: Member) -> tuple[str, int]:
    said = str(member.spec.get("cidr") or CIDR)
    try:
        net = ipaddress.ip_network(said)
    except ValueError as error:
        raise PermanentError(f"the spec's cidr is wrong: {error}") from error
    return str(net), net.version
