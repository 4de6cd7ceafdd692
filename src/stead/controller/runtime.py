"""A controller that runs: it answers agents, applies what they report, fires timers and heals.

Any number of them run beside each other on one database and one bus. None has anything of its own that matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from stead.bus import Bus, BusState
from stead.bus.messages import (
    IdentityReply,
    OpenLane,
    Poke,
    Renew,
    RenewIdentity,
    RenewReply,
    Take,
    TakeReply,
)
from stead.controller.admission.frontend import SOON, Door
from stead.controller.dispatch.custody import SupersededRun, Takes
from stead.controller.execution.steps import Steps, Work
from stead.controller.groups.expansion import Groups
from stead.controller.kinds.kinds import EVERY
from stead.controller.observation.agent_identities import Identities
from stead.controller.observation.inventory import Rosters
from stead.controller.observation.listener import Listener
from stead.controller.observation.orphans import Orphans
from stead.controller.observation.presence import Presences
from stead.controller.observation.trust import Trust
from stead.controller.reconcilers import Healer, told
from stead.controller.reconcilers.attachments import Attachments
from stead.controller.reconcilers.drift import Drift
from stead.controller.reconcilers.durations import Learning
from stead.controller.reconcilers.group_state import Following
from stead.controller.reconcilers.journal_numbering import Numbering
from stead.controller.reconcilers.leases import Events, Hosts, Notices, Retakes
from stead.controller.reconcilers.partitions import KEPT, Partitions
from stead.controller.reconcilers.redispatch import Redispatch
from stead.controller.reconcilers.revocations import Revocations
from stead.controller.reconcilers.scaling import Scaling
from stead.controller.reconcilers.timers import Clock
from stead.controller.steps.cascade import PLANS, Cascading
from stead.controller.steps.lease_book import Booking, Rebooking
from stead.controller.steps.machine_disks import MACHINE, STATES, MachineDisks
from stead.controller.steps.mci_prepare import Preparing
from stead.controller.steps.node_drain import Draining
from stead.controller.steps.shared_resources import Sharing
from stead.controller.steps.system_validation import Founding
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import HOUR
from stead.lifecycle.snapshot import Fence
from stead.store import Store
from stead.store.commit import Custody, Written


class Controller(Door):
    """One controller."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        kinds: Mapping[str, Lifecycle],
        clock: Callable[[], float] | None = None,
        pace: Pace = DEFAULT,
        identities: Identities | None = None,
        webhooks: Sequence[str] = (),
        kept: float = KEPT,
    ) -> None:
        """With `identities`, agents are known: each speaks for the lanes that it was given, and for no others.

        Webhooks go to addresses that begin like one of `webhooks`. What has ended is kept for so many seconds.
        """
        super().__init__(store, bus, kinds, clock, pace)
        self.identities = identities
        self.trust = Trust(store, bus.garbage, self.mover.clock, known=identities is not None)
        mover = self.mover
        self.groups = Groups(mover)
        works: dict[tuple[str, str], Callable[[], Work]] = {
            **{(kind, "Preparing"): partial(Preparing, self.admission, bus) for kind in ("mci", "subgroup")},
            ("node", "PUTTING_IN_MAINTENANCE"): partial(Draining, self.admission),
            ("lease", "CREATING"): partial(Booking, mover),
            ("lease", "UPDATING"): partial(Rebooking, self.admission),
            ("system", "pending"): partial(Founding, store),
            **dict.fromkeys(PLANS, partial(Cascading, self.admission)),
            **{(MACHINE, state): partial(MachineDisks, self.admission) for state in STATES},
        }
        self.steps = Steps(mover, works)
        self.sharing = Sharing(self.admission)
        mover.follow(self._begin)
        self.takes = Takes(mover, pace)
        self.rosters = Rosters(mover, self.trust)
        self.clock = Clock(mover)
        orphans = Orphans(mover, bus, pace)
        self.presences = Presences(mover, bus, self.trust, pace)
        self.listener = Listener(mover, bus, self.looks, orphans, self.presences)
        self.redispatch = Healer("redispatch", 2.0, Redispatch(mover, bus), told)
        self.numbering = Healer("numbering", 0.2, Numbering(store, Following(mover)), told)
        self.healers: tuple[Healer, ...] = (
            self.redispatch,
            Healer("kinds", EVERY, self.kinds.heal, told),
            Healer("presence", 1.0, self.presences, told),
            Healer("clock", 0.5, self.clock.tick, told),
            Healer("grants", 2.0, self.grants.heal, told),
            Healer("groups", 2.0, self.groups.heal, told),
            Healer("queues", 1.0, self.queues.heal, told),
            Healer("sharing", 10.0, self.sharing.heal, told),
            Healer("drift", 1.0, Drift(self.looks), told),
            Healer("orphans", 5.0, orphans, told),
            Healer("scaling", 1.0, Scaling(self.admission), told),
            Healer("attachments", 1.0, Attachments(self.admission), told),
            Healer("events", 0.5, Events(self.admission), told),
            Healer("retakes", 5.0, Retakes(self.admission), told),
            Healer("hosts", 2.0, Hosts(self.admission), told),
            Healer("notices", 1.0, Notices(mover, webhooks), told),
            Healer("learning", 5.0, Learning(store, self.kinds), told),
            self.numbering,
            Healer("partitions", HOUR, Partitions(store, kept), told),
        )
        if identities is not None:
            self.revocations = Healer("revocations", 60.0, Revocations(identities, bus), told)
            self.healers += (self.revocations,)
        bus.on_state(self._on_state)
        self._soon = False

    async def _begin(self, written: Written) -> None:
        """After a commit, here or elsewhere: begin what it asks for. Soon it is in the journal, and in the counts."""
        for follow in (self.groups, self.steps, self.sharing):
            await follow(written)
        if written.apart:
            await self.mover.store.flag_lost(written.apart)
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_later(SOON, self._number)

    def _number(self) -> None:
        self._soon = False
        self.numbering.nudge()

    def _on_state(self, state: BusState) -> None:
        if state is BusState.CONNECTED:
            self.redispatch.nudge()
            if self.identities is not None:
                self.revocations.nudge()

    async def run(self) -> None:
        """Until cancelled. Without a bus, and without a database, it goes on as soon as they are back."""
        await self.bus.serve_take(self._take)
        await self.bus.serve_renew(self._renew)
        await self.bus.serve_roster(self.rosters)
        await self.bus.serve_lanes(self._opens)
        await self.bus.on_presence(self.presences.hear)
        await self.bus.serve_greet(self.presences.greet)
        await self.bus.on_poke(self._poked)
        if self.identities is not None:
            await self.bus.serve_identity(self._renew_identity)
        async with asyncio.TaskGroup() as group:
            for loop in (self.listener.run(), *(healer.run() for healer in self.healers)):
                group.create_task(loop)

    async def _take(self, take: Take) -> TakeReply:
        lanes = await self.trust.lanes(take.agent, take.epoch)
        latest: dict[str, Fence] = {}
        for path, fence in take.members:
            latest[path] = max(fence, latest.get(path, fence))
        try:
            fences = await self.takes.take(Custody(take.agent, take.epoch), latest, lanes)
        except SupersededRun:
            return TakeReply(ok=False, why="a newer run of the agent has taken its place", superseded=True)
        if not fences:
            return TakeReply(ok=False, why="the order is another's, was sent anew, or is no longer wanted")
        return TakeReply(ok=True, custody=self.pace.custody_of_agent, fences=fences, call=self.pace.call)

    async def _renew(self, renew: Renew) -> RenewReply:
        lost = await self.takes.renew(Custody(renew.agent, renew.epoch), renew.fences)
        return RenewReply(ok=not lost, custody=self.pace.custody_of_agent, lost=sorted(lost))

    async def _opens(self, asked: OpenLane) -> None:
        await self.trust.check(asked.agent, [asked.lane])

    async def _poked(self, poke: Poke) -> None:
        await self._begin(Written({}, [], poke.recount, poke.expanding, steps=poke.steps, gone=poke.gone))

    async def _renew_identity(self, renew: RenewIdentity) -> IdentityReply:
        assert self.identities is not None
        return await self.identities.renew(renew)
