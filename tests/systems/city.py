"""A system of many services on three agents, and a bad day: run by a test, and by hand.

    python -m tests.systems.city --services 200

PostgreSQL, NATS, a server and three agents are started, all of them real processes; so are the services.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from stead.client import Operation, Rejected, SyncClient
from stead.dev.cell import DATABASE, Stead, Web
from stead.dev.children import free_port
from stead.dev.engines import Nats, Postgres
from stead.drivers.process.ending import end
from tests.lanes import every_lane

SYSTEM = "/town/city"
LANES = ("local.one", "local.two", "local.three")
BRANCHES = 10
PATIENCE = 600.0

type Definition = dict[str, Any]


@dataclass
class Story:
    """What was done, and what was seen; each line is told as it happens."""

    tell: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    lines: list[str] = field(default_factory=list)

    def add(self, says: str) -> None:
        self.lines.append(says)
        self.tell(f"{time.monotonic() - self.began:6.1f} s  {says}")


class City:
    """The cell, and a client of it."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack as stack:
            self.postgres = stack.enter_context(Postgres(fsync=False))
            every_lane(self.postgres.create_database(DATABASE))
            self.nats = stack.enter_context(Nats())
            bus = ("--nats", self.nats.url, "--cell", "city")
            words = ("server", "--open", "--database", self.postgres.dsn(DATABASE), *bus)
            self.server = self._start(Web("server", "/readyz", *words, port=free_port()))
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stead-city-")))
            self.folder.chmod(0o755)  # services look there whether they may be up
            for lane in LANES:
                stack.callback(end, self.folder / lane)
            self.agents = {lane: self._agent(lane, bus) for lane in LANES}
            self.client = stack.enter_context(SyncClient(self.server.url))
            _until(lambda: self._served() == set(LANES), "agents to serve all lanes")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start[S: Stead](self, server: S) -> S:
        self._stack.callback(server.close)
        server.start()
        return server

    def _agent(self, lane: str, bus: tuple[str, ...]) -> Stead:
        root = self.folder / lane
        settings = ("--driver", "process", "--set", f"root={root}", "--set", "isolation=false")
        return self._start(Stead(f"agent-{lane}", "agent", "run", "--lane", lane, *settings, "--name", lane, *bus))

    def _served(self) -> set[str]:
        return {lane.lane for lane in self.client.lanes() if any(agent.connected for agent in lane.agents)}

    def deploy(self, definition: Mapping[str, Any], at: str) -> str:
        """Plan it, and begin."""
        plan = self.client.plan(SYSTEM, definition, at=at)
        accepted = self.client.deploy(SYSTEM, definition, at=at, mark=plan.mark)
        assert accepted.operation is not None
        return accepted.operation.id

    def ended(self, id: str) -> Operation:
        return self.client.wait(id, PATIENCE)

    def states(self) -> dict[str, str]:
        return {part.path.removeprefix(SYSTEM): part.state for part in self.client.system(SYSTEM).parts}

    def state(self) -> str:
        return self.client.resource(SYSTEM).state


def branch(services: int, version: int = 1, gate: Path | None = None) -> Definition:
    """Some services of one version. With a gate, none of them is up before that file is there."""
    one: Definition = {"command": ["sleep", "100000"], "env": {"VERSION": str(version)}}
    if gate is not None:
        one["health"] = {"command": ["test", "-e", str(gate)], "every": 1, "timeout": PATIENCE, "grace": PATIENCE}
    return {f"s{n}": one for n in range(services)}


