"""A pytest plugin that collects tests without looking for garbage, of which collecting makes none.

A tenth of what collecting takes is otherwise spent on it, in every worker. What was collected stays until the end of
the run, so it is not looked at afterwards either.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
