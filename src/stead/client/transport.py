"""One request, answered or not: repeated where that is safe, read into values, problems raised.

Everything that the client asks may be repeated: reads, because they change nothing; changes, because each carries a
key under which the server lets it in once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Mapping
from threading import Lock
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from stead import __version__
from stead.client.errors import InvalidResponse, SteadError, Unavailable, Unreachable, error_of
from stead.client.models import Problem

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0


def pause(attempt: int, said: float | None = None) -> float:
    """Seconds before the next attempt: what the server said, or longer each time."""
    return min(LONGEST_PAUSE, said if said is not None else FIRST_PAUSE * 2**attempt)


class Transport:
    """Sends requests to one server."""

    def __init__(
        self, server: str, headers: Mapping[str, str], timeout: float, retries: int, ca: str = "", cell: str = "-"
    ) -> None:
        if "Authorization" in headers and server.startswith("http:") and not _on_this_machine(server):
            raise SteadError(f"{server} is not https: whoever listens on the way would have your token")
        self.cell = f"/v1/cells/{quote(cell, safe='')}"
        """Where the addresses of objects begin that belong to a cell and to no namespace."""
        self._server = server
        self._retries = retries
        self._http = httpx.AsyncClient(
            base_url=server,
            headers={"User-Agent": f"stead/{__version__}", **headers},
            timeout=timeout,
            trust_env=not _on_this_machine(server),  # a proxy in the environment is for the world outside
            verify=_trusted(server, ca),
        )

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def send[T](
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Ask, again if need be, and read the answer."""
        return read(await self.content(method, path, query=query, body=body, headers=headers), kind)

    async def content(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Ask, again if need be; the answer as it came."""
        attempt = 0
        while True:
            try:
                response = await self._http.request(method, path, params=_plain(query), json=body, headers=headers)
                raise_for_problem(response.status_code, response.content)
                return response.content
            except httpx.TransportError as error:
                failure: Unreachable | Unavailable = Unreachable(f"{self._server} does not answer: {_says(error)}")
            except Unavailable as error:
                failure = error
            if attempt >= self._retries:
                raise failure
            await asyncio.sleep(pause(attempt, failure.retry_after if isinstance(failure, Unavailable) else None))
            attempt += 1

    def stream(self, path: str, query: Mapping[str, Any], headers: Mapping[str, str], silence: float) -> Any:
        """A response that is read as it comes; it is lost when nothing came for so many seconds."""
        timeout = httpx.Timeout(10.0, read=silence)
        return self._http.stream("GET", path, params=_plain(query), headers=headers, timeout=timeout)


def raise_for_problem(status: int, content: bytes) -> None:
    """Raise what the server said no with."""
    if status < 400:
        return
    try:
        problem = _decoder(Problem).decode(content)
    except msgspec.MsgspecError:  # somebody in between answered, who speaks no problems
        title = httpx.codes.get_reason_phrase(status)
        problem = Problem(
            type="about:blank", title=title, status=status, detail="", code=f"http-{status}", request_id=""
        )
    raise error_of(problem)


def read[T](content: bytes, kind: type[T]) -> T:
    """A value from what the server answered; bytes as they came."""
    if kind is bytes:
        return cast(T, content)
    try:
        return _decoder(kind).decode(content or b"null")
    except msgspec.MsgspecError as error:
        raise InvalidResponse(f"the answer is none that this client understands: {error}") from error


_decoders: dict[object, msgspec.json.Decoder[Any]] = {}
_making = Lock()


def _decoder[T](kind: type[T]) -> msgspec.json.Decoder[T]:
    """Types are looked into one at a time: where two threads do so at once, msgspec takes the process down."""
    with _making:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]


def _plain(query: Mapping[str, Any] | None) -> dict[str, str]:
    """Query parameters: what is None is left out."""
    words = {True: "true", False: "false"}
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return {name: words[value] if isinstance(value, bool) else str(value) for name, value in given.items()}


def _trusted(server: str, ca: str) -> ssl.SSLContext | bool:
    """Whose certificates are believed: those of the authorities in a file, or else of those that the world knows."""
    if server.startswith("http:"):
        return False  # to read the certificates takes longer than most answers
    if not ca:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:  # an error of SSL is one, too
        raise Unreachable(f"the certificates in {ca} cannot be read: {error.strerror or error}") from error


def _on_this_machine(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _says(error: httpx.TransportError) -> str:
    return str(error) or type(error).__name__
