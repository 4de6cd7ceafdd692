"""Times that options take, such as 90s, 10m or 1h."""

from __future__ import annotations

import typer

from stead.lifecycle.files.times import seconds
from stead.lifecycle.rows import DAY

CENTURY = 36_500 * DAY


def duration(value: str | None) -> str | None:
    """The same time, once it is known to be one."""
    if value is not None:
        try:
            seconds(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return value


def period(value: str) -> str:
    """The same time, once it is known to be a second or more, and one that a calendar has."""
    duration(value)
    if not 1 <= seconds(value) <= CENTURY:
        raise typer.BadParameter("must be from a second (1s) to a hundred years (36500d)")
    return value


def days(value: str) -> str:
    """The same time, once it is known to be a day or more, and one that a calendar has."""
    duration(value)
    if not DAY <= seconds(value) <= CENTURY:
        raise typer.BadParameter("must be from a day (1d) to a hundred years (36500d)")
    return value
