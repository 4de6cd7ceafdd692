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
    RenewCustody,
    RenewCustodyReply,
    RenewIdentity,
    TakeCustody,
    TakeCustodyReply,
    Wakeup,
)
from stead.controller.admission.frontend import NUMBERING_DELAY, RequestFrontend
from stead.controller.dispatch.custody import CustodyService, SupersededRun
from stead.controller.execution.executor import CommitHook
from stead.controller.execution.steps import Steps, Work
from stead.controller.groups.expansion import GroupExpansion
from stead.controller.kinds.kinds import REFRESH_SECONDS
from stead.controller.observation.agent_identities import AgentIdentities
from stead.controller.observation.inventory import ExpectedInventory
from stead.controller.observation.listener import Listener
from stead.controller.observation.orphans import OrphanDetector
from stead.controller.observation.presence import AgentPresence
from stead.controller.observation.trust import ReportTrust
from stead.controller.reconcilers import Reconciler, told
from stead.controller.reconcilers.attachments import AttachmentReconciler
from stead.controller.reconcilers.drift import DriftReconciler
from stead.controller.reconcilers.durations import DurationLearner
from stead.controller.reconcilers.group_state import GroupStateReconciler
from stead.controller.reconcilers.journal_numbering import JournalNumbering
from stead.controller.reconcilers.leases import HostFailures, LeaseEvents, LeaseNotices, LeaseRetakes
from stead.controller.reconcilers.partitions import RETENTION, PartitionReconciler
from stead.controller.reconcilers.redispatch import RedispatchReconciler
from stead.controller.reconcilers.revocations import RevocationReconciler
from stead.controller.reconcilers.scaling import ScalingReconciler
from stead.controller.reconcilers.timers import TimerService
from stead.controller.steps.cascade import PLANS, Cascade
from stead.controller.steps.lease_book import LeaseBooking, LeaseRebooking
from stead.controller.steps.machine_disks import MACHINE, STATES, MachineDisks
from stead.controller.steps.mci_prepare import MciPrepare
from stead.controller.steps.node_drain import NodeDrain
from stead.controller.steps.shared_resources import SharedResourceCleanup
from stead.controller.steps.system_validation import SystemValidation
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import HOUR
from stead.lifecycle.snapshot import Fence
from stead.store import Store
from stead.store.commit import CommitResult, Custody


