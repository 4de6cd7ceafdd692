"""One project of a real LXD, from behind; and the hand that breaks things, between the driver and LXD's socket."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from stead.drivers.base import PROBE, Member
from stead.drivers.lxd.connection import Config
from stead.drivers.lxd.driver import LxdDriver
from stead.drivers.lxd.making import name_of
from tests.drivers.lxd_server import Lxd


class Request(Struct, frozen=True):
    """What passed through."""

    method: str
    path: str
    query: str
    body: Mapping[str, Any]

    @property
    def verb(self) -> str:
        """The verb that it is the heart of; nothing, if it is one of the requests around it."""
        match self.method, self.path.split("/")[2:], self.body.get("action"):
            case "GET", ["instances", *_], _:
                return PROBE
            case "POST", ["instances"], _:
                return "create"
            case "PUT", ["instances", _, "state"], "stop":
                return "suspend"
            case "PUT", ["instances", _, "state"], "start":
                return "resume"
            case "PUT", ["instances", _, "state"], "restart":
                return "reboot"
            case "DELETE", ["instances", _], _:
                return "terminate"
        return ""


Which = Callable[[Request], bool]


def with_verb(verb: str) -> Which:
    return lambda request: request.verb == verb


class Proxy:
    """Passes requests on to LXD and its answers back, unless told otherwise. One connection is one request."""

    def __init__(self, lxd: Path) -> None:
        self.lxd = lxd
        self.socket = lxd.parent / f"proxy-{secrets.token_hex(4)}"
        self.seen: list[Request] = []
        self.lost: list[Which] = []
        """Of each of these, the next one is carried out and not answered."""
        self.instead: Callable[[Request], bytes | None] = lambda _: None
        self.throttled = 0
        """What is answered in LXD's place; with nothing in it, the connection is closed without a word."""
        self.held: Which = lambda _: False
        """What is neither passed on nor answered."""
        self.server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_unix_server(self.serve, self.socket)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.server is not None
        self.server.close()
        self.socket.unlink(missing_ok=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"]
            body = await reader.readexactly(int(lengths[0]) if lengths else 0)
            method, target, _ = head.decode().split(" ", 2)
            path, _, query = target.partition("?")
            request = Request(method, path, query, json.loads(body) if body else {})
            if self.held(request):
                await reader.read()  # until the other side gives up
            elif (answer := await self.answer(request, head, body)) is not None:
                writer.write(answer)
                await writer.drain()
        writer.close()

    async def answer(self, request: Request, head: bytes, body: bytes) -> bytes | None:
        answer = self.instead(request)
        if answer is not None:
            return answer
        self.seen.append(request)
        answer = await self.carry(head, body)
        for which in self.lost:
            if which(request):
                self.lost.remove(which)
                return None
        return answer

    async def carry(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.lxd)
        try:
            first, _, rest = head.partition(b"\r\n")
            kept = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            writer.write(b"\r\n".join([first, b"Connection: close", *kept]) + body)
            return await reader.read()
        finally:
            writer.close()


def saying(status: str, *headers: str, body: str = "") -> bytes:
    """An answer that is not LXD's."""
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *headers, "", body]).encode()


class LxdWorld:
    """A project of one's own."""

    def __init__(self, lxd: Lxd, proxy: Proxy) -> None:
        self.lxd = lxd
        self.proxy = proxy
        self.project = f"p{secrets.token_hex(4)}"

    def driver(self, **config: Any) -> LxdDriver:
        """With much time, for a machine that has other work; what is about time says so."""
        place = {"provider": "lxd", "region": self.project, "socket": str(self.proxy.socket), "timeout": 60}
        return LxdDriver(Config(**{**place, **config}))

    def member(self, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        fields = {"image": "tiny", "spec": {"cpu": 1, "memory": "64MiB"}, "colour": "any", **spec}
        return Member(path=f"/ns/mci/sub/{name}", token=f"token-{name}", spec=fields)

    def other_spec(self) -> Mapping[str, Any]:
        return {"image": "tiny", "spec": {"cpu": 2}}

    async def made(self, token: str) -> int:
        return await asyncio.to_thread(self.lxd.happened, "instance-created", name_of("stead", token))

    async def calls(self, verb: str) -> int:
        """Of a call that is throttled, its first request alone is seen, which reads the instance."""
        return sum(request.verb == verb for request in self.proxy.seen) + self.proxy.throttled

    async def stray(self, tags: Mapping[str, str]) -> str:
        name = f"stray-{secrets.token_hex(4)}"
        config = {"user.stead.owner": "stead"} | {f"user.stead.{key}": value for key, value in tags.items() if value}
        asked = {"name": name, "source": {"type": "image", "alias": "tiny"}, "config": config}
        await self.ask("POST", "/1.0/instances", json=asked)
        await self.ask("PUT", f"/1.0/instances/{name}/state", json={"action": "start", "timeout": 30})
        return name

    async def lose_reply(self, verb: str) -> None:
        """A creation ends with a start: with the answer to that one, the answer to the whole call is lost."""
        self.proxy.lost.append(with_verb({"create": "resume"}.get(verb, verb)))

    async def reject(self) -> None:
        said = '{"type": "error", "error": "not authorized", "error_code": 403}'
        self.proxy.instead = lambda _: saying("403 Forbidden", f"Content-Length: {len(said)}", body=said)

    async def throttle(self, after: float) -> None:
        def answer(_: Request) -> bytes:
            self.proxy.throttled += 1
            return saying("429 Too Many Requests", f"Retry-After: {after}", "Content-Length: 0")

        self.proxy.instead = answer

    async def silence(self) -> None:
        self.proxy.instead = lambda _: b""

    async def heal(self) -> None:
        self.proxy.instead = lambda _: None
        self.proxy.held = lambda _: False
        self.proxy.lost.clear()

    async def instance(self, member: Member) -> dict[str, Any]:
        """What LXD has of it, with its state."""
        path = self.path(member)
        return {**await self.ask("GET", path), "state": await self.ask("GET", f"{path}/state")}

    async def ask(self, method: str, path: str, **content: Any) -> Any:
        """Ask LXD itself."""
        return await asyncio.to_thread(self.lxd.request, method, f"{path}?project={self.project}", **content)

    def path(self, member: Member) -> str:
        return f"/1.0/instances/{name_of('stead', member.token)}"

    async def change(self, member: Member, action: str, **how: int) -> None:
        """Do something to it behind everybody's back."""
        await self.ask("PUT", f"{self.path(member)}/state", json={"action": action, **how})

    async def become(self, member: Member, how: str) -> None:
        """From now on, when it is asked to shut down, it does not (`deaf`) or takes five seconds to (`slow`)."""
        wish = {"command": ["sh", "-c", f"echo > /{how}"], "wait-for-websocket": False, "interactive": False}
        await self.ask("POST", f"{self.path(member)}/exec", json=wish)

    async def happened(self, action: str, member: Member) -> int:
        """How often LXD says that it did this to it."""
        return await asyncio.to_thread(self.lxd.happened, action, name_of("stead", member.token))
