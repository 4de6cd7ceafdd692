"""Credentials are planted wherever one can be given, things go wrong, and then all that was written is searched.

Nowhere may one be found: as it is, quoted, in base64 or in hex. That the search finds what is there is shown, too.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import nats
import pytest
import yaml

from stead.api import openapi
from stead.dev import children
from stead.dev.children import NotStarted, free_port, wait_until
from stead.dev.engines import Nats
from stead.secrets.sealing import SealingKeys, make_key
from tests.drivers.cloud import SimCloud
from tests.drivers.ec2 import REGION, Ec2Cloud
from tests.integration.certificates import Authority
from tests.integration.refusing import Refusing
from tests.integration.test_processes import Stead
from tests.plugins.processes import command_line, descendants
from tests.subscribing import flushed


def marker(name: str) -> str:
    """A credential that nothing else looks like, with characters that have to be quoted."""
    return f"m{name}/{secrets.token_hex(12)}+{secrets.token_hex(4)}"


def shapes(mark: str) -> set[bytes]:
    """What a marker may look like; not by the code that takes secrets out."""
    raw = mark.encode()
    found = {
        raw,
        quote(mark, safe="").encode(),
        quote(mark).encode(),
        raw.hex().encode(),
        json.dumps(mark)[1:-1].encode(),
    }
    for shift in range(3):
        padded = base64.b64encode(b"x" * shift + raw + b"x" * ((-len(raw) - shift) % 3))
        core = padded[4 if shift else 0 : len(padded) - 4]
        found |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
    return found


NAMES = {
    "ns": "ns", "nsId": "ns", "mciId": "own-one", "subgroupId": "g", "vmId": "works",
    "lane": "own.one", "token": "t", "namespace": "ns", "name": "web", "cell": "-",
}  # fmt: skip
"""What stands for names in addresses."""


class Search:
    """Texts, and who of the planted stands in them."""

    def __init__(self, marks: Mapping[str, str]) -> None:
        self.shapes = {name: shapes(mark) for name, mark in marks.items()}
        self.looked: dict[str, int] = {}
        self.leaks: list[str] = []

    def look(self, where: str, text: bytes | str) -> None:
        data = text.encode(errors="surrogateescape") if isinstance(text, str) else text
        self.looked[where] = self.looked.get(where, 0) + len(data)
        for name, every in self.shapes.items():
            for shape in every:
                if (at := data.find(shape)) >= 0:
                    around = data[max(0, at - 150) : at + len(shape) + 50].decode(errors="replace")
                    self.leaks.append(f"{name} in {where}: …{around}…")
                    break


class Told(Stead):
    """A process with words of its own in its environment, and a folder that is searched."""

    def __init__(self, *words: str, env: Mapping[str, str], listens: bool = False, module: str = "stead") -> None:
        super().__init__(*words, port_option=listens)
        self.env = env
        self.module = module

    def command(self) -> Sequence[str | Path]:
        first, second, _, *rest = super().command()
        return [first, second, self.module, *rest]

    def start(self) -> None:
        before = dict(os.environ)
        os.environ.update(self.env)
        try:
            super().start()
        finally:
            os.environ.clear()
            os.environ.update(before)


class World:
    """A cell with secrets in it."""

    def __init__(self, stack: ExitStack, folder: Path, dsn: str, bus: Nats, ec2: Ec2Cloud) -> None:
        names = ["id", "secret", "session", "sealed", "stack", "database", "bearer", "key", "chatty", "wrong"]
        self.marks = {name: marker(name) for name in names}
        # An access key has no special characters: it stands in a header between slashes.
        self.marks["id"] = f"AKIA{secrets.token_hex(8).upper()}"
        self.folder = folder
        self.dsn, self.bus, self.ec2 = dsn, bus, ec2
        self.cell = f"l{secrets.token_hex(4)}"
        self.processes: list[Told] = []
        self.outputs: list[str] = []
        self.crash = folder / "crash"
        self._start(stack)

    def hidden(self, name: str) -> str:
        """A file outside of everything that is searched: here is where the secret is kept."""
        kept = self.folder / "kept" / name
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(self.marks[name] + "\n")
        kept.chmod(0o600)
        return f"file:{kept}"

    def _start(self, stack: ExitStack) -> None:
        marks = self.marks
        bus = ("--nats", self.bus.url, "--cell", self.cell)
        database = self.dsn.replace("postgres@", f"postgres:{quote(marks['database'], safe='')}@")
        (self.folder / "kept").mkdir()
        make_key(self.folder / "kept" / "seal.key")
        seal = SealingKeys.read(self.folder / "kept" / "seal.key").seal
        sealing = ("--secrets-key", str(self.folder / "kept" / "seal.key"))
        cloud = stack.enter_context(SimCloud())
        keystone = stack.enter_context(Refusing())
        authority = Authority(self.folder / "kept")
        certificate, key = authority.issue("agent")
        marks["lxd-key"] = key.read_text().splitlines()[2][:40]

        def agent(name: str, driver: str, settings: Mapping[str, Any], env: Mapping[str, str], module: str) -> Told:
            file = self.folder / f"{name}.yaml"
            file.write_text(yaml.safe_dump(dict(settings)))
            words = ("--driver", driver, "--settings", str(file), "--name", name, *sealing)
            return Told("agent", "run", *bus, "--lane", name, *words, env=env, module=module)

        nowhere = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), str(self.folder / "none"))
        nowhere |= {"EC2_SECRET": marks["secret"], "STEAD_LOG": "DEBUG"}
        ec2 = {"endpoint_url": self.ec2.url, "access_key_id": self.hidden("id")}
        ec2 |= {"secret_access_key": "env:EC2_SECRET", "session_token": seal(marks["session"])}
        lab = {"auth_url": keystone.url, "username": "u", "project_name": "p", "password": self.hidden("stack")}
        lxd = {"url": f"https://127.0.0.1:{free_port()}", "certificate": str(certificate), "key": str(key)}
        chatty = {"token": seal(marks["sealed"]), "crash": str(self.crash)}
        command = f"command:{sys.executable} -c 'import os; print(os.environ[\"CHATTY\"])'"
        stead, own = "stead", "tests.integration.chatty"
        beside = {
            "STEAD_LOG": "DEBUG",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }  # a module of the tests, from whatever folder
        self.processes = [
            Told("server", "--open", *bus, env={"STEAD_DATABASE": database, "STEAD_LOG": "DEBUG"}, listens=True),
            agent(
                f"aws.{REGION}", "ec2", ec2, {"EC2_SECRET": marks["secret"], "STEAD_LOG": "DEBUG", **nowhere}, stead
            ),
            agent("lab.blue", "openstack", lab, {"STEAD_LOG": "DEBUG"}, stead),
            agent("lxd.red", "lxd", lxd, {"STEAD_LOG": "DEBUG"}, stead),
            agent("own.one", "chatty", chatty, beside, own),
            agent("own.two", "chatty", {"token": command}, {"CHATTY": marks["chatty"], **beside}, own),
            agent("sim.a", "sim", {"url": cloud.url}, {"STEAD_LOG": "DEBUG"}, stead),
        ]
        for process in self.processes:
            stack.enter_context(process)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.processes[0].port}"

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.marks['bearer']}"}
        return httpx.Client(base_url=self.address, headers=headers, trust_env=False, timeout=60)

    def command(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "stead", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "STEAD_SERVER": self.address, **env},
        )
        self.outputs.append(done.stdout + done.stderr)
        return done

    def pids(self) -> list[int]:
        """Of all processes, and of those that they have started."""
        own = [process.pid for process in self.processes if process.running]
        return [*own, *(child for pid in own for child in descendants(pid))]


@pytest.fixture
def ec2_cloud() -> Iterator[Ec2Cloud]:
    with Ec2Cloud() as cloud:
        yield cloud


@pytest.fixture
def world(migrated: str, nats_server: Nats, ec2_cloud: Ec2Cloud, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack, tmp_path, migrated, nats_server, ec2_cloud)


LIVES = [
    ("own.one", "works"),
    ("own.one", "fails"),
    ("own.one", "refuses"),
    ("own.two", "raises"),
    (f"aws.{REGION}", "1"),
    ("lab.blue", "1"),
    ("lxd.red", "1"),
    ("sim.a", "1"),
]


def live(world: World) -> None:
    """Ask for VMs everywhere, with answers that repeat what they were asked with, and let an agent crash."""
    marks = world.marks
    said = f"you said {marks['secret']} {marks['session']} {base64.b64encode(marks['secret'].encode()).decode()}"
    with httpx.Client(base_url=world.ec2.url, trust_env=False, timeout=60) as hand:
        faults = {
            "RunInstances": [
                {"do": "refuse", "status": 500, "code": "InternalError", "message": said, "times": 1},
                {"do": "refuse", "status": 401, "code": "AuthFailure", "message": said},
            ]
        }
        hand.post(f"/_hand/{marks['id']}", json={"faults": faults}).raise_for_status()
    with world.client() as client:
        for lane, name in LIVES:
            provider, _, region = lane.partition(".")
            spec = {"provider": provider, "region": region, "image": "ami-12345678", "spec": "t3.micro"}
            body = {"kind": "vm", "spec": spec, "lane": lane, "expect_agent": True}
            path = f"/v1/resources/ns/{provider}-{region}/g/{name}"
            answer = client.post(path, json=body, headers={"Idempotency-Key": f"{marks['key']}{lane}{name}"})
            assert answer.status_code == 202, answer.text
        client.post("/v1/resources/ns/a", content=b"{", headers={"Idempotency-Key": marks["key"]})
        client.post("/v1/resources/ns/sim-a/g/1", json={"kind": "vm", "action": "none"})

        def told() -> bool:
            for process in world.processes:
                assert process.running, process.log.read_text()[-2000:]
            items = client.get("/v1/operations", params={"limit": 100}).json()["items"]
            ended = {item["path"] for item in items if item["outcome"]}
            return {"/ns/own-one/g/fails", "/ns/own-one/g/refuses", f"/ns/aws-{REGION}/g/1"} <= ended

        wait_until(told, "operations to end")
    wait_until(lambda: b"a bug, asked with ***" in world.processes[5].log.read_bytes(), "a bug in a driver")
    wait_until(lambda: b"does not let us in" in world.processes[2].log.read_bytes(), "a login to be refused")
    world.crash.touch()
    crashing = world.processes[4]
    crashing.stop()
    with suppress(NotStarted):
        crashing.start()
    wait_until(lambda: not crashing.running, "an agent to crash")
    assert b"the end, with ***" in crashing.log.read_bytes()
    wrong = world.hidden("wrong")
    for setting in (f"passwort={wrong}", "password=env:NOWHERE", "timeout=long"):
        words = ("--set", "auth_url=http://127.0.0.1:9", "--set", f"password={wrong}", "--set", setting)
        agent = world.command("agent", "run", "--lane", "lab.x", "--driver", "openstack", *words)
        assert agent.returncode == 2
    dsn = f"postgresql://u:{quote(world.marks['wrong'], safe='')}@127.0.0.1:{free_port()}/x"
    assert world.command("server", "--port", str(free_port()), STEAD_DATABASE=dsn).returncode == 1


async def tables(dsn: str) -> list[tuple[str, str]]:
    """Every row of every table, as text."""
    connection = await asyncpg.connect(dsn)
    try:
        query = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT LIKE 'pg\\_%'"
        names = [row[0] for row in await connection.fetch(f"{query} AND schemaname <> 'information_schema'")]
        return [
            (name, "\n".join(row[0] for row in await connection.fetch(f"SELECT t::text FROM {name} t")))
            for name in names
        ]
    finally:
        await connection.close()


async def messages(bus: str) -> list[tuple[str, bytes]]:
    """Every message that is in a stream."""
    connection = await nats.connect(bus)
    found = []
    try:
        stream = connection.jetstream()
        for info in await stream.streams_info():
            name = str(info.config.name)
            for sequence in range(max(1, info.state.first_seq), info.state.last_seq + 1):
                try:
                    message = await stream.get_msg(name, sequence)
                except nats.js.errors.NotFoundError:
                    continue
                found.append((f"{name} {message.subject}", (message.data or b"") + repr(message.headers).encode()))
    finally:
        await connection.close()
    return found


class Listener:
    """Everything that passes over the bus while it listens."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[tuple[str, bytes]] = []

    async def __aenter__(self) -> Listener:
        self.connection = await nats.connect(self.url)

        async def hear(message: Any) -> None:
            self.heard.append((message.subject, message.data + repr(message.headers).encode()))

        await self.connection.subscribe(">", cb=hear)
        await flushed(self.connection)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()


