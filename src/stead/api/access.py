"""Who may what: tokens for programs, roles of people and groups, and an operator's own policies."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import Path as InPath
from fastapi import Query
from pydantic import ConfigDict, Field

from stead.access.access import Access, InvalidAccessRequest
from stead.access.authorization import THE_CELL
from stead.access.caller import EVERYWHERE, Caller
from stead.access.policies import ACCESS, NAMESPACE, InvalidPolicy, PolicyResource
from stead.api.identity import Who
from stead.api.login import RoleBinding
from stead.api.models import ResponseModel
from stead.api.problems import FieldError, ProblemResponse
from stead.api.routing import ServiceDep, router
from stead.application import Application, Page
from stead.application.names import SEGMENT

log = logging.getLogger(__name__)

Named = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100)]
TokenName = Annotated[str, InPath(pattern=f"^({SEGMENT}/)*{SEGMENT}$", max_length=1000)]
Subject = Annotated[
    str,
    Query(pattern=r"^(user|group):[^\x00-\x1f\x7f]+$", max_length=250, description="`user:NAME` or `group:NAME`."),
]
RoleName = Literal["viewer", "operator", "admin"]
PLACE = rf"^({SEGMENT}|\*)$"
Role = Annotated[RoleName, Query(description="Which role.")]
Where = Annotated[
    str,
    Query(pattern=PLACE, max_length=100, description="A namespace; `*` for all, and the cell itself."),
]
DAY = 86400


class RoleRequest(ResponseModel):
    """A role that a token is to have, and where."""

    model_config = ConfigDict(extra="forbid")

    role: RoleName
    namespace: Annotated[str, Field(pattern=PLACE, max_length=100)]
    """`*`: in every namespace, and in the cell itself."""


class TokenRequest(ResponseModel):
    """A request for a token for a program."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=f"^{SEGMENT}$", max_length=100)]
    roles: Annotated[list[RoleRequest], Field(min_length=1, max_length=100)]
    lifetime_seconds: Annotated[int, Field(ge=1, le=366 * DAY)] = 30 * DAY
    """Seconds."""


class Token(ResponseModel):
    """A token, without its secret, which is not kept."""

    id: str
    name: str
    roles: list[RoleBinding]
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    """To the hour."""


class NewToken(ResponseModel):
    """A token that was just made."""

    name: str
    token: str
    """The secret. It is told this once."""
    roles: list[RoleBinding]
    expires_at: datetime


class Grant(ResponseModel):
    """A role of a subject in a namespace."""

    subject: str
    role: str
    namespace: str
    created_by: str
    created_at: datetime


class Policy(ResponseModel):
    """A policy of the operator's own."""

    name: str
    text: str
    changed_by: str
    changed_at: datetime | None
    """Null for one that is in a file of the server's."""


