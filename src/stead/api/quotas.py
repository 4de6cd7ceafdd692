"""Quotas: how much an account or a cloudspace has, and may have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.problems import ProblemResponse, problem_response
from stead.api.resources import Where
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import NotFound
from stead.application.cell_commands import CellCommands

Most = Annotated[int, Field(ge=0, le=2**53)]


class Quota(ResponseModel):
    """Of one thing."""

    resource: str
    """`machines`, `cpus`, `memory` (MiB), `disks` or `storage` (MiB); of the leases of a namespace, where there is a
    quota, `hosts` (at a time) and `lease_seconds` (of each)."""
    used: int
    """What is there: it counts from when it begins to be made until it is destroyed."""
    limit: int | None
    """What may be there; null: as much as there is."""


class Quotas(ResponseModel):
    """Of all things."""

    path: str
    items: list[Quota]


class QuotaChange(ResponseModel):
    """What may be there from now on; null: as much as there is. What is left out stays as it is."""

    machines: Most | None = None
    cpus: Most | None = None
    memory: Most | None = None
    """MiB."""
    disks: Most | None = None
    storage: Most | None = None
    """MiB."""
    hosts: Most | None = None
    """Of a namespace: hosts that its leases may have at a time."""
    lease_seconds: Most | None = None
    """Of a namespace: how long a lease may last."""


routes = router("quotas")


@routes.get("/v1/quotas/{path:path}")
async def read_quotas(queries: QueriesDep, path: Where) -> Quotas:
    """How much something has, and may have."""
    found = await queries.quotas(f"/{path}")
    if found is None:
        raise ProblemResponse("not-found", f"there is nothing at /{path}")
    return Quotas(
        path=f"/{path}", items=[Quota(resource=item.what, used=item.used, limit=item.most) for item in found]
    )


@routes.put("/v1/quotas/{path:path}")
async def set_quotas(application: ApplicationDep, caller: Who, path: Where, change: QuotaChange) -> Quotas:
    """Say how much something may have. What is there already stays, also where that is more."""
    commands, wanted = CellCommands(application), change.model_dump(exclude_unset=True)
    authorized = await commands.authorize_quotas(f"/{path}", wanted, caller)
    if isinstance(authorized, NotFound):
        raise problem_response(authorized)
    found = await commands.set_quotas(f"/{path}", wanted, authorized)
    return Quotas(
        path=f"/{path}", items=[Quota(resource=item.what, used=item.used, limit=item.most) for item in found]
    )
