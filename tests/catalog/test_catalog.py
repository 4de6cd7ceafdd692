"""The catalog as a whole: which kinds there are, and the class of every state of each."""

from __future__ import annotations

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision
from stead.lifecycle.events import TimerDue
from stead.lifecycle.rows import AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import Operation, Snapshot
from tests.catalog.tables import coded, lines

ORDER = (
    "vm subgroup mci network securitygroup sshkey clusterinst appinst cloudlet "
    "machine cloudspace account disk image node lease reservation event system service job"
)

# A dash where a kind has no state of the class. The private cloud calls static what does not change unless asked,
# so what is only modelled there is settled, and what is destroyed is final.
CLASSES = """
# kind          class     states
vm              absent    Absent
vm              transitional Creating/Suspending/Resuming/Rebooting/Terminating
vm              stable    Running/Suspended/Undefined
vm              final     Terminated/Failed

subgroup        absent    Absent
subgroup        transitional Preparing/ScalingOut/ScalingIn/Suspending/Resuming/Rebooting/Terminating
subgroup        stable    Running/Suspended/Undefined
subgroup        final     Terminated/Failed

mci             absent    Absent
mci             transitional Preparing/Prepared/Creating/Suspending/Resuming/Rebooting/Terminating
mci             stable    Running/Suspended/Undefined
mci             final     Terminated/Failed

network         absent    Absent
network         transitional Creating/Deleting
network         stable    Available/Failed/Undefined
network         final     -

securitygroup   absent    Absent
securitygroup   transitional Creating/Deleting
securitygroup   stable    Available/Failed/Undefined
securitygroup   final     -

sshkey          absent    Absent
sshkey          transitional Creating/Deleting
sshkey          stable    Available/Failed/Undefined
sshkey          final     -

clusterinst     absent    NotPresent
clusterinst     transitional CreateRequested/Creating/UpdateRequested/Updating/DeletePrepare/DeleteRequested/Deleting
clusterinst     stable    Ready/CreateError/UpdateError/DeleteError
clusterinst     final     -

appinst         absent    NotPresent
appinst         transitional CreateRequested/Creating/UpdateRequested/Updating/DeletePrepare/DeleteRequested/Deleting
appinst         stable    Ready/CreateError/UpdateError/DeleteError
appinst         final     -

cloudlet        absent    NotPresent
cloudlet        transitional Init/InitOk/UpdateRequested/Updating/DeletePrepare/Forgetting
cloudlet        stable    Offline/Ready/UpdateError
cloudlet        final     -

machine         absent    -
machine         transitional DEPLOYING/PAUSING/RESUMING/STOPPING/STARTING/REBOOTING/RESETTING
machine         transitional ADDING_DISK/ATTACHING_DISK/DETACHING_DISK/DELETING/RESTORING/DESTROYING
machine         stable    VIRTUAL/RUNNING/PAUSED/HALTED/DELETED/ERROR
machine         final     DESTROYED

cloudspace      absent    -
cloudspace      transitional DEPLOYING/DISABLING/ENABLING/PAUSING/RESUMING/RESETTING/DELETING/RESTORING/DESTROYING
cloudspace      transitional CLOSING/WAKING/SHELVING/REFILLING/REMOVING
cloudspace      stable    VIRTUAL/DEPLOYED/DISABLED/PAUSED/DELETED/ERROR
cloudspace      final     DESTROYED

account         absent    NONE
account         transitional DISABLING/ENABLING/DELETING/RESTORING/DESTROYING
account         stable    CONFIRMED/DISABLED/DELETED/ERROR
account         final     DESTROYED

disk            absent    -
disk            transitional CREATING/ASSIGNING/ATTACHING/DETACHING/DELETING/RESTORING/DESTROYING
disk            stable    MODELED/CREATED/ASSIGNED/DELETED/TOBEDELETED/ERROR
disk            final     DESTROYED

image           absent    -
image           transitional CREATING/DISABLING/ENABLING/DELETING/RESTORING/DESTROYING
image           stable    VIRTUAL/CREATED/DISABLED/DELETED/ERROR
image           final     DESTROYED

node            absent    NONE
node            transitional PUTTING_IN_MAINTENANCE/ENABLING/DECOMMISSIONING
node            stable    ENABLED/MAINTENANCE/ERROR
node            final     DECOMMISSIONED

lease           absent    ABSENT
lease           transitional CREATING/STARTING/UPDATING/TERMINATING/DELETING
lease           stable    PENDING/ACTIVE/TERMINATED/ERROR
lease           final     -

reservation     absent    -
reservation     transitional -
reservation     stable    pending/active/error
reservation     final     deleted

event           absent    -
event           transitional IN_PROGRESS
event           stable    UNDONE
event           final     DONE/ERROR

system          absent    absent
system          transitional pending/updating/scaling/deleting
system          stable    stable/degraded
system          final     failed

service         absent    absent
service         transitional pending/updating/scaling/deleting
service         stable    stable/failed
service         final     -

job             absent    absent
job             transitional running/deleting
job             stable    succeeded/failed
job             final     -
"""

