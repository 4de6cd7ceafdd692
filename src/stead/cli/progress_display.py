"""Draws the progress of an operation on stderr.

It gets lines of text and nothing else, no client and no operation, so that drawing can never call a server.
In a terminal that can move its cursor, the lines change in place, beside a spinner and the time elapsed. In a pipe, a
file or a dumb terminal, each new state is a line. In both, the last state stays as a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from stead.cli.output import note


class Display(Protocol):
    """Shows the state of an operation: a line, and more lines below it that only a terminal shows."""

    def __call__(self, line: str, below: Sequence[str] = (), /) -> None: ...


class _Drawing(Progress):
    """A line with a spinner, and plain lines below it."""

    below: Sequence[str] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield from (Text(line, no_wrap=True, overflow="ellipsis") for line in self.below)


def draws() -> bool:
    """Whether stderr is a terminal in which lines can change where they are."""
    return sys.stderr.isatty() and not Console(stderr=True).is_dumb_terminal


@contextmanager
def progress_display() -> Iterator[Display]:
    """Show states until the end; the last one stays, also where the caller is interrupted."""
    if not draws():
        yield lambda line, below=(): note(line)
        return
    last = ""
    description = TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold"))
    columns = SpinnerColumn(), description, TimeElapsedColumn()
    try:
        # What the command writes to stdout may go to a file: it must not be drawn on stderr.
        with _Drawing(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as drawing:
            task = drawing.add_task("")

            def show(line: str, below: Sequence[str] = ()) -> None:
                nonlocal last
                last = line
                drawing.below = below
                drawing.update(task, description=line, refresh=True)

            yield show
    finally:
        if last:
            note(last)
