"""moto's server with the manners of the real EC2, run as a process of its own, with a port as its argument.

As it comes, moto forgives what EC2 does not: it ignores client tokens and how many are wanted at most, changes states
at once, starts what was terminated, removes what is in use, and carries out half of a call that it then refuses. All
this matters to a driver, so it is put right here, inside moto; which is why moto's version is pinned.

Each access key is an account of its own, with its own bad days. `POST /_hand/<key>` sets them, `GET` tells what came:

    delay   seconds that a state takes to change
    page    instances on a page, whatever was asked for
    guarded instances that must not be touched
    room    instances that there is room for, or null for any number
    picky   a launch of which a single instance was terminated is refused, not only one of which all were
    hidden  whether what VMs share is not listed that is made from now on, until this is taken back
    faults  by action, or `*` for any, a list of faults: the first that has any `times` left strikes; one that does
            nothing lets so many calls pass
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qs, urlencode

from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import amis, instance_types, internet_gateways, security_groups, subnets, vpcs
from moto.ec2.models import instances as models
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.internet_gateways import InternetGateways
from moto.ec2.responses.subnets import Subnets
from moto.ec2.responses.vpcs import VPCs
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
here = threading.local()
"""What belongs to the call that a thread is at."""


class Hand:
    """What one account is to suffer, and what it has asked for."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.page = 0
        self.guarded: list[str] = []
        self.room: int | None = None
        self.picky = False
        self.hidden = False
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
    """A client token launches once: as many as there is room for, from the least to the most that is wanted.

    When it comes again it is answered with what it launched. With other parameters, or after the end of what it
    launched, it is refused.
    """
    known: dict[tuple[str, str, str], tuple[str, Any]] = {}

    def run(self: Any, image_id: str, count: int, user_data: Any, security_group_names: Any, **rest: Any) -> Any:
        token, most, hand = rest.get("client_token") or "", here.most, accounts[self.account_id]
        key = (self.account_id, self.region_name, token)
        given = sorted(rest.items(), key=lambda i: i[0])
        asked = repr((image_id, count, most, user_data, security_group_names, given))
        if len(token) > 64 or not token.isascii():
            raise refusal("InvalidParameterValue", "A client token has 64 ASCII characters at most.")
        if not 1 <= count <= most:
            raise refusal("InvalidParameterValue", "The least is one at least, and not more than the most.")
        with lock:
            if token and key in known:
                before, reservation = known[key]
                if before != asked:
                    raise refusal("IdempotentParameterMismatch", "The client token was used for something else.")
                gone = [instance.state == "terminated" for instance in reservation.instances]
                if all(gone) or (hand.picky and any(gone)):
                    raise refusal("IdempotentInstanceTerminated", "The instance of the token was terminated.")
                return reservation
            if hand.room is not None and hand.room < count:
                raise refusal("InsufficientInstanceCapacity", f"There is room for {hand.room}.")
            number = most if hand.room is None else min(most, hand.room)
            made = plain(self, image_id, number, user_data, security_group_names, **rest)
            hand.room = None if hand.room is None else hand.room - number
            for instance in made.instances:
                instance._state = Passing("pending", "running", time.monotonic() + hand.delay)
                hand.launched.setdefault(token, []).append(instance.id)
            known[key] = (asked, made)
            return made

    return run


