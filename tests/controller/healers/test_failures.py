"""What keeps loops from their work is logged, and not again and again."""

from __future__ import annotations

import pytest

from stead.controller.reconcilers import FailureLog


def test_failure_of_many_loops_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    tell = FailureLog()
    for number in range(30):
        tell(f"loop-{number}", ConnectionRefusedError("the database is away"))
    assert caplog.messages == ["reconciler.failed name=loop-0 error='ConnectionRefusedError: the database is away'"]


def test_another_failure_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    tell = FailureLog()
    tell("clock", ConnectionRefusedError("the database is away"))
    tell("clock", ValueError("a wrong value"))
    assert len(caplog.messages) == 2


def test_failure_that_lasts_is_logged_again_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    tell = FailureLog(every=0.0)
    for _ in range(2):
        tell("clock", ConnectionRefusedError("the database is away"))
    assert len(caplog.messages) == 2
