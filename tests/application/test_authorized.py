"""A command or a query without an `Authorized` does not type-check, and only authorization makes an `Authorized`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.policies import VIEW
from stead.application.commands import Application
from stead.application.queries import Queries
from stead.lifecycle.rows import Actor

ROOT = Path(__file__).parents[2]
CALLS = Path(__file__).with_name("authorized_calls.txt")
SRC = ROOT / "src" / "stead"
MAKERS = {"access/authorized.py", "access/authorization.py"}
"""The modules that make an `Authorized`."""
INNER = {"reader", "store"}
"""Attributes of the application that answer without authorization: for its own modules, and for no interface."""


def test_calls_without_authorization_do_not_type_check(tmp_path: Path) -> None:
    text = CALLS.read_text()
    copy = tmp_path / "calls.py"
    copy.write_text(text)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-pretty", str(copy)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    found = {int(line) for line in re.findall(rf"^{re.escape(str(copy))}:(\d+): error:", done.stdout, re.MULTILINE)}
    marked = {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# rejected")}
    assert found == marked, done.stdout + done.stderr


def test_only_authorization_makes_the_permission() -> None:
    makers = {
        str(file.relative_to(SRC))
        for file in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Authorized"
    }
    assert makers <= MAKERS


def test_no_interface_reads_past_authorization() -> None:
    found = {
        f"{file.name}:{node.lineno}"
        for file in (SRC / "api").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in INNER
    }
    assert found == set()


def test_permission_covers_its_own_action_only() -> None:
    permission = Authorized(Caller("ann"), "suspend", dry_run=True)
    permission.check("suspend", dry_run=True)
    for action, force, dry_run in (("delete", False, True), ("suspend", False, False), ("suspend", True, True)):
        with pytest.raises(RuntimeError, match="does not cover"):
            permission.check(action, force=force, dry_run=dry_run)
    Authorized(Caller("ann"), "suspend", force=True).check("suspend", force=True)


def test_queries_demand_the_permission_to_view() -> None:
    application: Application = object.__new__(Application)
    assert Queries(application, Authorized(Caller("ann"), VIEW)).caller == Caller("ann")
    with pytest.raises(RuntimeError, match="does not cover view"):
        Queries(application, Authorized.of_record("ann", Actor.USER, "suspend"))
