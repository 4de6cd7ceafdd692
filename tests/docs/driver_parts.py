"""The parts of the page about drivers, one for each."""

from __future__ import annotations

import re

from tests.docs.blocks import DOCS
from tests.docs.providers import WithProvider

PAGE = DOCS / "drivers.md"
BEGIN = "Try one"
"""Where every part begins."""


def part(heading: str) -> str:
    """What stands below a heading of the page."""
    found = re.search(rf"(?s)\n## {heading}\n(.*?)(?=\n## |\Z)", PAGE.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def follow(terminal: WithProvider, heading: str) -> None:
    """Type a part of the page, in a shell of its own."""
    terminal.leave_shell()
    page = terminal.folder / "part.md"
    page.write_text(part(BEGIN) + part(heading), encoding="utf-8")
    terminal.follow(page)
