"""The hand that breaks things, between users and OpenStack's services."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from stead.drivers.base import PROBE

ACTIONS = {"os-stop": "suspend", "os-start": "resume", "reboot": "reboot"}


class Request(Struct, frozen=True):
    """What passed through."""

    service: str
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Any

    @property
    def verb(self) -> str:
        """The verb that it is the heart of; nothing, if it is one of the requests around it."""
        match self.service, self.method, self.path.split("/")[2:]:
            case "compute", "GET", ["servers", *_]:
                return PROBE
            case "compute", "POST", ["servers"]:
                return "create"
            case "compute", "POST", ["servers", _, "action"]:
                return ACTIONS.get(next(iter(self.body)), "")
            case "compute", "DELETE", ["servers", _]:
                return "terminate"
        return ""


Which = Callable[[Request], bool]


def with_verb(verb: str) -> Which:
    return lambda request: request.verb == verb


def of_lock(method: str) -> Which:
    """A request of that method for a lock."""
    return lambda request: (
        request.service == "image" and request.method == method and request.path.startswith("/v2/images")
    )


class Proxy:
    """Passes requests on and answers back, unless told otherwise. One connection is one request.

    It lives in a thread of its own, as long as the cloud does: its ports are those that users are told."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.behind = dict(ports)
        self.fronts: dict[str, int] = {}
        self.seen: list[Request] = []
        self.heal()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result(10)

    def heal(self) -> None:
        self.lost: list[Which] = []
        """Of each of these, the next one is carried out and not answered."""
        self.instead: Callable[[Request], bytes | None] = lambda _: None
        """What is answered in the service's place; with nothing in it, the connection is closed without a word."""
        self.held: Which = lambda _: False
        """What is neither passed on nor answered."""

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def listen(self) -> None:
        self.servers = []
        for service in self.behind:
            server = await asyncio.start_server(self.serving(service), "127.0.0.1")
            self.fronts[service] = server.sockets[0].getsockname()[1]
            self.servers.append(server)

    async def stop(self) -> None:
        for server in self.servers:
            server.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def serving(self, service: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                request, body = await self.read(service, head, reader)
                if self.held(request):
                    await reader.read()  # until the other side gives up
                elif (answer := await self.answer(request, head, body)) is not None:
                    writer.write(answer)
                    await writer.drain()
            writer.close()

        return serve

    async def read(self, service: str, head: bytes, reader: asyncio.StreamReader) -> tuple[Request, bytes]:
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = first.split(" ", 2)
        path, _, query = target.partition("?")
        return Request(service, method, path, query, headers, json.loads(body) if body else {}), body

    async def answer(self, request: Request, head: bytes, body: bytes) -> bytes | None:
        answer = self.instead(request)
        if answer is not None:
            return answer
        self.seen.append(request)
        answer = await self.carry(request.service, head, body)
        for which in self.lost:
            if which(request):
                self.lost.remove(which)
                return None
        return answer

    async def carry(self, service: str, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.behind[service])
        try:
            first, _, rest = head.partition(b"\r\n")
            kept = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            writer.write(b"\r\n".join([first, b"Connection: close", *kept]) + body)
            return await reader.read()
        finally:
            writer.close()


def saying(status: str, *headers: str, body: str = "") -> bytes:
    """An answer that is not the service's."""
    length = f"Content-Length: {len(body.encode())}"
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", length, *headers, "", body]).encode()
