"""Lifecycles as YAML, so that users bring their own and keep them beside what they describe.

    kind: vm
    says: A virtual machine at a provider.
    gone: Terminated
    states:
      - {name: Absent, class: absent, says: There is no such VM.}
      - {name: Running, class: stable, says: It runs.}
      - {name: Terminating, class: transitional, says: It is being removed., deadline: 15m}
      - {name: Terminated, class: final, says: It was removed for good.}
    actions:
      - name: terminate
        says: Remove it for good.
        starts: Running
        through: Terminating
        ends: Terminated
        fails: (back)
        undo: leave
    moves:
      - {from: Absent, when: observed Running, by: agent, to: Running}

The first state is where an object begins. A key that is left out has the default of the row it belongs to. A
list of one may be written as a word. Times are `90s`, `15m`, `2h`, `7d` or whole seconds. In place of a
state, `(back)` is the one in which the operation began and `(fails)` wherever the action goes when it fails;
the brackets keep them apart from names. A settled state is seen under its own name, an absent or final one as
`absent`, unless `seen` says otherwise. The word of a move is its trigger and what it is about; its key is
`when` and not `on`, which many readers of YAML take for *true*.

What `load` returns has a table of moves: every state it names exists. Whether it is also sound is for `lint`
to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document.form import ActionForm, ExpiryForm, LifecycleForm, MoveForm, NeedForm, StateForm
from stead.lifecycle.document.words import Unknown
from stead.lifecycle.document.writing import write
from stead.lifecycle.files.nodes import read
from stead.lifecycle.files.problems import DocumentError, Path, Problem, error, quoted

__all__ = ["DocumentError", "dump", "load", "schema"]


def dump(lifecycle: Lifecycle) -> str:
    """The lifecycle as YAML; `load` makes an equal one of it."""
    return write(lifecycle)


def load(text: str, source: str = "") -> Lifecycle:
    """The lifecycle of a document, or a `DocumentError` that tells everything that is wrong with it.

    The source, such as a file's name, is only for the messages.
    """
    tree = read(text)
    if tree.data is None:
        raise error(tree.problems, source, tree.lines)
    problems = tree.problems
    try:
        form = LifecycleForm.model_validate(tree.data, context=_state_names(tree.data))
    except ValidationError as invalid:
        problems += _problems(invalid)
    if problems:
        raise error(problems, source, tree.lines)
    return form.lifecycle()


def schema() -> dict[str, Any]:
    """A JSON Schema of the document, for editors that complete and check while one writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **LifecycleForm.model_json_schema(by_alias=True),
    }


_FORMS: dict[str, type[BaseModel]] = {
    "states": StateForm,
    "expires": ExpiryForm,
    "actions": ActionForm,
    "moves": MoveForm,
    "without": MoveForm,
    "needs": NeedForm,
}

# What somebody writes who knows the rows in Python, or other YAML.
_OTHER_NAMES = {
    "cls": "class",
    "source": "from",
    "target": "to",
    "on": "when",
    "trigger": "when",
    "actor": "by",
}

_SAYS = {
    "missing": "is missing",
    "string_type": "must be a word or a sentence, not a list or a mapping",
    "enum": "must be a word, not a list or a mapping",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of keys to values",
}


def _state_names(data: Any) -> Mapping[str, None] | None:
    """The names that the document's states have, whatever else is wrong with them; None without states."""
    states = data.get("states") if isinstance(data, dict) else None
    if not isinstance(states, list):
        return None
    names = (state.get("name") for state in states if isinstance(state, dict))
    return dict.fromkeys(name for name in names if isinstance(name, str))


def _problems(invalid: ValidationError) -> Iterator[Problem]:
    for each in invalid.errors(include_url=False):
        path: Path = each["loc"]
        cause = each.get("ctx", {}).get("error")
        if each["type"] == "extra_forbidden":
            yield _unknown_key(path)
        elif isinstance(cause, Unknown):
            yield Problem(path, str(cause), word=cause.word, known=cause.known)
        else:
            yield Problem(path, str(cause) if cause else _SAYS.get(each["type"], each["msg"]))


def _unknown_key(path: Path) -> Problem:
    # A row's path ends with its section and its position, a mapping's within a row with its key alone.
    around = next((step for step in reversed(path[:-1]) if isinstance(step, str)), "")
    fields = _FORMS.get(around, LifecycleForm).model_fields
    known = tuple(field.alias or name for name, field in fields.items())
    key = str(path[-1])
    meant = _OTHER_NAMES.get(key, key)
    return Problem(path, f"there is no key {quoted(key)} here", word=meant, known=known)
