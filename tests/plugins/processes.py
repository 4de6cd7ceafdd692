"""Processes of a test run as the kernel counts them: descendants, and the processor time they have used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> Iterator[int]:
    """All processes below one, in no particular order."""
    remaining = [pid]
    while remaining:
        children = _children(remaining.pop())
        yield from children
        remaining += children


def processor_seconds(pid: int) -> float:
    """What a process, its descendants, and those of them that have ended and were waited for have used."""
    return sum(map(_ticks, (pid, *descendants(pid)))) / TICKS_PER_SECOND


def command_line(pid: int) -> str:
    """How a process was called; empty once it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - after every test, so it has to be quick
            with open(f"/proc/{pid}/task/{thread}/children") as children:  # noqa: PTH123
                found += map(int, children.read().split())
    return found


def _ticks(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
        fields = stat.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))  # its own in user and kernel mode, and that of children it waited for
    return 0
