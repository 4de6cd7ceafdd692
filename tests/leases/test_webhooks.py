"""Where webhooks may go: nowhere but to what was allowed, however an address is written."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
import typer

from stead import build as engines
from stead.cli.output import Code
from stead.cli.processes import controller, server
from stead.cli.processes.place import Place
from stead.cli.webhooks import prefixes
from stead.controller.reconcilers.leases import LeaseNotices
from tests.cli.remote import NOWHERE, command

ALLOWED = ("https://hooks.example/stead/", "http://127.0.0.1:")


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("https://hooks.example/stead/monday", True),
        ("http://127.0.0.1:8080/", True),
        ("https://hooks.example/other", False),
        ("https://hooks.example/stead/../other", False),
        ("https://hooks.example/stead/%2e%2e/other", False),
        ("https://hooks.example/stead/..\\other", False),
        ("http://127.0.0.1:80@inside.example/", False),
        ("http://127.0.0.1:80\\@inside.example/", False),
        ("http://127.0.0.1:[/", False),
        ("http://10.1.2.3/", False),
    ],
)
def test_an_address_leads_to_where_it_seems_to(url: str, may: bool) -> None:
    assert LeaseNotices(Mock(), ALLOWED)._may(url) is may
    assert not LeaseNotices(Mock(), ())._may(url)


@pytest.mark.parametrize("prefix", [*ALLOWED, "http://[::1]:", "https://hooks.example:8443/"])
def test_a_beginning_says_where_its_host_ends(prefix: str) -> None:
    assert prefixes([prefix]) == [prefix]


@pytest.mark.parametrize("prefix", ["https://hooks.example", "hooks.example/", "http://", "https://a@b/", "ftp://a/"])
def test_one_that_does_not_is_refused(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(typer.BadParameter, match="with a slash"):
        prefixes([prefix])
    for process in ("server", "controller"):
        answer = command(NOWHERE, monkeypatch)(process, "--database", "postgresql://nowhere/x", "--webhooks", prefix)
        assert (answer.code, "with a slash" in answer.err) == (Code.USAGE, True)


def test_a_controller_is_told_them_also_by_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Place] = []
    monkeypatch.setattr(controller, "run", lambda place, *_: told.append(place))
    monkeypatch.setattr(server, "run", lambda place, *_: told.append(place))
    monkeypatch.setattr("stead.cli.serve._log", lambda *_: None)
    stead = command(NOWHERE, monkeypatch)
    words = ("--database", "postgresql://nowhere/x", *(word for one in ALLOWED for word in ("--webhooks", one)))
    assert stead("server", *words).code == 0
    assert stead("controller", "--database", "postgresql://nowhere/x", *told[0].words()).code == 0
    monkeypatch.setenv("STEAD_WEBHOOKS", " ".join(ALLOWED))
    assert stead("controller", "--database", "postgresql://nowhere/x").code == 0
    assert [tuple(place.webhooks) for place in told] == [ALLOWED] * 3


async def test_a_controller_lets_them_go_there(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[Any] = []
    monkeypatch.setattr("stead.controller.runtime.LeaseNotices", lambda _, webhooks: allowed.append(webhooks))
    async with engines.open_engine(database, "nats://127.0.0.1:9", "main", webhooks=ALLOWED):
        assert allowed == [ALLOWED]
