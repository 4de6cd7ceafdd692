"""Where webhooks of leases may go, as whoever runs a controller says it."""

from __future__ import annotations

import re

import typer

_PREFIX = re.compile(r"https?://([^\s/:@\[\]]+|\[[0-9a-fA-F:.]+\])(:|(:\d+)?/[^\s@]*)")


def prefixes(values: list[str] | None) -> list[str]:
    """The same beginnings of addresses, once it is known that each says where the name of its host ends."""
    for value in values or ():
        if not _PREFIX.fullmatch(value):
            says = f"{value!r}: say it as https://hooks.example/, with a slash, or other hosts would begin like it"
            raise typer.BadParameter(says)
    return values or []
