"""A private cloud: machines and their disks in cloudspaces of accounts, on nodes, from images.

Every action has one moving state named after it. A failure leads to ERROR, which a look at the object may clear;
silence leads back to the state before. Deleted things lie in a recycle bin until the clock destroys them.
What is done to an account or a cloudspace is done to what is in it, too: by a step of the controller's own.
"""

from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    ABSENT,
    DAY,
    HOUR,
    LEAVE,
    MINUTE,
    ORIGIN,
    Action,
    Actor,
    AncestorCondition,
    AwaitedParty,
    Expiry,
    Orders,
    SpecChange,
    State,
    absent,
    final,
    stable,
    transitional,
)

ADMIN = (Actor.ADMIN,)
LIVE = ("RUNNING", "PAUSED", "HALTED")
"""States of a machine in which it gets disks and loses them."""
RETENTION = Expiry(7 * DAY, "destroy")


def _row(name: str, description: str, source: tuple[str, ...], via: str, target: str, **flags: Any) -> Action:
    """One row of a table: from where, through which state (or two), to where."""
    row: dict[str, Any] = {"on_failure": "ERROR", "rollback": LEAVE, "on_timeout": ORIGIN, "joins": False, **flags}
    return Action(name, description, source, tuple(via.split()), target, **row)


def _step(name: str, description: str, on_failure: str = ORIGIN, timeout: int = 4 * HOUR) -> State:
    """Something is done to all that is in it; where that fails, it is as it was, or stays as it is by then."""
    return transitional(name, description, timeout, AwaitedParty.STEP, on_failure=on_failure)


def _of_disk(name: str, description: str, via: str) -> Action:
    """An action of a machine that a disk carries out. The machine stays as it is, also where the disk fails."""
    return _row(name, description, LIVE, via, ORIGIN, on_failure=ORIGIN, claims="disk", work=None)


_ERROR = stable("ERROR", "An action failed, and what is there is not known yet.", observed_as="")