def run(services: int, tell: Callable[[str], None]) -> Story:
    """All of it; raises where something is not as it has to be."""
    story, each = Story(tell), services // BRANCHES
    with City() as city:
        story.add(f"three agents serve {', '.join(LANES)}")
        city.client.wait(
            _id(city.client.request_action(SYSTEM, "create", kind="system", spec={"lanes": list(LANES)})), PATIENCE
        )
        everything = {f"b{n}": branch(each) for n in range(BRANCHES)}
        first = city.ended(city.deploy(everything, "/"))
        assert (first.outcome, first.total) == ("succeeded", each * BRANCHES), first
        assert (set(city.states().values()), city.state()) == ({"stable"}, "stable")
        lanes = {part.lane for part in city.client.system(SYSTEM).parts}
        assert lanes == set(LANES)
        story.add(f"{first.total} services on {len(lanes)} lanes run, deployed by one deploy")
        _side_by_side(city, story, each)
        _broken(city, story, each)
        _agent_killed(city, story, each)
        down = city.ended(_id(city.client.request_action(SYSTEM, "teardown")))
        assert (down.outcome, city.states()) == ("succeeded", {})
        story.add("torn down")
        city.client.wait(_id(city.client.request_action(SYSTEM, "delete")), PATIENCE)
        assert sum(end(city.folder / lane) for lane in LANES) == 0, "a process was left running"
        story.add("deleted, and no process is left")
    return story


def _side_by_side(city: City, story: Story, each: int) -> None:
    """One subtree is updated while another is deployed; who lies on the way of either is refused."""
    gate = city.folder / "side-by-side"
    slow = branch(each, 2, gate)
    update, fresh = city.deploy(slow, "/b1"), city.deploy({"more": slow}, "/new")
    running = {one.place.removeprefix(SYSTEM) for one in city.client.system(SYSTEM).running}
    assert running == {"/b1", "/new"}, running
    refused = _refused(lambda: city.deploy({}, "/b1/s1"))
    assert refused == {f"{SYSTEM}/b1"}, refused
    assert city.state() == "updating"
    gate.touch()
    assert [city.ended(id).outcome for id in (update, fresh)] == ["succeeded", "succeeded"]
    story.add(f"{each} services updated while {each} others were deployed; a third deploy was told who is in its way")


def _broken(city: City, story: Story, each: int) -> None:
    """A new version that does not come up is taken back; the rest of its deploy is done."""
    bad = branch(each, 3) | {"s1": {"command": ["sh", "-c", "exit 3"], "env": {"VERSION": "3"}}}
    ended = city.ended(city.deploy(bad, "/b3"))
    assert (ended.outcome, ended.failed) == ("failed", 1), ended
    (member,) = city.client.members(ended.id)
    assert (member.path, member.outcome) == (f"{SYSTEM}/b3/s1", "rolled_back"), member
    spec = city.client.resource(f"{SYSTEM}/b3/s1").spec
    assert (spec["command"][0], spec["env"]["VERSION"]) == ("sleep", "1")
    _until(lambda: city.state() == "stable", "the system to be stable again")
    story.add(f"one of {each} new versions did not come up and was taken back: {member.message[:60]}")


def _agent_killed(city: City, story: Story, each: int) -> None:
    """An agent dies in the middle; another takes its place, and what was let in is carried to its end."""
    gate = city.folder / "agent-killed"
    slow = branch(each, 4, gate)
    update = city.deploy({f"x{n}": slow for n in range(2)}, "/b4")
    victim = city.agents[LANES[0]]
    _until(
        lambda: any(p.operation and p.lane == LANES[0] for p in city.client.system(SYSTEM).parts), "work on its lane"
    )
    victim.kill()
    victim.start()
    assert not city.client.operation(update).outcome, "the deploy was to be in the middle"
    gate.touch()
    ended = city.ended(update)
    assert ended.outcome == "succeeded", ended
    assert set(city.states().values()) == {"stable"}
    story.add(f"an agent was killed in the middle of a deploy of {2 * each} services, and started again: all are up")


def _refused(ask: Callable[[], object]) -> set[str]:
    """Who is in the way of somebody, by path."""
    try:
        ask()
    except Rejected as refused:
        return {holder.path for holder in refused.problem.holders or ()}
    raise AssertionError("it was let in")


def _until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.2)


def _id(accepted: Any) -> str:
    assert accepted.operation is not None
    return str(accepted.operation.id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=200)
    run(parser.parse_args().services, lambda says: print(says, flush=True))
    sys.exit(0)
