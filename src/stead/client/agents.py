"""The part of the client that says who may be an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct

from stead.client.transport import Transport


class AgentIdentity(Struct, frozen=True, kw_only=True):
    """An agent: who it is, if it has an identity, and when it was last heard of."""

    name: str
    lanes: tuple[str, ...] = ()
    joined_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_seen: datetime | None = None
    there: bool = False
    version: str = ""
    rejected: Mapping[str, str] = {}
    """By lane, why its provider rejects the agent, as with wrong credentials."""


class AgentList(Struct, frozen=True, kw_only=True):
    """All agents."""

    items: tuple[AgentIdentity, ...]


class Invitation(Struct, frozen=True, kw_only=True):
    """With its token one agent may join, once. The server keeps no token."""

    name: str
    lanes: tuple[str, ...]
    token: str
    expires_at: datetime


class Joined(Struct, frozen=True, kw_only=True):
    """What an agent is given that was let in."""

    name: str
    cell: str
    lanes: tuple[str, ...]
    bus: tuple[str, ...]
    jwt: str
    certificate: str
    authority: str


class Agents:
    """Invite, let in, list and revoke."""

    _transport: Transport

    async def agents(self) -> AgentList:
        """All agents that have an identity, and all that were heard of."""
        return await self._transport.send(AgentList, "GET", "/v1/agents")

    async def invite_agent(self, name: str, lanes: Sequence[str], seconds: int = 3600) -> Invitation:
        """A token with which one agent may join, under this name and for these lanes."""
        body = {"name": name, "lanes": list(lanes), "seconds": seconds}
        return await self._transport.send(Invitation, "POST", "/v1/agents/invitations", body=body)

    async def join_agent(self, token: str, user_key: str, request: str, proof: str, name: str = "") -> Joined:
        """Become an agent. Only public keys are sent; repeated with the same ones, it is let in once."""
        body = {"token": token, "name": name, "user_key": user_key, "request": request, "proof": proof}
        return await self._transport.send(Joined, "POST", "/v1/agents/join", body=body)

    async def revoke_agent(self, name: str) -> AgentIdentity:
        """The agent is nobody from now on: its connections end, and it cannot come back."""
        return await self._transport.send(AgentIdentity, "POST", f"/v1/agents/{quote(name, safe='')}/revoke")
