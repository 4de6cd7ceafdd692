"""Calls to OpenStack's services through openstacksdk, which blocks: each runs in a thread, of which some are kept.

The library knows clouds.yaml, Keystone's ways to log in, and where a service is. What is sent to a service is said
here, request by request, so that one call is one request and it is known which of them may have done something.

A thread cannot be cancelled, so giving up on it is not enough: it could still send its call later, when somebody else
has long been allowed to act. Therefore every task (one `perform`, or one look) has a time after which nothing is sent
for it, not even a login or the same call with a new login. It is checked at the last moment, in the session that all
of the library's requests pass through, which also gives each request no more time than its task has left.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import Unauthorized
from keystoneauth1.session import Session
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError

from stead.drivers.base import DriverError, RetryableError
from stead.drivers.openstack.errors import DeadlineError, NoAnswerError, NotSentError, error_of, translate
from stead.drivers.openstack.settings import Config, connect

THREADS = 16
"""Calls at a time."""

SENDING = 0.6
"""The share of a task's time in which its calls are sent; the rest is for the last of them to end."""

CONNECTING = 0.2
"""The share of a task's time in which a connection must come about."""

ORDER = "X-Openstack-Request-Id"
"""The header in which the order stands, in the form that it must have: the logs of all services show it. Only what we
ask for has it; logins and questions of where a service is are the library's own."""

COMPUTE = "compute"
IMAGE = "image"
NETWORK = "network"
LOWEST = {COMPUTE: "2.1", IMAGE: "2.0", NETWORK: "2.0"}
"""The services, and the lowest version of each that will do."""

MICROVERSION = "2.69"
"""Of Nova's interface: servers are found by tag, and those that it cannot see at the moment are told as unknown."""

_ORDERS = uuid.UUID("6f1c7b0e-3f1d-4b62-9d37-a3c64d8f9f55")


class Task:
    """The calls that are made for one `perform` or one look."""

    def __init__(self, timeout: float, order: str = "") -> None:
        self.began = time.monotonic()
        self.latest = self.began + SENDING * timeout
        """Nothing is sent later."""
        self.end = self.began + timeout
        """Everything has ended."""
        self.order = f"req-{uuid.uuid5(_ORDERS, order)}"
        self.acted = False
        """Whether anything may have been done."""


class _Ask:
    """One request, while its thread works at it."""

    def __init__(self, task: Task, acts: bool) -> None:
        self.task = task
        self.acts = acts


class _Wire(requests.Session):
    """What all requests pass through. Where there is no answer, it says whether the request was sent."""

    def __init__(self, timeout: float, here: threading.local) -> None:
        super().__init__()
        self._connecting = CONNECTING * timeout
        self._here = here
        for scheme in ("http://", "https://"):
            self.mount(scheme, HTTPAdapter(pool_connections=THREADS, pool_maxsize=THREADS, max_retries=0))

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        ask: _Ask = self._here.ask
        now = time.monotonic()
        if now > ask.task.latest:
            raise DeadlineError
        left = ask.task.end - now
        how["timeout"] = (min(self._connecting, left), left)
        ours = ORDER in request.headers
        if ours and ask.acts:
            before, ask.task.acted = ask.task.acted, True
        try:
            answer = super().send(request, **how)
        except requests.exceptions.RequestException as error:
            unsent = isinstance(error, requests.exceptions.ConnectTimeout) or _never_connected(error)
            if unsent and ours and ask.acts:
                ask.task.acted = before
            raise (NotSentError if unsent else NoAnswerError)(repr(error)) from error
        if not ours and (answer.status_code in (413, 429) or answer.status_code >= 500):
            # The library would guess where the service is instead, and a wrong guess says that nothing is there.
            where = f"{request.method} {request.url}"
            raise error_of(answer.status_code, answer.headers, answer.content, where, acted=ask.task.acted)
        return answer


