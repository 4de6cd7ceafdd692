"""What a system's definition says: a tree of services and jobs, and what becomes of those that are there.

A node in which there is nothing but further nodes is a branch; any other is a service, or a job, and says what it
runs. A deploy brings what is to be at one node of the tree and below it; what is there and is not in it goes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from stead.lifecycle.files import nodes
from stead.lifecycle.files.decoded import NAME, InvalidDescription, decoded
from stead.lifecycle.files.problems import Path, Problem, error

DEEPEST, MOST = 100, 200_000
"""Of a definition: how deep its nodes may lie, and how many words it may have."""

LONGEST = 900
"""Characters of a path."""

ADDED, CHANGED, SCALED, RESTARTED, REMOVED = "added", "changed", "scaled", "restarted", "removed"

_NAME = re.compile(NAME)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")

Command = Annotated[list[str], Meta(min_length=1, max_length=1000)]


class Leaf(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A service or a job: what is run, how often, and how it is known to be well."""

    kind: Literal["service", "job"] = "service"
    command: Command | None = None
    image: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    count: Annotated[int, Meta(ge=0, le=1000)] = 1
    """Copies of a service."""
    lane: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] | None = None
    """Where it runs; without it, on one of the lanes of its system."""
    env: dict[str, str] = {}
    port: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    """Of the first copy; those after it count on from there."""
    cpu: float | None = None
    memory: int | str | None = None
    pids: int | None = None
    health: dict[str, Any] | None = None
    restart: Literal["always", "on-failure", "never"] | None = None
    backoff: dict[str, Any] | None = None
    stop: dict[str, Any] | None = None
    settle: float | None = None
    user: int | None = None
    labels: dict[str, str] = {}


FIELDS = sorted(field.encode_name for field in msgspec.structs.fields(Leaf))
FREE = ("health", "backoff", "stop")
"""Fields whose numbers are as they look."""

SHAPES = {
    "command": "[nginx, -g, daemon off;]",
    "env": "{PORT: '8080'}",
    "health": "{http: {port: 8080, path: /healthz}, every: 10}",
    "backoff": "{first: 0.5, most: 60, tries: 5}",
    "stop": "{signal: TERM, grace: 15}",
    "labels": "{tier: web}",
}
"""Examples of fields that are more than a word or a number."""

msgspec.json.Decoder(Leaf)  # what a type is made of must not be found out in two threads at once


class SystemNode(NamedTuple):
    """A service or a job that is to be."""

    kind: str
    spec: Mapping[str, Any]
    lane: str
    """Empty where any of its system's will do."""


class ExistingNode(NamedTuple):
    """One that is there."""

    kind: str
    state: str
    spec: Mapping[str, Any]
    lane: str


class TreeChange(NamedTuple):
    """What becomes of one of them."""

    path: str
    kind: str
    action: str
    """What is asked of it."""
    how: str
    """In a word, for people: added, changed, scaled, restarted or removed."""
    spec: Mapping[str, Any]
    lane: str
    fields: tuple[str, ...] = ()
    """Of one that is changed: what is not as it was."""


def parse(text: str, source: str = "", place: str = "/") -> dict[str, Any]:
    """What a definition file says for a place of a system; raises `DocumentError`, which names lines."""
    tree = nodes.read(text, DEEPEST, MOST)
    found = list(tree.problems)
    if not found:
        root = not place.strip("/")
        definition = _typed(tree.data, root)
        try:
            parts(definition, place.rstrip("/"), root=root)
            return dict(definition)
        except InvalidDescription as wrong:
            found = list(wrong.problems)
    raise error(found, source, tree.lines)


def parts(definition: Any, place: str, *, root: bool) -> dict[str, SystemNode]:
    """By path, what a system has at a place and below it, its root as a branch; raises `InvalidDescription`."""
    found: dict[str, SystemNode] = {}
    problems: list[Problem] = []
    for at, path, node in _walk(definition, place, root=root):
        if isinstance(node, Problem):
            problems.append(node)
            continue
        try:
            leaf = msgspec.convert(node, Leaf)
        except msgspec.ValidationError as wrong:
            problem = decoded(str(wrong), FIELDS, SHAPES)
            problems.append(Problem((*at, *problem.path), problem.message, word=problem.word, known=problem.known))
            continue
        if leaf.command is None and leaf.image is None:
            problems.append(Problem(at, "it needs a command or an image"))
        if leaf.kind == "job" and leaf.count != 1:
            problems.append(Problem((*at, "count"), "a job runs once"))
        spec = {k: v for k, v in msgspec.to_builtins(leaf).items() if v is not None and k not in ("kind", "lane")}
        found[path] = SystemNode(leaf.kind, spec, leaf.lane or "")
    if problems:
        raise InvalidDescription(problems)
    return found


