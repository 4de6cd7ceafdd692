"""What a lease says: from when to when, which hosts, and what is to be told before its end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

HOUR = 3600
MAX_HOSTS = 1000
MAX_RESERVATIONS = 20

Time = Annotated[datetime, Meta(tz=True)]
Name = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,39}$")]
Value = str | int | float | bool

_WISH = re.compile(r"\s*(<=|>=|!=|<|>|=)\s*(.+)", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")


class ReservationSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some hosts that are alike."""

    name: Name
    count: Annotated[int, Meta(ge=1, le=MAX_HOSTS)] = 1
    min: Annotated[int, Meta(ge=1, le=MAX_HOSTS)] | None = None
    """How many are enough where there are not `count` of them; without it, all are wanted."""
    properties: Annotated[dict[Annotated[str, Meta(min_length=1, max_length=100)], Value], Meta(max_length=50)] = (
        msgspec.field(default_factory=dict)
    )
    """What each of them has: a value, or one with an operator before it, such as `>= 16`."""

    def booked(self) -> dict[str, Any]:
        """As the store books it."""
        least = {} if self.min in (None, self.count) else {"min": self.min}
        return {"name": self.name, "count": self.count, "wants": wants(self.properties), **least}


class LeaseSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spec of a lease."""

    start: Time
    end: Time
    reservations: Annotated[list[ReservationSpec], Meta(min_length=1, max_length=MAX_RESERVATIONS)]
    before_end: Annotated[int, Meta(ge=0, le=366 * 24 * HOUR)] = HOUR
    """Seconds before the end at which that is told; 0: it is not."""
    webhook: Annotated[str, Meta(pattern="^(https?://[!-~]+)?$", max_length=2000)] = ""
    """Where it is told, by a POST."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def warns(self) -> datetime | None:
        """When the end is told of: not before the start."""
        return max(self.start, self.end - timedelta(seconds=self.before_end)) if self.before_end else None

    def booked(self) -> dict[str, Any]:
        """As the store books it."""
        return {
            "start": self.start.timestamp(),
            "end": self.end.timestamp(),
            "warn": self.warns.timestamp() if self.warns is not None else None,
            "reservations": [one.booked() for one in self.reservations],
        }


class InvalidLeaseSpec(ValueError):
    """They cannot be, whatever is free."""

    def __init__(self, field: str, says: str) -> None:
        super().__init__(says)
        self.field = field
        self.says = says


def read(spec: Mapping[str, Any]) -> LeaseSpec:
    """The terms in a spec."""
    try:
        terms = msgspec.convert(dict(spec), LeaseSpec, strict=False)
    except msgspec.ValidationError as error:
        says, _, where = str(error).partition(" - at `$")
        raise InvalidLeaseSpec(f"spec{where.rstrip('`')}", says) from error
    if terms.end <= terms.start:
        raise InvalidLeaseSpec(
            "spec.end", f"it ends at {said(terms.end)}, not after its start at {said(terms.start)}"
        )
    names = [one.name for one in terms.reservations]
    if len(set(names)) < len(names):
        raise InvalidLeaseSpec("spec.reservations", "two of them have the same name")
    for place, one in enumerate(terms.reservations):
        if one.min is not None and one.min > one.count:
            says = f"{one.min} is more than count, which is {one.count}"
            raise InvalidLeaseSpec(f"spec.reservations[{place}].min", says)
    terms.booked()
    return terms


def complete(spec: Mapping[str, Any], now: float) -> dict[str, Any]:
    """A spec as it is kept: reservations have names, `now` is a time, and times are told in one way."""
    whole = dict(spec)
    for field in ("start", "end"):
        if field in whole:
            whole[field] = _time(f"spec.{field}", whole[field], now)
    if isinstance(given := whole.get("reservations"), list):
        whole["reservations"] = [
            {"name": f"r{number}", **one} if isinstance(one, Mapping) else one for number, one in enumerate(given)
        ]
    return whole


def wants(properties: Mapping[str, Value]) -> str:
    """As one predicate over what a host has, in the database's own language (jsonpath)."""
    return " && ".join(_want(name, value) for name, value in properties.items()) or "1 == 1"


def said(time: datetime) -> str:
    """A time as people and programs read it."""
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _want(name: str, value: Value) -> str:
    found = _WISH.fullmatch(value) if isinstance(value, str) else None
    operator, given = (found[1], found[2].strip()) if found is not None else ("=", value)
    has = f"$.{json.dumps(name)}"
    if operator in ("=", "!="):
        same = " || ".join(f"{has} == {json.dumps(one)}" for one in _readings(given))
        return f"({same})" if operator == "=" else f"!({same})"
    if isinstance(given, str) and not _NUMBER.fullmatch(given):
        raise InvalidLeaseSpec(
            f"spec.reservations.properties.{name}", f"{operator} compares numbers, and {given!r} is none"
        )
    return f"{has} {operator} {given}"


def _readings(given: Value) -> list[Value]:
    """A text may be meant as a number or as a truth."""
    if not isinstance(given, str):
        return [given]
    numbers: list[Value] = [float(given)] if _NUMBER.fullmatch(given) else []
    truths: list[Value] = [given.lower() == "true"] if given.lower() in ("true", "false") else []
    return [given, *numbers, *truths]


def _time(field: str, value: Any, now: float) -> str:
    if value == "now":
        return said(datetime.fromtimestamp(now, UTC))
    try:
        return said(msgspec.convert(value, Time))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidLeaseSpec(field, f"{value!r} is no time with its zone, such as 2030-01-31T12:00:00Z") from error
