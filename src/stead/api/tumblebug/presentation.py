"""What there is, as the dialect shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.access.policies import labels_of
from stead.api.tumblebug.models import MciInfo, MciStatus, StatusCount, SubGroupInfo, VmInfo, VmStatus
from stead.api.tumblebug.names import targets, vm_id
from stead.application.group_status import GroupStatus, GroupView
from stead.application.models import Resource
from stead.application.queries import Queries

EMPTY = "Empty"
BARE = ("Preparing", "Prepared", "Creating", "Failed")
"""What an MCI may be in before it has a VM, or instead of ever having one."""
BAD = ("Failed", "Undefined")


def vms(view: GroupView) -> list[VmInfo]:
    """The VMs of a group, with what went wrong with those that are in trouble."""
    there = [vm for vm in view.members if vm.state_class != "absent"]
    return [_vm(vm, view.errors.get(vm.path, "")) for vm in there]


async def vm_info(queries: Queries, vm: Resource) -> VmInfo:
    """A VM, with what went wrong with it if it is in trouble."""
    errors = await queries.errors([vm.path] if vm.state in BAD else [])
    return _vm(vm, errors.get(vm.path, ""))


def vm_status(vm: VmInfo) -> VmStatus:
    """Only how it stands."""
    return VmStatus.model_validate(vm.model_dump(exclude={"spec_id", "image_id", "label"}))


def _vm(resource: Resource, error: str) -> VmInfo:
    action, status = targets(resource.operation)
    made = resource.created_at
    return VmInfo(
        id=vm_id(resource.path),
        name=vm_id(resource.path),
        sub_group_id=resource.path.split("/")[-2],
        status=resource.state,
        target_status=status,
        target_action=action,
        csp_resource_id=str(resource.facts.get("id", "")),
        public_ip=str(resource.facts.get("publicIp", "")),
        system_message=error,
        created_time=made.isoformat(timespec="seconds") if made else "",
        label=labels_of(resource.spec),
        **_placement_fields(resource.spec, resource.lane),
    )


def _placement_fields(spec: Mapping[str, Any], lane: str = "") -> dict[str, str]:
    """Where and of what VMs are, in the ids of the dialect."""
    provider, _, region = lane.partition(".")
    provider, region = str(spec.get("provider", provider)), str(spec.get("region", region))
    return {
        "connection_name": f"{provider}-{region}".strip("-"),
        "spec_id": f"{provider}+{region}+{spec['spec']}" if spec.get("spec") else "",
        "image_id": str(spec.get("image", "")),
    }


def status(group: GroupStatus, members: Sequence[VmStatus]) -> MciStatus:
    """How an MCI stands."""
    return MciStatus(**_status_fields(group), vm=list(members))


def info(view: GroupView) -> MciInfo:
    """An MCI with its subgroups and VMs."""
    spec = view.standing.resource.spec
    return MciInfo(
        **_status_fields(view.standing),
        system_message=view.errors.get(view.standing.resource.path, ""),
        description=str(spec.get("description", "")),
        label=labels_of(spec),
        sub_groups=subgroups(view),
        vm=vms(view),
        spec=dict(spec),
    )


def subgroups(view: GroupView) -> list[SubGroupInfo]:
    """The subgroups of an MCI."""
    parts = {part.name: part for part in view.standing.groups}
    shown: list[SubGroupInfo] = []
    for resource in view.groups:
        part = parts.get(resource.path)
        size = sum(part.counts.values()) if part is not None else 0
        shown.append(subgroup(resource, size, part.summary if part is not None else EMPTY))
    return shown


def subgroup(resource: Resource, size: int, text: str) -> SubGroupInfo:
    """A subgroup with so many VMs."""
    name = resource.path.rpartition("/")[2]
    made = _placement_fields(resource.spec)
    label = labels_of(resource.spec)
    return SubGroupInfo(id=name, name=name, sub_group_size=str(size), status=text, label=label, **made)


def _status_fields(group: GroupStatus) -> dict[str, Any]:
    name = group.resource.path.rpartition("/")[2]
    action, target = targets(group.acting)
    return {
        "id": name,
        "name": name,
        "status": text(group),
        "status_count": StatusCount.model_validate(group.counts),
        "target_status": target,
        "target_action": action,
    }


def text(group: GroupStatus) -> str:
    """The status text; of an MCI that has no VM yet, the phase of its creation."""
    state = group.resource.state
    return state if group.summary == EMPTY and state in BARE else group.summary
