"""People who log in with an issuer: by its word in a header, with a browser, and with the command."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from stead.access import oidc
from stead.access.access import REFRESH_SECONDS
from stead.access.oidc import Issuer as Trusted
from stead.build import Authenticator
from tests.access.house import VM, House, house
from tests.access.issuer import CLIENT, Issuer, Key


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as one:
        yield one


@pytest.fixture
def trusting(migrated: str, issuer: Issuer) -> Iterator[House]:
    """A server that trusts the issuer; the group `ops` is operator of shop."""
    with house(migrated, Authenticator(issuer=Trusted(issuer.url, CLIENT))) as one:
        with one.as_("admin") as web:
            given = {"subject": "group:ops", "role": "operator", "namespace": "shop"}
            assert web.put("/v1/cells/-/grants", params=given).status_code == 204
        yield one


def asked(house: House, token: str) -> httpx.Response:
    with house.showing({"Authorization": f"Bearer {token}"}) as web:
        return web.get("/v1/whoami")


def test_the_issuers_word_says_who_one_is(trusting: House, issuer: Issuer) -> None:
    said = asked(trusting, issuer.token()).json()
    assert said["name"] == "user:ann"
    assert said["groups"] == ["ops"]
    assert said["roles"] == [{"role": "operator", "namespace": "shop"}]
    with trusting.showing({"Authorization": f"Bearer {issuer.token()}"}) as web:
        assert web.post("/v1/resources/shop/a/b/1", json=VM).status_code == 202
        assert web.post("/v1/resources/bank/a/b/1", json=VM).status_code == 404


def test_a_role_that_is_given_or_taken_counts_within_a_second(trusting: House, issuer: Issuer) -> None:
    token = issuer.token(sub="eve", groups=None)
    assert asked(trusting, token).json()["roles"] == []
    given = {"subject": "user:eve", "role": "viewer", "namespace": "shop"}
    with trusting.as_("admin") as web:
        for method, roles in (("PUT", [{"role": "viewer", "namespace": "shop"}]), ("DELETE", [])):
            assert web.request(method, "/v1/cells/-/grants", params=given).status_code == 204
            time.sleep(REFRESH_SECONDS + 0.2)
            assert asked(trusting, token).json()["roles"] == roles


WRONG: dict[str, dict[str, Any]] = {
    "expired": {"exp": 1_700_000_000},
    "not yet": {"nbf": 4_000_000_000},
    "for another": {"aud": "somebody-else"},
    "for several, and not by us": {"aud": [CLIENT, "other"], "azp": "other"},
    "of another": {"iss": "https://evil.example"},
    "without an end": {"exp": None},
    "without a subject": {"sub": None},
    "with a number for a name": {"sub": 7},
    "with an endless name": {"sub": "x" * 201},
    "with a name that cannot be shown": {"sub": "ann\n"},
    "without an audience": {"aud": None},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_word_that_is_not_right_says_nothing(trusting: House, issuer: Issuer, wrong: str) -> None:
    assert asked(trusting, issuer.token()).status_code == 200
    assert asked(trusting, issuer.token(**WRONG[wrong])).status_code == 401


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def test_a_word_that_is_signed_by_nobody_says_nothing(trusting: House, issuer: Issuer) -> None:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    unsigned = jwt.encode(claims, None, "none", headers={"kid": "one"})  # type: ignore[arg-type]
    assert asked(trusting, unsigned).status_code == 401
    # The public key taken for a shared secret.
    secret = json.dumps(issuer.keys[0].public).encode()
    words = ".".join(map(encoded, ({"alg": "HS256", "typ": "JWT", "kid": "one"}, claims)))
    mac = base64.urlsafe_b64encode(hmac.digest(secret, words.encode(), hashlib.sha256)).decode().rstrip("=")
    assert asked(trusting, f"{words}.{mac}").status_code == 401
    # A key of one's own under the issuer's name for it.
    assert asked(trusting, issuer.token(Key("one"))).status_code == 401
    # A signature that belongs to other claims.
    head, _, signature = issuer.token().split(".")
    assert asked(trusting, f"{head}.{encoded({**claims, 'sub': 'root'})}.{signature}").status_code == 401


def test_a_key_that_brings_itself_along_is_not_used(trusting: House, issuer: Issuer) -> None:
    own = Key("mine")
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    for header in ({"jwk": own.public}, {"jku": f"{issuer.url}/keys"}, {"x5u": issuer.url}):
        token = jwt.encode(claims, own.private, "RS256", headers={"kid": "mine", **header})
        assert asked(trusting, token).status_code == 401


def test_other_algorithms_with_a_signature_are_taken(trusting: House, issuer: Issuer) -> None:
    issuer.keys = [Key("curve", "ES256")]
    assert asked(trusting, issuer.token()).json()["name"] == "user:ann"


def test_keys_are_looked_up_anew_when_they_change_and_not_for_everybody(
    trusting: House, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "RETRY_SECONDS", 600.0)
    assert asked(trusting, issuer.token()).status_code == 200
    assert issuer.looked == 1
    for n in range(20):  # anybody can make these up
        assert asked(trusting, issuer.token(Key(f"unknown-{n}", "ES256"))).status_code == 401
    assert issuer.looked == 1
    monkeypatch.setattr(oidc, "RETRY_SECONDS", 0.1)
    time.sleep(0.2)
    issuer.keys.append(Key("two"))
    assert asked(trusting, issuer.token()).status_code == 200
    assert issuer.looked == 2


def test_an_issuer_that_is_away_is_said_to_be(migrated: str) -> None:
    with Issuer() as gone:
        token = gone.token()
        trusted = Trusted(gone.url, CLIENT)
    with house(migrated, Authenticator(issuer=trusted)) as one:
        said = asked(one, token)
        assert said.status_code == 503
        assert said.json()["code"] == "issuer-unavailable"
        assert asked(one, one.tokens["viewer"]).status_code == 200  # tokens go on


def test_an_issuer_that_says_it_is_another_is_not_believed(trusting: House, issuer: Issuer) -> None:
    issuer.claims = {"issuer": "https://other.example"}
    assert asked(trusting, issuer.token(issuer=None)).status_code == 503


def test_an_address_that_nobody_has_verified_is_no_name(migrated: str, issuer: Issuer) -> None:
    trusted = replace(Trusted(issuer.url, CLIENT), name_claim="email")
    with house(migrated, Authenticator(issuer=trusted)) as one:
        assert asked(one, issuer.token(email="ann@example.org")).status_code == 401
        said = asked(one, issuer.token(email="ann@example.org", email_verified=True))
        assert said.json()["name"] == "user:ann@example.org"


def test_a_browser_logs_in(trusting: House, issuer: Issuer) -> None:
    with httpx.Client(base_url=trusting.url, trust_env=False, verify=False, follow_redirects=False) as web:
        to_issuer = web.get("/v1/session/login", params={"to": "/console/tree"})
        assert to_issuer.status_code == 302
        back = httpx.get(to_issuer.headers["Location"], follow_redirects=False, trust_env=False)
        home = web.get(back.headers["Location"])
        assert home.headers["Location"] == "/console/tree"
        assert web.get("/v1/whoami").json()["name"] == "user:ann"
        # The same answer of the issuer again: its login is over.
        assert web.get(back.headers["Location"]).status_code == 401
    del issuer


def test_a_login_that_somebody_else_began_is_none(trusting: House, issuer: Issuer) -> None:
    with httpx.Client(base_url=trusting.url, trust_env=False, verify=False) as mine:
        location = mine.get("/v1/session/login").headers["Location"]
        back = httpx.get(location, follow_redirects=False, trust_env=False).headers["Location"]
    with httpx.Client(base_url=trusting.url, trust_env=False, verify=False) as theirs:
        assert theirs.get(back).status_code == 401
        theirs.get("/v1/session/login")
        assert theirs.get(back).status_code == 401
        assert theirs.get("/v1/session/back", params={"error": "access_denied"}).status_code == 401
        assert theirs.get("/v1/whoami").status_code == 401
    issuer.claims = {"nonce": "of another login"}
    with httpx.Client(base_url=trusting.url, trust_env=False, verify=False) as web:
        location = web.get("/v1/session/login").headers["Location"]
        back = httpx.get(location, follow_redirects=False, trust_env=False).headers["Location"]
        assert web.get(back).status_code == 401


def test_it_leads_nowhere_else(trusting: House) -> None:
    with httpx.Client(base_url=trusting.url, trust_env=False, verify=False, follow_redirects=False) as web:
        location = web.get("/v1/session/login", params={"to": "https://evil.example/"}).headers["Location"]
        back = httpx.get(location, follow_redirects=False, trust_env=False).headers["Location"]
        assert web.get(back).headers["Location"] == "/console/"


def test_the_command_logs_in_with_the_device_flow_and_stays_so(
    trusting: House, issuer: Issuer, tmp_path: Path
) -> None:
    env = {"STEAD_SERVER": trusting.url, "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}

    def stead(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "stead", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**_path(), **env},
        )

    login = stead("login")
    assert login.stderr is not None
    shown = login.stderr.readline()
    found = re.search(r"http://\S+", shown)
    assert found, shown
    httpx.get(found[0], trust_env=False)
    out, err = login.communicate(timeout=60)
    assert login.returncode == 0, err
    assert f"logged in to {trusting.url} as user:ann" in out
    assert "operator@shop" in stead("whoami").communicate(timeout=60)[0]
    # It is about to end: the next command has it renewed, without a word.
    file = tmp_path / "stead" / "logins.json"
    kept = json.loads(file.read_text())
    (login_at,) = kept.values()
    login_at["token"], login_at["until"] = issuer.token(exp=1_700_000_000), time.time()
    file.write_text(json.dumps(kept))
    assert "operator@shop" in stead("whoami").communicate(timeout=60)[0]
    assert json.loads(file.read_text())[trusting.url]["token"] != login_at["token"]


def _path() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}


@pytest.mark.parametrize("token", ["\ud800", "a.\udfff.b", "." * 3000])
async def test_what_is_no_text_at_all_is_no_token(token: str) -> None:
    verifier = oidc.OidcVerifier(oidc.Issuer("https://issuer.example", "stead"))
    with pytest.raises(oidc.InvalidIdToken, match="no token"):
        await verifier.verify(token)
