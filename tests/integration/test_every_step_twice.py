"""Every step of the way of a change, taken twice. It still ends once, and nothing is done twice at the provider.

A VM goes through all its actions while one kind of step, or every kind, happens twice: at once, and again later, when
the next steps have been taken and nobody should listen any more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from stead.access.authorized import Authorized
from stead.bus import Bus, Delivery
from stead.bus.consumer import Consumer
from stead.bus.endpoints import AgentRequests
from stead.bus.errors import BusError
from stead.bus.messages import Report
from stead.bus.publisher import Outgoing, Publisher
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.reconcilers.redispatch import RedispatchReconciler
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle import events
from stead.lifecycle.events import FullState, TimerDue
from tests.action_requests import AuthorizedRequest
from tests.integration.doomed import ACK_WAIT
from tests.integration.grounds import Ground, Grounds
from tests.integration.within import agent, ask, controller, settled

Twice = Callable[[pytest.MonkeyPatch, Counter[str]], None]

CUSTODY = {"take-custody", "renew-custody"}
"""What agents ask for custody."""


def messages(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Each message is in its stream twice, under ids that differ."""
    original = Publisher.publish_all

    async def twice(publisher: Publisher, sent: Sequence[Outgoing], timeout: float) -> list[bool | BusError]:
        seen["messages"] += len(sent)
        await original(publisher, [one._replace(id=f"{one.id}-again") for one in sent], timeout)
        return await original(publisher, sent, timeout)

    patch.setattr(Publisher, "publish_all", twice)


