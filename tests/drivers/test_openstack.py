"""OpenStack: what can be told without a cloud. Its promises are checked on a whole one, by `make test-heavy`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stead.drivers import registry
from stead.drivers.base import PROBE, TRANSITIONAL, VM, Member, PermanentError, RetryableError, ThrottledError
from stead.drivers.openstack import groups, rules
from stead.drivers.openstack.errors import (
    REQUEST_ID_HEADER,
    DeadlineError,
    NoAnswerError,
    NotSentError,
    RejectedError,
    error_of,
    translate,
    words,
)
from stead.drivers.openstack.keys import key_name, token_of
from stead.drivers.openstack.wire import Link, Server, mark, marked, next_page, tag_of
from stead.lifecycle.rows import ABSENT, BROKEN

USER = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "env:HOME", "project_name": "p"}
APPLICATION = {"application_credential_id": "i", "application_credential_secret": "env:HOME"}


class TestSettings:
    """What is wrong is said in a sentence, before anything is sent."""

    @pytest.mark.parametrize(
        ("config", "says"),
        [
            ({}, "it needs a cloud, which is a name in clouds.yaml, or an auth_url"),
            ({"auth_url": "http://127.0.0.1:9/v3"}, "it lacks username and password and project_name"),
            ({**USER, "password": ""}, "it lacks password"),
            ({**USER, **APPLICATION}, "a user with a password or an application credential, and not both"),
            (
                {"auth_url": "http://127.0.0.1:9/v3", "application_credential_id": "i"},
                "application_credential_secret",
            ),
            ({**USER, "cloud": "lab"}, "it has a cloud, which says all that auth_url and username"),
            ({**USER, "interface": "private"}, "interface is public, internal or admin, not private"),
            ({**USER, "timeout": 0}, "timeout"),
            ({**USER, "owner": "a b"}, "owner"),
            ({**USER, "colour": "red"}, "colour"),
            ({**USER, "region": None}, "region"),
        ],
    )
    def test_what_cannot_work_is_refused(self, config: dict[str, Any], says: str) -> None:
        with pytest.raises(ValueError, match="the configuration of OpenStack is wrong") as raised:
            registry.make("openstack", {"region": "blue", **config})
        assert says in str(raised.value)

    @pytest.mark.parametrize(
        "config",
        [USER, {"auth_url": USER["auth_url"], **APPLICATION}, {**USER, "verify": "no", "interface": "internal"}],
    )
    async def test_nothing_is_sent_before_it_is_needed(self, config: dict[str, Any]) -> None:
        driver = registry.make("openstack", {"region": "blue", "provider": "lab", "timeout": "3", **config})
        assert driver.kinds == {"vm", "network", "securitygroup", "sshkey"}
        assert driver.longest_call == 3
        await driver.close()
        await driver.close()

    async def test_limits_are_those_of_the_kind(self) -> None:
        driver = registry.make("openstack", {"region": "blue", **USER})
        assert driver.batch_limit("reboot") == driver.batch_limit("delete", "network") == 1
        assert driver.batch_limit(PROBE) == driver.batch_limit(PROBE, "sshkey") == 100
        for verb, kind in (("delete", VM), ("reboot", "network"), ("create", "cat")):
            with pytest.raises(ValueError, match=f"OpenStack does not know {verb} of a {kind}"):
                driver.batch_limit(verb, kind)
        await driver.close()

    async def test_where_nobody_listens_is_an_error_and_no_absence(self) -> None:
        driver = registry.make("openstack", {"region": "blue", **USER, "timeout": 5})
        with pytest.raises(RetryableError, match="cannot be reached") as raised:
            await driver.describe([Member(path="/a", token="t")])
        assert not raised.value.unknown
        await driver.close()


@pytest.mark.parametrize(
    ("status", "task", "word"),
    [
        ("ACTIVE", None, "Running"),
        ("ACTIVE", "powering-off", TRANSITIONAL),
        ("VERIFY_RESIZE", None, "Running"),
        ("SHUTOFF", None, "Suspended"),
        ("SHUTOFF", "powering-on", TRANSITIONAL),
        ("SUSPENDED", None, "Suspended"),
        ("PAUSED", None, "Suspended"),
        ("SHELVED", None, "Suspended"),
        ("SHELVED_OFFLOADED", None, "Suspended"),
        ("BUILD", "spawning", TRANSITIONAL),
        ("BUILD", None, TRANSITIONAL),
        ("REBOOT", "rebooting", TRANSITIONAL),
        ("UNKNOWN", None, TRANSITIONAL),
        ("ERROR", None, BROKEN),
        ("ERROR", "deleting", TRANSITIONAL),
        ("SOMETHING_NEW", None, BROKEN),
        ("DELETED", None, ABSENT),
        ("SOFT_DELETED", None, ABSENT),
    ],
)
def test_the_word_for_a_state(status: str, task: str | None, word: str) -> None:
    content = msgspec.json.encode({"id": "i", "status": status, "OS-EXT-STS:task_state": task})
    assert msgspec.json.decode(content, type=Server).word == word


def test_what_nova_cannot_see_is_no_absence() -> None:
    content = b'{"id": "i", "status": "UNKNOWN", "tenant_id": "p", "created": "2026-01-01T00:00:00Z", "links": []}'
    assert msgspec.json.decode(content, type=Server).word == TRANSITIONAL


@pytest.mark.parametrize(
    ("verb", "status", "task", "said"),
    [
        ("suspend", "ACTIVE", None, None),
        ("suspend", "ACTIVE", "powering-off", (True, "Suspended")),
        ("suspend", "PAUSED", None, (True, "")),
        ("suspend", "BUILD", "spawning", (False, False)),
        ("suspend", "ERROR", None, (False, True)),
        ("resume", "PAUSED", None, None),
        ("resume", "SHELVED_OFFLOADED", None, None),
        ("resume", "SHUTOFF", "powering-on", (True, "Running")),
        ("resume", "ACTIVE", None, (True, "")),
        ("resume", "ACTIVE", "deleting", (False, True)),
        ("reboot", "ACTIVE", None, None),
        ("reboot", "REBOOT", "rebooting", (False, False)),
        ("reboot", "SHUTOFF", None, (False, True)),
    ],
)
def test_what_a_verb_does_in_a_state(
    verb: str, status: str, task: str | None, said: tuple[bool, str | bool] | None
) -> None:
    server = Server(id="i", status=status, task=task)
    result = rules.settled(rules.VERBS[verb], Member(path="/a", token="t"), server)
    if said is None:
        assert result is None
        assert status in rules.VERBS[verb].actions
    else:
        assert result is not None
        assert (result.ok, result.pending if result.ok else result.permanent) == said


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"protocol": "tcp", "ports": "http"}, "a rule's ports are such as 22 or 8000-8080"),
        ({"protocol": "all", "ports": "22"}, "of tcp or udp; not 22 of all"),
        ({"from": "10.0.0.1/80"}, "a rule's from is wrong"),
        ({"to": "10.0.0.0/8"}, "a rule has a protocol, ports and from, but no to"),
        ("22", "the spec's rules are a list"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rule: Any, says: str) -> None:
    with pytest.raises(PermanentError) as raised:
        groups.rules_of(Member(path="/a", token="t", spec={"rules": [rule]}))
    assert says in raised.value.message


def test_without_rules_one_can_log_in_and_members_reach_each_other() -> None:
    first, second = groups.rules_of(Member(path="/a", token="t"))
    assert first == {
        "ethertype": "IPv4",
        "protocol": "tcp",
        "port_range_min": 22,
        "port_range_max": 22,
        "remote_ip_prefix": "0.0.0.0/0",
    }
    assert second == {"ethertype": "IPv4", "remote_group_id": groups.MEMBERS}
    assert groups.rules_of(Member(path="/a", token="t", spec={"rules": []})) == []


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ({"ports": "443"}, {"protocol": "tcp", "port_range_min": 443, "port_range_max": 443}),
        ({"protocol": "udp", "ports": "all"}, {"protocol": "udp"}),
        ({"protocol": "all"}, {}),
        ({}, {"protocol": "tcp"}),
    ],
)
def test_a_rule_means_what_infrastructure_files_mean_by_it(rule: dict[str, str], asked: dict[str, Any]) -> None:
    (said,) = groups.rules_of(Member(path="/a", token="t", spec={"rules": [rule]}))
    assert said == {"ethertype": "IPv4", "remote_ip_prefix": "0.0.0.0/0", **asked}


@pytest.mark.parametrize("token", ["4f2c", "a b/ü", "x-4f", "-", "stead"])
def test_a_token_is_read_back_from_what_carries_it(token: str) -> None:
    assert token_of("stead", key_name("stead", token)) == token
    assert token_of("other", key_name("stead", token)) == ""
    member = Member(path="/ns/ä b/c", token=token)
    assert marked(mark("stead", member)) == ("stead", token, "/ns/ä b/c")
    long = Member(path="/ns/" + "a" * 300, token=token)
    assert marked(mark("stead", long)) == ("stead", token, "")


def test_what_is_not_ours_is_not_taken_for_it() -> None:
    assert marked("stead is what this network is for") == ("", "", "")
    assert marked("") == ("", "", "")
    assert token_of("stead", "my-key") == token_of("stead", "not-stead-stead-4f") == ""
    assert len({tag_of("a", "t"), tag_of("b", "t"), tag_of("a", "u")}) == 3


def test_the_next_page_is_asked_for_as_its_link_says() -> None:
    links = [Link("self", "http://c/servers"), Link("next", "http://c/servers/detail?limit=3&marker=ab&tags=a%2Cb")]
    assert next_page(links) == {"limit": "3", "marker": "ab", "tags": "a,b"}
    assert next_page(links[:1]) == {}


class TestErrors:
    """What answers mean that are no success."""

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b'{"forbidden": {"code": 403, "message": "Quota exceeded"}}', "Quota exceeded"),
            (b'{"NeutronError": {"type": "InUse", "message": "in use", "detail": ""}}', "in use"),
            (b'{"message": "Image exists!<br /><br />\\n\\n", "code": "409 Conflict"}', "Image exists!"),
            (b"<html>", ""),
            (b"[]", ""),
            (b'{"a": 1}', ""),
        ],
    )
    def test_the_words_are_the_services_own(self, body: bytes, said: str) -> None:
        assert words(body) == said

    @pytest.mark.parametrize(
        ("status", "headers", "kind", "unknown"),
        [
            (429, {"retry-after": "2.5"}, ThrottledError, False),
            (413, {}, ThrottledError, False),
            (401, {REQUEST_ID_HEADER: "r"}, RetryableError, False),
            (403, {REQUEST_ID_HEADER: "r"}, RejectedError, None),
            (404, {REQUEST_ID_HEADER: "r"}, RejectedError, None),
            (404, {}, RetryableError, True),
            (409, {REQUEST_ID_HEADER: "r"}, RejectedError, None),
            (300, {REQUEST_ID_HEADER: "r"}, RetryableError, True),
            (500, {REQUEST_ID_HEADER: "r"}, RetryableError, True),
            (503, {}, RetryableError, True),
        ],
    )
    def test_an_answer_says_whether_it_was_done(
        self, status: int, headers: dict[str, str], kind: type[Exception], unknown: bool | None
    ) -> None:
        error = error_of(status, headers, b"", "POST /servers", acted=True)
        assert type(error) is kind
        assert getattr(error, "unknown", None) is unknown

    @pytest.mark.parametrize("error", [DeadlineError(), NotSentError(), NoAnswerError(), RuntimeError()])
    def test_where_nothing_acted_nothing_was_done(self, error: Exception) -> None:
        for acted in (False, True):
            said = translate(error, acted=acted)
            assert isinstance(said, RetryableError)
            assert said.unknown is acted