class Controller(RequestFrontend):
    """One controller."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        kinds: Mapping[str, Lifecycle],
        clock: Callable[[], float] | None = None,
        pace: Pace = DEFAULT,
        identities: AgentIdentities | None = None,
        webhooks: Sequence[str] = (),
        kept: float = RETENTION,
        publisher: CommitHook | None = None,
    ) -> None:
        """With `identities`, agents are known: each speaks for the lanes that it was given, and for no others.

        Webhooks go to addresses that begin like one of `webhooks`. What has ended is kept for so many seconds.
        """
        super().__init__(store, bus, kinds, clock, pace, publisher)
        self.identities = identities
        self.trust = ReportTrust(store, bus.invalid_messages, self.executor.clock, known=identities is not None)
        executor = self.executor
        self.groups = GroupExpansion(executor)
        works: dict[tuple[str, str], Callable[[], Work]] = {
            **{(kind, "Preparing"): partial(MciPrepare, self.admission, bus) for kind in ("mci", "subgroup")},
            ("node", "PUTTING_IN_MAINTENANCE"): partial(NodeDrain, self.admission),
            ("lease", "CREATING"): partial(LeaseBooking, executor),
            ("lease", "UPDATING"): partial(LeaseRebooking, self.admission),
            ("system", "pending"): partial(SystemValidation, store),
            **dict.fromkeys(PLANS, partial(Cascade, self.admission)),
            **{(MACHINE, state): partial(MachineDisks, self.admission) for state in STATES},
        }
        self.steps = Steps(executor, works)
        self.sharing = SharedResourceCleanup(self.admission)
        executor.on_commit(self._begin)
        self.custody = CustodyService(executor, pace)
        self.rosters = ExpectedInventory(executor, self.trust, bus.max_message)
        self.clock = TimerService(executor)
        orphans = OrphanDetector(executor, bus, pace)
        self.presences = AgentPresence(executor, bus, self.trust, pace)
        self.listener = Listener(executor, bus, self.observer, orphans, self.presences)
        self.redispatch = Reconciler("redispatch", 2.0, RedispatchReconciler(executor, bus), told)
        self.numbering = Reconciler("numbering", 0.2, JournalNumbering(store, GroupStateReconciler(executor)), told)
        self.healers: tuple[Reconciler, ...] = (
            self.redispatch,
            Reconciler("kinds", REFRESH_SECONDS, self.kinds.heal, told),
            Reconciler("presence", 1.0, self.presences, told),
            Reconciler("clock", 0.5, self.clock.tick, told),
            Reconciler("grants", 2.0, self.slots.heal, told),
            Reconciler("groups", 2.0, self.groups.heal, told),
            Reconciler("queues", 1.0, self.queues.heal, told),
            Reconciler("sharing", 10.0, self.sharing.heal, told),
            Reconciler("drift", 1.0, DriftReconciler(self.observer), told),
            Reconciler("orphans", 5.0, orphans, told),
            Reconciler("scaling", 1.0, ScalingReconciler(self.admission), told),
            Reconciler("attachments", 1.0, AttachmentReconciler(self.admission), told),
            Reconciler("events", 0.5, LeaseEvents(self.admission), told),
            Reconciler("retakes", 5.0, LeaseRetakes(self.admission), told),
            Reconciler("hosts", 2.0, HostFailures(self.admission), told),
            Reconciler("notices", 1.0, LeaseNotices(executor, webhooks), told),
            Reconciler("learning", 5.0, DurationLearner(store, self.kinds), told),
            self.numbering,
            Reconciler("partitions", HOUR, PartitionReconciler(store, kept), told),
        )
        if identities is not None:
            self.revocations = Reconciler("revocations", 60.0, RevocationReconciler(identities, bus), told)
            self.healers += (self.revocations,)
        bus.on_state(self._on_state)
        self._soon = False

    async def _begin(self, written: CommitResult) -> None:
        """After a commit, here or elsewhere: begin what it asks for. Soon it is in the journal, and in the counts."""
        for follow in (self.groups, self.steps, self.sharing):
            await follow(written)
        if written.apart:
            await self.executor.store.leases.mark_lost(written.apart)
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_later(NUMBERING_DELAY, self._number)

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
        await self.bus.take_custody.serve(self._take)
        await self.bus.renew_custody.serve(self._renew)
        await self.bus.inventory.serve(self.rosters)
        await self.bus.serve_open_lane(self._opens)
        await self.bus.on_presence(self.presences.hear)
        await self.bus.site.serve(self.presences.greet)
        await self.bus.on_wakeup(self._poked)
        if self.identities is not None:
            await self.bus.renew_identity.serve(self._renew_identity)
        async with asyncio.TaskGroup() as group:
            for loop in (self.listener.run(), *(healer.run() for healer in self.healers)):
                group.create_task(loop)

    async def _take(self, take: TakeCustody) -> TakeCustodyReply:
        lanes = await self.trust.lanes(take.agent, take.epoch)
        latest: dict[str, Fence] = {}
        for path, fence in take.members:
            latest[path] = max(fence, latest.get(path, fence))
        try:
            fences = await self.custody.take(Custody(take.agent, take.epoch), latest, lanes)
        except SupersededRun:
            return TakeCustodyReply(ok=False, error="a newer run of the agent has taken its place", superseded=True)
        if not fences:
            return TakeCustodyReply(ok=False, error="the order is another's, was sent anew, or is no longer wanted")
        return TakeCustodyReply(ok=True, custody=self.pace.custody_of_agent, fences=fences, max_call=self.pace.call)

    async def _renew(self, renew: RenewCustody) -> RenewCustodyReply:
        lost = await self.custody.renew(Custody(renew.agent, renew.epoch), renew.fences)
        return RenewCustodyReply(ok=not lost, custody=self.pace.custody_of_agent, lost=sorted(lost))

    async def _opens(self, asked: OpenLane) -> None:
        await self.trust.check(asked.agent, [asked.lane])

    async def _poked(self, poke: Wakeup) -> None:
        await self._begin(CommitResult({}, [], poke.recounts, poke.expansions, steps=poke.steps, gone=poke.ended))

    async def _renew_identity(self, renew: RenewIdentity) -> IdentityReply:
        assert self.identities is not None
        return await self.identities.renew(renew)
