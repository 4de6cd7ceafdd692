"""What people write into files and after options may be anything: a sentence tells them, and never a traceback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from stead.cli import credentials, lease_options, policy, serve, spec_options
from stead.cli.output import Code
from stead.pki.identity import Identity, NoIdentity
from stead.secrets.sources import UnreadableSecret, named

BAD = {
    "not YAML": b"a: [",
    "not a day": b"a: 2001-99-99",
    "digits": b"a: 1" + b"0" * 5000,
    "deep": b"[" * 1200,
    "not text": b"a: \xff",
    "no mapping": b"[1]",
    "tag": b"!!python/object:os.system {}",
    "key": b"{[1]: 2, {a: b}: 3}",
}


@pytest.mark.parametrize("said", BAD.values(), ids=list(BAD))
@pytest.mark.parametrize(
    "read",
    [spec_options.read_spec, lambda file: serve._from_file(Path(file)), lambda file: policy._read(Path(file))],
    ids=["spec", "agent", "cases"],
)
def test_a_file_that_makes_no_sense_is_a_wrong_use(tmp_path: Path, read: Callable[[str], Any], said: bytes) -> None:
    file = tmp_path / "said.yaml"
    file.write_bytes(said)
    with pytest.raises(typer.Exit) as ended:
        read(str(file))
    assert ended.value.exit_code == Code.USAGE


@pytest.mark.parametrize("said", ["a={", "a=2001-99-99", "a=\x07", "a=" + "[" * 1200, "a=1" + "0" * 5000])
def test_a_field_that_makes_no_sense_is_a_wrong_use(said: str) -> None:
    with pytest.raises(typer.Exit) as ended:
        spec_options.set_fields([said])
    assert ended.value.exit_code == Code.USAGE


def test_policies_of_a_file_of_cases_are_a_list(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text("policies:\ncases: [{who: 'user:eve'}]\n")
    with pytest.raises(typer.Exit):
        policy._read(file)


@pytest.mark.parametrize("said", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_time_that_no_calendar_has_in_utc_is_none(said: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no time"):
        lease_options.time_of(said, "--from", datetime(2030, 1, 1, tzinfo=UTC))


def test_a_property_that_only_looks_like_a_day_is_a_text() -> None:
    assert lease_options.properties(["at=2001-99-99"]) == {"at": "2001-99-99"}


@pytest.mark.parametrize("login", [None, [], "t", {}, {"token": 7}, {"token": "t", "until": "x"}])
def test_a_kept_login_that_is_none_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: object
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(credentials.TOKEN, raising=False)
    (tmp_path / "stead").mkdir()
    file = tmp_path / "stead" / "logins.json"
    file.write_text(json.dumps({"http://a": login, "http://b": {"token": "good", "until": time.time() + 600}}))
    assert credentials.token_for("http://a/") is None
    assert credentials.token_for("http://b/") == "good"


def test_an_identity_that_is_not_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(NoIdentity, match="is not text"):
        Identity(tmp_path)


def test_a_secret_in_a_file_that_can_have_no_such_name_is_unreadable() -> None:
    with pytest.raises(UnreadableSecret, match="no file of such a name"):
        named("file:\0/a")
