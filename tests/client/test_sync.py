"""The client for programs without an event loop: a callback may use it."""

from __future__ import annotations

import inspect

import pytest

from stead.client import Client, SyncClient, WaitTimeout
from stead.client.models import Operation
from tests.api.cell import Cell

SPEC = {"provider": "sim", "region": "a"}


def test_sync_wait_callback_that_asks_the_server_is_answered(cell: Cell, ns: str) -> None:
    cell.obey(ns)
    states: list[str] = []
    with SyncClient(cell.url, retries=0) as client:
        accepted = client.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=SPEC)
        assert accepted.operation is not None

        def changed(operation: Operation) -> None:
            states.append(client.resource(operation.path).state)

        ended = client.wait(accepted.operation.id, 20, changed)
    assert ended.outcome == "succeeded"
    assert states[-1] == "Running"


def test_sync_wait_that_times_out_says_so(cell: Cell, ns: str) -> None:
    with SyncClient(cell.url, retries=0) as client:
        accepted = client.request_action(f"/{ns}/m/g/1", "create", kind="vm", spec=SPEC)
        assert accepted.operation is not None
        for seconds in (0.1, 0):
            with pytest.raises(WaitTimeout) as still:
                client.wait(accepted.operation.id, seconds)
            assert still.value.operation.id == accepted.operation.id


def test_sync_client_hands_no_callback_to_its_event_loop() -> None:
    """A method that takes one is written out in `SyncClient`, and calls it where no event loop runs."""
    methods = inspect.getmembers(Client, lambda one: inspect.isfunction(one) and not one.__name__.startswith("_"))
    taking = {name for name, method in methods if "Callable" in str(inspect.signature(method))}
    assert taking == {"wait"}
    assert inspect.signature(SyncClient.wait) == inspect.signature(Client.wait)
    written_out = {name for name in taking if vars(SyncClient)[name].__qualname__ == f"SyncClient.{name}"}
    assert written_out == taking
