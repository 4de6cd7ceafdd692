"""Pages that are typed: each command in its order, and what it prints beside what the page says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.cli.output import Code
from tests.docs.blocks import DOCS, ROOT, fenced, steps
from tests.docs.terminal import Beside, Said, Terminal, beside


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("beside")) as one:
        yield one


ELSEWHERE = ("python -m venv", "pip install", "stead dev", "stead token create", "stead server", "stead agent run")
"""What the README has to install it, and to run its parts on other machines."""
EXPLORATION = "stead lifecycle explore clusterinst"
"""Takes a minute of a processor's time."""


@pytest.mark.long
def test_readme_exploration_in_a_terminal_is_complete(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.patience = 900
    try:
        typed = terminal.run(EXPLORATION)
    finally:
        terminal.end()
    assert typed.code == 0, typed.text
    assert "complete within its bounds" in typed.text


@pytest.mark.slow
def test_readme_commands_in_a_terminal_end_as_it_says(terminal: Beside) -> None:
    codes = {
        "stead explain shop/web resume": Code.REJECTED,
        "stead mci reboot shop/web": Code.FAILED,
        "stead lifecycle lint door.yaml": Code.FAILED,
    }
    seen: dict[str, str] = {}
    drawn: list[str] = []
    for language, text in fenced(ROOT / "README.md"):
        if text.startswith("kind: door"):
            (terminal.folder / "door.yaml").write_text(text, encoding="utf-8")
        for step in steps(text) if language == "console" else ():
            if not step.command.startswith((*ELSEWHERE, EXPLORATION)):
                typed = terminal.run(step.command)
                assert typed.code == codes.get(step.command, 0), f"$ {step.command}\n{typed.text}"
                seen[step.command] = typed.text
                drawn += typed.erased
    assert {*codes} <= {*seen}
    assert any(re.fullmatch(r"  aws\.us-east-1 +[█░]{20}  \d/3", line) for line in drawn)
    assert "worst: shop/web/back/" in seen["stead mci tree shop/web"]
    assert "terminate of /shop/web: succeeded" in seen["stead mci terminate shop/web"]
    assert terminal.run("stead mci delete shop/web").code == 0  # the next page makes it anew


@pytest.mark.long
@pytest.mark.slow
def test_the_quickstart_is_true(terminal: Beside) -> None:
    refused, failed = "stead explain shop/web suspend", "stead mci reboot shop/web"
    codes = {refused: Code.REJECTED, failed: Code.FAILED, "stead explain shop/web reboot": Code.REJECTED}
    terminal.follow(DOCS / "quickstart.md", codes)


@pytest.mark.long
@pytest.mark.slow
def test_scripts_are_true(terminal: Beside) -> None:
    terminal.follow(DOCS / "scripts.md", {"stead explain ci/run17 resume -o name": Code.REJECTED})


@pytest.mark.long
@pytest.mark.slow
def test_own_lifecycles_are_true(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    try:
        terminal.follow(DOCS / "own-lifecycles.md")
    finally:
        terminal.end()


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
