"""The console of a server that asks who one is: with a token, and with an issuer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from stead.access.oidc import Issuer as Trusted
from stead.build import Authenticator
from tests.access.house import House, house
from tests.access.issuer import CLIENT, Issuer
from tests.browser.looking import Looking


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as one:
        yield one


@pytest.fixture
def asking(migrated: str, issuer: Issuer) -> Iterator[House]:
    with house(migrated, Authenticator(issuer=Trusted(issuer.url, CLIENT))) as one:
        one.furnish()
        yield one


@pytest.fixture
def stranger(browser: Browser, asking: House) -> Iterator[Looking]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield Looking(context.new_page(), asking.url)
    context.close()


def test_a_token_is_shown_once_and_nothing_of_it_stays(asking: House, stranger: Looking) -> None:
    stranger.go("/")
    stranger.sees("login", "This server asks who you are")
    stranger.picture("login")
    stranger.the("token").fill("nonsense")
    stranger.the("enter").click()
    stranger.sees("wrong", "no token of")
    stranger.the("token").fill(asking.tokens["viewer@shop"])
    stranger.mark()
    stranger.the("enter").click()
    stranger.sees("counts", "vm")
    stranger.sees("who", "viewer-in-shop")
    expect(stranger.the("tile-agents")).to_have_count(0)  # the cell is not for them
    stranger.the("nav-tree").click()
    stranger.sees("tree", "shop")
    expect(stranger.the("tree")).not_to_contain_text("bank")
    assert stranger.never_reloaded()
    kept = stranger.page.evaluate(
        "JSON.stringify([localStorage, sessionStorage, document.cookie, document.body.innerHTML])"
    )
    assert asking.tokens["viewer@shop"] not in kept
    assert "stead_" not in kept
    stranger.the("who").click()
    stranger.sees("login", "This server asks who you are")
    assert [word for word in stranger.troubles if "401" not in word] == []


def test_the_issuer_lets_one_in_and_back_to_where_one_was(asking: House, stranger: Looking) -> None:
    with asking.as_("admin") as web:
        given = {"subject": "user:ann", "role": "viewer", "namespace": "shop"}
        assert web.put("/v1/cells/-/grants", params=given).status_code == 204
    stranger.go("/tree")
    stranger.the("log-in").click()
    stranger.sees("who", "ann")
    stranger.sees("tree", "shop")
    assert stranger.page.url.endswith("/console/tree")
