"""Policies in Cedar: what a caller may do to what, and which policy says so.

Only the policies that can speak of an action are evaluated for it. An answer is remembered under all that these
read, and no more. The roles read namespaces only, so with them alone a thousand resources of one namespace are one
question; a policy that reads paths makes it a question for each, one that reads labels one for each of their values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast

import cedarpy

from stead.access.caller import TOKEN, Caller

ROLES = ("viewer", "operator", "admin")

VIEW = "view"
"""To see something, and all that is told of it."""
QUEUE = "queue"
"""To open and stop the queue of something."""
LIMIT, ORPHANS, AGENTS, ACCESS, HOSTS = "limit", "orphans", "agents", "access", "hosts"
LIFECYCLES, EXAMINE, LANES = "lifecycles", "examine", "lanes"
"""To say what lanes bear; to adopt and remove what nobody owns; to let agents in; to say who may what; to say which
hosts can be booked; to register kinds; to examine the cell itself; to say which namespaces may use which lanes."""

RELEASE = "release"
"""To let a restored cell act."""

SCALING, DEMAND = "scaling", "demand"
"""To put a policy in force that follows demand; to tell it the demand."""

FOR_ADMINS = (LIMIT, ORPHANS, AGENTS, ACCESS, HOSTS, LIFECYCLES, EXAMINE, LANES, RELEASE)
"""Those of Stead's own actions that are an admin's."""
OWN_ACTIONS = (VIEW, QUEUE, *FOR_ADMINS, SCALING, DEMAND)

CELL, NAMESPACE = "cell", "namespace"
"""The kinds of what is no resource, and may be seen and managed all the same: `/`, and the first part of a path."""

NO_POLICY = "no policy permits it"
MAX_CACHED_VERDICTS = 50_000
"""Answers that are remembered."""


class InvalidPolicy(ValueError):
    """It cannot be read, or speaks of what there is not."""


@dataclass(frozen=True, slots=True)
class PolicyResource:
    """What something is done to, as policies see it."""

    path: str
    kind: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    lanes: Sequence[str] = ()
    """Those it is on, or would be on; each is judged for itself, and all have to be allowed."""

    @property
    def namespace(self) -> str:
        return self.path.split("/", 2)[1]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it may be done, and which policies decided that; none of them where none permits it."""

    allowed: bool
    policies: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """Why not, or why."""
        named = ", ".join(self.policies)
        word = "permitted by" if self.allowed else "refused by"
        return f"{word} the policy {named}" if named else NO_POLICY


ALLOWED = Verdict(True)


@dataclass(frozen=True, slots=True)
class PolicyAttributes:
    """What some policies read of a resource."""

    attributes: frozenset[str]
    """Of `namespace`, `kind`, `path`, `lane`."""
    labels: frozenset[str] | None
    """The names of the labels; None: any of them."""

    def labels_of(self, thing: PolicyResource) -> tuple[tuple[str, str], ...]:
        """The labels of a resource that they read."""
        if self.labels is None:
            return tuple(sorted(thing.labels.items()))
        return tuple((name, thing.labels[name]) for name in sorted(self.labels) if name in thing.labels)


def labels_of(spec: Mapping[str, Any] | None) -> dict[str, str]:
    """The labels of a resource: what its spec has under that name."""
    said = (spec or {}).get("labels")
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, Mapping) else {}