def answers(world: World) -> Iterator[tuple[str, str]]:
    """Every answer to every question that the description has, as far as there is something to ask for."""
    with world.client() as client:
        operations = client.get("/v1/operations", params={"limit": 100}).json()["items"]
        paths = [item["path"] for item in client.get("/v1/resources", params={"limit": 100}).json()["items"]]
        for address, methods in openapi()["paths"].items():
            if "get" not in methods:
                continue
            every = [address]
            if "{id}" in address:
                every = [address.replace("{namespace}/{id}", item["id"]) for item in operations]
            elif "{path}" in address:
                every = [address.replace("{path}", path.strip("/")) for path in paths]
            elif "{kind}" in address:
                every = [address.replace("{kind}", "vm")]
            for one in every:
                full = one.format_map(NAMES)
                if address.endswith("/events"):
                    yield f"GET {address}", begun(client, full)
                    continue
                answer = client.get(full, params={"limit": 1000, "path": "/ns", "below": "/ns", "action": "suspend"})
                yield f"GET {address}", f"{answer.headers} {answer.text}"
                answer = client.get(full)
                yield f"GET {address}", f"{answer.headers} {answer.text}"


def begun(client: httpx.Client, address: str) -> str:
    """How a stream of events begins, which may have no end."""
    with client.stream("GET", address, params={"after": 0}) as stream:
        began, text = time.monotonic(), f"{stream.headers} "
        for part in stream.iter_text():
            text += part
            if ": alive" in part or time.monotonic() - began > 3 or len(text) > 20_000:
                break
        return text


