"""What a scaling policy does: from figures of demand, what there is and what it did before, to what it does now.

It is a pure function, so that a test can try to make it flap. It does not, because of four things. One more is
wanted above one threshold and one less below another that is at most half of it, so no step is the reason for its
opposite. A figure counts for one step: after that, a newer one is needed. Nothing is done at a place while something
it did there is under way, nor for a while after that. And a figure that is too old changes nothing.

The bounds come first and need no figures: fewer than the minimum are made more, more than the maximum are made fewer.
Whatever users made counts, and is never deleted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from stead.catalog.scaling import Choice, How, Policy, PolicyInput

DEEDS = 50
"""Instances that are asked for at once."""


class Code(StrEnum):
    """What a verdict comes to."""

    ACTS = "acts"
    """It makes or deletes instances."""
    RESTS = "rests"
    """All is as it is wanted."""
    NOT_BELIEVED = "not-believed"
    """There is no figure of demand, or it is too old."""
    WAITS = "waits"
    """What it did before is under way, or no figure has come since."""
    COOLS_DOWN = "cools-down"
    """It is too soon after what it did before."""
    AT_MAXIMUM = "at-maximum"
    """More are wanted than there may be."""
    AT_MINIMUM = "at-minimum"
    """Fewer are wanted than there have to be."""
    NO_PLACE = "no-place"
    """More are wanted, and no place can take one now."""
    NOT_ITS_OWN = "not-its-own"
    """Fewer are wanted, and there is none that it may delete now."""
    REFUSED = "refused"
    """What it asked for was refused."""


HELD_BACK = {
    Code.NOT_BELIEVED: "no figure of demand is believed, so nothing is changed",
    Code.COOLS_DOWN: "it is too soon after the last change",
    Code.AT_MAXIMUM: "more instances are wanted than there may be",
    Code.AT_MINIMUM: "fewer instances are wanted than there have to be",
    Code.NO_PLACE: "more instances are wanted, and no place can take one now",
    Code.NOT_ITS_OWN: "fewer instances are wanted, and none of them may be deleted now",
}
"""Why it does not do what it would, in the words of the journal."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How much is asked for, and when that was measured."""

    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance that there is, whoever made it."""

    path: str
    how: How
    own: bool
    """The policy made it."""

    @property
    def place(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def number(self) -> int:
        tail = self.path.rpartition("-")[2]
        return int(tail) if tail.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Act:
    """Something that the policy did."""

    place: str
    more: bool
    """It made an instance, and did not delete one."""
    at: float
    ended: float | None = None
    """None while it is under way."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class DemandDecision:
    """An instance that is to be made or deleted, and why."""

    more: bool
    path: str
    says: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done now, or why nothing is."""

    code: Code
    says: str
    deeds: tuple[DemandDecision, ...] = ()
    again: float | None = None
    """When to look again, though nothing changes until then."""


@dataclass(frozen=True, slots=True)
class DemandState:
    """All that a verdict depends on, besides the policy and the time."""

    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By place; under no name, the one for all of them."""
    instances: Sequence[Instance] = ()
    acts: Sequence[Act] = ()
    closed: Mapping[str, str] = field(default_factory=dict)
    """Places that can take and give nothing now, each with why."""


def judge(policy: Policy, standing: DemandState, now: float) -> Verdict:
    """What a policy does now."""
    desk = _Desk(policy, standing, now)
    bounded = desk.below_minimum() or desk.above_maximum()
    if bounded is not None and bounded.deeds:
        return bounded
    scopes = (
        [("", policy.places)]
        if policy.demand is PolicyInput.TOTAL
        else [(place, (place,)) for place in policy.places]
    )
    found = [desk.follow(name, places) for name, places in scopes]
    if bounded is not None:  # it could not be mended, and demand goes on
        found.insert(0, bounded)
    deeds = tuple(deed for verdict in found for deed in verdict.deeds)
    times = [verdict.again for verdict in found if verdict.again is not None]
    first = min(found, key=lambda verdict: _ORDER.index(verdict.code))
    says = "; ".join(dict.fromkeys(v.says for v in found if v.code is first.code))
    return Verdict(first.code, says, deeds, min(times) if times else None)


_ORDER = (
    *(Code.ACTS, Code.NO_PLACE, Code.NOT_ITS_OWN, Code.AT_MAXIMUM, Code.AT_MINIMUM, Code.COOLS_DOWN, Code.WAITS),
    *(Code.NOT_BELIEVED, Code.RESTS, Code.REFUSED),
)
"""What is said first, where it is not the same at all places."""


