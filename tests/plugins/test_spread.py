"""In which order a run begins its tests."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.plugins.spread import spread


@dataclass(frozen=True)
class Item:
    """As much of a test as its order depends on."""

    nodeid: str
    marks: tuple[str, ...] = ()

    def get_closest_marker(self, name: str) -> bool:
        return name in self.marks


def order(items: list[Item], workers: int) -> list[str]:
    return [item.nodeid for item in spread(items, workers)]  # type: ignore[arg-type]


TESTS = [
    *(Item(f"quick.py::{n}") for n in range(10)),
    *(Item(f"a.py::{n}", ("slow",)) for n in range(2)),
    *(Item(f"b.py::{n}", ("slow",)) for n in range(2)),
    Item("c.py::0", ("alone",)),
    Item("c.py::1", ("alone", "slow")),
]


def test_one_worker_begins_with_what_is_alone_and_then_with_what_is_slow() -> None:
    found = order(TESTS, 1)
    assert found[:6] == ["c.py::0", "c.py::1", "a.py::0", "a.py::1", "b.py::0", "b.py::1"]
    assert found[6:] == [f"quick.py::{n}" for n in range(10)]


def test_each_part_begins_with_its_share_and_a_module_is_in_one() -> None:
    found = order(TESTS, 2)
    first, second = found[:8], found[8:]
    assert first == ["c.py::0", "a.py::0", "a.py::1", *(f"quick.py::{n}" for n in range(5))]
    assert second == ["c.py::1", "b.py::0", "b.py::1", *(f"quick.py::{n}" for n in range(5, 10))]


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 16, 40])
def test_all_run_once(workers: int) -> None:
    assert sorted(order(TESTS, workers)) == sorted(item.nodeid for item in TESTS)
