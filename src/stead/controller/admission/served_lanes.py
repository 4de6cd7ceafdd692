"""Whether an agent has ever served the lanes that a request names.

What is made on any other lane waits for an agent that nothing says will come: a mistyped region waits like one whose
agent is being set up. So such a request is rejected, unless it says that the agent comes later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from stead.access.lane_use import MAX_SHOWN_LANES, named, uses
from stead.controller.admission.request import ActionRequest
from stead.lifecycle.decision import Code, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Actor
from stead.store import Store


class ServedLanes:
    """Checks requests. A lane that an agent has served stays known, so most requests cost no statement."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle]) -> None:
        self.store = store
        self.kinds = kinds
        self._known: set[str] = set()

    async def rejection(self, request: ActionRequest, actor: Actor) -> Rejection | None:
        """A rejection that names each lane that no agent has served, and the nearest that the namespace may use.

        What is there already was accepted with its lanes: only those that are new to it are looked up. A site is made
        before its agent comes, and what is in a site depends on the state of that.
        """
        lifecycle, row = self.kinds[request.kind], request.row
        if request.expect_agent or actor is Actor.CONTROLLER or self._at_site(lifecycle):
            return None
        state = row.snapshot.state if row is not None else None
        there = row is not None and state != lifecycle.initial.name
        used = uses(
            self.kinds,
            request.kind,
            request.action,
            request.path,
            lane=row.lane if row is not None else request.lane,
            state=state,
            spec=request.spec,
            old=row.spec if row is not None else None,
            actor=actor,
            deploys=request.deploys or (),
        )
        old = {row.lane, *named(row.kind, row.spec)} if row is not None and there else set[str]()
        unserved = await self._unserved(used.on - old)
        if not unserved or await self.store.lanes.find_denied(used.written(request.path)):
            return None  # a lane that the namespace may not use is rejected for that, and no name is suggested
        usable = await self.store.lanes.list_usable(request.path.split("/")[1])
        return Rejection(tuple(_reason(lane, usable) for lane in unserved[:MAX_SHOWN_LANES]), state or "")

    def _at_site(self, lifecycle: Lifecycle) -> bool:
        return lifecycle.presence or any(
            self.kinds[need.kind].presence for need in lifecycle.preconditions if need.kind in self.kinds
        )

    async def _unserved(self, lanes: Collection[str]) -> list[str]:
        unknown = [lane for lane in lanes if lane not in self._known]
        if unknown:
            self._known |= await self.store.lanes.filter_served(unknown)
        return sorted(lane for lane in unknown if lane not in self._known)


def _reason(lane: str, usable: Sequence[str]) -> Reason:
    near = get_close_matches(lane, usable, 1)
    if near:
        other = f"did you mean {near[0]}?"
    elif usable:
        more = " and more" if len(usable) > MAX_SHOWN_LANES else ""
        other = f"the namespace may use {', '.join(usable[:MAX_SHOWN_LANES])}{more}"
    else:
        other = "no agent serves a lane that the namespace may use"
    says = f"no agent has ever served the lane {lane}; {other} (where its agent comes later: --expect-agent)"
    return Reason(Code.LANE_NOT_SERVED, says)
