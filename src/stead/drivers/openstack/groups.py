"""Security groups: what may reach the servers that have them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from stead.drivers.base import FoundObject, Member, ObservedObject, PermanentError, Result
from stead.drivers.openstack import neutron
from stead.drivers.openstack.calls import NETWORK, Calls, Task
from stead.drivers.openstack.errors import RejectedError
from stead.drivers.openstack.neutron import Things
from stead.drivers.openstack.wire import mark, name_of

KIND = "securitygroup"

DEFAULT: list[dict[str, str]] = [{"protocol": "tcp", "ports": "22"}, {"protocol": "all", "from": "members"}]
"""The rules of a group whose spec says nothing: one can log in from anywhere, and its members reach each other."""

MEMBERS = "members"
"""As a source: whoever has the same group."""

ALL = "all"
"""As a protocol or as ports: every one."""

FIELDS = ("ethertype", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix", "remote_group_id")


class Groups:
    """The security groups of one project that are ours."""

    def __init__(self, calls: Calls, owner: str) -> None:
        self._calls = calls
        self._owner = owner
        self._things = Things(calls, owner)

    async def create(self, task: Task, member: Member) -> Result:
        """What is there already is taken, and the rules that are missing are made."""
        wanted = rules_of(member)
        group = await self._things.of(task, "security_groups", member)
        if group is None:
            content = {"name": name_of(member), "description": mark(self._owner, member)}
            group = await self._things.make(task, "security_groups", content)
        facts = {"id": group.id}
        try:
            await self._open(task, group.id, wanted)
        except RejectedError as error:
            return Result(path=member.path, ok=False, facts=facts, error=error.message)
        return Result(path=member.path, ok=True, facts=facts)

    async def delete(self, task: Task, member: Member) -> Result:
        """Neutron does not remove one that a server has."""
        group = await self._things.of(task, "security_groups", member)
        if group is None:
            return Result(path=member.path, ok=True)
        try:
            await self._things.delete(task, "security_groups", group.id)
        except RejectedError as error:
            return Result(
                path=member.path,
                ok=False,
                facts={"id": group.id},
                error=f"it is in use: {error.message}" if error.status == 409 else error.message,
                permanent=error.status != 409,
            )
        return Result(path=member.path, ok=True)

    async def observe(self, task: Task, members: Sequence[Member]) -> list[ObservedObject]:
        """What is there of each."""
        groups = await self._things.ours(task, "security_groups")
        there = [(member, neutron.pick(member, groups)) for member in members]
        return [neutron.seen(member, group, {"id": group.id} if group else {}) for member, group in there]

    async def found(self, task: Task) -> list[FoundObject]:
        """All that is ours."""
        groups = await self._things.ours(task, "security_groups")
        return [neutron.found(KIND, group, {"id": group.id}) for group in groups]

    async def _open(self, task: Task, id: str, wanted: list[dict[str, Any]]) -> None:
        ingress = {"security_group_id": id, "direction": "ingress"}
        there = await self._calls.ask(task, dict[str, Any], NETWORK, "GET", "/security-group-rules", query=ingress)
        known = [{name: rule.get(name) for name in FIELDS} for rule in there["security_group_rules"]]
        for rule in wanted:
            asked = {name: id if value == MEMBERS else value for name, value in rule.items()}
            if not any(_same(asked, one) for one in known):
                content = {**asked, "security_group_id": id, "direction": "ingress"}
                await self._things.make(task, "security_group_rules", content)


def rules_of(member: Member) -> list[dict[str, Any]]:
    """What is let in, in Neutron's words. Raises `PermanentError` where the spec makes no sense."""
    said = member.spec.get("rules")
    said = DEFAULT if said is None else said
    if not isinstance(said, list | tuple) or not all(isinstance(rule, Mapping) for rule in said):
        raise PermanentError(
            'the spec\'s rules are a list such as [{"protocol": "tcp", "ports": "22", "from": "0.0.0.0/0"}]'
        )
    return [_rule(rule) for rule in said]


def _rule(said: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := said.keys() - {"protocol", "ports", "from"}:
        raise PermanentError(f"a rule has a protocol, ports and from, but no {', '.join(sorted(unknown))}")
    rule: dict[str, Any] = {"ethertype": "IPv4"}
    source = str(said.get("from") or "0.0.0.0/0")
    if source == MEMBERS:
        rule["remote_group_id"] = MEMBERS
    else:
        try:
            net = ipaddress.ip_network(source, strict=False)
        except ValueError as error:
            raise PermanentError(f"a rule's from is wrong: {error}") from error
        rule |= {"ethertype": f"IPv{net.version}", "remote_ip_prefix": str(net)}
    protocol = str(said.get("protocol") or "tcp").lower()
    if protocol != ALL:
        rule["protocol"] = protocol
    ports = str(said.get("ports") or ALL)
    if ports != ALL:
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", ports)
        if match is None or protocol not in ("tcp", "udp"):
            raise PermanentError(
                f"a rule's ports are such as 22 or 8000-8080, of tcp or udp; not {ports} of {protocol}"
            )
        rule |= {"port_range_min": int(match[1]), "port_range_max": int(match[2] or match[1])}
    return rule


def _same(asked: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Neutron has nothing, at times, for what everybody is."""
    anybody = ("0.0.0.0/0", "::/0", None)
    for name in FIELDS:
        one, other = asked.get(name), there.get(name)
        if one != other and not (name == "remote_ip_prefix" and one in anybody and other in anybody):
            return False
    return True
