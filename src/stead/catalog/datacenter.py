"""A private cloud: machines and their disks in cloudspaces of accounts, on nodes, from images.

Every action has one moving state named after it. A failure leads to ERROR, which a look at the object may clear;
silence leads back to the state before. Deleted things lie in a recycle bin until the clock destroys them.
What is done to an account or a cloudspace is done to what is in it, too: by a step of the controller's own.
"""

from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    ABSENT,
    BACK,
    DAY,
    HOUR,
    MINUTE,
    Action,
    Actor,
    AncestorCondition,
    AwaitedParty,
    Expiry,
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


def _row(name: str, says: str, starts: tuple[str, ...], through: str, ends: str, **flags: Any) -> Action:
    """One row of a table: from where, through which state (or two), to where."""
    row: dict[str, Any] = {"fails": "ERROR", "undo": "leave", "silent": BACK, "joins": False, **flags}
    return Action(name, says, starts, tuple(through.split()), ends, **row)


def _step(name: str, says: str, fails: str = BACK, lasts: int = 4 * HOUR) -> State:
    """Something is done to all that is in it; where that fails, it is as it was, or stays as it is by then."""
    return transitional(name, says, lasts, AwaitedParty.STEP, fails=fails)


def _of_disk(name: str, says: str, through: str) -> Action:
    """An action of a machine that a disk carries out. The machine stays as it is, also where the disk fails."""
    return _row(name, says, LIVE, through, BACK, fails=BACK, orders=(), claims="disk")


_ERROR = stable("ERROR", "An action failed, and what is there is not known yet.", seen="")

