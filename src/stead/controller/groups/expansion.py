"""Operations on groups: members are asked in durable chunks, and the last one that is done decides.

An accepted operation says what its members are to be asked and how far that has come; whoever carries it on, after a
crash too, goes on from there. Members are asked as sets: a chunk of some thousand in a few classes is a few decisions
and a handful of statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.controller.execution.background_tasks import BackgroundTasks
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.journal_notes import why
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.groups.counts import amounts
from stead.controller.groups.deploys import KIND, Deploys
from stead.controller.groups.members import MemberPlans
from stead.controller.steps import lease_book
from stead.lifecycle.claims import ancestors
from stead.lifecycle.decide.group import Participation, participation
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Children, OnConflict, Request
from stead.lifecycle.files.decoded import InvalidDescription
from stead.lifecycle.observation import OBSERVING
from stead.lifecycle.rows import ORIGIN, Actor, Aggregation
from stead.lifecycle.snapshot import Holder
from stead.store.commit import CommitResult, Expansion
from stead.store.summary import ResourceSummary

CHUNK = 2000
"""Members that are asked in one transaction."""
MAX_MEMBERS_READ = 1000
"""Members of a failed operation of which the first error is looked for."""

SKIPPED, UNCHANGED = "skipped", "unchanged"
"""What becomes of a member that does nothing: it could not, or did not have to."""


class GroupExpansion:
    """Asks members, and counts them."""

    def __init__(self, executor: TransitionExecutor, chunk: int = CHUNK) -> None:
        self.executor = executor
        self.chunk = chunk
        self.plans = MemberPlans(executor)
        self.deploys = Deploys(executor)
        self.background = BackgroundTasks("a group")

    async def __call__(self, written: CommitResult) -> None:
        """What follows from a commit: begin to ask, or count."""
        for path in written.recount:
            self.background.begin(self.recount(path))
        for operation in written.expanding:
            self.background.begin(self.expand(operation))

    async def heal(self) -> int:
        """Go on with whatever was left: groups whose members were not all asked, or not counted."""
        left = await self.executor.store.groups.list_unfinished()
        for operation in left["expanding"]:
            await self.expand(operation)
        for path in left["counted"]:
            await self.recount(path)
        return len(left["expanding"]) + len(left["counted"])

    async def expand(self, operation: str) -> None:
        """Ask all members that were not asked yet."""
        while await self._chunk(operation):
            pass

    async def _chunk(self, operation: str) -> bool:
        """Ask some; whether there may be more."""
        asking = await self.executor.store.groups.read_expansion(operation)
        if asking is None:
            return False
        if asking["kind"] == KIND and "cancels" not in asking["request"] and asking["action"] not in OBSERVING:
            return await self._deploy(operation, asking)
        if asking["request"].get("makes"):
            return await self._make(operation, asking)
        if "cancels" not in asking["request"] and (
            rejection := await lease_book.rejection_of_start(self.executor, asking)
        ):
            return await self._reject(operation, asking, rejection)
        paths = await self._members(operation, asking)
        last, done = paths[-1] if paths else asking["after"], len(paths) < self.chunk
        if "cancels" in asking["request"]:
            await self.executor.apply(
                [TransitionInput(path, Cancel(operation, Actor.ADMIN), asking["principal"]) for path in paths]
            )
            await self.executor.apply([], lambda _: Expansion(operation, last, done, 0, asking["turn"]))
            return not done
        request = _request(operation, asking)
        held = (
            await self.executor.store.claims.find_held_below(asking["path"], operation)
            if self._leaves_out(asking)
            else {}
        )
        about = {"principal": asking["principal"], "detail": why(self.executor.kinds[asking["member"]], request)}
        told = [TransitionInput(path, request, blocked=_above(held, path), **about) for path in paths]
        await self._tell(operation, asking, told, last, done, held)
        return not done

    def _leaves_out(self, asking: Mapping[str, Any]) -> bool:
        """Whether others may have claims on what the group's operation asks."""
        action = self.executor.kinds[asking["kind"]].action(asking["action"])
        return action is not None and action.skips_claimed

    async def _reject(self, operation: str, asking: Mapping[str, Any], reason: str) -> bool:
        """Request nothing of any member: the operation fails with a reason."""
        paths = await self._members(operation, asking)
        bad = [(path, SKIPPED, reason) for path in paths]
        await self.executor.apply(
            [], lambda _: Expansion(operation, asking["after"], True, 0, asking["turn"], bad, failed=len(bad))
        )
        return False

    async def _deploy(self, operation: str, asking: Mapping[str, Any]) -> bool:
        """Ask some services and jobs; where that cannot be, nobody is asked, and it has failed."""
        try:
            told, last, done = await self.deploys.some(operation, asking, self.chunk)
        except InvalidDescription as wrong:
            bad = [(str(problem.path[0]), SKIPPED, problem.message) for problem in wrong.problems]
            await self.executor.apply(
                [], lambda _: Expansion(operation, asking["after"], True, 0, asking["turn"], bad)
            )
            return False
        await self._tell(operation, asking, told, last, done)
        return not done

    async def _make(self, operation: str, asking: Mapping[str, Any]) -> bool:
        """Ask some that are not there yet to be made."""
        row = await self.executor.store.resources.read(asking["path"])
        member = self.executor.kinds[asking["member"]]
        after = int(asking["after"] or 0)
        if row is None:
            return False
        rows, total = await self.plans.some(operation, row, asking["wish"], member, after, self.chunk)
        request, after = _request(operation, asking), after + len(rows)
        told = [TransitionInput(new.path, request, asking["principal"], spec=new.spec, new=new) for new in rows]
        await self._tell(operation, asking, told, f"{after:09}", after >= total)
        return after < total

    async def _tell(
        self,
        operation: str,
        asking: Mapping[str, Any],
        told: Sequence[TransitionInput],
        last: str,
        done: bool,
        held: Mapping[str, Holder] | None = None,
    ) -> None:
        """Ask members, and record how far that has come: both or neither. `held`: what others have claims on."""

        def widened(answers: Sequence[Answer]) -> Expansion:
            moved = [(a.summary, participation(a.decision, operation)) for a in answers if isinstance(a, Applied)]
            acting = sum(part is Participation.ACTS for _, part in moved)
            joined = [(b.id, b.operation) for b, part in moved if part is Participation.JOINS and b.operation]
            skipped = [
                (told[i].path, self._left_out(asking, told[i], a), _says(a, told[i], held))
                for i, a in enumerate(answers)
                if isinstance(a, Rejection)
            ]
            return Expansion(operation, last, done, acting, asking["turn"], skipped, joined)

        await self.executor.apply(told, widened)

    def _left_out(self, asking: Mapping[str, Any], told: TransitionInput, answer: Rejection) -> str:
        """Whether a member was skipped since it could not act, or is unchanged since nothing had to be done with it.

        The latter is where the action leads already. An action that leaves its group in its state, such as refine, is
        about some members alone: the others are unchanged too.
        """
        group, event = self.executor.kinds[asking["kind"]], told.event
        asked, member = group.action(asking["action"]), self.executor.kinds.get(asking["member"])
        act = member.action(event.action) if member is not None and isinstance(event, Request) else None
        if act is None or asked is None or answer.code is not Code.WRONG_STATE:
            return SKIPPED
        return (
            UNCHANGED if answer.state == act.target or (asked.member_action and asked.target == ORIGIN) else SKIPPED
        )

    async def _members(self, operation: str, asking: Mapping[str, Any]) -> list[str]:
        """The next members that are to hear of it."""
        store, said, after = self.executor.store, asking["request"], asking["after"]
        if "cancels" in said:
            kind, below = asking["member"], asking["path"]
            return await store.groups.list_working_members(operation, kind, below, after, self.chunk)
        if said.get("of"):
            return await store.groups.list_failed_members(said["of"], after, self.chunk)
        below = f"{asking['path']}/"
        return await store.resources.list_paths(asking["member"], below, after, self.chunk, said.get("from"))

    async def recount(self, path: str) -> None:
        """Bring what the members amount to to their group."""
        summary = (await self.executor.store.resources.read_summaries([path])).get(path)
        if summary is None:
            return
        kind = self.executor.kinds[summary.kind]
        if summary.kind == KIND:
            await self.executor.store.systems.end_concurrent(path)
        found = await self.executor.store.groups.count_members(path, kind.members)
        if found is None:
            return
        event = amounts(kind, found["counts"], found["remaining"], found["failed"])
        detail = {"error": why} if (why := await self._failure(kind, summary, event)) else None
        await self.executor.apply([TransitionInput(path, event, principal="controller", detail=detail)])

    async def _failure(self, kind: Lifecycle, summary: ResourceSummary, event: Children) -> str:
        """Why a lease fails with its members: the error of the first of them. Empty where it does not fail."""
        if (
            kind.aggregation is not Aggregation.EVENTS
            or summary.operation is None
            or event.remaining
            or not event.failed
        ):
            return ""
        members = await self.executor.store.operations.read_members(summary.operation, "", MAX_MEMBERS_READ)
        found = sorted((m for m in members if m["says"]), key=lambda m: m["outcome"] in (SKIPPED, UNCHANGED))
        return f"{found[0]['path']}: {found[0]['says']}" if found else ""


def _above(held: Mapping[str, Holder], path: str) -> Holder | None:
    """Whoever has a claim on a path above one, which is below the group."""
    return next((held[above] for above in ancestors(path) if above in held), None)


def _says(refusal: Rejection, told: TransitionInput, held: Mapping[str, Holder] | None) -> str:
    """Why a member was skipped; where another operation is in progress on it, which one and whose."""
    holder = (held or {}).get(told.path) or told.blocked
    if holder is None or refusal.holder is None:
        return refusal.reasons[0].message
    where = "" if holder.path == told.path else f" on {holder.path}"
    operation = f"{holder.path.split('/')[1]}/{holder.operation}"
    return f"{holder.action} by {holder.by} is in progress{where} since {holder.since} (operation {operation})"


def _request(operation: str, asking: Mapping[str, Any]) -> Request:
    said = asking["request"]
    return Request(
        said["action"],
        Actor(said["actor"]),
        force=said.get("force", False),
        reason=asking["reason"],
        within=True,
        on_conflict=OnConflict.REJECT,
        operation=operation,
        by=asking["principal"],
    )
