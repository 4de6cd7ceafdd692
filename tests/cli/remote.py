"""How tests call the command against a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Protocol

import pytest
import typer
from typer.testing import CliRunner

from stead.cli.main import app
from tests.api.cell import Cell


class Reached(Protocol):
    """A server."""

    @property
    def url(self) -> str: ...


@dataclass(frozen=True)
class Nowhere:
    """There is no server."""

    url: str = "http://127.0.0.1:9"


NOWHERE = Nowhere()


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, its head first."""
        return [row.split() for row in self.out.splitlines()]


type Stead = Callable[..., Answer]


# Made once: it takes longer to put together than most commands take to run.
COMMAND = typer.main.get_command(app)


def command(server: Reached, monkeypatch: pytest.MonkeyPatch) -> Stead:
    """The command, in this process."""
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMAND)

    def stead(*words: str, stdin: str | None = None) -> Answer:
        env = {"STEAD_SERVER": server.url}
        result = CliRunner().invoke(app, words, input=stdin, env=env, catch_exceptions=False)
        return Answer(result.exit_code, result.stdout, result.stderr)

    return stead


LISTENS = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "stead"
runpy.run_module("stead", run_name="__main__")
"""
"""The command, stopped by hand also where whoever runs the tests has made them deaf to that, as shells do with what
runs in the background."""


@contextmanager
def process(cell: Cell, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, stopped by hand at the end."""
    env = {**os.environ, "STEAD_SERVER": cell.url}
    arguments = [sys.executable, "-c", LISTENS, *words]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as child:
        guard = threading.Timer(60, child.kill)  # so that a test that waits for its output comes to an end
        guard.start()
        try:
            yield child
        finally:
            guard.cancel()
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(60)
                finally:
                    child.kill()


def until(stream: IO[str], words: list[str]) -> None:
    """Read on to a line of these words."""
    for line in stream:
        if line.split() == words:
            return
    raise AssertionError(f"{words} never came")
