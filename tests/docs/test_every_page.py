"""Every page with commands is typed: by the table here, or by a test of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS, ROOT, fenced, pages
from tests.docs.terminal import Beside, Said, Terminal, beside
from tests.docs.test_agents_safely import Starting

type Place = Callable[[Path], AbstractContextManager[Terminal]]


@contextmanager
def starting(folder: Path, database: str) -> Iterator[Starting]:
    """A terminal in which the page starts a cell on a database."""
    one = Starting(folder, database)
    one.columns = 240
    try:
        yield one
    finally:
        one.end()


@dataclass(frozen=True)
class Page:
    """How a page is typed."""

    place: Place | None = None
    """What is there; by default the `stead dev` that pages share. A page that shares deletes what it makes."""
    database: bool = False
    """Whether the page starts a cell of its own, on a database that is there."""
    codes: Mapping[str, int | range] = field(default_factory=dict)
    """Exit codes of commands whose failure the page does not show."""
    follows: tuple[str, ...] = ()
    """How commands begin that show something which comes to be as the page says a moment later."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """How commands begin that another test runs, and the place of that test."""


HEALTH = "stead doctor --running"
"""Its exit code says how well the cell is."""


BACKUP = "tests/docs/test_backup.py::test_the_page_about_backups_is_true"
PKI = "tests/docs/test_agents_safely.py::test_agents_safely_is_true"
OF_RUNBOOKS = {
    "SteadBackupOld": {"stead backup verify": BACKUP, "stead backup create": BACKUP},
    "SteadCertificateExpiring": {"stead pki show": PKI, "stead pki renew": PKI},
}
"""Commands of runbooks that need files which are not there beside a `stead dev`."""


def looks(path: Path) -> Page:
    """A runbook: how well the cell is that it is typed beside, does not matter."""
    codes = {HEALTH: range(3)} if HEALTH in path.read_text(encoding="utf-8") else {}
    return Page(codes=codes, elsewhere=OF_RUNBOOKS.get(path.stem, {}))


ID = "tests/telemetry/test_one_request.py::test_its_id_is_in_the_log_of_everybody_on_its_way"
SCRAPE = "tests/access/test_every_endpoint.py::test_who_is_let_in"
LEAKS = "tests/integration/test_no_leaks.py::test_no_credential_is_found_anywhere"

TABLE: dict[str, Page] = {
    "groups.md": Page(),
    "infrastructures.md": Page(),
    "queues.md": Page(place=beside),
    "how-to/stuck.md": Page(),
    "index.md": Page(place=beside),
    "audit.md": Page(
        elsewhere={
            "stead journal shop --follow": "tests/cli/test_operation.py::test_the_journal_is_followed",
            "stead journal verify archive/": "tests/audit/test_archive.py::test_day_by_day_they_make_one_chain",
        }
    ),
    "access.md": Page(
        database=True,
        elsewhere={
            "stead server --database": "tests/access/test_oidc.py::test_the_issuers_word_says_who_one_is",
        },
        follows=("stead explain shop/web/db/1",),
    ),
    "console.md": Page(),
    "observing.md": Page(
        codes={HEALTH: range(3)},
        elsewhere={"journalctl": ID, "stead token create": SCRAPE},
    ),
    "how-to/credentials.md": Page(elsewhere={"stead agent run": LEAKS}),
    "sites.md": Page(),
    "scaling.md": Page(follows=("stead scaling show",)),
    **{f"runbooks/{path.name}": looks(path) for path in sorted((DOCS / "runbooks").glob("Stead*.md"))},
}
"""The pages that the test below types."""

OWN = {
    "backup.md": "tests/docs/test_backup.py::test_the_page_about_backups_is_true",
    "../README.md": "tests/docs/test_quickstart.py::test_readme_commands_in_a_terminal_end_as_it_says",
    "quickstart.md": "tests/docs/test_quickstart.py::test_the_quickstart_is_true",
    "scripts.md": "tests/docs/test_quickstart.py::test_scripts_are_true",
    "own-lifecycles.md": "tests/docs/test_quickstart.py::test_own_lifecycles_are_true",
    "blazar.md": "tests/docs/test_leases.py::test_the_page_about_blazars_clients_is_true",
    "install.md": "tests/install/test_page.py::test_a_cell_is_installed_used_and_removed_as_the_page_says",
    "operating.md": "tests/install/test_page.py::test_the_first_days_of_an_operator_are_as_the_page_says",
    "drivers.md": "tests/docs/test_drivers.py::test_the_parts_of_the_page_are_all_typed",
    "ec2.md": "tests/docs/test_providers.py::test_the_page_about_ec2_is_true",
    "tumblebug.md": "tests/docs/test_providers.py::test_the_page_about_tumblebug_is_true",
    "how-to/agents-safely.md": "tests/docs/test_agents_safely.py::test_agents_safely_is_true",
    "how-to/edge.md": "tests/docs/test_edge.py::test_a_page_about_sites_is_true",
    "how-to/leaf.md": "tests/docs/test_edge.py::test_a_page_about_sites_is_true",
    "how-to/leases.md": "tests/docs/test_leases.py::test_the_page_about_booking_hosts_is_true",
    "how-to/private-cloud.md": "tests/docs/test_private_cloud.py::test_the_page_about_the_private_cloud_is_true",
    "how-to/systems.md": "tests/docs/test_systems.py::test_the_page_about_systems_is_true",
    "how-to/your-own-kind.md": "tests/docs/test_your_own_kind.py::test_the_page_about_a_kind_of_ones_own_is_true",
}
"""Pages that a test of their own types."""

COMMANDS = {"console", "python", "sh"}
"""Languages of blocks in which something is done."""
GENERATED = ("adr/", "reference/")
"""Where pages have no commands of their own to be typed."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """A terminal beside a `stead dev` that several pages share."""
    with beside(tmp_path_factory.mktemp("shared")) as one:
        yield one


@pytest.fixture
def terminal(request: pytest.FixtureRequest, page: str, tmp_path: Path) -> Iterator[Terminal]:
    """Where a page is typed."""
    place = TABLE[page].place
    if TABLE[page].database:
        with starting(tmp_path, request.getfixturevalue("strict")) as one:
            yield one
    elif place is None:
        common = request.getfixturevalue("shared")
        common.said = Said(common.ports)
        yield common
        Terminal.end(common)  # what a page left running in its shell is not in the way of the next one
    else:
        with place(tmp_path) as there:
            yield there


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", TABLE)
def test_the_commands_of_a_page_work_as_printed(terminal: Terminal, page: str) -> None:
    entry = TABLE[page]
    terminal.follow(DOCS / page, entry.codes, follows=entry.follows, skipped=tuple(entry.elsewhere))


def relative(page: Path) -> str:
    return str(page.relative_to(DOCS, walk_up=True))


def with_commands() -> set[str]:
    """The pages on which something is done."""
    found = {relative(page) for page in pages() if COMMANDS & {language for language, _ in fenced(page)}}
    return {page for page in found if not page.startswith(GENERATED)}


def test_every_page_with_commands_is_typed_by_one_test() -> None:
    known = [*TABLE, *OWN]
    assert sorted(with_commands()) == sorted(known), "a page belongs into TABLE, or into OWN with its test"


def test_the_tests_that_are_named_are_there() -> None:
    for named in {*OWN.values(), *(test for page in TABLE.values() for test in page.elsewhere.values())}:
        module, _, name = named.partition("::")
        assert re.search(rf"^(?:async )?def {name}\(", (ROOT / module).read_text(encoding="utf-8"), re.M), named


def test_commands_that_another_test_runs_are_on_their_page() -> None:
    for page, entry in TABLE.items():
        text = (DOCS / page).read_text(encoding="utf-8")
        assert [command for command in (*entry.elsewhere, *entry.follows) if command not in text] == [], page
