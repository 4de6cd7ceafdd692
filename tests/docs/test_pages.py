"""Pages whose commands need nothing but `stead dev` in another terminal are typed, one after another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.blocks import DOCS
from tests.docs.terminal import Beside, beside

PAGES = ("infrastructures", "groups")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("beside")) as one:
        yield one


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_as_printed(terminal: Beside, page: str) -> None:
    terminal.follow(DOCS / f"{page}.md")
