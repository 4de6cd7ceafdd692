"""Follows demand: asks for instances, and for their end, as a user would and through the same door.

A policy at rest costs nothing. It is looked at when a figure of demand or another text has come, when something has
moved where it may have instances, and when a time has come that it waited for. Any number of controllers look; each
writes down what it is about to ask before it asks, and only one can write that. Whoever finds it written after a
crash asks the same again, under the same keys, so nothing is made twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stead.access.access import Access
from stead.access.authorization import Authorization
from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.policies import PolicyResource, labels_of
from stead.catalog import scaling
from stead.catalog.demand import HELD_BACK, Act, Code, DemandState, Figure, Instance, Verdict, judge
from stead.catalog.edge import APPINST, CLOUDLET, CLUSTERINST, lane_of
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.kinds.kinds import CompiledKind, actions_of
from stead.lifecycle.decision import Outcome, Rejection
from stead.lifecycle.rows import Actor
from stead.store.scaling import Scaling as Kept

log = logging.getLogger(__name__)

BATCH = 50
"""Policies that are looked at in one go."""
JOURNAL_BATCH = 5000
"""Lines of the journal that are read in one go."""
TAKEOVER_SECONDS = 30.0
"""Seconds after which another controller goes on where one has died."""
RETRY_SECONDS = 30.0
"""Seconds after which what was refused is asked for again, if it is still wanted."""
SUCCESSES = (Outcome.SUCCEEDED, Outcome.PREEMPTED)
"""How an operation ends that is no reason to leave a place alone for a while."""


class ScalingReconciler:
    """Looks at policies that something has happened to."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        kinds = admission.executor.kinds
        self.access = Access(self.store, CompiledKind(kinds, actions_of))
        self.authorization = Authorization(self.access, kinds, self.store)

    async def __call__(self) -> int:
        """Look at all that are to be looked at now; how many that were."""
        read, _ = await self.store.scaling.wake(JOURNAL_BATCH)
        due = await self.store.scaling.due(self.admission.executor.clock(), BATCH, TAKEOVER_SECONDS)
        for namespace, name in due:
            try:
                await self.look(namespace, name)
            except Exception as error:
                log.warning("the policy %s/%s waits: %s: %s", namespace, name, type(error).__name__, error)
        return len(due) + (read >= JOURNAL_BATCH)

    async def look(self, namespace: str, name: str) -> None:
        """Look at one policy, and do what it says."""
        kept = await self.store.scaling.read(namespace, name)
        if kept is None:
            return
        kept = replace(kept, acts=await self._known(kept.acts))
        if kept.deeds:  # somebody has died before all of it was asked
            await self._do(kept)
            return
        policy, now = scaling.read(kept.policy), self.admission.executor.clock()
        rows = await self.store.scaling.read_instances(policy.places, policy.name)
        policy = scaling.spelled_out(policy, [row["path"] for row in rows if row["kind"] == CLUSTERINST.kind])
        verdict = judge(policy, _standing(policy, kept, rows), now)
        told = {"code": verdict.code, "says": verdict.says, "at": now}
        deeds = _written(kept, policy, verdict)
        again = now + TAKEOVER_SECONDS if deeds else verdict.again
        if await self.store.scaling.record_evaluation(kept, kept.acts, deeds, told, again):
            await self._tell(kept, verdict.code)
            if deeds:
                await self._do(replace(kept, turn=kept.turn + 1, deeds=deeds, verdict=told))

    async def _known(self, acts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """What it did, with what has become of it by now."""
        open = [act["operation"] for act in acts if act.get("ended") is None and act["operation"]]
        outcomes = await self.store.operations.read_outcomes(open)
        return _latest([_ended(act, outcomes) for act in acts])

    async def _do(self, kept: Kept) -> None:
        """Ask for what is written down, and write down what became of that."""
        acts, no = list(kept.acts), list[str]()
        for deed in kept.deeds:
            answer = await self._ask(kept, deed)
            now = self.admission.executor.clock()
            if isinstance(answer, Accepted):
                place, done = deed["path"].rpartition("/")[0], None if answer.operation else now
                acts.append(_act(place, deed["more"], now, answer.operation, done))
            elif answer:
                no.append(f"{'create' if deed['more'] else 'delete'} of {deed['path']}: {answer}")
        verdict = dict(kept.verdict)
        if no:
            verdict |= {"code": Code.REFUSED, "says": f"{verdict.get('says', '')}; refused: {'; '.join(no)}"}
        again = self.admission.executor.clock() + RETRY_SECONDS if no else None
        await self.store.scaling.record_evaluation(kept, _latest(acts), (), verdict, again)

    async def _ask(self, kept: Kept, deed: Mapping[str, Any]) -> Accepted | str:
        """Ask for an instance, or for its end: let in, or why not; no word where nothing is to be done."""
        maker, path = scaling.principal(kept.namespace, kept.name), deed["path"]
        kind = deed.get("kind", APPINST.kind)
        action = "create" if deed["more"] else "delete"
        spec: dict[str, Any] = deed.get("spec") or {}
        request = ActionRequest(path, action, kind, spec, deed.get("lane", ""), reason=deed["says"], key=deed["key"])
        known = await self.admission.answered(request, maker)
        if isinstance(known, Accepted):
            return known
        if not deed["more"]:
            row = await self.store.resources.read(path)
            if row is None or scaling.made_by(row.spec) != maker:
                return ""  # it is gone already, or somebody has made it theirs
            if kind == CLUSTERINST.kind and await self.store.resources.list_paths(APPINST.kind, f"{path}/", "", 1):
                return ""  # an app has come meanwhile
            spec = dict(row.spec)
        thing = PolicyResource(path, kind, labels_of(spec), (lane_of(path),))
        authorized = await self._authorize(kept, action, thing)
        answer = await self.admission.admit(request, authorized) if isinstance(authorized, Authorized) else authorized
        if isinstance(answer, Rejection):
            return "; ".join(reason.message for reason in answer.reasons)
        return "" if isinstance(answer, NotFound) else answer

    async def _authorize(self, kept: Kept, action: str, thing: PolicyResource) -> Authorized | Rejection:
        """The permission of a policy, which is an operator of its namespace and no more: all policies hold for it."""
        await self.access.fresh()
        maker = scaling.principal(kept.namespace, kept.name)
        caller = Caller(maker, roles=frozenset({("operator", kept.namespace)}))
        found = self.authorization.authorize(caller, action, thing)
        if isinstance(found, Rejection):
            await self.admission.note({"path": thing.path, "kind": thing.kind}, maker, action, Actor.USER, found)
        return found

    async def _tell(self, kept: Kept, code: Code) -> None:
        """Where it does not do what it would, and that is new: why."""
        if code not in HELD_BACK or kept.verdict.get("code") == code:
            return
        reasons = {"reasons": [{"code": code, "message": HELD_BACK[code]}]}
        maker = scaling.principal(kept.namespace, kept.name)
        where = f"/{kept.namespace}", "scaling"
        await self.store.journal.append_rejection(*where, maker, "scale", Actor.CONTROLLER, "", reasons)


def _standing(policy: scaling.Policy, kept: Kept, rows: Sequence[Mapping[str, Any]]) -> DemandState:
    """What there is, as the rows say it."""
    maker = scaling.principal(kept.namespace, kept.name)
    instances = []
    for row in rows:
        how = scaling.how(row["state"], row["busy"]) if row["kind"] == policy.kind else None
        if how is not None and scaling.is_instance(policy, row["path"].rpartition("/")[2]):
            instances.append(Instance(row["path"], how, scaling.made_by(row["spec"]) == maker))
    states = {row["path"]: row["state"] for row in rows if row["kind"] in (CLUSTERINST.kind, CLOUDLET.kind)}
    closed = {place: why for place in policy.places if (why := _closed(policy, place, states))}
    figures = {place: Figure(said["value"], float(said["at"])) for place, said in kept.demand.items()}
    acts = [Act(a["place"], a["more"], a["at"], a["ended"], a["failed"]) for a in kept.acts]
    return DemandState(figures, instances, acts, closed)


def _closed(policy: scaling.Policy, place: str, states: Mapping[str, str]) -> str:
    """Why nothing can be done at a place: only on a site that is ready, and for an app in a cluster that is."""
    cluster = [(place.rpartition("/")[0], "site"), (place, "cluster")]
    for path, what in cluster if policy.kind == APPINST.kind else [(place, "site")]:
        state = states.get(path)
        if state != "Ready":
            return f"the {what} {path} is {state}" if state is not None else f"there is no {what} {path}"
    return ""


def _written(kept: Kept, policy: scaling.Policy, verdict: Verdict) -> list[dict[str, Any]]:
    """What is to be asked for, so that any controller can ask for it, any number of times."""
    spec = scaling.spec_of(policy, scaling.principal(kept.namespace, kept.name))
    deeds = []
    for n, deed in enumerate(verdict.deeds):
        key = f"{kept.id}/{kept.turn}/{n}"
        written = {"more": deed.more, "path": deed.path, "kind": policy.kind, "says": deed.says, "key": key}
        if deed.more:
            written |= {"spec": spec, "lane": lane_of(deed.path)}
        deeds.append(written)
    return deeds


def _act(place: str, more: bool, at: float, operation: str, ended: float | None) -> dict[str, Any]:
    return {"place": place, "more": more, "at": at, "operation": operation, "ended": ended, "failed": False}


def _ended(act: Mapping[str, Any], outcomes: Mapping[str, tuple[str, float | None]]) -> Mapping[str, Any]:
    if act["ended"] is not None:
        return act
    outcome, ended = outcomes.get(act["operation"], (Outcome.SUCCEEDED, act["at"]))  # nobody remembers it any more
    return {**act, "ended": ended, "failed": ended is not None and outcome not in SUCCESSES}


def _latest(acts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All that is under way, and of what has ended the latest of each kind at each place."""
    kept: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for act in sorted(acts, key=lambda act: float(act["ended"] or act["at"])):
        over = act["ended"] is not None
        kept[(act["place"], act["more"], act["failed"]) if over else (act["operation"],)] = act
    return list(kept.values())
