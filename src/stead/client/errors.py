"""What can go wrong for a caller: the server said no, and its problem says why; or nobody could be asked."""

from __future__ import annotations

from stead.client.models import Operation, Problem


class SteadError(Exception):
    """Anything that a client raises."""


class Unreachable(SteadError):
    """No server answered. A change that was asked for may have been let in: the same key finds out."""


class InvalidResponse(SteadError):
    """Something answered that is no server of ours, or one that this client does not understand."""


class WaitTimeout(SteadError, TimeoutError):
    """The operation goes on; only the waiting has ended."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(f"{operation.action} of {operation.path} is still under way")
        self.operation = operation


class ProblemError(SteadError):
    """The server said no."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title or problem.code)
        self.problem = problem

    @property
    def retry_after(self) -> int | None:
        """Seconds after which asking again makes sense; None where the server names none."""
        return self.problem.retry_after


class Rejected(ProblemError):
    """Something is in the way: the state, another operation, a parent, children."""


class Forbidden(ProblemError):
    """It is not the caller's to ask for."""


class NotFound(ProblemError):
    """There is no such thing."""


class VersionMismatch(ProblemError):
    """The resource is no longer in the version that was named."""


class InvalidRequest(ProblemError):
    """The request makes no sense, in whatever state."""


class Unavailable(ProblemError):
    """Not now; nothing is wrong with the request."""


class ServerError(ProblemError):
    """Something went wrong in the server."""


_BY_STATUS = {401: Forbidden, 403: Forbidden, 404: NotFound, 409: Rejected, 412: VersionMismatch, 429: Unavailable}
_BY_STATUS |= {502: Unavailable, 503: Unavailable, 504: Unavailable}


def error_of(problem: Problem) -> ProblemError:
    """The error that a problem is raised as."""
    kind = _BY_STATUS.get(problem.status, ServerError if problem.status >= 500 else InvalidRequest)
    return kind(problem)
