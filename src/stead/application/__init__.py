"""What interfaces call: queries, commands and dry runs, and the models that they answer with."""

from stead.access.authorization import NotPermitted
from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.application.acceptance import ActionAnswer
from stead.application.archived import LinesArchived
from stead.application.cell_commands import CellCommands
from stead.application.commands import Application, Check
from stead.application.explanation import DryRun, Explanation
from stead.application.group_status import GroupStatus, GroupView
from stead.application.leases import Calendar, Host, Lateness, Lease
from stead.application.logs import Log, LogUnavailable
from stead.application.models import (
    Claim,
    DriftReport,
    HistoricalResource,
    InvalidRequest,
    JournalLine,
    Lane,
    Operation,
    OperationMember,
    Orphan,
    Page,
    Queue,
    QueueDetail,
    Resource,
    ResourcePage,
    RunningOperation,
    VersionMismatch,
    whole_queue,
)
from stead.application.overview import Overview
from stead.application.queries import Queries
from stead.application.stuck import Stuck
from stead.application.timeline import Timeline
from stead.application.tree import TreeNode
from stead.application.unavailable import AWAY, unavailability
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.health.doctor import HealthReport
from stead.controller.kinds.kinds import Kinds, RegisteredLifecycle
from stead.controller.kinds.registry import InvalidDocument
from stead.controller.observation.agent_identities import (
    Agent,
    AgentIdentities,
    Invitation,
    InvitationRejected,
    JoinedAgent,
    NameInUse,
)
from stead.controller.steps.lease_spec import MAX_HOSTS, MAX_RESERVATIONS
from stead.lifecycle.decision import Reason, Rejection
from stead.lifecycle.events import OnConflict
from stead.lifecycle.snapshot import OnFailure, OnPartial
from stead.store.archives import ArchivingFailed

__all__ = [
    "AWAY",
    "MAX_HOSTS",
    "MAX_RESERVATIONS",
    "Accepted",
    "ActionAnswer",
    "ActionRequest",
    "Agent",
    "AgentIdentities",
    "Application",
    "ArchivingFailed",
    "Authorized",
    "Calendar",
    "Caller",
    "CellCommands",
    "Check",
    "Claim",
    "DriftReport",
    "DryRun",
    "Explanation",
    "GroupStatus",
    "GroupView",
    "HealthReport",
    "HistoricalResource",
    "Host",
    "InvalidDocument",
    "InvalidRequest",
    "Invitation",
    "InvitationRejected",
    "JoinedAgent",
    "JournalLine",
    "Kinds",
    "Lane",
    "Lateness",
    "Lease",
    "LinesArchived",
    "Log",
    "LogUnavailable",
    "NameInUse",
    "NotFound",
    "NotPermitted",
    "OnConflict",
    "OnFailure",
    "OnPartial",
    "Operation",
    "OperationMember",
    "Orphan",
    "Overview",
    "Page",
    "Queries",
    "Queue",
    "QueueDetail",
    "Reason",
    "RegisteredLifecycle",
    "Rejection",
    "Resource",
    "ResourcePage",
    "RunningOperation",
    "Stuck",
    "Timeline",
    "TreeNode",
    "VersionMismatch",
    "unavailability",
    "whole_queue",
]
