"""The part of the client that says who may be an agent."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from stead.client.models import Agent, AgentCredentials, AgentPage, Invitation
from stead.client.transport import Transport


class AgentsClient:
    """Invite, let in, list and revoke."""

    _transport: Transport

    async def agents(self) -> AgentPage:
        """All agents that have an identity, and all that were heard of."""
        return await self._transport.send(AgentPage, "GET", f"{self._transport.cell}/agents")

    async def invite_agent(self, name: str, lanes: Sequence[str], seconds: int = 3600) -> Invitation:
        """A token with which one agent may join, under this name and for these lanes."""
        body = {"name": name, "lanes": list(lanes), "lifetime_seconds": seconds}
        return await self._transport.send(Invitation, "POST", f"{self._transport.cell}/agents/invitations", body=body)

    async def join_agent(
        self, token: str, user_key: str, request: str, proof: str, name: str = ""
    ) -> AgentCredentials:
        """Become an agent. Only public keys are sent; repeated with the same ones, it is let in once."""
        body = {"token": token, "name": name, "user_key": user_key, "request": request, "proof": proof}
        return await self._transport.send(AgentCredentials, "POST", f"{self._transport.cell}/agents/join", body=body)

    async def revoke_agent(self, name: str) -> Agent:
        """The agent is nobody from now on: its connections end, and it cannot come back."""
        return await self._transport.send(
            Agent, "POST", f"{self._transport.cell}/agents/{quote(name, safe='')}/revoke"
        )
