"""Edge sites: a cloudlet with an agent of its own, clusters on it, apps in them.

The controller and a site's agent agree through reports alone, over links that lose, repeat and reorder. At each
moving state only one of them may speak; the rows that skip a state are there for messages that never came.
"""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    HOUR,
    LEAVE,
    MINUTE,
    ORIGIN,
    Action,
    Actor,
    AncestorCondition,
    AwaitedParty,
    ConflictPolicy,
    Orders,
    Rollback,
    SpecChange,
    Transition,
    Trigger,
    absent,
    stable,
    transitional,
)

LANE = "edge"
"""How the lanes of edge sites begin: `edge.NAMESPACE.SITE`."""

CLUSTERINST = Lifecycle(
    kind="clusterinst",
    description="A cluster on an edge site.",
    parent="cloudlet",
    members="appinst",
    preconditions=(AncestorCondition("cloudlet", ("Ready",), must_exist=True),),
    states=(
        absent("NotPresent", "There is no such cluster."),
        transitional("CreateRequested", "Asked for; the site has not said that it began.", 30 * MINUTE),
        transitional("Creating", "The site is making it.", 60 * MINUTE),
        stable(
            "CreateError", "Making it failed; the controller takes it back, or a person looks at it.", observed_as=""
        ),
        stable("Ready", "It is there, as its spec says."),
        transitional("UpdateRequested", "A change was asked for; the site has not said that it began.", 30 * MINUTE),
        transitional("Updating", "The site is changing it.", 60 * MINUTE),
        stable("UpdateError", "The change failed; the previous spec is restored, or a person looks.", observed_as=""),
        transitional(
            "DeletePrepare",
            "About to be deleted: what depends on it goes first, and nothing new may depend on it.",
            60 * MINUTE,
            AwaitedParty.CHILDREN,
            member_action="delete",
            on_failure=ORIGIN,
        ),
        transitional(
            "DeleteRequested", "Its deletion was asked for; the site has not said that it began.", 30 * MINUTE
        ),
        transitional("Deleting", "The site is deleting it.", 60 * MINUTE),
        stable("DeleteError", "Deleting it failed, and what is left is no longer whole.", observed_as=""),
    ),
    actions=(
        Action(
            "create",
            "Make it on the site.",
            ("NotPresent",),
            ("CreateRequested", "Creating"),
            "Ready",
            on_failure="CreateError",
            joins=False,
            work=Orders(attempts=1),
            rollback=Rollback("delete", "NotPresent"),
        ),
        Action(
            "update",
            "Change it to a new spec.",
            ("Ready",),
            ("UpdateRequested", "Updating"),
            "Ready",
            on_failure="UpdateError",
            joins=False,
            work=Orders(attempts=1),
            rollback=Rollback("restore", "Ready"),
            spec_change=SpecChange(),
        ),
        Action(
            "delete",
            "Delete it, after all that depends on it.",
            ("Ready",),
            ("DeletePrepare", "DeleteRequested", "Deleting"),
            "NotPresent",
            on_failure="DeleteError",
            forceable=True,
            work=Orders(attempts=1),
            rollback=Rollback("probe", "Ready"),
        ),
        Action(
            "forget",
            "Remove its record, because its site is forgotten; nothing is changed on the site.",
            ("Ready", "CreateError", "UpdateError", "DeleteError"),
            (),
            "NotPresent",
            actors=(Actor.CONTROLLER,),
            work=None,
            conflict=ConflictPolicy.PREEMPT,
        ),
    ),
    # What could not be deleted whole may be gone all the same.
    transitions=(Transition("DeleteError", Trigger.OBSERVED, "absent", Actor.AGENT, "NotPresent"),),
    drift_states=("Ready",),
    on_absent="UpdateError",
    on_broken="UpdateError",
    absence_threshold=1,
)

APPINST = replace(
    CLUSTERINST,
    kind="appinst",
    description="An app in a cluster on an edge site.",
    parent="clusterinst",
    members="",
    preconditions=(
        AncestorCondition("clusterinst", ("Ready",), must_exist=True),
        AncestorCondition("cloudlet", ("Ready",), must_exist=True),
    ),
    # Its cluster's deletion takes it along, whatever has become of it, and that is the controller's doing.
    actions=tuple(
        replace(a, actors=(Actor.USER, Actor.CONTROLLER)) if a.name == "delete" else a for a in CLUSTERINST.actions
    ),
    transitions=(
        *CLUSTERINST.transitions,
        *(
            Transition(error, Trigger.REQUEST, "delete", Actor.CONTROLLER, "DeletePrepare")
            for error in ("CreateError", "UpdateError", "DeleteError")
        ),
    ),
)

