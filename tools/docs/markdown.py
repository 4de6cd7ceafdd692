"""Pieces of Markdown that all made pages have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MADE = "<!-- Made from the code by `make docs`. Change the code, not this page. -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    cells = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *(f"| {row} |" for row in cells)]


def code(text: object) -> str:
    """A value as it is typed; nothing where there is none."""
    return f"`{text}`" if str(text) else ""


def flat(text: str) -> str:
    """A text that fills many lines, in one."""
    return re.sub(r"\s+", " ", text).strip()
