"""The read side of the controller, and the door beside it: all that an interface may know of the engine."""

from stead.access.caller import Caller
from stead.controller.doctor import Examination
from stead.controller.identities import Agent, Identities, Invitation, Joined, NotInvited
from stead.controller.identities import Taken as NameTaken
from stead.controller.kinds import Kinds, RegisteredLifecycle
from stead.controller.registering import Rejected
from stead.controller.view.acceptance import Taken
from stead.controller.view.archived import InArchive, not_after, not_before
from stead.controller.view.explanation import Explanation, Rehearsal
from stead.controller.view.leases import Calendar, Host, Lateness, Lease
from stead.controller.view.logs import Log, Silent
from stead.controller.view.overview import Overview
from stead.controller.view.permission import NotPermitted
from stead.controller.view.reading import View
from stead.controller.view.seen import Seen
from stead.controller.view.service import Check, Service
from stead.controller.view.standing import Picture, Standing
from stead.controller.view.stuck import Stuck
from stead.controller.view.things import (
    Asked,
    Claim,
    Lane,
    Line,
    Missing,
    Operation,
    OperationMember,
    Orphan,
    Outdated,
    Page,
    Past,
    Queue,
    Resource,
    ResourcePage,
    Running,
    Truth,
    Unfit,
    WholeQueue,
    whole_queue,
)
from stead.controller.view.timeline import Timeline
from stead.controller.view.tree import TreeNode
from stead.controller.view.unavailable import AWAY, unavailability
from stead.lifecycle.decision import Reason, Refusal
from stead.store.audit import NotArchived

__all__ = [
    "AWAY",
    "Agent",
    "Asked",
    "Calendar",
    "Caller",
    "Check",
    "Claim",
    "Examination",
    "Explanation",
    "Host",
    "Identities",
    "InArchive",
    "Invitation",
    "Joined",
    "Kinds",
    "Lane",
    "Lateness",
    "Lease",
    "Line",
    "Log",
    "Missing",
    "NameTaken",
    "NotArchived",
    "NotInvited",
    "NotPermitted",
    "Operation",
    "OperationMember",
    "Orphan",
    "Outdated",
    "Overview",
    "Page",
    "Past",
    "Picture",
    "Queue",
    "Reason",
    "Refusal",
    "RegisteredLifecycle",
    "Rehearsal",
    "Rejected",
    "Resource",
    "ResourcePage",
    "Running",
    "Seen",
    "Service",
    "Silent",
    "Standing",
    "Stuck",
    "Taken",
    "Timeline",
    "TreeNode",
    "Truth",
    "Unfit",
    "View",
    "WholeQueue",
    "not_after",
    "not_before",
    "unavailability",
    "whole_queue",
]
