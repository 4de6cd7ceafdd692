"""Systems as a server answers with them: the tree, what runs on it, and what a deploy would do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from msgspec import Struct

from stead.client.models import Accepted
from stead.client.transport import Transport


class SystemPart(Struct, frozen=True, kw_only=True):
    """A service or a job of a system."""

    path: str
    kind: str
    state: str
    lane: str = ""
    count: int = 1
    up: int | None = None
    """Copies that were seen to run; None where nobody has said."""
    operation: str | None = None


class RunningDeploy(Struct, frozen=True, kw_only=True):
    """A deploy or a teardown that is under way, with the place that it has."""

    id: str
    action: str
    place: str
    by: str = ""
    since: datetime | None = None
    total: int = 0
    remaining: int = 0
    failed: int = 0
    asked: bool = True
    cancelled: bool = False


class System(Struct, frozen=True, kw_only=True):
    """A system whole."""

    path: str
    state: str
    operation: str | None = None
    lanes: tuple[str, ...] = ()
    parts: tuple[SystemPart, ...] = ()
    running: tuple[RunningDeploy, ...] = ()


class SystemChange(Struct, frozen=True, kw_only=True):
    """What becomes of a service or a job."""

    path: str
    kind: str
    action: str
    how: str
    """`added`, `changed`, `scaled`, `restarted` or `removed`."""
    lane: str = ""
    fields: tuple[str, ...] = ()
    """What is not as it was."""


class SystemPlan(Struct, frozen=True, kw_only=True):
    """What a deploy would do with things as they are."""

    path: str
    place: str
    mark: str
    """A deploy that brings it is let in only while this is so."""
    changes: tuple[SystemChange, ...] = ()


class Systems:
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
        on_failure: Literal["undo", "keep"] = "undo",
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