CLOUDLET = Lifecycle(
    kind="cloudlet",
    description="An edge site, with an agent that connects from there.",
    presence=True,
    states=(
        stable("Offline", "No agent is connected.", observed_as=""),
        transitional("Init", "The agent said hello under a new notify-id.", 15 * MINUTE, AwaitedParty.CONTROLLER),
        transitional("InitOk", "The controller answered; the agent gathers what the site has.", 15 * MINUTE),
        stable("Ready", "The agent is connected and has sent all it has.", observed_as=""),
        transitional("UpdateRequested", "An upgrade was asked for; the old agent has not begun.", HOUR),
        transitional("Updating", "The old agent has started the new one.", HOUR),
        stable(
            "UpdateError", "The upgrade failed; the old agent serves, and an admin has to resolve it.", observed_as=""
        ),
        transitional(
            "DeletePrepare", "About to be deleted: nothing new may be put there.", MINUTE, AwaitedParty.CONTROLLER
        ),
        transitional(
            "Forgetting",
            "Its records, and those of all that is on it, are being removed; nothing is changed on the site.",
            15 * MINUTE,
            AwaitedParty.STEP,
        ),
        absent("NotPresent", "There is no such site."),
    ),
    actions=(
        Action(
            "create",
            "Set the site up and wait for its agent.",
            ("Offline",),
            ("Init", "InitOk"),
            "Ready",
            on_failure="Offline",
            joins=False,
            work=Orders(("gather",)),
            rollback=LEAVE,
        ),
        Action(
            "connect",
            "The agent connects, for the first time or anew.",
            ("Offline", "Ready"),
            ("Init", "InitOk"),
            "Ready",
            on_failure="Offline",
            actors=(),
            work=Orders(("gather",)),
            rollback=LEAVE,
        ),
        Action(
            "upgrade",
            "Replace the agent: the old one starts the new one, the new one ends the old one.",
            ("Ready",),
            ("UpdateRequested", "Updating"),
            "Ready",
            on_failure="UpdateError",
            joins=False,
            work=Orders(attempts=1),
            rollback=LEAVE,
            spec_change=SpecChange(),
        ),
        Action(
            "delete",
            "Delete the site, when there is nothing left on it.",
            ("Offline", "Ready"),
            ("DeletePrepare",),
            "NotPresent",
            on_failure=ORIGIN,
            empty_only=True,
            work=None,
            rollback=LEAVE,
        ),
        Action(
            "forget",
            "Remove the records of a site whose agent will not come back; what may run there is listed as orphans.",
            ("Offline", "UpdateError"),
            ("Forgetting",),
            "NotPresent",
            on_failure="Offline",
            actors=(Actor.ADMIN,),
            needs_reason=True,
            work=None,
            rollback=LEAVE,
            conflict=ConflictPolicy.PREEMPT,
        ),
        Action(
            "resolve",
            "Declare a failed upgrade dealt with.",
            ("UpdateError",),
            (),
            "Ready",
            actors=(Actor.ADMIN,),
            work=None,
        ),
    ),
    transitions=(
        Transition("Offline", Trigger.CONNECTED, "connect", Actor.AGENT, "Init"),
        Transition("Ready", Trigger.CONNECTED, "connect", Actor.AGENT, "Init"),
        Transition("InitOk", Trigger.CONNECTED, "connect", Actor.AGENT, "Init", contended=True),
        Transition("Init", Trigger.DISCONNECTED, "connect", Actor.CONTROLLER, "Offline"),
        Transition("InitOk", Trigger.DISCONNECTED, "connect", Actor.CONTROLLER, "Offline", contended=True),
        Transition("Ready", Trigger.DISCONNECTED, "connect", Actor.CONTROLLER, "Offline"),
        # Two agents at once: whoever speaks first, the controller's state decides.
        Transition("UpdateRequested", Trigger.CONNECTED, "upgrade", Actor.CONTROLLER, "InitOk", contended=True),
        Transition("Updating", Trigger.CONNECTED, "upgrade", Actor.CONTROLLER, "InitOk", contended=True),
        Transition("Updating", Trigger.SUCCEEDED, "upgrade", Actor.SUCCESSOR, "Ready", contended=True),
        Transition("InitOk", Trigger.SUCCEEDED, "upgrade", Actor.SUCCESSOR, "Ready", contended=True),
        Transition("InitOk", Trigger.FAILED, "upgrade", Actor.AGENT, "UpdateError", contended=True),
        Transition("InitOk", Trigger.TIMED_OUT, "upgrade", Actor.CLOCK, "UpdateError"),
    ),
    # Only the new agent can say that the upgrade is done.
    excluded=(
        Transition("UpdateRequested", Trigger.SUCCEEDED, "upgrade", Actor.AGENT, "Ready"),
        Transition("Updating", Trigger.SUCCEEDED, "upgrade", Actor.AGENT, "Ready"),
    ),
)


def lane_of(path: str) -> str:
    """The lane of a site, and of all that is on it."""
    _, namespace, site, *_ = path.split("/")
    return f"{LANE}.{namespace}.{site}"


def is_site(lane: str) -> bool:
    """Whether a lane leads to an edge site."""
    return lane.startswith(f"{LANE}.")
