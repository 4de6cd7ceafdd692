"""Every command that waits for an operation waits in one place, so that what a terminal shows there holds for all."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import stead.cli
from stead.cli import progress, progress_display
from stead.client import Accepted, Client
from tools.docs.commands import leaves, options

LEAVES = dict(leaves())
SOURCES = sorted(Path(stead.cli.__file__).parent.rglob("*.py"))


@cache
def asks() -> set[str]:
    """Methods of a client that ask for a change, and may begin an operation."""
    methods = inspect.getmembers(Client, inspect.isfunction)
    return {name for name, method in methods if typing.get_type_hints(method).get("return") is Accepted}


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def functions(function: Callable[..., object]) -> dict[FunctionType, set[str]]:
    """A function of the command line with all that it may call there, each with the names that it uses."""
    found: dict[FunctionType, set[str]] = {}
    left = [inspect.unwrap(function)]
    while left:
        one = left.pop()
        if not isinstance(one, FunctionType) or one in found or not one.__module__.startswith("stead.cli."):
            continue
        names = {name for code in codes(one.__code__) for name in code.co_names}
        found[one] = names
        left += [one.__globals__[name] for name in names if isinstance(one.__globals__.get(name), FunctionType)]
        left += [cell.cell_contents for cell in one.__closure__ or ()]
    return found


@cache
def calls(command: str) -> dict[FunctionType, set[str]]:
    """All that a command may call."""
    return functions(LEAVES[command].callback)


def waiting() -> set[str]:
    """The commands that can be told to wait, or not to."""
    return {name for name, leaf in LEAVES.items() if any(option.name == "wait" for option in options(leaf))}


def asking() -> set[str]:
    """The commands that ask for a change."""
    return {name for name in LEAVES if any(asks() & used for used in calls(name).values())}


def test_commands_that_wait_or_ask_for_a_change_are_found() -> None:
    """So that the tests below are about something."""
    assert asks() == {"request_action", "retry", "deploy", "adopt_orphan", "remove_orphan"}
    assert len(waiting()) > 90
    assert {"stead mci create", "stead lease delete", "stead system deploy", "stead job run"} < waiting()
    assert {"stead orphan adopt", "stead cloudlet resolve"} <= asking() - waiting()


def test_every_command_that_waits_goes_through_the_one_progress_function() -> None:
    assert {name for name in waiting() | asking() if progress.finish not in calls(name)} == set()


def test_no_other_function_follows_an_operation() -> None:
    assert {one for name in LEAVES for one, used in calls(name).items() if "follow" in used} == {progress.finish}
    found = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="client"), attr="wait" | "follow")):
                    found.append(source.name)
    assert found == ["progress.py"]


def test_progress_display_knows_no_client() -> None:
    """It gets text; so it cannot call a server from wherever it is called."""
    tree = ast.parse(inspect.getsource(progress_display))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module and module.startswith("stead.")} == {"stead.cli.output"}


def test_no_coroutine_of_the_command_line_has_the_client_for_programs_without_a_loop() -> None:
    """What needs the server within an event loop uses `Client`."""
    found = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef):
                names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
                found += [f"{source.name}: {node.name}"] if names & {"SyncClient", "reach"} else []
    assert found == []
