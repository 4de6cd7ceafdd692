"""The time in the recycle bin: the option of a process is the timer of what is deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stead.catalog import KINDS
from stead.cli.output import Code
from stead.cli.processes import controller, server
from stead.cli.processes.place import Place
from stead.lifecycle.rows import DAY, HOUR
from stead.lifecycle.snapshot import Snapshot
from stead.lifecycle.timers import pending
from tests.cli.remote import NOWHERE, command

DATABASE = ("--database", "postgresql://nowhere/x")


@pytest.mark.req("S2-08")
@pytest.mark.parametrize(
    ("words", "expires"), [((), 7 * DAY), (("--retention", "30d"), 30 * DAY), (("--retention", "1h"), HOUR)]
)
def test_retention_option_is_the_timer_of_deleted_objects(
    words: tuple[str, ...], expires: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Place] = []
    for process in (controller, server):
        monkeypatch.setattr(process, "run", lambda place, *_: told.append(place))
    monkeypatch.setattr("stead.cli.serve._log", lambda *_: None)
    stead = command(NOWHERE, monkeypatch)
    assert stead("server", *DATABASE, "--pace", "0.5", *words).code == 0
    assert stead("controller", *DATABASE, *told[0].words()).code == 0
    for place in told:
        machine = replace(KINDS["machine"], pace=place.options()["pace"])
        assert pending(machine, Snapshot("DELETED"))["expiry"].after == expires


@pytest.mark.parametrize("time", ["0", "0.5s", "36501d", "99999999999999999d", "soon"])
def test_retention_of_nothing_or_without_end_is_rejected(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for process in ("server", "controller"):
        answer = command(NOWHERE, monkeypatch)(process, *DATABASE, "--retention", time)
        assert (answer.code, "must be" in answer.err) == (Code.USAGE, True)
