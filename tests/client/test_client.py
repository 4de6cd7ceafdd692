"""The client: typed answers, errors with their problems, and a link that may fail at any moment."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from stead.client import (
    Client,
    Elapsed,
    Forbidden,
    InvalidRequest,
    InvalidResponse,
    NotFound,
    Rejected,
    ServerError,
    SyncClient,
    Unavailable,
    Unreachable,
    VersionMismatch,
    WaitTimeout,
    models,
)
from stead.client import client as clients
from stead.client.events import Event, events
from stead.client.transport import read
from stead.lifecycle.rows import Trigger
from tests.api.cell import HEARTBEAT, Cell
from tests.client.proxy import Proxy

SPEC = {"provider": "sim", "region": "a"}

SILENCE = HEARTBEAT * 0.75
"""Seconds after which a stream is given up, though it lives: less than a heartbeat."""


@pytest.fixture
async def client(cell: Cell) -> AsyncIterator[Client]:
    async with Client(cell.url, retries=0) as client:
        yield client


async def settled(cell: Cell, path: str, word: Trigger = Trigger.SUCCEEDED) -> None:
    await asyncio.to_thread(cell.settle, path, word, id="i-1")


async def running(cell: Cell, client: Client, path: str) -> str:
    accepted = await client.request_action(path, "create", kind="vm", spec=SPEC)
    assert accepted.operation is not None
    await settled(cell, path)
    return accepted.operation.id


async def soon[T](work: Awaitable[T]) -> T:
    """What is waited for comes, or the test fails."""
    return await asyncio.wait_for(work, 60)


async def follows(proxy: Proxy, times: int) -> None:
    """The stream was asked for so many times."""
    await soon(proxy.reached(lambda: b"".join(proxy.asked).count(b"GET /v1/events") >= times))


# Answers


async def test_the_way_of_a_vm(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    plan = await client.dry_run(path, "create", kind="vm", spec=SPEC)
    assert (plan.states, plan.orders[0].lane) == (("Absent", "Creating", "Running"), "sim.a")
    id = await running(cell, client, path)
    vm = await client.resource(path)
    assert (vm.state, vm.spec, vm.facts) == ("Running", SPEC, {"id": "i-1"})
    assert vm.created_at is not None
    assert vm.created_at.tzinfo is not None
    operation = await client.operation(id)
    assert (operation.outcome, operation.path) == ("succeeded", path)
    accepted = await client.request_action(path, "suspend", if_match=vm.etag, reason="night")
    assert accepted.operation is not None
    (claim,) = (await client.claims(below=path)).items
    assert (claim.path, claim.operation) == (path, accepted.operation.id)
    why = await client.explain(path, "resume")
    assert (why.allowed, [r.code for r in why.reasons], [r.kind for r in why.remedies]) == (
        False,
        ["in-progress"],
        ["wait"],
    )
    await settled(cell, path)
    was = await client.past(path, vm.changed_at or datetime.now(UTC))
    assert was.state in ("Creating", "Running")  # the clock of the row and of its line differ by a little
    idle = await client.explain(path, "suspend")
    assert idle.allowed is False


async def test_pages_are_gone_through(cell: Cell, client: Client, ns: str) -> None:
    ids = [await running(cell, client, f"/{ns}/m/g/{i}") for i in range(3)]
    found = [r.path async for r in client.resources(kind="vm", below=f"/{ns}", limit=2)]
    assert found == [f"/{ns}/m/g/{i}" for i in range(3)]
    await asyncio.to_thread(cell.numbered)
    assert [op.id async for op in client.operations(below=f"/{ns}", limit=2)] == ids[::-1]
    lines = [x async for x in client.journal(path=f"/{ns}", limit=2)]
    assert [x.target for x in lines] == ["Creating", "Running"] * 3
    assert isinstance(lines[0].at, datetime)


# Errors


async def test_errors_carry_the_problem(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    with pytest.raises(NotFound, match="there is nothing at"):
        await client.resource(path)
    await client.request_action(path, "create", kind="vm", spec=SPEC)
    with pytest.raises(Rejected) as refused:
        await client.request_action(path, "suspend")
    problem = refused.value.problem
    assert (problem.code, problem.current_state, refused.value.retry_after) == ("in-progress", "Creating", 15)
    assert problem.holder is not None
    assert (problem.holder.path, problem.holder.principal) == (path, "ann")
    assert problem.reasons is not None
    assert problem.reasons[0].code == "in-progress"
    assert problem.request_id
    with pytest.raises(InvalidRequest) as invalid:
        await client.request_action(path, "explode")
    assert invalid.value.problem.code == "unknown-action"
    await settled(cell, path)
    with pytest.raises(Forbidden):
        await client.request_action(path, "refine")
    with pytest.raises(VersionMismatch):
        await client.request_action(path, "suspend", if_match="0-0")
    with pytest.raises(InvalidRequest) as strange:
        await client.resource("/a b")
    assert strange.value.problem.errors is not None
    assert strange.value.problem.errors[0].location == "path.path"


async def test_a_fault_and_a_stranger(cell: Cell, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(cell.view, "claims", broken)
    with pytest.raises(ServerError):
        await client.claims()

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<html>no</html>"
        status = next(statuses)
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body)
        writer.close()

    statuses = iter([b"502 Bad Gateway", b"418 Teapot", b"200 OK"])
    server = await asyncio.start_server(stranger, "127.0.0.1", 0)
    async with server, Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", retries=0) as lost:
        with pytest.raises(Unavailable) as unavailable:
            await lost.claims()
        assert unavailable.value.problem.code == "http-502"
        with pytest.raises(InvalidRequest):
            await lost.claims()
        with pytest.raises(InvalidResponse):
            await lost.claims()


def test_what_a_newer_server_adds_is_passed_over() -> None:
    text = b'{"code": "a", "message": "b", "colour": "blue"}'
    assert read(text, models.Reason) == models.Reason(code="a", message="b")


def test_time_alone_makes_no_other_operation() -> None:
    lasts = Elapsed(since=datetime(2026, 1, 1, tzinfo=UTC), samples=0, lane="", late=False, overdue=False)
    before = models.Operation(
        id="a",
        action="create",
        kind="vm",
        path="/a",
        principal="ann",
        reason="",
        request={},
        total=1,
        remaining=0,
        failed=0,
        skipped={},
        queued=False,
        outcome=None,
        created_at=lasts.since,
        elapsed=lasts,
    )
    later = replace(before, elapsed=replace(lasts, late=True))
    assert clients.differs(later, None)
    assert not clients.differs(later, before)
    assert clients.differs(replace(later, message="one of two"), before)


THREADS = """
import sys
from threading import Barrier, Thread
import msgspec
from stead.client import InvalidResponse, models
from stead.client.transport import read

