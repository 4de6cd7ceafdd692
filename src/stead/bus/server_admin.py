"""What is said to the servers of the bus themselves: which claims hold for an account.

It goes over a short connection of its own, since it is said rarely, when somebody is revoked. It holds at once for
everybody who is connected.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import nats
from nats.aio.client import Client

from stead.bus.errors import Unavailable, translated

REQUEST_TIMEOUT = 5.0
"""Seconds for an answer."""


class _Said(msgspec.Struct):
    code: int = 0
    message: str = ""
    description: str = ""


class _Answer(msgspec.Struct):
    data: _Said | None = None
    error: _Said | None = None


class ServerAdmin:
    """Speaks in the account of the system."""

    def __init__(self, urls: Sequence[str], options: Mapping[str, Any]) -> None:
        self._urls = list(urls)
        self._options = options

    async def update(self, claims: str) -> None:
        """From now on these are an account's claims."""
        async with self._client() as client:
            answer = await client.request("$SYS.REQ.CLAIMS.UPDATE", claims.encode(), timeout=REQUEST_TIMEOUT)
        said = msgspec.json.decode(answer.data, type=_Answer)
        if said.data is None or said.data.code != 200:
            raise Unavailable(f"the claims were not taken: {(said.error or said.data or _Said()).description}")

    async def lookup(self, account: str) -> str:
        """The claims of an account, as the servers have them."""
        async with self._client() as client:
            answer = await client.request(f"$SYS.REQ.ACCOUNT.{account}.CLAIMS.LOOKUP", timeout=REQUEST_TIMEOUT)
        return answer.data.decode()

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        with translated("the system of the bus"):
            client = await nats.connect(
                self._urls, allow_reconnect=False, max_reconnect_attempts=1, error_cb=_nothing, **self._options
            )
            try:
                yield client
            finally:
                await client.close()


async def _nothing(_: Exception) -> None:
    """Whatever it is, the request that it is about fails, too."""
