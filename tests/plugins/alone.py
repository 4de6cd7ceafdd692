"""A pytest plugin that gives the machine to one test at a time, where the test is marked `alone`.

The workers of a parallel run share two locks, on files that are there anyway. Whoever runs a test is inside, together
with others or alone. Everybody comes in by a door, so that one who waits to be alone is not passed by the others.
"""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from pathlib import Path

import pytest

DOOR = Path(__file__)
INSIDE = DOOR.with_name("spread.py")


class Alone:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        kind = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
        with INSIDE.open() as inside:
            with DOOR.open() as door:
                fcntl.flock(door, fcntl.LOCK_EX)
                fcntl.flock(inside, kind)
            return (yield)
