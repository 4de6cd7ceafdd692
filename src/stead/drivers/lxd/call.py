"""One call of the driver: the requests that it takes, all of them within the call's time.

A call remembers whether it has asked for anything to be done. From then on, whatever goes wrong leaves open how much
of it was.
"""

from __future__ import annotations

import asyncio
import email.utils
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from stead.drivers.base import PermanentError, RetryableError, ThrottledError, UnreachableError
from stead.drivers.lxd.wire import MOVES, STOPPING, UNDER_WAY, Envelope, Instance, Operation

# The request was never sent: nothing can have been done by it.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

TIMEOUT_MARGIN = 0.5
"""Seconds at the end of a call in which nothing is waited for any more."""


class RejectedError(PermanentError):
    """LXD's own no."""

    def __init__(self, message: str, *, status: int, detail: str) -> None:
        super().__init__(message, detail=detail)
        self.status = status


class Call:
    """Requests to one project."""

    def __init__(self, client: httpx.AsyncClient, project: str, end: float) -> None:
        self._client = client
        self._project = project
        self._end = end
        self.acted = False
        """Whether anything may have been done."""
        self.now = datetime.now(UTC)
        """LXD's own time, as of its last answer."""

    @property
    def left(self) -> float:
        """Seconds in which something may be waited for."""
        return self._end - TIMEOUT_MARGIN - asyncio.get_running_loop().time()

    async def instance(self, name: str) -> Instance | None:
        """The instance of that name; None if LXD says that there is none."""
        answer = await self._find(f"/1.0/instances/{quote(name, safe='')}")
        return None if answer is None else _read(answer, Instance)

    async def instances(self) -> list[Instance]:
        """All that the project has."""
        return _read(await self.ask("GET", "/1.0/instances", recursion="1"), list[Instance])

    async def profile(self, name: str) -> bool:
        """Whether there is a profile of that name."""
        return await self._find(f"/1.0/profiles/{quote(name, safe='')}") is not None

    async def profiles(self) -> list[str]:
        """The names of all profiles."""
        return await self._names("/1.0/profiles", "name")

    async def aliases(self) -> list[str]:
        """The names that images have."""
        return await self._names("/1.0/images/aliases", "name")

    async def fingerprints(self) -> list[str]:
        """Of all images."""
        return await self._names("/1.0/images", "fingerprint")

    async def project(self) -> bool:
        """Whether the project is there. Of one that is not, LXD says that it has no instances."""
        return await self._find(f"/1.0/projects/{quote(self._project, safe='')}") is not None

    async def under_way(self) -> dict[str, Operation]:
        """What is leading instances from one state to another, by their names.

        Asked for before the instances themselves: what ends in between is seen moving once more.
        """
        answer = await self.ask("GET", "/1.0/operations", recursion="1")
        lists = _read(answer, dict[str, list[Operation]])
        moves = [op for state in UNDER_WAY & lists.keys() for op in lists[state] if op.description in MOVES]
        return {name: op for op in moves for name in op.instances}

    async def settled(self, name: str, *, heedless: bool = False) -> Instance | None:
        """The instance once nothing is under way with it. Where that takes longer than the call: try again.

        Whoever is heedless does not wait for one to shut down, which can take forever: they stop it by force."""
        while (operation := (await self.under_way()).get(name)) is not None:
            if heedless and operation.description == STOPPING:
                break
            if not (await self.wait(operation)).over:
                raise RetryableError(
                    "LXD is still at it", unknown=self.acted, detail=f"{operation.description} {name}"
                )
        return await self.instance(name)

    async def do(self, method: str, path: str, content: Any = None) -> Operation:
        """Ask for something that takes its time, and wait for it as long as the call may."""
        return await self.wait(_read(await self.ask(method, path, content), Operation))

    async def wait(self, operation: Operation) -> Operation:
        """The operation at its end, or as far as it is when the call's time is over."""
        while not operation.over and self.left > 0:
            path = f"/1.0/operations/{operation.id}"
            try:
                if self.left >= 1:
                    operation = _read(await self.ask("GET", f"{path}/wait", timeout=str(int(self.left))), Operation)
                else:
                    await asyncio.sleep(0.05)
                    operation = _read(await self.ask("GET", path), Operation)
            except RejectedError as error:
                # LXD forgets operations some seconds after their end, and all of them when it is started again.
                raise RetryableError("LXD forgot what it was doing", unknown=True, detail=error.detail) from error
        return operation

    async def ask(self, method: str, path: str, content: Any = None, **params: str) -> Envelope:
        """One request."""
        acted, self.acted = self.acted, self.acted or method != "GET"
        try:
            response = await self._client.request(
                method,
                path,
                params={"project": self._project, **params},
                content=None if content is None else msgspec.json.encode(content),
            )
        except _UNSENT as error:
            self.acted = acted
            raise UnreachableError("LXD cannot be reached", unknown=acted, detail=repr(error)) from error
        except httpx.TransportError as error:
            raise RetryableError("LXD's answer did not come", unknown=self.acted, detail=repr(error)) from error
        self.now = _date(response)
        try:
            answer = msgspec.json.decode(response.content, type=Envelope)
        except msgspec.MsgspecError:
            answer = None
        if response.is_success and answer is not None and answer.type != "error":
            return answer
        if answer is not None or response.status_code in (429, 503):
            # Whoever says no, has done nothing: what LXD does takes the form of an operation.
            self.acted = acted
        raise self._error(response, answer)

    def _error(self, response: httpx.Response, answer: Envelope | None) -> PermanentError | RetryableError:
        """What an answer that is no success means for whoever made the call."""
        status = response.status_code
        message = answer.error if answer is not None and answer.error else f"LXD answered {status}"
        said = response.headers.get("retry-after", "")
        after = float(said) if said.replace(".", "", 1).isdecimal() else 1.0
        detail = f"{status} {response.request.method} {response.request.url.path}"
        if status == 429:
            return ThrottledError(message, after=after, unknown=self.acted, detail=detail)
        if 400 <= status < 500 and answer is not None:
            return RejectedError(message, status=status, detail=detail)
        if 400 <= status < 500:
            return PermanentError(message, detail=detail)  # somebody in between: no word of LXD's on what it has
        return RetryableError(message, after=after, unknown=self.acted, detail=detail)

    async def _names(self, path: str, field: str) -> list[str]:
        return [thing[field] for thing in _read(await self.ask("GET", path, recursion="1"), list[dict[str, Any]])]

    async def _find(self, path: str) -> Envelope | None:
        try:
            return await self.ask("GET", path)
        except RejectedError as error:
            if error.status == 404:
                return None
            raise


@asynccontextmanager
async def calling(client: httpx.AsyncClient, project: str, timeout: float) -> AsyncIterator[Call]:
    """A call that ends in time, whatever the other side does."""
    end = asyncio.get_running_loop().time() + timeout
    call = Call(client, project, end)
    try:
        async with asyncio.timeout_at(end):
            yield call
    except TimeoutError as error:
        raise RetryableError("LXD's answer did not come", unknown=call.acted, detail=f"{timeout} seconds") from error


def _read[T](answer: Envelope, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.metadata, type=kind)
    except msgspec.MsgspecError as error:
        raise RetryableError("LXD's answer makes no sense", unknown=True, detail=repr(error)) from error


def _date(response: httpx.Response) -> datetime:
    try:
        return email.utils.parsedate_to_datetime(response.headers["date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)
