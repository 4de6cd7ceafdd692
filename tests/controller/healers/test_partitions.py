"""For how long what has ended is kept: what is told to a process is what its controller goes by."""

from __future__ import annotations

from typing import Any

import pytest

from stead import build as engines
from stead.cli.output import Code
from stead.cli.processes import controller, server
from stead.cli.processes.place import Place
from stead.controller.reconcilers.partitions import RETENTION
from stead.lifecycle.files.times import seconds
from stead.lifecycle.rows import DAY
from tests.cli.remote import NOWHERE, command

DATABASE = ("--database", "postgresql://nowhere/x")


@pytest.mark.parametrize(
    ("words", "kept"), [((), "90d"), (("--keep-ended", "7d"), "7d"), (("--keep-ended", "48h"), "48h")]
)
def test_a_controller_is_told_also_by_its_server(
    words: tuple[str, ...], kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Place] = []
    for process in (controller, server):
        monkeypatch.setattr(process, "run", lambda place, *_: told.append(place))
    monkeypatch.setattr("stead.cli.serve._log", lambda *_: None)
    stead = command(NOWHERE, monkeypatch)
    assert stead("server", *DATABASE, *words).code == 0
    assert stead("controller", *DATABASE, *told[0].words()).code == 0
    assert [place.kept for place in told] == [kept] * 2


def test_what_is_said_without_a_word_is_the_same_everywhere() -> None:
    assert seconds(Place("", "", "").kept) == RETENTION


@pytest.mark.parametrize("time", ["23h", "0", "36501d", "99999999999999999d", "soon"])
def test_less_than_a_day_and_more_than_a_calendar_has_are_refused(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for process in ("server", "controller"):
        answer = command(NOWHERE, monkeypatch)(process, *DATABASE, "--keep-ended", time)
        assert (answer.code, "must be" in answer.err) == (Code.USAGE, True)


async def test_a_controller_goes_by_it(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr("stead.controller.runtime.PartitionReconciler", lambda _, kept: told.append(kept))
    async with engines.open_engine(database, "nats://127.0.0.1:9", "main", kept=7.0 * DAY):
        assert told == [7.0 * DAY]
