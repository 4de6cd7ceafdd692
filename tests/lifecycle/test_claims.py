"""Claims on paths, against an oracle that locks every node and tries every pair of locks."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stead.lifecycle.claims import (
    ROOT,
    Claim,
    ClaimHandle,
    ClaimTable,
    Conflict,
    Lock,
    Mode,
    ancestors,
    claims_for,
    compatible,
    conflicts,
    covers,
    expand,
)

X, I = Mode.EXCLUSIVE, Mode.INTENTION  # noqa: E741

# Few names, one the beginning of the others, so that paths meet often and near misses are among them.
NAMES = ("a", "ab", "a-b")
NODES = tuple(sorted("/" + "/".join(names) for depth in range(4) for names in product(NAMES, repeat=depth)))

paths = st.sampled_from(NODES)
claims = st.builds(Claim, paths, st.sampled_from(Mode))
claim_sets = st.builds(claims_for, st.lists(paths, max_size=2, unique=True), st.lists(paths, max_size=2, unique=True))
holders = st.sampled_from(("op-1", "op-2", "op-3"))


def taken(held: ClaimTable, holder: str, *asked: Claim) -> ClaimTable:
    """Acquire where nothing is in the way."""
    after = held.acquire(holder, asked)
    assert isinstance(after, ClaimTable)
    return after


def refused(held: ClaimTable, holder: str, *asked: Claim) -> Conflict:
    """Acquire where something is."""
    answer = held.acquire(holder, asked)
    assert isinstance(answer, Conflict)
    return answer


# The oracle: paths as tuples of names, a lock table written node by node.


def names_of(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)


def locks_of(claim: Claim) -> list[tuple[tuple[str, ...], Mode]]:
    names = names_of(claim.path)
    way = [(names[:depth], I) for depth in range(len(names))]
    return [*way, (names, claim.mode)]


def clash(one: Claim, other: Claim) -> bool:
    return any(
        node == node_2 and not (mode == "intention" and mode_2 == "intention")
        for node, mode in locks_of(one)
        for node_2, mode_2 in locks_of(other)
    )


# Paths


def test_ancestors_from_the_root_down() -> None:
    assert ancestors("/ns/mci/subgroup/vm") == ("/", "/ns", "/ns/mci", "/ns/mci/subgroup")
    assert ancestors("/ns") == ("/",)
    assert ancestors("/") == ()


@given(paths, paths)
def test_covers_itself_and_what_is_below(upper: str, path: str) -> None:
    assert covers(upper, path) == (upper == path or upper in ancestors(path))


@pytest.mark.parametrize("path", ["", "a", "a/b", "//", "/a/", "/a//b", "//a"])
def test_one_spelling_for_one_path(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        Claim(path)
    with pytest.raises(ValueError, match="not a path"):
        ancestors(path)
    with pytest.raises(ValueError, match="not a path"):
        ClaimTable().on(path)


# Locks


@pytest.mark.req("S4-03")
@pytest.mark.parametrize(("one", "other", "together"), [(I, I, True), (I, X, False), (X, I, False), (X, X, False)])
def test_intention_goes_with_intention_and_nothing_else(one: Mode, other: Mode, together: bool) -> None:
    assert compatible(one, other) is together
    held = taken(ClaimTable(), "op-1", Claim("/a", one))
    assert isinstance(held.acquire("op-2", [Claim("/a", other)]), ClaimTable) is together


@pytest.mark.req("S4-04")
def test_a_deploy_locks_its_way_with_intention_and_its_path_exclusively() -> None:
    assert expand(claims_for(["/a/b/c/d"])) == (
        Lock("/", I),
        Lock("/a", I),
        Lock("/a/b", I),
        Lock("/a/b/c", I),
        Lock("/a/b/c/d", X),
    )


@pytest.mark.req("S4-04")
def test_a_teardown_locks_the_root_exclusively() -> None:
    assert expand(claims_for([ROOT])) == (Lock("/", X),)


def test_use_is_an_intention_all_the_way() -> None:
    assert expand(claims_for([], uses=["/ns/net"])) == (Lock("/", I), Lock("/ns", I), Lock("/ns/net", I))


def test_attach_a_disk() -> None:
    """Several paths in one operation: each node once, in its strongest mode."""
    assert expand(claims_for(["/ns/vm", "/ns/disk", "/ns/vm/port"], uses=["/ns/net", "/ns/vm"])) == (
        Lock("/", I),
        Lock("/ns", I),
        Lock("/ns/disk", X),
        Lock("/ns/net", I),
        Lock("/ns/vm", X),
        Lock("/ns/vm/port", X),
    )


@given(st.lists(paths), st.lists(paths))
def test_claims_are_sorted_and_each_path_is_there_once(changes: list[str], uses: list[str]) -> None:
    claimed = claims_for(changes, uses)
    assert [c.path for c in claimed] == sorted({*changes, *uses})
    assert {c.path for c in claimed if c.mode is X} == set(changes)
    assert claimed == claims_for(reversed(changes), reversed(uses))


@given(st.lists(claims))
def test_locks_are_those_of_every_node_on_the_way(some: list[Claim]) -> None:
    strongest: dict[tuple[str, ...], Mode] = {}
    for node, mode in (lock for claim in some for lock in locks_of(claim)):
        strongest[node] = X if X in (mode, strongest.get(node)) else I
    locks = expand(some)
    assert {names_of(lock.path): lock.mode for lock in locks} == strongest
    nodes = [lock.path for lock in locks]
    assert nodes == sorted(set(nodes))
    # From the root down: what is above comes first.
    assert all(nodes.index(above) < nodes.index(path) for path in nodes for above in ancestors(path))


# Claims against claims


@pytest.mark.req("S4-03", "S4-04")
def test_comparing_paths_says_what_the_locks_say_for_every_pair_there_is() -> None:
    every = [Claim(path, mode) for path in NODES for mode in Mode]
    seen = set()
    for one, other in product(every, repeat=2):
        assert conflicts(one, other) == clash(one, other), (one, other)
        seen.add(conflicts(one, other))
    assert seen == {True, False}


@given(st.lists(claims, max_size=4), st.lists(claims, max_size=4))
def test_sets_of_claims_conflict_where_their_locks_are_incompatible(one: list[Claim], other: list[Claim]) -> None:
    theirs = {lock.path: lock.mode for lock in expand(other)}
    incompatible = any(lock.path in theirs and not compatible(lock.mode, theirs[lock.path]) for lock in expand(one))
    assert any(conflicts(a, b) for a in one for b in other) == incompatible


@pytest.mark.req("S4-04")
@pytest.mark.parametrize(
    ("running", "asked", "granted"),
    [
        ("/a/b", "/a/c", True),
        ("/a/b", "/a/bc", True),
        ("/a/b/c", "/a/d/c", True),
        ("/a/b", "/a/b", False),
        ("/a/b", "/a", False),
        ("/a/b", "/a/b/c/d", False),
        ("/", "/a/b/c/d", False),
        ("/a/b/c/d", "/", False),
        ("/", "/", False),
    ],
)
def test_siblings_in_parallel_and_never_with_an_ancestor(running: str, asked: str, granted: bool) -> None:
    held = taken(ClaimTable(), "deploy-1", Claim(running))
    assert isinstance(held.acquire("deploy-2", [Claim(asked)]), ClaimTable) is granted


@pytest.mark.parametrize(
    ("used", "changed", "together"),
    [
        ("/ns/net", "/ns/net", False),
        ("/ns/net", "/ns", False),
        ("/ns/net", "/ns/vm", True),
        ("/ns/net", "/ns/net/subnet", True),
    ],
)
def test_what_is_used_is_not_changed(used: str, changed: str, together: bool) -> None:
    held = taken(ClaimTable(), "op-1", *claims_for(["/ns/mci"], uses=[used]))
    assert isinstance(held.acquire("op-2", claims_for([changed])), ClaimTable) is together
    assert conflicts(Claim(used, I), Claim(changed)) is not together
    assert conflicts(Claim(changed), Claim(used, I)) is not together


@pytest.mark.req("S1-04")
def test_dependent_changes_exclude_each_other() -> None:
    """An instance of an app lies below its cluster, and that below its cloudlet."""
    cloudlet = "/cloudlets/site-17"
    cluster = f"{cloudlet}/cluster-1"
    app = f"{cluster}/app-1"
    for first, second in product((cloudlet, cluster, app), repeat=2):
        held = taken(ClaimTable(), "first", Claim(first))
        assert refused(held, "second", Claim(second)).holders == ("first",)
    beside = taken(ClaimTable(), "first", Claim(app))
    for other in (f"{cluster}/app-2", f"{cloudlet}/cluster-2", f"{cloudlet}/cluster-3/app-1"):
        beside = taken(beside, other, Claim(other))


# Holding


@pytest.mark.req("S4-03", "S0-20")
def test_a_refusal_names_every_claim_in_the_way() -> None:
    held = taken(ClaimTable(), "op-2", Claim("/ns/mci/g/vm-2"))
    held = taken(held, "op-1", Claim("/ns/mci/g/vm-1"), Claim("/ns/other"), Claim("/ns/mci/net", I))
    held = taken(held, "op-3", Claim("/ns/another"))
    conflict = refused(held, "op-4", Claim("/ns/mci"))
    assert conflict.in_the_way == (
        ClaimHandle("op-1", Claim("/ns/mci/g/vm-1", X)),
        ClaimHandle("op-1", Claim("/ns/mci/net", I)),
        ClaimHandle("op-2", Claim("/ns/mci/g/vm-2", X)),
    )
    assert conflict.holders == ("op-1", "op-2")


@pytest.mark.req("S0-20")
def test_one_action_at_a_time_on_a_group_and_its_members() -> None:
    held = taken(ClaimTable(), "suspend-1", Claim("/ns/mci"))
    for path in ("/ns/mci", "/ns/mci/g/vm-1"):
        assert refused(held, "reboot-2", Claim(path)).in_the_way == (ClaimHandle("suspend-1", Claim("/ns/mci")),)


@pytest.mark.req("S4-03")
def test_all_or_nothing() -> None:
    held = taken(ClaimTable(), "op-1", Claim("/b"))
    assert refused(held, "op-2", Claim("/a"), Claim("/b"), Claim("/c")).holders == ("op-1",)
    assert held.of("op-2") == ()
    assert held == taken(ClaimTable(), "op-1", Claim("/b"))


@pytest.mark.req("S4-03")
@pytest.mark.parametrize("mode", list(Mode))
def test_again_in_the_same_mode_is_once(mode: Mode) -> None:
    once = taken(ClaimTable(), "op-1", Claim("/a/b", mode))
    twice = taken(once, "op-1", Claim("/a/b", mode))
    assert twice == once
    # Not counted either: what was taken twice is given back at once.
    assert twice.give_back(ClaimHandle("op-1", Claim("/a/b", mode))) == ClaimTable()


@pytest.mark.req("S4-03")
def test_an_upgrade_needs_the_node_for_itself() -> None:
    alone = taken(ClaimTable(), "op-1", Claim("/a", I))
    assert taken(alone, "op-1", Claim("/a", X)).on("/a") == {"op-1": X}
    shared = taken(alone, "op-2", Claim("/a", I))
    assert refused(shared, "op-1", Claim("/a", X)).in_the_way == (ClaimHandle("op-2", Claim("/a", I)),)
    below = taken(alone, "op-2", Claim("/a/b", X))
    assert refused(below, "op-1", Claim("/a", X)).in_the_way == (ClaimHandle("op-2", Claim("/a/b", X)),)


@pytest.mark.req("S4-03")
def test_a_handle_remembers_its_mode() -> None:
    """Giving an upgrade back leaves the intention there was before it, and the other way round."""
    used = ClaimHandle("op-1", Claim("/a", I))
    changed = ClaimHandle("op-1", Claim("/a", X))
    both = taken(ClaimTable(), "op-1", used.claim, changed.claim)
    assert both.on("/a") == {"op-1": X}
    assert both.give_back(changed).on("/a") == {"op-1": I}
    assert both.give_back(used).on("/a") == {"op-1": X}
    assert both.give_back(used).give_back(changed) == ClaimTable()


@pytest.mark.req("S4-03")
def test_giving_one_claim_back_keeps_the_way_of_the_other() -> None:
    held = taken(ClaimTable(), "op-1", Claim("/a/b"), Claim("/a/c"))
    held = held.give_back(ClaimHandle("op-1", Claim("/a/b")))
    assert held.on("/a") == {"op-1": I}
    assert refused(held, "op-2", Claim("/a")).holders == ("op-1",)
    taken(held, "op-2", Claim("/a/b"))


def test_only_the_holder_gives_back() -> None:
    held = taken(ClaimTable(), "op-1", Claim("/a"))
    assert held.give_back(ClaimHandle("op-2", Claim("/a"))) == held
    assert held.release("op-2") == held
    assert held.release("op-1") == ClaimTable()


@pytest.mark.req("S4-04")
def test_a_teardown_takes_over_from_the_deploys_and_then_takes_the_root() -> None:
    held = taken(ClaimTable(), "deploy-1", Claim("/a/b"))
    held = taken(held, "deploy-2", Claim("/a/c"))
    assert refused(held, "teardown", Claim(ROOT)).holders == ("deploy-1", "deploy-2")
    held = held.hand_over("deploy-1", "teardown")
    assert refused(held, "teardown", Claim(ROOT)).holders == ("deploy-2",)
    held = held.hand_over("deploy-2", "teardown")
    assert held.hand_over("deploy-2", "teardown") == held
    assert held.of("teardown") == (Claim("/a/b"), Claim("/a/c"))
    held = taken(held, "teardown", Claim(ROOT))
    assert refused(held, "deploy-3", Claim("/z")).holders == ("teardown",)


class LockTable(RuleBasedStateMachine):
    """The claims that stand, beside a table with a row for every lock on every node that changes in place."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ClaimTable()
        self.rows: set[tuple[str, Claim, tuple[str, ...], Mode]] = set()

    @rule(holder=holders, asked=claim_sets)
    def acquire(self, holder: str, asked: tuple[Claim, ...]) -> None:
        """Lock by lock, and back again at the first that does not go."""
        before = set(self.rows)
        in_the_way: set[ClaimHandle] = set()
        for claim in asked:
            for node, mode in locks_of(claim):
                in_the_way |= {
                    ClaimHandle(other, theirs)
                    for other, theirs, their_node, their_mode in before
                    if other != holder and their_node == node and X in (mode, their_mode)
                }
                self.rows.add((holder, claim, node, mode))
        if in_the_way:
            self.rows = before
        answer = self.held.acquire(holder, asked)
        if isinstance(answer, Conflict):
            assert answer.in_the_way == tuple(sorted(in_the_way))
            assert answer.holders == tuple(sorted({handle.holder for handle in in_the_way}))
        else:
            assert not in_the_way
            assert set(asked) <= set(answer.of(holder))
            assert answer.acquire(holder, asked) == answer
            self.held = answer

    @rule(holder=holders)
    def release(self, holder: str) -> None:
        self.rows = {row for row in self.rows if row[0] != holder}
        self.held = self.held.release(holder)
        assert self.held.of(holder) == ()

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        handle = data.draw(st.sampled_from([*sorted(self.held.handles), ClaimHandle("op-0", Claim(ROOT))]))
        self.rows = {row for row in self.rows if row[:2] != (handle.holder, handle.claim)}
        self.held = self.held.give_back(handle)

    @rule(old=holders, new=holders)
    def hand_over(self, old: str, new: str) -> None:
        self.rows = {(new if holder == old else holder, claim, node, mode) for holder, claim, node, mode in self.rows}
        self.held = self.held.hand_over(old, new)
        assert self.held.hand_over(old, new) == self.held
        assert old == new or self.held.of(old) == ()

    @invariant()
    def every_node_is_locked_as_the_table_says(self) -> None:
        table: dict[str, dict[str, Mode]] = {path: {} for path in NODES}
        for holder, _, node, mode in self.rows:
            modes = table["/" + "/".join(node)]
            modes[holder] = X if X in (mode, modes.get(holder)) else I
        for path, modes in table.items():
            assert self.held.on(path) == modes
            assert len(modes) < 2 or X not in modes.values()
        for holder in {row[0] for row in self.rows}:
            locks = {lock.path: lock.mode for lock in expand(self.held.of(holder))}
            assert locks == {path: modes[holder] for path, modes in table.items() if holder in modes}


TestLockTable = pytest.mark.req("S4-03", "S4-04")(LockTable.TestCase)
