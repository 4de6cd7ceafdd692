"""What the simulated cloud and those who speak to it say to each other, in JSON.

An error of the whole call is a `Problem` with its HTTP status; what happened to single instances is an `Answer` each,
in the order of the request.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ORDER_HEADER = "x-order-token"
"""The header in which a caller names the order it works on; kept with every deed."""

OWNER_TAG = "owner"
PATH_TAG = "path"
TOKEN_TAG = "token"
"""Only on what appeared by itself: whoever made it may have written anything."""

BREAKS = "breaks"
"""The field of a spec with which an instance comes out broken; in it stands what it says of that."""

COLLECTIONS = {
    "instances": "vm",
    "networks": "network",
    "securitygroups": "securitygroup",
    "sshkeys": "sshkey",
    "clusterinsts": "clusterinst",
    "appinsts": "appinst",
    "reservations": "reservation",
}
"""What there is under a region, and the kind that it is. What VMs share is made and removed as they are, and so are
clusters and the apps in them, which besides can be changed. A rack has hosts handed over to a reservation."""

MAX_PAGE = 1000
"""Instances in one request, and on one page."""

RETRYABLE = frozenset({"InternalError", "InsufficientCapacity", "RequestLimitExceeded"})
"""Codes after which the same request may work."""


class Error(Struct, frozen=True):
    """Why something was not done."""

    code: str
    message: str


class Problem(Struct, frozen=True, omit_defaults=True):
    """The body of every answer that is no success."""

    error: Error
    retry_after: float | None = None
    """Seconds; the header has it in whole ones."""


class Ask(Struct, frozen=True, forbid_unknown_fields=True):
    """One instance to be made."""

    token: str
    spec: dict[str, Any] = {}
    tags: dict[str, str] = {}
    revision: int = 0
    """Of the spec, as the caller counts; it is kept and shown."""


class CreateBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST …/instances."""

    instances: list[Ask]


class Pick(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One instance to act on: by id or, where that finds nothing, by token."""

    id: str = ""
    token: str = ""
    spec: dict[str, Any] = {}
    """With `update` and `restore`: what it is to be like."""
    revision: int = 0
    tags: dict[str, str] = {}
    """With `restore`: of what is made because it is not there."""


class ActBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST …/instances/{verb}."""

    instances: list[Pick]


Did = Literal["made", "found", "done", "idle", "gone", "failed"]
"""Made anew; made before under that token; done; nothing to do; not there; not done."""


class Answer(Struct, frozen=True, omit_defaults=True):
    """What became of one instance of the request."""

    did: Did
    id: str = ""
    token: str = ""
    state: str = ""
    error: Error | None = None


class Answers(Struct, frozen=True):
    """The answer to a creation or a verb."""

    answers: list[Answer]


class Instance(Struct, frozen=True):
    """An instance as a look shows it."""

    id: str
    token: str
    state: str
    spec: dict[str, Any]
    tags: dict[str, str]
    made_at: float
    revision: int = 0


class Page(Struct, frozen=True, omit_defaults=True):
    """The answer to a look."""

    instances: list[Instance]
    next: str = ""
    """Give it as `after` to see more."""


class Offered(Struct, frozen=True):
    """GET …/offers: what an instance's spec may name."""

    spec: list[str]
    image: list[str]


class Drift(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /v1/_drift: something happens behind everybody's back."""

    do: Literal["stop", "start", "break", "delete", "create"]
    provider: str
    region: str
    ids: list[str] = []
    tokens: list[str] = []
    count: int = 1
    """With `create`: how many instances appear that nobody asked for."""
    spec: dict[str, Any] = {}
    tags: dict[str, str] = {}
    kind: str = "vm"
    """With `create`: of what kind they are."""


class Drifted(Struct, frozen=True):
    """The instances it happened to."""

    ids: list[str]