def deliveries(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """What was pulled is pulled once more, while it is being worked on."""
    original = Consumer.fetch
    again: WeakKeyDictionary[Consumer[Any], list[Delivery[Any]]] = WeakKeyDictionary()

    async def twice(consumer: Consumer[Any], *limits: Any, **options: Any) -> list[Delivery[Any]]:
        if consumer in again:
            return again.pop(consumer)
        found = await original(consumer, *limits, **options)
        if found:
            seen["deliveries"] += 1
            again[consumer] = found
        return found

    patch.setattr(Consumer, "fetch", twice)


def questions(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Custody is asked for and renewed twice at the same time, and then once more; all answers are one."""
    ask = AgentRequests.__call__

    async def twice(requests: AgentRequests[Any, Any], question: Any, timeout: float | None = None) -> Any:
        if requests.kind not in CUSTODY:
            return await ask(requests, question, timeout)
        seen[requests.kind] += 1
        first, second = await asyncio.gather(*(ask(requests, question, timeout) for _ in range(2)))
        third = await ask(requests, question, timeout)
        seen["answers that differ"] += not first == second == third
        return third

    patch.setattr(AgentRequests, "__call__", twice)


def reports(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """What agents say is applied twice; and all that was said earlier is said again before and after every word."""
    apply = TransitionExecutor.apply
    earlier: list[TransitionInput] = []

    async def repeat(executor: TransitionExecutor) -> None:
        answers = await apply(executor, earlier)
        seen["words that counted twice"] += sum(isinstance(a, Applied) and a.wrote for a in answers)

    async def twice(executor: TransitionExecutor, told: Sequence[TransitionInput], **options: Any) -> list[Answer]:
        words = [word for word in told if isinstance(word.event, events.Report | FullState)]
        seen["reports"] += sum(isinstance(word.event, events.Report) for word in words)
        seen["lines"] += sum(isinstance(word.event, FullState) for word in words)
        if words:
            await repeat(executor)
        answers = await apply(executor, told, **options)
        earlier.extend(words)
        if words:
            await repeat(executor)
        return answers

    patch.setattr(TransitionExecutor, "apply", twice)


def timers(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Two clocks see what is due at once; and whatever was due earlier is brought again at every tick."""
    tick, apply = TimerService.tick, TransitionExecutor.apply
    due: list[TransitionInput] = []
    fired: set[tuple[str, str, float]] = set()

    async def remembered(
        executor: TransitionExecutor, told: Sequence[TransitionInput], **options: Any
    ) -> list[Answer]:
        answers = await apply(executor, told, **options)
        for word, answer in zip(told, answers, strict=True):
            if isinstance(word.event, TimerDue) and isinstance(answer, Applied):
                armed = (word.path, word.event.timer, answer.summary.decode_timers()[word.event.timer])
                seen[word.event.timer] += 1
                seen["timers that fired twice"] += armed in fired
                fired.add(armed)
                due.append(word)
        return answers

    async def twice(clock: TimerService) -> int:
        first, second = await asyncio.gather(tick(clock), tick(clock))
        await clock.executor.apply(list(due))
        return first + second

    patch.setattr(TransitionExecutor, "apply", remembered)
    patch.setattr(TimerService, "tick", twice)


def requests(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Each request is made by two callers at once with the same key, and again with every later one."""
    original = Admission.admit
    earlier: dict[str, tuple[AuthorizedRequest, Accepted]] = {}

    async def twice(admission: Admission, request: ActionRequest, authorized: Authorized) -> Any:
        seen["requests"] += 1
        first, second = await asyncio.gather(*(original(admission, request, authorized) for _ in range(2)))
        assert isinstance(first, Accepted)
        assert isinstance(second, Accepted)
        assert first.operation == second.operation
        assert [answer.repeated or answer.joined for answer in (first, second)].count(False) == 1
        for old, answer in earlier.values():
            again = replace(answer, joined=False, repeated=True)
            assert await original(admission, *old) == again
        earlier[request.key] = (request, authorized), first
        return first

    patch.setattr(Admission, "admit", twice)


def dispatches(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    """Orders that nobody has taken yet are sent again as if the bus had lost them, under other ids, all the time."""
    original = RedispatchReconciler.__call__

    async def always(healer: RedispatchReconciler) -> int:
        seen["dispatches"] += 1
        healer.broken = True
        return await original(healer)

    patch.setattr(RedispatchReconciler, "__call__", always)
    messages(patch, seen)


def everything(patch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    for one in (deliveries, questions, reports, timers, requests, dispatches):
        one(patch, seen)


KINDS_OF_STEPS: dict[str, tuple[Twice, set[str]]] = {
    "messages": (messages, {"messages"}),
    "deliveries": (deliveries, {"deliveries"}),
    "questions": (questions, CUSTODY),
    "reports": (reports, {"reports", "lines"}),
    "timers": (timers, {"resend", "custody", "again"}),
    "requests": (requests, {"requests"}),
    "dispatches": (dispatches, {"dispatches"}),
    "everything": (everything, {"deliveries", *CUSTODY, "reports", "resend", "custody", "again", "requests"}),
}
"""How each kind of step is doubled, and what must have happened twice by the end."""

ENDS = {
    "create": "succeeded",
    "suspend": "succeeded",
    "resume": "succeeded",
    "reboot": "succeeded",
    "terminate": "succeeded",
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not acknowledged comes again soon."""
    for method in (Bus.orders, Bus.reports):
        assert method.__kwdefaults__ is not None
        monkeypatch.setitem(method.__kwdefaults__, "ack_wait", ACK_WAIT)


def lose_the_next_report(patch: pytest.MonkeyPatch) -> None:
    """An agent says what it did, and nobody ever hears it."""
    original = Bus.publish_report
    lost: list[Report] = []

    async def losing(bus: Bus, report: Any, **options: Any) -> None:
        if isinstance(report, Report) and not lost:
            lost.append(report)
            return
        await original(bus, report, **options)

    patch.setattr(Bus, "publish_report", losing)


@pytest.mark.req("X-04", "S1-03")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "everything" else pytest.mark.long) for name in KINDS_OF_STEPS]
)
async def test_every_step_twice(grounds: Grounds, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    double, expected = KINDS_OF_STEPS[name]
    seen: Counter[str] = Counter()
    double(monkeypatch, seen)
    async with grounds.one() as ground:
        await all_actions(ground, monkeypatch, lambda: "lines" not in expected or seen["lines"] > 0)
        assert await ground.left() == []
        assert await ground.ended() == list(ENDS.items())
        done = await ground.done()
        assert {verb: times for verb, times in done.items() if verb in ENDS} == dict.fromkeys(ENDS, 1)
    assert {step for step in expected if not seen[step]} == set()
    assert {wrong: times for wrong, times in seen.items() if " " in wrong and times} == {}


async def all_actions(ground: Ground, patch: pytest.MonkeyPatch, told: Callable[[], bool]) -> None:
    """Create, so late and slow that timers run and custody is renewed; the rest; and the end, with a lost report.

    An agent that could not tell its full state at once does so seconds later; the end waits until it is told.
    """
    async with controller(ground) as one:
        await ask(one, ground, "create", key=f"{ground.path} create")
        await ground.until("SELECT FROM resources WHERE path = $1 AND sends > 0")
        await ground.world.fault(kind="slow", verb="create", seconds=1.5)
        async with agent(ground):
            await settled(ground, "Running")
            for action, state in {"suspend": "Suspended", "resume": "Running", "reboot": "Running"}.items():
                await ask(one, ground, action, key=f"{ground.path} {action}")
                await settled(ground, state)
            while not told():
                await asyncio.sleep(0.05)
            lose_the_next_report(patch)
            await ask(one, ground, "terminate", key=f"{ground.path} terminate")
            await settled(ground, "Terminated")
            await ground.quiet()
