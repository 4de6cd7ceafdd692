"""Credentials: tokens of programs and sessions of browsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stead.store.statements import StorePart


class Credentials(StorePart):
    """Tokens and sessions."""

    async def read_digests(self) -> set[bytes]:
        """The digests of all tokens and sessions that are not expired."""
        return {r["hash"] for r in await self._sql.fetch("list_digests")}

    async def add_token(
        self, id: str, name: str, digest: bytes, roles: Sequence[tuple[str, str]], by: str, until: datetime
    ) -> bool:
        """Add a token of a program; False where a token of that name has not expired."""
        await self._sql.fetch("delete_expired_token", name)
        return bool(
            await self._sql.fetch_audited("add_token", id, name, digest, [list(role) for role in roles], by, until)
        )

    async def read_token(self, id: str) -> Mapping[str, Any] | None:
        """A token that is not expired; that it was used is noted."""
        return await self._sql.record("read_token", id)

    async def read_tokens(self) -> list[Mapping[str, Any]]:
        """All there are, in order of name."""
        return [dict(r) for r in await self._sql.fetch("list_tokens")]

    async def remove_token(self, name: str, by: str) -> Mapping[str, Any] | None:
        """Revoke a token; what it was, or None where there is none."""
        rows = await self._sql.fetch_audited("remove_token", name, by)
        return dict(rows[0]) if rows else None

    async def add_session(
        self, digest: bytes, principal: str, groups: Sequence[str], token: str | None, until: datetime
    ) -> None:
        """Add a session of a browser, and delete those that have expired."""
        await self._sql.fetch_audited("add_session", digest, principal, list(groups), token, until)

    async def read_session(self, digest: bytes) -> Mapping[str, Any] | None:
        """A session that is not over."""
        return await self._sql.record("read_session", digest)

    async def remove_session(self, digest: bytes) -> None:
        """Delete a session."""
        await self._sql.fetch("remove_session", digest)
