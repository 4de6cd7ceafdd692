"""The journal by itself: positions without a gap, and for every path a legal walk through its lifecycle.

Lines of one path are written in the order in which they happened, since each is written under the lock of its
resource; so what stands between two lines of an operation happened while it was under way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from stead.catalog import KINDS
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.rows import Actor, StateClass, Trigger
from tests.chaos.history import History, Line


def moves_by_path(history: History) -> dict[str, list[Line]]:
    """The moves of each path, in order."""
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for line in history.journal:
        if not line.rejections:
            found[line.path].append(line)
    return found


def positions(history: History) -> Iterator[str]:
    """Every line has a position, and they go from 1 on without a gap."""
    given = [line.position for line in history.journal if line.position is not None]
    missing = len(history.journal) - len(given)
    if missing:
        yield f"{missing} lines of the journal have no position"
    if sorted(given) != list(range(1, len(given) + 1)):
        wrong = next((n for n, position in enumerate(sorted(given), 1) if n != position), 0)
        yield f"the positions of the journal are not 1 to {len(given)}: position {wrong} is missing or there twice"


def walks(history: History) -> Iterator[str]:
    """Consecutive lines join, begin where an object begins, and each move is one that its actor may make."""
    forced = {op.id for op in history.ended if op.forced} | {op["id"] for op in history.running if op["forced"]}
    believed = {resource.path: resource.state for resource in history.resources}
    paths = moves_by_path(history)
    for path, lines in paths.items():
        lifecycle = KINDS[lines[0].kind]
        state = lifecycle.initial.name
        for line in lines:
            if line.source != state:
                yield f"{path} was {state}, and line {line.position} leads it from {line.source} to {line.target}"
            if not _legal(line, line.operation in forced):
                yield f"line {line.position} is no move of a {line.kind}: {_told(line)}"
            state = line.target
        gone = lifecycle.state(state).cls is StateClass.ABSENT
        if believed.get(path, lifecycle.initial.name if gone else "nowhere") != state:
            yield f"{path} is {believed.get(path, 'nowhere')}, and its journal ends in {state}"
    for path in believed.keys() - paths.keys():
        yield f"{path} is {believed[path]}, and the journal does not know it"


def _legal(line: Line, forced: bool) -> bool:
    if line.source == line.target:  # no move: it tells of something else
        return True
    try:
        rows = KINDS[line.kind].rows(line.source, Trigger(line.trigger), line.detail)
        actor = Actor(line.actor)
    except (KeyError, ValueError):
        return False
    return any(row.target == line.target and acts_as(actor, row.actor) and (forced or not row.forced) for row in rows)


def nobodys(kind: str, name: str) -> bool:
    """Whether an action is one that nobody asks for, so that it holds nothing: an agent that connects, say."""
    action = KINDS[kind].action(name)
    return action is not None and not action.actors


def unseen(kind: str, name: str) -> bool:
    """Whether an action is hidden: it moves nothing that is seen, and another may be begun beside it, to wait."""
    action = KINDS[kind].action(name)
    return action is not None and action.hidden


def _told(line: Line) -> str:
    return f"{line.source} to {line.target} on {line.trigger} {line.detail} by {line.actor}, of {line.path}"


def requests(history: History) -> Iterator[str]:
    """Every operation has one line that began it, under its own path and action, and no line is of an unknown one.

    An operation on a group has one more for each member that was asked.
    """
    begun: defaultdict[str, list[Line]] = defaultdict(list)
    known = {op.id for op in history.ended} | {str(op["id"]) for op in history.running}
    for line in history.journal:
        if line.rejections:
            continue
        if line.operation and line.operation not in known:
            yield f"line {line.position} is of operation {line.operation}, which is nowhere: {_told(line)}"
        if line.trigger in (Trigger.REQUEST, Trigger.CONNECTED):
            begun[line.operation].append(line)
    for op in history.ended:
        lines = begun[op.id]
        below = [line for line in lines if KINDS[op.kind].members and line.path.startswith(f"{op.path}/")]
        asked = Counter((line.path, line.detail) for line in below)
        by_request = [line for line in lines if line.trigger == Trigger.REQUEST and line not in below]
        own = [(line.path, line.detail) for line in by_request or lines if line not in below]
        if not by_request:  # an agent that connects while it does has connected anew
            own = list(dict.fromkeys(own))
        if own != [(op.path, op.action)]:
            yield f"{op.action} of {op.path} ({op.id}) was begun {len(lines)} times in the journal"
        for (path, word), times in asked.items():
            if times > 1:
                yield f"{op.action} of {op.path} ({op.id}) has asked {path} to {word} {times} times"


def leaves_out(kind: str, action: str) -> bool:
    """Whether an action on a group leaves out what operations below it have claims on."""
    known = KINDS[kind].action(action) if kind in KINDS else None
    return known is not None and known.skips_claimed


def interleaved(history: History) -> Iterator[str]:
    """Between the first and the last line of an operation, no other moves the same path, or one above or below."""
    spans: dict[str, tuple[str, float, float]] = {}
    words = {op.id: op.action for op in history.ended} | {str(op["id"]): str(op["action"]) for op in history.running}
    kinds = {op.id: op.kind for op in history.ended} | {
        str(op["id"]): str(op.get("kind", "")) for op in history.running
    }
    its = {op.id: op.path for op in history.ended} | {str(op["id"]): str(op["path"]) for op in history.running}
    for path, lines in moves_by_path(history).items():
        over: set[str] = set()
        running = ""
        for line in lines:
            if unseen(line.kind, words.get(line.operation, "")):
                continue
            if line.operation in over:
                yield f"{_told(line)}: line {line.position} is of an operation that another had followed already"
            if running and running != line.operation:
                over.add(running)
            running = line.operation
            if line.operation and not nobodys(line.kind, words.get(line.operation, "")):
                of, first, last = spans.get(line.operation, (its.get(line.operation, path), line.at, line.at))
                spans[line.operation] = (of, min(first, line.at), max(last, line.at))
    for one, other in _related(sorted(spans.items())):
        (_, (path, first, last)), (_, (above, begun, end)) = one, other
        if first < begun and leaves_out(kinds.get(other[0], ""), words.get(other[0], "")):
            continue
        if first < end and begun < last:
            yield f"operation {one[0]} on {path} and {other[0]} on {above} moved things at the same time"


Span = tuple[str, tuple[str, float, float]]


def _related(spans: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Operations on different paths of which one is above the other."""
    by_path: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_path[span[1][0]].append(span)
    for span in spans:
        for above in ancestors(span[1][0]):
            for other in by_path.get(above, ()):
                yield span, other


def ancestors(path: str) -> Iterator[str]:
    """All that lies above a path."""
    while path.count("/") > 1:
        path = path.rpartition("/")[0]
        yield path