sys.setswitchinterval(1e-6)
kinds = [kind for name, kind in vars(models).items() if name.endswith("Page")]
together = Barrier(4)

def first():
    for kind in kinds:
        together.wait()
        try:
            read(msgspec.json.encode({name: [] for name in kind.__struct_fields__}), kind)
        except InvalidResponse:
            pass

threads = [Thread(target=first) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(kinds))
"""


def test_threads_may_read_answers_of_the_same_kind_for_the_first_time_at_once() -> None:
    for _ in range(4):  # without care two of three processes end by SIGSEGV
        done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
        assert (done.returncode, int(done.stdout or 0) > 5) == (0, True), done.stderr


# Waiting


async def test_wait_ends_with_the_operation(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    accepted = await client.request_action(path, "create", kind="vm", spec=SPEC)
    assert accepted.operation is not None
    seen: list[tuple[str | None, str | None]] = []
    started = asyncio.Event()

    def changed(op: models.Operation) -> None:
        seen.append((op.state, op.outcome))
        started.set()

    waiting = asyncio.create_task(client.wait(accepted.operation.id, 20, changed))
    await soon(started.wait())
    await settled(cell, path, Trigger.FAILED)
    ended = await waiting
    assert (ended.outcome, seen[0], seen[-1]) == ("failed", ("Creating", None), (None, "failed"))


async def test_wait_gives_up_in_time_and_the_operation_goes_on(cell: Cell, client: Client, ns: str) -> None:
    accepted = await client.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=SPEC)
    assert accepted.operation is not None
    with pytest.raises(WaitTimeout) as still:
        await client.wait(accepted.operation.id, 0.2)
    assert still.value.operation.outcome is None
    with pytest.raises(TimeoutError):
        await client.wait(accepted.operation.id, 0)


async def test_wait_survives_a_server_that_is_away_for_a_while(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    async with Proxy(cell.url) as proxy, Client(proxy.url, retries=0) as client:
        accepted = await client.request_action(path, "create", kind="vm", spec=SPEC)
        assert accepted.operation is not None
        started = asyncio.Event()
        waiting = asyncio.create_task(client.wait(accepted.operation.id, 20, lambda _: started.set()))
        await started.wait()
        proxy.refusing = True
        proxy.cut()
        before = proxy.connections
        await soon(proxy.reached(lambda: proxy.connections >= before + 2))
        await settled(cell, path)
        proxy.refusing = False
        assert (await waiting).outcome == "succeeded"


async def test_patience_has_an_end(cell: Cell, ns: str) -> None:
    async with Proxy(cell.url) as proxy, Client(proxy.url, retries=0, patience=0.1) as client:
        accepted = await client.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=SPEC)
        assert accepted.operation is not None
        following = client.follow(accepted.operation.id)
        await anext(following)
        proxy.refusing = True
        proxy.cut()
        with pytest.raises(Unreachable):
            await anext(following)
        stream = client.events(after=0)
        with pytest.raises(Unreachable):
            await anext(stream)


# Asking again


@pytest.mark.req("X-10")
async def test_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    async with Proxy(cell.url) as proxy, Client(proxy.url, retries=1) as client:
        proxy.losing = 1
        accepted = await client.request_action(path, "create", kind="vm", spec=SPEC)
        assert (accepted.repeated, proxy.connections) == (True, 2)
        keys = re.findall(rb"idempotency-key: (\S+)", b"".join(proxy.asked), re.IGNORECASE)
        assert len(keys) == 2
        assert keys[0] == keys[1]
    assert [order["members"][0]["path"] for order in cell.sent].count(path) == 1


async def test_two_calls_are_two_wishes_unless_the_caller_says_otherwise(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    first = await client.request_action(path, "create", kind="vm", spec=SPEC, key=f"{ns}-k")
    again = await client.request_action(path, "create", kind="vm", spec=SPEC, key=f"{ns}-k")
    assert (again.operation, again.repeated) == (first.operation, True)
    with pytest.raises(Rejected):
        await client.request_action(path, "create", kind="vm", spec=SPEC)


async def test_503_is_asked_again(cell: Cell, ns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stead.client.transport.LONGEST_PAUSE", 0.01)
    asked = 0
    ping = cell.view.claims

    async def away(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise ConnectionRefusedError
        return await ping(*args)

    monkeypatch.setattr(cell.view, "claims", away)
    async with Client(cell.url, retries=2) as client:
        assert (await client.claims(below=f"/{ns}")).items == ()
    asked = 0
    async with Client(cell.url, retries=1) as client:
        with pytest.raises(Unavailable) as error:
            await client.claims()
    assert (error.value.retry_after, asked) == (2, 2)


async def test_nobody_there() -> None:
    async with Client("http://127.0.0.1:9", retries=0) as client:
        with pytest.raises(Unreachable, match=re.escape("http://127.0.0.1:9 does not answer")):
            await client.claims()


# Events


async def test_a_stream_that_is_cut_goes_on_without_a_gap(cell: Cell, ns: str) -> None:
    async with Proxy(cell.url) as proxy, Client(proxy.url) as client:
        stream = client.events(path=f"/{ns}")
        coming = asyncio.ensure_future(anext(stream))
        heard = []
        for i in range(3):
            await follows(proxy, max(i, 1))
            if i:
                proxy.cut()  # and something happens before it is there again
            async with Client(cell.url) as direct:
                await direct.request_action(f"/{ns}/m/g/{i}", "create", kind="vm", spec=SPEC)
            heard.append(await soon(coming))
            coming = asyncio.ensure_future(anext(stream))
        coming.cancel()
        await asyncio.wait([coming])
    assert [x.path for x in heard] == [f"/{ns}/m/g/{i}" for i in range(3)]
    assert [x.position for x in heard] == sorted({x.position for x in heard})


async def test_a_silent_stream_is_given_up_and_taken_up_again(
    cell: Cell, ns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(cell.url) as proxy, Client(proxy.url, silence=SILENCE) as client:
        stream = client.events(path=f"/{ns}")
        heard = asyncio.ensure_future(anext(stream))
        await follows(proxy, 2)
        async with Client(cell.url) as direct:
            await direct.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=SPEC)
        assert (await soon(heard)).target == "Creating"
        await stream.aclose()


async def test_a_stream_that_is_refused_is_an_error(client: Client) -> None:
    with pytest.raises(InvalidRequest):
        await anext(client.events(after=10**9))


async def test_events_are_read_whatever_the_pieces() -> None:
    signs = "retry: 1000\nid: 4\n\n: alive\r\nid: 5\r\n\r\n"
    text = (signs + 'id: 6\nevent: move\ndata: {"a":\ndata: "\u2028\u0085"}\n\nid: 7').encode()
    expected = [Event("4", "", 1000), Event("5"), Event("6", '{"a":\n"\u2028\u0085"}', name="move")]
    for size in (1, 2, 3, 7, len(text)):

        async def pieces(size: int = size) -> AsyncIterator[bytes]:
            for i in range(0, len(text), size):
                yield text[i : i + size]

        assert [event async for event in events(pieces())] == expected


# Without a loop


def test_the_sync_face_has_every_method_of_the_client(cell: Cell, ns: str) -> None:
    methods = {name for name in vars(clients.Client) if not name.startswith("_")}
    assert methods <= set(vars(SyncClient))
    path = f"/{ns}/m/g/1"
    cell.obey(ns)
    with SyncClient(cell.url, retries=0) as client:
        accepted = client.request_action(path, "create", kind="vm", spec=SPEC)
        assert accepted.operation is not None
        assert client.wait(accepted.operation.id, 20).outcome == "succeeded"
        assert [r.path for r in client.resources(below=f"/{ns}")] == [path]
        cell.numbered()
        stream = client.events(after=0, path=f"/{ns}")
        assert [next(stream).target for _ in range(2)] == ["Creating", "Running"]
        assert client.resource(path).state == "Running"  # while the stream is open
        with pytest.raises(NotFound):
            client.resource(f"/{ns}/m")


async def test_the_sync_face_is_not_for_a_running_loop(cell: Cell) -> None:
    client = SyncClient(cell.url)
    with pytest.raises(RuntimeError, match="event loop"):
        client.claims()
    await asyncio.to_thread(client.close)


def test_stream_whose_step_was_left_behind_by_an_interrupt_is_closed() -> None:
    """Ctrl-C may come after the step's task was made and before the event loop handles signals."""
    closed = False

    async def changes() -> AsyncGenerator[int]:
        nonlocal closed
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            closed = True

    items = changes()

    async def step() -> int:
        return await anext(items)

    with SyncClient("http://127.0.0.1:9") as client:
        client._open.add(items)
        left = client._runner.get_loop().create_task(step())
    assert left.cancelled()
    assert closed
