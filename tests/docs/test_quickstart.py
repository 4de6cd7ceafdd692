"""Pages that are typed: each command in its order, and what it prints beside what the page says of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tests.docs.terminal import Beside, Said, Terminal, beside


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("beside")) as one:
        yield one


@pytest.mark.slow
def test_the_quickstart_is_true(terminal: Beside) -> None:
    terminal.follow(DOCS / "quickstart.md")


@pytest.mark.slow
def test_scripts_are_true(terminal: Beside) -> None:
    terminal.follow(DOCS / "scripts.md")


@pytest.mark.slow
def test_own_lifecycles_are_true(tmp_path: Path) -> None:
    Terminal(tmp_path).follow(DOCS / "own-lifecycles.md")


PAGE = (
    "suspend of /shop/web: operation 9688e04c-122f-4dcf-a7cb-bf8f01c6f895",
    "...",
    "9688e04c-122f-4dcf-a7cb-bf8f01c6f895  done since 2026-01-05T10:00:00Z",
    "server 32313  http://127.0.0.1:7770",
)
REAL = (
    "suspend of /shop/web: operation 11111111-122f-4dcf-a7cb-bf8f01c6f895",
    "whatever",
    "11111111-122f-4dcf-a7cb-bf8f01c6f895    done since 2027-02-06T11:22:33Z",
    "server    99  http://127.0.0.1:8123",
)


def test_ids_times_and_ports_may_differ_and_are_known_then() -> None:
    said = Said({"7770": "8123"})
    real = (*REAL[:3], REAL[3].replace("99", "4711"))
    assert said.compare(PAGE, real) == ""
    assert said.as_is("kill -9 32313") == "kill -9 4711"
    assert said.as_is("wait 9688e04c-122f-4dcf-a7cb-bf8f01c6f895") == "wait 11111111-122f-4dcf-a7cb-bf8f01c6f895"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("done", "failed"),
        ("/shop/web", "/shop/wob"),
        (
            "11111111",
            "22222222",
        ),
        ("8123", "8124"),
        ("suspend", ""),
    ],
)
def test_anything_else_may_not(old: str, new: str) -> None:
    real = [*REAL[:3], REAL[3].replace("99", "4711")]
    place = max(place for place, line in enumerate(real) if old in line)
    real[place] = real[place].replace(old, new)
    assert Said({"7770": "8123"}).compare(PAGE, real).startswith("the page says:")
