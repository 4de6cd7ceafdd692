"""Groups: one decision per class of members, however many there are."""

from __future__ import annotations

from collections.abc import Mapping
from timeit import repeat

import pytest

from stead.catalog import KINDS
from stead.lifecycle.aggregate import reached
from stead.lifecycle.decide import Group, GroupDecision, decide
from stead.lifecycle.decide.group import as_class
from stead.lifecycle.decision import Code, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Action, Aggregation, AwaitedParty, MemberAction, stable, transitional
from stead.lifecycle.snapshot import Fence, Holder, Operation, Phase, Snapshot, Work

MCI, VM = KINDS["mci"], KINDS["vm"]


def group(counts: Mapping[str, int], state: str = "Running") -> Group:
    return Group(Snapshot(state), VM, {Snapshot(name): n for name, n in counts.items()})


def yes(counts: Mapping[str, int], request: Request, state: str = "Running") -> GroupDecision:
    answer = decide(MCI, group(counts, state), request)
    assert isinstance(answer, GroupDecision), answer
    return answer


def states(classes: Mapping[Snapshot, object]) -> set[str]:
    return {c.state for c in classes}


@pytest.mark.req("S0-11")
def test_eligible_members_act_and_the_others_are_skipped_with_their_reason() -> None:
    answer = yes({"Running": 3, "Suspended": 2, "Failed": 1}, Request("suspend"))
    assert states(answer.acting) == {"Running"}
    assert states(answer.skipped) == {"Suspended", "Failed"}
    assert answer.count(answer.acting) == 3
    assert answer.count(answer.skipped) == 3
    assert {r.code for r in answer.skipped.values()} == {Code.WRONG_STATE}
    assert answer.parent.after.state == "Suspending"


@pytest.mark.req("S0-11")
def test_it_is_refused_only_if_no_member_is_eligible() -> None:
    answer = decide(MCI, group({"Suspended": 4, "Failed": 1}, "Suspended"), Request("suspend"))
    assert isinstance(answer, Rejection)
    assert answer.code is Code.NO_MEMBER
    assert {r.message.split(":")[0] for r in answer.reasons} == {"4 in Suspended", "1 in Failed"}


@pytest.mark.req("S0-05")
def test_terminating_what_is_terminated_succeeds_and_does_nothing() -> None:
    answer = yes({"Terminated": 5}, Request("terminate"), "Terminated")
    assert states(answer.reached) == {"Terminated"}
    assert not answer.acting


@pytest.mark.req("S0-10")
def test_members_that_cannot_come_along_count_as_having_reached_the_target() -> None:
    counts = {"Suspended": 3, "Failed": 1, "Undefined": 1, "Terminated": 1, "Suspending": 2}
    assert reached(counts, "Suspended") == 6


@pytest.mark.req("S0-11")
@pytest.mark.parametrize("choice", OnConflict)
def test_a_member_that_another_operation_holds_is_skipped(choice: OnConflict) -> None:
    """Also where the operation on the group itself would wait its turn."""
    held = Snapshot("Running", blocked=Holder("op-7", "reboot", "/ns/mci/a/1"))
    request = Request("suspend", on_conflict=choice)
    answer = decide(MCI, Group(Snapshot("Running"), VM, {Snapshot("Running"): 2, held: 1}), request)
    assert isinstance(answer, GroupDecision)
    assert answer.skipped[held].code is Code.HELD


@pytest.mark.req("S0-20")
def test_a_group_that_has_an_action_under_way_refuses_another() -> None:
    busy = Snapshot("Suspending", operation=Operation("suspend", "Running", id="op-1", by="ann", since="12:00"))
    answer = decide(MCI, Group(busy, VM, {Snapshot("Suspending"): 3}), Request("terminate"))
    assert isinstance(answer, Rejection)
    assert answer.holder == Holder("op-1", "suspend", "", "ann", "12:00")


def test_refine_asks_in_the_name_of_the_controller() -> None:
    answer = yes({"Running": 3, "Failed": 1, "Undefined": 1}, Request("refine"))
    assert states(answer.acting) == {"Failed", "Undefined"}
    assert answer.parent.after.state == "Running"


def test_an_errand_of_the_controller_is_not_asked_of_members() -> None:
    answer = decide(MCI, Group(Snapshot("Absent"), VM, {Snapshot("Absent"): 3}), Request("create"))
    assert isinstance(answer, GroupDecision)
    assert answer.parent.step
    assert not answer.acting


OWNER = Lifecycle(
    kind="account",
    description="Whose cloudspaces are its members.",
    members="cloudspace",
    states=(
        stable("CONFIRMED", ".", observed_as=""),
        transitional("DISABLING", ".", 60, AwaitedParty.CHILDREN),
        stable("DISABLED", ".", observed_as=""),
        transitional("ENABLING", ".", 60, AwaitedParty.CHILDREN),
    ),
    actions=(
        Action("disable", ".", ("CONFIRMED",), ("DISABLING",), "DISABLED", "CONFIRMED", work=MemberAction("disable")),
        Action("enable", ".", ("DISABLED",), ("ENABLING",), "CONFIRMED", "DISABLED", work=MemberAction("enable")),
    ),
    aggregation=Aggregation.ALL,
)


