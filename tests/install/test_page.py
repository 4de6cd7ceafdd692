"""The commands of the page about installing are typed in a terminal on a machine that systemd runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.terminal import Terminal
from tests.install.machine import STEAD, Machine, booted
from tests.terminal.pseudo import PseudoTerminal

pytestmark = [pytest.mark.long, pytest.mark.alone]

PAGE = DOCS / "install.md"
FROM_ELSEWHERE = ("python3.12 -m venv", "/opt/stead/bin/pip install", "podman build")
"""How commands begin that load from the internet; the first two are done by the machine."""
OWN_DATABASE = "## With a PostgreSQL that is there"
CONTAINERS = "## Containers"


class OnMachine(Terminal):
    """A terminal on a machine, where root is logged in."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        super().__init__(folder)
        self.machine = machine
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}

    def shell(self) -> PseudoTerminal:
        """On the machine."""
        if self._shell is None:
            before = self.machine.entering()
            self._shell = PseudoTerminal(self.folder, self.env, self.columns, before=before)
        return self._shell

    def follow_part(self, begin: str, end: str) -> None:
        """Type the commands of the page that are between two headings."""
        text = PAGE.read_text(encoding="utf-8")
        part = self.folder / "part.md"
        part.write_text(text[text.index(begin) : text.index(end)], encoding="utf-8")
        self.follow(part, skipped=FROM_ELSEWHERE)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[OnMachine]:
    folder = tmp_path / "terminal"
    folder.mkdir()
    with booted(tmp_path / "machine") as machine:
        one = OnMachine(folder, machine)
        yield one
        one.end()


def test_a_cell_is_installed_used_and_removed_as_the_page_says(terminal: OnMachine) -> None:
    terminal.follow_part("# Install", OWN_DATABASE)
    assert terminal.machine.run("ls", "/var/lib/stead").returncode != 0


def test_the_first_days_of_an_operator_are_as_the_page_says(terminal: OnMachine) -> None:
    terminal.follow_part("# Install", "It goes away again")
    terminal.follow(
        DOCS / "operating.md",
        codes={"stead doctor --running": range(2), "stead backup compare": range(2)},
        follows=("stead system show", "systemctl is-active", "stead backup compare"),
    )


def start_postgres(machine: Machine) -> None:
    """As Debian does."""
    version = max(Path("/usr/lib/postgresql").iterdir(), key=lambda folder: int(folder.name)).name
    for words in (
        ["pg_createcluster", "--port=5432", version, "stead"],
        ["systemctl", "start", f"postgresql@{version}-stead"],
    ):
        done = machine.run(*words)
        assert done.returncode == 0, done.stderr


def test_a_cell_is_installed_on_a_database_that_is_there(terminal: OnMachine) -> None:
    start_postgres(terminal.machine)
    terminal.follow_part(OWN_DATABASE, CONTAINERS)
    direct: Sequence[str] = ("--direct", "--database", "postgresql://stead@/stead?host=/var/run/postgresql")
    made = terminal.machine.run(
        "runuser", "-u", "stead", "--", STEAD, "token", "create", "root", "--role", "admin", *direct
    )
    asked = terminal.machine.run(STEAD, "agent", "list", STEAD_TOKEN=made.stdout.strip())
    assert asked.returncode == 0, made.stderr + asked.stderr