def counting(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Moto reads how many are wanted at least, and not how many at most."""

    def counted(self: Any) -> Any:
        here.most = int(self._get_param("MaxCount"))
        return plain(self)

    return counted


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


def making(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What is made is pending for a while, and may not be listed at first."""

    def make(self: Any, *args: Any, **rest: Any) -> Any:
        with lock:
            made = plain(self, *args, **rest)
            hand = accounts.get(self.account_id) or Hand()  # Moto makes things in accounts of its own as well
            made.ready, made.unseen = time.monotonic() + hand.delay, hand.hidden
            return made

    return make


def showing(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A list without what is not listed yet."""

    def shown(self: Any) -> Any:
        answer = plain(self)
        if accounts[self.ec2_backend.account_id].hidden:
            for field, things in answer.result.items():
                answer.result[field] = [thing for thing in things if not getattr(thing, "unseen", False)]
        return answer

    return shown


def needing(plain: Callable[..., Any], needed: Callable[[Any, str], object]) -> Callable[..., Any]:
    """What something else needs is not removed."""

    def remove(self: Any, *args: Any, **rest: Any) -> Any:
        (id,) = args or [value for value in rest.values() if value]
        with lock:
            if needed(self, id):
                raise refusal("DependencyViolation", f"{id} has dependencies and cannot be deleted.")
            return plain(self, *args, **rest)

    return remove


def live(backend: Any) -> list[Any]:
    return [i for r in backend.reservations.values() for i in r.instances if i.state != "terminated"]


def vpc_needed(backend: Any, id: str) -> bool:
    attached = any(g.vpc and g.vpc.id == id for g in backend.internet_gateways.values())
    return attached or any(group.name != "default" for group in backend.groups.get(id, {}).values())


def subnet_needed(backend: Any, id: str) -> bool:
    return any(instance.subnet_id == id for instance in live(backend))


def group_needed(backend: Any, id: str) -> bool:
    return any(group.id == id for instance in live(backend) for group in instance.security_groups)


def dating(plain: Callable[..., Any]) -> Callable[..., Any]:
    """No two images are of the same moment: each is a minute newer than the one before."""
    count = itertools.count()

    def dated(self: Any, *args: Any, **rest: Any) -> Any:
        made = plain(self, *args, **rest)
        made.creation_date += timedelta(minutes=next(count))
        return made

    return dated


def wild(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A filter for instance types may have wildcards in it."""

    def matching(self: Any, offering: dict[str, Any], filters: dict[str, Any], location_type: str) -> Any:
        patterns = filters.get("instance-type", ["*"])
        rest = {name: values for name, values in filters.items() if name != "instance-type"}
        fits = any(fnmatchcase(offering["InstanceType"], pattern) for pattern in patterns)
        return fits and plain(self, offering, rest, location_type)

    return matching


def make_strict() -> None:
    # As it comes, every launch is answered with `pending`, also one that is repeated after a year.
    del InstanceResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER["RunInstances.Reservation.Instances.Instance.State"]
    for verb in MOVES:
        setattr(models.Instance, verb, move(verb, getattr(models.Instance, verb)))
        name = f"{verb}_instances"
        setattr(models.InstanceBackend, name, checked(verb, getattr(models.InstanceBackend, name)))
        if verb != "reboot":
            setattr(InstanceResponse, name, telling(getattr(InstanceResponse, name)))
    wrap(models.InstanceBackend, "run_instances", launching)
    wrap(InstanceResponse, "run_instances", counting)
    wrap(amis.AmiBackend, "register_image", dating)
    wrap(instance_types.InstanceTypeOfferingBackend, "matches_filters", wild)
    make_shared_strict()


def make_shared_strict() -> None:
    for model in (vpcs.VPC, subnets.Subnet):
        model.state = property(  # type: ignore[assignment]
            lambda self: "available" if time.monotonic() >= getattr(self, "ready", 0) else "pending",
            lambda self, value: None,
        )
    wrap(vpcs.VPCBackend, "create_vpc", making)
    wrap(subnets.SubnetBackend, "create_subnet", making)
    wrap(internet_gateways.InternetGatewayBackend, "create_internet_gateway", making)
    wrap(VPCs, "describe_vpcs", showing)
    wrap(Subnets, "describe_subnets", showing)
    wrap(InternetGateways, "describe_internet_gateways", showing)
    wrap(vpcs.VPCBackend, "delete_vpc", lambda plain: needing(plain, vpc_needed))
    wrap(subnets.SubnetBackend, "delete_subnet", lambda plain: needing(plain, subnet_needed))
    wrap(security_groups.SecurityGroupBackend, "delete_security_group", lambda plain: needing(plain, group_needed))


def wrap(place: type, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(place, name, wrapper(getattr(place, name)))


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
