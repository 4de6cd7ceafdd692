"""`stead lifecycle`, as somebody at a terminal or a script sees it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stead import __version__
from stead.catalog import FAMILIES, KINDS
from stead.cli import exploration
from stead.cli.exploration import ExplorationReport
from stead.cli.lifecycle_sources import complete
from stead.cli.main import app
from stead.cli.output import Code
from stead.lifecycle.diagram import render
from stead.lifecycle.document import dump, load
from stead.lifecycle.explore import Bounds

FAULTY = Path(__file__).parents[1] / "data" / "four-faults.yaml"
QUICK = ("--requests", "0", "--crashes", "0", "--repeats", "0", "--late", "0")


class Answer:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


def stead(*arguments: str, stdin: str | None = None) -> Answer:
    result = CliRunner().invoke(app, arguments, input=stdin, catch_exceptions=False)
    return Answer(result.exit_code, result.stdout, result.stderr)


def lifecycle(*arguments: str, stdin: str | None = None) -> Answer:
    return stead("lifecycle", *arguments, stdin=stdin)


@pytest.fixture
def printer(tmp_path: Path) -> Path:
    """A lifecycle of somebody's own."""
    path = tmp_path / "printer.yaml"
    path.write_text(FAULTY.read_text())
    return path


# The command itself


def test_version() -> None:
    answer = stead("--version")
    assert (answer.code, answer.out) == (Code.DONE, f"stead {__version__}\n")


@pytest.mark.parametrize("arguments", [("--nonsense",), ("lifecycle", "show"), ("lifecycle", "list", "-o", "xml")])
def test_wrong_use_ends_with_2_and_says_nothing_on_stdout(arguments: tuple[str, ...]) -> None:
    answer = stead(*arguments)
    assert (answer.code, answer.out) == (Code.USAGE, "")
    assert "Usage: stead" in answer.err


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "stead", "lifecycle", "list", "-o", "name"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == list(KINDS)


# list


def test_list_names_every_kind_with_its_sentence() -> None:
    lines = lifecycle("list").out.splitlines()
    assert lines[0].split() == ["KIND", "FAMILY", "DESCRIPTION"]
    assert [line.split()[:2] for line in lines[1:]] == [[k, f] for f, kinds in FAMILIES.items() for k in kinds]
    assert all(line.endswith(KINDS[line.split()[0]].description) for line in lines[1:])


def test_list_wide_has_numbers_too() -> None:
    header, first, *_ = lifecycle("list", "-o", "wide").out.splitlines()
    assert header.split()[2:5] == ["STATES", "ACTIONS", "TRANSITIONS"]
    vm = KINDS["vm"]
    assert first.split()[2:5] == [str(len(vm.states)), str(len(vm.actions)), str(len(vm.table))]


