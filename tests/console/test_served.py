"""The console as the server gives it out: one page for all its addresses, files kept for ever, nothing else."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.api.cell import Cell
from tests.api.fixtures import cell, web
from tests.api.test_resources import problem

__all__ = ["cell", "web"]


def assets(web: httpx.Client) -> list[str]:
    return re.findall(r'(?:src|href)="(/console/assets/[^"]+)"', web.get("/console/").text)


@pytest.mark.parametrize("address", ["/", "/console"])
def test_whoever_comes_to_the_door_is_led_there(web: httpx.Client, address: str) -> None:
    answer = web.get(address)
    assert (answer.status_code, answer.headers["location"]) == (307, "/console/")


@pytest.mark.parametrize(
    "address", ["", "tree", "r/shop/web/front/1", "operations/1.2", "index.html", "lifecycles/vm"]
)
def test_every_address_of_the_app_is_its_page(web: httpx.Client, address: str) -> None:
    answer = web.get(f"/console/{address}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-store"
    assert '<div id="app">' in answer.text


def test_what_the_page_needs_is_there_and_kept_for_ever(web: httpx.Client) -> None:
    found = assets(web)
    assert {name.rpartition(".")[2] for name in found} == {"js", "css"}
    for name in found:
        answer = web.get(name)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        kind = "text/javascript" if name.endswith(".js") else "text/css"
        assert answer.headers["content-type"].startswith(kind)
    icon = web.get("/console/icon.svg")
    assert (icon.headers["content-type"], icon.headers["cache-control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize("name", ["assets/missing.js", "assets/", "assets/..%2f..%2f__init__.py"])
def test_a_file_that_is_not_there_is_no_page(web: httpx.Client, name: str) -> None:
    problem(web.get(f"/console/{name}"), 404, "no-such-address")


@pytest.mark.parametrize("name", ["..%2f__init__.py", "..%2f..%2fapi%2fapp.py", "%2fetc%2fpasswd", "a%00b"])
def test_no_other_file_is_given_out(web: httpx.Client, name: str) -> None:
    answer = web.get(f"/console/{name}")
    assert answer.status_code == 200
    assert '<div id="app">' in answer.text


def test_nothing_but_the_server_may_be_asked(cell: Cell, web: httpx.Client) -> None:
    for address in ("/console/", assets(web)[0]):
        headers = httpx.get(cell.url + address, trust_env=False).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "script-src" not in policy
        assert "unsafe-eval" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_it_is_no_part_of_the_interface(web: httpx.Client) -> None:
    paths = web.get("/v1/openapi.json").json()["paths"]
    assert [path for path in paths if path == "/" or path.startswith("/console")] == []
