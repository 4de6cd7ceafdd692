"""What stands around every driver: nothing that is secret leaves it, and nothing that is not as `base` has it.

A provider's words may repeat what they were asked with, and go far from here: into reports, the journal and answers.
So known secrets are taken out of whatever a driver returns or raises, in one place for all of them. An answer that is
not about the members that were asked for is none; an object in an inventory that is not in order is left out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec

from stead.bus.invalid_messages import LogThrottle
from stead.drivers.base import (
    VM,
    Driver,
    DriverError,
    FoundObject,
    LogDriver,
    LogTail,
    Member,
    ObservedObject,
    PermanentError,
    RecoveringDriver,
    Result,
    RetryableError,
)
from stead.secrets import KNOWN, scrub

log = logging.getLogger(__name__)

CONVERSION_ERRORS = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What it may come to where something cannot be written, or be read as what it should be."""

_found = msgspec.json.Decoder(FoundObject)
_left_out = LogThrottle()


class Guarded:
    """A driver, without secrets in what it says."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    @property
    def kinds(self) -> frozenset[str]:
        """The driver's own."""
        return self.driver.kinds

    @property
    def longest_call(self) -> float:
        """The driver's own."""
        return self.driver.longest_call

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """The driver's own."""
        return self.driver.batch_limit(verb, kind)

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """As the driver does it."""
        began = time.monotonic()
        try:
            results = _about(members, await _clean(self.driver.perform(verb, members, token)), Result)
        except Exception as error:
            log.info("%s of %d failed after %.2f s: %s", verb, len(members), time.monotonic() - began, error)
            raise
        well = sum(result.ok for result in results)
        log.info("%s of %d: %d well, after %.2f s", verb, len(members), well, time.monotonic() - began)
        return results

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """As the driver does it."""
        return _about(members, await _clean(self.driver.describe(members)), ObservedObject)

    async def inventory(self) -> list[FoundObject]:
        """As the driver does it."""
        return in_order(await _clean(self.driver.inventory()))

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """As the driver does it."""
        return await _clean(self.driver.check_offer(field, name))

    async def recover(self) -> list[str]:
        """As the driver does it, where it can."""
        return await _clean(self.driver.recover()) if isinstance(self.driver, RecoveringDriver) else []

    async def close(self) -> None:
        """As the driver does it."""
        await self.driver.close()


class GuardedLogs(Guarded):
    """A driver that knows logs, without secrets in them."""

    def __init__(self, driver: Driver, logs: LogDriver) -> None:
        super().__init__(driver)
        self._logs = logs

    async def logs(self, member: Member, lines: int, since: str = "") -> LogTail:
        """As the driver does it."""
        return await _clean(self._logs.logs(member, lines, since))


def guarded(driver: Driver) -> Guarded:
    """A driver without secrets in what it says, which knows logs if the driver does."""
    return GuardedLogs(driver, driver) if isinstance(driver, LogDriver) else Guarded(driver)


def _about[T: Result | ObservedObject](members: Sequence[Member], answer: Any, kind: type[T]) -> list[T]:
    """An answer that has one part for each member, in their order."""
    try:
        raw = msgspec.json.decode(msgspec.json.encode(answer), type=list[msgspec.Raw])
        parts = [msgspec.json.decode(one, type=kind) for one in raw]
        if [part.path for part in parts] == [member.path for member in members]:
            return parts
        why = "it is not about the members that were asked for"
    except CONVERSION_ERRORS as error:
        why = str(error)
    raise RetryableError(f"the driver's answer makes no sense: {why[:300]}", unknown=True)


def in_order(answer: Any) -> list[FoundObject]:
    """The objects of an inventory that are as they have to be."""
    if not isinstance(answer, list):
        raise PermanentError(f"the driver's inventory is no list, but {type(answer).__name__}")
    found: list[FoundObject] = []
    for one in answer:
        try:
            found.append(_found.decode(msgspec.json.encode(one)))
        except CONVERSION_ERRORS as error:
            if times := _left_out():
                log.warning("%d objects of an inventory were left out; the last: %s: %r", times, error, one)
    return found


async def _clean[T](asked: Awaitable[T]) -> T:
    try:
        answer = await asked
    except Exception as error:
        _scrub_error(error)
        raise
    clean: T = _scrubbed(answer) if KNOWN else answer
    return clean


def _scrub_error(error: BaseException | None) -> None:
    """The error, and whatever it came from: a traceback shows all of them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(scrub(arg) if isinstance(arg, str) else arg for arg in error.args)
        if isinstance(error, DriverError):
            error.message, error.detail = scrub(error.message), scrub(error.detail)
        error = error.__cause__ or error.__context__


def _scrubbed(value: Any) -> Any:
    """A copy where something had to be taken out; otherwise the value itself."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        clean = [_scrubbed(each) for each in value]
        same = all(one is other for one, other in zip(clean, value, strict=True))
        return value if same else type(value)(clean)
    if isinstance(value, dict):
        cleaned = {_scrubbed(name): _scrubbed(each) for name, each in value.items()}
        return value if cleaned == value else cleaned
    if isinstance(value, msgspec.Struct):
        changed = {
            name: clean
            for name in value.__struct_fields__
            if (clean := _scrubbed(held := getattr(value, name))) is not held
        }
        return msgspec.structs.replace(value, **changed) if changed else value
    return value
