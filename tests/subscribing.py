"""Subscriptions of tests that are there before anything is published."""

from __future__ import annotations

from nats.aio.client import Client


async def flushed(client: Client) -> None:
    """The server has all that was sent.

    The library's own ping overtakes what still waits to be sent, a subscription for example; a second one cannot.
    """
    await client.flush()
    await client.flush()
