"""Bad input to everything else that reads: files, definitions, times, cursors, tokens, policies, keys.

Each parser has samples that it understands, and the errors by which it may say no. Anything else it raises would be a
traceback for somebody.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, cast

import typer
import yaml
from starlette.requests import Request

from stead.access.oidc import InvalidIdToken, Issuer, OidcVerifier
from stead.access.policies import InvalidPolicy, Policies, check
from stead.access.policy_tests import InvalidCase, tried
from stead.access.tokens import id_of
from stead.api.blazar import dates, expressions
from stead.api.login import FLOW, _flow
from stead.api.problems import ProblemResponse
from stead.api.request_ids import from_cursor, tags
from stead.api.stuck import _place
from stead.application.storable import storable
from stead.catalog import KINDS, infrastructure, scaling, tree
from stead.cli import credentials as logins
from stead.cli import durations, lease_options, policy, serve, spec_options
from stead.cli.paths import any_path, vm_path
from stead.controller.steps import lease_spec
from stead.lifecycle import claims
from stead.lifecycle.document import DocumentError, dump, load
from stead.lifecycle.files.decoded import InvalidDescription
from stead.lifecycle.lint import lint
from stead.pki import certificates
from stead.pki import claims as jwt
from stead.pki.identity import Candidate, Description, Identity, NoIdentity, described
from stead.pki.issuer import proven
from stead.pki.nkeys import Key, Role, raw
from stead.schema import cursor
from stead.secrets.address import parted
from stead.secrets.sealing import SealingKeys, make_key
from stead.secrets.sources import UnreadableSecret, named
from tests.access.test_every_endpoint import NOTE, POLICY, SCALING
from tests.fuzz.memory import Memory
from tests.fuzz.result import Result
from tests.fuzz.spoil import Spoiler, deep

SLOW = 5.0
"""Seconds that nothing may take to be read."""

ACTIONS = ("create", "delete", "suspend", "terminate")
SYSTEM = """
web: {kind: service, command: [python, -m, http.server], port: 8080, count: 2, cpu: 0.5, needs: [db]}
db: {kind: service, command: [sleep, '1000'], memory: 64}
"""
INFRASTRUCTURE = """
defaults: {provider: aws, region: us-east-1, spec: small, image: debian-12}
subgroups: [{name: front, size: 5}, {name: back, size: 2, provider: sim, region: a, labels: {a: b}}]
"""
TERMS = {
    **{"start": "2100-01-01T00:00:00Z", "end": "2100-01-02T00:00:00Z", "before_end": 600, "labels": {"a": "b"}},
    "reservations": [{"name": "r0", "count": 2, "properties": {"cpus": ">= 16", "arch": "x86_64", "gpu": True}}],
}
CASES = {
    "policies": [],
    "cases": [
        {"who": "user:eve", "roles": ["viewer@shop"], "action": "view", "path": "/shop/web", "expect": "allow"},
        {
            "who": "token:t",
            "groups": ["g"],
            "action": "delete",
            "path": "/a",
            "labels": {"a": "b"},
            "expect": "refuse",
        },
    ],
}
TOKEN = "stead_abcdefghij_" + "A" * 43


@dataclass(frozen=True)
class Parser:
    """Something that reads."""

    read: Callable[[Any], object]
    samples: list[Any]
    """Texts; or values of JSON, where it reads those."""
    refuses: tuple[type[BaseException], ...] = (ValueError,)


def parsers(folder: Path) -> dict[str, Parser]:
    """All of them, by name. Those that read files have theirs in the folder."""
    file = folder / "said"

    def from_file(read: Callable[[str], object]) -> Callable[[Any], object]:
        def reading(text: str) -> object:
            file.write_bytes(text.encode(errors="surrogatepass"))
            return read(str(file))

        return reading

    key = folder / "key"
    make_key(key)
    sealed = SealingKeys.read(key).seal("a secret")
    candidate = Candidate("a")
    user = Key.new(Role.USER)
    claim = jwt.encode(user, user.public, "a", {"type": "user"})
    credentials = jwt.credentials(claim, user.seed)
    described_ = described(Description("a", "cell", ["nats://127.0.0.1:4222"], lanes=["sim.a"]))
    issuer = OidcVerifier(Issuer("https://issuer.example", "stead"))
    ends = (typer.Exit, typer.BadParameter)
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    (folder / "stead").mkdir()
    login = {"token": "t", "until": 0, "refresh": "", "client": "c", "endpoint": "https://issuer.example/token"}

    def kept_logins(text: str) -> None:
        (folder / "stead" / "logins.json").write_bytes(text.encode(errors="surrogatepass"))
        logins.token_for("http://127.0.0.1:7777/")

    def identity(text: str) -> None:
        (folder / "identity.json").write_bytes(text.encode(errors="surrogatepass"))
        Identity(folder)

    def cases(said: str) -> None:
        given = policy._read(Path(said))
        list(tried(Policies(), given["cases"]))

    def lifecycle(text: str) -> None:
        lint(load(text, "a.yaml"))

    def who(text: str) -> None:
        step = issuer.verify(text)
        try:
            step.send(None)  # no key is known, and the issuer is not asked in vain
        except StopIteration:
            pass
        finally:
            step.close()

    issuer._asked = time.monotonic() + 10**6
    lifecycles = [dump(one) for one in KINDS.values()] + [NOTE]
    return {
        "lifecycle file": Parser(lifecycle, lifecycles, (DocumentError,)),
        "infrastructure file": Parser(lambda t: infrastructure.parse(t, "a"), [INFRASTRUCTURE], (DocumentError,)),
        "system file": Parser(lambda t: tree.parse(t, "a", "/"), [SYSTEM], (DocumentError,)),
        "system definition": Parser(
            lambda v: tree.parts(storable(v), "", root=True),
            [yaml.safe_load(SYSTEM)],
            (InvalidDescription, ValueError),
        ),
        "infrastructure spec": Parser(
            lambda v: infrastructure.read(storable(v)),
            [yaml.safe_load(INFRASTRUCTURE)],
            (InvalidDescription, ValueError),
        ),
        "scaling policy": Parser(lambda v: list(scaling.wrong(scaling.read(v), "shop")), [SCALING]),
        "lease terms": Parser(
            lambda v: isinstance(v, dict) and lease_spec.read(lease_spec.complete(v, 2e9)), [TERMS]
        ),
        "blazar expression": Parser(
            lambda t: expressions.properties("r", ("resource_properties", t)),
            ['[">=", "$vcpus", "2"]', '["and", ["==", "$gpu", "True"], ["<", "$a", "1.5"]]'],
            (ProblemResponse,),
        ),
        "blazar date": Parser(
            lambda t: dates.spec_time("start", t), ["2030-01-31 12:00", "2030-01-31T12:00:00.0"], (ProblemResponse,)
        ),
        "cursor": Parser(
            lambda t: from_cursor(t, str), [cursor("/shop/web"), cursor(17), nested_cursor()], (ProblemResponse,)
        ),
        "cursor of stuck": Parser(
            _place, [cursor('["then", "2030-01-31T12:00:00+00:00", 17]'), nested_cursor()], (ProblemResponse,)
        ),
        "tag": Parser(tags, ['"1", "2"', "*", 'W/"1"'], ()),
        "token": Parser(id_of, [TOKEN], ()),
        "token of an issuer": Parser(who, [claim], (InvalidIdToken,)),
        "cookie of a login": Parser(
            lambda t: _flow(cast(Request, SimpleNamespace(cookies={FLOW: t}))), [cursor("a"), "eyJhIjoxfQ=="]
        ),
        "Cedar policy": Parser(lambda t: check("own", t, ACTIONS), [POLICY], (InvalidPolicy,)),
        "cases of policies": Parser(from_file(cases), [yaml.safe_dump(CASES)], (*ends, InvalidCase)),
        "spec in a file": Parser(from_file(spec_options.read_spec), [INFRASTRUCTURE, json.dumps(TERMS)], ends),
        "--set": Parser(lambda t: spec_options.set_fields([t]), ["size=3", "labels={a: b}", "at=2030-01-31"], ends),
        "settings of an agent": Parser(
            from_file(lambda f: serve._from_file(Path(f))), ["url: http://127.0.0.1\nregion: a\n"], ends
        ),
        "booking file": Parser(from_file(spec_options.read_spec), [yaml.safe_dump(TERMS)], ends),
        "booking time": Parser(
            lambda t: lease_options.written(
                lease_options.time_of(t, "--from", lease_options.time_of("2030-01-31T12:00Z", "", NEVER))
            ),
            ["+2h", "2030-01-31T12:00:00Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"],
            ends,
        ),
        "booking property": Parser(
            lambda t: lease_options.properties([t]), ["cpus>=16", "arch=x86_64", "at=2030-01-31"], ends
        ),
        "kept logins": Parser(kept_logins, [json.dumps({"http://127.0.0.1:7777": login})], ()),
        "duration": Parser(durations.duration, ["90s", "15m", "7d"], ends),
        "path on the command line": Parser(lambda t: (any_path(t), vm_path(t)), ["shop/web/front/1"], ends),
        "path of a claim": Parser(claims.ancestors, ["/shop/web/front/1", "/"]),
        "secret's reference": Parser(lambda t: _name_only(t, key), ["env:A", "file:/a", sealed], (UnreadableSecret,)),
        "database's address": Parser(parted, ["postgresql://u:p@127.0.0.1:5432/d?sslmode=disable&password=x"]),
        "identity": Parser(identity, [described_], (NoIdentity,)),
        "claims": Parser(jwt.decode, [claim]),
        "credentials": Parser(lambda t: Key(jwt.from_credentials(t)[1]), [credentials]),
        "public key": Parser(lambda t: raw(t, Role.USER), [user.public]),
        "proof of a key": Parser(lambda t: proven(candidate.user_key, candidate.request, t), [candidate.proof], ()),
        "request for a certificate": Parser(certificates.requested, [candidate.request]),
    }


NEVER = datetime(2000, 1, 1, tzinfo=UTC)


def nested_cursor() -> str:
    """A place that is a list in a list in a list."""
    return base64.urlsafe_b64encode(deep(700).encode()).decode()


def _name_only(reference: str, key: Path) -> None:
    """What it names is looked up, but nothing is run."""
    source = named(reference, str(key))
    if not reference.startswith("command:"):
        source()


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise where something takes longer, whatever else the machine does meanwhile."""

    def over(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def spoiled(spoiler: Spoiler, sample: Any) -> Any:
    if not isinstance(sample, str):
        return spoiler.value(sample, spoiler.random.choice((1, 1, 2, 5)))
    if spoiler.chance(0.02):
        return spoiler.random.choice((deep(), deep(100), "{a: " * 300, "- " * 1500, "[" * 1_000, "&a [*a, *a]"))
    if spoiler.chance(0.6):
        return spoiler.text(sample)
    return spoiler.data(sample.encode(errors="surrogatepass")).decode(errors="surrogateescape")


def bad_files(count: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Result:
    """So many, evenly to all parsers."""
    began = time.monotonic()
    answers: Counter[str] = Counter()
    failures: list[str] = []
    memory = Memory()
    kept = os.environ.get("XDG_CONFIG_HOME")
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()) as heard, redirect_stdout(heard):
        everybody = parsers(Path(folder))
        for name, parser in everybody.items():
            for sample in parser.samples[:1]:
                one(parser, name, sample, answers, failures)
        spoilers = {name: Spoiler(f"{name} {seed}") for name in everybody}
        for number in range(count):
            name, parser = list(everybody.items())[number % len(everybody)]
            spoiler = spoilers[name]
            one(parser, name, spoiled(spoiler, spoiler.random.choice(parser.samples)), answers, failures)
            heard.seek(0)
            heard.truncate()
            memory.at(number + 1, count)
    if kept is None:
        del os.environ["XDG_CONFIG_HOME"]
    else:
        os.environ["XDG_CONFIG_HOME"] = kept
    say(f"  {count} to {len(everybody)} parsers, {memory.line}")
    return Result("files and words", count, seed, dict(answers), failures, memory.samples, time.monotonic() - began)


def one(parser: Parser, name: str, given: Any, answers: Counter[str], failures: list[str]) -> None:
    try:
        with bounded(SLOW):
            parser.read(given)
        answers["read"] += 1
    except parser.refuses:
        answers["rejections"] += 1
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failures.append(f"{name}: {repr(given)[:300]}: {traceback.format_exc(limit=-3)[-1500:]}")


def names(failures: list[str]) -> Mapping[str, int]:
    """How many failures each parser has."""
    return Counter(failure.partition(":")[0] for failure in failures)
