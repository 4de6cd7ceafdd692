"""The page of threats names tests: each of them is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import DOCS, ROOT

PAGE = (DOCS / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)?(?:::(test_\w+)(…)?)?`")


def named() -> list[tuple[str, str, str]]:
    """By cell of a table: each file with the tests in it that are named; one without a file is of the one before."""
    found: list[tuple[str, str, str]] = []
    for row in PAGE.splitlines():
        if not row.startswith("|"):
            continue
        file = ""
        for path, test, more in NAMED.findall(row.split("|")[3]):
            file = path or file
            found.append((file, test, more))
    return found


def test_there_are_some_in_every_row() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| ") and not row.startswith("| attack")]
    assert len(rows) > 25
    assert all(NAMED.search(row.split("|")[3]) for row in rows)


@pytest.mark.parametrize(("file", "test", "more"), named(), ids=lambda part: part or "-")
def test_what_is_named_is_there(file: str, test: str, more: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"def {test or 'test_'}{'' if more or not test else '[(]'}", text)