BEGINS = """
vm            Absent
subgroup      Absent
mci           Absent
network       Absent
securitygroup Absent
sshkey        Absent
clusterinst   NotPresent
appinst       NotPresent
cloudlet      Offline
machine       VIRTUAL
cloudspace    VIRTUAL
account       NONE
disk          MODELED
image         VIRTUAL
node          NONE
lease         ABSENT
reservation   pending
event         UNDONE
system        absent
service       absent
job           absent
"""

ABOVE = """
vm            subgroup
subgroup      mci
appinst       clusterinst
clusterinst   cloudlet
reservation   lease
event         lease
service       system
job           system
"""

KIND = pytest.mark.parametrize("kind", ORDER.split())


def test_the_kinds_stand_in_order() -> None:
    assert list(KINDS) == ORDER.split()
    assert [lifecycle.kind for lifecycle in KINDS.values()] == ORDER.split()


@KIND
@pytest.mark.parametrize("cls", list(StateClass))
def test_every_state_is_in_its_class(kind: str, cls: StateClass) -> None:
    typed = [states for k, c, states in lines(CLASSES, 3) if (k, c) == (kind, cls)]
    wanted = [state for states in typed if states != "-" for state in states.split("/")]
    assert typed
    assert sorted(wanted) == sorted(s.name for s in KINDS[kind].states if s.cls is cls)


@KIND
def test_every_state_has_a_sentence_of_its_own(kind: str) -> None:
    lifecycle = KINDS[kind]
    sentences = [state.description for state in lifecycle.states]
    for says in (lifecycle.description, *sentences, *(action.description for action in lifecycle.actions)):
        assert says.endswith(".")
        assert says[0].isupper()
        assert len(says.split()) >= 2
    assert len(set(sentences)) == len(sentences)


@KIND
def test_every_state_and_action_is_named_once(kind: str) -> None:
    lifecycle = KINDS[kind]
    states = [state.name for state in lifecycle.states]
    actions = [action.name for action in lifecycle.actions]
    assert len(set(states)) == len(states)
    assert len(set(actions)) == len(actions)


@KIND
def test_moving_states_and_no_others_have_a_deadline(kind: str) -> None:
    for state in KINDS[kind].states:
        assert (state.timeout is not None and state.timeout > 0) == (state.cls is StateClass.TRANSITIONAL), state.name


@KIND
def test_only_a_lease_and_a_vm_have_work_that_may_be_declined(kind: str) -> None:
    """That of a VM is an addition of ours: what its provider rejects leaves it where it came from."""
    assert bool(coded(kind, [Trigger.DECLINED])) == (kind in ("lease", "vm"))


@pytest.mark.parametrize(("kind", "state"), lines(BEGINS, 2))
def test_where_an_object_begins(kind: str, state: str) -> None:
    assert KINDS[kind].initial.name == state


@pytest.mark.req("S0-01")
@pytest.mark.parametrize(("kind", "above"), lines(ABOVE, 2))
def test_what_stands_above_what(kind: str, above: str) -> None:
    assert KINDS[kind].parent == above


@KIND
def test_children_that_are_silent_are_counted_anew(kind: str) -> None:
    """They have deadlines of their own, so no clock leads their parent away before they have settled."""
    lifecycle = KINDS[kind]
    for action in lifecycle.actions:
        for name in action.via:
            if lifecycle.state(name).awaits is not AwaitedParty.CHILDREN or action.signals:
                continue
            assert not lifecycle.rows(name, Trigger.TIMED_OUT, action.name)
            busy = Snapshot(name, operation=Operation(action.name, origin=action.source[0]))
            answer = decide(lifecycle, busy, TimerDue("deadline"))
            assert isinstance(answer, Decision)
            assert answer.recount
            assert not answer.transitions
