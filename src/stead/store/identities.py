"""Identities of agents: invitations, renewals and revocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stead.store.statements import StorePart


class Identities(StorePart):
    """Invitations and identities of agents."""

    async def invite(
        self, digest: bytes, name: str, lanes: Sequence[str], by: str, seconds: float
    ) -> datetime | None:
        """Keep an invitation; until when it holds, or None where there is an agent of that name."""
        rows = await self._sql.fetch_audited("invite_agent", digest, name, list(lanes), by, seconds)
        return rows[0]["expires_at"] if rows else None

    async def join(self, digest: bytes, name: str, user_key: str, seconds: float) -> Mapping[str, Any] | None:
        """Use an invitation up; the agent's name and lanes, or None where it does not hold."""
        return await self._sql.record("join_agent", digest, name, user_key, seconds)

    async def renew(self, name: str, seconds: float) -> Mapping[str, Any] | None:
        """An agent's identity holds for so much longer; its lanes and key, or None where it has none."""
        return await self._sql.record("renew_agent", name, seconds)

    async def revoke(self, name: str, by: str) -> bool:
        """An agent's identity holds no longer; whether there was one."""
        return bool(await self._sql.fetch_audited("revoke_agent", name, by))

    async def read_revoked_keys(self) -> dict[str, int]:
        """Revoked keys, each with the time up to which signatures for it are void."""
        return {r["user_key"]: r["until"] for r in await self._sql.fetch("read_revoked_keys")}

    async def lanes_of(self, name: str) -> list[str]:
        """The lanes that an agent may speak for."""
        rows = await self._sql.fetch("read_agent_lanes", name)
        return list(rows[0]["lanes"]) if rows else []
