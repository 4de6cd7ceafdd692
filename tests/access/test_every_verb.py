"""Every verb of the command, by every role and by nobody: from the command itself, so one without a rule fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stead.cli.output import Code
from tests.access.house import NOBODY, ORPHAN, ROLES, House
from tests.access.test_every_endpoint import (
    ACT,
    ADMIN,
    CELL,
    FORCE,
    KNOWN,
    NOTE,
    SCALING,
    SEE,
    grant,
    orphan,
    own_kind,
    policy,
    queue,
    scaling,
    spare,
)
from tests.cli.remote import COMMAND, Answer, Stead, command
from tests.tiers import is_full

FINE = (Code.DONE, Code.REJECTED, Code.FAILED, Code.TIMED_OUT, Code.USAGE)
"""Somebody is let in, whatever becomes of it. Wrong use would not have come so far: nobody is let in nowhere."""


@dataclass(frozen=True)
class Rule:
    """Who is let in, and the words after the verb."""

    allowed: frozenset[str]
    words: str = ""
    hidden: bool = True
    """Whoever may not see it is told that it is not there."""
    seen: bool = False
    """It is about something that others see, though only admins may do this to it."""
    stdin: str | None = None
    before: Callable[[House], Any] | None = None


LOCAL = None
"""It speaks to no server, or is one."""
BY_HAND = LOCAL
MCI = """
subgroups:
  - {name: g, provider: sim, region: a, spec: small, image: debian-12, size: 1}
