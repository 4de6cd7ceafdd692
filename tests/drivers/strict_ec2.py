"""moto's server with the manners of the real EC2, run as a process of its own, with a port as its argument.

As it comes, moto forgives what EC2 does not: it ignores client tokens, changes states at once, starts what was
terminated, and carries out half of a call that it then refuses. All this matters to a driver, so it is put right
here, inside moto; which is why moto's version is pinned.

Each access key is an account of its own, with its own bad days. `POST /_hand/<key>` sets them, `GET` tells what came:

    delay   seconds that a state takes to change
    page    instances on a page, whatever was asked for
    guarded instances that must not be touched
    faults  by action, or `*` for any, a list of faults: the first that has any `times` left strikes
"""

from __future__ import annotations

import copy
import io
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlencode

from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import instances as models
from moto.ec2.responses.instances import InstanceResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

# What a verb needs, what it leads through, and where it ends.
MOVES = {
    "start": ({"stopped"}, "pending", "running"),
    "stop": ({"running"}, "stopping", "stopped"),
    "terminate": ({"pending", "running", "stopping", "stopped"}, "shutting-down", "terminated"),
    "reboot": ({"running"}, "", ""),
}

lock = threading.RLock()


class Hand:
    """What one account is to suffer, and what it has asked for."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.page = 0
        self.guarded: list[str] = []
        self.faults: dict[str, list[dict[str, Any]]] = {}
        self.calls: list[dict[str, Any]] = []
        self.launched: dict[str, list[str]] = {}
        """Every instance that was ever made, by client token."""

    def fault(self, action: str) -> dict[str, Any]:
        """The one that strikes now."""
        for name in (action, "*"):
            for fault in self.faults.get(name, []):
                left = fault.get("times")
                if left is None or left > 0:
                    fault["times"] = None if left is None else left - 1
                    return fault
        return {}


hands: dict[str, Hand] = {}
accounts: dict[str, Hand] = {}


def hand_of(key: str) -> Hand:
    with lock:
        hand = hands.setdefault(key, Hand())
        return accounts.setdefault(account_of(key), hand)


def account_of(key: str) -> str:
    """Twelve digits, as accounts have them."""
    return str(int.from_bytes(key.encode(), "big") % 10**12).zfill(12)


class Passing:
    """A state that becomes another by itself, in the shape of moto's own."""

    def __init__(self, name: str, end: str = "", at: float = 0.0) -> None:
        self._name, self._end, self._at = name, end, at

    @property
    def name(self) -> str:
        if self._end and time.monotonic() >= self._at:
            self._name, self._end = self._end, ""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name, self._end = value, ""

    @property
    def code(self) -> int:
        return CODES[self.name]

    @code.setter
    def code(self, value: int) -> None:
        """It follows from the name."""

    def __copy__(self) -> Passing:
        return Passing(self.name)


def refusal(code: str, message: str) -> ServiceException:
    return EC2ClientError(code, message)


