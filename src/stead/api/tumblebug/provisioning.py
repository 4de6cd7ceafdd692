"""Make an MCI from what the dialect says, and scale its subgroups.

What a request cannot have here is refused by name, unless it asks for nothing: whoever gets an MCI gets all that was
asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from stead.api.identity import Who
from stead.api.problems import FieldError, ProblemResponse
from stead.api.request_ids import Key
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.api.tumblebug.actions import accepted_action, request_action
from stead.api.tumblebug.models import AcceptedAction, AcceptedMci, MciRequest, ScaleRequest, SubGroupRequest
from stead.api.tumblebug.names import Id, MciPath, SubgroupPath
from stead.api.tumblebug.presentation import status
from stead.api.tumblebug.reads import group_status
from stead.application import ActionRequest, OnPartial
from stead.application.models import InvalidRequest
from stead.application.names import operation_id

NOTHING = ("", "no", "default")
"""How a request says that it does not want something."""
UNSUPPORTED = ("root_disk_type", "root_disk_size", "vm_user_password")
"""What a subgroup cannot have."""

Hold = Annotated[
    Literal["hold"] | None, Query(description="`hold`: prepare all, and wait for the action continue or withdraw.")
]

routes = router("tumblebug", "/tumblebug/ns/{nsId}")


@routes.post("/mciDynamic", name="tumblebug_create_mci_dynamic")
@routes.post("/mci")
async def tumblebug_create_mci(
    application: ApplicationDep,
    queries: QueriesDep,
    nsId: Id,  # noqa: N803
    body: MciRequest,
    caller: Who,
    response: Response,
    option: Hold = None,
    key: Key = "",
) -> AcceptedMci:
    """Make an MCI. It is answered as soon as it is let in, and made then. Both paths do the same."""
    path = f"/{nsId}/{body.name}"
    request = ActionRequest(
        path=path,
        action="create",
        kind="mci",
        spec=infrastructure(body),
        hold=option == "hold",
        on_partial=OnPartial(body.policy_on_partial_failure),
        key=key,
    )
    groups = f"body.{'vm' if body.vm else 'subGroups'}"
    accepted = await request_action(
        application, request, caller, lambda invalid: _dialect_fields(invalid, "spec.subgroups", groups)
    )
    id = operation_id(accepted.path, accepted.operation)
    response.headers["Location"] = f"/v1/operations/{id}"
    shown = status(await group_status(queries, path), ())
    return AcceptedMci(**shown.model_dump(), operation=id)


@routes.post("/mci/{mciId}/vmDynamic", name="tumblebug_create_vm_dynamic")
@routes.post("/mci/{mciId}/vm", name="tumblebug_create_vm")
@routes.post("/mci/{mciId}/subgroupDynamic", name="tumblebug_create_subgroup_dynamic")
@routes.post("/mci/{mciId}/subgroup")
async def tumblebug_create_subgroup(
    application: ApplicationDep,
    queries: QueriesDep,
    path: MciPath,
    body: SubGroupRequest,
    caller: Who,
    response: Response,
    key: Key = "",
) -> AcceptedMci:
    """Add VMs to an MCI, as a subgroup of their own. All four paths do the same."""
    mci = (await group_status(queries, path)).resource.path
    spec = subgroup_spec(body)
    request = ActionRequest(path=f"{mci}/{body.name}", action="add", kind="subgroup", spec=spec, key=key)
    accepted = await request_action(
        application, request, caller, lambda invalid: _dialect_fields(invalid, "spec", "body")
    )
    id = operation_id(accepted.path, accepted.operation)
    response.headers["Location"] = f"/v1/operations/{id}"
    shown = status(await group_status(queries, mci), ())
    return AcceptedMci(**shown.model_dump(), operation=id)


@routes.post("/mci/{mciId}/subgroup/{subgroupId}")
async def tumblebug_scale(
    application: ApplicationDep,
    queries: QueriesDep,
    path: SubgroupPath,
    body: ScaleRequest,
    caller: Who,
    response: Response,
    action: Annotated[Literal["scaleOut", "scaleIn"], Query()] = "scaleOut",
    key: Key = "",
) -> AcceptedAction:
    """Make more VMs like those of a subgroup, or remove the latest of them."""
    out = action == "scaleOut"
    by, other = body.num_vms_to_add, body.num_vms_to_remove
    by, other = (by, other) if out else (other, by)
    if by is None or other is not None:
        needs = "numVMsToAdd" if out else "numVMsToRemove"
        message = f"{action} needs {needs}, and nothing else"
        raise ProblemResponse(
            "invalid", f"body: {message}", errors=[FieldError(location=f"body.{needs}", message=message)]
        )
    group = await group_status(queries, path, "subgroup")
    request = ActionRequest(
        path=group.resource.path,
        action="scale-out" if out else "scale-in",
        kind="subgroup",
        spec={"by": by},
        key=key,
    )
    return accepted_action(await request_action(application, request, caller), group.summary, response)


def infrastructure(body: MciRequest) -> dict[str, Any]:
    """What is asked for as an infrastructure of ours; raises `ProblemResponse` with all that is wrong."""
    name, groups = ("vm", body.vm) if body.vm else ("subGroups", body.sub_groups)
    errors = list(_unsupported(body, ("install_mon_agent",), "body"))
    if body.vm and body.sub_groups:
        errors.append(FieldError(location="body.vm", message="it is the older name of subGroups: say one of them"))
    if any((body.post_command or {}).values()):
        errors.append(FieldError(location="body.postCommand", message="no command is run on VMs here"))
    subgroups = []
    for place, group in enumerate(groups):
        where = f"body.{name}.{place}"
        errors += _unsupported(group, UNSUPPORTED, where)
        try:
            subgroups.append(_subgroup(group, where))
        except ProblemResponse as error:
            errors += error.more["errors"]
    if errors:
        raise ProblemResponse("invalid", "; ".join(f"{e.location}: {e.message}" for e in errors), errors=errors)
    given = {"description": body.description, "labels": body.label}
    return {"subgroups": subgroups} | {name: value for name, value in given.items() if value}


def subgroup_spec(body: SubGroupRequest) -> dict[str, Any]:
    """What is asked for as the spec of a subgroup of ours; raises `ProblemResponse` with all that is wrong."""
    errors = list(_unsupported(body, UNSUPPORTED, "body"))
    if errors:
        raise ProblemResponse("invalid", "; ".join(f"{e.location}: {e.message}" for e in errors), errors=errors)
    spec = _subgroup(body, "body")
    del spec["name"]
    return spec


def _unsupported(body: MciRequest | SubGroupRequest, fields: tuple[str, ...], where: str) -> Iterator[FieldError]:
    for field in fields:
        if getattr(body, field) not in NOTHING:
            alias = type(body).model_fields[field].alias
            yield FieldError(location=f"{where}.{alias}", message="there is no such thing here; leave it out")


def _subgroup(group: SubGroupRequest, where: str) -> dict[str, Any]:
    """A subgroup of ours. Provider and region may be said in three places, and have to be the same in all."""
    whole = group.spec_id or group.common_spec
    provider, region, spec = whole.split("+", 2) if whole.count("+") >= 2 else ("", "", whole)
    its_provider, _, its_region = group.connection_name.partition("-")
    given = {
        "provider": (group.provider, provider, its_provider),
        "region": (group.region, region, its_region),
        "spec": (spec,),
        "image": (group.image_id or group.common_image,),
    }
    found: dict[str, Any] = {"name": group.name, "size": group.sub_group_size}
    found |= {"labels": group.label} if group.label else {}
    for field, values in given.items():
        words = list(dict.fromkeys(value for value in values if value))
        if len(words) > 1:
            message = f"it is said to be {' and '.join(words)}"
            raise ProblemResponse(
                "invalid", message, errors=[FieldError(location=f"{where}.{field}", message=message)]
            )
        found |= {field: words[0]} if words else {}
    if "image" in found:
        found["image"] = found["image"].removeprefix(f"{found.get('provider')}+{found.get('region')}+")
    return found


MISSING_FIELD = re.compile("it needs (spec|image|provider|region), here or under defaults")
NAMES = {"spec": "specId", "image": "imageId", "provider": "specId", "region": "specId"}
"""What a subgroup lacks, and the field of the dialect that says it."""


def _dialect_fields(invalid: InvalidRequest, ours: str, its: str) -> InvalidRequest:
    """What is wrong with an infrastructure, each problem once, by the fields of the request that it was made from.

    What is called `ours` here is `its` there.
    """

    def translated(field: str, message: str) -> tuple[str, str]:
        field = f"{its}{field.removeprefix(ours)}" if field.startswith(ours) else field
        if field.endswith(".size"):
            field = f"{field.removesuffix('.size')}.subGroupSize"
        field = re.sub(r"\.labels(?=\.|$)", ".label", field.replace("spec.labels", "body.labels", 1))
        if missing := MISSING_FIELD.fullmatch(message):
            name = NAMES[missing[1]]
            return f"{field}.{name}", f"it needs {name}"
        return ("body.name" if field == "path" else field), message

    (field, message), *more = dict.fromkeys(
        translated(*each) for each in ((invalid.field, invalid.message), *invalid.more)
    )
    return replace(invalid, field=field, message=message, more=tuple(more))
