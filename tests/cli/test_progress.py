"""What terminals of several kinds show while an operation is followed."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path

import httpx
import pytest

from stead.cli.mci import _changes, summary
from stead.cli.output import ListFormat
from stead.cli.progress import finish
from stead.client import Client, SyncClient, Unreachable
from tests.api.cell import Cell
from tests.api.test_groups import ask, group
from tests.client.proxy import Proxy
from tests.terminal.progress import PROGRESS
from tests.terminal.pseudo import Typed, pseudo_terminal, with_stead


def create(cell: Cell, ns: str, folder: Path, command: str = "stead", end: str = "", columns: int = 160) -> Typed:
    """What a person sees of a VM that is made."""
    cell.obey(ns)
    with pseudo_terminal(folder, columns, PATH=with_stead(folder), STEAD_SERVER=cell.url) as terminal:
        typed = terminal.type(f"{command} vm create {ns}/m/g/1 --provider sim --region a -o name {end}")
    assert typed.code == 0, typed.text
    return typed


def stays(typed: Typed, ns: str, between: str = "", result: str = r"\2") -> bool:
    """Whether what stays is the operation, how it ended, and its id as the result."""
    pattern = rf"create of (/{ns}/m/g/1): operation ({ns}/\S{{36}}){between}create of \1: succeeded{result}"
    return re.fullmatch(pattern, "".join(typed.lines)) is not None


def test_progress_in_terminal_is_drawn_in_place_and_last_state_stays(cell: Cell, ns: str, tmp_path: Path) -> None:
    typed = create(cell, ns, tmp_path)
    assert typed.drew(PROGRESS)
    assert typed.coloured
    assert stays(typed, ns), typed.text


def test_progress_in_narrow_terminal_leaves_nothing_behind(cell: Cell, ns: str, tmp_path: Path) -> None:
    typed = create(cell, ns, tmp_path, columns=40)
    assert typed.drew(r"\d:\d\d:\d\d$")
    assert stays(typed, ns), typed.text


def test_progress_in_dumb_terminal_is_a_line_for_each_state(cell: Cell, ns: str, tmp_path: Path) -> None:
    typed = create(cell, ns, tmp_path, "TERM=dumb stead")
    assert (typed.erased, typed.coloured) == ([], False)
    assert stays(typed, ns, r"(create of \1: Creating \(acting\))?"), typed.text


def test_progress_with_no_color_is_drawn_without_colour(cell: Cell, ns: str, tmp_path: Path) -> None:
    typed = create(cell, ns, tmp_path, "NO_COLOR=1 stead")
    assert typed.drew(PROGRESS)
    assert not typed.coloured
    assert stays(typed, ns), typed.text


def test_progress_with_stdout_in_file_is_drawn_and_result_is_in_file(cell: Cell, ns: str, tmp_path: Path) -> None:
    typed = create(cell, ns, tmp_path, end="> made")
    assert typed.drew(PROGRESS)
    assert stays(typed, ns, result=""), typed.text
    assert (tmp_path / "made").read_text() == f"{typed.lines[0].split()[-1]}\n"


def test_progress_of_group_counts_its_members(cell: Cell, ns: str, web: httpx.Client, tmp_path: Path) -> None:
    path = group(cell, web, ns, 2)
    with pseudo_terminal(tmp_path, PATH=with_stead(tmp_path), STEAD_SERVER=cell.url) as terminal:
        terminal.start(f"stead mci suspend {path}")
        terminal.until(rf"^\S suspend of {path}: Suspending \(acting, 0 of 2")
        cell.settle(f"{path}/g/0")
        terminal.until(rf"^\S suspend of {path}: Suspending \(acting, 1 of 2")
        cell.settle(f"{path}/g/1")
        typed = terminal.end()
    assert typed.code == 0, typed.text
    assert f"suspend of {path}: succeeded" in typed.lines


@pytest.mark.parametrize("command", ["stead", "TERM=dumb stead"])
def test_tree_watched_in_terminal_shows_changes_until_ctrl_c(
    cell: Cell, ns: str, web: httpx.Client, tmp_path: Path, command: str
) -> None:
    path = group(cell, web, ns, 2)
    with pseudo_terminal(tmp_path, PATH=with_stead(tmp_path), STEAD_SERVER=cell.url) as terminal:
        terminal.start(f"{command} mci tree {path} --watch")
        terminal.until("Running:2")
        ask(cell, web, path, "suspend")
        terminal.until("Suspending:2")
        terminal.press_ctrl_c()
        typed = terminal.end()
    assert typed.code == 130, typed.text


def test_tree_watched_shows_last_of_changes_that_follow_closely(
    cell: Cell, ns: str, web: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.cli.mci.PAUSE", 1.0)
    path = group(cell, web, ns, 2)
    with SyncClient(cell.url) as client:
        place, found = client.journal_page(limit=1).end, client.status(path)
        shown = _changes(client, path, place, summary(found), summary)
        assert "Running:2" in next(shown)[0]
        # A change that is missed hangs nothing.
        other_change = threading.Timer(30, cell.settle, [f"{path}/g/0"])
        other_change.start()
        ask(cell, web, path, "suspend")
        assert "Suspending:2" in next(shown)[0]
        other_change.cancel()


async def test_progress_with_server_gone_says_how_to_follow_the_operation(
    cell: Cell, ns: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Proxy(cell.url) as proxy, Client(cell.url) as direct:
        spec = {"provider": "sim", "region": "a"}
        accepted = await direct.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=spec)
        assert accepted.operation is not None
        id = accepted.operation.id

        def follow() -> None:
            with SyncClient(proxy.url, retries=0, patience=0.1) as client:
                finish(client, id, None, ListFormat.TABLE)

        following = asyncio.create_task(asyncio.to_thread(follow))
        async with asyncio.timeout(60):
            await proxy.reached(lambda: len(proxy.asked) > 1)  # the first answer was shown, then
            proxy.refusing = True
            proxy.cut()
            with pytest.raises(Unreachable):
                await following
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        f"the server no longer answers; create /{ns}/m/g/1 continues as operation {id}",
        f"  follow it once the server is back: stead operation wait {id} --server {proxy.url}",
    ]
