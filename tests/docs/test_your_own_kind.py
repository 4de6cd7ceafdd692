"""The page about a kind of one's own is typed, beside a `stead dev`."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.dev.children import signal_process
from tests.docs.blocks import DOCS
from tests.docs.terminal import Beside


class WithAgent(Beside):
    """A terminal from which an agent is started."""

    patience = 240.0
    """The server explores what it is given."""

    def end(self) -> None:
        """Where the page did not come to its end, the agent is still there."""
        file = self.folder / "agent.pid"
        if file.exists():
            signal_process(int(file.read_text()), signal.SIGKILL)
        super().end()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[WithAgent]:
    """Of which nothing is left in the end."""
    one = WithAgent(tmp_path)
    try:
        yield one
    finally:
        one.end()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("openssl")), reason="no jq or openssl is installed")
def test_the_page_about_a_kind_of_ones_own_is_true(terminal: WithAgent) -> None:
    terminal.follow(DOCS / "how-to" / "your-own-kind.md")
