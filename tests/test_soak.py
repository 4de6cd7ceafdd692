"""The soak in short: a cell does half of what it can and loses nothing; and what grows is told from what does not."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.soak.__main__ import write
from bench.soak.flat import MB, record, trends
from bench.soak.run import Plan, soak
from bench.soak.samples import Sample, own_memory
from stead.dev.engines import Nats, nats_binary

LOOKS = 40


def sample(at: int, **beside: float) -> Sample:
    """A look at a cell that does ten operations a second, a kilobyte of record each."""
    fixed = {"memory server-1": 150 * MB + (at % 3) * MB, "connections postgres": 30.0, "table resources": 2 * MB}
    done = {
        "seconds": 10.0 * at,
        "operations": 100.0 * at,
        "table journal": 70_000.0 * at,
        "indexes journal": 30_000.0 * at,
    }
    return {**fixed, **done, "under way": 3.0, **{name.replace("_", " "): value for name, value in beside.items()}}


def growing(**each: float) -> set[str]:
    """What is found to grow where there is so much more of it with each look."""
    looks = [sample(at, **{name: MB + at * more for name, more in each.items()}) for at in range(LOOKS)]
    return {trend.name for trend in trends(looks) if not trend.flat}


def test_what_stays_as_it_is_is_flat() -> None:
    assert growing() == set()


@pytest.mark.parametrize(
    ("name", "each"),
    [("memory_agent-1", 0.3 * MB), ("table_orders", 0.1 * MB), ("indexes_claims", 0.1 * MB), ("files_nats", 0.5)],
)
def test_what_grows_is_found(name: str, each: float) -> None:
    assert growing(**{name: each}) == {name.replace("_", " ")}


def test_a_record_that_grows_with_what_is_done_is_flat_and_one_that_grows_faster_is_not() -> None:
    even = [sample(at) for at in range(LOOKS)]
    assert record(even[-1]) == pytest.approx(1000 * even[-1]["operations"])
    swelling = [{**one, "indexes journal": one["indexes journal"] * (1 + at / LOOKS)} for at, one in enumerate(even)]
    assert "record per operation" in {trend.name for trend in trends(swelling) if not trend.flat}


def test_too_few_looks_say_nothing() -> None:
    with pytest.raises(ValueError, match="too few"):
        trends([sample(at) for at in range(5)])


def test_who_else_runs_the_same_program_is_not_told_from_the_memory(tmp_path: Path) -> None:
    program = shutil.copy(nats_binary(), tmp_path)

    class Copied(Nats):
        """One of a program that nobody else runs."""

        def command(self) -> Sequence[str | Path]:
            return [program, *super().command()[1:]]

    with Copied() as one:
        alone = own_memory(one.pid)
        with Copied():
            beside = own_memory(one.pid)
    assert 0 < beside == pytest.approx(alone, abs=2 * MB)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
async def test_a_cell_at_half_of_what_it_can_loses_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    result = await soak(Plan(minutes=0.4, measured=5, every=1, users=60), told.append)
    assert result.lost == 0, result.ended
    assert result.accepted > result.plan.users
    assert result.told.keys() <= {"accepted", "in-progress", "held", "not-found"}, result.told
    write(result, tmp_path / "seen.csv")
    with (tmp_path / "seen.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == len(result.samples)
    assert all(
        float(row[name]) > 0 for row in rows for name in ("memory server-2", "connections bus", "table resources")
    )
    assert "soak: 0.4 minutes at" in result.line