class Calls:
    """The services of one region, for one project."""

    def __init__(self, config: Config) -> None:
        self._timeout = config.timeout
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="openstack")
        self._here = threading.local()
        self._wire = _Wire(config.timeout, self._here)
        self._config = config
        self._renewing = threading.Lock()
        self._project = ""
        self._log_in()

    def _log_in(self) -> None:
        """With the secret as it is known now. Nothing is sent yet."""
        self._used = self._config.secret.reveal() if self._config.secret else ""
        self._region = connect(self._config, partial(Session, session=self._wire))
        self._services = {service: self._service(service, lowest) for service, lowest in LOWEST.items()}

    def _renewed(self, used: str) -> bool:
        """Keystone did not take the secret that was used: is there another one by now? In a thread of ours."""
        if not (used and self._config.secret.doubt(used)):
            return False
        with self._renewing:
            if self._used == used:
                self._log_in()
        return True

    @property
    def longest(self) -> float:
        """Seconds after which every task has ended."""
        return self._timeout

    def task(self, order: str = "") -> Task:
        """A task that begins now."""
        return Task(self._timeout, order)

    async def ask[T](
        self,
        task: Task,
        kind: type[T],
        service: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        acts: bool = True,
    ) -> T:
        """One request. Raises a `DriverError` where it has no answer, or one that is an error.

        One that does not act, such as on a lock, leaves nothing behind that anybody would have to look for."""
        acts = acts and method != "GET"
        before = task.acted
        answer = await self._run(task, self._work, _Ask(task, acts), service, method, path, body, query or {})
        if not answer.ok or answer.status_code >= 300:
            where = f"{method} {answer.url}"
            if 400 <= answer.status_code < 500:
                task.acted = before
            raise error_of(answer.status_code, answer.headers, answer.content, where, acted=task.acted)
        try:
            return msgspec.json.decode(answer.content or b"null", type=kind)
        except msgspec.MsgspecError as error:
            if kind is type(None):
                return None
            raise RetryableError(
                "the provider's answer makes no sense", unknown=task.acted, detail=repr(error)
            ) from error

    async def project(self, task: Task) -> str:
        """The id of the project. A login tells it, and it stays the same."""
        if not self._project:
            self._project = await self._run(task, self._ask_project, _Ask(task, acts=False))
        return self._project

    def close(self) -> None:
        """What waits for a thread is dropped; what was sent ends by itself, in its time."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._wire.close()

    async def _run[**P, T](self, task: Task, work: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
        """What it returns, in its own thread and in the task's time."""
        working = asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *given, **more))
        try:
            # The session's timeouts are for one wait each; a slow trickle would outlast them.
            async with asyncio.timeout(max(0.0, task.end - time.monotonic())):
                return await working
        except TimeoutError as error:
            raise RetryableError(
                "the provider's answer did not come", unknown=task.acted, detail=repr(error)
            ) from error
        except DriverError:
            raise
        except Exception as error:
            raise translate(error, acted=task.acted) from error

    def _ask_project(self, ask: _Ask) -> str:
        self._here.ask = ask
        with self._heeding():
            return self._region.get_session().get_project_id() or ""

    @contextmanager
    def _heeding(self) -> Iterator[str]:
        """Where the secret turns out to be another one by now, whatever was asked is to be asked again."""
        used = self._used
        try:
            yield used
        except Unauthorized as error:
            if self._renewed(used):
                raise RetryableError("the credentials have changed", after=0.1, detail=repr(error)) from error
            raise

    def _service(self, service: str, lowest: str) -> Adapter:
        return Adapter(
            self._region.get_session(),
            service_type=self._region.get_service_type(service),
            interface=self._region.get_interface(service),
            region_name=self._region.get_region_name(service),
            endpoint_override=self._region.get_endpoint(service),
            min_version=lowest,
            max_version="2.latest",
            default_microversion=MICROVERSION if service == COMPUTE else None,
            connect_retries=0,  # whoever has custody tries again, and nobody else
            status_code_retries=0,
        )

    def _work(
        self, ask: _Ask, service: str, method: str, path: str, body: Any, query: Mapping[str, Any]
    ) -> requests.Response:
        self._here.ask = ask
        content: dict[str, Any] = {} if body is None else {"json": body}
        if service == IMAGE and method == "PATCH":
            content["headers"] = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
        headers = {"Accept": "application/json", ORDER: ask.task.order, **content.pop("headers", {})}
        with self._heeding() as used:
            asked = self._services[service].request
            answer = asked(path, method, params=dict(query), headers=headers, raise_exc=False, **content)
        if answer.status_code == 401 and self._renewed(used):
            raise RetryableError("the credentials have changed", after=0.1, detail=f"401 {method} {answer.url}")
        return answer


def _never_connected(error: BaseException) -> bool:
    """Whether it failed before anything could be sent. The reason lies some layers deep."""
    seen = [error, *error.args, *(getattr(arg, "reason", None) for arg in error.args)]
    return any(isinstance(cause, NewConnectionError) for cause in seen)
