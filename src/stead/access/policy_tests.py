"""Policies tried out before they are in force: cases from a file, each with what is expected of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stead.access.caller import EVERYWHERE, Caller
from stead.access.policies import ROLES, Policies, PolicyResource

FIELDS = {
    "who": str,
    "groups": list,
    "roles": list,
    "action": str,
    "path": str,
    "kind": str,
    "labels": dict,
    "lane": str,
    "force": bool,
    "dry_run": bool,
    "admin": bool,
    "expect": str,
    "by": str,
}
ALLOW, REFUSE = "allow", "refuse"


class InvalidCase(ValueError):
    """A case makes no sense."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case, and what became of it."""

    what: str
    expected: str
    found: str
    says: str
    right: bool


def tried(policies: Policies, cases: Sequence[Any]) -> Iterator[CaseResult]:
    """Each case, judged. Raises `InvalidCase` where one makes no sense."""
    for place, case in enumerate(cases, 1):
        yield _tried(policies, _fit(case, place), place)


def _fit(case: Any, place: int) -> Mapping[str, Any]:
    if not isinstance(case, Mapping):
        raise InvalidCase(f"case {place} is no mapping")
    for name, value in case.items():
        if name not in FIELDS:
            raise InvalidCase(f"case {place}: there is no field {name}; there are {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[name]):
            raise InvalidCase(f"case {place}: {name} is to be a {FIELDS[name].__name__}")
    for name in ("who", "action", "path", "expect"):
        if not case.get(name):
            raise InvalidCase(f"case {place} needs {name}")
    if case["expect"] not in (ALLOW, REFUSE):
        raise InvalidCase(f"case {place}: expect is {ALLOW} or {REFUSE}")
    if not case["who"].startswith(("user:", "token:")):
        raise InvalidCase(f"case {place}: who is user:NAME or token:NAME")
    if not all(isinstance(group, str) for group in case.get("groups", ())):
        raise InvalidCase(f"case {place}: a group is to be a str")
    if not case["path"].startswith("/"):
        raise InvalidCase(f"case {place}: a path begins with /")
    return case


def _tried(policies: Policies, case: Mapping[str, Any], place: int) -> CaseResult:
    roles = frozenset(_role(role, place) for role in case.get("roles", ()))
    caller = Caller(case["who"], groups=tuple(case.get("groups", ())), roles=roles)
    lanes = (case["lane"],) if case.get("lane") else ()
    thing = PolicyResource(
        case["path"], case.get("kind", ""), {k: str(v) for k, v in case.get("labels", {}).items()}, lanes
    )
    context = {name: case.get(name, False) for name in ("force", "dry_run", "admin")}
    verdict = policies.evaluate(caller, case["action"], thing, **context)
    found = ALLOW if verdict.allowed else REFUSE
    by = case.get("by", "")
    right = found == case["expect"] and (not by or by in verdict.policies)
    expected = f"{case['expect']} by {by}" if by else case["expect"]
    words = [word for word, said in (("by force", context["force"]), ("as a dry run", context["dry_run"])) if said]
    what = " ".join([case["who"], case["action"], case["path"], *words])
    return CaseResult(what, expected, found, verdict.says, right)


def _role(text: Any, place: int) -> tuple[str, str]:
    role, _, namespace = str(text).partition("@")
    if role not in ROLES:
        raise InvalidCase(f"case {place}: there is no role {role}; there are {', '.join(ROLES)}")
    return role, namespace or EVERYWHERE
