"""The gate and the ledger behind it, without a network: what is hard to bring about from outside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from stead.drivers.sim import accounts
from stead.drivers.sim.faults import Call, CallPlan, FaultInjector, Hang
from stead.drivers.sim.gate import BREAK, Gate, Message, Receive, Scope, Send
from stead.drivers.sim.ledger import Ledger
from stead.drivers.sim.wire import Ask, Error
from tests.drivers.conformance import DEADLINE

CALL = Call("aws", "here", "create", "order")
SCOPE: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/v1/aws/here/instances",
    "headers": [],
    BREAK: lambda: None,
}
LEFT: Message = {"type": "http.disconnect"}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def injector() -> FaultInjector:
    return FaultInjector(Random(1), time.monotonic)


async def do_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    pytest.fail("nothing is to be done")


async def answer_nothing(message: Message) -> None:
    pytest.fail("nothing is to be answered")


def hearing(*messages: Message) -> Receive:
    """These messages, and then that the caller has left."""
    said = [*messages]

    async def receive() -> Message:
        return said.pop(0) if said else LEFT

    return receive


async def test_a_hanging_call_ends_when_its_caller_is_gone(ledger: Ledger, injector: FaultInjector) -> None:
    injector.add(Hang())
    async with asyncio.timeout(DEADLINE):
        heard = hearing({"type": "http.request", "body": b"{}"})
        await Gate(do_nothing, injector, ledger)(SCOPE, heard, answer_nothing)
    assert [call["outcome"] for call in accounts.calls(ledger, 0, 10)["calls"]] == ["hung"]


async def test_a_call_that_did_not_arrive_whole_is_none(ledger: Ledger, injector: FaultInjector) -> None:
    heard = hearing({"type": "http.request", "body": b"{", "more_body": True})
    await Gate(do_nothing, injector, ledger)(SCOPE, heard, answer_nothing)
    assert accounts.calls(ledger, 0, 10)["calls"] == []


def test_a_call_that_breaks_in_the_middle_leaves_nothing(ledger: Ledger) -> None:
    def member_error(token: str) -> Error | None:
        if token == "bad":
            raise RuntimeError("in the middle")
        return None

    asks = [Ask("good"), Ask("bad")]
    with pytest.raises(RuntimeError, match="in the middle"):
        ledger.create(CALL, asks, CallPlan(member_error=member_error))
    assert accounts.calls(ledger, 0, 10)["calls"] == []
    assert [answer.did for answer in ledger.create(CALL, asks, CallPlan())] == ["made", "made"]


def test_states_change_when_they_are_due_and_not_before(tmp_path: Path) -> None:
    now = 1000.0
    ledger = Ledger(tmp_path, lambda: now)

    def states() -> list[tuple[str, str, float]]:
        (instance,) = accounts.instances(ledger, 0, 10, "")["instances"]
        return [(instance["state"], deed["after"], deed["at"]) for deed in instance["history"]]

    ledger.create(CALL, [Ask("token")], CallPlan(slow=5))
    now = 1004.9
    assert states() == [("pending", "pending", 1000.0)]
    now = 1100.0
    assert states() == [("running", "pending", 1000.0), ("running", "running", 1005.0)]
    ledger.close()
