"""What interfaces call: queries, commands and dry runs, and the models that they answer with."""

from stead.access.authorization import NotPermitted
from stead.access.caller import Caller
from stead.application.acceptance import AcceptedRequest
from stead.application.archived import LinesArchived, not_after, not_before
from stead.application.authorized_queries import AuthorizedQueries
from stead.application.commands import Application, Check
from stead.application.explanation import DryRun, Explanation
from stead.application.group_status import GroupStatus, GroupView
from stead.application.leases import Calendar, Host, Lateness, Lease
from stead.application.logs import Log, LogUnavailable
from stead.application.models import (
    Asked,
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
    ResourceNotFound,
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
from stead.controller.steps.lease_spec import MOST_HOSTS, MOST_RESERVATIONS
from stead.lifecycle.decision import Reason, Rejection
from stead.store.archives import ArchivingFailed

__all__ = [
    "AWAY",
    "MOST_HOSTS",
    "MOST_RESERVATIONS",
    "AcceptedRequest",
    "Agent",
    "AgentIdentities",
    "Application",
    "ArchivingFailed",
    "Asked",
    "AuthorizedQueries",
    "Calendar",
    "Caller",
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
    "NotPermitted",
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
    "ResourceNotFound",
    "ResourcePage",
    "RunningOperation",
    "Stuck",
    "Timeline",
    "TreeNode",
    "VersionMismatch",
    "not_after",
    "not_before",
    "unavailability",
    "whole_queue",
]
