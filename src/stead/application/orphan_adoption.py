"""Orphans: objects at a provider without a resource are adopted as resources, or removed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from stead.access.authorized import Authorized
from stead.access.lane_use import ADOPT, ORPHANS_PATH
from stead.application.models import InvalidRequest
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.observation.observer import ProviderObserver
from stead.lifecycle.decision import Rejection
from stead.lifecycle.rows import Actor

REMOVE = "remove"

TOKEN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A token of ours."""


async def adopt(
    admission: Admission, observer: ProviderObserver | None, lane: str, token: str, path: str, authorized: Authorized
) -> Accepted | Rejection | NotFound | InvalidRequest:
    """Put an orphan on record at a path, or at the one it was made for; an observation then shows its state."""
    store = admission.executor.store
    found = await store.orphans.read(lane, token)
    if found is None:
        return NotFound(f"there is no orphan {token} on {lane}")
    if kind := found["facts"].get("kind"):
        return InvalidRequest(
            "token", f"only VMs can be adopted and removed; this is a {kind}: remove it at the provider"
        )
    path = path or found["path"]
    if not path:
        return InvalidRequest("path", "nobody knows what it was made for: say at which path it is to be")
    answer = await admission.admit(_request(found, path), authorized.for_step(ADOPT, Actor.CONTROLLER))
    if isinstance(answer, Accepted):
        await store.orphans.remove(lane, token)
        if observer is not None:
            await observer.refresh(path)
    return answer


async def remove(
    admission: Admission, observer: ProviderObserver | None, lane: str, token: str, authorized: Authorized
) -> Accepted | Rejection | NotFound | InvalidRequest:
    """Put an orphan on record, and terminate it: an operation like any other, with its lines in the journal."""
    path = f"{ORPHANS_PATH}/{lane.replace('.', '/', 1)}/{token_of(lane, token)}"
    row = await admission.executor.store.resources.read(path)
    if row is None:
        adopted = await adopt(admission, observer, lane, token, path, authorized)
        if not isinstance(adopted, Accepted):
            return adopted
    request = ActionRequest(path, "terminate", "vm", reason="nobody owns it")
    answer = await admission.admit(request, authorized.for_step("terminate"))
    return replace(answer, action=REMOVE) if isinstance(answer, Accepted) else answer


def token_of(lane: str, key: str) -> UUID:
    """The token of the record for an orphan: its own, or one that follows from the key that it is listed under."""
    return UUID(key) if TOKEN.fullmatch(key) else uuid5(NAMESPACE_URL, f"stead:{lane}/{key}")


def _request(orphan: Mapping[str, Any], path: str) -> ActionRequest:
    provider, _, region = orphan["lane"].partition(".")
    return ActionRequest(
        path,
        ADOPT,
        "vm",
        {"provider": provider, "region": region},
        orphan["lane"],
        token=token_of(orphan["lane"], orphan["token"]),
        facts=orphan["facts"],
    )