class Policies:
    """The roles, and an operator's own policies beside them. It never changes; other policies are another one."""

    def __init__(self, own: Mapping[str, str] | None = None, actions: Sequence[str] = ()) -> None:
        """`own` are texts in Cedar by name. Raises `InvalidPolicy`, which says what is wrong with which."""
        found: dict[str, Any] = dict(_read("roles", _text("roles.cedar"), ()))
        for name, text in sorted((own or {}).items()):
            for id, policy in _read(name, text, actions):
                if id in found:
                    raise InvalidPolicy(f"{name}: there is another policy {id}")
                found[id] = policy
        reads = _reads(found)
        self.looks_at = reads.attributes | ({"labels"} if reads.labels != frozenset() else frozenset())
        """Which attributes of resources decide: of `namespace`, `kind`, `path`, `labels`, `lane`."""
        self._found = found
        scopes = {id: _actions_of(policy) for id, policy in found.items()}
        self._scopes = scopes
        self._named = frozenset[str]().union(*(scope for scope in scopes.values() if scope is not None))
        self._rules: dict[str, _Rules] = {}
        self._same: dict[tuple[str, ...], _Rules] = {}

    def evaluate(
        self,
        caller: Caller,
        action: str,
        thing: PolicyResource,
        *,
        force: bool = False,
        dry_run: bool = False,
        admin: bool = False,
    ) -> Verdict:
        """Whether a caller may do it. `admin` says that a lifecycle keeps it for admins."""
        if caller.open:
            return ALLOWED
        rules = self._rules_for(action)
        lanes = tuple(thing.lanes) if "lane" in rules.reads.attributes else ()
        asked = {"force": force, "dry_run": dry_run, "admin": admin}
        verdicts = (rules.evaluate(caller, action, thing, lane, **asked) for lane in lanes or ("",))
        verdict = next(verdicts)
        return verdict if not verdict.allowed else next((one for one in verdicts if not one.allowed), verdict)

    def forbidding(self, actions: Iterable[str]) -> PolicyAttributes | None:
        """What the policies read that can forbid one of some actions; None where no policy can."""
        ids = {id for action in actions for id in self._ids(action) if self._found[id]["effect"] == "forbid"}
        return _reads({id: self._found[id] for id in ids}) if ids else None

    def _ids(self, action: str) -> tuple[str, ...]:
        """The policies that can speak of an action."""
        return tuple(id for id, scope in self._scopes.items() if scope is None or action in scope)

    def _rules_for(self, action: str) -> _Rules:
        """These policies, made ready once; all actions that no policy names have the same ones."""
        action = action if action in self._named else ""
        known = self._rules.get(action)
        if known is None:
            ids = self._ids(action)
            if ids not in self._same:
                self._same[ids] = _Rules({id: self._found[id] for id in ids})
            known = self._rules[action] = self._same[ids]
        return known


class _Rules:
    """Some policies that are evaluated together, and their answers."""

    def __init__(self, policies: Mapping[str, Any]) -> None:
        self.reads = _reads(policies)
        self._set = cedarpy.PolicySet.from_json_str(_as_set(policies))
        self._known: dict[tuple[object, ...], Verdict] = {}

    def evaluate(
        self,
        caller: Caller,
        action: str,
        thing: PolicyResource,
        lane: str,
        *,
        force: bool,
        dry_run: bool,
        admin: bool,
    ) -> Verdict:
        """What they say of something on one lane."""
        reads = self.reads.attributes
        key = (
            caller.name,
            caller.groups,
            caller.roles,
            action,
            thing.namespace,
            thing.kind if "kind" in reads else "",
            thing.path if "path" in reads else "",
            self.reads.labels_of(thing),
            lane,
            force,
            dry_run,
            admin,
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_CACHED_VERDICTS:
                self._known.clear()
            known = self._known[key] = self._ask(caller, action, thing, lane, force, dry_run, admin)
        return known

    def _ask(
        self, caller: Caller, action: str, thing: PolicyResource, lane: str, force: bool, dry_run: bool, admin: bool
    ) -> Verdict:
        who = {"type": "Token" if caller.name.startswith(f"{TOKEN}:") else "User", "id": caller.name}
        request = {
            "principal": who,
            "action": {"type": "Action", "id": action},
            "resource": {"type": "Resource", "id": thing.path},
            "context": {"force": force, "dry_run": dry_run, "admin": admin},
        }
        answer = cedarpy.is_authorized(request, self._set, [_principal(who, caller), _resource(thing, lane)])
        reasons = tuple(sorted(answer.diagnostics.reasons))
        # A policy that cannot be evaluated might have forbidden it.
        if answer.diagnostics.errors:
            return Verdict(False, tuple(sorted({_named(error) for error in answer.diagnostics.errors})))
        return Verdict(bool(answer.allowed), reasons)


def _principal(who: Mapping[str, str], caller: Caller) -> dict[str, Any]:
    roles = {role: sorted(where for name, where in caller.roles if name == role) for role in ROLES}
    groups = [{"type": "Group", "id": group} for group in caller.groups] if who["type"] == "User" else []
    return {"uid": who, "attrs": {"name": caller.name.partition(":")[2], **roles}, "parents": groups}


def _resource(thing: PolicyResource, lane: str) -> dict[str, Any]:
    """The thing on a lane, in all that it is part of: a policy may name any of it."""
    attrs = {"namespace": thing.namespace, "kind": thing.kind, "path": thing.path, "lane": lane}
    parents = [{"type": "Resource", "id": path} for path in _above(thing.path)]
    uid = {"type": "Resource", "id": thing.path}
    return {"uid": uid, "attrs": attrs, "tags": dict(thing.labels), "parents": parents}


def _above(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[:depth]) for depth in range(1, len(parts))] + (["/"] if path != "/" else [])