class PolicyText(ResponseModel):
    """A policy, in Cedar."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=100_000)]


routes = router("access")


def _may(service: Application, caller: Caller, namespaces: Iterable[str]) -> bool:
    """Whether somebody says who may what in all of some namespaces."""
    judged = [service.permission.judge(caller, ACCESS, _place(where), admin=True) for where in namespaces]
    return all(verdict.allowed for verdict in judged)


def _require(service: Application, caller: Caller, namespaces: Iterable[str]) -> Access:
    for where in namespaces:
        service.permission.require(caller, ACCESS, _place(where))
    if service.access is None or service.access.open:
        raise ProblemResponse("invalid", "nobody is asked who they are here: there is nothing to give")
    return service.access


@routes.get("/v1/tokens")
async def list_tokens(service: ServiceDep, caller: Who) -> Page[Token]:
    """Tokens for programs, of the namespaces in which one says who may what."""
    caller.judged = True
    found = await service.view.store.credentials.read_tokens()
    theirs = [token for token in found if _may(service, caller, [where for _, where in token["roles"]])]
    return Page(tuple(Token(**{**token, "roles": _roles(token["roles"])}) for token in theirs))


@routes.post("/v1/tokens", status_code=201)
async def create_token(service: ServiceDep, body: TokenRequest, caller: Who) -> NewToken:
    """Make a token for a program. Its secret is in the answer, and nowhere else.

    The name of a token that an admin of namespaces makes begins with these namespaces, as in `shop/ci`.
    """
    access = _require(service, caller, [role.namespace for role in body.roles])
    wanted = [(role.role, role.namespace) for role in body.roles]
    # Policies of the cell name tokens: a name without a namespace is given by admins of the cell alone.
    within = [] if _may(service, caller, [EVERYWHERE]) else sorted({role.namespace for role in body.roles})
    name = "/".join([*within, body.name])
    try:
        made = await access.create_token(name, wanted, timedelta(seconds=body.lifetime_seconds), caller.name)
    except InvalidAccessRequest as error:
        raise _invalid("body", str(error)) from None
    log.info("%s made the token %s with %s", caller.name, name, wanted)
    return NewToken(name=made.name, token=made.text, roles=_roles(wanted), expires_at=made.expires_at)


@routes.delete("/v1/tokens/{name:path}", status_code=204)
async def revoke_token(service: ServiceDep, name: TokenName, caller: Who) -> None:
    """Revoke a token: within a second it lets nobody in any more, at any server."""
    caller.judged = True
    found = next(
        (token for token in await service.view.store.credentials.read_tokens() if token["name"] == name), None
    )
    if found is None or not _may(service, caller, [where for _, where in found["roles"]]):
        raise ProblemResponse("not-found", f"there is no token {name}")
    await service.view.store.credentials.remove_token(name, caller.name)
    log.info("%s revoked the token %s", caller.name, name)


@routes.get("/v1/grants")
async def list_grants(service: ServiceDep, caller: Who) -> Page[Grant]:
    """Who has which role where, in the namespaces in which one says who may what."""
    caller.judged = True
    found = [
        grant
        for grant in await service.view.store.access.read_grants()
        if _may(service, caller, [grant["namespace"]])
    ]
    return Page(tuple(Grant(**grant) for grant in found))


@routes.put("/v1/grants", status_code=204)
async def give_role(
    service: ServiceDep, caller: Who, subject: Subject, role: Role, namespace: Where = EVERYWHERE
) -> None:
    """Give a person or a group a role."""
    access = _require(service, caller, [namespace])
    try:
        await access.grant(subject, role, namespace, caller.name)
    except InvalidAccessRequest as error:
        raise _invalid("query", str(error)) from None
    log.info("%s gave %s the role %s in %s", caller.name, subject, role, namespace)


@routes.delete("/v1/grants", status_code=204)
async def take_role(
    service: ServiceDep, caller: Who, subject: Subject, role: Role, namespace: Where = EVERYWHERE
) -> None:
    """Take a role from a person or a group."""
    access = _require(service, caller, [namespace])
    if not await access.store.access.remove_grant(subject, role, namespace, caller.name):
        raise ProblemResponse("not-found", f"{subject} is not {role} in {namespace}")
    log.info("%s took the role %s in %s from %s", caller.name, role, namespace, subject)


@routes.get("/v1/policies")
async def list_policies(service: ServiceDep, caller: Who) -> Page[Policy]:
    """The operator's own policies, beside the roles."""
    service.permission.require(caller, ACCESS)
    found = await service.access.all_policies() if service.access is not None else []
    return Page(tuple(Policy(**policy) for policy in found))


@routes.put("/v1/policies/{name}", status_code=204)
async def put_policy(service: ServiceDep, name: Named, body: PolicyText, caller: Who) -> None:
    """Make a policy, or put another in its place. It is in force at every server within a second."""
    access = _require(service, caller, [EVERYWHERE])
    try:
        await access.put_policy(name, body.text, caller.name)
    except InvalidPolicy as error:
        raise _invalid("body.text", str(error)) from None
    log.info("%s put the policy %s in force", caller.name, name)


@routes.delete("/v1/policies/{name}", status_code=204)
async def remove_policy(service: ServiceDep, name: Named, caller: Who) -> None:
    """Take a policy away."""
    access = _require(service, caller, [EVERYWHERE])
    if not await access.remove_policy(name, caller.name):
        raise ProblemResponse("not-found", f"there is no policy {name}, or it is in a file of the server's")
    log.info("%s took the policy %s away", caller.name, name)


def _place(namespace: str) -> PolicyResource:
    return THE_CELL if namespace == EVERYWHERE else PolicyResource(f"/{namespace}", NAMESPACE)


def _roles(pairs: Iterable[tuple[str, str]]) -> list[RoleBinding]:
    return [RoleBinding(role=role, namespace=where) for role, where in pairs]


def _invalid(where: str, says: str) -> ProblemResponse:
    return ProblemResponse("invalid", f"{where}: {says}", errors=[FieldError(location=where, message=says)])
