"""The steps of a kind whose agent comes and goes: hellos with notify-ids, crashes, and an upgrade with two agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from stead.lifecycle.events import Disconnected
from stead.lifecycle.explore.machine import Answer
from stead.lifecycle.explore.steps import BY_NOTIFY_ID, Step, Steps
from stead.lifecycle.explore.world import Budget, Job, Message, World
from stead.lifecycle.snapshot import Snapshot

UPGRADE = "upgrade"


class SiteSteps(Steps):
    """Presence on top of the ordinary steps. At a site the agent that works is the one that is connected."""

    def __call__(self, world: World, budget: Budget) -> Iterator[Step]:
        """Every step, with a sentence about it and what is left of the budget."""
        for says, after, left in super().__call__(world, budget):
            yield says, self._ranked(after), left
        for says, after in chain(self._come(world), self._upgrade(world), self._notice(world)):
            yield says, self._ranked(after), budget

    def _ranked(self, world: World) -> World:
        """Of notify-ids only their order matters: counted anew, worlds that differ in no more than that are one."""
        snap = self.machine.snapshots[world.snap]
        old, new, last = world.site
        spoken = [m.number for m in world.channel if m.kind in BY_NOTIFY_ID]
        ids = sorted({0, snap.notify, snap.successor, old, new, *spoken})
        if ids[-1] == len(ids) - 1 == last:
            return world
        rank = {id_: i for i, id_ in enumerate(ids)}
        channel = tuple(
            sorted(m._replace(number=rank[m.number]) if m.kind in BY_NOTIFY_ID else m for m in world.channel)
        )
        ranked = replace(snap, notify=rank[snap.notify], successor=rank[snap.successor])
        site = (rank[old], rank[new], len(ids) - 1)
        return world._replace(snap=self.machine.number(ranked), channel=channel, site=site)

    def _deliver(self, world: World, message: Message) -> Iterator[tuple[str, World]]:
        old, new, last = world.site
        if message.kind == "order" and (world.jobs or not old):
            return  # nobody is there to take it
        for says, after in super()._deliver(world, message):
            taken_over = message.kind == "takeover" and message.number == new
            yield says, after._replace(site=(new, 0, last)) if taken_over else after

    def apply(self, world: World, answer: Answer) -> World:
        """As for any kind; and hellos that have become old are dropped, the machine having judged them."""
        after = super().apply(world, answer)
        snap = self.machine.snapshots[after.snap]
        channel = tuple(m for m in after.channel if self._new(m, snap))
        return after if channel == after.channel else after._replace(channel=channel)

    @staticmethod
    def _new(message: Message, snap: Snapshot) -> bool:
        if message.kind == "hello":
            return message.number > snap.notify
        return message.kind != "takeover" or message.number == snap.successor

    def apply_site(self, world: World, site: tuple[int, int, int], message: Message | None) -> World:
        """Agents at the site change, and perhaps one of them speaks."""
        channel = self.sent(world.channel, message) if message else world.channel
        return world._replace(site=site, channel=channel)

    def _come(self, world: World) -> Iterator[tuple[str, World]]:
        """An agent starts, or says hello again because nobody has heard it."""
        old, new, last = world.site
        snap = self.machine.snapshots[world.snap]
        if not old and not new:
            site = (last + 1, 0, last + 1)
            yield "the agent starts and says hello", self.apply_site(world, site, Message("hello", "agent", last + 1))
        hello = Message("hello", "agent", old)
        if old and snap.notify < old and hello not in world.channel:
            yield "the agent says hello again", self.apply_site(world, world.site, hello)
        if new and snap.successor < new and snap.notify < new:
            hello = Message("hello", "successor", new)
            if hello not in world.channel:
                yield "the new agent says hello again", self.apply_site(world, world.site, hello)

    def _work(self, idle: World, job: Job) -> Iterator[tuple[str, World]]:
        """An upgrade is not done by the agent that has the order: it starts the new one, or cleans up after it."""
        if job.verb != UPGRADE:
            yield from super()._work(idle, job)
            return
        old, new, last = idle.site
        started = Message("started", "", 0)
        busy = idle._replace(jobs=(job,))
        if job.current and started not in idle.channel and self._announces(idle):
            yield from self._say(busy, True, started, "the old agent begins the upgrade")
        if not new:
            site, hello = (old, last + 1, last + 1), Message("hello", "successor", last + 1)
            yield "the old agent starts the new one", self.apply_site(busy, site, hello)
        failed = idle._replace(jobs=(job._replace(stage="failed"),), site=(old, 0, last))
        yield "the upgrade fails and the old agent cleans up", failed

    def _wake(self, idle: World, job: Job) -> Iterator[tuple[str, World]]:
        """A stopped old agent goes on with the upgrade where it was."""
        if job.verb == UPGRADE:
            yield "the stopped agent wakes", idle._replace(jobs=(job._replace(asleep=False),))
        else:
            yield from super()._wake(idle, job)

    def _upgrade(self, world: World) -> Iterator[tuple[str, World]]:
        """The new agent ends the old one and says that it took over; if nobody wants it, it connects as any agent."""
        old, new, last = world.site
        snap = self.machine.snapshots[world.snap]
        if not new:
            return
        takeover = Message("takeover", "successor", new)
        if snap.successor == new and takeover not in world.channel:
            alone = world._replace(jobs=())
            yield "the new agent ends the old one", self.apply_site(alone, (0, new, last), takeover)
        if not old and not snap.successor:
            hello = Message("hello", "agent", last + 1)
            yield "the new agent connects as the only one", self.apply_site(world, (last + 1, 0, last + 1), hello)

    def _notice(self, world: World) -> Iterator[tuple[str, World]]:
        """The controller notices, sooner or later, that a connection is gone."""
        old, new, _ = world.site
        notify = self.machine.snapshots[world.snap].notify
        if notify not in (old, new):
            after = self.hear(world, Disconnected(notify))
            if after is not None:
                yield f"the controller notices that agent {notify} is gone", after

    def _crashes(self, world: World) -> Iterator[tuple[str, World]]:
        old, new, last = world.site
        if old:
            yield "the agent crashes", world._replace(site=(0, new, last), jobs=())
        if new:
            yield "the new agent crashes", world._replace(site=(old, 0, last))

    def agreed(self, world: World) -> bool:
        """Whether the controller's idea of who is there is right."""
        snap = self.machine.snapshots[world.snap]
        old, new, _ = world.site
        return not snap.connected or snap.notify in (old, new)
