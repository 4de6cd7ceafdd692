"""Records of the store as the models that interfaces show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stead.application.models import Claim, JournalLine, Lane, Orphan, ServingAgent
from stead.application.names import operation_id


def claim_of(record: Mapping[str, Any]) -> Claim:
    """A claim, as it is shown."""
    user = record["principal"] or ""  # of what is in use: the path of its user
    return Claim(
        path=record["path"],
        mode="exclusive" if record["mode"] in ("x", b"x") else "intention",
        operation=operation_id(user if user.startswith("/") else record["path"], record["operation"]),
        action=record["action"] or "",
        principal=user,
        since=record["created_at"],
    )


def orphan_of(record: Mapping[str, Any]) -> Orphan:
    """An orphan, as it is shown."""
    plain = {name: record[name] for name in ("lane", "token", "path", "state", "facts")}
    return Orphan(**plain, first_observed_at=record["first_seen"], last_observed_at=record["last_seen"])


def lane_of(record: Mapping[str, Any]) -> Lane:
    """A lane, as it is shown."""
    agents = tuple(
        ServingAgent(a["name"], a["version"], a["there"], datetime.fromisoformat(a["last_seen"]), a["rejected"])
        for a in record["agents"]
    )
    same = ("regions", "in_flight", "waiting", "untaken", "throttled", "throttled_at")
    return Lane(
        lane=record["name"],
        agents=agents,
        limit=record["most"],
        **{name: record[name] for name in same},
        next_inventory_at=record["inventory_at"],
        namespaces=tuple(record["namespaces"]),
    )


def line_of(record: Mapping[str, Any]) -> JournalLine:
    """A line of the journal, as it is shown."""
    operation = operation_id(record["path"], record["operation"]) if record["operation"] else None
    return JournalLine(**{**record, "operation": operation})
