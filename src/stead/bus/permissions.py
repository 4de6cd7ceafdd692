"""On which subjects an agent may speak and listen: its own, and those of its lanes. All else is for controllers.

The server of the bus holds every connection to it, so a message on a subject is from somebody who may speak there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stead.bus.subjects import Subjects, inbox


class May(NamedTuple):
    """What somebody may do."""

    publish: tuple[str, ...]
    listen: tuple[str, ...]


def agent_may(cell: str, agent: str, lanes: Iterable[str]) -> May:
    """What an agent may do. To answer whoever asks it is a right of its own: the asker says where."""
    of = Subjects(cell)
    publish = [of.hello(agent), of.take(agent), of.renew(agent), of.roster(agent), of.presence(agent)]
    publish.append(of.identity(agent))
    listen = [f"{inbox(agent)}.>"]
    for lane in lanes:
        stream, consumer = of.orders_stream(lane), of.consumer(lane)
        publish += [
            of.report(lane),
            f"$JS.API.CONSUMER.CREATE.{stream}.{consumer}.{of.order(lane)}",
            f"$JS.API.CONSUMER.INFO.{stream}.{consumer}",
            f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}",
            f"$JS.ACK.{stream}.{consumer}.>",
        ]
        listen += [of.look(lane), of.offers(lane), of.survey(lane)]
    return May(tuple(publish), tuple(listen))