async def search(world: World, heard: Sequence[tuple[str, bytes]]) -> Search:
    """Look everywhere."""
    found = Search(world.marks)
    for process in world.processes:
        for file in process.folder.rglob("*"):
            if file.is_file():
                found.look("logs and files of processes", file.read_bytes())
    for file in world.folder.glob("*.yaml"):
        found.look("files of settings", file.read_bytes())
    for pid in world.pids():
        found.look("command lines", command_line(pid).encode())
    for name, text in await tables(world.dsn):
        found.look(f"table {name}", text)
    for subject, data in heard:
        found.look("bus", subject.encode() + data)
    for subject, data in await messages(world.bus.url):
        found.look("streams", subject.encode() + data)
    for where, text in await asyncio.to_thread(lambda: list(answers(world))):
        found.look(where, text)
    listed = ("vm list -o json", "operation list -o json", "journal ns", "journal ns -o json", "lane list -o wide")
    for words in (
        *listed,
        "orphan list",
        "claim list",
        "explain ns/own-one/g/works suspend",
        "vm show ns/own-one/g/works",
    ):
        await asyncio.to_thread(world.command, *words.split())
    for text in world.outputs:
        found.look("commands", text)
    return found


@pytest.mark.long
@pytest.mark.slow
async def test_no_credential_is_found_anywhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "START_TIMEOUT", 90.0)  # seven processes start at once, and others may be at work
    async with Listener(world.bus.url) as listener:
        await asyncio.to_thread(live, world)
    found = await search(world, listener.heard)
    assert found.leaks == []
    empty = [where for where, size in found.looked.items() if not size and "table" not in where]
    assert empty == []
    assert len(found.looked) > 30
    logs = b"".join(process.log.read_bytes() for process in world.processes)
    assert logs.count(b"***") >= 5, "what had to be taken out was taken out"
    shown = dict(await tables(world.dsn))
    assert "***" in "".join(shown.values()), "also on its way to the database"


