"""Networks: a VPC with one subnet that takes the whole of it, and a way to the internet and back.

    VPC  -  subnet, whose instances get public addresses  -  internet gateway, attached  -  default route to it

EC2 has no client token for any of these. So an attempt looks for what is there, by tag, and makes what is missing;
what an earlier one left half made is finished. Whoever has custody is alone, so nobody else makes the same meanwhile.
Everything has its tags from its first moment, in the call that makes it.

EC2 is slow at times to show what it has made. What happens where an answer was lost, and the next attempt does not
see yet what that call has made:

- a second subnet cannot be made, since the first one takes all addresses of the VPC: EC2 refuses, and the attempt is
  to be made again;
- a second gateway cannot be attached, since a VPC has one; one that is loose is used, and all others are removed;
- a second VPC can be made. The next attempt to create it, or to delete it, sees both: it keeps the one that is known
  by its id or has more to it, and removes the other. Until then the inventory lists both, with the same token.

A network that is half made, and that nobody is at work on, is broken: another attempt finishes it, and a deletion
removes it. An attempt has ended only when EC2 shows all of it. Unlike a client token, a tag is gone with what it is
on: who deletes a network and creates it under the same token again has a new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

import msgspec
from msgspec import Struct

from stead.drivers.base import TRANSITIONAL, FoundObject, Member, ObservedObject, Result, RetryableError
from stead.drivers.ec2 import shared
from stead.drivers.ec2.calls import Task
from stead.drivers.ec2.errors import RejectedError
from stead.drivers.ec2.wire import AVAILABLE, OWNER_TAG, TOKEN_TAG, Tagged, having, labels, tagging
from stead.lifecycle.rows import ABSENT, BROKEN

CIDR = "10.0.0.0/16"
"""The addresses of a network whose spec does not say."""

ANYWHERE = "0.0.0.0/0"

PAGE = 100
"""On a page, at most: EC2 has no longer ones for route tables."""


class Vpc(Tagged, kw_only=True):
    """As it is listed."""

    vpc_id: str
    state: str = "pending"
    cidr_block: str = ""


class Subnet(Struct, rename="pascal"):
    """As it is listed."""

    subnet_id: str
    vpc_id: str
    state: str = "pending"
    map_public_ip_on_launch: bool = False


class Attachment(Struct, rename="pascal"):
    """Of a gateway."""

    vpc_id: str = ""


class Gateway(Struct, rename="pascal"):
    """As it is listed."""

    internet_gateway_id: str
    attachments: list[Attachment] = []


class Route(Struct, rename="pascal"):
    """To a part of the world."""

    destination_cidr_block: str = ""
    gateway_id: str = ""


class Table(Struct, rename="pascal"):
    """The main route table of a VPC, which comes with it."""

    route_table_id: str
    vpc_id: str
    routes: list[Route] = []


class Network(Struct, kw_only=True):
    """What there is of a network."""

    vpc: Vpc
    subnet: Subnet | None = None
    gateway: str = ""
    table: Table | None = None

    @property
    def facts(self) -> dict[str, str]:
        """To be kept with it."""
        return {"id": self.vpc.vpc_id} | ({"subnet": self.subnet.subnet_id} if self.subnet else {})

    @property
    def routed(self) -> bool:
        """Whether the way out leads to its gateway."""
        routes = self.table.routes if self.table else []
        return any((r.destination_cidr_block, r.gateway_id) == (ANYWHERE, self.gateway) for r in routes)

    @property
    def word(self) -> str:
        """The lifecycle's word for its state."""
        if self.vpc.state != "available" or (self.subnet and self.subnet.state != "available"):
            return TRANSITIONAL
        done = self.subnet and self.subnet.map_public_ip_on_launch and self.gateway and self.routed
        return AVAILABLE if done else BROKEN


class _Made(Struct, rename="pascal"):
    """The answer to whatever makes something."""

    vpc: Vpc | None = None
    subnet: Subnet | None = None
    internet_gateway: Gateway | None = None


