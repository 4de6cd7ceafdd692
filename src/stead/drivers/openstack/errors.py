"""What the errors of OpenStack's services mean for whoever asked: was it done, may it be done, will it ever work."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from keystoneauth1 import exceptions as auth
from openstack.exceptions import SDKException

from stead.drivers.base import DriverError, PermanentError, RetryableError, ThrottledError, UnreachableError

REQUEST_ID_HEADER = "x-openstack-request-id"
"""What every answer carries that is a service's own, and none of somebody in between."""

THROTTLE_PAUSE = 2.0
"""Seconds to wait where there were too many calls and nobody said how long."""


class DeadlineError(Exception):
    """The time in which a call may be sent was over before it was sent."""


class NotSentError(Exception):
    """There was no connection: nothing can have been done."""


class NoAnswerError(Exception):
    """It was sent, and there was no answer."""


class RejectedError(PermanentError):
    """The service's own no. It has done nothing."""

    def __init__(self, message: str, *, status: int, detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.status = status


def translate(error: Exception, *, acted: bool) -> DriverError:
    """What an exception means; `acted` says whether anything may have been done."""
    if isinstance(error, DeadlineError):
        return RetryableError("there was no time left to ask the provider", unknown=acted, detail=repr(error))
    if isinstance(error, NotSentError):
        return UnreachableError("the provider cannot be reached", unknown=acted, detail=repr(error))
    if isinstance(error, auth.EndpointNotFound | auth.EmptyCatalog | auth.MissingRequiredOptions):
        return PermanentError(f"the provider has no such service here: {error}", detail=repr(error))
    if isinstance(error, auth.Unauthorized):
        return RetryableError(f"the provider does not let us in: {error.message}", unknown=acted, detail=repr(error))
    if isinstance(error, auth.ClientException | SDKException):
        return RetryableError(f"the provider cannot be asked: {error}", unknown=acted, detail=repr(error))
    return RetryableError("the provider's answer did not come", unknown=acted, detail=repr(error))


def error_of(status: int, headers: Mapping[str, str], body: bytes, where: str, *, acted: bool) -> DriverError:
    """What an answer means that is no success. `acted`: something may have been done before, or by this."""
    message = words(body) or f"the provider answered {status}"
    detail = f"{status} {where}, request {headers.get(REQUEST_ID_HEADER, 'unknown')}"
    after = pause(headers)
    if status in (413, 429):
        return ThrottledError(message, after=THROTTLE_PAUSE if after is None else after, detail=detail)
    after = 1.0 if after is None else after
    if status == 401:
        return RetryableError(message, after=after, detail=detail)
    if 400 <= status < 500 and REQUEST_ID_HEADER in headers:
        return RejectedError(message, status=status, detail=detail)
    # Somebody in between says nothing about what the service has; an error on their side, not how far they had come.
    return RetryableError(message, after=after, unknown=acted, detail=detail)


def pause(headers: Mapping[str, str]) -> float | None:
    """So many seconds are to be waited, if it says so."""
    said = headers.get("retry-after", "")
    return float(said) if said.replace(".", "", 1).isdecimal() else None


def words(body: bytes) -> str:
    """The service's own words: every one of them wraps them in another way."""
    try:
        said = msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return ""
    while isinstance(said, dict) and said:
        said = said.get("message") or next((value for value in said.values() if isinstance(value, dict)), None)
    return " ".join(said.replace("<br />", " ").split()) if isinstance(said, str) else ""
