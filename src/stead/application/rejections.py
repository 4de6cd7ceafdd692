"""Tells the journal of what policies and logins refused, so that nobody can fill it with that.

The same again within a minute raises a count. Whoever is refused ever different things has so many lines a minute;
what is more goes to one line, which counts it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from stead.application.unavailable import AWAY
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.rows import Actor
from stead.origin import Origin, current_origin
from stead.store import Store

log = logging.getLogger(__name__)

MAX_LINES_A_MINUTE = 30
"""Different ones of one caller, or of all who are nobody, in a minute."""
MINUTE = 60.0
MAX_MESSAGE_CHARS = 300
"""Characters of what is told of a login."""
UNAUTHENTICATED = "unauthenticated"
MANY = "many"
"""Instead of what was refused, and of where it came from, where there was too much of it."""
CELL = "/"


@dataclass
class RejectionLog:
    """What was told in this minute."""

    store: Store
    clock: Callable[[], float] = time.monotonic
    _told: dict[str, set[tuple[object, ...]]] = field(default_factory=dict)
    _began: float = -MINUTE

    async def not_permitted(
        self, path: str, kind: str, principal: str, word: str, actor: str, refusal: Rejection
    ) -> None:
        """A policy has refused something."""
        reasons = [{"code": r.code, "message": r.message} for r in refusal.reasons]
        if not self._fits(principal, (path, word)):
            says = f"{MAX_LINES_A_MINUTE} different ones were refused within a minute: others are counted here"
            path, kind, word, reasons = CELL, "cell", MANY, [{"code": Code.NOT_PERMITTED, "message": says}]
        await self._tell(path, kind, principal, word, actor, refusal.state, reasons)

    async def not_known(self, says: str) -> None:
        """Somebody has shown what does not say who they are."""
        here = current_origin.get()
        says = says[:MAX_MESSAGE_CHARS]
        if not self._fits("", (here.address if here else "", says)):
            current_origin.set(Origin(MANY, ""))
            says = f"{MAX_LINES_A_MINUTE} different ones failed within a minute: others are counted here"
        await self._tell(CELL, "session", "", "login", Actor.USER, "", [{"code": UNAUTHENTICATED, "message": says}])

    async def _tell(
        self, path: str, kind: str, principal: str, word: str, actor: str, state: str, reasons: list[dict[str, str]]
    ) -> None:
        try:
            await self.store.journal.append_rejection(path, kind, principal, word, actor, state, {"reasons": reasons})
        except AWAY as error:  # it is refused all the same
            log.warning("%s was refused %s of %s, and the journal cannot be told: %r", principal, word, path, error)

    def _fits(self, who: str, what: tuple[object, ...]) -> bool:
        """Whether it is one of those that get a line of their own."""
        now = self.clock()
        if now - self._began >= MINUTE:
            self._began = now
            self._told.clear()
        told = self._told.setdefault(who, set())
        if what not in told and len(told) >= MAX_LINES_A_MINUTE:
            return False
        told.add(what)
        return True
