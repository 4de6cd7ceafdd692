"""The pages about sites are typed, with a bus, a server, leaf nodes, agents and apps that they start themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from stead.dev.children import free_port
from tests.docs.blocks import DOCS
from tests.docs.test_agents_safely import Starting, listens
from tests.drivers.process_world import ProcessWorld

HOW_TO = DOCS / "how-to"


class AtSite(Starting):
    """A terminal at the cell and at the site."""

    def __init__(self, folder: Path, database: str) -> None:
        super().__init__(folder, database)
        self.said.known |= {port: str(free_port()) for port in ("4223", "7422", "8080")}
        self.log = folder / "agent.log"

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """What an agent before it said does not count for the next."""
        if "agent run" in command:
            self.log.unlink(missing_ok=True)
        return super().step(command, output)

    def ready(self, command: str) -> Callable[[], bool]:
        """An agent is there when its site is ready, and what is on it can be asked of it."""
        if "leaf.conf" in command:
            return lambda: listens(int(self.said.known["4223"]))
        if "agent run" not in command:
            return super().ready(command)
        return lambda: self._connected() and self._answers()

    def _connected(self) -> bool:
        return self.log.exists() and "the bus is connected" in self.log.read_text()

    def _answers(self) -> bool:
        if not any(" Ready " in line for line in self.type("stead cloudlet list lab")):
            return False
        apps = self.type("stead app list lab -o name")
        return all("error" not in "".join(self.type(f"stead app logs {app}")) for app in apps)


@pytest.fixture
def terminal(tmp_path: Path, strict: str) -> Iterator[AtSite]:
    """Of which nothing is left in the end, nor of what was put on a site."""
    one = AtSite(tmp_path, strict)
    try:
        yield one
    finally:
        one.end()
        for site in ("berlin", "bonn"):
            ProcessWorld(tmp_path / site).clean()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="the page's apps have namespaces of their own, which takes root")
@pytest.mark.parametrize(("page", "site"), [("edge.md", "berlin"), ("leaf.md", "bonn")])
def test_a_page_about_sites_is_true(terminal: AtSite, page: str, site: str) -> None:
    terminal.follow(HOW_TO / page)
    assert ProcessWorld(terminal.folder / site).keepers() == []
