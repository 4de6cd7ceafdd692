"""Systems: trees of services, deployed in parallel where it is safe.

A system's state is the worst of its services'. Deploys and teardowns change its definition and not its state: they
run beside each other, each with its claim on a path of the tree.
"""

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    HOUR,
    MINUTE,
    Action,
    Actor,
    Awaits,
    Fold,
    absent,
    final,
    moving,
    settled,
)

WORST_FIRST = ("degraded", "updating", "scaling", "stable")

SYSTEM = Lifecycle(
    kind="system",
    says="A tree of services, run as one thing.",
    members="service",
    states=(
        absent("absent", "There is no such system."),
        moving("pending", "It is being checked, and what it needs is being made.", 15 * MINUTE, Awaits.STEP),
        final("failed", "It could not be set up; it can only be deleted.", seen=""),
        settled("stable", "Every service is as it should be.", seen=""),
        moving("updating", "A service is not yet as it was last defined.", 4 * HOUR, Awaits.CHILDREN),
        moving("scaling", "A service is changing its size.", 4 * HOUR, Awaits.CHILDREN),
        settled("degraded", "A service has failed.", seen=""),
        moving("deleting", "Its services are being taken down.", 2 * HOUR, Awaits.CHILDREN),
    ),
    actions=(
        Action(
            "create",
            "Set it up.",
            ("absent",),
            ("pending",),
            "stable",
            fails="failed",
            orders=(),
            undo="leave",
            joins=False,
        ),
        Action(
            "deploy",
            "Define what runs at a path and below it.",
            ("stable", "updating", "scaling", "degraded"),
            (),
            "(back)",
            beside=True,
        ),
        Action(
            "teardown",
            "Take down every service.",
            ("stable", "updating", "scaling", "degraded"),
            (),
            "(back)",
            beside=True,
        ),
        Action(
            "delete",
            "Cancel what is going on, take everything down, forget it.",
            ("stable", "degraded", "failed"),
            ("deleting",),
            "absent",
            fails="failed",
            orders=(),
            undo="leave",
            members="delete",
            outranks=True,
        ),
    ),
    fold=Fold.WORST,
    order=WORST_FIRST,
)

SERVICE = Lifecycle(
    kind="service",
    says="So many copies of one program, kept running.",
    parent="system",
    states=(
        absent("absent", "There is no such service."),
        moving("pending", "Its first copies are being started.", 30 * MINUTE),
        settled("stable", "All copies run as defined."),
        moving("updating", "Copies are being replaced by newer ones.", 2 * HOUR),
        moving("scaling", "Copies are being added or removed.", HOUR),
        settled("failed", "Copies do not run as they should.", seen=""),
        moving("deleting", "Its copies are being taken down.", HOUR),
    ),
    actions=(
        Action(
            "create",
            "Start it.",
            ("absent",),
            ("pending",),
            "stable",
            fails="failed",
            by=(Actor.CONTROLLER,),
            undo="leave",
            joins=False,
        ),
        Action(
            "update",
            "Replace its copies by newer ones.",
            ("stable", "failed"),
            ("updating",),
            "stable",
            fails="failed",
            by=(Actor.CONTROLLER,),
            undo="leave",
            respec=True,
            joins=False,
        ),
        Action(
            "scale",
            "Run more copies or fewer.",
            ("stable",),
            ("scaling",),
            "stable",
            fails="failed",
            by=(Actor.CONTROLLER,),
            undo="leave",
            respec=True,
            joins=False,
        ),
        Action(
            "delete",
            "Take it down.",
            ("stable", "failed"),
            ("deleting",),
            "absent",
            fails="failed",
            by=(Actor.CONTROLLER,),
            undo="leave",
            outranks=True,
        ),
    ),
    drifts=("stable", "failed"),
    gone="failed",
    broken="failed",
)
