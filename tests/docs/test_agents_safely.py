"""The page about identities is typed, with a bus, a server, a cloud and an agent that it starts itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stead.dev.children import free_port, signal_process
from stead.dev.engines import nats_binary
from tests.docs.blocks import DOCS
from tests.docs.terminal import Said, Terminal


class Starting(Terminal):
    """A terminal in which a command may be left running."""

    patience = 240.0
    """Servers take as long to begin where much else is going on."""

    def __init__(self, folder: Path, database: str) -> None:
        ports = {port: str(free_port()) for port in ("4222", "7770", "7780")}
        super().__init__(folder, STEAD_DATABASE=database, STEAD_SERVER=f"http://127.0.0.1:{ports['7770']}")
        self.env["XDG_CONFIG_HOME"] = str(folder)
        self.env["PATH"] += f"{os.pathsep}{nats_binary().parent}"
        self.said = Said(ports)
        self.left: list[subprocess.Popen[bytes]] = []

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """One that is left running is waited for until it can be worked with."""
        if not command.endswith(" &"):
            return super().step(command, output)
        typed = ["bash", "-c", self.said.as_is(command.removesuffix(" &"))]
        self.left.append(subprocess.Popen(typed, cwd=self.folder, env=self.env, start_new_session=True))
        self.until(self.ready(command), command)
        return []

    def ready(self, command: str) -> Callable[[], bool]:
        """Whether what a command starts is there."""
        if "agent run" in command:
            return lambda: " connected " in "\n".join(self.type("stead agent list"))
        port = next(port for word, port in PORTS.items() if word in command)
        return lambda: listens(int(self.said.known[port]))

    def until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + self.patience
        while not true():
            assert time.monotonic() < end, f"waited for {what}"
            time.sleep(0.2)

    def end(self) -> None:
        """Nothing is left, the last first."""
        super().end()
        for process in reversed(self.left):
            signal_process(process.pid, signal.SIGTERM, group=True)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                signal_process(process.pid, signal.SIGKILL, group=True)
                process.wait(60)


PORTS = {"nats-server": "4222", "stead server": "7770", "sim-cloud": "7780"}


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.long
def test_agents_safely_is_true(tmp_path: Path, strict: str) -> None:
    terminal = Starting(tmp_path, strict)
    try:
        terminal.follow(DOCS / "how-to" / "agents-safely.md")
    finally:
        terminal.end()
