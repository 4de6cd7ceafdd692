"""Every verb of the command, by every role and by nobody: from the command itself, so one without a rule fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stead.cli.output import Code
from tests.access.house import NOBODY, ORPHAN, ROLES, House
from tests.access.test_every_endpoint import ACT, ADMIN, CELL, FORCE, KNOWN, SEE, grant, orphan, policy, queue, spare
from tests.cli.remote import COMMAND, Answer, Stead, command

FINE = (Code.DONE, Code.REFUSED, Code.FAILED, Code.TIMED_OUT, Code.USAGE)
"""Somebody is let in, whatever becomes of it. Wrong use would not have come so far: nobody is let in nowhere."""


@dataclass(frozen=True)
class Rule:
    """Who is let in, and the words after the verb."""

    allowed: frozenset[str]
    words: str = ""
    hidden: bool = True
    """Whoever may not see it is told that it is not there."""
    stdin: str | None = None
    before: Callable[[House], Any] | None = None


LOCAL = None
"""It speaks to no server, or is one."""
BY_HAND = LOCAL
MCI = """
subgroups:
  - {name: g, provider: sim, region: a, spec: small, image: debian-12, size: 1}
"""


def there(kind: str, folder: str) -> Callable[[House], None]:
    """It is made first."""

    def make(house: House) -> None:
        with house.as_("admin") as web:
            spec = {"provider": "sim", "region": "a"}
            web.post(f"/v1/resources/shop/{folder}/sim.a.own", json={"kind": kind, "spec": spec})

    return make


CEDAR = 'forbid (principal, action == Action::"terminate", resource == Resource::"/none");'
RULES: dict[str, Rule | None] = {
    "dev": LOCAL,
    "doctor": LOCAL,
    "server": LOCAL,
    "controller": LOCAL,
    "agent run": LOCAL,
    "agent join": LOCAL,
    "pki init": LOCAL,
    "pki server-cert": LOCAL,
    "pki show": LOCAL,
    "secret key": LOCAL,
    "secret seal": LOCAL,
    "agent list": Rule(CELL, hidden=False),
    "agent invite": Rule(ADMIN, "a --lane sim.a", hidden=False),
    "agent revoke": Rule(ADMIN, "a", hidden=False),
    "sim-cloud": LOCAL,
    "login": LOCAL,
    "logout": LOCAL,
    "policy test": LOCAL,
    **{f"lifecycle {verb}": LOCAL for verb in ("list", "show", "diagram", "lint", "explore")},
    "mci example": LOCAL,
    "mci schema": LOCAL,
    "whoami": Rule(KNOWN),
    "token list": Rule(KNOWN),
    "token create": Rule(FORCE, "t --role viewer@shop", hidden=False),
    "token revoke": Rule(FORCE, "spare", before=spare),
    "role list": Rule(KNOWN),
    "role give": Rule(FORCE, "user:eve viewer@shop", hidden=False),
    "role take": Rule(FORCE, "user:eve viewer@shop", hidden=False, before=grant),
    "policy list": Rule(ADMIN, hidden=False),
    "policy show": Rule(ADMIN, "none", hidden=False, before=policy),
    "policy put": Rule(ADMIN, "none -f -", hidden=False, stdin=CEDAR),
    "policy delete": Rule(ADMIN, "none", hidden=False, before=policy),
    "mci create": Rule(ACT, "shop/new -f - --detach", stdin=MCI),
    "mci list": Rule(KNOWN),
    "mci status": Rule(SEE, "shop/web"),
    "mci tree": Rule(SEE, "shop/web"),
    "mci diff": Rule(SEE, "shop/web"),
    **{
        f"mci {verb}": Rule(ACT, "shop/web --detach")
        for verb in ("suspend", "resume", "reboot", "terminate", "refine", "continue", "withdraw", "delete")
    },
    "subgroup list": Rule(KNOWN),
    "subgroup scale": Rule(ACT, "shop/web/g --by 1 --detach"),
    "vm create": Rule(ACT, "shop/web/g/7 --lane sim.a --set spec=small --detach"),
    "vm list": Rule(KNOWN),
    "vm diff": Rule(KNOWN, "shop"),
    **{
        verb: rule
        for kind, folder in (("network", "networks"), ("securitygroup", "securitygroups"), ("sshkey", "sshkeys"))
        for verb, rule in {
            f"{kind} list": Rule(KNOWN),
            f"{kind} create": Rule(ACT, f"shop/{folder}/sim.a.own --detach"),
            f"{kind} delete": Rule(ACT, f"shop/{folder}/sim.a.own --detach", before=there(kind, folder)),
        }.items()
    },
    "vm show": Rule(SEE, "shop/web/g/1"),
    **{f"vm {verb}": Rule(ACT, "shop/web/g/1 --detach") for verb in ("suspend", "resume", "reboot", "terminate")},
    "operation list": Rule(KNOWN),
    "operation show": Rule(SEE, "{failed}"),
    "operation wait": Rule(SEE, "{failed}"),
    "operation members": Rule(SEE, "{failed}"),
    "operation cancel": Rule(ACT, "{failed} --detach"),
    "operation promote": Rule(ACT, "{failed}"),
    "operation retry": Rule(ACT, "{failed} --detach"),
    "queue list": Rule(KNOWN),
    "queue show": Rule(SEE, "shop/web", before=queue),
    "queue open": Rule(ACT, "shop/web"),
    "queue stop": Rule(ACT, "shop/web", before=queue),
    "journal": Rule(KNOWN),
    "claim list": Rule(KNOWN),
    "explain": Rule(SEE, "shop/web suspend"),
    "orphan list": Rule(CELL, hidden=False),
    "orphan adopt": Rule(ADMIN, f"sim.a {ORPHAN} --path shop/web/g/9", hidden=False, before=orphan),
    "orphan remove": Rule(ADMIN, f"sim.a {ORPHAN} --detach", hidden=False, before=orphan),
    "lane list": Rule(CELL, hidden=False),
    "lane limit": Rule(ADMIN, "sim.a --members 9", hidden=False),
}


def verbs(group: Any, above: str = "") -> Iterator[str]:
    """All that the command knows, as one types it."""
    context: Any = None
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        words = f"{above} {name}".strip()
        yield from verbs(found, words) if hasattr(found, "list_commands") else [words]


ALL = sorted(verbs(COMMAND))


def test_every_verb_has_a_rule() -> None:
    assert sorted(RULES) == ALL


@pytest.fixture
def stead(furnished: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stead:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return command(furnished, monkeypatch)


@pytest.mark.parametrize("verb", [verb for verb in ALL if RULES.get(verb, LOCAL) is not LOCAL])
def test_who_is_let_in(furnished: House, stead: Stead, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    rule = RULES[verb]
    assert rule is not None
    for role in (NOBODY, *ROLES):
        if rule.before is not None:
            rule.before(furnished)
        words = rule.words.replace("{failed}", furnished.failed("shop")) if "{failed}" in rule.words else rule.words
        monkeypatch.setenv("STEAD_TOKEN", furnished.tokens.get(role, ""))
        answer = stead(*verb.split(), *words.split(), stdin=rule.stdin)
        check(rule, role, answer, f"{role}: {answer}")


def check(rule: Rule, role: str, answer: Answer, said: str) -> None:
    if role in rule.allowed:
        assert answer.code in FINE, said
        for word in ("not-permitted", "not-known", "Usage:"):
            assert word not in answer.err, said
    elif role == NOBODY:
        assert answer.code == Code.NOT_ALLOWED, said
        assert "[not-known]" in answer.err, said
    elif (role not in SEE and rule.hidden) or (rule.allowed <= FORCE and rule.hidden):
        assert answer.code == Code.NOT_FOUND, said
    else:
        assert answer.code == Code.NOT_ALLOWED, said
        assert "[not-permitted]" in answer.err, said