def _named(error: str) -> str:
    """The policy that an error of Cedar's is about."""
    parts = error.split("`")
    return parts[1] if len(parts) > 1 else error


# Reading


def check(name: str, text: str, actions: Sequence[str]) -> None:
    """Raise `InvalidPolicy` where a text is not in Cedar, or speaks of what there is not."""
    for _ in _read(name, text, actions):
        pass


def _read(name: str, text: str, actions: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The policies of a text, each with a name of its own."""
    if "\0" in text:
        raise InvalidPolicy(f"{name}: there is a character in it that cannot be kept")
    try:
        said = json.loads(cedarpy.policies_to_json_str(text))
    except ValueError as error:
        raise InvalidPolicy(f"{name}: {error}") from None
    if said["templates"] or said["templateLinks"]:
        raise InvalidPolicy(f"{name}: a policy with slots stands for nobody; name the principal and the resource")
    found = said["staticPolicies"]
    if not found:
        raise InvalidPolicy(f"{name}: there is no policy in it")
    if actions:
        result = cedarpy.validate_policies(text, _schema(tuple(sorted({*actions, *OWN_ACTIONS}))))
        if not result.validation_passed:
            raise InvalidPolicy("; ".join(f"{name}: {error.error}" for error in result.errors))
    for place, policy in enumerate(found.values()):
        own = policy.get("annotations", {}).get("id")
        yield own or (name if len(found) == 1 else f"{name}/{place + 1}"), policy


@cache
def _schema(actions: tuple[str, ...]) -> cedarpy.Schema:
    names = ", ".join(json.dumps(action) for action in actions)
    return cedarpy.Schema.from_str(_text("schema.cedarschema").replace("ACTIONS", names))


def _text(name: str) -> str:
    return (files("stead.access") / name).read_text(encoding="utf-8")


def _as_set(policies: Mapping[str, Any]) -> str:
    return json.dumps({"templates": {}, "templateLinks": [], "staticPolicies": dict(policies)})


def _actions_of(policy: Mapping[str, Any]) -> frozenset[str] | None:
    """The actions that a policy is about; None: every action."""
    scope = policy["action"]
    match scope["op"]:
        case "==":
            return frozenset({scope["entity"]["id"]})
        case "in":
            return frozenset(one["id"] for one in scope.get("entities", [scope.get("entity")]))
    return None


EVERYTHING = "*"
"""An expression hands the resource on, so anything may be read of it."""


def _reads(policies: Mapping[str, Any]) -> PolicyAttributes:
    words = {"namespace"}
    for policy in policies.values():
        if policy["resource"]["op"] != "All":
            words.add("path")
        for condition in policy["conditions"]:
            words.update(_attributes(condition["body"]))
    labels = frozenset(word.removeprefix(LABEL) for word in words if word.startswith(LABEL))
    attributes = frozenset(word for word in words if not word.startswith(LABEL) and word not in (LABELS, EVERYTHING))
    if EVERYTHING in words:
        attributes |= {"namespace", "kind", "path", "lane"}
    return PolicyAttributes(attributes, None if {LABELS, EVERYTHING} & words else labels)


LABELS, LABEL = "labels", "label:"
"""Read by a name that is computed; and what stands before one that is said."""

_RESOURCE = {"Var": "resource"}


def _attributes(node: Any) -> Iterator[str]:
    """What an expression reads of the resource; the path stands for who it is."""
    if isinstance(node, list):
        for part in node:
            yield from _attributes(part)
    if not isinstance(node, Mapping):
        return
    for word, body in cast(Mapping[str, Any], node).items():
        of_resource = isinstance(body, Mapping) and body.get("left") == _RESOURCE
        if word in (".", "has") and of_resource:
            yield body["attr"]
        elif word in ("hasTag", "getTag") and of_resource:
            name = body["right"].get("Value") if isinstance(body["right"], Mapping) else None
            yield f"{LABEL}{name}" if isinstance(name, str) else LABELS
            yield from _attributes(body["right"])
        elif word in ("==", "!=", "in", "is") and isinstance(body, Mapping) and _RESOURCE in body.values():
            yield "path"
            yield from _attributes([part for part in body.values() if part != _RESOURCE])
        elif word == "Var" and body == "resource":
            yield EVERYTHING
        else:
            yield from _attributes(body)
