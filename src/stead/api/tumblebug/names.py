"""Names of the dialect beside ours: ids and paths, actions and targets."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import Depends, Path

from stead.api.problems import FieldError, ProblemResponse
from stead.application.models import Resource, RunningOperation
from stead.application.names import SEGMENT
from stead.application.queries import Queries

Id = Annotated[str, Path(pattern=f"^{SEGMENT}$", max_length=100)]
VmId = Annotated[
    str,
    Path(pattern=f"^{SEGMENT}$", max_length=201, description="Subgroup and name, with a dash.", examples=["front-1"]),
]


async def _mci_path(nsId: Id, mciId: Id) -> str:  # noqa: N803 - the dialect's names
    return f"/{nsId}/{mciId}"


MciPath = Annotated[str, Depends(_mci_path)]
"""The path of the MCI that an address names."""


async def _subgroup_path(mci: MciPath, subgroupId: Id) -> str:  # noqa: N803
    return f"{mci}/{subgroupId}"


SubgroupPath = Annotated[str, Depends(_subgroup_path)]
"""The path of the subgroup that an address names."""


class VmAddress(NamedTuple):
    """A VM as an address names it."""

    mci: str
    id: str


async def _vm_address(mci: MciPath, vmId: VmId) -> VmAddress:  # noqa: N803
    return VmAddress(mci, vmId)


NamedVm = Annotated[VmAddress, Depends(_vm_address)]

NONE = "None"
"""A target that is reached, or that there is none of."""

_ACTIONS = {
    "add": "Create",
    "delete": "Terminate",
    "remove": "Terminate",
    "scale-out": "ScaleOut",
    "scale-in": "ScaleIn",
}
_TARGETS = {"Absent": "Terminated"}


def action_name(action: str) -> str:
    """`Suspend` for suspend. What the dialect has no word for is called what it comes to."""
    return _ACTIONS.get(action, action.capitalize())


def targets(running: RunningOperation | None) -> tuple[str, str]:
    """The target action and the target status of something; both `None` where nothing is under way.

    To refine has no target status: what it removes is gone, and the rest stays as it is.
    """
    if running is None:
        return NONE, NONE
    status = NONE if running.action == "refine" else _TARGETS.get(running.target, running.target)
    return action_name(running.action), status


def vm_id(path: str) -> str:
    """`front-1` for /shop/web/front/1."""
    return "-".join(path.split("/")[3:])


def display_name(path: str) -> str:
    """What a path is to the dialect, for messages."""
    match len(path.split("/")) - 1:
        case 2:
            return "MCI"
        case 3:
            return f"subgroup {path.rpartition('/')[2]}"
        case 4:
            return f"VM {vm_id(path)}"
    return path


async def find_vm(queries: Queries, address: VmAddress) -> Resource:
    """The VM of an id. Subgroups and VMs may have dashes in their names, so it may split at any of them."""
    mci, id = address
    parts = id.split("-")
    splits = [("-".join(parts[:at]), "-".join(parts[at:])) for at in range(1, len(parts))]
    paths = [f"{mci}/{group}/{name}" for group, name in splits if group and name]
    found = [resource for resource in await queries.resources_at(paths) if resource.kind == "vm"]
    if not found:
        raise ProblemResponse("not-found", f"there is no VM {id} in {mci}")
    if len(found) > 1:
        message = f"{id} is both " + " and ".join(sorted(resource.path for resource in found))
        raise ProblemResponse("invalid", message, errors=[FieldError(location="path.vmId", message=message)])
    return found[0]
