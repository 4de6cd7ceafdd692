"""An agent that got an order asks for custody of it here, and renews it while it works.

Taking is a compare-and-set that raises the fence: a second agent that gets the same message, and one that got it from
before the bus forgot, are told no. The same run of the same agent that asks again, because it did not hear the
answer, hears the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from stead.batcher import Batcher
from stead.controller.execution.executor import MAX_COMMIT_INPUTS, TransitionExecutor
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.lifecycle.events import Take
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.snapshot import Fence
from stead.store.commit import Custody


class SupersededRun(Exception):
    """A newer run of the agent has taken the place of the one that asks."""


class CustodyService:
    """Gives custody out and prolongs it."""

    def __init__(self, executor: TransitionExecutor, pace: Pace = DEFAULT) -> None:
        self.executor = executor
        self.pace = pace
        self._together = Batcher(self._move, MAX_COMMIT_INPUTS, size=len)

    async def take(
        self, who: Custody, members: Mapping[str, Fence], lanes: frozenset[str] | None = None
    ) -> dict[str, Fence]:
        """Custody of orders' members, as far as it can be had: the fences to work under.

        Raises `SupersededRun` where there is none to be had because a newer run of the agent has taken its place.
        """
        asked = [TransitionInput(path, Take(fence), custody=who, lanes=lanes) for path, fence in members.items()]
        answers = await self._together(asked)
        taken = {answer.summary.path: answer.fence for answer in answers if isinstance(answer, Applied)}
        asked_before = {path: fence.raised() for path, fence in members.items() if path not in taken}
        if asked_before:
            lost = await self.renew(who, asked_before)
            taken |= {path: fence for path, fence in asked_before.items() if path not in lost}
            if not taken and await self.executor.store.agents.find_superseded([(who.agent, who.epoch)]):
                raise SupersededRun
        return taken

    async def _move(self, asked: Sequence[Sequence[TransitionInput]]) -> list[list[Answer]]:
        """What many agents ask for, in one go."""
        runs = {(told.custody.agent, told.custody.epoch) for each in asked for told in each if told.custody}
        newer = await self.executor.store.agents.find_superseded(runs)
        told = [_as_of_now(told, newer) if newer else told for each in asked for told in each]
        answers = iter(await self.executor.apply(told))
        return [list(islice(answers, len(each))) for each in asked]

    async def renew(self, who: Custody, members: Mapping[str, Fence]) -> set[str]:
        """Prolong custody; answers with the members whose custody is lost."""
        due = self.executor.clock() + self.pace.custody
        kept = await self.executor.store.orders.renew_custody(who.agent, who.epoch, members, due)
        return set(members) - kept


def _as_of_now(told: TransitionInput, newer: Mapping[tuple[str, int], frozenset[str]]) -> TransitionInput:
    """The same for a run that a newer one has superseded, without the newer one's lanes."""
    assert told.custody is not None
    return replace(told, superseded=newer.get((told.custody.agent, told.custody.epoch), frozenset()))
