"""The page about the private cloud is typed, with a bus, a server, and an agent of nodes that libvirt makes up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.test_agents_safely import Starting

LOOKS = ("stead bin acme", "stead disk list acme", "stead node show dc/n1")
"""What comes to be as the page says a moment later."""


class InDatacenter(Starting):
    """A terminal at the cell and in the datacenter."""

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """Disks follow their machine, and machines leave their node, within seconds: nobody looks too soon."""
        if command in LOOKS:
            self.until(lambda: not self.said.compare(output, self.type(command)), command)
        return super().step(command, output)


@pytest.fixture
def terminal(tmp_path: Path, strict: str) -> Iterator[InDatacenter]:
    """Of which nothing is left in the end."""
    one = InDatacenter(tmp_path, strict)
    try:
        yield one
    finally:
        one.end()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S2-05", "S2-08", "S2-09", "S2-11")
def test_the_page_about_the_private_cloud_is_true(terminal: InDatacenter) -> None:
    terminal.follow(DOCS / "how-to" / "private-cloud.md")
    assert not list((terminal.folder / "pool" / "disks").glob("*.img"))
