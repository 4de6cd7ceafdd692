"""What interfaces use of the layers below the application; all else they import from the modules of this package."""

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
    "MAX_HOSTS",
    "MAX_RESERVATIONS",
    "Accepted",
    "ActionRequest",
    "Agent",
    "AgentIdentities",
    "ArchivingFailed",
    "HealthReport",
    "InvalidDocument",
    "Invitation",
    "InvitationRejected",
    "JoinedAgent",
    "Kinds",
    "NameInUse",
    "NotFound",
    "OnConflict",
    "OnFailure",
    "OnPartial",
    "Reason",
    "RegisteredLifecycle",
    "Rejection",
]
