"""Whether the process lives and can do its work, and what the interface says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from stead import __version__
from stead.api import openapi
from stead.api.problem_codes import TITLES
from tests.api.cell import Cell

ROOT = Path(__file__).parents[2]


def test_livez_and_readyz(web: httpx.Client) -> None:
    assert web.get("/livez").text == "ok\n"
    assert web.get("/readyz").text == "ok\n"
    assert web.get("/readyz?verbose").text == f"[+] database ok\nversion {__version__}\nok\n"


def test_not_ready_says_which(cell: Cell, web: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(cell.store.resources, "list_paths", away)
    answer = web.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "[-] database failed\nnot ready\n")
    assert web.get("/livez").status_code == 200


def test_the_committed_description_is_what_the_server_says(web: httpx.Client) -> None:
    said = web.get("/v1/openapi.json").json()
    assert said == openapi()
    assert said == json.loads((ROOT / "docs/reference/openapi.json").read_text())


def test_the_description_knows_problems_and_nothing_of_the_frameworks() -> None:
    said = openapi()
    assert {"Problem", "Resource", "DryRun"} <= set(said["components"]["schemas"])
    assert not {"HTTPValidationError", "ValidationError"} & set(said["components"]["schemas"])
    for methods in said["paths"].values():
        for operation in methods.values():
            assert set(operation["responses"]["default"]["content"]) == {"application/problem+json"}
    assert all(f"| `{code}` | {status} |" in said["info"]["description"] for code, (status, _) in TITLES.items())
