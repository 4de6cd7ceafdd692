"""Terminals beside a `stead dev` and something that its pages speak to: a cloud, a hypervisor, containers."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.docs.terminal import Beside
from tests.drivers.test_podman import Podman

AGENT = re.compile(r"(?s) agent run .*--name (\S+) .*&$")
"""An agent that is left running."""
FROM_ELSEWHERE = ("lxc image copy ", "podman pull ")
"""Commands that get something from the internet; it is there already."""
CONTAINERS = """[containers]
default_ulimits = ["nofile=10000:10000", "nproc=10000:10000"]
"""


def lacking(*programs: str) -> str:
    """Which of the programs that a page takes are not installed; nothing, if all are."""
    absent = [program for program in programs if not shutil.which(program)]
    return f"{', '.join(absent)} not installed" if absent else ""


def need(why: str) -> None:
    """Skip a page for this reason, if there is any. Where everything is to be tested, that is an error."""
    if why:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)


class WithProvider(Beside):
    """A terminal beside a `stead dev`, from which agents of a provider are started."""

    patience = 240.0
    """What providers do takes longer."""
    places: Mapping[str, str] = {}
    """Where something is, by where a page says that it is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._add_program("python", sys.executable)

    def _add_program(self, name: str, command: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def have_podman(self, podman: Podman) -> None:
        """From now on `podman` is one with storage of its own."""
        self._add_program("podman", f"{shutil.which('podman')} {podman.options}")
        settings = self.folder / "containers.conf"
        settings.write_text(CONTAINERS, encoding="utf-8")
        self.env["CONTAINERS_CONF"] = str(settings)

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """What a page says of a place is done at the place that there is. An agent is waited for."""
        if command.startswith(FROM_ELSEWHERE):
            return list(output)
        command = self._replaced(command)
        shown = super().step(command, output)
        if agent := AGENT.search(command):
            self._wait_for(agent[1])
        return shown

    def placed(self, text: str) -> str:
        """A file of the page with what it names at the place that there is."""
        return super().placed(self._replaced(text))

    def _replaced(self, text: str) -> str:
        for said, there in self.places.items():
            text = text.replace(said, there)
        return text

    def leave_shell(self) -> None:
        """The next command is typed in a new one; what was left running in this one is told to end."""
        if self._shell is not None:
            with suppress(AssertionError):  # where a command still runs
                self._shell.type("kill $(jobs -p)")
            self._shell.close()
            self._shell = None

    def end(self) -> None:
        """Nothing is left, agents of pages that came to no end neither."""
        self.leave_shell()
        super().end()

    def _wait_for(self, agent: str) -> None:
        """No user types as fast as agents start."""
        end = time.monotonic() + self.patience
        while not any(re.match(rf"{agent} +there ", line) for line in self.type("stead agent list")):
            assert any("Running" in line for line in self.type("jobs")), (self.folder / "agent.log").read_text()
            assert time.monotonic() < end, f"waited for {agent}"
            time.sleep(0.2)


class Relay:
    """Leads connections to a port of this machine to the same port of a network namespace."""

    def __init__(self, process: int, port: int) -> None:
        """Of the namespace that a process is in."""
        self.port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.here: int = self._listener.getsockname()[1]
        self._namespace = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        """Only this thread is in the namespace; the listener stays where it was made."""
        os.setns(self._namespace, os.CLONE_NEWNET)
        with suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.port))
                Thread(target=_connect, args=(near, far), daemon=True).start()

    def close(self) -> None:
        """No more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        os.close(self._namespace)


def _connect(near: socket.socket, far: socket.socket) -> None:
    with near, far:
        back = Thread(target=_pass_on, args=(far, near), daemon=True)
        back.start()
        _pass_on(near, far)
        back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while some := source.recv(65536):
            target.sendall(some)
        target.shutdown(socket.SHUT_WR)
