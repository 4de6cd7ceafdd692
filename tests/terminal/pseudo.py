"""A pseudo-terminal with a shell in it: commands are typed, keys pressed, and the screen read as a person sees it."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pyte

BEGIN = b"\x1b]133;C\x07"
END = re.compile(rb"\x1b\]133;D;(\d+)\x07")
"""Marks that shells tell terminals: a command begins, a command has ended with this exit code. They are not shown."""

SHELL = {
    "PS0": r"\e]133;C\a",
    "PS1": "",
    "PS2": "",
    "PROMPT_COMMAND": r'printf "\033]133;D;%s\007" "$?"',
    "HISTFILE": "/dev/null",
    "TERM": "xterm-256color",
}
NOT_PASSED_ON = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that would say something else of the terminal than it is."""

TRACEBACK = "Traceback (most recent call last)"


class Screen(pyte.HistoryScreen):
    """What is on the screen, what has scrolled off it, and which lines were there before they were erased."""

    def __init__(self, columns: int, rows: int) -> None:
        self.erased: list[str] = []
        self.coloured = False
        super().__init__(columns, rows, history=100_000)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """Erase a line, and remember it."""
        if line := self._text(self.buffer[self.cursor.y]).rstrip():
            self.erased.append(line)
        super().erase_in_line(how, private)

    def select_graphic_rendition(self, *attributes: int) -> None:
        """Change how text looks, and remember whether it has a colour."""
        self.coloured |= any(30 <= one <= 38 or 40 <= one <= 48 or 90 <= one <= 107 for one in attributes)
        super().select_graphic_rendition(*attributes)

    def shown(self) -> list[str]:
        """All lines from the first to the last that is not empty."""
        lines = [self._text(line).rstrip() for line in self.history.top] + [line.rstrip() for line in self.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _text(self, line: Mapping[int, pyte.screens.Char]) -> str:
        return "".join(line[x].data for x in range(self.columns))


@dataclass(frozen=True)
class Typed:
    """What became of a command."""

    code: int
    lines: list[str]
    """As they are on the screen in the end."""
    erased: list[str]
    """Lines that were on the screen for a while."""
    coloured: bool

    @property
    def text(self) -> str:
        """The screen in the end."""
        return "\n".join(self.lines)

    def drew(self, pattern: str) -> bool:
        """Whether a line was on the screen for a while that matches."""
        return any(re.search(pattern, line) for line in self.erased)


class PseudoTerminal:
    """An interactive shell in a pseudo-terminal. Each command begins on an empty screen."""

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str],
        columns: int = 160,
        rows: int = 50,
        *,
        before: Sequence[str] = (),
    ) -> None:
        """`before` has the words of a command that starts the shell somewhere else."""
        self._size = (columns, rows)
        kept = {name: value for name, value in env.items() if name not in NOT_PASSED_ON}
        command = [*before, "bash", "--norc", "--noprofile", "--noediting", "-i"]
        self._child: pexpect.spawn[bytes] = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(folder),
            env={**kept, **SHELL},
            dimensions=(rows, columns),
            preexec_fn=_listens,
        )
        self._unread = b""
        self._start_screen()
        self._read_on(lambda: self._ended() is not None, 30, "the shell to begin")

    def _start_screen(self) -> None:
        self.screen = Screen(*self._size)
        self._stream = pyte.ByteStream(self.screen)

    def type(self, command: str, timeout: float = 60) -> Typed:
        """Type a command, and wait for its end."""
        self.start(command)
        return self.end(timeout)

    def start(self, command: str) -> None:
        """Type a command; it runs."""
        self._child.sendline(command)
        self._read_on(lambda: BEGIN in self._unread, 30, f"the shell to begin: {command}")
        self._unread = self._unread.partition(BEGIN)[2]
        self._start_screen()

    def answer(self, text: str) -> None:
        """Type a line for the command that runs."""
        self._child.sendline(text)

    def press_ctrl_c(self) -> None:
        """As a person does; the terminal tells the command that runs."""
        self._child.sendcontrol("c")

    def until(self, pattern: str, timeout: float = 60) -> str:
        """Wait until a line on the screen matches; the line."""
        found: list[str] = []

        def is_there() -> bool:
            self._show()
            found[:] = [line for line in self.screen.shown() if re.search(pattern, line)]
            assert found or self._ended() is None, f"{pattern} never came: {self.screen.shown()}"
            return bool(found)

        self._read_on(is_there, timeout, pattern)
        return found[0]

    def end(self, timeout: float = 60) -> Typed:
        """Wait for the end of the command that runs."""
        code: list[int] = []

        def has_ended() -> bool:
            if (ended := self._ended()) is not None:
                code.append(ended)
            self._show()
            return bool(code)

        self._read_on(has_ended, timeout, "the command to end")
        typed = Typed(code[0], self.screen.shown(), self.screen.erased, self.screen.coloured)
        assert TRACEBACK not in "\n".join((*typed.erased, *typed.lines)), typed.text
        assert not self.screen.cursor.hidden, "the command left the terminal without a cursor"
        return typed

    def close(self) -> None:
        """Hang up; what runs in the terminal is told so."""
        self._child.close(force=True)

    def _ended(self) -> int | None:
        """The exit code of the command, once it has ended."""
        found = END.search(self._unread)
        return int(found[1]) if found else None

    def _show(self) -> None:
        """Put on the screen what was read, up to the end of the command."""
        found = END.search(self._unread)
        at = found.start() if found else self._unread.rfind(b"\x1b") if b"\x1b" in self._unread[-16:] else None
        shown, self._unread = self._unread[:at], b"" if at is None else self._unread[at:]
        self._stream.feed(shown)

    def _read_on(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        """Read what the terminal gets until something holds."""
        end = time.monotonic() + timeout
        while not done():
            left = end - time.monotonic()
            assert left > 0, f"waited for {what}: {self.screen.shown()} {self._unread!r}"
            try:
                self._unread += self._child.read_nonblocking(65536, timeout=left)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                raise AssertionError(f"the shell ended; waited for {what}: {self.screen.shown()}") from None


def _listens() -> None:
    """Ctrl-C works also where the tests themselves are deaf to it, as what a shell runs in the background is."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def with_stead(folder: Path) -> str:
    """Put the command `stead` into a folder; the PATH on which it is found."""
    program = folder / "bin" / "stead"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stead "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"


@contextmanager
def pseudo_terminal(folder: Path, columns: int = 160, rows: int = 50, **env: str) -> Iterator[PseudoTerminal]:
    """One that is closed in the end."""
    terminal = PseudoTerminal(folder, {**os.environ, **env}, columns, rows)
    try:
        yield terminal
    finally:
        terminal.close()
