"""Types what a page says in a pseudo-terminal, and compares what a person then sees with what the page says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from stead.cli.output import Code
from stead.dev.children import alive, free_port
from tests.docs.blocks import Step, commands, fenced, steps
from tests.terminal.progress import PROGRESS, waits
from tests.terminal.pseudo import PseudoTerminal, Typed, with_stead

NOT_TYPED = ("pip install ",)
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)"
NAME = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![\d.,-])\d{4,}(?![\d.,-]\d|\d)"
"""What is another one every time: ids of operations, and numbers of processes and ports."""
TOOK = r"(?<= )\d+\.\d(?= |s$)"
"""Seconds that something took."""
PLACE = r"^ +\d+(?=  \d{4}-\d\d-)"
"""A place in the journal."""
LATER = re.compile(r" --server http://\S+$")
"""What `stead dev` adds where it has another port than the usual one."""
JOB_BEGAN = re.compile(r"\[\d+\] \d+")
JOB_ENDED = re.compile(r"\[\d+\][+-]? +(Done|Exit|Terminated|Killed|Interrupt)")
"""What a shell says of a command in its background: that it has ended, with all of it, before the next prompt."""
FAILURE = re.compile(
    r"^error: |^\S+ of \S+: failed$| would be rejected \(|: the shortest story$|checked, [1-9]\d* findings?\.$"
)
"""How commands say that something failed."""
FILE = re.compile(r"(?:#|//) ([\w-]+\.\w+)\n")
"""How a block begins that is a file."""


def fails(step: Step) -> bool:
    """Whether a page shows that a command fails."""
    return any(FAILURE.search(line) for line in step.output)


class Said:
    """What a page says compared with what is, and what its ids and numbers turned out to be."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)

    def as_is(self, command: str) -> str:
        """A command with the ids and numbers there are."""
        return re.sub(NAME, lambda found: self.known.get(found[0], found[0]), command)

    def compare(self, page: Sequence[str], real: Sequence[str]) -> str:
        """What differs; nothing where the page is right. Three dots are any number of lines."""
        new: list[str] = []
        pattern = "".join("(?:.*\n)*?" if line == "..." else self.pattern(line, new) + "\n" for line in page)
        found = re.fullmatch(pattern, "".join(f"{line}\n" for line in real))
        if found is None:
            return "\n".join(["the page says:", *page, "it is:", *real])
        self.known |= {word: found[f"new{place}"] for place, word in enumerate(new)}
        return ""

    def pattern(self, line: str, new: list[str]) -> str:
        """Of a line: an id is the same wherever it stands, times and distances may be any. It adds ids to the new."""
        parts, at = [], 0
        for found in re.finditer("|".join((TIME, NAME, TOOK, PLACE)), line):
            parts += [_loosely(line[at : found.start()]), self._one(found[0], new)]
            at = found.end()
        return "".join([*parts, _loosely(line[at:])])

    def _one(self, word: str, new: list[str]) -> str:
        if re.fullmatch(TIME, word):
            return TIME
        if not re.fullmatch(NAME, word):
            return r" *\d+(?:\.\d)?"
        if word in self.known:
            return re.escape(self.known[word])
        if word in new:
            return f"(?P=new{new.index(word)})"
        new.append(word)
        real = r"\d+" if word.isdecimal() else NAME  # numbers of processes begin anew some day
        return f"(?P<new{len(new) - 1}>{real})"


def _loosely(text: str) -> str:
    return re.sub(r"(?:\\ )+", " +", re.escape(text))


