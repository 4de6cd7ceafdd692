"""Dates of the dialect: minutes of UTC where they come in, microseconds where they go out, and never a zone."""

from __future__ import annotations

from datetime import UTC, datetime

from stead.api.problems import FieldError, ProblemResponse

NOW = "now"
_READ = ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S")
"""The one that the dialect asks for, and those in which it answers."""


def invalid_field(where: str, message: str) -> ProblemResponse:
    """A field of the body makes no sense."""
    return ProblemResponse(
        "invalid", f"{where}: {message}", errors=[FieldError(location=f"body.{where}", message=message)]
    )


def read(where: str, text: str) -> datetime:
    """The time that a date says."""
    for form in _READ:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise invalid_field(where, f"{text!r} is no date such as 2030-01-31 12:00, in UTC")


def spec_time(where: str, text: str) -> str:
    """A date as a spec of ours has it; `now` stays `now`."""
    return NOW if text == NOW else read(where, text).isoformat()


def date(time: datetime) -> str:
    """When a lease begins or ends, in the form that clients read again."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def stamp(time: datetime | None) -> str | None:
    """When something was made or changed."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
