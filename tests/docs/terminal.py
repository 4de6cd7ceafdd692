"""Types what a page says, and compares what is printed with what the page says of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stead.dev.children import alive, free_port
from tests.docs.blocks import fenced, steps

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
FILE = re.compile(r"# ([\w-]+\.yaml)\n")
"""How a block begins that is a file."""


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
    """A folder with a shell in it."""

    patience = 60.0
    """Seconds that a command may take."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.said = Said({})
        program = folder / "bin" / "stead"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stead "$@"\n')
        program.chmod(0o755)
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.env = {**os.environ, "PATH": path, **env}

    def type(self, command: str) -> list[str]:
        """What is printed by a command."""
        done = subprocess.run(
            ["bash", "-c", self.said.as_is(command)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self.patience,
            check=False,
        )
        return done.stdout.splitlines()

    def follow(self, page: Path) -> None:
        """Do what a page says, block by block."""
        for language, text in fenced(page):
            match language:
                case "console":
                    for step in steps(text):
                        if not step.command.startswith(NOT_TYPED):
                            differs = self.said.compare(step.output, self.step(step.command, step.output))
                            assert not differs, f"$ {step.command}\n{differs}"
                case "yaml" if named := FILE.match(text):
                    (self.folder / named[1]).write_text(self.said.as_is(text) + "\n", encoding="utf-8")
                case "python":
                    program = self.said.as_is(text)
                    done = subprocess.run([sys.executable, "-c", program], env=self.env, timeout=60, check=False)
                    assert done.returncode == 0, text
                case "text":
                    self.elsewhere(text.splitlines())

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
        self.said = Said({"7770": port, "7780": cloud})
        self.out, self.seen = folder / "other", 0
        with self.out.open("wb") as out:
            ports = ("--port", port, "--cloud-port", cloud)
            command = [sys.executable, "-m", "stead", "dev", "--delay", "0.2", *ports]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=self.env, cwd=folder)
        self._until(r"Kill any of the processes .*")

    def lines(self) -> list[str]:
        """What the other terminal shows."""
        return [LATER.sub("", line) for line in self.out.read_text(encoding="utf-8").splitlines()]

    def _until(self, line: str) -> None:
        end = time.monotonic() + 60
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
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)


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