class Terminal:
    """A folder with a shell in it, in a pseudo-terminal."""

    patience = 180.0
    """Seconds that a command may take."""
    columns = 160
    """As wide as pages need it."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.said = Said({})
        self.env = {**os.environ, "PATH": with_stead(folder), **env}
        self._shell: PseudoTerminal | None = None
        self._code = 0

    def shell(self) -> PseudoTerminal:
        """The shell, which begins when the first command is typed."""
        if self._shell is None:
            self._shell = PseudoTerminal(self.folder, self.env, self.columns)
        return self._shell

    def run(self, command: str) -> Typed:
        """What becomes of a command. One that waits for an operation draws how far it has come."""
        typed = self.shell().type(self.said.as_is(command), self.patience)
        self._code = typed.code
        if waits(command) and typed.code in (Code.DONE, Code.FAILED) and "nothing to do" not in typed.text:
            assert typed.drew(PROGRESS), f"$ {command}\n{typed.text}"
        return typed

    def type(self, command: str) -> list[str]:
        """What a command leaves on the screen."""
        lines = takewhile(lambda line: not JOB_ENDED.match(line), self.run(command).lines)
        return [line for line in lines if not JOB_BEGAN.fullmatch(line)]

    def end(self) -> None:
        """Nothing is left."""
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def follow(
        self,
        page: Path,
        codes: Mapping[str, int | range] | None = None,
        *,
        follows: tuple[str, ...] = (),
        skipped: tuple[str, ...] = (),
    ) -> None:
        """Do what a page says, block by block. A command fails where the page shows a failure, and nowhere else;
        `codes` has exit codes, also of commands that fail in silence. What begins as one of `follows` shows
        something that comes to be as the page says a moment later; what begins as one of `skipped` is not typed.
        Blocks of `console` show what is printed; those of `sh` do not, and their commands succeed."""
        expected, typed = dict(codes or {}), set[str]()
        for language, text in fenced(page):
            match language:
                case "console" | "sh":
                    for step in steps(text) if language == "console" else commands(text):
                        if not step.command.startswith((*NOT_TYPED, *skipped)):
                            self._do(step, expected.get(step.command), later=step.command.startswith(follows))
                            typed.add(step.command)
                case _ if named := FILE.match(text):
                    (self.folder / named[1]).write_text(self.placed(text) + "\n", encoding="utf-8")
                case "python":
                    self._run_program(self.said.as_is(text))
                case "text":
                    self.elsewhere(text.splitlines())
        assert {*expected} <= typed, "the page has no such commands"

    def placed(self, text: str) -> str:
        """A file of the page with the names that hold here."""
        return self.said.as_is(text)

    def _run_program(self, program: str) -> None:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=self.folder, env=self.env, timeout=60, check=False)
        assert done.returncode == 0, program

    def _do(self, step: Step, expected: int | range | None, *, later: bool) -> None:
        """Type a command of a page, and compare what it prints and its exit code."""
        end = time.monotonic() + self.patience
        self._code = 0
        differs = self.said.compare(step.output, shown := self.step(step.command, step.output))
        while differs and later and time.monotonic() < end:
            time.sleep(0.2)
            differs = self.said.compare(step.output, shown := self.step(step.command, step.output))
        assert not differs, f"$ {step.command}\n{differs}"
        if isinstance(expected, range):
            right = self._code in expected
        else:
            right = fails(step) == (self._code > 0) if expected is None else self._code == expected
        assert right, "\n".join([f"$ {step.command}", *shown, f"exit code {self._code}"])

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """What is printed by a command of the page."""
        del output
        return self.type(command)

    def elsewhere(self, lines: Sequence[str]) -> None:
        """What the page says that another terminal shows."""
        raise AssertionError(f"there is no other terminal: {lines}")


class Beside(Terminal):
    """A terminal beside the one in which `stead dev` runs."""

    def __init__(self, folder: Path) -> None:
        port, cloud = str(free_port()), str(free_port())
        super().__init__(folder, STEAD_SERVER=f"http://127.0.0.1:{port}")
        self.ports = {"7770": port, "7780": cloud}
        self.said = Said(self.ports)
        self.out, self.seen = folder / "other", 0
        with self.out.open("wb") as out:
            ports = ("--port", port, "--cloud-port", cloud)
            command = [sys.executable, "-m", "stead", "dev", "--delay", "0.2", *ports]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=self.env, cwd=folder)
        try:
            self._until(r"Kill any of the processes .*")
        except BaseException:
            self.end()
            raise

    def lines(self) -> list[str]:
        """What the other terminal shows."""
        return [LATER.sub("", line) for line in self.out.read_text(encoding="utf-8").splitlines()]

    def _until(self, line: str) -> None:
        end = time.monotonic() + 300  # to begin, it starts a dozen of processes
        while not any(re.fullmatch(line, one) for one in self.lines()[self.seen :]):
            assert self.process.poll() is None, self.lines()
            assert time.monotonic() < end, f"waited for {line}: {self.lines()}"
            time.sleep(0.05)

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """What is printed by a command of the page, of which the first is running."""
        if command != "stead dev":
            return super().step(command, output)
        self.seen = len(self.lines())
        return self.lines()

    def elsewhere(self, lines: Sequence[str]) -> None:
        """What the page says that `stead dev` says then."""
        self._until(self.said.pattern(lines[-1], []))
        real = self.lines()[self.seen :]
        self.seen += len(real)
        assert not (differs := self.said.compare(lines, real)), differs

    def end(self) -> None:
        """As Ctrl-C would."""
        super().end()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)


@contextmanager
def beside(folder: Path) -> Iterator[Beside]:
    """A terminal beside a `stead dev`, of which nothing is left in the end."""
    one = Beside(folder)
    try:
        yield one
        one.end()
        assert one.lines()[-1] == "ended, and nothing is left"
        assert not alive(one.process.pid)
    finally:
        one.end()
