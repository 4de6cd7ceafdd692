"""The read side of the controller, and the door beside it: all that an interface may know of the engine."""

from stead.access.caller import Caller
from stead.controller.identities import Identities, Invitation, Joined, Member, NotInvited
from stead.controller.identities import Taken as NameTaken
from stead.controller.kinds import Kinds, Registered
from stead.controller.registering import Rejected
from stead.controller.view.acceptance import Taken
from stead.controller.view.archived import InArchive, not_after, not_before
from stead.controller.view.logs import Silent, Written
from stead.controller.view.permission import NotPermitted
from stead.controller.view.reading import View
from stead.controller.view.seen import Seen
from stead.controller.view.service import Check, Service
from stead.controller.view.standing import Picture, Standing
from stead.controller.view.things import (
    Asked,
    Claim,
    Explanation,
    Lane,
    Line,
    Listed,
    Missing,
    Operation,
    Orphan,
    Outdated,
    Past,
    Queue,
    Rehearsal,
    Resource,
    Running,
    Truth,
    Unfit,
)
from stead.controller.view.unavailable import AWAY, unavailability
from stead.lifecycle.decision import Refusal
from stead.store.audit import NotArchived

__all__ = [
    "AWAY",
    "Asked",
    "Caller",
    "Check",
    "Claim",
    "Explanation",
    "Identities",
    "InArchive",
    "Invitation",
    "Joined",
    "Kinds",
    "Lane",
    "Line",
    "Listed",
    "Member",
    "Missing",
    "NameTaken",
    "NotArchived",
    "NotInvited",
    "NotPermitted",
    "Operation",
    "Orphan",
    "Outdated",
    "Past",
    "Picture",
    "Queue",
    "Refusal",
    "Registered",
    "Rehearsal",
    "Rejected",
    "Resource",
    "Running",
    "Seen",
    "Service",
    "Silent",
    "Standing",
    "Taken",
    "Truth",
    "Unfit",
    "View",
    "Written",
    "not_after",
    "not_before",
    "unavailability",
]
