"""The page about systems is typed, beside a `stead dev`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.terminal import Beside

LOOKS = ("stead system show", "stead explain", "stead service list")
"""What comes to be as the page says a moment later."""


class InTown(Beside):
    """A terminal beside a machine that runs services."""

    columns = 180

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """States follow within a second: nobody looks too soon."""
        end = time.monotonic() + 60
        while command.startswith(LOOKS) and self.said.compare(output, self.type(command)):
            if time.monotonic() > end:
                break
            time.sleep(0.2)
        return super().step(command, output)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[InTown]:
    """Of which nothing is left in the end."""
    one = InTown(tmp_path)
    try:
        yield one
    finally:
        one.end()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S4-04", "S4-05", "S4-06", "S4-07")
def test_the_page_about_systems_is_true(terminal: InTown) -> None:
    terminal.follow(DOCS / "how-to" / "systems.md")
