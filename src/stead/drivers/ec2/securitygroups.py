"""Security groups: who may speak to the VMs of a network.

EC2 has no two groups of one name in a VPC. So a group is called by what follows from its token, and is made once: a
second attempt is told that it is there, and takes it. Its rules come in a second call, all of them or none; a group
without any is half made, and the next attempt gives it its rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from msgspec import Struct

from stead.drivers.base import FoundObject, Member, ObservedObject, Result, RetryableError
from stead.drivers.ec2 import shared
from stead.drivers.ec2.calls import Task
from stead.drivers.ec2.errors import RejectedError
from stead.drivers.ec2.wire import AVAILABLE, NAME_TAG, OWNER_TAG, TOKEN_TAG, Tagged, having, labels, name_of, tagging
from stead.lifecycle.rows import ABSENT, BROKEN

MEMBERS = "members"
"""In a rule, in the place of addresses: the VMs of the group itself."""

RULES = (
    {"protocol": "tcp", "ports": "22", "from": "0.0.0.0/0"},
    {"protocol": "all", "ports": "all", "from": MEMBERS},
)
"""Of a group whose spec does not say: anybody may log in, and the members may do all among themselves."""

PORTS = ("tcp", "udp")
"""The protocols that have ports."""

PAGE = 1000
"""Groups on a page, at most."""


class Group(Tagged, Struct, kw_only=True):
    """As it is listed."""

    group_id: str
    vpc_id: str = ""
    ip_permissions: list[dict[str, Any]] = []


class _Made(Struct, rename="pascal"):
    """The answer to its creation."""

    group_id: str


class SecurityGroups(shared.Shared):
    """The security groups of one owner in one region."""

    kind = "securitygroup"

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """By id and, for those that are not found so, by token."""
        there = await self._observe(self._calls.task(), members)
        return [
            ObservedObject(path=m.path, state=_word(m.spec, found[0]), facts={"id": found[0].group_id})
            if found
            else ObservedObject(path=m.path, state=ABSENT)
            for m, found in zip(members, there, strict=True)
        ]

    async def inventory(self) -> list[FoundObject]:
        """By tag. What rules a group was to have is not known here."""
        ours = await self._groups(None, having(f"tag:{OWNER_TAG}", [self._owner]))
        return [self._found(group, AVAILABLE, {"id": group.group_id}) for group in ours]

    async def create(self, task: Task, member: Member) -> Result:
        """The group, and then its rules."""
        vpc = ((member.spec.get("shared") or {}).get("network") or {}).get("id")
        if not vpc:
            return self._failed(
                member, member.facts, "the spec lacks shared.network: a security group is in a network"
            )
        try:
            rules(member.spec, "")
        except ValueError as error:
            return self._failed(member, member.facts, str(error))
        name, tags = name_of(self._owner, member.token), labels(member, self._owner)
        asked = {"GroupName": name, "Description": _plain(f"stead {tags[NAME_TAG]}"), "VpcId": vpc}
        try:
            made = await self._calls.ask(
                task, _Made, "create_security_group", **asked, TagSpecifications=tagging("security-group", tags)
            )
            group = Group(group_id=made.group_id)
        except RejectedError as error:
            if error.code != "InvalidGroup.Duplicate":
                raise
            same = await self._groups(task, having("group-name", [name]), having("vpc-id", [vpc]))
            if not same:
                raise RetryableError("EC2 does not show yet what it has made", unknown=True, detail=name) from error
            group = same[0]
        wished = rules(member.spec, group.group_id)
        facts = {"id": group.group_id}
        try:
            if wished and not group.ip_permissions:
                await self._allow(task, group.group_id, wished)
        except RejectedError as error:
            return self._failed(member, facts, error.message)
        return Result(path=member.path, ok=True, facts=facts)

    async def delete(self, task: Task, member: Member) -> bool:
        """EC2 keeps a group that is in use, and says so."""
        (there,) = await self._observe(task, [member])
        for group in there:
            await self._drop(task, "delete_security_group", GroupId=group.group_id)
        return bool(there)

    async def _allow(self, task: Task, group: str, wished: list[dict[str, Any]]) -> None:
        try:
            await self._calls.ask(task, dict, "authorize_security_group_ingress", GroupId=group, IpPermissions=wished)
        except RejectedError as error:
            if error.absent:
                raise RetryableError(
                    "EC2 does not know yet what it has made", unknown=True, detail=error.message
                ) from error
            # An earlier attempt may have come so far without being shown yet.
            if error.code != "InvalidPermission.Duplicate":
                raise

    async def _observe(self, task: Task, members: Sequence[Member]) -> list[list[Group]]:
        """What is there of each member."""
        ids = {id for member in members if (id := member.facts.get("id"))}
        tokens = sorted({member.token for member in members})
        there = await self._groups(task, having(f"tag:{TOKEN_TAG}", tokens))
        if rest := ids - {group.group_id for group in there}:
            there += await self._groups(task, having("group-id", sorted(rest)))
        return [[g for g in there if g.group_id == m.facts.get("id") or g.tag(TOKEN_TAG) == m.token] for m in members]

    async def _groups(self, task: Task | None, *filters: dict[str, Any]) -> list[Group]:
        asked: dict[str, Any] = {"Filters": list(filters), "MaxResults": PAGE}
        return await self._calls.list(task, Group, "describe_security_groups", "SecurityGroups", **asked)


def rules(spec: Mapping[str, Any], group: str) -> list[dict[str, Any]]:
    """The rules of a spec in EC2's words. Raises `ValueError` where one makes no sense."""
    wished = RULES if spec.get("rules") is None else spec["rules"]
    return [_rule(rule, group) for rule in wished]


def _rule(rule: Mapping[str, Any], group: str) -> dict[str, Any]:
    try:
        protocol, ports = str(rule.get("protocol", "tcp")).lower(), str(rule.get("ports", "all"))
        source = str(rule.get("from", "0.0.0.0/0"))
        asked = {"IpProtocol": "-1" if protocol == "all" else protocol, **_ports(protocol, ports)}
        if source == MEMBERS:
            return {**asked, "UserIdGroupPairs": [{"GroupId": group}]}
        cidr = ip_network(source, strict=False)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"the rule {rule} makes no sense: {error}") from error
    if cidr.version == 6:
        return {**asked, "Ipv6Ranges": [{"CidrIpv6": str(cidr)}]}
    return {**asked, "IpRanges": [{"CidrIp": str(cidr)}]}


def _ports(protocol: str, ports: str) -> dict[str, int]:
    if protocol not in PORTS:
        if ports != "all":
            raise ValueError(f"{protocol} has no ports")
        return {"FromPort": -1, "ToPort": -1} if protocol.startswith("icmp") else {}
    first, _, last = ("0-65535" if ports == "all" else ports).partition("-")
    low, high = int(first), int(last or first)
    if not 0 <= low <= high <= 65535:
        raise ValueError(f"there are no ports {ports}")
    return {"FromPort": low, "ToPort": high}


def _word(spec: Mapping[str, Any], group: Group) -> str:
    return AVAILABLE if group.ip_permissions or spec.get("rules") == [] else BROKEN


def _plain(text: str) -> str:
    """In the few characters that EC2 takes for a description."""
    return re.sub(r"[^A-Za-z0-9 ._-]", "_", text)[:255]
