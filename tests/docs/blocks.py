"""The blocks of a page: what is typed, and what is to come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command with the lines below it."""

    command: str
    output: tuple[str, ...]


def pages() -> list[Path]:
    """Every page that people read."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def fenced(page: Path) -> Iterator[tuple[str, str]]:
    """Every block of a page: its language and its text."""
    for indent, language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield language, "\n".join(line.removeprefix(indent) for line in text.splitlines())


def steps(text: str) -> Iterator[Step]:
    """The commands of a block, with what stands below each."""
    command, output = "", list[str]()
    for line in text.splitlines():
        if command and not output and _goes_on(command):
            command += f"\n{line}"
        elif line.startswith("$ "):
            if command:
                yield Step(command, tuple(output))
            command, output = line[2:], []
        else:
            output.append(line)
    if command:
        yield Step(command, tuple(output))


def commands(text: str) -> Iterator[Step]:
    """The commands of a block that does not show what they print. A comment behind one is for people."""
    command = ""
    for line in text.splitlines():
        command += f"\n{line}" if command else re.sub(r" {2,}# .*", "", line)
        if command and not _goes_on(command):
            yield Step(command, ("...",))
            command = ""


def _goes_on(command: str) -> bool:
    """Whether the next line belongs to a command: after a backslash, within quotes, or in a document of its own."""
    if document := re.search(r"<<'(\w+)'\n?", command):
        return not command.endswith(f"\n{document[1]}")
    return command.endswith("\\") or command.count("'") % 2 == 1
