"""What EC2's errors mean for whoever made the call: was it done, may it be done, and will it ever work.

EC2 says so by codes, not by status: an account that asks too often and a server that fell over both answer 503.
"""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime
from typing import Any

import msgspec
from botocore import exceptions as boto
from msgspec import Struct

from stead.drivers.base import DriverError, PermanentError, RetryableError, ThrottledError, UnreachableError

THROTTLING = frozenset(
    (
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    )
)
"""There were too many calls, and this one was not looked at."""

NO_CAPACITY = frozenset(
    (
        "InsufficientCapacity",
        "InsufficientHostCapacity",
        "InsufficientInstanceCapacity",
        "InsufficientReservedInstanceCapacity",
    )
)
"""There is no room at the moment, and nothing was made. It comes with a status that says less."""

MAX_SKEW_SECONDS = 60.0
"""Seconds between the clock of this machine and the provider's from which an error names the clock."""

STALE = frozenset(("ExpiredToken", "ExpiredTokenException", "RequestExpired"))
"""The credentials ran out under way, and are renewed before the next call."""

SOME = frozenset(
    (
        "IncorrectInstanceState",
        "IncorrectState",
        "InvalidInstanceID.Malformed",
        "InvalidInstanceID.NotFound",
        "OperationNotPermitted",
        "UnsupportedOperation",
    )
)
"""Some instance of the call is at fault, and all of them were refused for it."""

REMOVED = "IdempotentInstanceTerminated"
"""What this client token launched has been there, and was terminated."""

MISMATCH = "IdempotentParameterMismatch"
"""This client token has launched something else."""

DEPENDENT = "DependencyViolation"
"""Something else needs it, and has to go first."""

THROTTLE_PAUSE = 2.0
"""Seconds to wait where there were too many calls and EC2 did not say how long; in them it grants four launches."""

CAPACITY_PAUSE = 10.0
"""Seconds to wait where there was no room."""

# Raised before anything was sent.
_UNSENT = (
    boto.ConnectTimeoutError,
    boto.EndpointConnectionError,
    boto.ProxyConnectionError,
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
)

# Our own mistake, or that of whoever wrote the spec; botocore finds it before anything is sent.
_WRONG = (boto.ParamValidationError, boto.UnknownEndpointError, boto.InvalidEndpointDiscoveryConfigurationError)


class DeadlineError(Exception):
    """The time in which a call may be sent was over before it was sent."""


class RejectedError(PermanentError):
    """EC2 answered with an error, and did nothing."""

    def __init__(self, code: str, said: str, *, detail: str = "") -> None:
        super().__init__(f"{code}: {said}", detail=detail)
        self.code = code

    @property
    def absent(self) -> bool:
        """It says that something is not there: gone, or made a moment ago and not yet known everywhere."""
        return self.code.endswith(".NotFound")


class _Said(Struct, rename="pascal"):
    code: str = "Unknown"
    message: str = ""


class _About(Struct):
    status: int = msgspec.field(name="HTTPStatusCode", default=0)
    headers: dict[str, str] = msgspec.field(name="HTTPHeaders", default_factory=dict)
    request: str = msgspec.field(name="RequestId", default="")


def meaning(error: Exception) -> DriverError:
    """What an exception of botocore's means."""
    if isinstance(error, boto.ClientError):
        return _answered(error.response)
    if isinstance(error, DeadlineError):
        return RetryableError("there was no time left to ask the provider", detail=repr(error))
    if isinstance(error, _WRONG):
        return PermanentError(f"the provider cannot be asked for this: {error}", detail=repr(error))
    if isinstance(error, _UNSENT):
        return UnreachableError("the provider cannot be reached", detail=repr(error))
    return RetryableError("the provider's answer did not come", unknown=True, detail=repr(error))


def _answered(response: Any) -> DriverError:
    said = msgspec.convert(response.get("Error", {}), _Said)
    about = msgspec.convert(response.get("ResponseMetadata", {}), _About)
    message = f"{said.code}: {said.message}{_clock(about)}"
    detail = f"{about.status} {said.code}, request {about.request}"
    if said.code in THROTTLING:
        asked = about.headers.get("retry-after", "")
        return ThrottledError(message, after=float(asked) if asked.isdecimal() else THROTTLE_PAUSE, detail=detail)
    if said.code in NO_CAPACITY:
        return RetryableError(message, after=CAPACITY_PAUSE, detail=detail)
    if said.code in STALE:
        return RetryableError(message, detail=detail)
    if about.status >= 500:
        # An error on their side says nothing about how far they had come.
        return RetryableError(message, unknown=True, detail=detail)
    return RejectedError(said.code, f"{said.message}{_clock(about)}", detail=detail)


def _clock(about: _About) -> str:
    """How far off the clock of this machine is, where the provider may reject signed requests for that."""
    try:
        there = email.utils.parsedate_to_datetime(about.headers["date"])
        ahead = (datetime.now(UTC) - there).total_seconds()
    except (KeyError, ValueError, TypeError):
        return ""
    if about.status >= 500 or abs(ahead) < MAX_SKEW_SECONDS:
        return ""
    word = "ahead of" if ahead > 0 else "behind"
    return f" (the clock of this agent's machine is {abs(ahead):.0f} s {word} the provider's: run an NTP client)"
