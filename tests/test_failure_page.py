"""Every line of the page on failure names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "failure.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith(("| what happens", "|---"))]


def test_every_line_is_proven_by_a_test_that_exists() -> None:
    assert len(rows()) >= 20
    for row in rows():
        found = NAMED.search(row)
        assert found is not None, row
        file, name = found.groups()
        assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), row
