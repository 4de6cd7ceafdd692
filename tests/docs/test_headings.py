"""Headings of tables that pages show are those that the command writes: a fast look for old ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import stead.cli
from tests.docs.blocks import ROOT, fenced, pages, steps

SOURCES = sorted(Path(stead.cli.__file__).parent.glob("*.py"))
CELL = r"[A-Z][A-Z0-9]*(?: [A-Z0-9]+)*"
HEAD = re.compile(rf" *{CELL}(?: {{2,}}{CELL})+")
SHARED = "columns"
"""The module with the columns that several tables have."""


@cache
def headings() -> dict[str, set[str]]:
    """Of each module of the command line, the words that may head a column of its tables."""
    found = {}
    for source in SOURCES:
        nodes = ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        found[source.stem] = {text.strip() for text in texts if re.fullmatch(CELL, text.strip())}
    return {module: words | found[SHARED] for module, words in found.items()}


def heads(text: str) -> Iterator[list[str]]:
    """The headings that a block shows below calls of `stead`, a list for each table."""
    for step in steps(text):
        if "stead " in step.command:
            for line in step.output:
                if HEAD.fullmatch(line):
                    yield re.split(r" {2,}", line.strip())


def wrong(head: list[str]) -> bool:
    """Whether no module of the command line has a table with all these columns."""
    return not any(words.issuperset(head) for words in headings().values())


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_on_a_page_are_headings_of_the_command(page: Path) -> None:
    shown = [head for language, block in fenced(page) if language == "console" for head in heads(block)]
    assert [head for head in shown if wrong(head)] == []


def test_pages_show_tables() -> None:
    """So that the test above is about something."""
    blocks = [block for page in pages() for language, block in fenced(page) if language == "console"]
    assert len([head for block in blocks for head in heads(block)]) > 30


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PATH            RECORDED  OBSERVED   MATCHES  LANE", False),
        ("PATH            BELIEVED  SEEN       AGREES   LANE", True),
        ("OPERATION  ACTION  PATH  OUTCOME", False),
        ("OPERATION  ACTION  PATH  DECIDED", True),
    ],
)
def test_heading_that_no_table_has_is_found(line: str, expected: bool) -> None:
    assert [wrong(head) for head in heads(f"$ stead vm drift\n{line}\n")] == [expected]
