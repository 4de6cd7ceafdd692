"""The pages about providers are typed, beside a `stead dev` and what stands for each provider."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from stead.drivers.ec2.calls import Calls
from tests.docs.blocks import DOCS
from tests.docs.providers import WithProvider, lacking, need
from tests.drivers.ec2 import Ec2Cloud

AMAZON = {"AWS_ACCESS_KEY_ID": "AKIAPAGE", "AWS_SECRET_ACCESS_KEY": "secret"}
IMAGE = "al2023-ami-2023.9.20261105.0-x86_64"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithProvider]:
    """Of which nothing is left in the end."""
    one = WithProvider(tmp_path_factory.mktemp("beside"))
    try:
        one.env |= AMAZON
        yield one
    finally:
        one.end()


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2Cloud]:
    """A region with the image that the page names."""
    for name, value in AMAZON.items():
        monkeypatch.setenv(name, value)
    with Ec2Cloud() as cloud:
        calls = Calls(region="eu-west-1", profile="", endpoint_url=cloud.url, timeout=60)
        asyncio.run(calls.ask(calls.task(), dict[str, Any], "register_image", Name=IMAGE))
        calls.close()
        yield cloud


@pytest.mark.slow
@pytest.mark.long
def test_the_page_about_ec2_is_true(amazon: Ec2Cloud, terminal: WithProvider) -> None:
    terminal.leave_shell()
    terminal.env["AWS_ENDPOINT_URL"] = amazon.url
    terminal.follow(DOCS / "ec2.md")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S0-19")
def test_the_page_about_tumblebug_is_true(terminal: WithProvider) -> None:
    need(lacking("curl", "jq"))
    terminal.follow(DOCS / "tumblebug.md")
