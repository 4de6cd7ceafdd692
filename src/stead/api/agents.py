"""Agents: who is one, who may become one, and who is one no longer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

from stead.access.policies import AGENTS
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.problems import FieldError, ProblemResponse
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import Agent, AgentIdentities, Invitation, InvitationRejected, NameInUse
from stead.application.commands import Application
from stead.application.models import Page

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
AgentName = Annotated[str, Path(description="The agent.", max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Lane = Annotated[str, Field(min_length=1, max_length=90)]


class InvitationRequest(ResponseModel):
    """Who is to join, and until when."""

    name: Name
    lanes: Annotated[list[Lane], Field(min_length=1, max_length=200)]
    lifetime_seconds: Annotated[int, Field(ge=1, le=7 * 86_400)] = 3600


class JoinRequest(ResponseModel):
    """An agent that joins: its token and its public keys, with the proof that it has the private ones."""

    token: Annotated[str, Field(max_length=200)]
    name: Annotated[str, Field(max_length=64)] = ""
    """Where it says one, the token has to be for that."""
    user_key: Annotated[str, Field(max_length=100)]
    """By which the bus is to know it."""
    request: Annotated[str, Field(max_length=10_000)]
    """For a certificate, as PEM."""
    proof: Annotated[str, Field(max_length=200)]
    """The request, signed with the user's key, in base 64."""


class AgentCredentials(ResponseModel):
    """What it connects with from now on."""

    name: str
    cell: str
    lanes: list[str]
    bus: list[str]
    jwt: str
    certificate: str
    authority: str
    """The certificate authority of the bus's servers."""


routes = router("agents")


def _identities(application: Application) -> AgentIdentities:
    if application.identities is None:
        raise ProblemResponse("no-identities", "this server runs without an identity: its bus lets everybody in")
    return application.identities


@routes.get("/v1/cells/{cell}/agents")
async def list_agents(queries: QueriesDep) -> Page[Agent]:
    """All agents that have an identity, and all that were heard of."""
    return Page(tuple(await queries.agents()))


@routes.post("/v1/cells/{cell}/agents/invitations", status_code=201)
async def invite_agent(application: ApplicationDep, invite: InvitationRequest, caller: Who) -> Invitation:
    """A token with which one agent may join, once, under this name and for these lanes. It is shown only here."""
    authorized = application.authorization.require(caller, AGENTS)
    try:
        made = await _identities(application).invite(invite.name, invite.lanes, invite.lifetime_seconds, authorized)
    except NameInUse as error:
        raise ProblemResponse("has-identity", str(error)) from None
    except ValueError as error:
        raise _invalid("lanes", error) from None
    return made


@routes.post("/v1/cells/{cell}/agents/join")
async def join_agent(application: ApplicationDep, join: JoinRequest) -> AgentCredentials:
    """Become an agent. The token is all that is asked for; it holds once, and private keys are never sent."""
    try:
        made = await _identities(application).join(join.token, join.name, join.user_key, join.request, join.proof)
    except InvitationRejected as error:
        raise ProblemResponse("not-invited", str(error)) from None
    except ValueError as error:
        raise _invalid("request", error) from None
    issued = made.issued
    return AgentCredentials(
        name=made.name,
        cell=made.cell,
        lanes=list(made.lanes),
        bus=list(made.bus),
        jwt=issued.jwt,
        certificate=issued.certificate,
        authority=issued.authority,
    )


@routes.post("/v1/cells/{cell}/agents/{name}/revoke")
async def revoke_agent(application: ApplicationDep, name: AgentName, caller: Who) -> Agent:
    """The agent is nobody from now on: its connections end, and it cannot come back."""
    authorized = application.authorization.require(caller, AGENTS)
    gone = await _identities(application).revoke(name, authorized)
    if gone is None:
        raise ProblemResponse("not-found", f"there is no agent {name} that could be revoked")
    return gone


def _invalid(field: str, error: ValueError) -> ProblemResponse:
    says = str(error)
    return ProblemResponse("invalid", says, errors=[FieldError(location=f"body.{field}", message=says)])
