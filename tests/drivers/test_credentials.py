"""Credentials of drivers: named and not said, noticed when they change, and in nothing that leaves a driver."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from stead.drivers import registry
from stead.drivers.base import VM, Driver, FoundObject, Member, ObservedObject, PermanentError, Result, RetryableError
from stead.drivers.ec2.driver import Config as Ec2
from stead.drivers.openstack.settings import Config as OpenStack
from stead.drivers.settings import secret
from stead.secrets import KNOWN
from stead.secrets import secret as secret_module
from stead.secrets.sealing import SealingKeys, make_key
from tests.drivers.ec2 import REGION, Ec2Cloud

STACK = {"region": "blue", "provider": "lab", "username": "u", "project_name": "p", "timeout": 5}


def private(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file


def key() -> str:
    """An access key, which is an account of its own here."""
    return f"AKIA{secrets.token_hex(8).upper()}"


async def calls(cloud: Ec2Cloud, account: str) -> list[str]:
    async with httpx.AsyncClient(base_url=cloud.url, trust_env=False, verify=False) as client:
        hand = (await client.post(f"/_hand/{account}", json={})).json()
    return [call["action"] for call in hand["calls"]]


async def refuse_once(cloud: Ec2Cloud, account: str, code: str, **fault: Any) -> None:
    faults = {"*": [{"do": "refuse", "status": 401, "code": code, "times": 1, **fault}]}
    async with httpx.AsyncClient(base_url=cloud.url, trust_env=False, verify=False) as client:
        (await client.post(f"/_hand/{account}", json={"faults": faults})).raise_for_status()


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is found but what a test says."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


def test_each_driver_says_which_of_its_settings_are_secret() -> None:
    assert secret(Ec2) == ["access_key_id", "secret_access_key", "session_token"]
    assert secret(OpenStack) == ["password", "application_credential_secret"]


@pytest.mark.parametrize(
    ("driver", "config"),
    [
        ("ec2", {"access_key_id": "env:HOME", "secret_access_key": "hunter2hunter2"}),
        ("openstack", {**STACK, "auth_url": "http://127.0.0.1:9/v3", "password": "hunter2hunter2"}),
        ("openstack", {**STACK, "auth_url": "http://127.0.0.1:9/v3", "password": 12345678}),
    ],
)
def test_one_in_clear_is_refused_and_not_repeated(driver: str, config: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="it is a secret") as raised:
        registry.make(driver, {"region": "r", **config})
    assert "hunter2" not in str(raised.value)
    assert "12345678" not in str(raised.value)


def test_one_that_is_not_there_is_told_at_once() -> None:
    config = {"region": "r", "access_key_id": "env:HOME", "secret_access_key": "env:NOWHERE_AT_ALL"}
    with pytest.raises(ValueError, match="secret_access_key: the environment has no NOWHERE_AT_ALL"):
        registry.make("ec2", config)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"access_key_id": "env:HOME"}, "given together"),
        ({"session_token": "env:HOME"}, "needs an access_key_id"),
        ({"access_key_id": "env:HOME", "secret_access_key": "env:HOME", "profile": "p"}, "not both"),
    ],
)
def test_half_an_access_key_is_refused(config: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        registry.make("ec2", {"region": "r", **config})


async def test_a_sealed_access_key_speaks_to_ec2(ec2_cloud: Ec2Cloud, tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    seal, account = SealingKeys.read(tmp_path / "key").seal, key()
    config = {"region": REGION, "endpoint_url": ec2_cloud.url, "timeout": 30, "secrets_key": str(tmp_path / "key")}
    config |= {"access_key_id": seal(account), "secret_access_key": seal("s" * 40), "session_token": seal("t" * 40)}
    driver = registry.make("ec2", config)
    assert await driver.inventory() == []
    await driver.close()
    assert "DescribeInstances" in await calls(ec2_cloud, account)


@pytest.mark.parametrize("code", ["AuthFailure", "ExpiredToken", "InvalidClientTokenId"])
async def test_an_access_key_that_was_changed_is_used_without_a_restart(
    ec2_cloud: Ec2Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(secret_module, "RELOAD_INTERVAL", 0.0)
    first, second = key(), key()
    config = {
        "region": REGION,
        "endpoint_url": ec2_cloud.url,
        "timeout": 30,
        "access_key_id": f"file:{private(tmp_path / 'id', first)}",
        "secret_access_key": f"file:{private(tmp_path / 'secret', 'one-secret')}",
    }
    driver = registry.make("ec2", config)
    member = Member(path="/a/b/c/d", token="token")
    await driver.describe([member])
    private(tmp_path / "id", second)
    private(tmp_path / "secret", "another-secret")
    await driver.describe([member])
    assert await calls(ec2_cloud, second) == []
    await refuse_once(ec2_cloud, first, code)
    with pytest.raises(RetryableError, match="the credentials have changed") as raised:
        await driver.describe([member])
    assert not raised.value.unknown
    await driver.describe([member])
    assert await calls(ec2_cloud, second) != []
    await driver.close()


async def test_an_access_key_that_is_wrong_and_stays_so_is_a_refusal(ec2_cloud: Ec2Cloud, tmp_path: Path) -> None:
    account = key()
    config = {
        "region": REGION,
        "endpoint_url": ec2_cloud.url,
        "timeout": 30,
        "access_key_id": f"file:{private(tmp_path / 'id', account)}",
        "secret_access_key": f"file:{private(tmp_path / 'secret', 'one-secret')}",
    }
    driver = registry.make("ec2", config)
    await refuse_once(ec2_cloud, account, "AuthFailure")
    with pytest.raises(PermanentError, match="AuthFailure"):
        await driver.describe([Member(path="/a/b/c/d", token="token")])
    await driver.close()


SECRET = "hunter2-of-a-driver"


class Chatty:
    """A driver of one's own that says everything it knows."""

    kinds = frozenset({VM})
    longest_call = 1.0

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        return 10

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        if verb == "create":
            raise PermanentError(f"no: Authorization: {SECRET}", detail=f"sent {SECRET}")
        if verb == "reboot":
            raise KeyError(f"oh {SECRET}") from ValueError(f"from {SECRET}")
        return [Result(path=m.path, ok=False, error=f"no {SECRET}", facts={"a": [{SECRET: SECRET}]}) for m in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        return [ObservedObject(path=m.path, state="Running", facts={"said": SECRET}) for m in members]

    async def inventory(self) -> list[FoundObject]:
        return [FoundObject(id=SECRET, token="t", state="Running")]

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        return [f"{name} {SECRET}"]

    async def close(self) -> None: ...


async def test_nothing_secret_leaves_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"chatty": lambda config: Chatty()})
    KNOWN.remember(SECRET)
    driver: Driver = registry.make("chatty", {})
    member = Member(path="/a", token="t")
    with pytest.raises(PermanentError) as refused:
        await driver.perform("create", [member], "o")
    assert (refused.value.message, refused.value.detail) == ("no: Authorization: ***", "sent ***")
    with pytest.raises(KeyError) as broken:
        await driver.perform("reboot", [member], "o")
    assert SECRET not in repr(broken.value) + repr(broken.value.__cause__)
    for answer in (
        await driver.perform("suspend", [member], "o"),
        await driver.describe([member]),
        await driver.inventory(),
        await driver.check_offer("spec", "x"),
    ):
        text = msgspec.json.encode(answer).decode()
        assert SECRET not in text
        assert "***" in text


async def test_what_ec2_repeats_of_what_boto_found_by_itself_is_taken_out(
    ec2_cloud: Ec2Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, found = key(), f"found-{secrets.token_hex(8)}"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", found)
    driver = registry.make("ec2", {"region": REGION, "endpoint_url": ec2_cloud.url, "timeout": 30})
    await refuse_once(ec2_cloud, account, "AuthFailure", message=f"you said {found}")
    with pytest.raises(PermanentError, match=r"AuthFailure: you said \*\*\*"):
        await driver.describe([Member(path="/a/b/c/d", token="token")])
    await driver.close()
