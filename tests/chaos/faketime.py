"""Clocks that can be set wrong: a process reads the time through libfaketime, from a file that says by how much.

Only the time of day is wrong. The monotonic clock goes on, as it does where a clock is set.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Self

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
"""Where Debian's package libfaketime puts it."""


def missing() -> str:
    """What has to be installed before; nothing where all is there."""
    return "" if LIBRARIES else "libfaketime is missing"


class Clocks:
    """The clocks of a cell's processes."""

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="stead-clocks-"))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def env(self, name: str) -> list[str]:
        """Settings of the environment of a process whose clock can be set."""
        self.set(name, 0)
        library = ["LD_PRELOAD=" + str(LIBRARIES[0]), f"FAKETIME_TIMESTAMP_FILE={self.folder / name}"]
        return [*library, "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]

    def set(self, name: str, seconds: float) -> None:
        """Have the clock of a process wrong by so many seconds, a second from now."""
        file = self.folder / name
        (fresh := file.with_suffix(".new")).write_text(f"{seconds:+.3f}\n", encoding="utf-8")
        fresh.replace(file)