MACHINE = Lifecycle(
    kind="machine",
    description="A virtual machine on a node of the private cloud.",
    parent="cloudspace",
    preconditions=(
        AncestorCondition("cloudspace", ("DEPLOYED",)),
        AncestorCondition("node", ("ENABLED",), field="node", actions=("deploy", "migrate")),
        AncestorCondition("image", ("CREATED",), field="image", actions=("deploy",)),
    ),
    states=(
        stable("VIRTUAL", "It exists on paper only.", observed_as=ABSENT),
        transitional("DEPLOYING", "It is being put on a node.", 15 * MINUTE),
        stable("RUNNING", "It runs."),
        transitional("PAUSING", "It is being paused.", 5 * MINUTE),
        stable("PAUSED", "It is frozen in memory."),
        transitional("RESUMING", "It is being woken.", 5 * MINUTE),
        transitional("STOPPING", "It is being shut down.", 10 * MINUTE),
        stable("HALTED", "It is shut down."),
        transitional("STARTING", "It is being started.", 10 * MINUTE),
        transitional("REBOOTING", "It restarts.", 10 * MINUTE),
        transitional("RESETTING", "It is switched off and on.", 5 * MINUTE),
        _step("ADDING_DISK", "A new disk is made for it.", timeout=HOUR),
        _step("ATTACHING_DISK", "A disk is being attached to it.", timeout=HOUR),
        _step("DETACHING_DISK", "A disk is being detached from it.", timeout=HOUR),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expiry=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 30 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("deploy", "Put it on a node and start it.", ("VIRTUAL",), "DEPLOYING", "RUNNING", on_timeout="ERROR"),
        _row("pause", "Freeze it in memory.", ("RUNNING",), "PAUSING", "PAUSED"),
        _row("resume", "Wake it.", ("PAUSED",), "RESUMING", "RUNNING"),
        _row("stop", "Shut it down.", ("RUNNING", "PAUSED"), "STOPPING", "HALTED"),
        _row("start", "Start it.", ("HALTED",), "STARTING", "RUNNING"),
        _row("reboot", "Restart it.", ("RUNNING", "PAUSED"), "REBOOTING", "RUNNING", work=Orders(attempts=1)),
        _row("reset", "Switch it off and on.", ("RUNNING",), "RESETTING", "RUNNING", work=Orders(attempts=1)),
        _of_disk("add-disk", "Make a disk and attach it.", "ADDING_DISK"),
        _of_disk("attach-disk", "Attach a disk.", "ATTACHING_DISK"),
        _of_disk("detach-disk", "Detach a disk.", "DETACHING_DISK"),
        _row(
            "delete",
            "Stop it and move it to the recycle bin.",
            ("RUNNING", "PAUSED", "HALTED", "ERROR"),
            "DELETING",
            "DELETED",
            work=Orders(("stop", "delete")),
        ),
        _row("restore", "Take it out of the recycle bin, shut down.", ("DELETED",), "RESTORING", "HALTED"),
        _row(
            "destroy",
            "Stop it, delete it and remove it for good.",
            ("RUNNING", "PAUSED", "HALTED", "DELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
            work=Orders(("stop", "delete", "destroy")),
        ),
        Action(
            "migrate",
            "Move it to another node; nobody sees it.",
            ("RUNNING", "PAUSED", "HALTED"),
            (),
            ORIGIN,
            on_failure=ORIGIN,
            actors=(Actor.ADMIN, Actor.CONTROLLER),
            on_timeout=ORIGIN,
            hidden=True,
            work=Orders(attempts=1),
            rollback=LEAVE,
            spec_change=SpecChange(amends=True),
        ),
    ),
    drift_states=("RUNNING", "PAUSED", "HALTED", "DELETED", "ERROR"),
    on_absent="ERROR",
    on_broken="ERROR",
)

CLOUDSPACE = Lifecycle(
    kind="cloudspace",
    description="A private network with its own firewall, where an account's machines live.",
    parent="account",
    preconditions=(AncestorCondition("account", ("CONFIRMED",)),),
    states=(
        stable("VIRTUAL", "It exists on paper only.", observed_as=ABSENT),
        transitional("DEPLOYING", "Its firewall is being set up.", 15 * MINUTE),
        stable("DEPLOYED", "It is in use."),
        _step("DISABLING", "Its machines are being stopped."),
        transitional("CLOSING", "It is being switched off for its users.", 15 * MINUTE),
        stable("DISABLED", "It is switched off for its users."),
        transitional("ENABLING", "It is being switched on again.", 15 * MINUTE),
        _step("WAKING", "The machines that were stopped with it are being started.", on_failure="DEPLOYED"),
        transitional("PAUSING", "An admin stops its firewall.", 10 * MINUTE),
        stable("PAUSED", "Its firewall is stopped; only an admin brings it back."),
        transitional("RESUMING", "An admin starts its firewall.", 10 * MINUTE),
        transitional("RESETTING", "An admin sets its firewall up anew.", 10 * MINUTE),
        _step("DELETING", "Its machines and disks are being moved to the recycle bin."),
        transitional("SHELVING", "It follows them.", 30 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expiry=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 30 * MINUTE),
        _step("REFILLING", "The machines and disks that were deleted with it follow.", on_failure="DEPLOYED"),
        _step("DESTROYING", "What lies in it is being removed for good."),
        transitional("REMOVING", "It follows that.", 30 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("deploy", "Set it up.", ("VIRTUAL",), "DEPLOYING", "DEPLOYED", on_timeout="ERROR"),
        _row("disable", "Stop its machines and switch it off.", ("DEPLOYED",), "DISABLING CLOSING", "DISABLED"),
        _row("enable", "Switch it on again.", ("DISABLED",), "ENABLING WAKING", "DEPLOYED"),
        _row("pause", "Stop its firewall.", ("DEPLOYED",), "PAUSING", "PAUSED", actors=ADMIN),
        _row("resume", "Start its firewall.", ("PAUSED",), "RESUMING", "DEPLOYED", actors=ADMIN),
        _row("reset", "Set its firewall up anew.", ("DEPLOYED", "PAUSED"), "RESETTING", "DEPLOYED", actors=ADMIN),
        _row(
            "delete",
            "Move it to the recycle bin, with all it has.",
            ("DEPLOYED", "DISABLED", "ERROR"),
            "DELETING SHELVING",
            "DELETED",
        ),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING REFILLING", "DEPLOYED"),
        _row("destroy", "Remove it for good, with all it has.", ("DELETED",), "DESTROYING REMOVING", "DESTROYED"),
    ),
    drift_states=("DEPLOYED", "DISABLED", "PAUSED", "DELETED", "ERROR"),
    on_absent="ERROR",
    on_broken="ERROR",
)

ACCOUNT = Lifecycle(
    kind="account",
    description="Who owns cloudspaces and pays for them.",
    states=(
        absent("NONE", "There is no such account."),
        stable("CONFIRMED", "It is in use.", observed_as=""),
        _step("DISABLING", "It is being switched off, with all it has."),
        stable("DISABLED", "It is switched off.", observed_as=""),
        _step("ENABLING", "It is being switched on again."),
        _step("DELETING", "It is being moved to the recycle bin, with all it has."),
        stable("DELETED", "It lies in the recycle bin.", observed_as="", expiry=RETENTION),
        _step("RESTORING", "It is being taken out of the recycle bin."),
        _step("DESTROYING", "It is being removed for good, with all it has.", on_failure="ERROR"),
        final("DESTROYED", "It was removed for good.", observed_as=""),
        _ERROR,
    ),
    actions=(
        Action("create", "Take it in.", ("NONE",), (), "CONFIRMED", work=None),
        _row("disable", "Switch it off.", ("CONFIRMED",), "DISABLING", "DISABLED", work=None),
        _row("enable", "Switch it on again.", ("DISABLED",), "ENABLING", "CONFIRMED", work=None),
        _row(
            "delete",
            "Move it to the recycle bin.",
            ("CONFIRMED", "DISABLED", "ERROR"),
            "DELETING",
            "DELETED",
            work=None,
        ),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING", "CONFIRMED", work=None),
        _row(
            "destroy",
            "Remove it for good.",
            ("CONFIRMED", "DISABLED", "DELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
            work=None,
        ),
    ),
)

CLAIMS_MACHINE: dict[str, Any] = {"claims": "machine"}
"""For actions of a disk that claim its machine as well: a machine and its disks take one action at a time."""

DISK = Lifecycle(
    kind="disk",
    description="A disk, attached to a machine or lying by itself.",
    parent="cloudspace",
    queue_field="machine",
    preconditions=(
        AncestorCondition("cloudspace", ("DEPLOYED",)),
        AncestorCondition("machine", LIVE, field="machine", actions=("assign", "attach", "restore-with-machine")),
        AncestorCondition("machine", ("DELETED", "DESTROYED"), field="machine", actions=("delete-with-machine",)),
        AncestorCondition("machine", ("DESTROYED",), field="machine", actions=("restore-after-machine",)),
    ),
    states=(
        stable("MODELED", "It exists on paper only.", observed_as=ABSENT),
        transitional("CREATING", "It is being made.", 15 * MINUTE),
        stable("CREATED", "It is there and attached to no machine."),
        transitional("ASSIGNING", "It is being made for a machine.", 15 * MINUTE),
        transitional("ATTACHING", "It is being attached to a machine.", 10 * MINUTE),
        stable("ASSIGNED", "It is attached to a machine."),
        transitional("DETACHING", "It is being detached from its machine.", 10 * MINUTE),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin by itself.", expiry=RETENTION),
        stable("TOBEDELETED", "It lies in the recycle bin together with its machine.", expiry=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 15 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("create", "Make it.", ("MODELED",), "CREATING", "CREATED", on_timeout="ERROR"),
        _row(
            "assign",
            "Make it for a machine.",
            ("MODELED",),
            "ASSIGNING",
            "ASSIGNED",
            on_timeout="ERROR",
            **CLAIMS_MACHINE,
        ),
        _row(
            "attach",
            "Attach it.",
            ("CREATED",),
            "ATTACHING",
            "ASSIGNED",
            spec_change=SpecChange(amends=True),
            **CLAIMS_MACHINE,
        ),
        _row("detach", "Detach it from its machine.", ("ASSIGNED",), "DETACHING", "CREATED", **CLAIMS_MACHINE),
        _row("delete", "Move it to the recycle bin.", ("CREATED", "ERROR"), "DELETING", "DELETED"),
        _row(
            "delete-with-machine",
            "Move it to the recycle bin together with its machine.",
            ("ASSIGNED",),
            "DELETING",
            "TOBEDELETED",
            actors=(Actor.USER, Actor.CONTROLLER),
        ),
        _row(
            "delete-after-machine",
            "Keep it in the recycle bin by itself, after its machine was destroyed.",
            ("ASSIGNED", "TOBEDELETED"),
            "DELETING",
            "DELETED",
            actors=(Actor.CONTROLLER,),
            work=Orders(("delete",)),
        ),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING", "CREATED"),
        _row(
            "restore-after-machine",
            "Take it out of the recycle bin, after its machine was destroyed.",
            ("TOBEDELETED",),
            "RESTORING",
            "CREATED",
            actors=(Actor.USER, Actor.CONTROLLER),
            work=Orders(("restore",)),
        ),
        _row(
            "restore-with-machine",
            "Take it out of the recycle bin together with its machine.",
            ("TOBEDELETED",),
            "RESTORING",
            "ASSIGNED",
            actors=(Actor.USER, Actor.CONTROLLER),
        ),
        _row(
            "destroy",
            "Remove it for good.",
            ("CREATED", "ASSIGNED", "DELETED", "TOBEDELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
            **CLAIMS_MACHINE,
        ),
    ),
    drift_states=("CREATED", "ASSIGNED", "DELETED", "TOBEDELETED", "ERROR"),
    on_absent="ERROR",
    on_broken="ERROR",
)

IMAGE = Lifecycle(
    kind="image",
    description="What a machine's first disk is made from.",
    states=(
        stable("VIRTUAL", "It exists on paper only.", observed_as=ABSENT),
        transitional("CREATING", "It is being fetched and stored.", HOUR),
        stable("CREATED", "It can be used."),
        transitional("DISABLING", "It is being taken out of use.", 5 * MINUTE),
        stable("DISABLED", "It is kept and cannot be used."),
        transitional("ENABLING", "It is being put in use again.", 5 * MINUTE),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expiry=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 15 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("create", "Fetch and store it.", ("VIRTUAL",), "CREATING", "CREATED", on_timeout="ERROR"),
        _row("disable", "Take it out of use.", ("CREATED",), "DISABLING", "DISABLED"),
        _row("enable", "Put it in use again.", ("DISABLED",), "ENABLING", "CREATED"),
        _row("delete", "Move it to the recycle bin.", ("CREATED", "DISABLED", "ERROR"), "DELETING", "DELETED"),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING", "CREATED"),
        _row(
            "destroy",
            "Remove it for good.",
            ("CREATED", "DISABLED", "DELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
        ),
    ),
    drift_states=("CREATED", "DISABLED", "DELETED", "ERROR"),
    on_absent="ERROR",
    on_broken="ERROR",
)

NODE = Lifecycle(
    kind="node",
    description="A physical host that machines run on.",
    occupants="machine",
    states=(
        absent("NONE", "There is no such node."),
        stable("ENABLED", "It takes machines.", observed_as=""),
        _step("PUTTING_IN_MAINTENANCE", "Its machines are being moved away, unseen."),
        stable("MAINTENANCE", "Nothing runs on it, and it takes no machines.", observed_as=""),
        transitional("ENABLING", "It is being put in use again.", 15 * MINUTE),
        transitional("DECOMMISSIONING", "It is being taken out for good.", 30 * MINUTE),
        final("DECOMMISSIONED", "It was taken out for good."),
        _ERROR,
    ),
    actions=(
        Action("create", "Take it in.", ("NONE",), (), "ENABLED", actors=ADMIN, work=None),
        _row(
            "maintain",
            "Move its machines away and take no more.",
            ("ENABLED",),
            "PUTTING_IN_MAINTENANCE",
            "MAINTENANCE",
            actors=ADMIN,
            work=None,
        ),
        _row("enable", "Put it in use again.", ("MAINTENANCE", "ERROR"), "ENABLING", "ENABLED", actors=ADMIN),
        _row(
            "decommission",
            "Take it out for good.",
            ("ENABLED", "MAINTENANCE", "ERROR"),
            "DECOMMISSIONING",
            "DECOMMISSIONED",
            actors=ADMIN,
            empty_only=True,
        ),
    ),
)
