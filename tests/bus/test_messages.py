from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.bus import BadMessage, UnknownVersion
from stead.bus.codec import FROM_AGENT, ORDER, PRESENCE, MessageFormat, encode
from stead.bus.messages import (
    Fault,
    FullState,
    Hello,
    IdentityReply,
    InventoryReply,
    InventoryRequest,
    KnownSite,
    LogsReply,
    LogsRequest,
    Message,
    MissingOffer,
    OffersReply,
    OffersRequest,
    OpenLane,
    OpenLaneReply,
    OrderMember,
    ProbeReply,
    ProbeRequest,
    RenewCustodyReply,
    RenewIdentity,
    Report,
    ReportResult,
    SiteReply,
    SiteRequest,
    StateLine,
    StateSyncReply,
    StateSyncRequest,
    Superseded,
    TakeCustodyReply,
    Wakeup,
    WantedOffer,
)
from stead.lifecycle.snapshot import Fence
from tests.bus.samples import order, presence, renew, report, take

FENCE = Fence(1, 7)
ALL: list[Message] = [
    order(),
    take(),
    TakeCustodyReply(True, "", 12.5, {"/a": FENCE}),
    TakeCustodyReply(False, "taken by another"),
    renew(),
    RenewCustodyReply(True, 12.5, ["/b"]),
    report(),
    Report(
        "agent-1",
        2,
        5,
        "edge.site-17",
        [
            ReportResult("/a", FENCE, "observed", "running", 3, {"ip": "10.0.0.7"}),
            ReportResult("/b", FENCE, "failed", error="quota \u2620", permanent=True),
        ],
    ),
    FullState("agent-1", 2, "edge.site-17", [StateLine(FENCE, "running", "/a", working=True)], False),
    FullState("agent-1", 2, "edge.site-17", [StateLine(FENCE, "gone", token="t-9", revision=4)], True),
    Hello("agent-1", 2, ["edge.site-17"], "0.2.0"),
    OpenLane("aws.us-east-1", "a1"),
    OpenLaneReply(),
    InventoryRequest("aws.us-east-1", "/shop"),
    InventoryReply([OrderMember("/a", FENCE, "t-1")], "/a", 1_900_000_000.5),
    ProbeRequest("aws.us-east-1", [OrderMember("/a", FENCE, "t-1", {}, {"id": "i-1"})]),
    ProbeReply([StateLine(FENCE, "Running", "/a", facts={"id": "i-1"})], agent="a1", epoch=3),
    ProbeReply([], "the provider cannot be reached"),
    LogsRequest("edge.lab.berlin", OrderMember("/lab/berlin/one/web", FENCE, "t", kind="appinst"), 50, "7:120"),
    LogsReply(["one", "two"], "7:128"),
    LogsReply(error="the machine does not answer"),
    SiteRequest(agent="crm", lanes=["edge.lab.s1"]),
    SiteReply(last_epoch=7, presence_interval=10.0, sites=[KnownSite("edge.lab.s1", "/lab/s1", "Ready")]),
    OffersRequest("aws.us-east-1", [WantedOffer("image", "debian-12")]),
    OffersReply(["vm"], [MissingOffer(WantedOffer("image", "debian-12"), ["debian-11"])]),
    Wakeup(["0b5f1d1c-2f51-4d7e-9d5e-3f8b5f8a6c01"], ["/ns/m"], [("/ns/m", Fence(1, 2))], ["/ns/n"]),
    RenewIdentity("agent-1", "a request"),
    IdentityReply(True, "", "claims", "a certificate"),
    StateSyncRequest("aws.us-east-1"),
    StateSyncReply(),
    presence(),
    TakeCustodyReply(False, "a newer run of the agent has taken its place", superseded=True),
    Superseded(epoch=7, newer_epoch=9, now=1_900_000_000.5),
    Fault("the database is away"),
]


def decode(message: Message, data: bytes) -> Message:
    return MessageFormat(type(message)).decode(data)


def changed(message: Message, **changes: Any) -> bytes:
    fields: dict[str, Any] = json.loads(encode(message))
    return json.dumps(fields | changes).encode()


