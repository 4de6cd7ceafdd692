"""The Python client: `Client` for programs with an event loop, `SyncClient` for those without."""

from stead.client.agents import AgentIdentity, Invitation, Joined
from stead.client.audit import Archive, Head, NextArchive
from stead.client.chain import Broken, Chain, ChainedLine
from stead.client.client import DEFAULT_SERVER, Client
from stead.client.doctor import Examination, Finding
from stead.client.errors import (
    BadAnswer,
    Fault,
    Invalid,
    NotAllowed,
    NotFound,
    Outdated,
    ProblemError,
    Refused,
    SteadError,
    StillRunning,
    Unavailable,
    Unreachable,
)
from stead.client.groups import OperationMember
from stead.client.lanes import LaneChange, LaneGrant, LaneGrantList
from stead.client.lasting import Lasting
from stead.client.leases import Booked, Calendar, Host, Lateness, Lease, Moment, Notice, Reserved
from stead.client.lifecycles import LifecycleName, RegisteredLifecycle, WholeLifecycle
from stead.client.logs import Log
from stead.client.models import (
    Accepted,
    Claim,
    Explanation,
    Lane,
    Line,
    Operation,
    Orphan,
    Past,
    Problem,
    Rehearsal,
    Resource,
    Serving,
    Truth,
)
from stead.client.overview import Overview, Timeline, TreeNode
from stead.client.queues import Queue, WholeQueue
from stead.client.quotas import Quota, Quotas
from stead.client.recovery import Hold
from stead.client.scaling import DemandTaken, Scaling
from stead.client.standing import Standing, StandingObserved, StandingPart, StandingUnobserved, WorstMember
from stead.client.stuck import Stuck
from stead.client.sync import SyncClient
from stead.client.systems import RunningDeploy, System, SystemChange, SystemPart, SystemPlan

__all__ = [
    "DEFAULT_SERVER",
    "Accepted",
    "AgentIdentity",
    "Archive",
    "BadAnswer",
    "Booked",
    "Broken",
    "Calendar",
    "Chain",
    "ChainedLine",
    "Claim",
    "Client",
    "DemandTaken",
    "Examination",
    "Explanation",
    "Fault",
    "Finding",
    "Head",
    "Hold",
    "Host",
    "Invalid",
    "Invitation",
    "Joined",
    "Lane",
    "LaneChange",
    "LaneGrant",
    "LaneGrantList",
    "Lasting",
    "Lateness",
    "Lease",
    "LifecycleName",
    "Line",
    "Log",
    "Moment",
    "NextArchive",
    "NotAllowed",
    "NotFound",
    "Notice",
    "Operation",
    "OperationMember",
    "Orphan",
    "Outdated",
    "Overview",
    "Past",
    "Problem",
    "ProblemError",
    "Queue",
    "Quota",
    "Quotas",
    "Refused",
    "RegisteredLifecycle",
    "Rehearsal",
    "Reserved",
    "Resource",
    "RunningDeploy",
    "Scaling",
    "Serving",
    "Standing",
    "StandingObserved",
    "StandingPart",
    "StandingUnobserved",
    "SteadError",
    "StillRunning",
    "Stuck",
    "SyncClient",
    "System",
    "SystemChange",
    "SystemPart",
    "SystemPlan",
    "Timeline",
    "TreeNode",
    "Truth",
    "Unavailable",
    "Unreachable",
    "WholeLifecycle",
    "WholeQueue",
    "WorstMember",
]
