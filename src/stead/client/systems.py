"""Systems as a server answers with them: the tree, what runs on it, and what a deploy would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from stead.client.models import Accepted, System, SystemPlan
from stead.client.transport import Transport


class SystemsClient:
    """Trees of services."""

    _transport: Transport

    async def system(self, path: str) -> System:
        """A system with its services and jobs, and what runs on it."""
        return await self._transport.send(System, "GET", f"/v1/systems/{_quoted(path)}")

    async def plan(
        self, path: str, definition: Mapping[str, Any], *, at: str = "/", expect_agent: bool = False
    ) -> SystemPlan:
        """What a deploy would do. Nothing is done."""
        body = {"definition": dict(definition), "path": at, "expect_agent": expect_agent}
        return await self._transport.send(SystemPlan, "POST", f"/v1/plans/{_quoted(path)}", body=body)

    async def deploy(
        self,
        path: str,
        definition: Mapping[str, Any],
        *,
        at: str = "/",
        mark: str = "",
        on_failure: Literal["rollback", "keep"] = "rollback",
        reason: str = "",
        key: str | None = None,
        expect_agent: bool = False,
    ) -> Accepted:
        """Define what runs at a place of a system; with the mark of a plan, only if that still holds."""
        spec = {"definition": dict(definition), "path": at} | ({"mark": mark} if mark else {})
        body = {"spec": spec, "on_failure": on_failure, "reason": reason, "expect_agent": expect_agent}
        headers = {"Idempotency-Key": key or str(uuid4())}
        address = f"/v1/resources/{_quoted(path)}"
        return await self._transport.send(
            Accepted, "POST", address, query={"action": "deploy"}, body=body, headers=headers
        )


def _quoted(path: str) -> str:
    return quote(path.removeprefix("/"), safe="/")
