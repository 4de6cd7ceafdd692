"""Limits that the kernel holds: a control group for each cluster, and in it one for each app.

Both generations are known. In the first every kind of limit has a tree of its own, in the second all share one.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from msgspec import Struct

from stead.drivers.process.spec import Limits

MOUNTS = Path("/proc/self/mounts")
PERIOD = 100_000
"""Microseconds over which the use of processors is counted."""

_CONTROLLERS = ("cpu", "memory", "pids")


class Cgroups(Struct, frozen=True, kw_only=True):
    """The trees in which groups can be made, by what they limit."""

    trees: dict[str, Path]
    second: bool
    """Of the second generation, in which the trees are the same one."""
    beside: tuple[Path, ...] = ()
    """Trees that limit nothing here, and in which others may have made groups of the same name."""

    def group(self, name: str) -> list[Path]:
        """The folders of a group, one in each tree."""
        return list(dict.fromkeys(tree / name for tree in self.trees.values()))

    def limit(self, name: str, limits: Limits) -> None:
        """Make the group if need be and hold it to these limits. Raises `OSError` where the kernel refuses."""
        for folder in self.group(name):
            try:
                self._make(folder)
            except FileNotFoundError:  # somebody has just removed what was empty
                self._make(folder)
        if cpu := self.trees.get("cpu"):
            quota = -1 if limits.cpu is None else max(1000, int(limits.cpu * PERIOD))
            if self.second:
                _say(cpu / name / "cpu.max", f"{'max' if quota < 0 else quota} {PERIOD}")
            else:
                _say(cpu / name / "cpu.cfs_period_us", PERIOD)
                _say(cpu / name / "cpu.cfs_quota_us", quota)
        if memory := self.trees.get("memory"):
            unlimited = "max" if self.second else -1
            most = unlimited if limits.bytes is None else limits.bytes
            _say(memory / name / ("memory.max" if self.second else "memory.limit_in_bytes"), most)
        if pids := self.trees.get("pids"):
            _say(pids / name / "pids.max", "max" if limits.pids is None else limits.pids)

    def entrances(self, name: str) -> list[str]:
        """The files through which a process enters a group."""
        return [str(folder / "cgroup.procs") for folder in self.group(name)]

    def remove(self, name: str, within: float = 1.0) -> None:
        """The group goes; the kernel may take a moment to notice that nobody is in it any more."""
        end = time.monotonic() + within
        for folder in self.group(name):
            while folder.exists():
                with contextlib.suppress(OSError):
                    for below in folder.iterdir():
                        if below.is_dir():
                            below.rmdir()
                    folder.rmdir()
                    break
                if time.monotonic() > end:
                    return
                time.sleep(0.02)
            with contextlib.suppress(OSError):
                folder.parent.rmdir()  # if it was the last one
        for folder in (tree / name for tree in self.beside):
            for empty in (*folder.glob("*/"), folder, folder.parent):
                with contextlib.suppress(OSError):
                    empty.rmdir()

    def _make(self, folder: Path) -> None:
        if self.second:
            (tree,) = set(self.trees.values())
            for above in reversed(folder.relative_to(tree).parents):
                (tree / above).mkdir(exist_ok=True)
                _say(tree / above / "cgroup.subtree_control", " ".join(f"+{name}" for name in self.trees))
        folder.mkdir(parents=True, exist_ok=True)


def found(mounts: str | None = None) -> Cgroups | None:
    """The trees that can be written; None where there are none."""
    first: dict[str, Path] = {}
    every: list[Path] = []
    for line in (MOUNTS.read_text() if mounts is None else mounts).splitlines():
        _, where, kind, options, *_ = line.split(" ")
        tree = Path(where)
        every += [tree] if kind in ("cgroup", "cgroup2") else []
        if kind == "cgroup2":
            with contextlib.suppress(OSError):
                has = (tree / "cgroup.controllers").read_text().split()
                if set(_CONTROLLERS) <= set(has) and _writable(tree):
                    return Cgroups(trees=dict.fromkeys(_CONTROLLERS, tree), second=True)
        elif kind == "cgroup":
            first |= {name: tree for name in _CONTROLLERS if name in options.split(",") and _writable(tree)}
    if len(first) < len(_CONTROLLERS):
        return None
    return Cgroups(trees=first, second=False, beside=tuple(tree for tree in every if tree not in first.values()))


def _writable(tree: Path) -> bool:
    try:
        (tree / "stead").mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(tree / "stead", os.W_OK)  # another user's agent may have made it


def _say(file: Path, value: object) -> None:
    file.write_text(str(value))
