"""Requests of one kind: how they are asked, and how they are served.

Agents ask controllers on a subject of their own, and any controller answers. Controllers ask about a lane, and an
agent that serves it answers. No handler works on a request for longer than its asker waits.
"""

from __future__ import annotations

from stead.bus.codec import MessageFormat
from stead.bus.connection import Connection
from stead.bus.invalid_messages import InvalidMessages
from stead.bus.messages import AgentRequest, LaneRequest, Message
from stead.bus.rpc import Handler, RpcClient, RpcServer
from stead.bus.rpc_replies import ReplyStream
from stead.bus.subjects import Subjects


class Endpoints:
    """Makes endpoints of one bus, and closes what serves them."""

    def __init__(self, link: Connection, replies: ReplyStream, subjects: Subjects, invalid: InvalidMessages) -> None:
        self.link = link
        self.replies = replies
        self.subjects = subjects
        self.invalid = invalid
        self._servers: list[RpcServer[Message, Message]] = []

    async def serve[Q: Message, A: Message](
        self, subject: str, request: type[Q], handler: Handler[Q, A], limit: float, *, agents: bool
    ) -> RpcServer[Q, A]:
        """Answer what is asked on a subject, until the bus is closed."""
        server = RpcServer(self.link, MessageFormat(request), handler, self.invalid, agents=agents, limit=limit)
        self._servers.append(server)  # type: ignore[arg-type]
        await server.begin(subject)
        return server

    async def close(self) -> None:
        """Serve no longer."""
        for server in self._servers:
            await server.close()


class AgentRequests[Q: AgentRequest, A: Message]:
    """Requests of one kind from agents to controllers. They are asked again until there is an answer."""

    def __init__(
        self,
        endpoints: Endpoints,
        kind: str,
        request: type[Q],
        reply: type[A],
        timeout: float,
        limit: float | None = None,
    ) -> None:
        """An asker waits `timeout` seconds in all; a handler has `limit` seconds, or as much."""
        self.kind = kind
        self.timeout = timeout
        self._limit = limit or timeout
        self._request = request
        self._endpoints = endpoints
        self._client = RpcClient[Q, A](endpoints.link, endpoints.replies, reply)

    async def __call__(self, request: Q, timeout: float | None = None) -> A:
        """The answer of a controller. `NoAnswer` when none came in time."""
        subject = self._endpoints.subjects.agent_request(self.kind, request.agent)
        return await self._client.ask(subject, request, timeout or self.timeout)

    async def serve(self, handler: Handler[Q, A]) -> RpcServer[Q, A]:
        """Answer agents, side by side with all other controllers."""
        subject = self._endpoints.subjects.agent_requests(self.kind)
        return await self._endpoints.serve(subject, self._request, handler, self._limit, agents=True)


class LaneRequests[Q: LaneRequest, A: Message]:
    """Requests of one kind from controllers to an agent that serves a lane. They are asked once."""

    def __init__(self, endpoints: Endpoints, kind: str, request: type[Q], reply: type[A], timeout: float) -> None:
        self.kind = kind
        self.timeout = timeout
        self._request = request
        self._endpoints = endpoints
        self._client = RpcClient[Q, A](endpoints.link, endpoints.replies, reply)

    async def __call__(self, request: Q, timeout: float | None = None) -> A:
        """The answer of an agent. `NoAnswer` at once where none serves the lane."""
        subject = self._endpoints.subjects.lane_request(self.kind, request.lane)
        return await self._client.ask(subject, request, self.timeout if timeout is None else timeout, once=True)

    async def serve(self, lane: str, handler: Handler[Q, A]) -> RpcServer[Q, A]:
        """Answer requests about a lane, in turn with all other agents that serve it."""
        subject = self._endpoints.subjects.lane_request(self.kind, lane)
        return await self._endpoints.serve(subject, self._request, handler, self.timeout, agents=False)
