"""A program that ends all that was started below a folder, whoever had it started: `python -m … FOLDER`.

What runs outlives its agent. Where the whole machine was only borrowed, somebody has to end it.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from stead.drivers.process.folders import Root
from stead.drivers.process.processes import has_keeper, tell

GRACE = 5.0
"""Seconds in which a keeper stops what it keeps; then it is killed, and that with it."""


def end(root: Path) -> int:
    """End all keepers; how many there were."""
    # Only where keepers are: a program can put files of the same names into its working folder.
    kept = [app for app in Root(root).apps() if has_keeper(app)]
    for word in (signal.SIGTERM, signal.SIGKILL):
        for app in kept:
            tell(app, word)
        until = time.monotonic() + GRACE
        while any(map(has_keeper, kept)) and time.monotonic() < until:
            time.sleep(0.05)
    return len(kept)


if __name__ == "__main__":
    end(Path(sys.argv[1]))
