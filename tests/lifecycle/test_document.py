"""Lifecycles as YAML: what is written is read back, and what is wrong is told with its place."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.catalog import KINDS
from stead.lifecycle import document
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import DocumentError, dump, form, load, schema
from stead.lifecycle.files.times import duration, seconds
from stead.lifecycle.lint import lint
from stead.lifecycle.rows import (
    LEAVE,
    ON_FAILURE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    AncestorCondition,
    AwaitedParty,
    ConflictPolicy,
    Expiry,
    MemberAction,
    Orders,
    Rollback,
    ScopedOperation,
    Signal,
    SpecChange,
    State,
    StateClass,
    Transition,
    Trigger,
    absent,
    final,
    stable,
    transitional,
)
from tests.tiers import is_full

pytestmark = pytest.mark.req("X-05")

SHORT = """\
kind: lamp
description: A lamp.
states:
  - {name: Off, class: stable, description: It is dark.}
  - {name: On, class: stable, description: It shines.}
  - {name: Warming, class: transitional, description: It begins to shine., timeout: 90s}
  - {name: Nowhere, class: absent, description: There is no lamp.}
  - {name: Broken, class: final, description: It will not shine again.}
actions:
  - name: light
    description: Let it shine.
    source: Off
    via: Warming
    target: On
    on_failure: (origin)
transitions:
  - {source: On, trigger: observed absent, actor: agent, target: Broken}