"""


SUBGROUP = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}


def there(kind: str, folder: str) -> Callable[[House], None]:
    """It is made first."""

    def make(house: House) -> None:
        with house.as_("admin") as web:
            spec = {"provider": "sim", "region": "a"}
            web.post(f"/v1/resources/shop/{folder}/sim.a.own", json={"kind": kind, "spec": spec})

    return make


def at_a_site(house: House) -> None:
    """There is a site, with a cluster and an app."""
    house.cell.put("/shop/site", "cloudlet")
    house.cell.put("/shop/site/c", "clusterinst")
    house.cell.put("/shop/site/c/a", "appinst")


def failed_upgrade(house: House) -> None:
    house.cell.put("/shop/site", "cloudlet", "UpdateError")


def in_a_datacenter(house: House) -> None:
    """There is a machine with a disk, and what both need."""
    for path, kind, state in (
        ("/shop", "account", "CONFIRMED"),
        ("/shop/space", "cloudspace", "DEPLOYED"),
        ("/shop/space/m", "machine", "RUNNING"),
        ("/shop/debian", "image", "CREATED"),
        ("/dc/debian", "image", "CREATED"),
        ("/shop/n1", "node", "ENABLED"),
        ("/shop/n2", "node", "ENABLED"),
    ):
        house.cell.put(path, kind, state)
    house.cell.put("/shop/space/d", "disk", "CREATED", machine="/shop/space/m")


def _private_cloud() -> Iterator[tuple[str, Rule]]:
    """Verbs of the private cloud, made of what there is."""
    for verb, words in (
        ("account create", "shop"),
        ("cloudspace deploy", "shop/space9 --datacenter dc"),
        ("machine deploy", "shop/space/m9 --datacenter dc --image debian"),
        ("machine add-disk", "shop/space/m --disk d8"),
        ("machine attach-disk", "shop/space/m --disk d"),
        ("machine detach-disk", "shop/space/m --disk d"),
        ("disk create", "shop/space/d9 --datacenter dc"),
        ("disk assign", "shop/space/d9 --datacenter dc --machine m"),
        ("disk attach", "shop/space/d --machine m"),
        ("image create", "shop/alpine --from debian.img"),
    ):
        yield verb, Rule(ACT, f"{words} --detach", before=in_a_datacenter)
    yield "node create", Rule(FORCE, "shop/n9 --detach", seen=True)
    yield "machine migrate", Rule(FORCE, "shop/space/m --to shop/n2 --detach", seen=True, before=in_a_datacenter)
    bins = ("delete", "restore", "destroy")
    for path, noun, verbs, for_admins in (
        ("shop", "account", ("disable", "enable", *bins), ()),
        ("shop/space", "cloudspace", ("disable", "enable", *bins), ("pause", "resume", "reset")),
        ("shop/space/m", "machine", ("pause", "resume", "stop", "start", "reboot", "reset", *bins), ()),
        (
            "shop/space/d",
            "disk",
            ("detach", *bins, "delete-with-machine", "restore-with-machine", "restore-after-machine"),
            (),
        ),
        ("shop/debian", "image", ("disable", "enable", *bins), ()),
        ("shop/n1", "node", (), ("maintain", "enable", "decommission")),
    ):
        yield f"{noun} list", Rule(KNOWN)
        yield f"{noun} show", Rule(SEE, path, before=in_a_datacenter)
        for verb in verbs:
            yield f"{noun} {verb}", Rule(ACT, f"{path} --detach", before=in_a_datacenter)
        for verb in for_admins:
            yield f"{noun} {verb}", Rule(FORCE, f"{path} --detach", seen=True, before=in_a_datacenter)


def a_system(house: House) -> None:
    """There is one, with a service and a job."""
    house.cell.put("/shop/town", "system", "stable", lanes=["sim.a"])
    house.cell.put("/shop/town/api", "service", "stable", command=["serve"])
    house.cell.put("/shop/town/load", "job", "succeeded", command=["load"])


def booked(house: House) -> None:
    """There is a host, and a lease."""
    house.cell.run(house.cell.store.hosts.put("h1", "rack.a", {}, None))
    terms = {"start": "2030-01-07T08:00:00Z", "end": "2030-01-07T12:00:00Z", "reservations": [{"name": "r0"}]}
    house.cell.put("/shop/booked", "lease", "ACTIVE", **terms)


def a_host(house: House) -> None:
    """There is one that nobody has had."""
    house.cell.run(house.cell.store.hosts.put("spare", "rack.a", {}, None))


def _observing() -> Iterator[tuple[str, Rule]]:
    """To observe what there is: for operators; to record what was observed: for admins."""
    for noun, path, before in (
        ("mci", "shop/web", None),
        ("subgroup", "shop/web/g", None),
        ("vm", "shop/web/g/1", None),
        ("network", "shop/networks/sim.a.own", there("network", "networks")),
        ("securitygroup", "shop/securitygroups/sim.a.own", there("securitygroup", "securitygroups")),
        ("sshkey", "shop/sshkeys/sim.a.own", there("sshkey", "sshkeys")),
        ("cluster", "shop/site/c", at_a_site),
        ("app", "shop/site/c/a", at_a_site),
        ("cloudspace", "shop/space", in_a_datacenter),
        ("machine", "shop/space/m", in_a_datacenter),
        ("disk", "shop/space/d", in_a_datacenter),
        ("image", "shop/debian", in_a_datacenter),
        ("system", "shop/town", a_system),
        ("service", "shop/town/api", a_system),
        ("job", "shop/town/load", a_system),
    ):
        yield f"{noun} refresh", Rule(ACT, f"{path} --detach", before=before)
        yield f"{noun} accept-observed", Rule(FORCE, f"{path} --reason mended --detach", seen=True, before=before)


CEDAR = 'forbid (principal, action == Action::"terminate", resource == Resource::"/none");'
RULES: dict[str, Rule | None] = {
    "dev": LOCAL,
    "doctor": Rule(ADMIN, "--running", hidden=False),
    "support-bundle": Rule(ADMIN, "--to {tmp}", hidden=False),
    "server": LOCAL,
    "controller": LOCAL,
    "agent run": LOCAL,
    "agent join": LOCAL,
    "pki init": LOCAL,
    "pki renew": LOCAL,
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
    "lifecycle register": Rule(ADMIN, "-", hidden=False, stdin=NOTE),
    "lifecycle unregister": Rule(ADMIN, "note", hidden=False, before=own_kind),
    "lifecycle registered": Rule(KNOWN, before=own_kind),
    "resource create": Rule(ACT, "note shop/note9 --detach", before=own_kind),
    "resource request": Rule(ACT, "shop/web suspend --detach"),
    "resource delete": Rule(ACT, "shop/web --detach"),
    "resource list": Rule(KNOWN, "note", before=own_kind),
    "resource show": Rule(SEE, "shop/web"),
    "mci example": LOCAL,
    "mci schema": LOCAL,
    "whoami": Rule(KNOWN),
    "token list": Rule(KNOWN),
    "token create": Rule(FORCE, "t --role viewer@shop", hidden=False),
    "token revoke": Rule(FORCE, "spare", before=spare),
    "role list": Rule(KNOWN),
    "role grant": Rule(FORCE, "user:eve viewer@shop", hidden=False),
    "role revoke": Rule(FORCE, "user:eve viewer@shop", hidden=False, before=grant),
    "policy list": Rule(ADMIN, hidden=False),
    "policy show": Rule(ADMIN, "none", hidden=False, before=policy),
    "policy put": Rule(ADMIN, "none -f -", hidden=False, stdin=CEDAR),
    "policy delete": Rule(ADMIN, "none", hidden=False, before=policy),
    "mci create": Rule(ACT, "shop/new -f - --detach", stdin=MCI),
    "mci list": Rule(KNOWN),
    "mci show": Rule(SEE, "shop/web"),
    "mci status": Rule(SEE, "shop/web"),
    "mci tree": Rule(SEE, "shop/web"),
    "mci drift": Rule(SEE, "shop/web"),
    **{
        f"mci {verb}": Rule(ACT, "shop/web --detach")
        for verb in ("suspend", "resume", "reboot", "terminate", "refine", "continue", "withdraw", "delete")
    },
    "subgroup list": Rule(KNOWN),
    "subgroup show": Rule(SEE, "shop/web/g"),
    "subgroup add": Rule(ACT, "shop/web/more -f - --detach", stdin=json.dumps(SUBGROUP)),
    "subgroup scale": Rule(ACT, "shop/web/g --by 1 --detach"),
    "vm create": Rule(ACT, "shop/web/g/7 --lane sim.a --set spec=small --detach"),
    "vm list": Rule(KNOWN),
    "vm drift": Rule(KNOWN, "shop"),
    **{
        verb: rule
        for kind, folder in (("network", "networks"), ("securitygroup", "securitygroups"), ("sshkey", "sshkeys"))
        for verb, rule in {
            f"{kind} list": Rule(KNOWN),
            f"{kind} show": Rule(SEE, f"shop/{folder}/sim.a.own", before=there(kind, folder)),
            f"{kind} create": Rule(ACT, f"shop/{folder}/sim.a.own --detach"),
            f"{kind} delete": Rule(ACT, f"shop/{folder}/sim.a.own --detach", before=there(kind, folder)),
        }.items()
    },
    "vm show": Rule(SEE, "shop/web/g/1"),
    **{f"vm {verb}": Rule(ACT, "shop/web/g/1 --detach") for verb in ("suspend", "resume", "reboot", "terminate")},
    "operation list": Rule(KNOWN),
    "operation show": Rule(SEE, "{failed}"),
    "operation wait": Rule(SEE, "{failed}"),
    "operation watch": Rule(SEE, "{failed}"),
    "operation members": Rule(SEE, "{failed}"),
    "operation cancel": Rule(ACT, "{failed} --detach"),
    "operation promote": Rule(ACT, "{failed}"),
    "operation retry": Rule(ACT, "{failed} --detach"),
    "quota show": Rule(SEE, "shop/web"),
    "quota set": Rule(ADMIN, "shop/web --machines 9", seen=True),
    "queue list": Rule(KNOWN),
    "queue show": Rule(SEE, "shop/web", before=queue),
    "queue open": Rule(ACT, "shop/web"),
    "queue stop": Rule(ACT, "shop/web", before=queue),
    "scaling list": Rule(KNOWN),
    "scaling put": Rule(ACT, "shop/web -f -", stdin=json.dumps(SCALING)),
    "scaling show": Rule(SEE, "shop/web", before=scaling),
    "scaling delete": Rule(ACT, "shop/web", before=scaling),
    "scaling demand": Rule(ACT, "shop/web 1", before=scaling),
    "system example": LOCAL,
    "system create": Rule(ACT, "shop/town9 --detach"),
    "system deploy": Rule(ACT, "shop/town -f - --yes --detach", stdin="api: {command: [serve]}", before=a_system),
    "system teardown": Rule(ACT, "shop/town --detach", before=a_system),
    "system delete": Rule(ACT, "shop/town --detach", before=a_system),
    "system list": Rule(KNOWN),
    "system show": Rule(SEE, "shop/town", before=a_system),
    "service list": Rule(KNOWN),
    "service show": Rule(SEE, "shop/town/api", before=a_system),
    "service logs": Rule(SEE, "shop/town/api", before=a_system),
    "job list": Rule(KNOWN),
    "job show": Rule(SEE, "shop/town/load", before=a_system),
    "job logs": Rule(SEE, "shop/town/load", before=a_system),
    "job run": Rule(ACT, "shop/town/load --detach", before=a_system),
    "lease create": Rule(ACT, "shop/lease --from now --to +1h --detach"),
    "lease update": Rule(ACT, "shop/booked --to +5h --hosts 2 --detach", before=booked),
    "lease end": Rule(ACT, "shop/booked --detach", before=booked),
    "lease delete": Rule(ACT, "shop/booked --detach", before=booked),
    "lease list": Rule(KNOWN),
    "lease show": Rule(SEE, "shop/booked", before=booked),
    "lease calendar": Rule(KNOWN),
    "lease lateness": Rule(KNOWN),
    "host list": Rule(KNOWN),
    "host add": Rule(ADMIN, "h1 --lane rack.a", hidden=False),
    "host fail": Rule(ADMIN, "h1 --reason broken", hidden=False, before=booked),
    "host recover": Rule(ADMIN, "h1", hidden=False, before=booked),
    "host remove": Rule(ADMIN, "spare", hidden=False, before=a_host),
    "cloudlet create": Rule(ACT, "shop/other --detach"),
    "cloudlet invite": Rule(ADMIN, "shop/site", hidden=False, before=at_a_site),
    "cloudlet list": Rule(KNOWN),
    "cloudlet show": Rule(SEE, "shop/site", before=at_a_site),
    "cloudlet upgrade": Rule(ACT, "shop/site --to 2.0 --detach", before=at_a_site),
    "cloudlet resolve": Rule(FORCE, "shop/site --reason mended", seen=True, before=failed_upgrade),
    "cloudlet forget": Rule(FORCE, "shop/site --reason gone --detach", seen=True, before=failed_upgrade),
    "cloudlet delete": Rule(ACT, "shop/site --detach", before=at_a_site),
    **{
        verb: rule
        for kind, path, words in (("cluster", "shop/site/c", ""), ("app", "shop/site/c/a", " -- serve"))
        for verb, rule in {
            f"{kind} create": Rule(ACT, f"{path}9 --detach{words}", before=at_a_site),
            f"{kind} update": Rule(ACT, f"{path} --set memory=64M --detach", before=at_a_site),
            f"{kind} undo": Rule(ACT, f"{path} --detach", before=at_a_site),
            f"{kind} delete": Rule(ACT, f"{path} --detach", before=at_a_site),
            f"{kind} list": Rule(KNOWN),
            f"{kind} show": Rule(SEE, path, before=at_a_site),
        }.items()
    },
    "app logs": Rule(SEE, "shop/site/c/a", before=at_a_site),
    **dict(_private_cloud()),
    **dict(_observing()),
    "bin": Rule(KNOWN),
    "journal show": Rule(KNOWN),
    "journal head": Rule(CELL, hidden=False),
    "journal verify": Rule(CELL, hidden=False),
    "journal archive": Rule(ADMIN, "--before 2020-01-01 --to {tmp}", hidden=False),
    "journal export": Rule(CELL, "--to {tmp}", hidden=False),
    "stuck": Rule(KNOWN),
    "claim list": Rule(KNOWN),
    "explain": Rule(SEE, "shop/web suspend"),
    "orphan list": Rule(CELL, hidden=False),
    "orphan adopt": Rule(ADMIN, f"sim.a {ORPHAN} --path shop/web/g/9", hidden=False, before=orphan),
    "orphan remove": Rule(ADMIN, f"sim.a {ORPHAN} --detach", hidden=False, before=orphan),
    "lane list": Rule(CELL, hidden=False),
    "lane grants": Rule(KNOWN),
    "lane allow": Rule(ADMIN, "none.x none", hidden=False),
    "lane deny": Rule(ADMIN, "none.x none", hidden=False),
    "lane survey": Rule(ADMIN, "sim.a", hidden=False),
    "install": LOCAL,
    "backup create": LOCAL,
    "backup verify": LOCAL,
    "backup restore": LOCAL,
    "backup raise": LOCAL,
    "backup compare": Rule(CELL, hidden=False),
    "backup release": Rule(ADMIN, hidden=False),
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
def test_who_is_let_in(
    furnished: House, stead: Stead, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    rule = RULES[verb]
    assert rule is not None
    for role in judged(verb, rule):
        if rule.before is not None:
            rule.before(furnished)
        words = rule.words.replace("{failed}", furnished.failed("shop")) if "{failed}" in rule.words else rule.words
        monkeypatch.setenv("STEAD_TOKEN", furnished.tokens.get(role, ""))
        words = words.replace("{tmp}", str(tmp_path / role))
        answer = stead(*verb.split(), *words.split(), stdin=rule.stdin)
        check(rule, role, answer, f"{role}: {answer}")


def judged(verb: str, rule: Rule) -> list[str]:
    """Every role in the full tier; in the fast one a role that is allowed and one that is not, in turn.

    The tests of the endpoints judge every role on every push; these judge what the command makes of the answer."""
    roles = [NOBODY, *ROLES]
    if is_full():
        return roles
    turn = ALL.index(verb)
    return [
        part[turn % len(part)]
        for part in ([role for role in roles if (role in rule.allowed) is allowed] for allowed in (True, False))
        if part
    ]


def check(rule: Rule, role: str, answer: Answer, said: str) -> None:
    if role in rule.allowed:
        assert answer.code in FINE, said
        for word in ("not-permitted", "unauthenticated", "Usage:"):
            assert word not in answer.err, said
    elif role == NOBODY:
        assert answer.code == Code.NOT_ALLOWED, said
        assert "[unauthenticated]" in answer.err, said
    elif (role not in SEE and rule.hidden) or (rule.allowed <= FORCE and rule.hidden and not rule.seen):
        assert answer.code == Code.NOT_FOUND, said
    else:
        assert answer.code == Code.NOT_ALLOWED, said
        assert "[not-permitted]" in answer.err, said
