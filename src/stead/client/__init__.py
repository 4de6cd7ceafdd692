"""The Python client: `Client` for programs with an event loop, `SyncClient` for those without."""

from stead.client.client import DEFAULT_SERVER, Client
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
from stead.client.models import Accepted, Claim, Explanation, Line, Operation, Past, Problem, Rehearsal, Resource
from stead.client.sync import SyncClient

__all__ = [
    "DEFAULT_SERVER",
    "Accepted",
    "BadAnswer",
    "Claim",
    "Client",
    "Explanation",
    "Fault",
    "Invalid",
    "Line",
    "NotAllowed",
    "NotFound",
    "Operation",
    "Outdated",
    "Past",
    "Problem",
    "ProblemError",
    "Refused",
    "Rehearsal",
    "Resource",
    "SteadError",
    "StillRunning",
    "SyncClient",
    "Unavailable",
    "Unreachable",
]