def changes(
    wanted: Mapping[str, SystemNode], there: Mapping[str, ExistingNode], lanes: Sequence[str]
) -> list[TreeChange]:
    """What is to be done, in the order of paths; raises `InvalidDescription` where that cannot be said."""
    found: list[TreeChange] = []
    problems: list[Problem] = []
    for path in sorted({*wanted, *there}):
        part, now = wanted.get(path), there.get(path)
        if now is None:
            assert part is not None
            lane = part.lane or lane_for(path, lanes)
            if not lane:
                problems.append(Problem((path,), "say its lane: its system has none"))
            found.append(TreeChange(path, part.kind, "create", ADDED, part.spec, lane))
        elif part is None:
            found.append(TreeChange(path, now.kind, "delete", REMOVED, {}, now.lane))
        elif part.kind != now.kind:
            problems.append(Problem((path,), f"it is a {now.kind}: remove it, then deploy the {part.kind}"))
        elif part.lane not in ("", now.lane):
            problems.append(Problem((path,), f"it runs on {now.lane}: remove it, then deploy it on {part.lane}"))
        else:
            found += _changed(path, part, now)
    if problems:
        raise InvalidDescription(problems)
    return found


def is_name(word: str) -> bool:
    """Whether a node can be called so."""
    return _NAME.fullmatch(word) is not None


def lane_for(path: str, lanes: Sequence[str]) -> str:
    """One of some lanes, always the same for a path; what is added or taken away moves nothing else."""
    return max(lanes, key=lambda lane: hashlib.sha256(f"{lane} {path}".encode()).digest(), default="")


def _changed(path: str, part: SystemNode, now: ExistingNode) -> Iterator[TreeChange]:
    """What becomes of one that is there and is to be there."""
    spec, old = dict(part.spec), dict(now.spec)
    fields = tuple(sorted(name for name in {*spec, *old} if spec.get(name) != old.get(name)))
    if part.kind == "job":
        if fields or now.state == "failed":
            yield TreeChange(path, part.kind, "run", CHANGED if fields else RESTARTED, spec, now.lane, fields)
    elif fields == ("count",) and now.state == "stable":
        yield TreeChange(path, part.kind, "scale", SCALED, spec, now.lane, fields)
    elif fields or now.state == "failed":
        yield TreeChange(path, part.kind, "update", CHANGED if fields else RESTARTED, spec, now.lane, fields)


def _walk(node: Any, path: str, at: Path = (), root: bool = False) -> Iterator[tuple[Path, str, Any]]:
    """All leaves, each with where it stands and with its path; and what is no node."""
    if not isinstance(node, Mapping):
        yield at, path, Problem(at, "a node is a service, with a command or an image, or has further nodes")
    elif _is_leaf(node) and not root:
        yield at, path, node
    else:
        for name, below in node.items():
            if not isinstance(name, str) or not is_name(name):
                yield at, path, Problem((*at, str(name)), "a name has a-z, 0-9 and dashes")
            elif len(path) + len(name) >= LONGEST or len(at) > DEEPEST:
                yield at, path, Problem((*at, name), "its path is too long")
            else:
                yield from _walk(below, f"{path}/{name}", (*at, name))


def _is_leaf(node: Mapping[str, Any]) -> bool:
    return any(not isinstance(value, Mapping) for value in node.values())


def _typed(node: Any, root: bool = False) -> Any:
    """With numbers where a file has words that look like one, and nothing else can be meant."""
    if not isinstance(node, Mapping):
        return node
    if root or not _is_leaf(node):
        return {name: _typed(below) for name, below in node.items()}
    words = ("count", "port", "cpu", "memory", "pids", "settle", "user", *FREE)
    return {name: _numbers(value) if name in words else value for name, value in node.items()}


def _numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _numbers(each) if name != "command" else each for name, each in value.items()}
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return value