def with_unknown_fields(value: Any) -> Any:
    """The same message as a newer sender might write it: with something more in every object."""
    if isinstance(value, dict):
        return {"from_the_future": [1, {"x": None}], **{key: with_unknown_fields(one) for key, one in value.items()}}
    return [with_unknown_fields(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("message", ALL, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    back = decode(message, encode(message))
    assert back == message
    assert type(back) is type(message)


def test_every_kind_of_message_is_tried() -> None:
    assert {type(message) for message in ALL} == set(Message.__subclasses__())


def test_fences_come_back_as_fences() -> None:
    back = ORDER.decode(encode(order()))
    assert back.members[0].fence.raised() == Fence(0, 2)


@pytest.mark.parametrize("message", [one for one in ALL if not isinstance(one, TakeCustodyReply)])
def test_what_a_newer_sender_adds_is_ignored(message: Message) -> None:
    fields = json.loads(encode(message))
    # Maps by path or by name are data, in which every key counts.
    newer = {
        key: value if key in ("fences", "throttled", "rejected") else with_unknown_fields(value)
        for key, value in fields.items()
    }
    newer |= {"v": [1, 9], "from_the_future": 1}
    back = json.loads(encode(decode(message, json.dumps(newer).encode())))
    for member in [*back.get("members", []), *back.get("results", []), *back.get("objects", []), back.get("member")]:
        if isinstance(member, dict):
            for values in ("spec", "facts"):
                member.get(values, {}).pop("from_the_future", None)
    assert back == fields | {"v": [1, 9]}


def test_what_an_older_sender_leaves_out_has_its_default() -> None:
    older = {"t": "report", "v": [1, 0], "agent": "a", "epoch": 1, "order": 2, "lane": "l"}
    older["results"] = [{"path": "/a", "fence": [0, 1], "kind": "succeeded"}]
    (result,) = MessageFormat(Report).decode(json.dumps(older).encode()).results
    assert result == ReportResult("/a", Fence(0, 1), "succeeded", "", None, {}, "", False)


@pytest.mark.parametrize("message", ALL, ids=lambda message: type(message).__name__)
def test_another_major_version_is_not_guessed_at(message: Message) -> None:
    with pytest.raises(UnknownVersion, match=r"2\.0"):
        decode(message, changed(message, v=[2, 0]))


def test_another_major_version_is_known_even_where_nothing_else_is() -> None:
    with pytest.raises(UnknownVersion):
        ORDER.decode(b'{"t": "bulk-order", "v": [3, 1], "everything": "different"}')


BAD: list[dict[str, Any]] = [
    {"v": None},
    {"v": 1},
    {"v": [1]},
    {"t": None},
    {"t": "report"},
    {"id": "7"},
    {"id": -1},
    {"id": 2**63},
    {"lane": ""},
    {"members": [{"path": "/a", "fence": [0, 2**63]}]},
    {"members": [{"path": "/a", "fence": [0, -1]}]},
    {"members": [{"path": "/a", "fence": [0, 1, 2]}]},
    {"members": [{"path": "", "fence": [0, 1]}]},
    {"members": None},
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_a_field_that_cannot_be_is_a_typed_error(changes: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        ORDER.decode(changed(order(), **changes))


@pytest.mark.parametrize("field", ["v", "t", "id", "members"])
def test_a_field_that_is_missing_is_a_typed_error(field: str) -> None:
    fields = json.loads(encode(order()))
    del fields[field]
    with pytest.raises(BadMessage):
        ORDER.decode(json.dumps(fields).encode())


@pytest.mark.parametrize("kind", ["request", "timed_out", "connected", ""])
def test_an_agent_reports_only_what_an_agent_can_say(kind: str) -> None:
    line = {"path": "/a", "fence": [0, 1], "kind": kind}
    with pytest.raises(BadMessage):
        FROM_AGENT.decode(changed(report(), results=[line]))


def test_a_line_of_a_full_state_says_which_object_it_means() -> None:
    with pytest.raises(BadMessage, match="neither path nor token"):
        FROM_AGENT.decode(changed(ALL[8], objects=[{"fence": [0, 1], "observed": "running"}]))


@pytest.mark.parametrize("changes", [{"expansions": ["op"]}, {"steps": [["/a", [0, 2**63]]]}], ids=str)
def test_a_poke_names_operations_and_fences_that_can_be(changes: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        MessageFormat(Wakeup).decode(changed(Wakeup(), **changes))


@pytest.mark.parametrize("deep", [b"[", b'{"a":'])
def test_endless_nesting_is_a_typed_error(deep: bytes) -> None:
    start = encode(order()).replace(b'"spec":{', b'"spec":{"deep":' + deep * 100_000)
    with pytest.raises(BadMessage):
        ORDER.decode(start)


@pytest.mark.parametrize(
    ("sent", "read"),
    [("a\0b\0", "a\ufffdb\ufffd"), ("\\u0000", "\\u0000"), ("\\\\\0", "\\\\\ufffd"), ("\\\0", "\\\ufffd")],
)
def test_what_the_database_cannot_store_does_not_get_that_far(sent: str, read: str) -> None:
    message = Report("a", 1, 1, "l", [ReportResult("/a", FENCE, "failed", error=sent, facts={sent: sent})])
    (result,) = MessageFormat(Report).decode(encode(message)).results
    assert (result.error, result.facts) == (read, {read: read})


@pytest.mark.parametrize("value", ["\ud800", object()], ids=["surrogate", "object"])
def test_what_cannot_be_written_is_a_typed_error(value: object) -> None:
    with pytest.raises(BadMessage, match="cannot send this Order"):
        encode(order(members=[OrderMember("/a", FENCE, spec={"x": value})]))


FORMS: list[MessageFormat[Any]] = [
    ORDER,
    FROM_AGENT,
    PRESENCE,
    *(MessageFormat(kind) for kind in Message.__subclasses__()),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def typed_only(data: bytes) -> None:
    for form in FORMS:
        with suppress(BadMessage):
            assert isinstance(form.decode(data), Message)


@given(st.binary())
def test_garbage_is_a_typed_error(data: bytes) -> None:
    typed_only(data)


@given(st.sampled_from(ALL), st.data())
def test_a_message_with_one_field_of_garbage_is_read_or_a_typed_error(message: Message, data: st.DataObject) -> None:
    fields = json.loads(encode(message))
    fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(JSON)
    typed_only(json.dumps(fields).encode())


@given(st.sampled_from(ALL), st.data())
def test_a_message_with_damaged_bytes_is_read_or_a_typed_error(message: Message, data: st.DataObject) -> None:
    damaged = bytearray(encode(message))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    typed_only(bytes(damaged))
