"""What is offered is what is accepted: every kind in every state, by asking for each action over REST.

A state is made in the database, or by the action that leads through it. What the server then offers, in an
explanation and in a rejection, is compared with what it does when each action is requested. The command line prints
that list, and the console enables the buttons that are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide.request import UNDO
from stead.lifecycle.rows import Action, Actor, AwaitedParty, StateClass
from tests.api.cell import INFRASTRUCTURE, Cell

PLACES = {
    "subgroup": "{m}/g",
    "vm": "{m}/g/1",
    "clusterinst": "{m}/c",
    "appinst": "{m}/c/a",
    "cloudspace": "{m}/s",
    "machine": "{m}/s/vm",
    "disk": "{m}/s/d",
    "reservation": "{m}/r",
    "event": "{m}/e",
    "service": "{m}/api",
    "job": "{m}/load",
}
"""Where a kind lies below what it belongs to; the others lie right below their namespace."""

ABOVE = {
    "clusterinst": [("{m}", "cloudlet", "Ready")],
    "appinst": [("{m}", "cloudlet", "Ready"), ("{m}/c", "clusterinst", "Ready")],
    "cloudspace": [("{m}", "account", "CONFIRMED")],
    "machine": [("{m}", "account", "CONFIRMED"), ("{m}/s", "cloudspace", "DEPLOYED")],
    "disk": [("{m}", "account", "CONFIRMED"), ("{m}/s", "cloudspace", "DEPLOYED")],
}
"""What has to be there for changes to be accepted, and in which state."""

SPECS: dict[str, dict[str, Any]] = {"mci": INFRASTRUCTURE, "system": {"lanes": ["sim.a"]}}
MEMBERS = {"mci": "{m}/g/9", "subgroup": "{m}/g/9", "system": "{m}/web"}
REASON = {"reason": "to see whether it is accepted"}


@dataclass(frozen=True)
class Situation:
    """A resource in a state, made anew as often as it is needed."""

    name: str
    kind: str
    make: Callable[[str], None]
    """At a path."""
    path: Callable[[str], str] = field(compare=False)


class Stage:
    """Makes situations in one namespace."""

    def __init__(self, cell: Cell, web: httpx.Client, ns: str) -> None:
        self.cell, self.web, self.ns = cell, web, ns
        self.numbers = count()

    def fresh(self) -> str:
        return f"/{self.ns}/x{next(self.numbers)}"

    def put(self, at: str, kind: str, state: str, **above: str) -> str:
        """Something at rest, with what is above it."""
        for where, other, its in ABOVE.get(kind, ()):
            self.cell.put(where.format(m=at), other, above.get(other, its))
        path = PLACES.get(kind, "{m}").format(m=at)
        self.cell.put(path, kind, state, **SPECS.get(kind, {}))
        return path

    def at_rest(self, kind: str) -> Iterator[Situation]:
        lifecycle = KINDS[kind]
        place = PLACES.get(kind, "{m}")
        member = KINDS.get(lifecycle.members) if kind in MEMBERS else None
        for state in lifecycle.states:
            if state.cls in (StateClass.ABSENT, StateClass.TRANSITIONAL):
                continue
            within = (
                [s.name for s in member.states if s.cls in (StateClass.STABLE, StateClass.FINAL)] if member else []
            )
            for inside in ("", *within):

                def make(at: str, state: str = state.name, inside: str = inside) -> None:
                    self.put(at, kind, state)
                    if inside and member is not None:
                        self.cell.put(MEMBERS[kind].format(m=at), member.kind, inside)

                yield Situation(f"{state.name} {inside}", kind, make, lambda at: place.format(m=at))
        for wrong in {other for _, other, _ in ABOVE.get(kind, ())}:
            bad = [s.name for s in KINDS[wrong].states if s.cls is StateClass.STABLE][-1]
            start = next(s.name for s in lifecycle.states if s.cls is StateClass.STABLE)

            def below(at: str, start: str = start, wrong: str = wrong, bad: str = bad) -> None:
                self.put(at, kind, start, **{wrong: bad})

            yield Situation(f"{start} below {wrong} in {bad}", kind, below, lambda at: place.format(m=at))

    def moving(self, kind: str) -> Iterator[Situation]:
        """Every state that an action leads through, by that action, where it stays until an agent has reported."""
        lifecycle, place = KINDS[kind], PLACES.get(kind, "{m}")
        for action in lifecycle.actions:
            start = next((s for s in action.source if lifecycle.state(s).cls is not StateClass.ABSENT), "")
            for state in action.via if start and not action.signals else ():
                inside = self._member(kind, action) if lifecycle.state(state).awaits is AwaitedParty.CHILDREN else ""
                if lifecycle.state(state).awaits is not AwaitedParty.AGENT and not inside:
                    continue  # the controller leaves it by itself

                def make(
                    at: str, action: Action = action, start: str = start, state: str = state, inside: str = inside
                ) -> None:
                    path = self.put(at, kind, start)
                    if inside:
                        self.cell.put(MEMBERS[kind].format(m=at), lifecycle.members, inside)
                    actor = (
                        Actor.ADMIN
                        if Actor.USER in action.actors or Actor.ADMIN in action.actors
                        else Actor.CONTROLLER
                    )
                    self.ask(path, action.name, actor, on_conflict="reject")
                    self.cell.run(self.cell.idle())
                    self.cell.state(path, state)

                yield Situation(f"{state} by {action.name}", kind, make, lambda at: place.format(m=at))

    def _member(self, kind: str, action: Action) -> str:
        """The state of a member that an action on its group keeps busy."""
        asks = KINDS[KINDS[kind].members].action(action.member_action) if kind in MEMBERS else None
        found = (
            (s for s in asks.source if KINDS[KINDS[kind].members].state(s).cls is StateClass.STABLE) if asks else ()
        )
        return next(iter(found), "")

    def creating(self) -> Iterator[Situation]:
        """An infrastructure that is being made; held, and not."""
        for hold in (False, True):
            for state in ("Preparing", "Prepared"):

                def make(at: str, state: str = state, hold: bool = hold) -> None:
                    self.web.post(f"/v1/resources{at}", json={"kind": "mci", "spec": INFRASTRUCTURE, "hold": hold})
                    if state == "Prepared":
                        self.cell.prepared(at)

                if hold or state == "Preparing":
                    yield Situation(f"{state} {'held' if hold else ''}", "mci", make, lambda at: at)

    def all(self, kind: str) -> Iterator[Situation]:
        yield from self.at_rest(kind)
        yield from self.moving(kind)
        if kind == "mci":
            yield from self.creating()

    def differences(self, situation: Situation) -> Iterator[str]:
        """Where what is offered in a situation is not what is accepted."""
        actions = KINDS[situation.kind].actions
        for_admins = any(Actor.ADMIN in action.actors for action in actions)
        for actor in ("user", "admin") if for_admins else ("user",):
            path = self.made(situation)
            said = self.web.get(
                "/v1/explain", params={"path": path, "action": "x"}, headers={"x-actor": actor}
            ).json()
            offered, really = set(said["allowed_actions"]), set()
            for name in (*(action.name for action in actions), UNDO):
                answer = self.ask(path, name, actor)
                began = accepted(answer)
                if began or (began is None and name in offered):
                    really.add(name)
                if began:
                    self.cell.run(self.cell.idle())
                    path = self.made(situation)
                elif answer.status_code == 409 and set(answer.json()["allowed_actions"]) != offered:
                    yield f"{situation.name} ({actor}): {name} is rejected with {answer.json()['allowed_actions']}"
            if offered != really:
                yield f"{situation.name} ({actor}): offers {sorted(offered)}, accepts {sorted(really)}"

    def made(self, situation: Situation) -> str:
        at = self.fresh()
        situation.make(at)
        return situation.path(at)

    def ask(self, path: str, action: str, actor: str, **more: Any) -> httpx.Response:
        body = {**REASON, **more}
        return self.web.post(f"/v1/resources{path}?action={action}", json=body, headers={"x-actor": actor})


def accepted(answer: httpx.Response) -> bool | None:
    """Whether a request was accepted and began something; None where it lacks what only the caller can say."""
    if answer.status_code == 422 and answer.json()["code"] == "invalid":
        return None
    said = answer.json()
    return answer.status_code == 202 and not (said["joined"] or said["no_change"] or said["queued"])


ASKED = [
    kind for kind in KINDS if any(by in (Actor.USER, Actor.ADMIN) for a in KINDS[kind].actions for by in a.actors)
]
"""The kinds of which something can be requested; the others are led by their parents alone."""

FEW = 2
"""Situations of each kind that every run looks at; an infrastructure also while it is made."""


@pytest.mark.req("X-01")
@pytest.mark.long
@pytest.mark.parametrize("kind", ASKED)
def test_what_is_offered_in_every_state_is_what_is_accepted(
    cell: Cell, web: httpx.Client, ns: str, kind: str
) -> None:
    stage = Stage(cell, web, ns)
    assert [wrong for situation in stage.all(kind) for wrong in stage.differences(situation)] == []


@pytest.mark.req("X-01")
@pytest.mark.parametrize("kind", ASKED)
def test_what_is_offered_is_what_is_accepted(cell: Cell, web: httpx.Client, ns: str, kind: str) -> None:
    stage = Stage(cell, web, ns)
    every = list(stage.all(kind))
    some = every[:: max(1, len(every) // FEW)][:FEW] + list(stage.creating() if kind == "mci" else ())
    assert [wrong for situation in some for wrong in stage.differences(situation)] == []
