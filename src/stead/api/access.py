"""Who may what: tokens for programs, roles of people and groups, and an operator's own policies."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import Path as InPath
from fastapi import Query
from pydantic import ConfigDict, Field

from stead.access.access import InvalidAccessRequest
from stead.access.authorized import Authorized
from stead.access.caller import EVERYWHERE, Caller
from stead.access.policies import ACCESS, InvalidPolicy
from stead.api.identity import Who
from stead.api.login import RoleBinding
from stead.api.models import ResponseModel
from stead.api.problems import FieldError, ProblemResponse
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application.access_commands import AccessCommands, AuthenticationDisabled
from stead.application.commands import Application
from stead.application.models import Page
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


def _authorized(application: Application, caller: Caller, namespaces: Iterable[str]) -> Authorized:
    try:
        return AccessCommands(application).authorize(caller, namespaces)
    except AuthenticationDisabled:
        raise ProblemResponse("invalid", "nobody is asked who they are here: there is nothing to give") from None


@routes.get("/v1/cells/{cell}/tokens")
async def list_tokens(application: ApplicationDep, queries: QueriesDep) -> Page[Token]:
    """Tokens for programs, of the namespaces in which one says who may what."""
    found = await AccessCommands(application).tokens(queries.authorized)
    return Page(tuple(Token(**{**token, "roles": _roles(token["roles"])}) for token in found))


@routes.post("/v1/cells/{cell}/tokens", status_code=201)
async def create_token(application: ApplicationDep, body: TokenRequest, caller: Who) -> NewToken:
    """Make a token for a program. Its secret is in the answer, and nowhere else.

    The name of a token that an admin of namespaces makes begins with these namespaces, as in `shop/ci`.
    """
    authorized = _authorized(application, caller, [role.namespace for role in body.roles])
    wanted = [(role.role, role.namespace) for role in body.roles]
    lasts = timedelta(seconds=body.lifetime_seconds)
    try:
        made = await AccessCommands(application).create_token(body.name, wanted, lasts, authorized)
    except InvalidAccessRequest as error:
        raise _invalid("body", str(error)) from None
    log.info("%s made the token %s with %s", caller.name, made.name, wanted)
    return NewToken(name=made.name, token=made.text, roles=_roles(wanted), expires_at=made.expires_at)


@routes.delete("/v1/cells/{cell}/tokens/{name:path}", status_code=204)
async def revoke_token(application: ApplicationDep, name: TokenName, caller: Who) -> None:
    """Revoke a token: within a second it lets nobody in any more, at any server."""
    commands = AccessCommands(application)
    authorized = await commands.authorize_revocation(name, caller)
    if authorized is None:
        raise ProblemResponse("not-found", f"there is no token {name}")
    await commands.revoke_token(name, authorized)
    log.info("%s revoked the token %s", caller.name, name)


@routes.get("/v1/cells/{cell}/grants")
async def list_grants(application: ApplicationDep, queries: QueriesDep) -> Page[Grant]:
    """Who has which role where, in the namespaces in which one says who may what."""
    found = await AccessCommands(application).grants(queries.authorized)
    return Page(tuple(Grant(**grant) for grant in found))


@routes.put("/v1/cells/{cell}/grants", status_code=204)
async def grant_role(
    application: ApplicationDep, caller: Who, subject: Subject, role: Role, namespace: Where = EVERYWHERE
) -> None:
    """Give a person or a group a role."""
    authorized = _authorized(application, caller, [namespace])
    try:
        await AccessCommands(application).grant(subject, role, namespace, authorized)
    except InvalidAccessRequest as error:
        raise _invalid("query", str(error)) from None
    log.info("%s gave %s the role %s in %s", caller.name, subject, role, namespace)


@routes.delete("/v1/cells/{cell}/grants", status_code=204)
async def revoke_role(
    application: ApplicationDep, caller: Who, subject: Subject, role: Role, namespace: Where = EVERYWHERE
) -> None:
    """Take a role from a person or a group."""
    authorized = _authorized(application, caller, [namespace])
    if not await AccessCommands(application).revoke_grant(subject, role, namespace, authorized):
        raise ProblemResponse("not-found", f"{subject} is not {role} in {namespace}")
    log.info("%s took the role %s in %s from %s", caller.name, role, namespace, subject)


@routes.get("/v1/cells/{cell}/policies")
async def list_policies(application: ApplicationDep, caller: Who) -> Page[Policy]:
    """The operator's own policies, beside the roles."""
    authorized = application.authorization.require(caller, ACCESS)
    return Page(tuple(Policy(**policy) for policy in await AccessCommands(application).policies(authorized)))


@routes.put("/v1/cells/{cell}/policies/{name}", status_code=204)
async def put_policy(application: ApplicationDep, name: Named, body: PolicyText, caller: Who) -> None:
    """Make a policy, or put another in its place. It is in force at every server within a second."""
    authorized = _authorized(application, caller, [EVERYWHERE])
    try:
        await AccessCommands(application).put_policy(name, body.text, authorized)
    except InvalidPolicy as error:
        raise _invalid("body.text", str(error)) from None
    log.info("%s put the policy %s in force", caller.name, name)


@routes.delete("/v1/cells/{cell}/policies/{name}", status_code=204)
async def remove_policy(application: ApplicationDep, name: Named, caller: Who) -> None:
    """Take a policy away."""
    authorized = _authorized(application, caller, [EVERYWHERE])
    if not await AccessCommands(application).remove_policy(name, authorized):
        raise ProblemResponse("not-found", f"there is no policy {name}, or it is in a file of the server's")
    log.info("%s took the policy %s away", caller.name, name)


def _roles(pairs: Iterable[tuple[str, str]]) -> list[RoleBinding]:
    return [RoleBinding(role=role, namespace=where) for role, where in pairs]


def _invalid(where: str, says: str) -> ProblemResponse:
    return ProblemResponse("invalid", f"{where}: {says}", errors=[FieldError(location=where, message=says)])
