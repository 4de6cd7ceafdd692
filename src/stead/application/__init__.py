"""The read side of the controller, and the door beside it: all that an interface may know of the engine."""

from stead.access.authorization import NotPermitted
from stead.access.caller import Caller
from stead.application.acceptance import Taken
from stead.application.archived import InArchive, not_after, not_before
from stead.application.authorized_queries import Seen
from stead.application.commands import Check, Service
from stead.application.explanation import Explanation, Rehearsal
from stead.application.group_status import Picture, Standing
from stead.application.leases import Calendar, Host, Lateness, Lease
from stead.application.logs import Log, Silent
from stead.application.models import (
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
from stead.application.overview import Overview
from stead.application.queries import View
from stead.application.stuck import Stuck
from stead.application.timeline import Timeline
from stead.application.tree import TreeNode
from stead.application.unavailable import AWAY, unavailability
from stead.controller.health.doctor import Examination
from stead.controller.kinds.kinds import Kinds, RegisteredLifecycle
from stead.controller.kinds.registry import Rejected
from stead.controller.observation.agent_identities import Agent, Identities, Invitation, Joined, NotInvited
from stead.controller.observation.agent_identities import Taken as NameTaken
from stead.controller.steps.lease_spec import MOST_HOSTS, MOST_RESERVATIONS
from stead.lifecycle.decision import Reason, Refusal
from stead.store.audit import NotArchived

__all__ = [
    "AWAY",
    "MOST_HOSTS",
    "MOST_RESERVATIONS",
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