"""


def told(text: str, source: str = "") -> tuple[str, ...]:
    with pytest.raises(DocumentError) as caught:
        load(text, source)
    assert str(caught.value) == "\n".join(caught.value.messages)
    return caught.value.messages


def explained(text: str) -> Lifecycle | None:
    """What the text means; None where it means nothing and the error says so. Any other exception is a failure."""
    try:
        return load(text)
    except DocumentError as refused:
        return None if refused.messages else pytest.fail("refused without a word")


def changed(old: str, new: str) -> str:
    assert SHORT.count(old) == 1
    return SHORT.replace(old, new)


SCHEMA = schema()


def _fits(value: Any, spec: dict[str, Any]) -> bool:
    """As much of JSON Schema as ours uses; a keyword it does not know is an error."""
    unknown = set(spec) - {
        *("$schema", "$defs", "$ref", "title", "description", "default", "type", "enum", "pattern", "minimum"),
        *("anyOf", "properties", "additionalProperties", "required", "items", "minItems"),
    }
    assert not unknown
    if "$ref" in spec and not _fits(value, SCHEMA["$defs"][spec["$ref"].removeprefix("#/$defs/")]):
        return False
    if "anyOf" in spec and not any(_fits(value, each) for each in spec["anyOf"]):
        return False
    if "enum" in spec and value not in spec["enum"]:
        return False
    match spec.get("type"):
        case "object":
            properties = spec["properties"]
            return (
                isinstance(value, dict)
                and set(spec.get("required", ())) <= set(value) <= set(properties)
                and all(_fits(each, properties[key]) for key, each in value.items())
            )
        case "array":
            return (
                isinstance(value, list)
                and len(value) >= spec.get("minItems", 0)
                and all(_fits(each, spec["items"]) for each in value)
            )
        case "string":
            return isinstance(value, str) and re.search(spec.get("pattern", ""), value) is not None
        case "integer":
            return type(value) is int and value >= spec.get("minimum", value)
        case "boolean":
            return isinstance(value, bool)
        case None:
            return True
    raise AssertionError(spec)


# What is written


def test_a_short_document_means_what_the_constructors_mean() -> None:
    assert load(SHORT) == Lifecycle(
        kind="lamp",
        description="A lamp.",
        states=(
            stable("Off", "It is dark."),
            stable("On", "It shines."),
            transitional("Warming", "It begins to shine.", 90),
            absent("Nowhere", "There is no lamp."),
            final("Broken", "It will not shine again."),
        ),
        actions=(Action("light", "Let it shine.", ("Off",), ("Warming",), "On", on_failure=ORIGIN),),
        transitions=(Transition("On", Trigger.OBSERVED, "absent", Actor.AGENT, "Broken"),),
    )


def test_the_example_in_the_description_is_a_sound_lifecycle() -> None:
    text = inspect.getdoc(document) or ""
    example = re.search(r"\n\n((?:    .*\n)+)", text)
    assert example
    assert lint(load(textwrap.dedent(example[1]))) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_catalog_comes_back_equal(kind: str) -> None:
    text = dump(KINDS[kind])
    assert load(text) == KINDS[kind]
    assert dump(load(text)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_document_is_for_people(kind: str) -> None:
    text = dump(KINDS[kind])
    assert max(map(len, text.splitlines())) <= 120
    assert "!!" not in text
    assert "&" not in text
    assert "timeout: 900" not in text


def test_defaults_are_left_out() -> None:
    lifecycle = load(SHORT)
    assert dump(lifecycle) == (
        "kind: lamp\n"
        "description: A lamp.\n"
        "\n"
        "states:\n"
        "  - {name: 'Off', class: stable, description: It is dark.}\n"
        "  - {name: 'On', class: stable, description: It shines.}\n"
        "  - {name: Warming, class: transitional, description: It begins to shine., timeout: 90s}\n"
        "  - {name: Nowhere, class: absent, description: There is no lamp.}\n"
        "  - {name: Broken, class: final, description: It will not shine again.}\n"
        "\n"
        "actions:\n"
        "  - name: light\n"
        "    description: Let it shine.\n"
        "    source: ['Off']\n"
        "    via: [Warming]\n"
        "    target: 'On'\n"
        "    on_failure: (origin)\n"
        "\n"
        "transitions:\n"
        "  - {source: 'On', trigger: observed absent, actor: agent, target: Broken}\n"
    )


# Names that YAML readers like to take for something else are among them.
NAMES = st.sampled_from(["On", "no", "null", "True", "y", "a.b", "A-1", "x_y", "e1", "Off", "NaN"]) | st.from_regex(
    "[A-Za-z][A-Za-z0-9_.-]*", fullmatch=True
)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t:#'\"-{}[]&*!|>%@`\u2028"))
FLAGS = st.booleans()
SECONDS = st.integers(0, 10**9 - 1)
MAYBE = st.just("") | NAMES


def _tuples(of: st.SearchStrategy[Any], most: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=most).map(tuple)


@st.composite
def lifecycles(draw: st.DrawFn) -> Lifecycle:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    known = st.sampled_from(names)
    ends = known | st.just(ORIGIN)
    fails = ends | st.just("")
    otherwise = fails | st.just(ON_FAILURE)
    moves = st.builds(
        Transition,
        known,
        st.sampled_from(Trigger),
        MAYBE,
        st.sampled_from(Actor),
        known,
        forced=FLAGS,
        contended=FLAGS,
    )
    states = [
        draw(
            st.builds(
                State,
                st.just(name),
                st.sampled_from(StateClass),
                TEXTS,
                timeout=st.none() | SECONDS,
                awaits=st.sampled_from(AwaitedParty),
                observed_as=st.sampled_from(["", "absent", name]) | NAMES,
                member_action=MAYBE,
                on_failure=fails,
                probe_first=FLAGS,
                rarely_changes=FLAGS,
                expiry=st.none() | st.builds(Expiry, SECONDS, NAMES),
            )
        )
        for name in names
    ]
    actions = st.builds(
        Action,
        NAMES,
        TEXTS,
        _tuples(known),
        _tuples(known),
        ends,
        on_failure=fails,
        on_timeout=otherwise,
        actors=_tuples(st.sampled_from(Actor)),
        work=st.none()
        | st.builds(Orders, _tuples(NAMES), st.integers(0, 99))
        | st.builds(MemberAction, NAMES, FLAGS)
        | st.builds(Signal, NAMES)
        | st.just(ScopedOperation()),
        rollback=st.none() | st.just(LEAVE) | st.builds(Rollback, NAMES, otherwise),
        spec_change=st.none() | st.builds(SpecChange, FLAGS),
        conflict=st.sampled_from(ConflictPolicy),
        idle=_tuples(known),
        **{f.name: FLAGS for f in dataclasses.fields(Action) if f.type == "bool"},
    )
    return Lifecycle(
        kind=draw(NAMES),
        description=draw(TEXTS),
        states=tuple(states),
        actions=draw(_tuples(actions, 3)),
        transitions=draw(_tuples(moves)),
        excluded=draw(_tuples(moves)),
        parent=draw(MAYBE),
        preconditions=draw(_tuples(st.builds(AncestorCondition, NAMES, _tuples(NAMES)))),
        members=draw(MAYBE),
        aggregation=draw(st.sampled_from(Aggregation)),
        aggregation_order=draw(_tuples(known)),
        drift_states=draw(_tuples(known)),
        on_absent=draw(known | st.just("")),
        on_broken=draw(known | st.just("")),
        absence_threshold=draw(st.integers(0, 99)),
        observable=draw(FLAGS),
        presence=draw(FLAGS),
    )


@settings(max_examples=100 if is_full() else 5)
@given(lifecycles())
def test_any_lifecycle_comes_back_equal_and_fits_the_schema(lifecycle: Lifecycle) -> None:
    text = dump(lifecycle)
    assert load(text) == lifecycle
    assert _fits(yaml.safe_load(text), SCHEMA)


@given(lifecycles())
def test_whatever_can_be_loaded_has_a_table_and_can_be_linted(lifecycle: Lifecycle) -> None:
    assert isinstance(lifecycle.table, tuple)
    assert all(finding.where for finding in lint(lifecycle))


@given(SECONDS)
def test_a_time_comes_back_equal(value: int) -> None:
    assert seconds(duration(value)) == value


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("45", 45), ("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604800)]
)
def test_times_are_written_as_people_say_them(text: str, value: int) -> None:
    assert load(changed("90s", text)).state("Warming").timeout == value


@pytest.mark.parametrize(
    ("row", "model"),
    [
        (Lifecycle, form.LifecycleForm),
        (State, form.StateForm),
        (Action, form.ActionForm),
        (Expiry, form.ExpiryForm),
        (AncestorCondition, form.PreconditionForm),
    ],
)
def test_the_form_has_the_fields_and_the_defaults_of_the_row(row: type[Any], model: type[Any]) -> None:
    fields = {f.name: f for f in dataclasses.fields(row)}
    fields.pop("pace", None)  # a cell's, for all its kinds
    assert set(model.model_fields) == set(fields)
    unlike = {("State", "observed_as"), ("Action", "via"), ("Lifecycle", "actions")}
    unlike |= {("Action", "work"), ("Action", "spec_change")}
    for name, field in fields.items():
        if (row.__name__, name) not in unlike:
            default = model.model_fields[name].get_default()
            required = model.model_fields[name].is_required()
            assert (field.default is dataclasses.MISSING) == required, name
            assert required or default == field.default, name


def test_the_form_of_a_move_says_all_that_a_move_says() -> None:
    assert {f.name for f in dataclasses.fields(Transition)} == {
        *form.TransitionForm.model_fields,
        "on",
    }


# What is wrong

NO_NAME = "is not a name: a letter, then letters, digits, dots, dashes and underscores"

WRONG: list[tuple[str, str, str]] = [
    ("kind: lamp\n", "", "f.yaml:1: kind: is missing"),
    (
        "kind: lamp",
        "kind: 2lamp",
        f"f.yaml:1: kind: '2lamp' {NO_NAME}",
    ),
    ("kind: lamp", "kind: [lamp]", "f.yaml:1: kind: must be a word or a sentence, not a list or a mapping"),
    (
        "description: A lamp.",
        'description: "a\\0b"',
        "f.yaml:2: description: has the character '\\x00', which cannot be shown",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\nstaets: 3",
        "f.yaml:3: staets: there is no key 'staets' here; did you mean states?",
    ),
    (
        "timeout: 90s",
        "time-out: 90s",
        "f.yaml:6: states[2].time-out: there is no key 'time-out' here; did you mean timeout?",
    ),
    (
        "timeout: 90s",
        "probe-first: true",
        "f.yaml:6: states[2].probe-first: there is no key 'probe-first' here; did you mean probe_first?",
    ),
    ("timeout: 90s", "xyzzy: 90s", "f.yaml:6: states[2].xyzzy: there is no key 'xyzzy' here"),
    (
        "class: transitional",
        "class: transitionl",
        "f.yaml:6: states[2].class: 'transitionl' is none of stable, transitional, final, absent; did you mean transitional?",  # noqa: E501
    ),
    (
        "class: transitional",
        "class: [transitional]",
        "f.yaml:6: states[2].class: must be a word, not a list or a mapping",
    ),
    (
        "90s",
        "90 sec",
        "f.yaml:6: states[2].timeout: must be a time such as 90s, 15m, 2h or 7d, or a whole number of seconds",
    ),
    (
        "90s",
        "-90s",
        "f.yaml:6: states[2].timeout: must be a time such as 90s, 15m, 2h or 7d, or a whole number of seconds",
    ),
    ("90s", "90s, probe_first: yes", "f.yaml:6: states[2].probe_first: must be either true or false"),
    ("90s", "90s, expiry: {after: 1d}", "f.yaml:6: states[2].expiry.action: is missing"),
    (
        "90s",
        "90s, expiry: {after: 1d, action: light, acton: x}",
        "f.yaml:6: states[2].expiry.acton: there is no key 'acton' here; did you mean action?",
    ),
    (
        "source: Off",
        "source: [Off, of]",
        "f.yaml:12: actions[0].source[1]: there is no state 'of'; did you mean Off?",
    ),
    (
        "via: Warming",
        "via: Warning",
        "f.yaml:13: actions[0].via[0]: there is no state 'Warning'; did you mean Warming?",
    ),
    ("target: On", "target: Shining", "f.yaml:14: actions[0].target: there is no state 'Shining'"),
    (
        "target: On",
        "target: (on_failure)",
        "f.yaml:14: actions[0].target: (on_failure) cannot stand here; name a state",
    ),
    (
        "target: On",
        "target: orign",
        "f.yaml:14: actions[0].target: there is no state 'orign'; did you mean (origin)?",
    ),
    (
        "on_failure: (origin)",
        "on_failure: broken",
        "f.yaml:15: actions[0].on_failure: there is no state 'broken'; did you mean Broken?",
    ),
    (
        "on_failure: (origin)",
        "rollback: {verb: dim, target: Of}",
        "f.yaml:15: actions[0].rollback.target: there is no state 'Of'; did you mean Off?",
    ),
    (
        "on_failure: (origin)",
        "on_timeout: Of",
        "f.yaml:15: actions[0].on_timeout: there is no state 'Of'; did you mean Off?",
    ),
    ("on_failure: (origin)", "idle: Of", "f.yaml:15: actions[0].idle[0]: there is no state 'Of'; did you mean Off?"),
    (
        "on_failure: (origin)",
        "actors: usr",
        f"f.yaml:15: actions[0].actors[0]: 'usr' is none of {', '.join(Actor)}; did you mean user?",
    ),
    ("on_failure: (origin)", "work: {attempts: many}", "f.yaml:15: actions[0].work.attempts: must be a whole number"),
    ("source: On", "source: One", "f.yaml:17: transitions[0].source: there is no state 'One'; did you mean On?"),
    (
        "target: Broken",
        "target: Borken",
        "f.yaml:17: transitions[0].target: there is no state 'Borken'; did you mean Broken?",
    ),
    (
        "observed absent",
        "observd absent",
        f"f.yaml:17: transitions[0].trigger: 'observd' is none of {', '.join(Trigger)}; did you mean observed?",
    ),
    (
        "observed absent",
        "observed not there",
        f"f.yaml:17: transitions[0].trigger: 'not there' {NO_NAME}",
    ),
    (
        "actor: agent",
        "actor: agent, actor: user",
        "f.yaml:17: transitions[0].actor: stands here twice: on line 17 and on line 17",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\nkind: light",
        "f.yaml:3: kind: stands here twice: on line 1 and on line 3",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\non_absent: Away",
        "f.yaml:3: on_absent: there is no state 'Away'",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\non_broken: Away",
        "f.yaml:3: on_broken: there is no state 'Away'",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\ndrift_states: [On, of]",
        "f.yaml:3: drift_states[1]: there is no state 'of'; did you mean Off?",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\naggregation_order: onn",
        "f.yaml:3: aggregation_order[0]: there is no state 'onn'; did you mean On?",
    ),
    ("description: A lamp.", "description: A lamp.\nexcluded: 3", "f.yaml:3: excluded: must be a list"),
    (
        "description: A lamp.",
        "description: A lamp.\nexcluded: [3]",
        "f.yaml:3: excluded[0]: must be a mapping of keys to values",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\n? [a, b]\n: c",
        "f.yaml:3: a key is a word, not a list or a mapping",
    ),
    (
        "description: A lamp.",
        "description: !!int 3",
        "f.yaml:2: description: the tag 'tag:yaml.org,2002:int' is not allowed here",
    ),
    (
        "description: A lamp.",
        "description: !!python/name:os.system x",
        "f.yaml:2: description: the tag 'tag:yaml.org,2002:python/name:os.system' is not allowed here",
    ),
    (
        "description: A lamp.",
        "description: &a A lamp.\nparent: *a",
        "f.yaml:3: an alias (*) is not allowed here: write it out",
    ),
    ("description: A lamp.", "description: [[[[[[[[[x]]]]]]]]]", "f.yaml:2: nested more than 8 deep"),
    ("description: A lamp.", "description: [", "f.yaml:4: not YAML: "),
    ("description: A lamp.", "description: \x07", "f.yaml:2: not YAML: special characters are not allowed"),
    (
        "description: A lamp.",
        'description: "\\UFFFFFFFF"',
        "f.yaml: not YAML: a number in an escape or a directive is too large",
    ),
    (
        "description: A lamp.",
        "description: A lamp.\n---\nkind: lamp",
        "f.yaml:3: not YAML: expected a single document in the stream but found another document",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=[new.strip() or "nothing" for _, new, _ in WRONG])
def test_what_is_wrong_is_told_with_its_line_and_what_may_have_been_meant(old: str, new: str, message: str) -> None:
    (only,) = told(changed(old, new), "f.yaml")
    if message.endswith(": "):
        assert only.startswith(message)
    else:
        assert only == message


def test_all_that_is_wrong_is_told_at_once_from_top_to_bottom() -> None:
    text = (
        SHORT.replace("kind: lamp", "kin: lamp")
        .replace("timeout: 90s", "timeout: soon")
        .replace("source: Off", "source: [Of, One]")
        .replace("target: Broken", "target: Borken")
    )
    assert told(text) == (
        "line 1: kind: is missing",
        "line 1: kin: there is no key 'kin' here; did you mean kind?",
        "line 6: states[2].timeout: must be a time such as 90s, 15m, 2h or 7d, or a whole number of seconds",
        "line 12: actions[0].source[0]: there is no state 'Of'; did you mean Off?",
        "line 12: actions[0].source[1]: there is no state 'One'; did you mean On?",
        "line 17: transitions[0].target: there is no state 'Borken'; did you mean Broken?",
    )


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ("from: Off", "source"),
        ("to: Off", "target"),
        ("on: x", "trigger"),
        ("when: x", "trigger"),
        ("by: x", "actor"),
    ],
)
def test_other_names_of_the_keys_are_understood_as_slips(other: str, key: str) -> None:
    (message,) = told(changed("target: Broken", f"target: Broken, {other}"))
    assert message.endswith(f"here; did you mean {key}?")


@pytest.mark.parametrize("states", ["states:", "states: []"])
def test_a_lifecycle_has_a_state_to_begin_in(states: str) -> None:
    assert told(f"kind: lamp\ndescription: A lamp.\n{states}\n") == (
        "line 3: states: there is no state, so nothing says where an object begins",
    )


def test_where_the_states_cannot_be_read_no_state_is_called_unknown() -> None:
    head, tail = SHORT[: SHORT.index("states:")], SHORT[SHORT.index("actions:") :]
    assert told(head + "states: {On: settled}\n" + tail) == ("line 3: states: must be a list",)
    assert told(head + tail) == ("line 1: states: is missing",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the document is empty"),
        ("# nothing", "line 1: the document is empty"),
        ("lamp", "line 1: must be a mapping of keys to values"),
        ("- kind: lamp", "line 1: must be a mapping of keys to values"),
    ],
)
def test_a_document_is_a_mapping(text: str, message: str) -> None:
    assert told(text) == (message,)


def test_a_large_document_is_refused_unread() -> None:
    assert told("#" * (1024 * 1024 + 1)) == ("larger than 1024 KiB",)
    assert told("#" + "ä" * (512 * 1024), "f.yaml") == ("f.yaml: larger than 1024 KiB",)
    assert load(SHORT + "#" * (1024 * 1024 - len(SHORT))) == load(SHORT)


def test_a_document_of_too_many_words_is_refused_before_it_takes_long() -> None:
    assert told(f"drift_states: [{'a, ' * 300_000}]") == ("line 1: has more than 20000 words, lists and mappings",)


def test_a_bomb_of_aliases_is_refused_unread() -> None:
    lines = ["a0: &a0 x", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20))]
    assert told("\n".join(lines)) == ("line 2: an alias (*) is not allowed here: write it out",)


@pytest.mark.parametrize("bracket", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_unread(bracket: str) -> None:
    assert told(bracket * 100_000) == ("line 1: nested more than 8 deep",)


def test_a_document_of_nothing_but_unknown_words_is_told_in_reasonable_time() -> None:
    names = "".join(f"  - {{name: s{i}, class: stable, description: x}}\n" for i in range(500))
    words = ", ".join(f"t{i}" for i in range(5000))
    messages = told(f"kind: lamp\ndescription: x\ndrift_states: [{words}]\nstates:\n{names}")
    assert len(messages) == 101
    assert messages[-1] == "and 4900 more"


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from("abkindsys:-[]{}&*!|>'\"#%?@`, \n\t\\U0x"), max_size=60).map("".join)
)
def test_any_text_is_a_lifecycle_or_an_explained_error(text: str) -> None:
    explained(text)


@given(st.data())
def test_a_spoiled_document_is_a_lifecycle_or_an_explained_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SHORT)))
    end = data.draw(st.integers(start, min(len(SHORT), start + 20)))
    text = SHORT[:start] + data.draw(st.text(max_size=5)) + SHORT[end:]
    lifecycle = explained(text)
    if lifecycle:
        assert lifecycle.table is not None
        assert load(dump(lifecycle)) == lifecycle


# For editors


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_accepts_every_kind_of_the_catalog(kind: str) -> None:
    # Any reader of YAML gets the same out of it: what is written does not depend on how we read.
    assert _fits(yaml.safe_load(dump(KINDS[kind])), SCHEMA)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: lamp\n", ""),
        ("kind: lamp", "kind: 2lamp"),
        ("timeout: 90s", "time-out: 90s"),
        ("timeout: 90s", "timeout: null"),
        ("timeout: 90s", "timeout: -3"),
        ("timeout: 90s", "timeout: soon"),
        ("class: transitional", "class: transitionl"),
        ("90s", "90s, probe_first: maybe"),
        ("90s", "90s, expiry: {after: 1d}"),
        ("target: On", "target: (on_failure)"),
        ("on_failure: (origin)", "actors: usr"),
        ("observed absent", "observd absent"),
        ("description: A lamp.", "description: A lamp.\nexcluded: 3"),
    ],
)
def test_the_schema_refuses_what_load_refuses(old: str, new: str) -> None:
    quoted = changed(old, new).replace("On", "'On'").replace("Off", "'Off'")
    assert not _fits(yaml.safe_load(quoted), SCHEMA)
    assert told(quoted)


def test_the_schema_explains_every_key_that_its_name_does_not() -> None:
    forms = [SCHEMA, *(d for d in SCHEMA["$defs"].values() if "properties" in d)]
    silent = {key for each in forms for key, field in each["properties"].items() if "description" not in field}
    assert silent == {"name", "source", "target"}
