"""What the clock does to leases, and what is done where hosts fail.

A moment that has come is asked for as anybody asks: the lease moves, and its events with it, in one transaction. So a
moment comes once, whoever sees it first and whoever dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.steps import CONTROLLER
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Cancel, OnConflict
from stead.lifecycle.rows import HOUR, Actor

log = logging.getLogger(__name__)

BATCH = 100
"""Leases that are looked at in one go."""
RETRY_SECONDS = 2.0
"""Seconds before another tries what could not be done."""
RECLAIM_SECONDS = 10.0
"""Seconds before hosts that could not be taken back are asked for once more; later, longer."""
POST_TIMEOUT_SECONDS = 10.0
"""Seconds that a webhook has to answer."""
MAX_ATTEMPTS = 20
"""How often a webhook is tried: over about half a day."""

ACTIONS = {"start_lease": "start", "end_lease": "terminate"}


class LeaseEvents:
    """Starts leases, ends them, and tells of their end before it comes."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.executor = admission.executor

    async def __call__(self) -> int:
        """See to all that is due; how much that was."""
        now = self.executor.clock()
        due = await self.executor.store.leases.due_events(now, BATCH, RETRY_SECONDS)
        async with asyncio.TaskGroup() as group:
            for lease, kind in due:
                action = ACTIONS.get(kind)
                group.create_task(
                    _ask(self.admission, lease, action, Actor.CLOCK, "")
                    if action is not None
                    else self._told(lease, now)
                )
        return len(due) + await self._cancel_expired(now)

    async def _cancel_expired(self, now: float) -> int:
        """Cancel what hands hosts over after the end of their lease, which fails; its end takes them back."""
        expired = await self.executor.store.leases.list_expired(now, BATCH)
        await self.executor.apply(
            [
                TransitionInput(path, Cancel(str(operation), Actor.ADMIN), principal=Actor.CLOCK)
                for path, operation in expired
            ]
        )
        return len(expired)

    async def _told(self, lease: str, now: float) -> None:
        await self.executor.store.notices.add_end_notice(lease, now)


class LeaseRetakes:
    """Ends leases once more whose hosts could not be taken back: others may wait for them."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.executor = admission.executor

    async def __call__(self) -> int:
        """Ask again for what is due; how much that was."""
        due = await self.executor.store.leases.due_reclaims(self.executor.clock(), BATCH, RECLAIM_SECONDS)
        for lease in due:
            await _ask(self.admission, lease, "terminate", Actor.CLOCK, "")
        return len(due)


class HostFailures:
    """Finds other hosts for leases whose hosts failed."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.executor = admission.executor

    async def __call__(self) -> int:
        """Note what is missing, and have it mended where it can be."""
        now = self.executor.clock()
        flagged = await self.executor.store.leases.flag_degraded(now)
        leases = await self.executor.store.leases.due_repairs(now, BATCH, RETRY_SECONDS)
        for lease in leases:
            await _ask(self.admission, lease, "update", Actor.CONTROLLER, "a host of it failed, or works again")
        return len(flagged) + len(leases)


class LeaseNotices:
    """Brings what is to be told of leases to where it is to go, and nowhere else."""

    def __init__(self, executor: TransitionExecutor, allowed: Sequence[str]) -> None:
        """`allowed`: beginnings of addresses. Owners of leases say where to, and must not reach just anything."""
        self.executor = executor
        self.allowed = tuple(allowed)
        self._client: httpx.AsyncClient | None = None

    async def __call__(self) -> int:
        """Try what is due; how much that was."""
        due = await self.executor.store.notices.due(self.executor.clock(), BATCH, 2 * POST_TIMEOUT_SECONDS)
        await asyncio.gather(*(self._bring(notice) for notice in due))
        return len(due)

    async def _bring(self, notice: Mapping[str, Any]) -> None:
        error = await self._post(notice)
        if error:
            log.info("the webhook of %s: %s", notice["lease"], error)
        now = self.executor.clock()
        ended = not error or notice["tries"] >= MAX_ATTEMPTS or not self._may(notice["url"])
        again = None if ended else now + min(2 ** notice["tries"], HOUR)
        await self.executor.store.notices.record_attempt(notice["id"], now, error, again)

    def _may(self, url: str) -> bool:
        """Whether it leads to where it seems to: no name before the host's, and no way up again."""
        try:
            whole = urlsplit(url)
        except ValueError:
            return False
        up = {".", ".."} & set(unquote(whole.path).replace("\\", "/").split("/"))
        return url.startswith(self.allowed) and "@" not in whole.netloc and "\\" not in whole.netloc and not up

    async def _post(self, notice: Mapping[str, Any]) -> str:
        """What went wrong, if something did."""
        if not self._may(notice["url"]):
            return "this cell lets webhooks go nowhere like that"
        self._client = self._client or httpx.AsyncClient(timeout=POST_TIMEOUT_SECONDS, follow_redirects=False)
        try:
            says = {"kind": notice["event"], **notice["says"]}
            answer = await self._client.post(notice["url"], json=says, headers={"x-stead-notice": str(notice["id"])})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"it cannot be reached: {type(error).__name__}"
        return "" if answer.is_success else f"it answered {answer.status_code}"


async def _ask(admission: Admission, lease: str, action: str, actor: Actor, reason: str) -> None:
    request = ActionRequest(lease, action, "lease", reason=reason, on_conflict=OnConflict.REJECT)
    principal = CONTROLLER if actor is Actor.CONTROLLER else actor
    answer = await admission.admit(request, Authorized.of_record(principal, actor, action))
    if not isinstance(answer, Accepted):
        says = answer.reasons[0].message if isinstance(answer, Rejection) else answer.message
        log.info("%s of %s waits: %s", action, lease, says)
