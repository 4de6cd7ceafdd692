"""What libvirt's errors mean for whoever made the call."""

from __future__ import annotations

import libvirt

from stead.drivers.base import DriverError, PermanentError, RetryableError

_MISSING = frozenset({libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_NO_NETWORK, libvirt.VIR_ERR_NO_DOMAIN_METADATA})

_NEVER = frozenset(
    {
        libvirt.VIR_ERR_NO_SUPPORT,
        libvirt.VIR_ERR_INVALID_ARG,
        libvirt.VIR_ERR_XML_ERROR,
        libvirt.VIR_ERR_XML_DETAIL,
        libvirt.VIR_ERR_XML_INVALID_SCHEMA,
        libvirt.VIR_ERR_OS_TYPE,
        libvirt.VIR_ERR_CONFIG_UNSUPPORTED,
        libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED,
        libvirt.VIR_ERR_OPERATION_DENIED,
        libvirt.VIR_ERR_AUTH_FAILED,
        libvirt.VIR_ERR_AUTH_CANCELLED,
        libvirt.VIR_ERR_DOM_EXIST,
    }
)
"""libvirt's own no, which it would say again."""

_UNANSWERED = frozenset({libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE})
"""Who speaks here is the wire, not libvirt on the other side."""


class NoAnswer(RetryableError):
    """Nobody has said anything on what was asked."""


class Missing(PermanentError):
    """libvirt has answered, and does not have it."""


def meaning(error: libvirt.libvirtError, *, alive: bool, acted: bool, before: bool) -> DriverError:
    """What to raise instead. Who answers with a no has done nothing; of a connection that has died nobody knows."""
    words = str(error).strip() or "libvirt gave no reason"
    detail = f"{error.get_error_code()} of {error.get_error_domain()}: {words}"
    if not alive or error.get_error_domain() in _UNANSWERED:
        return NoAnswer("libvirt's answer did not come", unknown=acted, detail=detail)
    if error.get_error_code() in _MISSING:
        return Missing(f"libvirt says: {words}", detail=detail)
    if error.get_error_code() in _NEVER:
        return PermanentError(f"libvirt says: {words}", detail=detail)
    return RetryableError(f"libvirt says: {words}", unknown=before, detail=detail)