def move(verb: str, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A verb on one instance, that takes its time."""
    _, way, end = MOVES[verb]

    def moving(self: Any) -> Any:
        before = copy.copy(self._state)
        if verb == "reboot" or before.name in (way, end):
            return before
        plain(self)
        self._state = Passing(way, end, time.monotonic() + accounts[self.owner_id].delay)
        return before

    return moving


def checked(verb: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A verb on many instances: all of them can, or none does."""
    allowed, way, end = MOVES[verb]

    def checking(self: Any, instance_ids: list[str]) -> Any:
        with lock:
            for instance in self.get_multi_instances_by_id(instance_ids):
                if instance.state not in {*allowed, way, end}:
                    says = f"The instance '{instance.id}' is not in a state from which it can {verb}."
                    raise refusal("IncorrectInstanceState", says)
                if instance.id in accounts[self.account_id].guarded:
                    says = f"The instance '{instance.id}' is protected."
                    raise refusal("OperationNotPermitted", says)
            return plain(self, instance_ids)

    return checking


def launching(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A client token launches once; with other parameters, or after the end of what it launched, it is refused."""
    known: dict[tuple[str, str, str], tuple[str, Any]] = {}

    def run(self: Any, image_id: str, count: int, user_data: Any, security_group_names: Any, **rest: Any) -> Any:
        token = rest.get("client_token") or ""
        key = (self.account_id, self.region_name, token)
        asked = repr((image_id, count, user_data, security_group_names, sorted(rest.items(), key=lambda i: i[0])))
        if len(token) > 64 or not token.isascii():
            raise refusal("InvalidParameterValue", "A client token has 64 ASCII characters at most.")
        with lock:
            if token and key in known:
                before, reservation = known[key]
                if before != asked:
                    raise refusal("IdempotentParameterMismatch", "The client token was used for something else.")
                if any(instance.state == "terminated" for instance in reservation.instances):
                    raise refusal("IdempotentInstanceTerminated", "The instance of the token was terminated.")
                return reservation
            made = plain(self, image_id, count, user_data, security_group_names, **rest)
            hand = accounts[self.account_id]
            for instance in made.instances:
                instance._state = Passing("pending", "running", time.monotonic() + hand.delay)
                hand.launched.setdefault(token, []).append(instance.id)
            known[key] = (asked, made)
            return made

    return run


def telling(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The answer of a verb tells the state that there is, not the one that there usually is."""

    def told(self: Any) -> Any:
        answer = plain(self)
        for changes in answer.result.values():
            for change in changes:
                state = self.ec2_backend.get_instance(change["InstanceId"])._state
                change["CurrentState"] = {"Code": state.code, "Name": state.name}
        return answer

    return told


def make_strict() -> None:
    # As it comes, every launch is answered with `pending`, also one that is repeated after a year.
    del InstanceResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER["RunInstances.Reservation.Instances.Instance.State"]
    for verb in MOVES:
        setattr(models.Instance, verb, move(verb, getattr(models.Instance, verb)))
        name = f"{verb}_instances"
        setattr(models.InstanceBackend, name, checked(verb, getattr(models.InstanceBackend, name)))
        if verb != "reboot":
            setattr(InstanceResponse, name, telling(getattr(InstanceResponse, name)))
    models.InstanceBackend.run_instances = launching(models.InstanceBackend.run_instances)  # type: ignore[method-assign]


class Front:
    """Before moto: accounts, faults, and a list of all that came."""

    def __init__(self) -> None:
        self.inner = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path: str = environ["PATH_INFO"]
        if path.startswith("/_hand/"):
            return self.control(hand_of(path.removeprefix("/_hand/")), body, start)
        signed = re.search(r"Credential=([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
        key = signed[1] if signed else ""
        hand = hand_of(key)
        asked = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
        action = asked.get("Action", "")
        with lock:
            fault = hand.fault(action)
            hand.calls.append({"action": action, "agent": environ.get("HTTP_USER_AGENT", ""), "asked": asked})
        if hand.page and "MaxResults" in asked:
            body = urlencode(asked | {"MaxResults": str(hand.page)}).encode()
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account_of(key)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = io.BytesIO(body)
        return self.answer(fault, environ, start)

    def answer(self, fault: dict[str, Any], environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        do = fault.get("do")
        if do == "refuse":
            headers = [("Content-Type", "text/xml")]
            if "after" in fault:
                headers.append(("Retry-After", str(fault["after"])))
            start(f"{fault['status']} Refused", headers)
            error = f"<Error><Code>{fault['code']}</Code><Message>{fault.get('message', 'No.')}</Message></Error>"
            return [f"<Response><Errors>{error}</Errors><RequestID>0</RequestID></Response>".encode()]
        if do == "lose":
            list(self.inner(environ, lambda *_: None))
        if do == "hang":
            time.sleep(fault["seconds"])
        if do in ("lose", "drop", "hang"):
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionError("on purpose")
        return list(self.inner(environ, start))

    def control(self, hand: Hand, body: bytes, start: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            for name, value in json.loads(body or b"{}").items():
                setattr(hand, name, value)
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(vars(hand)).encode()]


class Quiet(WSGIRequestHandler):
    """No line in the log for every call."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing to say."""


if __name__ == "__main__":
    make_strict()
    run_simple("127.0.0.1", int(sys.argv[1]), Front(), threaded=True, request_handler=Quiet)
