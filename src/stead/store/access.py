"""Access: which roles subjects have where, and the operator's own policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart


class Access(StorePart):
    """Grants of roles, and policies."""

    async def read_version(self) -> int:
        """Rises with every change of all this."""
        return int(await self._sql.value("read_access_version"))

    async def read_grants(self) -> list[Mapping[str, Any]]:
        """Who has which role where."""
        return [dict(r) for r in await self._sql.fetch("list_grants")]

    async def add_grant(self, subject: str, role: str, namespace: str, by: str) -> None:
        """Grant a role to a subject, unless it has it already."""
        await self._sql.fetch_audited("add_grant", subject, role, namespace, by)

    async def remove_grant(self, subject: str, role: str, namespace: str, by: str) -> bool:
        """Take it from them; whether they had it."""
        return bool(await self._sql.fetch_audited("remove_grant", subject, role, namespace, by))

    async def read_policies(self) -> list[Mapping[str, Any]]:
        """An operator's own policies, in order of name."""
        return [dict(r) for r in await self._sql.fetch("list_policies")]

    async def put_policy(self, name: str, text: str, by: str) -> None:
        """Make a policy, or put another in its place."""
        await self._sql.fetch_audited("put_policy", name, text, by)

    async def remove_policy(self, name: str, by: str) -> bool:
        """Take it away; whether there was one."""
        return bool(await self._sql.fetch_audited("remove_policy", name, by))
