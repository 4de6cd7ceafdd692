"""What a bus does with somebody who has a valid identity and tries whatever is not theirs."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nats
import nats.errors
import pytest

from stead.bus import Bus, Consumer
from stead.bus.messages import (
    FromAgent,
    OpenLane,
    Presence,
    Report,
    ReportResult,
    Superseded,
    TakeCustody,
    TakeCustodyReply,
)
from stead.bus.permissions import agent_permissions
from stead.bus.subjects import Recipient, Subjects, inbox
from stead.controller.observation.agent_identities import AgentIdentities
from stead.dev.engines import Nats
from stead.lifecycle.snapshot import Fence
from stead.pki import certificates
from stead.pki.claims import decode
from stead.pki.identity import Candidate, Identity
from tests.bus.samples import granted, order
from tests.pki.safe import CELL, SafeNats, Speaker, speaking
from tests.subscribing import flushed

OWN, FOREIGN = "aws.us-east-1", "edge.site-17"
OF = Subjects(CELL)
STREAM = OF.orders_stream(FOREIGN)
OWN_STREAM = OF.orders_stream(OWN)


@pytest.fixture(scope="module")
def thief(safe: SafeNats, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """Whoever has stolen the credentials of an agent of one lane."""
    return safe.agent(tmp_path_factory.mktemp("thief") / "id", "a1", [OWN])


@pytest.fixture
async def controller(safe: SafeNats) -> AsyncIterator[Bus]:
    async with Bus(safe.url, CELL, options=safe.controller.options) as bus:
        await bus.connect(60)
        await bus.identity()
        yield bus


@pytest.fixture
async def stolen(safe: SafeNats, thief: Identity, controller: Bus) -> AsyncIterator[Speaker]:
    async with speaking(safe, thief) as speaker:
        yield speaker


PUBLISH = [
    OF.report(FOREIGN),
    OF.order(FOREIGN),
    OF.order(OWN),
    OF.order(OWN, Recipient("a1", 1)),
    OF.agent_request("take-custody", "a2"),
    OF.agent_request("renew-custody", "a2"),
    OF.agent_request("inventory", "a2"),
    OF.presence("a2"),
    OF.hello("a2"),
    OF.agent_request("renew-identity", "a2"),
    "_R_.wanted.by-somebody",
    OF.wakeup,
    OF.lane_request("probe", OWN),
    OF.lane_request("probe", FOREIGN),
    OF.lane_request("offers", FOREIGN),
    OF.lane_request("logs", FOREIGN),
    OF.lane_request("state-sync", FOREIGN),
    Subjects("another-cell").report(OWN),
    f"{inbox('a2')}.x",
    "_INBOX.x",
    "anything",
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$JS.API.INFO",
    f"{OF.api}.INFO",
    f"{OF.api}.STREAM.DELETE.{OWN_STREAM}",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.NAMES",
    f"$JS.API.STREAM.INFO.{OWN_STREAM}",
    f"$JS.API.STREAM.CREATE.{STREAM}",
    f"$JS.API.STREAM.UPDATE.{OWN_STREAM}",
    f"$JS.API.STREAM.DELETE.{OWN_STREAM}",
    f"$JS.API.STREAM.PURGE.{OWN_STREAM}",
    f"$JS.API.STREAM.PURGE.{OF.reports_stream}",
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.STREAM.MSG.DELETE.{STREAM}",
    f"$JS.API.DIRECT.GET.{STREAM}",
    f"$JS.API.CONSUMER.LIST.{STREAM}",
    f"$JS.API.CONSUMER.MSG.NEXT.{OWN_STREAM}.{OF.consumer(OWN)}",
    OF.agent_request("open-lane", "a2"),
    f"{OF.api}.CONSUMER.CREATE.{OWN_STREAM}.{OF.consumer(OWN)}.{OF.order(OWN)}",
    f"{OF.api}.CONSUMER.CREATE.{STREAM}",
    f"{OF.api}.CONSUMER.CREATE.{OWN_STREAM}",
    f"{OF.api}.CONSUMER.CREATE.{OWN_STREAM}.{OF.consumer(OWN)}",
    f"{OF.api}.CONSUMER.CREATE.{OWN_STREAM}.mine.{OF.order(OWN)}",
    f"{OF.api}.CONSUMER.CREATE.{OWN_STREAM}.{OF.consumer(OWN)}.>",
    f"{OF.api}.CONSUMER.CREATE.{STREAM}.{OF.consumer(FOREIGN)}.{OF.order(FOREIGN)}",
    f"{OF.api}.CONSUMER.CREATE.{OF.reports_stream}.mine.{OF.report(OWN)}",
    f"$JS.API.CONSUMER.DURABLE.CREATE.{OWN_STREAM}.{OF.consumer(OWN)}",
    f"$JS.API.CONSUMER.DELETE.{OWN_STREAM}.{OF.consumer(OWN)}",
    f"$JS.API.CONSUMER.DELETE.{STREAM}.{OF.consumer(FOREIGN)}",
    f"{OF.api}.CONSUMER.MSG.NEXT.{STREAM}.{OF.consumer(FOREIGN)}",
    f"{OF.api}.CONSUMER.MSG.NEXT.{OF.reports_stream}.controllers",
    f"{OF.api}.CONSUMER.INFO.{STREAM}.{OF.consumer(FOREIGN)}",
    f"$JS.API.CONSUMER.PAUSE.{OWN_STREAM}.{OF.consumer(OWN)}",
    f"$JS.ACK.{STREAM}.{OF.consumer(FOREIGN)}.1.1.1.1.0",
    f"$JS.ACK.{OF.reports_stream}.controllers.1.1.1.1.0",
]


@pytest.mark.parametrize("subject", PUBLISH)
async def test_what_is_not_its_own_is_not_said(stolen: Speaker, subject: str) -> None:
    await stolen.client.publish(subject, b"{}")
    assert await stolen.refused() == [f'nats: permissions violation for publish to "{subject.lower()}"']
    assert stolen.client.is_connected


LISTEN = [
    ">",
    "*",
    "stead.>",
    f"stead.{CELL}.>",
    f"stead.{CELL}.*.*",
    f"stead.{CELL}.take.*",
    OF.agent_request("take-custody", "a2"),
    OF.agent_request("take-custody", "a1"),
    OF.report(OWN),
    OF.report(FOREIGN),
    OF.order(OWN),
    OF.order(FOREIGN),
    OF.lane_request("probe", FOREIGN),
    OF.lane_request("offers", FOREIGN),
    OF.lane_request("logs", FOREIGN),
    OF.lane_request("state-sync", FOREIGN),
    OF.wakeup,
    f"{inbox('a2')}.>",
    "_INBOX.>",
    "*.>",
    "$SYS.>",
    "$JS.>",
    "$JS.EVENT.>",
]


@pytest.mark.parametrize("subject", LISTEN)
async def test_what_is_not_its_own_is_not_heard(stolen: Speaker, subject: str) -> None:
    await stolen.client.subscribe(subject)
    assert await stolen.refused() == [f'nats: permissions violation for subscription to "{subject.lower()}"']


async def own_lane(asked: OpenLane) -> None:
    assert (asked.agent, asked.lane) == ("a1", OWN)


async def test_its_own_work_goes_on(safe: SafeNats, thief: Identity, controller: Bus) -> None:
    """All that an agent says and hears, with nothing refused on the way."""
    async with Bus(safe.url, CELL, agent="a1", apart=True, options=thief.options) as bus:
        await bus.connect(60)
        await controller.take_custody.serve(granted)
        await controller.serve_open_lane(own_lane)
        await controller.publish_order(order(lane=OWN))
        async with bus.orders(OWN) as consumer:
            (delivery,) = await consumer.fetch(1)
            await delivery.ack()
        assert (await bus.take_custody(TakeCustody("a1", 1, [("/shop/front/web-1", Fence(0, 1))]))).ok
        await bus.publish_report(Report("a1", 1, 1, OWN, [ReportResult("/a", Fence(0, 2), "succeeded")]), timeout=5)
        async with controller.reports() as reports:
            (report,) = await reports.fetch()
            await report.ack()
        assert isinstance(report.message, Report)
        told: asyncio.Queue[Superseded] = asyncio.Queue()
        await bus.on_superseded(told.put_nowait)
        superseded = Superseded(epoch=1, newer_epoch=2)
        await controller.on_presence(lambda _, where: controller.tell_superseded(where, superseded))
        async with asyncio.timeout(60):
            while told.empty():
                await bus.announce(Presence("a1", 1, [OWN], "1"))
                await asyncio.sleep(0.1)
            assert await told.get() == superseded


async def test_who_only_knows_where_it_is_is_not_let_in(safe: SafeNats) -> None:
    with pytest.raises((nats.errors.Error, OSError)):
        await nats.connect(safe.url.replace("tls:", "nats:"), allow_reconnect=False, connect_timeout=2)


async def test_who_shows_no_certificate_is_not_let_in(safe: SafeNats, thief: Identity) -> None:
    """Stolen claims and their key alone are not enough."""
    bare = ssl.create_default_context(cafile=str(thief.folder / "ca.pem"))
    with pytest.raises((nats.errors.Error, OSError)):
        async with speaking(safe, thief, tls=bare):
            raise AssertionError("let in")


async def test_who_shows_a_certificate_and_no_claims_is_not_let_in(safe: SafeNats, thief: Identity) -> None:
    with pytest.raises(nats.errors.Error, match="Authorization Violation"):
        await nats.connect(safe.url, tls=thief.tls(), allow_reconnect=False)


async def test_claims_that_another_account_has_signed_do_not_count(
    safe: SafeNats, thief: Identity, tmp_path: Path
) -> None:
    """Somebody founds a bus of their own, and signs whatever they like."""
    own = SafeNats()
    try:
        forged = own.agent(tmp_path / "forged", "a1", [OWN, FOREIGN])
        with pytest.raises((nats.errors.Error, OSError)):
            async with speaking(safe, forged):
                raise AssertionError("let in")
        with pytest.raises(nats.errors.Error, match="Authorization Violation"):
            async with speaking(safe, forged, tls=thief.tls()):
                raise AssertionError("let in")
    finally:
        own.close()


async def test_the_issuer_of_clients_cannot_vouch_for_a_server(safe: SafeNats, tmp_path: Path) -> None:
    """Whoever breaks into a controller can be any agent, and still not the bus."""
    folder = safe.founded.controller
    signer = certificates.Signer.read((folder / "issuer.pem").read_text(), (folder / "issuer.key").read_text())
    certificate, key = certificates.server(signer, ["127.0.0.1"], 1)
    (tmp_path / "cert.pem").write_text(certificate + (folder / "issuer.pem").read_text())
    (tmp_path / "key.pem").write_text(key)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        await asyncio.open_connection("127.0.0.1", port, ssl=safe.controller.tls())
    server.close()


PLACES = [
    OF.report(FOREIGN),
    OF.order(FOREIGN),
    OF.agent_request("take-custody", "a2"),
    OF.wakeup,
    f"{inbox('a2')}.x",
    "_INBOX.x",
    f"$JS.API.STREAM.DELETE.{OF.reports_stream}",
    f"$JS.API.STREAM.PURGE.{OF.reports_stream}",
    f"$JS.API.CONSUMER.DELETE.{OF.reports_stream}.controllers",
    f"{OF.api}.CONSUMER.MSG.NEXT.{STREAM}.{OF.consumer(FOREIGN)}",
]
"""Where somebody might want an answer to be sent."""


@pytest.mark.parametrize("place", PLACES)
async def test_an_answer_does_what_its_asker_may_not(
    safe: SafeNats, stolen: Speaker, controller: Bus, place: str
) -> None:
    """The bus does not look at where an answer is wanted. In one account with the streams, an empty answer of the
    server to a pull, sent to where streams are deleted, deletes one."""
    asked: list[TakeCustody] = []

    async def handler(take: TakeCustody) -> TakeCustodyReply:
        asked.append(take)
        return await granted(take)

    service = await controller.take_custody.serve(handler)
    before = await controller.identity()
    async with speaking(safe, safe.controller) as ear, controller.reports() as reports:
        await _emptied(reports)
        heard = await ear.client.subscribe(place)
        await flushed(ear.client)
        say = stolen.client.publish
        await say(OF.agent_request("take-custody", "a1"), b"garbage", place)
        await say(OF.report(OWN), b"{}", place)
        await say(f"{OF.api}.CONSUMER.MSG.NEXT.{OWN_STREAM}.{OF.consumer(OWN)}", b'{"no_wait": true}', place)
        await say(f"{OF.api}.CONSUMER.INFO.{OWN_STREAM}.{OF.consumer(OWN)}", b"", place)
        await say(f"$JS.ACK.{OWN_STREAM}.{OF.consumer(OWN)}.1.1.1.1.0", b"+ACK", place)
        assert await stolen.refused() == []
        mine = await stolen.client.subscribe(f"{inbox('a1')}.mine")
        await say(OF.agent_request("take-custody", "a1"), b"garbage", f"{inbox('a1')}.mine")
        assert b"not a message" in (await mine.next_msg(5)).data
        await flushed(ear.client)
        assert heard.pending_msgs == 0
        assert asked == []
        assert await controller.identity() == before  # the streams are the same ones
        assert await _emptied(reports) == 1  # what it may say: one report, which is garbage
    await service.close()


async def _emptied(reports: Consumer[FromAgent]) -> int:
    """How many there were."""
    before = reports._invalid_messages.count
    found = await reports.fetch(timeout=0.5)
    for delivery in found:
        await delivery.ack()
    return len(found) + reports._invalid_messages.count - before


async def test_where_nobody_has_an_account_an_answer_goes_to_the_askers_own_inbox_or_nowhere(
    nats_server: Nats, cell: str
) -> None:
    of = Subjects(cell)
    async with Bus(nats_server.url, cell) as bus:
        await bus.connect(60)
        await bus.take_custody.serve(granted)
        client = await nats.connect(nats_server.url)
        places = [of.report(FOREIGN), of.wakeup, f"{inbox('a2')}.x", f"{inbox('a1')}x.y", "_INBOX.x"]
        heard = [await client.subscribe(place) for place in places]
        mine = await client.subscribe(f"{inbox('a1')}.mine")
        for place in [*places, f"{inbox('a1')}.mine"]:
            await client.publish(of.agent_request("take-custody", "a1"), b"garbage", place)
        assert b"not a message" in (await mine.next_msg(5)).data
        assert [one.pending_msgs for one in heard] == [0] * len(places)
        assert bus.invalid_messages.count == len(places) + 1
        await client.close()


async def test_a_controller_may_say_who_is_revoked_and_nothing_else_to_the_system(safe: SafeNats) -> None:
    async with speaking(safe, safe.controller, **safe.controller.options("system.creds")) as speaker:
        for subject in ("$SYS.REQ.SERVER.PING", "$SYS.REQ.CLAIMS.DELETE", "anything"):
            await speaker.client.publish(subject, b"")
            assert len(await speaker.refused()) == 1


def test_behind_a_leaf_node_it_may_answer_anywhere_and_nothing_else() -> None:
    plain, leaf = agent_permissions(CELL, "a1", [FOREIGN]), agent_permissions(CELL, "a1", [FOREIGN], leaf=True)
    assert set(leaf.publish) - set(plain.publish) == {"_R_.>"}
    assert leaf.listen == plain.listen


@pytest.mark.parametrize(
    ("leaves", "lanes", "anywhere"),
    [(True, [FOREIGN], True), (False, [FOREIGN], False), (True, [OWN], False), (True, [OWN, FOREIGN], False)],
)
def test_only_agents_of_sites_are_let_behind_leaf_nodes(
    safe: SafeNats, leaves: bool, lanes: list[str], anywhere: bool
) -> None:
    store: Any = SimpleNamespace(clock=time.time)  # nothing is written
    candidate = Candidate("a1")
    issued = AgentIdentities(store, safe.controller, leaves=leaves)._issue(
        "a1", lanes, candidate.user_key, candidate.request
    )
    assert ("_R_.>" in decode(issued.jwt)["nats"]["pub"]["allow"]) == anywhere
