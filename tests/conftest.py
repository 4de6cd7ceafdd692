"""What every test run shares: hypothesis profiles, and the notes on which requirements were proven."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tools.evidence import Evidence
from tools.requirements import EVIDENCE

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Evidence(config.rootpath / EVIDENCE))
