"""A pytest plugin that skips test modules whose optional library is not installed. In CI that is an error."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

OPTIONAL = {"libvirt": "libvirt-python is not installed: make setup-libvirt"}
"""Libraries that `make setup` leaves out, and what to do where a test needs one."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.failed and not os.environ.get("CI"):
        for library, reason in OPTIONAL.items():
            if f"No module named '{library}'" in str(report.longrepr):
                report.outcome = "skipped"
                report.longrepr = (str(collector.path), 0, f"Skipped: {reason}")
    return report
