"""The bare bus: fetch and acknowledge so many messages. `python -m bench.bare_bus NATS STREAM COUNT`."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress

import nats
import uvloop
from nats.errors import TimeoutError as NoMessages
from nats.js import JetStreamContext
from nats.js.api import RetentionPolicy, StreamConfig

WINDOW = 1000


async def publish(url: str, stream: str, payload: bytes, count: int) -> tuple[float, float]:
    """Publish messages, acknowledged by the server; when it began and when it ended."""
    client = await nats.connect(url)
    streams: JetStreamContext = client.jetstream(publish_async_max_pending=WINDOW)
    began = time.time()
    asked = [await streams.publish_async(f"{stream}.a", payload) for _ in range(count)]
    await asyncio.gather(*asked)
    ended = time.time()
    await client.close()
    return began, ended


async def make(url: str, stream: str) -> None:
    """A stream on disk, as orders lie in."""
    client = await nats.connect(url)
    config = StreamConfig(name=stream, subjects=[f"{stream}.>"], retention=RetentionPolicy.WORK_QUEUE)
    await client.jetstream().add_stream(config)
    await client.close()


async def main(url: str, stream: str, count: int) -> None:
    """Fetch and acknowledge; says when the last was done."""
    client = await nats.connect(url)
    pull = await client.jetstream().pull_subscribe(f"{stream}.>", durable="bare")
    print("ready", flush=True)
    while count > 0:
        with suppress(NoMessages):
            for message in await pull.fetch(100, timeout=1):
                await message.ack()
                count -= 1
    await client.flush()
    print(time.time(), flush=True)
    await client.close()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
