"""Where nobody is asked who they are: on loopback only, and not for pages of other addresses."""

from __future__ import annotations

import httpx
import pytest

from stead.build import Authenticator
from tests.access.house import VM, house
from tests.cli.remote import NOWHERE, command

SERVER = ("server", "--database", "postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "stead.example", ""])
def test_a_server_that_others_reach_does_not_start_open(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    answer = command(NOWHERE, monkeypatch)(*SERVER, "--open", "--behind-proxy", "10.0.0.5", "--host", host)
    assert answer.code == 2
    assert "every caller would have access" in " ".join(answer.err.split())


def test_a_server_that_others_reach_does_not_start_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = command(NOWHERE, monkeypatch)(*SERVER, "--host", "0.0.0.0")
    assert answer.code == 2
    assert "tokens would travel unencrypted" in " ".join(answer.err.split())


@pytest.mark.parametrize("issuer", ["http://id.example", "ftp://127.0.0.1", "id.example"])
def test_an_issuer_is_reached_safely(monkeypatch: pytest.MonkeyPatch, issuer: str) -> None:
    answer = command(NOWHERE, monkeypatch)(*SERVER, "--issuer", issuer)
    assert answer.code == 2
    assert "https" in answer.err


def test_a_page_of_another_address_is_not_let_in(migrated: str) -> None:
    with house(migrated, Authenticator(open=True)) as one, httpx.Client(base_url=one.url, trust_env=False) as web:
        assert web.get("/v1/whoami").json()["anonymous_access"] is True
        assert web.post("/v1/resources/shop/a/b/1", json=VM).status_code == 202
        assert web.post("/v1/resources/shop/a/b/2", json=VM, headers={"Origin": one.url}).status_code == 202
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}):
            answer = web.post("/v1/resources/shop/a/b/3", json=VM, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "cross-origin"), headers
            assert web.get("/v1/resources", headers=headers).status_code == 403
