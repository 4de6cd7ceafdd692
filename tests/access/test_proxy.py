"""Behind a proxy: what it says of scheme and client counts if it is one of those that are trusted, and only then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import httpx
import pytest

from stead.access.access import Access
from stead.build import Authenticator, access_of
from stead.cli.processes.server import Listening
from tests.access.house import VM, House
from tests.cli.remote import NOWHERE, command

PROXY, STRANGER, CLIENT = "10.0.0.5", "10.0.1.5", "203.0.113.7"
URL = "http://stead.example"
HTTPS = {"X-Forwarded-Proto": "https"}

type Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(empty: House) -> Ask:
    """Send a request as a server behind proxies of 10.0.0.0/24 gets it, from an address."""
    cell = empty.cell
    access: Access = access_of(Authenticator(), cell.store, cell.kinds)
    service = replace(cell.service, access=access)
    config = Listening("0.0.0.0", 0, {"unknown": 0.001, "burst": 2}, proxies=["10.0.0.0/24"]).config(service, "main")
    config.load()

    def ask(
        address: str, method: str, path: str, headers: Mapping[str, str] | None = None, body: object = None
    ) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(config.loaded_app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url=URL, headers=headers) as web:
                return await web.request(method, path, json=body)

        sent: Awaitable[httpx.Response] = send()
        return cell.run(sent)  # type: ignore[arg-type]

    return ask


def test_cookie_is_secure_where_a_trusted_proxy_ends_tls(empty: House, ask: Ask) -> None:
    shown = {"token": empty.tokens["operator@shop"]}
    answer = ask(PROXY, "POST", "/v1/session", {**HTTPS, "Origin": "https://stead.example"}, shown)
    assert answer.status_code == 200, answer.text
    assert "; Secure" in answer.headers["Set-Cookie"]
    # Others are not believed: to the server they speak HTTP, and a page of HTTPS is another's.
    answer = ask(STRANGER, "POST", "/v1/session", {**HTTPS, "Origin": "https://stead.example"}, shown)
    assert answer.json()["code"] == "cross-origin"
    answer = ask(STRANGER, "POST", "/v1/session", {**HTTPS, "Origin": URL}, shown)
    assert "Secure" not in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://stead.example", 202),
        ("https://stead.example:443", 202),
        ("https://STEAD.example", 202),
        ("http://stead.example", 403),
        ("http://stead.example:443", 403),
        ("https://stead.example:444", 403),
        ("https://stead.example.evil", 403),
        ("https://stead.example@evil.example", 403),
        ("null", 403),
        ("https://", 403),
        ("https://stead.example:x", 403),
        ("", 403),
    ],
)
def test_change_with_a_cookie_needs_a_page_of_the_same_scheme_host_and_port(
    empty: House, ask: Ask, origin: str, expected: int
) -> None:
    secret, _ = empty.cell.run(Access(empty.cell.store, ()).begin_session(empty.tokens["operator@shop"]))
    headers = {**HTTPS, "Cookie": f"stead_session={secret}", "Origin": origin}
    answer = ask(PROXY, "POST", "/v1/resources/shop/a/b/1", headers, VM)
    assert answer.status_code == expected, answer.text


def test_client_address_of_a_trusted_proxy_counts_and_no_other(ask: Ask) -> None:
    def wrong(address: str, client: str) -> int:
        headers = {"Authorization": "Bearer stead_0000000000_" + "x" * 43, "X-Forwarded-For": client}
        return ask(address, "GET", "/v1/whoami", headers).status_code

    assert [wrong(PROXY, CLIENT) for _ in range(3)] == [401, 429, 429]
    assert wrong(PROXY, "203.0.113.8") == 401  # another client of the same proxy
    assert wrong(PROXY, f"203.0.113.9, {CLIENT}") == 429  # what a client says of itself does not count
    assert [wrong(STRANGER, f"203.0.113.{n}") for n in (20, 21)] == [401, 429]


@pytest.mark.parametrize("word", ["yes", "10.0.0.5/8", "0.0.0.0/0", "::/0", "proxy.example"])
def test_proxies_that_are_no_network_are_not_taken(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    server = ("server", "--database", "postgresql://nobody@127.0.0.1:1/none")
    answer = command(NOWHERE, monkeypatch)(*server, "--host", "0.0.0.0", "--behind-proxy", word)
    assert answer.code == 2
    assert "--behind-proxy" in answer.err
