"""Processes of a cell seen from the test: they are born, told what to do, watched while they write, and they die."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from stead.dev.children import Server, signal_process

DOOMED = Path(__file__).with_name("doomed.py")


class Nursery(Server):
    """Where processes come from: they are forked, so that each costs milliseconds."""

    def __init__(self) -> None:
        super().__init__("nursery")

    def command(self) -> Sequence[str | Path]:
        return [sys.executable, DOOMED, str(self.port)]

    def destroy(self) -> None:
        """It ends all who came from it, and itself."""
        self.stop()

    def ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Moment:
    """One write, and whether death comes before or after it."""

    write: str
    nth: int = 1
    when: str = "before"
    signal: str = "SIGKILL"

    def told(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.when} {self.write}" + (f" ({self.nth})" if self.nth > 1 else "")


class Process:
    """One controller or agent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.pid = 0
        self.writes: list[str] = []
        """What it wrote since it was told to count."""
        self.told_all = asyncio.Event()
        """It is an agent, and has told all that it has."""
        self.struck = asyncio.Event()
        self.died = asyncio.Event()
        self._ready = asyncio.Event()
        self._chosen = asyncio.Event()
        self._answers: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._hearing = asyncio.create_task(self._hear())

    @classmethod
    async def born(cls, nursery: Nursery, moment: Moment | None = None, **what: Any) -> Self:
        """A new process; it is what it is to be when this returns, and may be struck from the first moment on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", nursery.port)
        process = cls(reader, writer)
        process._say({**what, "chosen": moment and moment.told()})
        await process._ready.wait()
        return process

    async def choose(self, moment: Moment | None = None) -> None:
        """Count from now on, and die at that moment."""
        self._chosen.clear()
        self._say({"choose": moment.told() if moment else {}})
        await self._chosen.wait()

    def ask(self, **wish: Any) -> None:
        """Ask a controller for an action; whether an answer comes is another matter."""
        self._say({"ask": wish})

    async def answer(self) -> Mapping[str, Any]:
        """The answer to what was asked."""
        return await self._answers.get()

    def wake(self) -> None:
        """Let it go on where it was stopped."""
        os.kill(self.pid, signal.SIGCONT)

    async def close(self) -> None:
        """End it, if it has not died."""
        if self.pid and not self.died.is_set():
            signal_process(self.pid, signal.SIGKILL)
        self._writer.close()
        await self._hearing

    def _say(self, word: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(word).encode() + b"\n")

    async def _hear(self) -> None:
        with suppress(ConnectionError):
            while text := await self._reader.readline():
                self._heard(json.loads(text))
        self.died.set()
        self._ready.set()
        self._chosen.set()
        with suppress(ConnectionError):
            self._writer.close()
            await self._writer.wait_closed()

    def _heard(self, word: Mapping[str, Any]) -> None:
        match word:
            case {"ready": pid}:
                self.pid = pid
                self._ready.set()
            case {"write": name}:
                self.writes.append(name)
            case {"beside": "say full-state"}:
                self.told_all.set()
            case {"struck": _}:
                self.struck.set()
            case {"chosen": _}:
                self.writes.clear()
                self._chosen.set()
            case {"answer": answer}:
                self._answers.put_nowait(answer)
