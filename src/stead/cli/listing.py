"""Lists of things that a server has: in every format of `-o`, and as they change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import yaml

from stead.cli.output import ListFormat, data, line, table
from stead.cli.server_commands import plain


@dataclass(frozen=True)
class Columns[T]:
    """How a thing becomes a row."""

    narrow: Sequence[tuple[str, Callable[[T], str]]]
    wide: Sequence[tuple[str, Callable[[T], str]]] = ()
    """What `-o wide` adds."""
    name: Callable[[T], str] = attrgetter("path")
    """What `-o name` writes."""
    right: Sequence[str] = ()
    """Columns with numbers."""

    def shown(self, output: ListFormat) -> Sequence[tuple[str, Callable[[T], str]]]:
        """The columns of a format."""
        return [*self.narrow, *self.wide] if output is ListFormat.WIDE else self.narrow

    def row(self, item: T, output: ListFormat) -> list[str]:
        """The cells of a thing."""
        return [printable(cell(item)) for _, cell in self.shown(output)]


def write[T](items: Iterable[T], columns: Columns[T], output: ListFormat, *, endless: bool = False) -> list[int]:
    """Write a list; the widths of its columns, for rows that are to follow.

    An endless one is no list in JSON or YAML, but a document for each thing.
    """
    things = list(items)
    shown = columns.shown(output)
    rows = [columns.row(item, output) for item in things]
    match output:
        case ListFormat.NAME:
            for item in things:
                line(columns.name(item))
        case ListFormat.JSON | ListFormat.YAML if endless:
            for item in things:
                write_one(item, columns, output, ())
        case ListFormat.JSON | ListFormat.YAML:
            data([plain(item) for item in things], output)
        case _:
            table([title for title, _ in shown], rows, right=columns.right)
    return [max(len(row[i]) for row in [[t for t, _ in shown], *rows]) for i in range(len(shown))]


def write_one[T](item: T, columns: Columns[T], output: ListFormat, widths: Sequence[int]) -> None:
    """Write a thing by itself, as one of a list that never ends: a row, a name, or a document on a line."""
    match output:
        case ListFormat.NAME:
            line(columns.name(item))
        case ListFormat.JSON:
            line(json.dumps(plain(item), ensure_ascii=False))
        case ListFormat.YAML:
            line("---\n" + yaml.safe_dump(plain(item), sort_keys=False, allow_unicode=True).rstrip("\n"))
        case _:
            right = [title in columns.right for title, _ in columns.shown(output)]
            cells = zip(columns.row(item, output), widths, right, strict=True)
            line("  ".join(f"{cell:>{width}}" if num else f"{cell:<{width}}" for cell, width, num in cells).rstrip())


def printable(text: str) -> str:
    """A text without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def counts(members: Mapping[str, int]) -> str:
    """How many are in which state."""
    return ", ".join(f"{state}:{count:,}" for state, count in sorted(members.items()))