def test_members_of_a_group_that_is_disabled_are_asked_all_the_same() -> None:
    space = Snapshot("DISABLED", above=(("account", "DISABLED"),))
    answer = decide(OWNER, Group(Snapshot("DISABLED"), KINDS["cloudspace"], {space: 2}), Request("enable"))
    assert isinstance(answer, GroupDecision)
    assert answer.count(answer.acting) == 2


def test_a_group_with_nothing_to_disable_is_disabled() -> None:
    spaces = {Snapshot("DISABLED"): 2}
    answer = decide(OWNER, Group(Snapshot("CONFIRMED"), KINDS["cloudspace"], spaces), Request("disable"))
    assert isinstance(answer, GroupDecision)
    assert states(answer.skipped) == {"DISABLED"}


def test_a_forced_terminate_reaches_the_failed() -> None:
    assert states(yes({"Failed": 2}, Request("terminate", force=True, reason="x"), "Failed").acting) == {"Failed"}


@pytest.mark.req("S0-06")
@pytest.mark.parametrize("kind", ["mci", "subgroup"])
def test_failed_group_without_members_is_terminated_only_by_force(kind: str) -> None:
    empty = Group(Snapshot("Failed"), VM, {})
    refused = decide(KINDS[kind], empty, Request("terminate"))
    assert isinstance(refused, Rejection)
    assert refused.code is Code.WRONG_STATE
    assert refused.reasons[0].message == "terminate cannot start in Failed; it could be forced, with a reason"
    forced = decide(KINDS[kind], empty, Request("terminate", force=True, reason="nothing came up"))
    assert isinstance(forced, GroupDecision)
    assert forced.parent.after.state == "Terminating"


@pytest.mark.req("S0-05")
@pytest.mark.parametrize("kind", ["mci", "subgroup"])
@pytest.mark.parametrize("members", [{"Terminated": 5}, {}])
def test_terminate_of_terminated_group_moves_nothing(kind: str, members: Mapping[str, int]) -> None:
    classes = {Snapshot(name): n for name, n in members.items()}
    answer = decide(KINDS[kind], Group(Snapshot("Terminated"), VM, classes), Request("terminate", operation="op"))
    assert isinstance(answer, GroupDecision)
    assert (answer.parent.transitions, answer.parent.after.operation) == ((), None)
    assert [(ended.action, ended.outcome) for ended in answer.parent.ended] == [("terminate", Outcome.SUCCEEDED)]


def test_terminate_of_terminated_and_failed_members_names_the_failed_ones() -> None:
    answer = yes({"Terminated": 2, "Failed": 1}, Request("terminate"), "Terminated")
    assert (states(answer.skipped), answer.parent.after.state) == ({"Failed"}, "Terminating")


@pytest.mark.req("S0-15")
@pytest.mark.parametrize("members", [{"Running": 2, "Suspended": 1}, {"Terminated": 1}, {}])
def test_refine_with_nothing_to_refine_is_done_and_moves_nothing(members: Mapping[str, int]) -> None:
    answer = yes(members, Request("refine", operation="op"))
    assert (answer.parent.transitions, answer.parent.after.operation) == ((), None)
    assert [(ended.action, ended.outcome) for ended in answer.parent.ended] == [("refine", Outcome.SUCCEEDED)]


def test_refine_is_rejected_while_a_member_that_it_may_concern_is_busy() -> None:
    held = Snapshot("Failed", blocked=Holder("op-7", "terminate", "/ns/mci/a/1"))
    answer = decide(MCI, Group(Snapshot("Running"), VM, {Snapshot("Running"): 2, held: 1}), Request("refine"))
    assert isinstance(answer, Rejection)
    assert answer.code is Code.NO_MEMBER


def test_a_class_is_a_snapshot_less_what_tells_members_apart() -> None:
    one = Snapshot("Suspending", Fence(1, 7), Operation("suspend", "Running", id="a", by="x"), work=Work("suspend"))
    two = Snapshot("Suspending", Fence(1, 9), Operation("suspend", "Running", id="b", by="y"), work=Work("suspend"))
    probing = Operation("suspend", "Running", phase=Phase.PROBING)
    assert as_class(one) == as_class(two)
    assert as_class(one) != as_class(Snapshot("Suspending", operation=probing, work=Work("suspend")))


@pytest.mark.long
def test_a_hundred_thousand_members_cost_what_a_hundred_cost() -> None:
    few = group({"Running": 50, "Suspended": 30, "Failed": 20})
    many = group({"Running": 50_000, "Suspended": 30_000, "Failed": 20_000})

    def cost(members: Group) -> float:
        return min(repeat(lambda: decide(MCI, members, Request("suspend")), number=200, repeat=7))

    assert cost(many) <= 2 * cost(few)
