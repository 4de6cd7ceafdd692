"""The part of the client that says who may what, and the values that are answered."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from urllib.parse import quote

from stead.client.models import GrantPage, Login, NewToken, PolicyPage, RoleBinding, TokenPage, Whoami
from stead.client.transport import Transport


class AccessClient:
    """Who one is, tokens, roles and policies."""

    _transport: Transport

    async def login(self) -> Login:
        """How one can log in."""
        return await self._transport.send(Login, "GET", "/v1/login")

    async def whoami(self) -> Whoami:
        """Who one is, and which roles one has."""
        return await self._transport.send(Whoami, "GET", "/v1/whoami")

    async def tokens(self) -> TokenPage:
        """Tokens, without their secrets."""
        return await self._transport.send(TokenPage, "GET", f"{self._transport.cell}/tokens")

    async def create_token(self, name: str, roles: Sequence[RoleBinding], lasts: int) -> NewToken:
        """Make a token that lasts for so many seconds. It is told this once."""
        body = {
            "name": name,
            "roles": [{"role": role.role, "namespace": role.namespace} for role in roles],
            "lifetime_seconds": lasts,
        }
        return await self._transport.send(NewToken, "POST", f"{self._transport.cell}/tokens", body=body)

    async def revoke_token(self, name: str) -> None:
        """Nobody is let in with it any more."""
        await self._transport.send(NoneType, "DELETE", f"{self._transport.cell}/tokens/{quote(name, safe='/')}")

    async def grants(self) -> GrantPage:
        """Who has which role where."""
        return await self._transport.send(GrantPage, "GET", f"{self._transport.cell}/grants")

    async def grant_role(self, subject: str, role: RoleBinding) -> None:
        """Give `user:NAME` or `group:NAME` a role."""
        await self._transport.send(NoneType, "PUT", f"{self._transport.cell}/grants", query=_grant(subject, role))

    async def revoke_role(self, subject: str, role: RoleBinding) -> None:
        """Take it from them."""
        await self._transport.send(NoneType, "DELETE", f"{self._transport.cell}/grants", query=_grant(subject, role))

    async def policies(self) -> PolicyPage:
        """Policies beside the roles."""
        return await self._transport.send(PolicyPage, "GET", f"{self._transport.cell}/policies")

    async def put_policy(self, name: str, text: str) -> None:
        """Make a policy, or put another in its place."""
        await self._transport.send(
            NoneType, "PUT", f"{self._transport.cell}/policies/{quote(name, safe='')}", body={"text": text}
        )

    async def remove_policy(self, name: str) -> None:
        """Take a policy away."""
        await self._transport.send(NoneType, "DELETE", f"{self._transport.cell}/policies/{quote(name, safe='')}")


def _grant(subject: str, role: RoleBinding) -> dict[str, str]:
    return {"subject": subject, "role": role.role, "namespace": role.namespace}