class Networks(shared.Shared):
    """The networks of one owner in one region."""

    kind = "network"

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """By id and, for those that are not found so, by token; then all that belongs to them at once."""
        there = await self._observe(self._calls.task(), members)
        return [
            ObservedObject(path=m.path, state=found[0].word, facts=found[0].facts)
            if found
            else ObservedObject(path=m.path, state=ABSENT)
            for m, found in zip(members, there, strict=True)
        ]

    async def inventory(self) -> list[FoundObject]:
        """By the tag of the VPC, which is the first that is made and the last that is removed."""
        vpcs = await self._vpcs(None, f"tag:{OWNER_TAG}", [self._owner])
        there = [network for some in shared.hundreds(vpcs) for network in await self._whole(None, some)]
        return [self._found(network.vpc, network.word, network.facts) for network in there]

    async def create(self, task: Task, member: Member) -> Result:
        """Make what is missing of it."""
        try:
            cidr = str(ip_network(member.spec.get("cidr") or CIDR, strict=False))  # as EC2 will show it
        except ValueError as error:
            return self._failed(member, member.facts, f"the cidr of the spec makes no sense: {error}")
        (there,) = await self._observe(task, [member])
        for surplus in there[1:]:
            with suppress(RejectedError):  # then it stays for the inventory to show
                await self._remove(task, surplus)
        network = there[0] if there else Network(vpc=await self._make_vpc(task, member, cidr))
        if network.vpc.cidr_block != cidr:
            return self._failed(member, network.facts, "its token was used for another spec")
        if network.word == AVAILABLE:
            return Result(path=member.path, ok=True, facts=network.facts)
        try:
            await self._finish(task, member, network)
        except RejectedError as error:
            if error.absent or error.code == "InvalidSubnet.Conflict":
                raise RetryableError(
                    "EC2 does not know yet what it has made", unknown=True, detail=error.message
                ) from error
            return self._failed(member, network.facts, error.message)
        (there,) = await self._observe(task, [msgspec.structs.replace(member, facts=network.facts)])
        word = there[0].word if there else BROKEN
        if word == BROKEN:
            raise RetryableError("EC2 does not show yet what it has made", unknown=True, detail=network.vpc.vpc_id)
        return Result(
            path=member.path, ok=True, pending=AVAILABLE if word == TRANSITIONAL else "", facts=there[0].facts
        )

    async def delete(self, task: Task, member: Member) -> bool:
        """All that there is of it. It begins with the subnet, which EC2 keeps while there are instances in it."""
        (there,) = await self._observe(task, [member])
        for network in there:
            await self._remove(task, network)
        loose = await self._loose(task, member)
        for gateway in loose:
            await self._drop(task, "delete_internet_gateway", InternetGatewayId=gateway)
        return bool(there or loose)

    async def _make_vpc(self, task: Task, member: Member, cidr: str) -> Vpc:
        tags = tagging("vpc", labels(member, self._owner))
        made = await self._calls.ask(task, _Made, "create_vpc", CidrBlock=cidr, TagSpecifications=tags)
        return shared.given(made.vpc)

    async def _finish(self, task: Task, member: Member, network: Network) -> None:
        """Each step only where it has not been taken yet."""
        ask, vpc, tags = self._calls.ask, network.vpc.vpc_id, labels(member, self._owner)
        if network.subnet is None:
            zone = {"AvailabilityZone": member.spec["zone"]} if member.spec.get("zone") else {}
            where = {"VpcId": vpc, "CidrBlock": network.vpc.cidr_block, **zone}
            made = await ask(task, _Made, "create_subnet", **where, TagSpecifications=tagging("subnet", tags))
            network.subnet = shared.given(made.subnet)
        if not network.subnet.map_public_ip_on_launch:
            wish = {"SubnetId": network.subnet.subnet_id, "MapPublicIpOnLaunch": {"Value": True}}
            await ask(task, dict, "modify_subnet_attribute", **wish)
        if not network.gateway:
            network.gateway, *more = await self._loose(task, member) or [await self._make_gateway(task, tags)]
            await ask(task, dict, "attach_internet_gateway", InternetGatewayId=network.gateway, VpcId=vpc)
            for surplus in more:
                await self._drop(task, "delete_internet_gateway", InternetGatewayId=surplus)
        if network.table is None:
            network.table = (await self._tables(task, [vpc])).get(vpc)
        if network.table is None:
            raise RetryableError("EC2 does not show yet what it has made", unknown=True, detail=f"no routes of {vpc}")
        if not network.routed:
            taken = any(route.destination_cidr_block == ANYWHERE for route in network.table.routes)
            way = {"RouteTableId": network.table.route_table_id, "DestinationCidrBlock": ANYWHERE}
            await ask(task, dict, "replace_route" if taken else "create_route", **way, GatewayId=network.gateway)

    async def _make_gateway(self, task: Task, tags: dict[str, str]) -> str:
        tagged = tagging("internet-gateway", tags)
        made = await self._calls.ask(task, _Made, "create_internet_gateway", TagSpecifications=tagged)
        return shared.given(made.internet_gateway).internet_gateway_id

    async def _remove(self, task: Task, network: Network) -> None:
        vpc = network.vpc.vpc_id
        if network.subnet is not None:
            await self._drop(task, "delete_subnet", SubnetId=network.subnet.subnet_id)
        if network.gateway:
            await self._drop(task, "detach_internet_gateway", InternetGatewayId=network.gateway, VpcId=vpc)
            await self._drop(task, "delete_internet_gateway", InternetGatewayId=network.gateway)
        await self._drop(task, "delete_vpc", VpcId=vpc)

    async def _observe(self, task: Task, members: Sequence[Member]) -> list[list[Network]]:
        """What is there of each member, the best first: there is one, or none, save in rare moments."""
        ids = {id for member in members if (id := member.facts.get("id"))}
        vpcs = await self._vpcs(task, f"tag:{TOKEN_TAG}", sorted({member.token for member in members}))
        if rest := ids - {vpc.vpc_id for vpc in vpcs}:
            vpcs += await self._vpcs(task, "vpc-id", sorted(rest))
        there = await self._whole(task, vpcs)
        return [_best(there, member) for member in members]

    async def _vpcs(self, task: Task | None, name: str, values: Sequence[str]) -> list[Vpc]:
        ours = [having(name, values)]
        return await self._calls.list(task, Vpc, "describe_vpcs", "Vpcs", Filters=ours, MaxResults=PAGE)

    async def _whole(self, task: Task | None, vpcs: Sequence[Vpc]) -> list[Network]:
        """The VPCs, with what belongs to each."""
        if not vpcs:
            return []
        ids = [vpc.vpc_id for vpc in vpcs]
        subnets, gateways, tables = await asyncio.gather(
            self._list(task, Subnet, "describe_subnets", "Subnets", "vpc-id", ids),
            self._list(task, Gateway, "describe_internet_gateways", "InternetGateways", "attachment.vpc-id", ids),
            self._tables(task and task.beside(), ids),
        )
        by_vpc = {subnet.vpc_id: subnet for subnet in subnets}
        out = {a.vpc_id: gateway.internet_gateway_id for gateway in gateways for a in gateway.attachments}
        return [
            Network(vpc=vpc, subnet=by_vpc.get(id), gateway=out.get(id, ""), table=tables.get(id))
            for vpc, id in zip(vpcs, ids, strict=True)
        ]

    async def _list[T](
        self, task: Task | None, thing: type[T], operation: str, field: str, where: str, vpcs: list[str]
    ) -> list[T]:
        """What we have made in some VPCs."""
        ours = [having(where, vpcs), having(f"tag:{OWNER_TAG}", [self._owner])]
        beside = task and task.beside()
        return await self._calls.list(beside, thing, operation, field, Filters=ours, MaxResults=PAGE)

    async def _tables(self, task: Task | None, vpcs: list[str]) -> dict[str, Table]:
        main: dict[str, Any] = {"Filters": [having("vpc-id", vpcs), having("association.main", ["true"])]}
        tables = await self._calls.list(task, Table, "describe_route_tables", "RouteTables", **main, MaxResults=PAGE)
        return {table.vpc_id: table for table in tables}

    async def _loose(self, task: Task, member: Member) -> list[str]:
        """Gateways that were made for it and are attached to nothing."""
        ours = [having(f"tag:{TOKEN_TAG}", [member.token])]
        asked: dict[str, Any] = {"Filters": ours, "MaxResults": PAGE}
        made = await self._calls.list(task, Gateway, "describe_internet_gateways", "InternetGateways", **asked)
        return sorted(gateway.internet_gateway_id for gateway in made if not gateway.attachments)


def _best(networks: Sequence[Network], member: Member) -> list[Network]:
    """Those that were made for a member: the one that is known first, then those with more to them."""
    known = member.facts.get("id")
    its = [n for n in networks if n.vpc.vpc_id == known or n.vpc.tag(TOKEN_TAG) == member.token]
    return sorted(its, key=lambda n: (n.vpc.vpc_id != known, n.subnet is None, n.vpc.vpc_id))
