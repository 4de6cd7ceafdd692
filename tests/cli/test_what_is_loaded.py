"""A process loads what it is made of, and not what others are: an agent may run on a small machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stead.cli.commands import COMMANDS
from stead.cli.lazy_import import LazyCommand

PARTS = ("fastapi", "uvicorn", "pydantic", "asyncpg", "sqlalchemy", "stead.api", "stead.store", "stead.controller")


def loaded(module: str) -> set[str]:
    program = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", program], text=True).split())


@pytest.mark.parametrize(
    ("process", "wanted"),
    [
        ("server", {"fastapi", "uvicorn", "pydantic", "asyncpg", "stead.api", "stead.store", "stead.controller"}),
        ("controller", {"pydantic", "asyncpg", "stead.store", "stead.controller"}),
        ("agent", set()),
    ],
)
def test_a_process_is_made_of_its_own_parts(process: str, wanted: set[str]) -> None:
    found = loaded(f"stead.cli.processes.{process}")
    assert found & set(PARTS) == wanted
    assert ("stead.agent.agent" in found) == (process == "agent")


def test_the_command_is_made_of_none_of_them() -> None:
    assert not loaded("stead.cli.main") & {*PARTS, "stead.bus", "stead.agent.agent", "nats"}


def test_a_command_does_not_wait_for_the_others() -> None:
    program = "import sys; from stead.cli.lazy_import import LazyCommand; LazyCommand()['claim']; print(*sys.modules)"
    found = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
    assert "stead.cli.claim" in found
    assert not found & {"stead.cli.mci", "stead.cli.vm", "stead.cli.lease", "stead.cli.serve"}


def test_every_command_is_there_and_those_without_others_below_have_an_example() -> None:
    for name, command in LazyCommand().items():
        assert bool(COMMANDS[name].example) != hasattr(command, "commands"), name
