"""The page about booking hosts is typed, beside a `stead dev`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.terminal import Beside

LOOKS = ("stead lease list", "stead lease show")
"""What comes to be as the page says a moment later."""


class InLab(Beside):
    """A terminal beside a rack."""

    def type(self, command: str) -> list[str]:
        """The calendar of the page is as wide as the page; other lines may be longer."""
        return super().type(f"COLUMNS=80 {command}" if command.startswith("stead lease calendar") else command)

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """The clock starts leases, and failed hosts are replaced, within seconds: nobody looks too soon."""
        end = time.monotonic() + 60
        while command.startswith(LOOKS) and self.said.compare(output, self.type(command)):
            if time.monotonic() > end:
                break
            time.sleep(0.2)
        return super().step(command, output)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[InLab]:
    """Of which nothing is left in the end."""
    one = InLab(tmp_path)
    try:
        yield one
    finally:
        one.end()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S3-06", "S3-07", "S3-08", "S3-09")
def test_the_page_about_booking_hosts_is_true(terminal: InLab) -> None:
    terminal.follow(DOCS / "how-to" / "leases.md")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S3-10")
def test_the_page_about_blazars_clients_is_true(terminal: InLab) -> None:
    terminal.env["PATH"] += f"{os.pathsep}{Path(sys.executable).parent}"  # where its command is
    terminal.follow(DOCS / "blazar.md")
