"""What a provider has and nobody owns gets an owner: a resource that is found to be what is there, or is removed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from stead.access.caller import Caller
from stead.access.lane_use import ADOPT, LOST
from stead.application.models import InvalidRequest, ResourceNotFound
from stead.controller.admission.admission import Accepted, Admission, NotFound
from stead.controller.admission.request import AdmissionRequest
from stead.controller.observation.observer import ProviderObserver
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor

REMOVE = "remove"

TOKEN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A token of ours."""


async def adopt(
    admission: Admission, looks: ProviderObserver | None, lane: str, token: str, path: str, caller: Caller
) -> Accepted | Rejection | ResourceNotFound | InvalidRequest:
    """Put an orphan on record at a path, or at the one it was made for; a look then tells what it is."""
    store = admission.executor.store
    found = await store.orphans.read(lane, token)
    if found is None:
        return ResourceNotFound(f"there is no orphan {token} on {lane}")
    if kind := found["facts"].get("kind"):
        return InvalidRequest(
            "token", f"only VMs can be adopted and removed; this is a {kind}: remove it at the provider"
        )
    path = path or found["path"]
    if not path:
        return InvalidRequest("path", "nobody knows what it was made for: say at which path it is to be")
    answer = await admission.ask(_wish(found, path, caller))
    if isinstance(answer, Accepted):
        await store.orphans.remove(lane, token)
        if looks is not None:
            await looks.refresh(path)
    return ResourceNotFound(answer.what) if isinstance(answer, NotFound) else answer


async def remove(
    admission: Admission, looks: ProviderObserver | None, lane: str, token: str, caller: Caller
) -> Accepted | Rejection | ResourceNotFound | InvalidRequest:
    """Put an orphan on record, and terminate it: an operation like any other, and told in the journal."""
    path = f"{LOST}/{lane.replace('.', '/', 1)}/{token_of(lane, token)}"
    row = await admission.executor.store.resources.read(path)
    if row is None:
        adopted = await adopt(admission, looks, lane, token, path, caller)
        if not isinstance(adopted, Accepted):
            return adopted
    request = Request("terminate", Actor(caller.actor), reason="nobody owns it")
    answer = await admission.ask(AdmissionRequest("vm", path, request, caller.name))
    return ResourceNotFound(answer.what) if isinstance(answer, NotFound) else answer


def token_of(lane: str, key: str) -> UUID:
    """The token of the record for an orphan: its own, or one that follows from the key that it is listed under."""
    return UUID(key) if TOKEN.fullmatch(key) else uuid5(NAMESPACE_URL, f"stead:{lane}/{key}")


def _wish(orphan: Mapping[str, Any], path: str, caller: Caller) -> AdmissionRequest:
    provider, _, region = orphan["lane"].partition(".")
    wish = AdmissionRequest(
        "vm", path, Request(ADOPT, Actor.CONTROLLER), caller.name, {"provider": provider, "region": region}
    )
    token = token_of(orphan["lane"], orphan["token"])
    return replace(wish, lane=orphan["lane"], token=token, facts=orphan["facts"])
