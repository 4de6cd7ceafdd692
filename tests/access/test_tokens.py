"""Tokens and sessions: shown once, kept as a hash, ended when they are to end."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from stead.access.access import REFRESH_SECONDS, InvalidAccessRequest
from stead.api.limits import Limits
from stead.api.rates import RateLimits
from tests.access.house import NOBODY, House, house, made
from tests.access.house import VM as A_VM
from tests.cli.remote import command


async def everything(dsn: str) -> str:
    """All that is in the database, as text."""
    connection = await asyncpg.connect(dsn)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return "\n".join(
            [str(row) for table in tables for row in await connection.fetch(f'SELECT t::text FROM "{table[0]}" t')]
        )
    finally:
        await connection.close()


def code(house: House, token: str) -> int:
    with house.showing({"Authorization": f"Bearer {token}"}) as web:
        return web.get("/v1/whoami").status_code


def after_a_moment(house: House, token: str) -> int:
    time.sleep(REFRESH_SECONDS + 0.2)
    return code(house, token)


@pytest.mark.parametrize("who", ["admin", "viewer"])
@pytest.mark.parametrize("namespace", ["\x00", "a/b", "", "a b", "x" * 101])
def test_what_can_be_no_namespace_is_refused_whoever_asks(empty: House, who: str, namespace: str) -> None:
    with empty.as_(who) as web:
        answer = web.post(
            "/v1/cells/-/tokens", json={"name": "t", "roles": [{"role": "viewer", "namespace": namespace}]}
        )
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (422, "body.roles.0.namespace")


async def test_a_token_is_shown_once_and_kept_as_a_hash(empty: House, migrated: str) -> None:
    with empty.as_("admin") as web:
        said = web.post(
            "/v1/cells/-/tokens", json={"name": "ci", "roles": [{"role": "viewer", "namespace": "shop"}]}
        ).json()
        token = said["token"]
        assert code(empty, token) == 200
        listed = web.get("/v1/cells/-/tokens").text
    assert '"ci"' in listed
    secret = token.split("_", 2)[2]
    assert secret not in listed
    stored = await everything(migrated)
    assert "ci" in stored
    assert secret not in stored


def test_halves_of_characters_are_refused(empty: House) -> None:
    body = b'{"name": "t", "roles": [{"role": "viewer", "namespace": "\\udfff\\ud800"}]}'
    with empty.as_("admin") as web:
        answer = web.post("/v1/cells/-/tokens", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["location"] == "body.roles.0.namespace"


def test_a_revoked_token_lets_nobody_in_after_a_second(empty: House) -> None:
    token = empty.token("gone", [("operator", "*")])
    assert code(empty, token) == 200
    with empty.as_("admin") as web:
        assert web.delete("/v1/cells/-/tokens/gone").status_code == 204
    assert after_a_moment(empty, token) == 401


def test_an_expired_token_lets_nobody_in_and_its_name_is_free(empty: House) -> None:
    for seconds in (1.5, 6, 24):  # a busy machine may take longer than the shortest lasts
        began = time.monotonic()
        token = empty.token("short", [("viewer", "*")], timedelta(seconds=seconds))
        found = code(empty, token)
        if time.monotonic() < began + seconds:
            break
    assert found == 200
    time.sleep(seconds + 0.1)
    assert code(empty, token) == 401
    assert code(empty, empty.token("short", [("viewer", "*")])) == 200


@pytest.mark.parametrize("change", [0, 7, 20, -1])
def test_a_token_with_another_letter_is_none(furnished: House, change: int) -> None:
    token = list(furnished.tokens["admin"])
    token[change] = "A" if token[change] != "A" else "B"
    assert code(furnished, "".join(token)) == 401


@pytest.mark.parametrize("shown", ["x", "Bearer", "stead_", "a.b.c", "é" * 10, "x" * 20_000])
def test_what_is_no_token_is_none(furnished: House, shown: str) -> None:
    with furnished.showing({}) as web:
        answer = web.get("/v1/whoami", headers={b"Authorization": f"Bearer {shown}".encode()})
        assert answer.status_code == 401
        other = web.get("/v1/whoami", headers={b"Authorization": f"Basic {shown}".encode()})
        assert other.status_code == 401


def test_valid_token_is_accepted_while_its_address_shows_wrong_ones(migrated: str) -> None:
    with house(migrated, limits=Limits(rates=RateLimits(unknown=0.001, burst=2))) as one:
        wrong = [code(one, f"stead_{n:010}_{'x' * 43}") for n in range(4)]
        assert wrong == [401, 429, 429, 429]
        own = one.tokens["viewer"]
        assert code(one, own[:-1] + ("a" if own[-1] != "a" else "b")) == 429  # the id of one, and another secret
        for token in one.tokens.values():  # none of them was shown before
            assert code(one, token) == 200
        with one.showing({"Origin": one.url}) as web:
            assert web.post("/v1/session", json={"token": "stead_0000000000_" + "x" * 43}).status_code == 429
            assert web.post("/v1/session", json={"token": one.tokens["admin"]}).status_code == 200
            assert web.get("/v1/whoami").json()["name"] == "token:admin"


def test_whoever_guesses_waits_and_others_do_not(migrated: str) -> None:
    with house(migrated, limits=Limits(rates=RateLimits(unknown=0.2, burst=2))) as one:
        assert code(one, one.tokens["viewer"]) == 200
        found = [code(one, f"stead_{n:010}_{'x' * 43}") for n in range(8)]
        assert found[0] == 401
        assert found[-1] == 429
        assert code(one, one.tokens["viewer"]) == 200  # it is remembered, and nothing has to be looked up
        until = time.monotonic() + 60
        while (found_out := code(one, one.tokens["admin"])) == 429 and time.monotonic() < until:
            time.sleep(0.2)
        assert found_out == 200


def test_the_same_name_twice_is_refused(empty: House) -> None:
    empty.token("twice", [("viewer", "*")])
    with pytest.raises(InvalidAccessRequest, match="there is a token twice"):
        empty.token("twice", [("viewer", "*")])


@pytest.mark.parametrize(
    ("roles", "lasts"),
    [
        ([], timedelta(hours=1)),
        ([("king", "*")], timedelta(hours=1)),
        ([("viewer", "")], timedelta(hours=1)),
        ([("viewer", "a/b")], timedelta(hours=1)),
        ([("viewer", "*")], timedelta(days=400)),
        ([("viewer", "*")], timedelta(0)),
    ],
)
def test_what_makes_no_sense_is_refused(furnished: House, roles: list[tuple[str, str]], lasts: timedelta) -> None:
    with pytest.raises(InvalidAccessRequest):
        furnished.token("odd", roles, lasts)


def test_nobody_gives_more_than_they_have(furnished: House) -> None:
    with furnished.as_("admin@shop") as web:
        for namespace, expected in (("shop", 201), ("bank", 403), ("*", 403)):
            roles = [{"role": "viewer", "namespace": namespace}]
            name = f"t-{namespace.replace('*', 'all')}"
            assert web.post("/v1/cells/-/tokens", json={"name": name, "roles": roles}).status_code == expected
            given = {"subject": "user:eve", "role": "admin", "namespace": namespace}
            assert web.put("/v1/cells/-/grants", params=given).status_code == (204 if expected == 201 else 403)


def test_a_browser_shows_a_token_once_and_has_a_cookie(furnished: House) -> None:
    with furnished.showing({"Origin": furnished.url}) as web:
        answer = web.post("/v1/session", json={"token": furnished.tokens["operator@shop"]})
        assert answer.json()["name"] == "token:operator-in-shop"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert web.get("/v1/whoami").json()["name"] == "token:operator-in-shop"
        assert web.post("/v1/resources/shop/a/b/1", json=A_VM).status_code == 202
        assert web.post("/v1/resources/bank/a/b/1", json=A_VM).status_code == 404
        # A page of another address has the browser send the cookie along.
        foreign = web.post("/v1/resources/shop/a/b/2", json=A_VM, headers={"Origin": "http://evil.example"})
        assert foreign.json()["code"] == "cross-origin"
        none = web.post("/v1/resources/shop/a/b/2", json=A_VM, headers={"Origin": ""})
        assert none.json()["code"] == "cross-origin"
        assert web.delete("/v1/session").status_code == 204
        web.cookies.set("stead_session", cookie.split("=", 1)[1].split(";")[0].strip('"'))
        time.sleep(REFRESH_SECONDS + 0.2)
        assert web.get("/v1/whoami").status_code == 401


def test_a_session_ends_with_its_token(empty: House) -> None:
    token = empty.token("brief", [("viewer", "*")])
    with empty.showing({"Origin": empty.url}) as web:
        assert web.post("/v1/session", json={"token": token}).status_code == 200
        assert web.get("/v1/whoami").status_code == 200
        with empty.as_("admin") as admin:
            assert admin.delete("/v1/cells/-/tokens/brief").status_code == 204
        time.sleep(REFRESH_SECONDS + 0.2)
        assert web.get("/v1/whoami").status_code == 401


def test_a_session_is_not_opened_by_another_page(furnished: House) -> None:
    with furnished.showing({"Origin": "http://evil.example"}) as web:
        answer = web.post("/v1/session", json={"token": furnished.tokens["admin"]})
    assert answer.json()["code"] == "cross-origin"


def test_a_stream_ends_when_its_token_is_revoked(empty: House) -> None:
    token = empty.token("watcher", [("viewer", "*")])
    with (
        empty.showing({"Authorization": f"Bearer {token}"}) as web,
        web.stream("GET", "/v1/events") as stream,
        empty.as_("admin") as admin,
    ):
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        assert admin.delete("/v1/cells/-/tokens/watcher").status_code == 204
        began = time.monotonic()
        for _ in lines:
            assert time.monotonic() - began < 10
    assert time.monotonic() - began < 10


def test_the_journal_says_who(empty: House) -> None:
    with empty.as_("operator@shop") as web:
        made(web, "/v1/resources/shop/a/b/1", A_VM)
    with empty.as_("viewer@shop") as web:
        assert web.post("/v1/resources/shop/a/b/1?action=terminate").status_code == 403
        empty.cell.numbered()
        lines = web.get("/v1/journal").json()["items"]
    told = [(line["principal"], line["detail"], line["rejections"]) for line in lines]
    assert ("token:operator-in-shop", "create", 0) in told
    assert ("token:viewer-in-shop", "terminate", 1) in told


def test_whoever_shows_nothing_is_told_how(furnished: House) -> None:
    with furnished.as_(NOBODY) as web:
        said = web.get("/v1/resources").json()
        assert said["code"] == "unauthenticated"
        assert web.get("/v1/login").json() == {
            "anonymous_access": False,
            "issuer": None,
            "client": None,
            "scopes": web.get("/v1/login").json()["scopes"],
        }


def test_the_command_keeps_a_login(furnished: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("STEAD_TOKEN", raising=False)
    stead = command(furnished, monkeypatch)
    assert stead("whoami").code == 4
    assert stead("login").code == 2  # there is no issuer, and it says what to do
    assert stead("login", "--with-token", stdin="nonsense\n").code == 4
    answer = stead("login", "--with-token", stdin=f"{furnished.tokens['viewer']}\n")
    assert answer.code == 0
    assert "as token:viewer" in answer.out
    assert (tmp_path / "stead" / "logins.json").stat().st_mode & 0o777 == 0o600
    assert "viewer@*" in stead("whoami").out
    assert stead("logout").code == 0
    assert stead("whoami").code == 4


def test_the_first_token_is_made_in_the_database(
    migrated: str, empty: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    stead = command(empty, monkeypatch)
    words = ("token", "create", "root", "--role", "admin", "--direct")
    monkeypatch.delenv("STEAD_DATABASE", raising=False)
    assert stead(*words).code == 2
    answer = stead(*words, "--database", migrated)
    assert answer.code == 0, answer
    assert code(empty, answer.out.strip()) == 200
    assert stead(*words, "--database", migrated).code == 2  # the name is taken


def test_token_of_a_namespaces_admin_never_has_the_name_that_a_policy_of_the_cell_permits(empty: House) -> None:
    policy = 'permit (principal == Token::"token:deployer", action, resource) when { resource.namespace == "bank" };'
    body = {"name": "deployer", "roles": [{"role": "viewer", "namespace": "shop"}]}
    with empty.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/deployer", json={"text": policy}).status_code == 204
        assert web.post("/v1/cells/-/tokens", json=body).json()["name"] == "deployer"
        assert web.delete("/v1/cells/-/tokens/deployer").status_code == 204
    with empty.as_("admin@shop") as web:
        made = web.post("/v1/cells/-/tokens", json=body).json()
        assert made["name"] == "shop/deployer"
        assert web.post("/v1/cells/-/tokens", json=body).status_code == 422
        assert [token["name"] for token in web.get("/v1/cells/-/tokens").json()["items"]].count(made["name"]) == 1
    with empty.showing({"Authorization": f"Bearer {made['token']}"}) as web:
        assert web.get("/v1/whoami").json()["name"] == "token:shop/deployer"
        assert web.post("/v1/resources/bank/x/g/1", json=A_VM).status_code == 404
    with empty.as_("stranger") as web:
        assert web.delete(f"/v1/cells/-/tokens/{made['name']}").status_code == 404
    with empty.as_("admin@shop") as web:
        assert web.delete(f"/v1/cells/-/tokens/{made['name']}").status_code == 204
        assert web.delete("/v1/cells/-/tokens/deployer").status_code == 404
