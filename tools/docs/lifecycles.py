"""The pages of the built-in lifecycles."""

from __future__ import annotations

from collections.abc import Iterator

from stead.catalog import FAMILIES, KINDS
from stead.cli import tables
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import dump
from tools.docs.markdown import MADE, table

TITLES = {
    "multicloud": "Multi-cloud infrastructure",
    "edge": "Edge sites",
    "datacenter": "Private cloud",
    "reservation": "Leases",
    "system": "Systems of services",
}

INDEX = f"""{MADE}

# Lifecycles

The kinds of resource that Stead knows without being taught. A page has the picture of a kind, its states and actions,
and every move there is: from where, on what word, by whom, to where. Kinds of your own are written in the same YAML
that stands at the end of each page; `stead lifecycle lint` says whether they are sound.

States are *stable* (stays until a user requests a change), *transitional* (in progress, with a timeout and a way out
on
success, on failure and on timeout), *final* (nothing leaves it by itself) or *absent* (there is no such object).
`(origin)` stands for the state in which an operation began.
"""


def index() -> str:
    """Every kind, by family."""
    lines = [INDEX]
    for family, kinds in FAMILIES.items():
        lines += [f"## {TITLES[family]}", ""]
        rows = [(f"[{kind}]({kind}.md)", KINDS[kind].description, *_sizes(KINDS[kind])) for kind in kinds]
        lines += [*table(("kind", "what it is", "states", "actions", "transitions"), rows), ""]
    return "\n".join(lines)


def _sizes(lifecycle: Lifecycle) -> Iterator[str]:
    return map(str, (len(lifecycle.states), len(lifecycle.actions), len(lifecycle.table)))


def page(lifecycle: Lifecycle) -> str:
    """All of one lifecycle."""
    kind = lifecycle.kind
    lines = [MADE, "", f"# {kind}", "", lifecycle.description, *_kin(lifecycle), ""]
    lines += [f"![The lifecycle of {kind}]({kind}.svg)", ""]
    lines += ["## States", "", *table(("state", "class", "timeout", "description"), tables.states(lifecycle)), ""]
    lines += ["## Actions", ""]
    says = {action.name: action.description for action in lifecycle.actions}
    actions = [(f"**{name}**<br>{says[name]}", *rest) for name, *rest in tables.actions(lifecycle)]
    lines += [*table(("action", "source", "via", "target", "on failure", "rollback", "by", "flags"), actions), ""]
    lines += ["## Transitions", "", f"All {len(lifecycle.table)} of them.", ""]
    lines += [*table(("from", "trigger", "by", "to"), tables.transitions(lifecycle)), ""]
    lines += ["## As YAML", "", "<details markdown>", f"<summary>The lifecycle of {kind} as a document</summary>", ""]
    lines += ["```yaml", dump(lifecycle).rstrip("\n"), "```", "", "</details>", ""]
    return "\n".join(lines)


def _kin(lifecycle: Lifecycle) -> Iterator[str]:
    """The kinds above and below it in the tree."""
    for word, kind in (("Its parent is a", lifecycle.parent), ("Its members are of the kind", lifecycle.members)):
        if kind:
            yield f"{word} {f'[{kind}]({kind}.md)' if kind in KINDS else kind}."
