"""What a lease is to be, as one says it on the command line: from when to when, how many hosts, and of what kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from stead.cli.documents import NotYaml, read_yaml
from stead.cli.output import Code, fail
from stead.cli.spec_options import read_spec
from stead.lifecycle.files.times import seconds

NOW = "now"
FROM, TO, WITH = "--from", "--to", "--with"

_WISH = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|<|>|=)\s*(.+?)\s*", re.DOTALL)


@dataclass(frozen=True)
class LeaseChange:
    """The options; None for what was not said."""

    start: str | None
    end: str | None
    hosts: int | None
    wishes: Sequence[str] | None
    before_end: str | None
    webhook: str | None

    @property
    def lasts(self) -> bool:
        """Whether its end is said by how long it lasts."""
        return self.end is not None and self.end.startswith("+")

    @property
    def alike(self) -> bool:
        """Whether something is said of its hosts."""
        return self.hosts is not None or bool(self.wishes)

    def fields(self, spec: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """What changes of a spec, which may be empty."""
        said: dict[str, Any] = {}
        if self.start is not None:
            said["start"] = self.start if self.start == NOW else written(time_of(self.start, FROM, now))
        if self.end is not None:
            start = said.get("start") or str(spec.get("start") or NOW)
            begins = now if start == NOW else time_of(start, FROM, now)
            said["end"] = written(time_of(self.end, TO, begins))
        if self.alike:
            said["reservations"] = [self._reservation(spec.get("reservations") or [{}])]
        if self.before_end is not None:
            said["before_end"] = seconds(self.before_end)
        if self.webhook is not None:
            said["webhook"] = self.webhook
        return said

    def _reservation(self, had: Any) -> dict[str, Any]:
        if not isinstance(had, list) or len(had) != 1 or not isinstance(had[0], dict):
            fail("it has several kinds of hosts: say in a file what each is to be", Code.USAGE)
        said = dict(had[0])
        if self.hosts is not None:
            said["count"] = self.hosts
        if self.wishes:
            said["properties"] = properties(self.wishes)
        return said


def terms_in(file: str | None) -> dict[str, Any]:
    """What a file says, if there is one. YAML makes times of what looks like one."""
    spec = read_spec(file) if file is not None else {}
    for field, option in (("start", FROM), ("end", TO)):
        if isinstance(time := spec.get(field), datetime):
            spec[field] = written(time_of(time.isoformat(), option, time))
    return spec


def time_of(text: str, option: str, after: datetime) -> datetime:
    """A time, or one so long after another."""
    try:
        if text.startswith("+"):
            return after + timedelta(seconds=seconds(text[1:]))
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            time.astimezone(UTC)  # which may be before the first day that there is, or after the last
    except (ValueError, OverflowError):
        says = f"{text!r} is no time: say it as 2030-01-31T12:00:00Z, or as +2h"
        raise typer.BadParameter(says, param_hint=option) from None
    if time.tzinfo is None:
        raise typer.BadParameter(f"{text!r} does not say the offset from UTC, such as Z", param_hint=option)
    return time


def written(time: datetime) -> str:
    """A time as specs have it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def properties(wishes: Sequence[str]) -> dict[str, Any]:
    """What hosts are to have, such as `cpus>=16`."""
    said: dict[str, Any] = {}
    for wish in wishes:
        found = _WISH.fullmatch(wish)
        if found is None:
            says = f"{wish!r}: say it as cpus>=16, arch=x86_64 or gpu!=none"
            raise typer.BadParameter(says, param_hint=WITH)
        name, operator, value = found.groups()
        if name in said:
            raise typer.BadParameter(f"{name} is said twice", param_hint=WITH)
        said[name] = plain_value(value) if operator == "=" else f"{operator} {value}"
    return said


def plain_value(text: str) -> str | int | float | bool:
    """A number or a truth where it is one; else the text."""
    try:
        value = read_yaml(text)
    except NotYaml:
        return text
    return value if isinstance(value, int | float | bool) else text
