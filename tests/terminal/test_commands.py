"""Commands that change something, typed in a pseudo-terminal beside a `stead dev`: what a person sees of them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest

from stead.dev.children import signal_process
from tests.dev.trial import Trial, trial
from tests.terminal.progress import PROGRESS
from tests.terminal.pseudo import PseudoTerminal, pseudo_terminal, with_stead
from tests.tiers import first_fast

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with trial(tmp_path_factory.mktemp("dev")) as one:
        one.runs()
        yield one


@pytest.fixture(scope="module")
def terminal(dev: Trial, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PseudoTerminal]:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "site.yaml").write_text("api: {command: [sleep, '86400']}\n")
    with pseudo_terminal(folder, PATH=with_stead(folder), STEAD_SERVER=dev.url) as one:
        yield one


FAMILIES = {
    "multicloud": (
        "stead network create shop/networks/aws.us-east-1.main --set cidr=10.1.0.0/16",
        "stead vm create shop/web/front/1 --provider aws --region us-east-1",
    ),
    "any kind": (
        "stead vm create shop/any/front/1 --provider aws --region us-east-1",
        "stead resource request shop/any/front/1 suspend",
    ),
    "datacenter": ("stead account create acme", "stead account disable acme"),
    "reservation": ("stead lease create lab/monday --from now --to +1h", "stead lease delete lab/monday"),
    "system": ("stead system create shop/site --lane local.one", "stead system delete shop/site"),
}


@pytest.mark.parametrize("family", first_fast(FAMILIES, 2))
def test_commands_of_family_draw_progress_and_end_well(terminal: PseudoTerminal, family: str) -> None:
    for command in FAMILIES[family]:
        typed = terminal.type(command)
        assert typed.code == 0, typed.text
        assert typed.drew(PROGRESS), typed.erased
        assert re.fullmatch(r"\S+ of /\S+: operation \S+", typed.lines[0])
        assert re.fullmatch(r"\S+ of /\S+: succeeded", typed.lines[1])
        assert typed.lines[2].split() == ["OPERATION", "ACTION", "PATH", "OUTCOME"]
        assert len(typed.lines) == 4


def test_deploy_asks_in_a_terminal_and_then_draws_progress(terminal: PseudoTerminal) -> None:
    assert terminal.type("stead system create shop/shop --lane local.one").code == 0
    terminal.start("stead system deploy shop/shop -f site.yaml")
    terminal.until(r"Deploy this\? \[y/N\]:")
    terminal.answer("y")
    typed = terminal.end()
    assert typed.code == 0, typed.text
    assert typed.drew(PROGRESS)
    assert "deploy of /shop/shop: succeeded" in typed.lines


def interrupt(terminal: PseudoTerminal, command: str, progress: str) -> str:
    """Press Ctrl-C while a command draws progress; the command that it says follows the operation."""
    terminal.start(command)
    drawn = terminal.until(rf"^\S .*: {progress} .*\d:\d\d:\d\d$")
    terminal.press_ctrl_c()
    typed = terminal.end()
    assert typed.code == 130, typed.text
    action, path = re.findall(r"^\S (\S+) of (/\S+):", drawn)[0]
    pattern = rf"interrupted; {action} {path} continues as operation (\S+)\n  follow it: (.*)"
    said = re.fullmatch(pattern, "\n".join(typed.lines[-2:]))
    assert said is not None, typed.text
    assert said[2].startswith(f"stead operation wait {said[1]}")
    return said[2]


def test_ctrl_c_leaves_operation_running_and_says_how_to_follow_it(dev: Trial, terminal: PseudoTerminal) -> None:
    made = terminal.type("stead vm create shop/slow/front/1 --provider azure --region westeurope")
    assert made.code == 0, made.text
    agent = dev.pid("agent-azure")
    os.kill(agent, signal.SIGSTOP)
    try:
        follow = interrupt(terminal, "stead vm suspend shop/slow/front/1", "Suspending")
        terminal.start(follow)
        terminal.until(r"^\S suspend of /shop/slow/front/1: Suspending .*\d:\d\d:\d\d$")
    finally:
        signal_process(agent, signal.SIGCONT)
    typed = terminal.end()
    assert typed.code == 0, typed.text
    assert typed.lines[0] == "suspend of /shop/slow/front/1: succeeded"


@pytest.mark.long
def test_ctrl_c_with_server_option_names_the_server(dev: Trial, terminal: PseudoTerminal) -> None:
    """A site waits for its agent, which does not come."""
    follow = interrupt(terminal, f"STEAD_SERVER= stead cloudlet create lab/berlin --wait --server {dev.url}", "Init")
    assert follow.endswith(f" --server {dev.url}")
    typed = terminal.type(f"STEAD_SERVER= {follow} --timeout 0s")
    assert typed.code == 124, typed.text
    assert follow in typed.text


@pytest.mark.long
def test_server_killed_during_progress_is_waited_for(dev: Trial, terminal: PseudoTerminal) -> None:
    made = terminal.type("stead vm create shop/slow/front/2 --provider gcp --region europe-west4")
    assert made.code == 0, made.text
    agent, server = dev.pid("agent-gcp"), dev.pid("server")
    os.kill(agent, signal.SIGSTOP)
    try:
        terminal.start("stead vm suspend shop/slow/front/2")
        terminal.until(r"^\S suspend of /shop/slow/front/2: Suspending .*\d:\d\d:\d\d$")
        os.kill(server, signal.SIGKILL)
        dev.until(lambda: dev.pid("server") != server, "the server to be back")
    finally:
        signal_process(agent, signal.SIGCONT)
    typed = terminal.end()
    assert typed.code == 0, typed.text
    assert "suspend of /shop/slow/front/2: succeeded" in typed.lines


def test_ctrl_c_while_watching_ends_the_command_quietly(terminal: PseudoTerminal) -> None:
    assert terminal.type("stead vm create shop/eye/front/1 --provider aws --region us-east-1").code == 0
    for command in ("stead vm list shop/eye --watch", "stead operation list --below shop/eye --watch"):
        terminal.start(command)
        terminal.until(r"/shop/eye/front/1")
        terminal.press_ctrl_c()
        typed = terminal.end()
        assert typed.code == 130, typed.text