class _Desk:
    """What there is, and what there will be when all that was decided so far is done."""

    def __init__(self, policy: Policy, standing: DemandState, now: float) -> None:
        self.policy = policy
        self.standing = standing
        self.now = now
        self.here: dict[str, list[Instance]] = {place: [] for place in policy.places}
        for instance in standing.instances:
            if instance.place in self.here:
                self.here[instance.place].append(instance)
        self.going = {act.place for act in standing.acts if act.ended is None}

    def _count(self, places: Sequence[str], *how: How) -> int:
        return sum(instance.how in how for place in places for instance in self.here[place])

    def serving(self, places: Sequence[str]) -> int:
        """Those that serve somebody, or will in a moment."""
        return self._count(places, How.READY, How.BUSY, How.COMING)

    def sure(self, places: Sequence[str]) -> int:
        """Those that serve somebody: whoever is still to come may fail to."""
        return self._count(places, How.READY, How.BUSY)

    def present(self, places: Sequence[str]) -> int:
        """All that are on record: whoever is to go may fail to."""
        return self._count(places, *How)

    def staying(self, places: Sequence[str]) -> int:
        """All that nobody deletes."""
        return self.present(places) - self._count(places, How.GOING)

    # The bounds

    def below_minimum(self) -> Verdict | None:
        """More, where there are fewer than there have to be; None where there are enough."""
        policy, deeds = self.policy, list[DemandDecision]()
        short = False
        for place in policy.places:
            while len(deeds) < DEEDS and self.serving((place,)) < policy.minimum_at_place:
                short = True
                if not self._room(place):
                    break
                deeds.append(self._make(place, f"at {place} there have to be {policy.minimum_at_place}"))
        while len(deeds) < DEEDS and self.serving(policy.places) < policy.minimum:
            short = True
            place = self._next(policy.places)
            if not place:
                break
            deeds.append(self._make(place, f"there have to be {policy.minimum}"))
        if not short:
            return None
        if deeds:
            return Verdict(Code.ACTS, deeds[0].says, tuple(deeds))
        return Verdict(Code.NO_PLACE, f"there are too few: {self._why_no_place(policy.places)}", (), self._retry())

    def above_maximum(self) -> Verdict | None:
        """Fewer, where there are more than there may be; None where there are not."""
        policy, deeds = self.policy, list[DemandDecision]()
        above = False
        for place in policy.places:
            while len(deeds) < DEEDS and self.staying((place,)) > policy.maximum_at_place:
                above = True
                if not (deed := self._delete((place,), f"at {place} there may be {policy.maximum_at_place}")):
                    break
                deeds.append(deed)
        while len(deeds) < DEEDS and self.staying(policy.places) > policy.maximum:
            above = True
            if not (deed := self._delete(policy.places, f"there may be {policy.maximum}")):
                break
            deeds.append(deed)
        if not above:
            return None
        if deeds:
            return Verdict(Code.ACTS, deeds[0].says, tuple(deeds))
        return Verdict(Code.NOT_ITS_OWN, "there are too many, and none that it may delete now", (), self._retry())

    # Demand

    def follow(self, name: str, places: Sequence[str]) -> Verdict:
        """What a figure of demand comes to, at the places that it is of."""
        policy, now = self.policy, self.now
        where = f"at {name}" if name else "over all places"
        figure = self.standing.figures.get(name)
        if figure is None:
            return Verdict(Code.NOT_BELIEVED, f"there is no figure of the demand {where}")
        if now - figure.at > policy.believed_for:
            says = f"the figure of the demand {where} is {_seconds(now - figure.at)} old, and counts for "
            return Verdict(Code.NOT_BELIEVED, f"{says}{_seconds(policy.believed_for)}")
        serving = self.serving(places)
        wanted = _wanted(policy, figure.value, serving)
        says = _says(policy, figure.value, serving, where)
        if wanted == serving:
            return Verdict(Code.RESTS, says)
        bounded = self._bounded(wanted, serving, places)
        if bounded == serving:
            code = Code.AT_MAXIMUM if wanted > serving else Code.AT_MINIMUM
            return Verdict(code, f"{says}; {self._bound(code, name)}")
        more = wanted > serving
        return self._held(figure, places, more, says) or self._step(bounded - serving, places, says)

    def _held(self, figure: Figure, places: Sequence[str], more: bool, says: str) -> Verdict | None:
        """Why nothing is done yet; None where it may."""
        policy, acts = self.policy, [act for act in self.standing.acts if act.place in places]
        last = max((act.at if act.ended is None else act.ended for act in acts), default=-math.inf)
        if self.going.issuperset(places):
            return Verdict(Code.WAITS, f"{says}; what it did before is still under way")
        pause = policy.cooldown_up if more else policy.cooldown_down
        if last + pause > self.now:
            left = last + pause - self.now
            return Verdict(Code.COOLS_DOWN, f"{says}; it cools down for {_seconds(left)} more", (), last + pause)
        if any(act.at >= figure.at for act in acts):
            return Verdict(Code.WAITS, f"{says}; that was measured before it last did something")
        return None

    def _step(self, change: int, places: Sequence[str], says: str) -> Verdict:
        deeds: list[DemandDecision] = []
        for _ in range(min(abs(change), DEEDS)):
            if change > 0:
                place = self._next(places)
                if not place:
                    break
                deeds.append(self._make(place, says))
            elif deed := self._delete(places, says):
                deeds.append(deed)
        if deeds:
            return Verdict(Code.ACTS, says, tuple(deeds))
        if change > 0:
            return Verdict(Code.NO_PLACE, f"{says}; {self._why_no_place(places)}", (), self._retry())
        return Verdict(Code.NOT_ITS_OWN, f"{says}; there is none that it may delete now", (), self._retry())

    def _bounded(self, wanted: int, serving: int, places: Sequence[str]) -> int:
        """What is wanted, within the bounds: over all places, and at these."""
        policy = self.policy
        if wanted > serving:
            here = policy.maximum_at_place * len(places) - self.present(places)
            room = min(policy.maximum - self.present(policy.places), here)
            return serving + max(0, min(wanted - serving, room))
        spare = self.sure(policy.places) - policy.minimum
        here = self.sure(places) - policy.minimum_at_place * len(places)
        return serving - max(0, min(serving - wanted, spare, here))

    def _bound(self, code: Code, name: str) -> str:
        policy = self.policy
        if code is Code.AT_MAXIMUM:
            place = bool(name) and self.present((name,)) >= policy.maximum_at_place
            most = f"{policy.maximum_at_place} there" if place else f"{policy.maximum}"
            return f"there may be {most}"
        place = bool(name) and self.sure((name,)) <= policy.minimum_at_place
        return f"there have to be {f'{policy.minimum_at_place} there' if place else policy.minimum}"

    # Places

    def _shut(self, place: str) -> str:
        """Why nothing can be done at a place now; nothing where it can."""
        if place in self.standing.closed:
            return self.standing.closed[place]
        if place in self.going:
            return f"what it did at {place} is still under way"
        return f"what it tried at {place} has failed, and is not tried again so soon" if self._failed(place) else ""

    def _failed(self, place: str) -> float | None:
        """Until when a place is left alone after a failure."""
        pauses = {True: self.policy.cooldown_up, False: self.policy.cooldown_down}
        failed = [a.ended + pauses[a.more] for a in self.standing.acts if a.failed and a.ended and a.place == place]
        until = max(failed, default=-math.inf)
        return until if until > self.now else None

    def _room(self, place: str) -> bool:
        policy = self.policy
        full = self.present((place,)) >= policy.maximum_at_place or self.present(policy.places) >= policy.maximum
        return not full and not self._shut(place)

    def _next(self, places: Sequence[str]) -> str:
        """The place that takes one more."""
        open = [place for place in places if self._room(place)]
        if self.policy.choice is Choice.SPREAD:
            open.sort(key=lambda place: self.present((place,)))
        return open[0] if open else ""

    def _why_no_place(self, places: Sequence[str]) -> str:
        return "; ".join(dict.fromkeys(self._shut(place) or f"{place} is full" for place in places))

    def _retry(self) -> float | None:
        """When a place that is left alone after a failure is tried again."""
        times = [until for place in self.policy.places if (until := self._failed(place)) is not None]
        return min(times, default=None)

    def _make(self, place: str, says: str) -> DemandDecision:
        """One more at a place, under the first name that is free."""
        taken = {instance.path for instance in self.here[place]}
        path = next(path for path in _names(f"{place}/{self.policy.name}") if path not in taken)
        self.here[place].append(Instance(path, How.COMING, own=True))
        return DemandDecision(True, path, says)

    def _delete(self, places: Sequence[str], says: str) -> DemandDecision | None:
        """One less: the latest that it made itself, at the place that is to give one up first."""
        policy = self.policy
        if self.sure(policy.places) <= policy.minimum:
            return None
        open = [p for p in places if not self._shut(p) and self.sure((p,)) > policy.minimum_at_place]
        open.reverse()
        if policy.choice is Choice.SPREAD:
            open.sort(key=lambda place: -self.staying((place,)))
        for place in open:
            own = [i for i in self.here[place] if i.own and i.how is How.READY]
            if own:
                gone = max(own, key=lambda instance: (instance.number, instance.path))
                self.here[place].remove(gone)
                self.here[place].append(replace(gone, how=How.GOING))
                return DemandDecision(False, gone.path, says)
        return None


def _names(path: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{path}-{number}"


def _wanted(policy: Policy, value: float, serving: int) -> int:
    """How many a demand asks for, from how many there are, before any bound."""
    enough = math.ceil(value / policy.up_above)
    if serving == 0:
        return min(enough, policy.step) if value > 0 else 0
    each = value / serving
    if each > policy.up_above:
        return min(max(enough, serving + 1), serving + policy.step)
    if each < policy.down_below:  # never so few that each has more than it may have after the smallest step down
        return max(math.ceil(value / (2 * policy.down_below)), serving - policy.step)
    return serving


def _says(policy: Policy, value: float, serving: int, where: str) -> str:
    """What was found, in a sentence."""
    head = f"the demand {where} is {value:g}"
    if serving == 0:
        return f"{head}, and there is no instance"
    each = value / serving
    tail = f"{head}, which is {each:.4g} for each of {serving}"
    if each > policy.up_above:
        return f"{tail}: more than {policy.up_above:g}"
    return f"{tail}: less than {policy.down_below:g}" if each < policy.down_below else tail


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.0f} s"
