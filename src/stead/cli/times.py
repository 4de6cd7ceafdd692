"""Times that options take, such as 90s, 10m or 1h."""

from __future__ import annotations

import typer

from stead.lifecycle.files.times import seconds


def duration(value: str | None) -> str | None:
    """The same time, once it is known to be one."""
    if value is not None:
        try:
            seconds(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return value
