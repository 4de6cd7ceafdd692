"""What a request may be, how many at once, how often: each limit says no with a problem, and lets the next one in."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import httpx
import pytest

from stead.api.limits import Limits, RequestLimits, Slots
from stead.api.problem_codes import TITLES
from stead.api.rates import RateLimits
from tests.api.cell import Cell, http
from tests.databases import Databases

BOUNDS = RequestLimits(
    body=200_000,
    depth=10,
    items=500,
    address=500,
    headers=2000,
    patience=0.5,
    large=250_000,
    in_hand=8,
    in_hand_each=4,
    streams=3,
    streams_each=2,
)
RATES = RateLimits(changes=1, reads=4, namespace_changes=2, namespace_reads=0, burst=5)


@pytest.fixture(scope="module")
def narrow(databases: Databases) -> Iterator[Cell]:
    """A server with small limits."""
    with databases.migrated() as dsn, Cell(dsn, limits=Limits(BOUNDS, RATES)) as cell:
        yield cell


@pytest.fixture
def client(narrow: Cell) -> Iterator[httpx.Client]:
    """Somebody who has asked for nothing yet, in a namespace of their own."""
    with http(narrow, **{"x-name": f"c{secrets.token_hex(4)}"}) as client:
        yield client


def check(answer: httpx.Response, code: str) -> dict[str, Any]:
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, problem["code"]) == (TITLES[code][0], code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["request_id"] == answer.headers["x-request-id"]
    return problem


def connect(cell: Cell) -> socket.socket:
    return socket.create_connection(("127.0.0.1", cell.socket.getsockname()[1]), timeout=60)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, Any], bool]:
    """Status and body of what comes, and whether the server hangs up after it."""
    data = b""
    while part := connection.recv(65536):
        data += part
        head, _, body = data.partition(b"\r\n\r\n")
        said = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if said and len(body) >= int(said[0].split(b":")[1]) and b"connection: close" not in head.lower():
            return int(head.split()[1]), json.loads(body), False
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body), True


def post(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_a_body_that_is_too_large(client: httpx.Client) -> None:
    check(client.post("/v1/resources/a/b", content=b" " * 200_001), "too-large")
    check(client.post("/v1/resources/a/b", content=iter([b" " * 100_000] * 3)), "too-large")
    check(client.post("/v1/resources/a/b", content=b" " * 200_000), "invalid")


def test_a_body_that_is_only_said_to_be_too_large_is_not_waited_for(narrow: Cell) -> None:
    with closing(connect(narrow)) as connection:
        connection.sendall(post("/v1/resources/a/b", "Content-Length: 99999999999"))
        status, problem, closed = answer_of(connection)
    assert (status, problem["code"], closed) == (413, "too-large", True)  # not 408, as after a wait


@pytest.mark.parametrize("body", ["[" * 11, '{"spec":' * 11 + "1" + "}" * 11, "[" * 100_000])
def test_a_body_that_is_nested_too_deep(client: httpx.Client, body: str) -> None:
    check(client.post("/v1/resources/a/b", content=body), "too-deep")


def test_a_body_with_too_much_in_it(client: httpx.Client) -> None:
    body = {"spec": {"list": list(range(600))}}
    problem = check(client.post("/v1/resources/a/b", json=body), "too-large")
    assert "500 items" in problem["detail"]


def test_a_get_with_a_body_is_held_to_the_same(client: httpx.Client) -> None:
    check(client.request("GET", "/v1/cells/-/lifecycles", content=b"[" * 11), "too-deep")
    check(client.request("GET", "/v1/cells/-/lifecycles", content=b" " * 200_001), "too-large")


def test_an_address_that_is_too_long(client: httpx.Client) -> None:
    check(client.get("/v1/resources/" + "a" * 500), "address-too-long")
    check(client.get("/v1/resources?below=/" + "a" * 500), "address-too-long")


def test_headers_that_are_too_large(client: httpx.Client) -> None:
    check(client.get("/v1/cells/-/lifecycles", headers={"x-a": "b" * 2000}), "headers-too-large")
    check(client.get("/v1/cells/-/lifecycles", headers={f"x-{n}": "b" for n in range(1000)}), "headers-too-large")


@pytest.mark.parametrize("headers", [("Content-Length: 100",), ("Transfer-Encoding: chunked",)])
def test_a_body_that_trickles_is_given_up(narrow: Cell, headers: tuple[str, ...]) -> None:
    with closing(connect(narrow)) as connection:
        connection.sendall(post("/v1/resources/a/b", *headers))
        began = time.monotonic()
        connection.sendall(b"{" if "Length" in headers[0] else b"1\r\n{\r\n")
        status, problem, closed = answer_of(connection)
    assert (status, problem["code"], closed) == (408, "too-slow", True)
    assert BOUNDS.patience * 0.9 < time.monotonic() - began < 8  # by default 10


def test_bodies_on_their_way_take_nobodys_place_and_bounded_memory(narrow: Cell, client: httpx.Client) -> None:
    with ExitStack() as stack:
        for _ in range(BOUNDS.in_hand * 3):
            slow = stack.enter_context(closing(connect(narrow)))
            slow.sendall(post("/v1/resources/a/b", "Content-Length: 1000"))
        assert client.get("/v1/cells/-/lifecycles").status_code == 200
        for _ in range(2):
            large = stack.enter_context(closing(connect(narrow)))
            large.sendall(post("/v1/resources/a/b", "Content-Length: 190000") + b" " * 180_000)
        with suppress(ConnectionResetError):  # who still sends while the server hangs up may miss the answer
            status, problem, _ = answer_of(large)
            assert (status, problem["code"]) == (503, "busy")
        assert client.get("/v1/cells/-/lifecycles").status_code == 200
    limits = narrow.limits
    assert limits is not None
    _until(lambda: limits.large == 0, "bodies that never came still count")


def test_more_than_so_many_in_hand_are_told_to_come_back(narrow: Cell, client: httpx.Client) -> None:
    limits = narrow.limits
    assert limits is not None
    limits.in_hand += BOUNDS.in_hand
    try:
        answer = client.get("/v1/cells/-/lifecycles")
        check(answer, "busy")
        assert answer.headers["retry-after"] == "1"
        assert client.get("/livez").status_code == client.get("/readyz").status_code == 200
    finally:
        limits.in_hand -= BOUNDS.in_hand
    assert client.get("/v1/cells/-/lifecycles").status_code == 200
    _until(lambda: limits.in_hand == 0, "what was answered is still in hand")


def test_a_caller_has_so_many_changes_a_second(narrow: Cell, client: httpx.Client) -> None:
    ns = narrow.namespace()
    answers = [
        client.post(f"/v1/resources/{ns}/{n}", json={"kind": "vm"}, params={"dry_run": True}) for n in range(9)
    ]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 1 <= len(refused) <= 4
    problem = check(refused[0], "rate-limited")
    assert problem["retry_after"] == int(refused[0].headers["retry-after"]) == 1
    with http(narrow, **{"x-name": "somebody-else"}) as other:
        assert other.post(f"/v1/resources/{ns}x/1", json={"kind": "vm"}).status_code != 429
    time.sleep(1.1)  # sleep: as long as Retry-After says
    assert client.post(f"/v1/resources/{ns}/9", json={"kind": "vm"}).status_code != 429


def test_a_namespace_has_so_many_changes_a_second_whoever_asks(narrow: Cell, client: httpx.Client) -> None:
    def ask(namespace: str, number: int) -> int:
        who = {"x-name": f"{namespace}-{number}"}
        return client.post(f"/v1/resources/{namespace}/{number}", json={"kind": "vm"}, headers=who).status_code

    ns = narrow.namespace()
    codes = [ask(ns, number) for number in range(40)]
    assert codes[:10].count(429) == 0
    assert 429 in codes
    assert ask(narrow.namespace(), 1) != 429


def test_reads_have_a_rate_of_their_own(narrow: Cell, client: httpx.Client) -> None:
    ns = narrow.namespace()
    asked = {"path": f"/{ns}/a", "action": "create", "kind": "vm"}
    codes = [client.get("/v1/explain", params=asked).status_code for _ in range(15)]
    assert 429 not in codes
    codes = [client.get("/v1/explain", params=asked).status_code for _ in range(80)]
    assert 429 in codes


def test_a_room_has_so_many_places_and_so_many_for_each() -> None:
    room = Slots(3, 2)
    first, second = room.enter("ann"), room.enter("ann")
    assert first
    assert second
    assert room.enter("ann") is None
    third = room.enter("bob")
    assert third
    assert room.enter("cid") is None
    first()
    first()
    assert room.enter("cid")
    assert room.enter("dan") is None
    second()
    third()
    assert (room.taken, room.by) == (1, {"cid": 1})


def test_so_many_streams_and_no_more(narrow: Cell, client: httpx.Client) -> None:
    streams = []
    with ExitStack() as stack:
        for _ in range(2):
            answer = stack.enter_context(client.stream("GET", "/v1/events"))
            assert answer.status_code == 200
            stream = answer.iter_raw()
            streams.append(stream)  # one that is not kept closes its answer
            next(stream)
        with client.stream("GET", "/v1/events") as refused:
            assert refused.status_code == 429
            refused.read()
        check(refused, "too-many-streams")
        limits = narrow.limits
        assert limits is not None
        # A request is in hand until the server has let go of it, which may be after its answer has come.
        _until(lambda: (limits.streams.taken, limits.in_hand) == (2, 0), "what was refused still counts")
    _until(lambda: limits.streams.taken == 0, "a stream that was left still counts")
    with client.stream("GET", "/v1/events") as answer:
        assert answer.status_code == 200


def _until(so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 60
    while not so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
