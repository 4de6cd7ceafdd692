"""Every problem there is: its code, and what to make of it. A code stays the same for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

TITLES: Mapping[str, tuple[int, str]] = {
    "wrong-state": (409, "The action cannot start in this state"),
    "in-progress": (409, "Another operation is under way"),
    "held": (409, "Another operation has a claim on it"),
    "parent": (409, "What it belongs to does not allow it now"),
    "quota": (409, "There is no room for it"),
    "not-empty": (409, "It still has children"),
    "no-member": (409, "No member can follow"),
    "declined": (409, "It was tried, and cannot be had"),
    "ended": (409, "The operation has ended"),
    "not-cancellable": (409, "The operation cannot be cancelled now"),
    "not-retryable": (409, "There is nothing to retry"),
    "not-queued": (409, "The operation does not wait its turn"),
    "stopping": (409, "The queue takes nothing more"),
    "not-the-actor": (403, "The action is somebody else's"),
    "not-permitted": (403, "The policies do not permit it"),
    "lane-not-allowed": (403, "The namespace may not use the lane"),
    "lane-not-served": (409, "No agent has ever served the lane"),
    "unauthenticated": (401, "Nobody can tell who asks"),
    "cross-origin": (403, "A page of another address has sent this"),
    "issuer-unavailable": (503, "The issuer of logins does not answer"),
    "unknown-action": (422, "There is no such action"),
    "needs-reason": (422, "Force needs a reason"),
    "not-forceable": (422, "The action cannot be forced"),
    "key-reused": (422, "The idempotency key was used for another request"),
    "not-invited": (403, "The invitation does not hold"),
    "has-identity": (409, "There is an agent of that name"),
    "no-identities": (409, "The cell gives no identities out"),
    "no-logs": (409, "It keeps no logs"),
    "agent-unavailable": (503, "The agent of the place does not answer"),
    "not-a-lifecycle": (422, "The document is no lifecycle"),
    "not-sound": (422, "The lifecycle is not sound"),
    "not-safe": (422, "The lifecycle leads to what must not be"),
    "not-explored": (422, "The lifecycle was not seen to its end"),
    "built-in": (409, "The kind is built in"),
    "kind-in-use": (409, "There are resources of the kind in the way"),
    "archived": (410, "It is in the archive"),
    "not-archived": (409, "The lines cannot be taken out of the journal"),
    "changed": (412, "The resource has changed"),
    "not-found": (404, "There is no such thing"),
    "other-cell": (421, "The object is in another cell"),
    "no-such-address": (404, "There is no such address"),
    "no-such-method": (405, "The address does not take this method"),
    "invalid": (422, "The request makes no sense"),
    "too-large": (413, "The body is too large"),
    "too-deep": (422, "The body is nested too deep"),
    "too-slow": (408, "The body did not arrive in time"),
    "address-too-long": (414, "The address is too long"),
    "headers-too-large": (431, "The headers are too large"),
    "rate-limited": (429, "There are too many requests of this caller or in this namespace"),
    "too-many-streams": (429, "There are too many streams of events"),
    "busy": (503, "There are too many requests at once"),
    "unavailable": (503, "The database cannot be reached"),
    "internal-error": (500, "Something went wrong here"),
}
"""Every problem there is: its code, status and title."""


class CodeHelp(NamedTuple):
    """What to make of a problem."""

    means: str
    do: str
    again: str
    """Whether the same request may be let in another time: `yes`, `no`, or on what it depends."""


HELP: Mapping[str, CodeHelp] = {
    "wrong-state": CodeHelp(
        "The action does not start in the state that the resource is in.",
        "Ask for one of `allowed_actions` first, or force it with a reason where `detail` says that it could be.",
        "when the state has changed",
    ),
    "in-progress": CodeHelp(
        "The resource is on its way to another state, and one change happens to a thing at a time.",
        "Wait for the operation in `holder`, cancel it, or send the request with `on_conflict: queue`.",
        "yes",
    ),
    "held": CodeHelp(
        "An operation on the resource, on what it is part of or on a part of it is under way; or somebody uses it.",
        "Wait for the operations in `holders`, or send the request with `on_conflict: queue`. What is in use is free "
        "when its users are gone.",
        "yes",
    ),
    "parent": CodeHelp(
        "What the resource belongs to is in a state in which it accepts no changes below it.",
        "Bring the parent to a state that `detail` names.",
        "when the parent has changed",
    ),
    "quota": CodeHelp(
        "An account or a cloudspace that the resource will belong to has as much as it may have.",
        "Destroy something there, or have an admin raise the quota that `detail` names.",
        "when there is room",
    ),
    "not-empty": CodeHelp(
        "The action is for something empty, and there are children.",
        "Remove the children first.",
        "when it is empty",
    ),
    "no-member": CodeHelp(
        "No member of the group is in a state in which it can follow, or it has none; `reasons` has a line for each.",
        "Look at the members. Bring some of them to a state in which the action starts.",
        "when members have changed",
    ),
    "declined": CodeHelp(
        "What was asked for in the words of Blazar was tried and cannot be had: no such hosts are free at that time, "
        "or the lease cannot come to such terms. It is as it was, unless `current_state` says otherwise.",
        "Ask for less, or for another time: `detail` says when there is room next, if ever.",
        "when there is room",
    ),
    "ended": CodeHelp(
        "The operation that was to be cancelled has ended.",
        "Nothing: look at its outcome.",
        "no",
    ),
    "not-cancellable": CodeHelp(
        "Nobody asked for the operation, or it is being undone, or its lifecycle has no way back from here.",
        "Wait for its end.",
        "no",
    ),
    "not-retryable": CodeHelp(
        "The operation is under way, is done, was displaced, or was planned for members that are not the same now.",
        "Wait for its end or cancel it; where it has ended, ask for the action anew.",
        "no",
    ),
    "not-queued": CodeHelp(
        "The operation waits in no queue: it has begun, or has ended.",
        "Nothing: look at the operation.",
        "no",
    ),
    "stopping": CodeHelp(
        "The queue of the resource is being emptied and takes nothing more.",
        "Ask again when it is empty: there is a new one then.",
        "yes",
    ),
    "not-the-actor": CodeHelp(
        "The action belongs to another actor: the controller, an agent, the clock or an admin.",
        "Ask for one of `allowed_actions`, or ask somebody who may.",
        "no",
    ),
    "not-permitted": CodeHelp(
        "You may see it, and the policies do not let you ask for this; `detail` says which one refuses it, if any.",
        "Ask somebody who may, or have an admin give you a role or a policy. `stead whoami` says what you have.",
        "when the policies have changed",
    ),
    "lane-not-allowed": CodeHelp(
        "What is asked for would be on a lane, or names one, that its namespace was not given; `detail` names those "
        "that it may use.",
        "Name a lane that the namespace may use (`stead lane grants --namespace NAMESPACE`), or have an admin allow "
        "it: `stead lane allow LANE NAMESPACE`.",
        "when the lane is allowed",
    ),
    "lane-not-served": CodeHelp(
        "What is asked for would be on a lane, or names one, that no agent has ever served; `detail` names the "
        "nearest lane that the namespace may use.",
        "Correct the name, or run an agent for the lane. Where the agent is to come later: `--expect-agent`, or "
        "`expect_agent` in the body.",
        "when an agent serves the lane",
    ),
    "unauthenticated": CodeHelp(
        "The request shows no token and no login, or one that is expired, revoked or of another server.",
        "`stead login`, or give a token: in `STEAD_TOKEN`, or as `Authorization: Bearer`.",
        "with a token",
    ),
    "cross-origin": CodeHelp(
        "A browser has sent the cookie of a login along with a change that a page of another address asks for.",
        "Nothing: it is refused so that no page can act in your name. Programs show a token instead of a cookie.",
        "no",
    ),
    "issuer-unavailable": CodeHelp(
        "The token is of an issuer whose keys cannot be read now.",
        "Try again; the server's log says what is wrong with the issuer.",
        "yes",
    ),
    "unknown-action": CodeHelp(
        "The kind has no action of that name.",
        "Ask for one of those that `detail` names; `stead lifecycle show` has them, too.",
        "no",
    ),
    "needs-reason": CodeHelp(
        "`force` came without a `reason`, which is kept in the journal.",
        "Say why.",
        "no",
    ),
    "not-forceable": CodeHelp(
        "The action cannot be forced.",
        "Ask for it without `force`.",
        "no",
    ),
    "key-reused": CodeHelp(
        "The idempotency key came with another request before.",
        "Take a new key for a new request.",
        "no",
    ),
    "not-invited": CodeHelp(
        "The token is none, was used, is over, or is for an agent of another name.",
        "Ask for another: `stead agent invite`.",
        "no",
    ),
    "has-identity": CodeHelp(
        "An agent of that name has joined, and two of the same name cannot be told apart.",
        "Take another name, or revoke the one that has it.",
        "when that one was revoked",
    ),
    "no-identities": CodeHelp(
        "The server runs without an identity of its own, on a bus that lets everybody in.",
        "Run it with `--identity`; `stead pki init` makes one.",
        "when it does",
    ),
    "no-logs": CodeHelp(
        "The resource writes nothing that anybody keeps: it is no process, or the driver of its lane knows no logs.",
        "Ask for the logs of an app at a site whose driver has them.",
        "no",
    ),
    "agent-unavailable": CodeHelp(
        "What was asked for is known at the place alone, and nobody who serves it answers, or can say it now.",
        "Wait until the agent is back; `stead lane list` says who serves a lane, and when it was last heard of.",
        "yes",
    ),
    "not-a-lifecycle": CodeHelp(
        "The document of a lifecycle cannot be read; `errors` has a line for all that is wrong with it.",
        "Mend the document; `stead lifecycle lint` says the same without a server.",
        "no",
    ),
    "not-sound": CodeHelp(
        "The linter has findings, or the document names kinds that are not there; `errors` has a line for each.",
        "Mend the document; each finding says how.",
        "no",
    ),
    "not-safe": CodeHelp(
        "The explorer has found an order of events after which something is as it must not be; `detail` tells the "
        "shortest one.",
        "Mend the document, and try it with `stead lifecycle explore`.",
        "no",
    ),
    "not-explored": CodeHelp(
        "The lifecycle has more worlds than a server explores, or exploring it takes too long. What was not seen to "
        "its end is not put in force.",
        "Make it smaller: fewer actions that can be under way at once, fewer states on the way.",
        "no",
    ),
    "built-in": CodeHelp(
        "Kinds that are built in can be neither replaced nor unregistered.",
        "Take another name for the kind.",
        "no",
    ),
    "kind-in-use": CodeHelp(
        "Resources are in states, or operations are under way or wait, that the new document lacks or changes; or "
        "the kind is to go, and there are resources of it. `detail` says which and how many.",
        "Bring these resources to another state, or let the operations end; or keep the states.",
        "when they are gone",
    ),
    "archived": CodeHelp(
        "Lines of the journal that it takes are in files only: they were archived.",
        "Look into the files; `detail` names the last of them. To follow the journal, begin after the position that "
        "`detail` names.",
        "no",
    ),
    "not-archived": CodeHelp(
        "What is in the file is not what is in the database, or the database has more lines from then by now.",
        "Run `stead journal archive` again, which writes the file anew. If it stays so, run `stead journal verify`.",
        "when the file is right",
    ),
    "changed": CodeHelp(
        "The resource is not in the version that `If-Match` names any more; `ETag` has the version it is in.",
        "Read it again, and decide again.",
        "no",
    ),
    "not-found": CodeHelp(
        "There is no such resource, operation, kind, lane or orphan.",
        "Look at the path or the id.",
        "when it is there",
    ),
    "other-cell": CodeHelp(
        "The address names a cell, and the server belongs to another one.",
        "Send the request to a server of that cell, or have the router in front of the cells send it there.",
        "at another server",
    ),
    "no-such-address": CodeHelp(
        "No endpoint has this path.",
        "Look at the path; [the HTTP API](api.md) has all of them.",
        "no",
    ),
    "no-such-method": CodeHelp(
        "The endpoint is there, and does not take this method.",
        "Take one of those in the header `Allow`.",
        "no",
    ),
    "invalid": CodeHelp(
        "A parameter, a header or the body is missing, unknown or malformed; `errors` says which and why.",
        "Mend the request.",
        "no",
    ),
    "too-large": CodeHelp(
        "The body has more bytes, or more items in it, than the server takes; `detail` says how many it takes.",
        "Ask for less at a time: an infrastructure can be made of several.",
        "no",
    ),
    "too-deep": CodeHelp(
        "The body is JSON that is nested deeper than the server takes.",
        "Mend the request.",
        "no",
    ),
    "too-slow": CodeHelp(
        "The body was announced, and was not there in time. Nothing was done.",
        "Send the same request again, over a better connection.",
        "yes",
    ),
    "address-too-long": CodeHelp(
        "Path and query together have more bytes than the server takes.",
        "Shorten them.",
        "no",
    ),
    "headers-too-large": CodeHelp(
        "The headers together have more bytes than the server takes.",
        "Send fewer, or shorter ones.",
        "no",
    ),
    "rate-limited": CodeHelp(
        "The caller, or all callers of a namespace together, ask more often than `--rate` allows; or the caller has "
        "too many requests in hand. Nothing was done.",
        "Wait as long as `retry_after` says; the client does so by itself.",
        "yes",
    ),
    "too-many-streams": CodeHelp(
        "The caller, or all of them together, have as many streams of `/v1/events` open as there may be.",
        "Close some. One stream can follow everything.",
        "yes",
    ),
    "busy": CodeHelp(
        "The server has as many requests in hand as it takes. Nothing was done.",
        "Wait as long as `retry_after` says; the client does so by itself.",
        "yes",
    ),
    "unavailable": CodeHelp(
        "The database has not answered for 4 s, is read-only, or has no space left. A change may have been made.",
        "Send the same request with the same idempotency key: it is accepted once.",
        "yes",
    ),
    "internal-error": CodeHelp(
        "A fault of the server. What it was stands in its log, under `request_id`.",
        "Send the same request under the same idempotency key; report it if it comes again.",
        "yes",
    ),
}
"""What to make of every problem there is."""
