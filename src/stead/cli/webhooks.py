"""Allowed URL prefixes of lease webhooks."""

from __future__ import annotations

import re

import typer

_PREFIX = re.compile(r"https?://([^\s/:@\[\]]+|\[[0-9a-fA-F:.]+\])(:|(:\d+)?/[^\s@]*)")


def prefixes(values: list[str] | None) -> list[str]:
    """URL prefixes, unchanged; each must show where the name of its host ends."""
    for value in values or ():
        if not _PREFIX.fullmatch(value):
            raise typer.BadParameter(
                f"{value!r} is not a URL prefix with a slash after the host, such as https://hooks.example/"
            )
    return values or []
