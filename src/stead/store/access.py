"""Statements about who may ask, and what for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stead.store.statements import Statements


class AccessStatements(Statements):
    """Tokens, sessions, grants and policies."""

    async def access_version(self) -> int:
        """Rises with every change of all this."""
        return int(await self._pool.fetchval("SELECT version FROM access"))

    async def digests(self) -> set[bytes]:
        """The digests of all tokens and sessions that are not expired."""
        return {r["hash"] for r in await self.fetch("list_digests")}

    # Tokens

    async def add_token(
        self, id: str, name: str, digest: bytes, roles: Sequence[tuple[str, str]], by: str, until: datetime
    ) -> bool:
        """A token for a program; False where there is one of that name that is not expired."""
        await self.fetch("forget_expired_token", name)
        return bool(await self.audited("add_token", id, name, digest, [list(role) for role in roles], by, until))

    async def token(self, id: str) -> Mapping[str, Any] | None:
        """A token that is not expired; that it was used is noted."""
        rows = await self.fetch("read_token", id)
        return dict(rows[0]) if rows else None

    async def tokens(self) -> list[Mapping[str, Any]]:
        """All there are, in order of name."""
        return [dict(r) for r in await self.fetch("list_tokens")]

    async def remove_token(self, name: str, by: str) -> Mapping[str, Any] | None:
        """Nobody is let in with it any more."""
        rows = await self.audited("remove_token", name, by)
        return dict(rows[0]) if rows else None

    # Sessions

    async def add_session(
        self, digest: bytes, principal: str, groups: Sequence[str], token: str | None, until: datetime
    ) -> None:
        """Somebody has logged in with a browser. Those that are over are forgotten on the way."""
        await self.audited("add_session", digest, principal, list(groups), token, until)

    async def session(self, digest: bytes) -> Mapping[str, Any] | None:
        """A session that is not over."""
        rows = await self.fetch("read_session", digest)
        return dict(rows[0]) if rows else None

    async def remove_session(self, digest: bytes) -> None:
        """Somebody has logged out."""
        await self.fetch("remove_session", digest)

    # Grants and policies

    async def grants(self) -> list[Mapping[str, Any]]:
        """Who has which role where."""
        return [dict(r) for r in await self.fetch("list_grants")]

    async def add_grant(self, subject: str, role: str, namespace: str, by: str) -> None:
        """Give somebody a role; it may be there already."""
        await self.audited("add_grant", subject, role, namespace, by)

    async def remove_grant(self, subject: str, role: str, namespace: str, by: str) -> bool:
        """Take it from them; whether they had it."""
        return bool(await self.audited("remove_grant", subject, role, namespace, by))

    async def policies(self) -> list[Mapping[str, Any]]:
        """An operator's own policies, in order of name."""
        return [dict(r) for r in await self.fetch("list_policies")]

    async def put_policy(self, name: str, text: str, by: str) -> None:
        """Make a policy, or put another in its place."""
        await self.audited("put_policy", name, text, by)

    async def remove_policy(self, name: str, by: str) -> bool:
        """Take it away; whether there was one."""
        return bool(await self.audited("remove_policy", name, by))
