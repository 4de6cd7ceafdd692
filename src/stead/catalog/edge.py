"""Edge sites: a cloudlet with an agent of its own, clusters on it, apps in them.

The controller and a site's agent agree through reports alone, over links that lose, repeat and reorder. At each
moving state only one of them may speak; the rows that skip a state are there for messages that never came.
"""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    BACK,
    HOUR,
    MINUTE,
    Action,
    Actor,
    AncestorCondition,
    AwaitedParty,
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
    says="A cluster on an edge site.",
    parent="cloudlet",
    members="appinst",
    needs=(AncestorCondition("cloudlet", ("Ready",), there=True),),
    states=(
        absent("NotPresent", "There is no such cluster."),
        transitional("CreateRequested", "Asked for; the site has not said that it began.", 30 * MINUTE),
        transitional("Creating", "The site is making it.", 60 * MINUTE),
        stable("CreateError", "Making it failed; the controller takes it back, or a person looks at it.", seen=""),
        stable("Ready", "It is there, as its spec says."),
        transitional("UpdateRequested", "A change was asked for; the site has not said that it began.", 30 * MINUTE),
        transitional("Updating", "The site is changing it.", 60 * MINUTE),
        stable("UpdateError", "The change failed; the previous spec is restored, or a person looks.", seen=""),
        transitional(
            "DeletePrepare",
            "About to be deleted: what depends on it goes first, and nothing new may depend on it.",
            60 * MINUTE,
            AwaitedParty.CHILDREN,
            asks="delete",
            fails=BACK,
        ),
        transitional(
            "DeleteRequested", "Its deletion was asked for; the site has not said that it began.", 30 * MINUTE
        ),
        transitional("Deleting", "The site is deleting it.", 60 * MINUTE),
        stable("DeleteError", "Deleting it failed, and what is left is no longer whole.", seen=""),
    ),
    actions=(
        Action(
            "create",
            "Make it on the site.",
            ("NotPresent",),
            ("CreateRequested", "Creating"),
            "Ready",
            fails="CreateError",
            undo="delete",
            undone="NotPresent",
            attempts=1,
            joins=False,
        ),
        Action(
            "update",
            "Change it to a new spec.",
            ("Ready",),
            ("UpdateRequested", "Updating"),
            "Ready",
            fails="UpdateError",
            undo="restore",
            undone="Ready",
            attempts=1,
            respec=True,
            joins=False,
        ),
        Action(
            "delete",
            "Delete it, after all that depends on it.",
            ("Ready",),
            ("DeletePrepare", "DeleteRequested", "Deleting"),
            "NotPresent",
            fails="DeleteError",
            undo="probe",
            undone="Ready",
            attempts=1,
            forceable=True,
        ),
        Action(
            "forget",
            "Remove its record, because its site is forgotten; nothing is changed on the site.",
            ("Ready", "CreateError", "UpdateError", "DeleteError"),
            (),
            "NotPresent",
            by=(Actor.CONTROLLER,),
            orders=(),
            outranks=True,
        ),
    ),
    # What could not be deleted whole may be gone all the same.
    moves=(Transition("DeleteError", Trigger.OBSERVED, "absent", Actor.AGENT, "NotPresent"),),
    drifts=("Ready",),
    gone="UpdateError",
    broken="UpdateError",
    misses=1,
)

APPINST = replace(
    CLUSTERINST,
    kind="appinst",
    says="An app in a cluster on an edge site.",
    parent="clusterinst",
    members="",
    needs=(
        AncestorCondition("clusterinst", ("Ready",), there=True),
        AncestorCondition("cloudlet", ("Ready",), there=True),
    ),
    # Its cluster's deletion takes it along, whatever has become of it, and that is the controller's doing.
    actions=tuple(
        replace(a, by=(Actor.USER, Actor.CONTROLLER)) if a.name == "delete" else a for a in CLUSTERINST.actions
    ),
    moves=(
        *CLUSTERINST.moves,
        *(
            Transition(error, Trigger.REQUEST, "delete", Actor.CONTROLLER, "DeletePrepare")
            for error in ("CreateError", "UpdateError", "DeleteError")
        ),
    ),
)

CLOUDLET = Lifecycle(
    kind="cloudlet",
    says="An edge site, with an agent that connects from there.",
    presence=True,
    states=(
        stable("Offline", "No agent is connected.", seen=""),
        transitional("Init", "The agent said hello under a new notify-id.", 15 * MINUTE, AwaitedParty.CONTROLLER),
        transitional("InitOk", "The controller answered; the agent gathers what the site has.", 15 * MINUTE),
        stable("Ready", "The agent is connected and has sent all it has.", seen=""),
        transitional("UpdateRequested", "An upgrade was asked for; the old agent has not begun.", HOUR),
        transitional("Updating", "The old agent has started the new one.", HOUR),
        stable("UpdateError", "The upgrade failed; the old agent serves, and an admin has to resolve it.", seen=""),
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
            fails="Offline",
            orders=("gather",),
            undo="leave",
            joins=False,
        ),
        Action(
            "connect",
            "The agent connects, for the first time or anew.",
            ("Offline", "Ready"),
            ("Init", "InitOk"),
            "Ready",
            fails="Offline",
            by=(),
            orders=("gather",),
            undo="leave",
        ),
        Action(
            "upgrade",
            "Replace the agent: the old one starts the new one, the new one ends the old one.",
            ("Ready",),
            ("UpdateRequested", "Updating"),
            "Ready",
            fails="UpdateError",
            undo="leave",
            attempts=1,
            respec=True,
            joins=False,
        ),
        Action(
            "delete",
            "Delete the site, when there is nothing left on it.",
            ("Offline", "Ready"),
            ("DeletePrepare",),
            "NotPresent",
            fails=BACK,
            orders=(),
            undo="leave",
            empty_only=True,
        ),
        Action(
            "forget",
            "Remove the records of a site whose agent will not come back; what may run there is listed as orphans.",
            ("Offline", "UpdateError"),
            ("Forgetting",),
            "NotPresent",
            fails="Offline",
            by=(Actor.ADMIN,),
            orders=(),
            undo="leave",
            outranks=True,
            needs_reason=True,
        ),
        Action(
            "resolve",
            "Declare a failed upgrade dealt with.",
            ("UpdateError",),
            (),
            "Ready",
            by=(Actor.ADMIN,),
            orders=(),
        ),
    ),
    moves=(
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
    without=(
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
