"""YAML text as plain values that remember their lines, from a source nobody has to trust.

YAML can do more than a lifecycle needs, and each extra has hurt somebody: tags make objects, aliases make
bombs, `no` makes a boolean of a state's name, and the second of two equal keys wins in silence. Here a scalar
is always text (what it means is up to the field it stands in), and whatever is not a plain mapping, list or
scalar is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from stead.lifecycle.files.problems import Path, Problem, quoted

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 8
"""A lifecycle needs five: the document, a section, a row, a list in it, a word."""

MAX_NODES = 20_000
"""Far more than a lifecycle that somebody wrote by hand, and about a second of work."""

_PLAIN_TAGS = {
    ScalarNode: "tag:yaml.org,2002:str",
    SequenceNode: "tag:yaml.org,2002:seq",
    MappingNode: "tag:yaml.org,2002:map",
}


@dataclass(slots=True)
class Tree:
    """A document's values, the line of each, and what was refused on the way."""

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class _Loader(yaml.SafeLoader):
    """Composes nodes and constructs nothing."""

    # Without resolvers every plain scalar is a string.
    yaml_implicit_resolvers = {}  # noqa: RUF012

    def __init__(self, text: str, deepest: int, most: int) -> None:
        super().__init__(text)
        self._deepest = deepest
        self._most = most
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            raise _Refused(line, "an alias (*) is not allowed here: write it out")
        if self._depth == self._deepest:
            raise _Refused(line, f"nested more than {self._deepest} deep")
        if self._nodes == self._most:
            raise _Refused(line, f"has more than {self._most} words, lists and mappings")
        self._nodes += 1
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Refused(Exception):
    def __init__(self, line: int, says: str) -> None:
        super().__init__(says)
        self.line = line


def read(text: str, deepest: int = MAX_DEPTH, most: int = MAX_NODES) -> Tree:
    """The plain values of a document; where it cannot be read at all, only the problems."""
    tree = Tree()
    if len(text) > MAX_BYTES or len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        tree.problems.append(Problem((), f"larger than {MAX_BYTES // 1024} KiB"))
        return tree
    try:
        node = _Loader(text, deepest, most).get_single_node()
    except _Refused as refused:
        tree.problems.append(Problem((), str(refused), refused.line))
    except ReaderError as broken:
        line = text.count("\n", 0, broken.position) + 1
        tree.problems.append(Problem((), f"not YAML: {broken.reason}", line))
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark or broken.context_mark
        says = " ".join(part for part in (broken.context, broken.problem) if part)
        tree.problems.append(Problem((), f"not YAML: {says}", mark.line + 1 if mark else None))
    except (ValueError, OverflowError):
        # The parser makes numbers and characters of escapes and versions without looking at their size.
        tree.problems.append(Problem((), "not YAML: a number in an escape or a directive is too large"))
    else:
        if node is None:
            tree.problems.append(Problem((), "the document is empty", 1))
        else:
            tree.data = _value(node, (), tree)
    return tree


def _value(node: Node, path: Path, tree: Tree) -> Any:
    # A mapping's entry has the line of its key, which is set before: that is where one looks for it.
    tree.lines.setdefault(path, node.start_mark.line + 1)
    if node.tag != _PLAIN_TAGS[type(node)]:
        tree.problems.append(Problem(path, f"the tag {quoted(node.tag)} is not allowed here"))
    if isinstance(node, SequenceNode):
        return [_value(each, (*path, i), tree) for i, each in enumerate(node.value)]
    if isinstance(node, MappingNode):
        return _mapping(node, path, tree)
    return node.value


def _mapping(node: MappingNode, path: Path, tree: Tree) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            tree.problems.append(Problem(path, "a key is a word, not a list or a mapping", line))
            continue
        place = (*path, key.value)
        if key.value in values:
            first = tree.lines[place]
            tree.problems.append(Problem(place, f"stands here twice: on line {first} and on line {line}", line))
            continue
        tree.lines[place] = line
        values[key.value] = _value(value, place, tree)
    return values