@pytest.mark.parametrize(("format", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_list_for_programs(format: str, read: Any) -> None:
    rows = read(lifecycle("list", "-o", format).out)
    assert [row["kind"] for row in rows] == list(KINDS)
    assert list(rows[0]) == ["kind", "family", "states", "actions", "transitions", "parent", "members", "description"]


# show


@pytest.mark.parametrize("kind", KINDS)
def test_show_has_every_state_action_and_move(kind: str) -> None:
    out = lifecycle("show", kind).out
    states, actions, moves = (block.splitlines() for block in out.split("\n\n")[1:])
    assert [line.split()[0] for line in states[1:]] == [s.name for s in KINDS[kind].states]
    assert [line.split()[0] for line in actions[1:]] == [a.name for a in KINDS[kind].actions]
    assert len(moves) == len(KINDS[kind].table) + 1


def test_show_says_how_long_and_what_then() -> None:
    out = lifecycle("show", "machine").out
    (deleted,) = [state for state in KINDS["machine"].states if state.expiry]
    assert deleted.expiry is not None
    (line,) = [line for line in out.splitlines() if line.startswith(f"{deleted.name} ") and "stable" in line]
    assert f", then {deleted.expiry.action}" in line


def test_show_as_yaml_is_the_document() -> None:
    text = lifecycle("show", "lease", "-o", "yaml").out
    assert load(text) == KINDS["lease"]
    assert json.loads(lifecycle("show", "lease", "-o", "json").out) == yaml.safe_load(text)


def test_show_moves_for_programs() -> None:
    moves = json.loads(lifecycle("show", "vm", "--transitions", "-o", "json").out)
    assert len(moves) == len(KINDS["vm"].table)
    (create,) = (move for move in moves if (move["trigger"], move["actor"]) == ("request create", "controller"))
    assert create == {
        "source": "Absent",
        "trigger": "request create",
        "actor": "controller",
        "target": "Creating",
        "forced": False,
    }
    assert any(move["forced"] for move in moves)
    assert yaml.safe_load(lifecycle("show", "vm", "--transitions", "-o", "yaml").out) == moves


def test_a_file_and_stdin_are_as_good_as_a_kind(printer: Path) -> None:
    shown = lifecycle("show", str(printer))
    assert shown.code == Code.DONE
    assert shown.out.startswith("printer: A printer in an office.\n")
    assert lifecycle("show", "-", stdin=printer.read_text()).out == shown.out


def test_a_name_that_could_be_both_is_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vm").write_text(dump(KINDS["event"]))
    assert lifecycle("show", "vm").out.startswith("vm: ")
    assert lifecycle("show", "./vm").out.startswith("event: ")


@pytest.mark.parametrize("verb", ["show", "lint", "explore", "diagram"])
def test_an_unknown_kind_ends_with_5_and_near_misses(verb: str) -> None:
    answer = lifecycle(verb, "cloudelt")
    assert (answer.code, answer.out) == (Code.NOT_FOUND, "")
    assert answer.err == "error: there is no kind 'cloudelt'; did you mean cloudlet or cloudspace?\n"
    assert "the kinds are vm, subgroup," in lifecycle(verb, "zzz").err


@pytest.mark.parametrize("verb", ["show", "lint", "explore", "diagram"])
def test_a_missing_file_ends_with_5(verb: str, tmp_path: Path) -> None:
    answer = lifecycle(verb, f"{tmp_path}/none.yaml")
    assert (answer.code, answer.out) == (Code.NOT_FOUND, "")
    assert answer.err == f"error: there is no file {tmp_path}/none.yaml\n"


@pytest.mark.parametrize("verb", ["show", "explore", "diagram"])
def test_a_file_that_does_not_parse_ends_with_2_and_names_the_line(verb: str, printer: Path) -> None:
    text = printer.read_text().replace("class: absent", "clas: absent")
    printer.write_text(text)
    line = next(n for n, content in enumerate(text.splitlines(), 1) if "clas: absent" in content)
    answer = lifecycle(verb, str(printer))
    assert (answer.code, answer.out) == (Code.USAGE, "")
    assert f"{printer}:{line}: " in answer.err


def test_a_file_that_is_no_text_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"kind: \xff")
    answer = lifecycle("show", f"{tmp_path}/x.yaml")
    assert (answer.code, answer.err) == (Code.USAGE, f"error: {tmp_path}/x.yaml is not text in UTF-8 (byte 6)\n")


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    answer = lifecycle("show", f"{tmp_path}/")
    assert (answer.code, answer.err) == (Code.FAILED, f"error: cannot read {tmp_path}/: Is a directory\n")


# lint


def test_the_built_in_kinds_are_sound() -> None:
    answer = lifecycle("lint")
    assert (answer.code, answer.out) == (Code.DONE, "")
    assert answer.err == f"{len(KINDS)} lifecycles checked, 0 findings.\n"


def test_findings_say_where_and_how_to_mend(printer: Path) -> None:
    answer = lifecycle("lint", "vm", str(printer))
    assert answer.code == Code.FAILED
    lines = answer.out.splitlines()
    assert len(lines) == 8
    assert f"{printer}: state Lost: nothing leaves it, though it is not final [dead-end]" in lines
    assert lines[lines.index(next(x for x in lines if "dead-end" in x)) + 1].startswith(
        "    let an action start here"
    )
    assert answer.err == "2 lifecycles checked, 4 findings.\n"


@pytest.mark.parametrize(("format", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_findings_for_programs(printer: Path, format: str, read: Any) -> None:
    answer = lifecycle("lint", str(printer), "-o", format)
    assert answer.code == Code.FAILED
    findings = read(answer.out)
    assert {f["rule"] for f in findings} == {"no-timeout", "dead-end", "unreachable", "no-rollback"}
    assert {tuple(f) for f in findings} == {("lifecycle", "rule", "where", "message", "remedy")}
    assert read(lifecycle("lint", "-o", format).out) == []


def test_a_file_that_does_not_parse_does_not_keep_the_others_from_being_checked(
    printer: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: [\n")
    answer = lifecycle("lint", str(bad), str(printer))
    assert answer.code == Code.USAGE
    assert "dead-end" in answer.out
    assert f"{bad}:" in answer.err
    assert answer.err.endswith("1 lifecycle checked, 4 findings.\n")


# explore


def test_explore_tells_the_numbers_and_the_bounds() -> None:
    answer = lifecycle("explore", "event", *QUICK)
    assert answer.code == Code.DONE
    header, row, _, bounds = answer.out.splitlines()
    assert header.split() == ["KIND", "VISITED", "TRANSITIONS", "SECONDS", "RESULT"]
    assert row.split()[0] == "event"
    assert int(row.split()[1]) > 1
    assert row.endswith("complete within its bounds")
    assert bounds.startswith("Bounds: ")
    assert {"requests 0", "crashes 0", "in flight 3"} <= set(bounds.removeprefix("Bounds: ").rstrip(".").split(", "))
    assert "[1/1] event: complete within its bounds" in answer.err


@pytest.mark.long
def test_explore_for_programs_and_in_processes_of_their_own() -> None:
    rows = json.loads(lifecycle("explore", "event", "node", *QUICK, "-o", "json").out)
    assert [row["kind"] for row in rows] == ["event", "node"]
    assert list(rows[0]) == ["kind", "visited", "transitions", "seconds", "complete", "bounds", "story"]
    alone = json.loads(lifecycle("explore", "event", "node", *QUICK, "--jobs", "1", "-o", "json").out)
    assert [{**row, "seconds": 0} for row in rows] == [{**row, "seconds": 0} for row in alone]


def test_the_bounds_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def search(lifecycle: object, bounds: Bounds) -> ExplorationReport:
        asked.append(bounds)
        return ExplorationReport("event", 1, 1, 0.0, True, {})

    monkeypatch.setattr(exploration, "search", search)
    options = ("--requests", "5", "--crashes", "6", "--in-flight", "7", "--repeats", "8", "--late", "9")
    lifecycle("explore", "event", *options)
    lifecycle("explore", "event")
    assert asked == [Bounds(requests=5, crashes=6, in_flight=7, repeats=8, late=9), Bounds()]


def explored_as(monkeypatch: pytest.MonkeyPatch, **what: Any) -> Answer:
    result = ExplorationReport(
        **{"kind": "event", "visited": 9, "transitions": 8, "seconds": 0.1, "complete": True, "bounds": {}, **what}
    )
    monkeypatch.setattr(exploration, "search", lambda lifecycle, bounds: result)
    return lifecycle("explore", "event")


def test_a_violation_tells_its_story_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = explored_as(monkeypatch, story="  1. a crash\n     -> lost")
    assert answer.code == Code.FAILED
    assert answer.out.endswith("event: the shortest story\n  1. a crash\n     -> lost\n")
    assert "violation" in answer.out


def test_a_search_that_did_not_end_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = explored_as(monkeypatch, complete=False)
    assert answer.code == Code.FAILED
    assert "not complete" in answer.out
    assert "complete within" not in answer.out


def test_all_are_explored_in_the_order_of_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "search", lambda lc, bounds: ExplorationReport(lc.kind, 1, 1, 0.0, True, {}))
    answer = lifecycle("explore", "--all", "--jobs", "1")
    assert [line.split()[0] for line in answer.out.splitlines()[1 : len(KINDS) + 1]] == list(KINDS)


@pytest.mark.parametrize("arguments", [(), ("--all", "vm")])
def test_explore_wants_names_or_all(arguments: tuple[str, ...]) -> None:
    answer = lifecycle("explore", *arguments)
    assert (answer.code, answer.err) == (Code.USAGE, "error: name lifecycles to explore, or give --all\n")


# diagram


@pytest.mark.parametrize("format", ["mermaid", "dot", "svg"])
def test_diagram_on_stdout(format: str) -> None:
    assert lifecycle("diagram", "vm", "--format", format).out == render(KINDS["vm"], format)


def test_diagram_is_mermaid_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    assert lifecycle("diagram", "vm").out.startswith("stateDiagram-v2\n")
    for suffix, format in (("svg", "svg"), ("dot", "dot"), ("gv", "dot"), ("md", "mermaid")):
        path = tmp_path / f"vm.{suffix}"
        answer = lifecycle("diagram", "vm", "--output", str(path))
        assert (answer.code, answer.out, answer.err) == (Code.DONE, "", f"wrote {path}\n")
        assert path.read_text() == render(KINDS["vm"], format)


def test_diagram_with_detail_and_of_a_file(printer: Path) -> None:
    assert lifecycle("diagram", "vm", "--detail").out == render(KINDS["vm"], "mermaid", detail=True)
    assert lifecycle("diagram", str(printer)).out == render(load(printer.read_text()), "mermaid")


def test_diagram_that_cannot_be_written(tmp_path: Path) -> None:
    answer = lifecycle("diagram", "vm", "--output", f"{tmp_path}/no/vm.svg")
    assert answer.code == Code.FAILED
    assert answer.err == f"error: cannot write {tmp_path}/no/vm.svg: No such file or directory\n"


# Terminals


def on_terminal(**env: str) -> str:
    """What `stead lifecycle show event` writes to a terminal of 60 columns."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "stead", "lifecycle", "show", "event"]
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    surroundings = {**plain, "TERM": "xterm-256color", "COLUMNS": "60", **env}
    with subprocess.Popen(command, stdin=slave, stdout=slave, env=surroundings) as process:
        os.close(slave)
        written = b""
        try:
            while chunk := os.read(master, 4096):
                written += chunk
        except OSError:
            pass  # how Linux says that the other end is closed
        assert process.wait() == 0
    os.close(master)
    return written.decode()


@pytest.mark.long
def test_a_terminal_gets_its_width_and_colours_only_if_it_wants_them() -> None:
    coloured, plain = on_terminal(), on_terminal(NO_COLOR="1")
    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|9\d)m")
    assert colour.search(coloured)
    assert not colour.search(plain)
    escape = re.compile(r"\x1b\[[\d;]*m")
    assert escape.sub("", coloured) == escape.sub("", plain)
    assert max(len(line) for line in escape.sub("", plain).splitlines()) <= 60


def test_a_pipe_gets_no_escapes_and_whole_lines() -> None:
    command = [sys.executable, "-m", "stead", "lifecycle", "list"]
    env = {**os.environ, "COLUMNS": "40"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    assert "\x1b" not in out
    assert len(out.splitlines()) == len(KINDS) + 1


def test_completion_offers_kinds() -> None:
    assert complete("clo") == ["cloudlet", "cloudspace"]
    assert complete("") == list(KINDS)
