"""Every write of every action of a VM, and death before it and after it.

An action is carried out once while its writes are counted. Then, for each of them, it is carried out again on a fresh
VM, and the process that makes the write is killed: before the write, and after it, when its answer was not seen yet.
A new process takes its place. However it went, the action ends, once, with what it was to bring, and the provider
was not asked for anything twice that it would have done twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.integration.grounds import Ground, Grounds
from tests.integration.lives import Moment, Process

AT_ONCE = 10
"""Lives that are lived beside each other: most of the time they wait."""

TRIES = 3
"""Lives for one death."""


@dataclass(frozen=True)
class Story:
    """An action, what comes before it, and what it brings."""

    action: str
    state: str
    before: Mapping[str, str] = field(default_factory=dict)
    """Actions that lead to where it starts, each with the state it brings."""
    forced: bool = False
    slow: bool = False
    """The provider takes its time, so that custody is renewed."""
    outcomes: tuple[str, ...] = ("succeeded",)


MADE = {"create": "Running"}
STORIES = {
    "create": Story("create", "Running"),
    "create slowly": Story("create", "Running", slow=True),
    "suspend": Story("suspend", "Suspended", MADE),
    "resume": Story("resume", "Running", {**MADE, "suspend": "Suspended"}),
    # A provider gives no token for it, so once somebody may have done it, it is not done again.
    "reboot": Story("reboot", "Running", MADE, outcomes=("succeeded", "unknown")),
    "terminate": Story("terminate", "Terminated", MADE),
    "terminate by force": Story("terminate", "Terminated", {"create": "Failed"}, forced=True),
}
LONGEST = "terminate by force"


class NeverCame(Exception):
    """The moment to die at did not come: on a busy machine things may go another way."""


class Life:
    """One VM of a cell of its own, with a controller and an agent."""

    def __init__(self, story: Story, ground: Ground) -> None:
        self.story = story
        self.ground = ground
        self.key = secrets.token_hex(8)

    async def run(self, who: str = "", moment: Moment | None = None) -> dict[str, list[str]]:
        """The whole story, with one death or none; answers with what was written from the request on."""
        ground = self.ground
        pair = {"controller": await ground.controller(), "agent": await ground.agent()}
        await ground.soon(pair["agent"].told_all.wait(), "full state")
        for action, state in self.story.before.items():
            await self.prepare(pair["controller"], action, state)
        if self.story.slow:
            await ground.world.fault(kind="slow", seconds=1.5)
        await ground.quiet()
        for name, process in pair.items():
            await process.choose(moment if name == who else None)
        self.ask(pair["controller"])
        if moment is not None:
            if not await self.dies(pair[who]):
                raise NeverCame
            if who == "controller":
                successor = await ground.controller()
                self.ask(successor)  # whoever got no answer asks again
                answer = await ground.soon(successor.answer(), "answer")
                assert answer["kind"] == "Accepted", answer
            else:
                await ground.agent()
        await self.end()
        return {name: process.writes for name, process in pair.items()}

    async def dies(self, process: Process) -> bool:
        """Whether it dies, or comes to the end of the story."""
        death = asyncio.ensure_future(process.died.wait())
        end = asyncio.ensure_future(self.end())
        await asyncio.wait((death, end), return_when=asyncio.FIRST_COMPLETED)
        for wait in (death, end):
            wait.cancel()
        await asyncio.gather(death, end, return_exceptions=True)
        with suppress(TimeoutError):  # after its last write, its death is seen later than the end
            await asyncio.wait_for(process.died.wait(), 2)  # deadline: most do not die
        return process.died.is_set()

    async def end(self) -> None:
        await self.ground.until("SELECT FROM ended_operations WHERE path = $1 AND action = $2", self.story.action)
        await self.ground.quiet()

    async def prepare(self, controller: Process, action: str, state: str) -> None:
        if state == "Failed":
            await self.ground.world.fault(kind="broken-result", verb=action, times=1)
        controller.ask(action=action, path=self.ground.path, lane=self.ground.lane, key=f"{self.key} {action}")
        await self.ground.until("SELECT FROM resources WHERE path = $1 AND state = $2 AND operation IS NULL", state)

    def ask(self, controller: Process) -> None:
        forced = {"force": True, "reason": "it failed"} if self.story.forced else {}
        path, lane = self.ground.path, self.ground.lane
        controller.ask(action=self.story.action, path=path, lane=lane, key=self.key, **forced)

    async def wrong(self) -> list[str]:
        """What is not as it should be in the end."""
        return [*await self.wrong_here(), *await self.ground.left(), *await self.wrong_there()]

    async def wrong_here(self) -> list[str]:
        found = []
        outcomes = await self.ground.outcomes(self.story.action)
        if len(outcomes) != 1 or outcomes[0] not in self.story.outcomes:
            found.append(f"it ended as {outcomes}")
        moves = await self.ground.fetch("SELECT source, target FROM journal WHERE path = $1 ORDER BY id")
        found += [f"the journal has {move} twice" for move, n in Counter(map(tuple, moves)).items() if n > 1]
        if not moves or moves[-1]["target"] != self.story.state:
            found.append(f"the journal ends with {moves[-1:]}")
        state = await self.ground.fetch("SELECT state FROM resources WHERE path = $1")
        return found if state[0]["state"] == self.story.state else [*found, f"the VM is {state[0]['state']}"]

    async def wrong_there(self) -> list[str]:
        """The provider has one instance, and did to it what it was asked for, once."""
        done = await self.ground.done()
        least = 1 if await self.ground.outcomes(self.story.action) == ["succeeded"] else 0
        times = done[self.story.action]
        return [] if least <= times <= 1 else [f"the provider did it {times} times"]


@asynccontextmanager
async def life(grounds: Grounds, story: Story) -> AsyncIterator[Life]:
    async with grounds.one(pause=0.2) as ground:
        yield Life(story, ground)


def moments(writes: Mapping[str, list[str]], when: Iterable[str]) -> Iterator[tuple[str, Moment]]:
    """Every write as a moment to die at."""
    for who, names in writes.items():
        seen: Counter[str] = Counter()
        for name in names:
            seen[name] += 1
            for which in when:
                yield who, Moment(name, seen[name], which)


# The longest first, and in two parts, so that two who share the work end at about the same time.
PARTS: list[tuple[str, tuple[str, ...]]] = [(LONGEST, ("before",)), (LONGEST, ("after",))]
PARTS += [(name, ("before", "after")) for name in STORIES if name != LONGEST]
EVERY_TIME = ("create", "suspend")
"""The stories that every run of the tests tells; the others, `make check-full`."""


def part(name: str, when: tuple[str, ...]) -> object:
    marks = [] if name in EVERY_TIME else [pytest.mark.long]
    return pytest.param(name, when, marks=marks, id=f"{name}-{'-'.join(when)}")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.req("X-04", "S1-03", "S2-10")
@pytest.mark.parametrize(("name", "when"), [part(*one) for one in PARTS])
async def test_death_at_every_write(grounds: Grounds, name: str, when: tuple[str, ...]) -> None:
    story = STORIES[name]
    async with life(grounds, story) as one:
        writes = await one.run()
        assert await one.wrong() == []
    assert {"commit begin", "commit take"} <= {w.split(",")[0] for w in writes["controller"]}, writes
    room = asyncio.Semaphore(AT_ONCE)

    async def live(who: str, moment: Moment) -> list[str]:
        for _ in range(TRIES):
            try:
                async with room, life(grounds, story) as one:
                    await one.run(who, moment)
                    return [f"{who} {moment}: {what}" for what in await one.wrong()]
            except NeverCame:
                continue
            except TimeoutError as error:
                return [f"{who} {moment}: {error}"]
        return [f"{who} {moment}: that moment never came"]

    lives = [live(who, moment) for who, moment in moments(writes, when)]
    found = [what for wrong in await asyncio.gather(*lives) for what in wrong]
    if found:
        pytest.fail("\n".join([*found, str(writes)]))  # whole: what stayed behind is worth reading
