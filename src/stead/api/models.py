"""What many routes have in common. A field here is a promise: it may be joined by others, never go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
)

from stead.application.names import Name
from stead.application.storable import storable
from stead.schema import Model


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("no calendar has that in UTC") from None


AskedTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time that is asked for."""


class ResponseModel(BaseModel):
    """Anything that is answered."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


class ActionBody(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    action: Name | None = None
    """Which action; also as a query parameter. Without either: `create`."""
    kind: Name | None = None
    """Needed to make something; elsewhere it guards against a path of another kind."""
    spec: Annotated[dict[str, Any], AfterValidator(storable)] = {}
    """What is to be made, or what it is to become."""
    lane: str = ""
    """The channel of orders to its place. Without it: `provider.region` of the spec."""
    force: bool = False
    """Override the state, and nothing else. Needs a reason."""
    reason: Annotated[str, StringConstraints(max_length=1000), AfterValidator(storable)] = ""
    """Why; it stays with the operation."""
    hold: bool = False
    """Stop before the work itself and wait for continue or withdraw, where the lifecycle can."""
    on_failure: Literal["rollback", "keep"] = "rollback"
    """Take back what failed, or leave the error for a person."""
    on_partial: Literal["continue", "rollback", "refine"] = "continue"
    """What to do when only some members of a new group came up."""
    expect_agent: bool = False
    """Accept a lane that no agent has served yet: its agent comes later."""
    on_conflict: Literal["default", "reject", "queue"] = "default"
    """When another operation is in the way: be refused, or wait its turn. By default as the lifecycle says."""


_serialisers: dict[type, TypeAdapter[Any]] = {}


def json_of(model: Model) -> str:
    """A model as the interface answers with it."""
    kind = type(model)
    if kind not in _serialisers:
        _serialisers[kind] = TypeAdapter(kind)
    return _serialisers[kind].dump_json(model).decode()
