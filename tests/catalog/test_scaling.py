"""What a scaling policy does, and how a world full of noise, delays and failures tries to make it flap."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.catalog import scaling
from stead.catalog.demand import HELD_BACK, Act, Code, DemandDecision, DemandState, Figure, Instance, Verdict, judge
from stead.catalog.edge import APPINST
from stead.catalog.scaling import Choice, How, Policy, PolicyInput
from stead.lifecycle.rows import StateClass
from tests.tiers import examples

A, B = "/shop/a/k", "/shop/b/k"
PLAIN: dict[str, Any] = {"app": "web", "places": (A, B), "up_above": 100.0, "down_below": 40.0, "maximum": 4}


def policy(**said: Any) -> Policy:
    return Policy(**{**PLAIN, **said})


def there(path: str, how: How = How.READY, own: bool = True) -> Instance:
    return Instance(path, how, own)


def says(one: Policy, value: float | None, *instances: Instance, acts: tuple[Act, ...] = (), **rest: Any) -> Verdict:
    figures = {} if value is None else {"": Figure(value, 1000.0)}
    return judge(one, DemandState(figures, instances, acts, **rest), 1000.0)


def asked(verdict: Verdict) -> list[tuple[str, str]]:
    return [("+" if deed.more else "-", deed.path) for deed in verdict.deeds]


# Policies


def test_a_policy_that_makes_sense_is_kept_as_it_is() -> None:
    one = policy(minimum=2, demand=PolicyInput.PLACE, spec={"labels": {"env": "prod"}})
    assert list(scaling.wrong(one, "shop")) == []
    assert scaling.read(scaling.written(one)) == one
    spec = scaling.spec_of(one, "policy:shop/web")
    assert spec == {"labels": {"env": "prod", "made-by": "policy:shop/web"}}
    assert scaling.made_by(spec) == "policy:shop/web"
    assert scaling.made_by({}) == ""


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"app": "a/b"}, "app"),
        ({"places": ("/shop/a",)}, "places.0"),
        ({"places": (A, "/bank/a/k")}, "places.1"),
        ({"places": (A, A)}, "places.1"),
        ({"down_below": 50.1}, "down_below"),
        ({"down_below": 0.0}, "down_below"),
        ({"up_above": math.inf}, "down_below"),
        ({"up_above": math.nan}, "down_below"),
        ({"minimum": 5}, "minimum"),
        ({"minimum": 3, "maximum_at_place": 1}, "minimum"),
        ({"minimum_at_place": 2, "maximum_at_place": 1}, "minimum_at_place"),
        ({"minimum_at_place": 3}, "minimum_at_place"),
    ],
)
def test_what_makes_no_sense_is_named(said: dict[str, Any], field: str) -> None:
    assert field in [where for where, _ in scaling.wrong(policy(**said), "shop")]


def test_what_cannot_be_read_is_refused() -> None:
    for said in ({**PLAIN, "maximum": 0}, {**PLAIN, "places": []}, {**PLAIN, "more": 1}, {**PLAIN, "step": 0}):
        with pytest.raises(msgspec.ValidationError):
            scaling.read(said)


def test_every_state_of_an_instance_counts_as_something() -> None:
    for state in APPINST.states:
        how = scaling.how(state.name)
        assert (how is None) == (state.cls is StateClass.ABSENT)
        assert (how is How.BAD) == state.name.endswith("Error")
        if state.cls is StateClass.TRANSITIONAL:
            assert how in (How.BUSY, How.COMING, How.GOING)
    assert (scaling.how("Ready"), scaling.how("Ready", busy=True)) == (How.READY, How.BUSY)


def test_instances_are_known_by_their_names() -> None:
    names = [
        n for n in ("web", "web-1", "web-12", "web-", "web-1a", "webb-1", "web1") if scaling.is_instance(policy(), n)
    ]
    assert names == ["web", "web-1", "web-12"]


# Verdicts


@pytest.mark.req("S1-12")
def test_between_the_thresholds_nothing_is_done() -> None:
    for value in (40.0, 70.0, 100.0):
        verdict = says(policy(), value, there(f"{A}/web-1"))
        assert (verdict.code, verdict.deeds, verdict.again) == (Code.RESTS, (), None)


@pytest.mark.req("S1-12")
def test_above_one_more_and_below_one_less_each_with_why() -> None:
    up = says(policy(), 201.0, there(f"{A}/web-1"), there(f"{A}/web-3"))
    assert asked(up) == [("+", f"{A}/web-2")]
    assert up.says == "the demand over all places is 201, which is 100.5 for each of 2: more than 100"
    down = says(policy(), 79.0, there(f"{A}/web-1"), there(f"{B}/web-1"))
    assert asked(down) == [("-", f"{B}/web-1")]
    assert down.deeds[0].says == "the demand over all places is 79, which is 39.5 for each of 2: less than 40"


def test_the_first_is_made_for_any_demand_and_the_last_goes_with_all_of_it() -> None:
    assert asked(says(policy(), 0.1)) == [("+", f"{A}/web-1")]
    assert says(policy(), 0.0).code is Code.RESTS
    assert says(policy(), 0.1, there(f"{A}/web-1")).code is Code.RESTS
    assert asked(says(policy(), 0.0, there(f"{A}/web-1"))) == [("-", f"{A}/web-1")]


def test_a_larger_step_goes_as_far_as_demand_and_bounds_have_it() -> None:
    assert len(says(policy(step=9), 250.0).deeds) == 3
    assert len(says(policy(step=2), 250.0).deeds) == 2
    assert len(says(policy(step=9), 2500.0).deeds) == 4
    many = [there(f"{A}/web-{n}") for n in range(1, 5)]
    assert len(says(policy(step=9), 150.0, *many).deeds) == 2
    assert len(says(policy(step=9, minimum=3), 10.0, *many).deeds) == 1
    ten = [there(f"{A}/web-{n}") for n in range(1, 11)]  # two would have 99 each: a tenth more, and it is too much
    assert len(says(policy(step=9, maximum=10), 198.0, *ten).deeds) == 7


def test_the_choice_of_places() -> None:
    one, two = there(f"{A}/web-1"), there(f"{A}/web-2")
    assert asked(says(policy(), 250.0, one, two)) == [("+", f"{A}/web-3")]
    assert asked(says(policy(maximum_at_place=2), 250.0, one, two)) == [("+", f"{B}/web-1")]
    assert asked(says(policy(choice=Choice.SPREAD), 250.0, one, two)) == [("+", f"{B}/web-1")]
    other = there(f"{B}/web-1")
    assert asked(says(policy(), 50.0, one, two, other)) == [("-", f"{B}/web-1")]
    assert asked(says(policy(choice=Choice.SPREAD), 50.0, one, two, other)) == [("-", f"{A}/web-2")]


@pytest.mark.req("S1-12")
def test_the_bounds_hold_and_need_no_figures() -> None:
    assert asked(says(policy(minimum=2, choice=Choice.SPREAD), None)) == [("+", f"{A}/web-1"), ("+", f"{B}/web-1")]
    assert asked(says(policy(minimum_at_place=1), None)) == [("+", f"{A}/web-1"), ("+", f"{B}/web-1")]
    four = [there(f"{A}/web-{n}") for n in range(1, 5)]
    full = says(policy(), 900.0, *four)
    assert (full.code, full.deeds) == (Code.AT_MAXIMUM, ())
    assert full.says.endswith("more than 100; there may be 4")
    assert says(policy(minimum=4), 1.0, *four).code is Code.AT_MINIMUM
    assert asked(says(policy(maximum=3), None, *four)) == [("-", f"{A}/web-4")]
    assert asked(says(policy(maximum_at_place=2), None, *four)) == [("-", f"{A}/web-4"), ("-", f"{A}/web-3")]


def test_whoever_is_still_to_come_or_to_go_is_not_relied_upon() -> None:
    coming = (there(f"{A}/web-1"), there(f"{B}/web-1", How.COMING))
    assert says(policy(minimum=1), 10.0, *coming).code is Code.AT_MINIMUM
    going = [there(f"{A}/web-{n}", How.GOING) for n in range(1, 5)]
    assert says(policy(), 10.0, *going).code is Code.AT_MAXIMUM
    figures = {A: Figure(150.0, 1000.0), B: Figure(10.0, 1000.0)}
    two = [there(f"{A}/web-1"), there(f"{B}/web-1"), there(f"{B}/web-2")]
    floor = judge(policy(demand=PolicyInput.PLACE, minimum=3), DemandState(figures, two), 1000.0)
    assert asked(floor) == [("+", f"{A}/web-2")]


def test_what_is_broken_serves_nobody_and_counts_all_the_same() -> None:
    broken = [there(f"{A}/web-{n}", How.BAD) for n in range(1, 4)]
    verdict = says(policy(), 150.0, *broken, there(f"{A}/web-4"))
    assert (verdict.code, verdict.deeds) == (Code.AT_MAXIMUM, ())
    short = says(policy(minimum=2), None, *broken, there(f"{A}/web-4"))
    assert (short.code, short.deeds) == (Code.NO_PLACE, ())


@pytest.mark.req("S1-12")
def test_what_users_made_counts_and_is_never_deleted() -> None:
    theirs = [there(f"{A}/web", own=False), there(f"{A}/web-1", own=False)]
    assert says(policy(), 150.0, *theirs).code is Code.RESTS
    assert says(policy(), 10.0, *theirs).code is Code.NOT_ITS_OWN
    assert says(policy(maximum=1), None, *theirs).code is Code.NOT_ITS_OWN
    assert asked(says(policy(), 10.0, *theirs, there(f"{A}/web-2"))) == [("-", f"{A}/web-2")]
    assert asked(says(policy(), 900.0, *theirs)) == [("+", f"{A}/web-2")]
    for how in (How.BUSY, How.COMING):
        assert says(policy(), 10.0, *theirs, there(f"{A}/web-2", how)).code is Code.NOT_ITS_OWN


@pytest.mark.req("S1-12")
def test_a_place_that_is_not_ready_is_not_chosen() -> None:
    closed = {A: "the site /shop/a is Offline"}
    assert asked(says(policy(), 50.0, closed=closed)) == [("+", f"{B}/web-1")]
    none = says(policy(places=(A,)), 50.0, closed=closed)
    assert (none.code, none.deeds) == (Code.NO_PLACE, ())
    assert none.says.endswith("the site /shop/a is Offline")
    assert says(policy(places=(A,)), 0.0, there(f"{A}/web-1"), closed=closed).code is Code.NOT_ITS_OWN


@pytest.mark.req("S1-12")
def test_old_figures_change_nothing() -> None:
    two = (there(f"{A}/web-1"), there(f"{A}/web-2"))
    for value in (0.0, 900.0):
        late = judge(policy(), DemandState({"": Figure(value, 879.9)}, two), 1000.0)
        assert (late.code, late.deeds) == (Code.NOT_BELIEVED, ())
        assert late.says == "the figure of the demand over all places is 120 s old, and counts for 120 s"
    assert judge(policy(), DemandState({"": Figure(0.0, 880.0)}, two), 1000.0).deeds
    assert says(policy(), None).code is Code.NOT_BELIEVED


def test_after_an_act_it_cools_down_and_then_wants_a_newer_figure() -> None:
    one = there(f"{A}/web-1")
    up = says(policy(), 150.0, one, acts=(Act(A, True, 900.0, ended=950.0),))
    assert (up.code, up.again) == (Code.COOLS_DOWN, 1010.0)
    down = says(policy(), 0.0, one, acts=(Act(A, True, 500.0, ended=701.0),))
    assert (down.code, down.again) == (Code.COOLS_DOWN, 1001.0)
    assert says(policy(), 0.0, one, acts=(Act(A, True, 500.0, ended=700.0),)).deeds
    used = says(policy(cooldown_up=0.0), 150.0, one, acts=(Act(A, True, 1000.0, ended=1000.0),))
    assert (used.code, used.deeds) == (Code.WAITS, ())


def test_nothing_is_done_where_something_is_under_way() -> None:
    one, moving = there(f"{A}/web-1"), Act(A, True, 100.0)
    assert says(policy(places=(A,)), 150.0, one, acts=(moving,)).code is Code.WAITS
    assert asked(says(policy(), 150.0, one, acts=(moving,))) == [("+", f"{B}/web-1")]
    assert says(policy(places=(A,), minimum=2), None, one, acts=(moving,)).code is Code.NO_PLACE


def test_a_place_where_it_failed_is_left_alone_for_a_while() -> None:
    failed = Act(A, True, 900.0, ended=990.0, failed=True)
    assert asked(says(policy(minimum=1), None, acts=(failed,))) == [("+", f"{B}/web-1")]
    alone = says(policy(places=(A,), minimum=1), None, acts=(failed,))
    assert (alone.code, alone.again) == (Code.NO_PLACE, 1050.0)
    assert says(policy(places=(A,), minimum=1, cooldown_up=10.0), None, acts=(failed,)).deeds


def test_each_place_follows_its_own_figure() -> None:
    figures = {A: Figure(150.0, 1000.0), B: Figure(10.0, 1000.0)}
    instances = [there(f"{A}/web-1"), there(f"{B}/web-1"), there(f"{B}/web-2")]
    both = policy(demand=PolicyInput.PLACE)
    assert asked(judge(both, DemandState(figures, instances), 1000.0)) == [("+", f"{A}/web-2"), ("-", f"{B}/web-2")]
    full = judge(policy(demand=PolicyInput.PLACE, maximum=3), DemandState({A: figures[A]}, instances), 1000.0)
    assert (full.code, full.deeds) == (Code.AT_MAXIMUM, ())
    assert "at /shop/a/k is 150" in full.says
    half = judge(both, DemandState({B: figures[B]}, instances), 1000.0)
    assert asked(half) == [("-", f"{B}/web-2")]


def test_what_holds_it_back_has_a_sentence() -> None:
    assert set(HELD_BACK) == set(Code) - {Code.ACTS, Code.RESTS, Code.WAITS, Code.REFUSED}


# A world that tries to make it flap


@dataclass
class World:
    """Places, instances that come and go in their own time, and a policy that looks on."""

    policy: Policy
    chance: random.Random
    trouble: float = 0.0
    """How likely it is, at each tick, that something goes wrong or that somebody else acts."""
    now: float = 1000.0
    figures: dict[str, Figure] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    moving: dict[str, tuple[float, int | None]] = field(default_factory=dict)
    """By instance: when its move ends, and which act it is."""
    closed: dict[str, str] = field(default_factory=dict)
    done: list[tuple[float, DemandDecision, bool]] = field(default_factory=list)
    """When, what, and whether demand was the reason."""

    def standing(self) -> DemandState:
        return DemandState(dict(self.figures), list(self.instances.values()), list(self.acts), dict(self.closed))

    def tell(self, demand: float, scope: str, delay: float = 0.0) -> None:
        """A figure, that may be late; behind a newer one it is dropped, as the store does it."""
        figure = Figure(max(0.0, demand), self.now - delay)
        if scope not in self.figures or self.figures[scope].at < figure.at:
            self.figures[scope] = figure

    def tick(self, seconds: float) -> Verdict:
        self.now += seconds
        self._settle()
        if self.chance.random() < self.trouble:
            self._trouble()
        standing = self.standing()
        verdict = judge(self.policy, standing, self.now)
        self._check(standing, verdict)
        for deed in verdict.deeds:
            self._do(deed)
        return verdict

    def _settle(self) -> None:
        for path, (until, number) in list(self.moving.items()):
            if until > self.now:
                continue
            del self.moving[path]
            failed = self.chance.random() < self.trouble
            came = self.instances[path].how is How.COMING
            if came != failed:
                self.instances[path] = replace(self.instances[path], how=How.READY)
            else:
                del self.instances[path]
            if number is not None:
                self.acts[number] = replace(self.acts[number], ended=self.now, failed=failed)

    def _trouble(self) -> None:
        place = self.chance.choice(self.policy.places)
        match self.chance.randrange(4):
            case 0 if place in self.closed:
                del self.closed[place]
            case 0:
                self.closed[place] = "its site is Offline"
            case 1:
                path = f"{place}/web-{self.chance.randrange(1, 6)}"
                self.instances.setdefault(path, Instance(path, How.READY, own=False))
            case 2 | 3:
                settled = [path for path in self.instances if path not in self.moving]
                if settled:
                    path = self.chance.choice(sorted(settled))
                    bad = self.chance.random() < 0.5
                    if bad:
                        self.instances[path] = replace(self.instances[path], how=How.BAD)
                    else:
                        del self.instances[path]

    def _do(self, deed: DemandDecision) -> None:
        how = How.COMING if deed.more else How.GOING
        self.instances[deed.path] = Instance(deed.path, how, own=True)
        self.acts.append(Act(deed.path.rpartition("/")[0], deed.more, self.now))
        self.moving[deed.path] = (self.now + self.chance.choice((1.0, 10.0, 300.0)), len(self.acts) - 1)

    # What has to hold

    def _check(self, standing: DemandState, verdict: Verdict) -> None:
        one, present = self.policy, list(standing.instances)
        serving = [i for i in present if i.how in (How.READY, How.BUSY, How.COMING)]
        short = len(serving) < one.minimum or any(
            sum(i.place == place for i in serving) < one.minimum_at_place for place in one.places
        )
        staying = [i for i in present if i.how is not How.GOING]
        above = len(staying) > one.maximum or any(
            sum(i.place == place for i in staying) > one.maximum_at_place for place in one.places
        )
        for deed in verdict.deeds:
            place = deed.path.rpartition("/")[0]
            assert place in one.places
            assert place not in standing.closed
            assert not any(act.place == place and act.ended is None for act in standing.acts)
            for_demand = not (short if deed.more else above)
            if for_demand:
                self._check_demand(standing, deed, place)
            if deed.more:
                assert deed.path not in {i.path for i in present}
                present.append(Instance(deed.path, How.COMING, own=True))
                assert len(present) <= one.maximum
                assert sum(i.place == place for i in present) <= one.maximum_at_place
            else:
                (gone,) = [i for i in present if i.path == deed.path]
                assert gone.own
                assert gone.how is How.READY
                serving.remove(gone)
                assert len(serving) >= one.minimum
                assert sum(i.place == place for i in serving) >= one.minimum_at_place
            self.done.append((self.now, deed, for_demand))

    def _check_demand(self, standing: DemandState, deed: DemandDecision, place: str) -> None:
        """Fresh, unused, and not too soon."""
        one = self.policy
        scope = "" if one.demand is PolicyInput.TOTAL else place
        figure = standing.figures[scope]
        assert self.now - figure.at <= one.believed_for
        pause = one.cooldown_up if deed.more else one.cooldown_down
        for act in standing.acts:
            if not scope or act.place == place:
                assert act.at < figure.at
                assert self.now - (act.at if act.ended is None else act.ended) >= pause

    def reversals(self) -> Iterator[tuple[float, float]]:
        """Times of a change for demand, and of the one before it that went the other way."""
        by_scope: dict[str, tuple[float, bool]] = {}
        for at, deed, for_demand in self.done:
            scope = "" if self.policy.demand is PolicyInput.TOTAL else deed.path.rpartition("/")[0]
            before = by_scope.get(scope)
            if for_demand:  # to keep a bound is no change of mind
                if before is not None and before[1] != deed.more:
                    yield before[0], at
                by_scope[scope] = (at, deed.more)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    places = tuple(f"/shop/{name}/k" for name in "abc"[: draw(st.integers(1, 3))])
    maximum = draw(st.integers(1, 9))
    each = draw(st.integers(1, 5))
    least = draw(st.integers(0, 1)) if len(places) <= maximum else 0
    made = Policy(
        app="web",
        places=places,
        up_above=100.0,
        down_below=draw(st.sampled_from((50.0, 40.0, 10.0))),
        maximum=maximum,
        minimum=draw(st.integers(0, min(maximum, each * len(places)))),
        maximum_at_place=each,
        minimum_at_place=least,
        demand=draw(st.sampled_from(PolicyInput)),
        choice=draw(st.sampled_from(Choice)),
        step=draw(st.integers(1, 3)),
        cooldown_up=draw(st.sampled_from((0.0, 30.0, 60.0))),
        cooldown_down=draw(st.sampled_from((0.0, 60.0, 300.0))),
        believed_for=draw(st.sampled_from((20.0, 120.0))),
    )
    assert list(scaling.wrong(made, "shop")) == []
    return made


def scopes(one: Policy) -> tuple[str, ...]:
    return ("",) if one.demand is PolicyInput.TOTAL else one.places


@pytest.mark.req("S1-12")
@settings(max_examples=examples(150))
@given(one=policies(), seed=st.integers(0, 2**32))
def test_it_does_not_flap_whatever_happens(one: Policy, seed: int) -> None:
    """Walks, noise around the thresholds, spikes, late figures, moves that take long or fail, sites that go away,
    users who make and delete: the bounds hold, and between a step and its opposite lies the cool-down."""
    chance = random.Random(seed)
    world, demand = World(one, chance, trouble=0.1), chance.uniform(0, 500)
    began = world.now
    for _ in range(300):
        demand = min(900.0, max(0.0, demand + chance.gauss(0, 30)))
        serving = max(1, len(world.instances))
        near = chance.choice((one.up_above, one.down_below)) * serving * chance.uniform(0.98, 1.02)
        for scope in scopes(one):
            value = chance.choice((demand, demand, near, 0.0, 900.0))
            if chance.random() < 0.8:
                world.tell(value, scope, delay=chance.choice((0.0, 0.0, 5.0, 200.0)))
        world.tick(chance.choice((1.0, 5.0, 20.0)))
    gaps = [(at - before, before, at) for before, at in world.reversals()]
    least = min(one.cooldown_up, one.cooldown_down)
    assert all(gap >= least for gap, _, _ in gaps)
    if least:
        assert len(gaps) <= len(scopes(one)) * ((world.now - began) / least + 1)


@pytest.mark.req("S1-12")
@settings(max_examples=examples(150))
@given(one=policies(), seed=st.integers(0, 2**32), start=st.integers(0, 9), demand=st.floats(0, 900))
def test_noise_alone_never_takes_a_step_back(one: Policy, seed: int, start: int, demand: float) -> None:
    """A demand that stays where it is, give or take a tenth: it is followed in one direction, and then nothing is
    done, without any cool-down."""
    if one.down_below > 40.0:
        one = msgspec.structs.replace(one, down_below=40.0)
    one = msgspec.structs.replace(one, cooldown_up=0.0, cooldown_down=0.0)
    chance = random.Random(seed)
    world = World(one, chance)
    room = [f"{place}/web-{n}" for place in one.places for n in range(1, one.maximum_at_place + 1)]
    chance.shuffle(room)
    room.sort(key=lambda path: not path.endswith("-1"))  # each place has its own first
    for path in room[: min(start, one.maximum)]:
        world.instances[path] = Instance(path, How.READY, own=True)
    for _ in range(200):
        for scope in scopes(one):
            world.tell(demand * chance.choice((0.9, 1.0, 1.1)), scope)
        world.tick(5.0)
    assert list(world.reversals()) == []
    last = max((at for at, _, _ in world.done), default=0.0)
    for scope in scopes(one):
        world.tell(demand, scope)
    verdict = world.tick(400.0)
    assert verdict.deeds == ()
    assert world.now - last >= 400.0
    assert verdict.code in (Code.RESTS, Code.AT_MAXIMUM, Code.AT_MINIMUM, Code.NOT_BELIEVED, Code.WAITS)


def test_a_policy_whose_thresholds_lie_too_close_would_flap() -> None:
    """What the validation is for: the same world, with what it refuses."""
    one = policy(places=(A,), down_below=90.0, cooldown_up=0.0, cooldown_down=0.0)
    assert [where for where, _ in scaling.wrong(one, "shop")] == ["down_below"]
    world = World(one, random.Random(1))
    for _ in range(400):
        world.tell(150.0, "")
        world.tick(5.0)
    assert list(world.reversals())
