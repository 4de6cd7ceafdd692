"""Calls to EC2 through botocore, the core of boto3, which blocks: each runs in a thread, of which there are so many.

A thread cannot be cancelled, so giving up on it is not enough: it could still send its call later, when somebody else
has long been allowed to act. Therefore every task (one `perform`, or one look) has a time after which none of its
calls is sent, checked in the thread at the last moment, and botocore's own timeouts end a call that was sent.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from typing import Any

import msgspec
from botocore.config import Config as BotoConfig
from botocore.exceptions import ClientError
from botocore.loaders import create_loader
from botocore.session import Session

from stead.drivers.base import DriverError, RetryableError
from stead.drivers.ec2.errors import DeadlineError, meaning
from stead.drivers.ec2.login import INVALID_CREDENTIALS, Login

THREADS = 16
"""Calls at a time. EC2 grants fewer in the long run."""

SENDING = 0.3
"""The share of a task's time in which its calls are sent; the rest is for the last of them to end."""

CONNECTING = 0.2
"""The share of a task's time in which a connection must come about."""

AGENT = "User-Agent"
"""The header in which the order stands: EC2's own audit log, CloudTrail, keeps it with every call."""


class Task:
    """The calls that are made for one `perform` or one look."""

    def __init__(self, timeout: float, order: str = "") -> None:
        began = time.monotonic()
        self.latest = began + SENDING * timeout
        """No call is sent later."""
        self.end = began + timeout
        """Every call has ended."""
        self.order = re.sub(r"[^\w.:-]", "_", order, flags=re.ASCII)
        self.sent = False
        """Whether a call is, or may be, on its way."""
        self.acted = False
        """Whether anything was done. From then on, whatever goes wrong leaves open how far it came."""

    def beside(self) -> Task:
        """The same task once more, for a call that is made at the same time as others."""
        other = copy(self)
        other.sent = False
        return other

    def send(self) -> None:
        """Called in the thread, right before a call is sent."""
        if time.monotonic() > self.latest:
            raise DeadlineError
        self.sent = True


class Calls:
    """One region of EC2, for one user."""

    def __init__(
        self, *, region: str, profile: str, endpoint_url: str, timeout: float, login: Login | None = None
    ) -> None:
        self._timeout = timeout
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ec2")
        self._here = threading.local()
        config = BotoConfig(
            connect_timeout=CONNECTING * timeout,
            read_timeout=(1 - SENDING - CONNECTING) * timeout,
            retries={"total_max_attempts": 1},  # whoever has custody tries again, and nobody else
            max_pool_connections=THREADS,
            user_agent_extra="stead",
        )
        session = Session(profile=profile or None)
        session.register_component("data_loader", _loader())
        self._login = login or Login()
        self._login.enter(session)
        self._client = session.create_client("ec2", region, endpoint_url=endpoint_url or None, config=config)
        self._client.meta.events.register("before-send.ec2", self._before)

    def task(self, order: str = "") -> Task:
        """A task that begins now."""
        return Task(self._timeout, order)

    async def ask[T](self, task: Task, kind: type[T], operation: str, **parameters: Any) -> T:
        """One call. Raises a `DriverError` where it has no answer, or one that is an error."""
        task.sent = False
        try:
            answer = await self._ask(task, operation, parameters)
        except RetryableError as error:
            error.unknown = error.unknown or task.acted
            raise
        task.acted = task.acted or not operation.startswith("describe_")
        return _read(answer, kind)

    async def list[T](
        self, task: Task | None, kind: type[T], operation: str, field: str, **parameters: Any
    ) -> list[T]:
        """All that there is, page by page: within the time of a task or, without one, in as many as it takes."""
        things: list[T] = []
        more: dict[str, str] = {}
        while True:
            page = await self.ask(task or self.task(), dict[str, Any], operation, **parameters, **more)
            things += [_read(thing, kind) for thing in page.get(field) or []]
            if not (after := page.get("NextToken")):
                return things
            more = {"NextToken": after}

    def close(self) -> None:
        """What waits for a thread is dropped; what was sent ends by itself, in its time."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    async def _ask(self, task: Task, operation: str, parameters: dict[str, Any]) -> Any:
        work = asyncio.get_running_loop().run_in_executor(self._pool, self._work, task, operation, parameters)
        try:
            # Botocore's timeouts are for one wait each; a slow trickle would outlast them.
            async with asyncio.timeout(max(0.0, task.end - time.monotonic())):
                return await work
        except TimeoutError as error:
            raise RetryableError(
                "the provider's answer did not come", unknown=task.sent, detail=repr(error)
            ) from error
        except DriverError:
            raise
        except Exception as error:
            raise meaning(error) from error

    def _work(self, task: Task, operation: str, parameters: dict[str, Any]) -> Any:
        self._here.task = task
        try:
            return getattr(self._client, operation)(**parameters)
        except ClientError as error:
            self._login.hide()
            if error.response.get("Error", {}).get("Code") in INVALID_CREDENTIALS and self._login.renewed():
                raise RetryableError("the credentials have changed", after=0.1, detail=repr(error)) from error
            raise
        except Exception:
            self._login.hide()
            raise

    def _before(self, request: Any, **_: Any) -> None:
        task: Task = self._here.task
        if task.order:
            agent = request.headers.get(AGENT, "")
            agent = agent.decode() if isinstance(agent, bytes) else agent
            del request.headers[AGENT]
            request.headers[AGENT] = f"{agent} stead-order/{task.order}"
        task.send()


def _read[T](answer: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise RetryableError("the provider's answer makes no sense", unknown=True, detail=repr(error)) from error


@cache
def _loader() -> Any:
    """What knows EC2's interface: slow to read, and the same for all lanes."""
    return create_loader()