@pytest.mark.slow
@pytest.mark.parametrize("shape", range(4))
async def test_what_is_leaked_is_found(shape: int, migrated: str, nats_server: Nats) -> None:
    """A marker in each place, in each shape, is found by the same search."""
    mark = marker("planted")
    text = [mark, quote(mark, safe=""), base64.b64encode(f"ab:{mark}:c".encode()).decode(), mark.encode().hex()][
        shape
    ]
    connection = await asyncpg.connect(migrated)
    await connection.execute("CREATE TABLE leaky (a jsonb)")
    await connection.execute("INSERT INTO leaky VALUES ($1)", json.dumps({"deep": [text]}))
    await connection.close()
    bus = await nats.connect(nats_server.url)
    stream = bus.jetstream()
    name = f"LEAK{secrets.token_hex(4)}"
    await stream.add_stream(name=name, subjects=[f"{name}.>"])
    async with Listener(nats_server.url) as listener:
        await stream.publish(f"{name}.a", text.encode())
        wait = time.monotonic() + 60
        while f"{name}.a" not in {subject for subject, _ in listener.heard} and time.monotonic() < wait:
            await asyncio.sleep(0.01)
    found = Search({"planted": mark})
    for where, content in await tables(migrated):
        found.look(where, content)
    for subject, data in await messages(nats_server.url):
        found.look(f"stream {subject}", data)
    for _, data in listener.heard:
        found.look("bus", data)
    await stream.delete_stream(name)
    await bus.close()
    assert {leak.split(":")[0] for leak in found.leaks} == {
        "planted in public.leaky",
        f"planted in stream {name} {name}.a",
        "planted in bus",
    }