MACHINE = Lifecycle(
    kind="machine",
    says="A virtual machine on a node of the private cloud.",
    parent="cloudspace",
    needs=(
        AncestorCondition("cloudspace", ("DEPLOYED",)),
        AncestorCondition("node", ("ENABLED",), named="node", only=("deploy", "migrate")),
        AncestorCondition("image", ("CREATED",), named="image", only=("deploy",)),
    ),
    states=(
        stable("VIRTUAL", "It exists on paper only.", seen=ABSENT),
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
        _step("ADDING_DISK", "A new disk is made for it.", lasts=HOUR),
        _step("ATTACHING_DISK", "A disk is being attached to it.", lasts=HOUR),
        _step("DETACHING_DISK", "A disk is being detached from it.", lasts=HOUR),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expires=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 30 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("deploy", "Put it on a node and start it.", ("VIRTUAL",), "DEPLOYING", "RUNNING", silent="ERROR"),
        _row("pause", "Freeze it in memory.", ("RUNNING",), "PAUSING", "PAUSED"),
        _row("resume", "Wake it.", ("PAUSED",), "RESUMING", "RUNNING"),
        _row("stop", "Shut it down.", ("RUNNING", "PAUSED"), "STOPPING", "HALTED"),
        _row("start", "Start it.", ("HALTED",), "STARTING", "RUNNING"),
        _row("reboot", "Restart it.", ("RUNNING", "PAUSED"), "REBOOTING", "RUNNING", attempts=1),
        _row("reset", "Switch it off and on.", ("RUNNING",), "RESETTING", "RUNNING", attempts=1),
        _of_disk("add-disk", "Make a disk and attach it.", "ADDING_DISK"),
        _of_disk("attach-disk", "Attach a disk.", "ATTACHING_DISK"),
        _of_disk("detach-disk", "Detach a disk.", "DETACHING_DISK"),
        _row(
            "delete",
            "Stop it and move it to the recycle bin.",
            ("RUNNING", "PAUSED", "HALTED", "ERROR"),
            "DELETING",
            "DELETED",
            orders=("stop", "delete"),
        ),
        _row("restore", "Take it out of the recycle bin, shut down.", ("DELETED",), "RESTORING", "HALTED"),
        _row(
            "destroy",
            "Stop it, delete it and remove it for good.",
            ("RUNNING", "PAUSED", "HALTED", "DELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
            orders=("stop", "delete", "destroy"),
        ),
        Action(
            "migrate",
            "Move it to another node; nobody sees it.",
            ("RUNNING", "PAUSED", "HALTED"),
            (),
            BACK,
            fails=BACK,
            by=(Actor.ADMIN, Actor.CONTROLLER),
            undo="leave",
            silent=BACK,
            attempts=1,
            hidden=True,
            respec=True,
            amends=True,
        ),
    ),
    drifts=("RUNNING", "PAUSED", "HALTED", "DELETED", "ERROR"),
    gone="ERROR",
    broken="ERROR",
)

CLOUDSPACE = Lifecycle(
    kind="cloudspace",
    says="A private network with its own firewall, where an account's machines live.",
    parent="account",
    needs=(AncestorCondition("account", ("CONFIRMED",)),),
    states=(
        stable("VIRTUAL", "It exists on paper only.", seen=ABSENT),
        transitional("DEPLOYING", "Its firewall is being set up.", 15 * MINUTE),
        stable("DEPLOYED", "It is in use."),
        _step("DISABLING", "Its machines are being stopped."),
        transitional("CLOSING", "It is being switched off for its users.", 15 * MINUTE),
        stable("DISABLED", "It is switched off for its users."),
        transitional("ENABLING", "It is being switched on again.", 15 * MINUTE),
        _step("WAKING", "The machines that were stopped with it are being started.", fails="DEPLOYED"),
        transitional("PAUSING", "An admin stops its firewall.", 10 * MINUTE),
        stable("PAUSED", "Its firewall is stopped; only an admin brings it back."),
        transitional("RESUMING", "An admin starts its firewall.", 10 * MINUTE),
        transitional("RESETTING", "An admin sets its firewall up anew.", 10 * MINUTE),
        _step("DELETING", "Its machines and disks are being moved to the recycle bin."),
        transitional("SHELVING", "It follows them.", 30 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expires=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 30 * MINUTE),
        _step("REFILLING", "The machines and disks that were deleted with it follow.", fails="DEPLOYED"),
        _step("DESTROYING", "What lies in it is being removed for good."),
        transitional("REMOVING", "It follows that.", 30 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("deploy", "Set it up.", ("VIRTUAL",), "DEPLOYING", "DEPLOYED", silent="ERROR"),
        _row("disable", "Stop its machines and switch it off.", ("DEPLOYED",), "DISABLING CLOSING", "DISABLED"),
        _row("enable", "Switch it on again.", ("DISABLED",), "ENABLING WAKING", "DEPLOYED"),
        _row("pause", "Stop its firewall.", ("DEPLOYED",), "PAUSING", "PAUSED", by=ADMIN),
        _row("resume", "Start its firewall.", ("PAUSED",), "RESUMING", "DEPLOYED", by=ADMIN),
        _row("reset", "Set its firewall up anew.", ("DEPLOYED", "PAUSED"), "RESETTING", "DEPLOYED", by=ADMIN),
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
    drifts=("DEPLOYED", "DISABLED", "PAUSED", "DELETED", "ERROR"),
    gone="ERROR",
    broken="ERROR",
)

ACCOUNT = Lifecycle(
    kind="account",
    says="Who owns cloudspaces and pays for them.",
    states=(
        absent("NONE", "There is no such account."),
        stable("CONFIRMED", "It is in use.", seen=""),
        _step("DISABLING", "It is being switched off, with all it has."),
        stable("DISABLED", "It is switched off.", seen=""),
        _step("ENABLING", "It is being switched on again."),
        _step("DELETING", "It is being moved to the recycle bin, with all it has."),
        stable("DELETED", "It lies in the recycle bin.", seen="", expires=RETENTION),
        _step("RESTORING", "It is being taken out of the recycle bin."),
        _step("DESTROYING", "It is being removed for good, with all it has.", fails="ERROR"),
        final("DESTROYED", "It was removed for good.", seen=""),
        _ERROR,
    ),
    actions=(
        Action("create", "Take it in.", ("NONE",), (), "CONFIRMED", orders=()),
        _row("disable", "Switch it off.", ("CONFIRMED",), "DISABLING", "DISABLED", orders=()),
        _row("enable", "Switch it on again.", ("DISABLED",), "ENABLING", "CONFIRMED", orders=()),
        _row(
            "delete",
            "Move it to the recycle bin.",
            ("CONFIRMED", "DISABLED", "ERROR"),
            "DELETING",
            "DELETED",
            orders=(),
        ),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING", "CONFIRMED", orders=()),
        _row(
            "destroy",
            "Remove it for good.",
            ("CONFIRMED", "DISABLED", "DELETED", "ERROR"),
            "DESTROYING",
            "DESTROYED",
            orders=(),
        ),
    ),
)

CLAIMS_MACHINE: dict[str, Any] = {"claims": "machine"}
"""For actions of a disk that claim its machine as well: a machine and its disks take one action at a time."""

DISK = Lifecycle(
    kind="disk",
    says="A disk, attached to a machine or lying by itself.",
    parent="cloudspace",
    queue_of="machine",
    needs=(
        AncestorCondition("cloudspace", ("DEPLOYED",)),
        AncestorCondition("machine", LIVE, named="machine", only=("assign", "attach", "restore-with-machine")),
        AncestorCondition("machine", ("DELETED", "DESTROYED"), named="machine", only=("delete-with-machine",)),
        AncestorCondition("machine", ("DESTROYED",), named="machine", only=("restore-after-machine",)),
    ),
    states=(
        stable("MODELED", "It exists on paper only.", seen=ABSENT),
        transitional("CREATING", "It is being made.", 15 * MINUTE),
        stable("CREATED", "It is there and attached to no machine."),
        transitional("ASSIGNING", "It is being made for a machine.", 15 * MINUTE),
        transitional("ATTACHING", "It is being attached to a machine.", 10 * MINUTE),
        stable("ASSIGNED", "It is attached to a machine."),
        transitional("DETACHING", "It is being detached from its machine.", 10 * MINUTE),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin by itself.", expires=RETENTION),
        stable("TOBEDELETED", "It lies in the recycle bin together with its machine.", expires=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 15 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("create", "Make it.", ("MODELED",), "CREATING", "CREATED", silent="ERROR"),
        _row(
            "assign",
            "Make it for a machine.",
            ("MODELED",),
            "ASSIGNING",
            "ASSIGNED",
            silent="ERROR",
            **CLAIMS_MACHINE,
        ),
        _row(
            "attach", "Attach it.", ("CREATED",), "ATTACHING", "ASSIGNED", respec=True, amends=True, **CLAIMS_MACHINE
        ),
        _row("detach", "Detach it from its machine.", ("ASSIGNED",), "DETACHING", "CREATED", **CLAIMS_MACHINE),
        _row("delete", "Move it to the recycle bin.", ("CREATED", "ERROR"), "DELETING", "DELETED"),
        _row(
            "delete-with-machine",
            "Move it to the recycle bin together with its machine.",
            ("ASSIGNED",),
            "DELETING",
            "TOBEDELETED",
            by=(Actor.USER, Actor.CONTROLLER),
        ),
        _row(
            "delete-after-machine",
            "Keep it in the recycle bin by itself, after its machine was destroyed.",
            ("ASSIGNED", "TOBEDELETED"),
            "DELETING",
            "DELETED",
            by=(Actor.CONTROLLER,),
            orders=("delete",),
        ),
        _row("restore", "Take it out of the recycle bin.", ("DELETED",), "RESTORING", "CREATED"),
        _row(
            "restore-after-machine",
            "Take it out of the recycle bin, after its machine was destroyed.",
            ("TOBEDELETED",),
            "RESTORING",
            "CREATED",
            by=(Actor.USER, Actor.CONTROLLER),
            orders=("restore",),
        ),
        _row(
            "restore-with-machine",
            "Take it out of the recycle bin together with its machine.",
            ("TOBEDELETED",),
            "RESTORING",
            "ASSIGNED",
            by=(Actor.USER, Actor.CONTROLLER),
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
    drifts=("CREATED", "ASSIGNED", "DELETED", "TOBEDELETED", "ERROR"),
    gone="ERROR",
    broken="ERROR",
)

IMAGE = Lifecycle(
    kind="image",
    says="What a machine's first disk is made from.",
    states=(
        stable("VIRTUAL", "It exists on paper only.", seen=ABSENT),
        transitional("CREATING", "It is being fetched and stored.", HOUR),
        stable("CREATED", "It can be used."),
        transitional("DISABLING", "It is being taken out of use.", 5 * MINUTE),
        stable("DISABLED", "It is kept and cannot be used."),
        transitional("ENABLING", "It is being put in use again.", 5 * MINUTE),
        transitional("DELETING", "It is being moved to the recycle bin.", 15 * MINUTE),
        stable("DELETED", "It lies in the recycle bin.", expires=RETENTION),
        transitional("RESTORING", "It is being taken out of the recycle bin.", 15 * MINUTE),
        transitional("DESTROYING", "It is being removed for good.", 15 * MINUTE),
        final("DESTROYED", "It was removed for good."),
        _ERROR,
    ),
    actions=(
        _row("create", "Fetch and store it.", ("VIRTUAL",), "CREATING", "CREATED", silent="ERROR"),
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
    drifts=("CREATED", "DISABLED", "DELETED", "ERROR"),
    gone="ERROR",
    broken="ERROR",
)

NODE = Lifecycle(
    kind="node",
    says="A physical host that machines run on.",
    holds="machine",
    states=(
        absent("NONE", "There is no such node."),
        stable("ENABLED", "It takes machines.", seen=""),
        _step("PUTTING_IN_MAINTENANCE", "Its machines are being moved away, unseen."),
        stable("MAINTENANCE", "Nothing runs on it, and it takes no machines.", seen=""),
        transitional("ENABLING", "It is being put in use again.", 15 * MINUTE),
        transitional("DECOMMISSIONING", "It is being taken out for good.", 30 * MINUTE),
        final("DECOMMISSIONED", "It was taken out for good."),
        _ERROR,
    ),
    actions=(
        Action("create", "Take it in.", ("NONE",), (), "ENABLED", by=ADMIN, orders=()),
        _row(
            "maintain",
            "Move its machines away and take no more.",
            ("ENABLED",),
            "PUTTING_IN_MAINTENANCE",
            "MAINTENANCE",
            by=ADMIN,
            orders=(),
        ),
        _row("enable", "Put it in use again.", ("MAINTENANCE", "ERROR"), "ENABLING", "ENABLED", by=ADMIN),
        _row(
            "decommission",
            "Take it out for good.",
            ("ENABLED", "MAINTENANCE", "ERROR"),
            "DECOMMISSIONING",
            "DECOMMISSIONED",
            by=ADMIN,
            empty_only=True,
        ),
    ),
)
