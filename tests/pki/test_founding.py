"""What is founded is for its owner alone, is never written over, and can be shown."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stead.bus.limits import check_facts
from stead.cli.main import app
from stead.pki import certificates, claims
from stead.pki.identity import Candidate, Identity, NoIdentity
from stead.pki.initialization import found
from stead.pki.issuer import CredentialIssuer, proven
from stead.pki.nkeys import Key, Role, raw, signed_by


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


def test_it_is_for_its_owner_alone_and_never_written_over(tmp_path: Path) -> None:
    code, said = run("pki", "init", str(tmp_path / "pki"), "--host", "localhost")
    assert code == 0, said
    everything = [tmp_path / "pki", *(tmp_path / "pki").rglob("*")]
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in everything}
    assert modes == {(True, 0o700), (False, 0o600)}
    before = {path: path.read_bytes() for path in everything if path.is_file()}
    code, said = run("pki", "init", str(tmp_path / "pki"), "--host", "localhost")
    assert (code, "is not written over" in said) == (2, True)
    assert {path: path.read_bytes() for path in before} == before


def test_certificates_for_servers_and_what_is_shown(tmp_path: Path) -> None:
    found(tmp_path, "main", ["localhost"], 4222)
    code, said = run("pki", "server-cert", str(tmp_path), "--host", "web.example", "--host", "10.0.0.7")
    assert code == 0, said
    assert run("pki", "server-cert", str(tmp_path), "--host", "web.example")[0] == 2
    code, said = run("pki", "show", str(tmp_path))
    assert code == 0
    assert "servers/web.example.pem" in said
    assert "controller: the controller controller, until " in said
    (tmp_path / "root" / "ca.key").unlink()
    assert run("pki", "server-cert", str(tmp_path), "--host", "another.example")[0] == 2


def test_nothing_that_runs_needs_what_is_put_away(tmp_path: Path) -> None:
    made = found(tmp_path, "main", ["localhost"], 4222)
    secret = {path.read_text().strip() for path in (tmp_path / "root").iterdir()}
    assert len(secret) == 5
    kept = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "root")
    assert not [one for one in secret if one in kept]
    CredentialIssuer(Identity(made.controller)).account_claims({"U": 1})


def test_claims_are_signed_and_their_id_is_their_digest() -> None:
    key = Key.new(Role.OPERATOR)
    jwt = claims.operator(key, "stead", [], "A")
    head, body, signature = jwt.split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"typ": "JWT", "alg": "ed25519-nkey"}
    raw_signature = base64.urlsafe_b64decode(signature + "==")
    assert signed_by(key.public, Role.OPERATOR, f"{head}.{body}".encode(), raw_signature)
    assert not signed_by(key.public, Role.OPERATOR, f"{head}.{body}x".encode(), raw_signature)
    said = claims.decode(jwt)
    id = said.pop("jti")
    digest = hashlib.new("sha512_256", json.dumps(said, separators=(",", ":")).encode()).digest()
    assert id == base64.b32encode(digest).decode().rstrip("=")


@pytest.mark.parametrize(
    "public",
    ["", "U", "U" * 56, Key.new(Role.ACCOUNT).public, "ü" * 56, "A" * 1000],
    ids=["empty", "one letter", "no checksum", "of an account", "no letters", "long"],
)
def test_what_is_no_key_of_a_user_is_none(public: str) -> None:
    with pytest.raises(ValueError, match="public key"):
        raw(public, Role.USER)


def test_a_request_is_believed_from_whoever_has_both_keys() -> None:
    one, other = Candidate(), Candidate()
    assert proven(one.user_key, one.request, one.proof)
    assert not proven(other.user_key, one.request, one.proof)
    assert not proven(one.user_key, other.request, one.proof)
    assert not proven(one.user_key, one.request, "not base 64 ü")
    certificates.requested(one.request)
    for wrong in ("", "x", one.request[:200], one.request.replace("M", "N")):
        with pytest.raises(ValueError, match="not a request"):
            certificates.requested(wrong)


def test_a_folder_without_an_identity_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoIdentity, match="has no identity in it"):
        Identity(tmp_path)
    code, said = run("agent", "run", "--identity", str(tmp_path))
    assert (code, "has no identity in it" in said) == (2, True)


@pytest.mark.parametrize(
    "facts",
    [
        {"a": "x" * 70_000},
        {str(n): "x" * 100 for n in range(1000)},
        {"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]},
        {"a": 2**63},
        {"a": [{"b": -(2**70)}]},
    ],
)
def test_facts_have_bounds(facts: dict[str, object]) -> None:
    check_facts({"id": "i-1", "tags": {"a": ["b", 1, 1.5, None, True]}})
    with pytest.raises(ValueError, match="facts"):
        check_facts(facts)
