"""Where secrets are read from, and what is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stead.secrets import UnreadableSecret, named, sources
from stead.secrets.sealing import SealingKeys, make_key


def python(code: str) -> str:
    return f"command:{sys.executable} -c '{code}'"


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    read = named("env:STEAD_TEST_SECRET")
    with pytest.raises(UnreadableSecret, match="has no STEAD_TEST_SECRET"):
        read()
    monkeypatch.setenv("STEAD_TEST_SECRET", "one")
    assert read() == "one"
    monkeypatch.setenv("STEAD_TEST_SECRET", "")
    with pytest.raises(UnreadableSecret, match="is empty"):
        read()


@pytest.mark.parametrize("scheme", ["env", "file"])
@pytest.mark.parametrize("name", ["\ud800A", "a\0b"])
def test_what_nothing_can_be_named_is_refused(scheme: str, name: str) -> None:
    with pytest.raises(UnreadableSecret, match="of such a name"):
        named(f"{scheme}:{name}")()


def test_a_file_without_the_end_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(" one \n")
    file.chmod(0o640)
    assert named(f"file:{file}")() == " one "
    with pytest.raises(UnreadableSecret, match=r"cannot read .*none: No such file"):
        named(f"file:{tmp_path / 'none'}")()


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "secret"
    file.write_text("hunter2")
    file.chmod(mode)
    with pytest.raises(UnreadableSecret, match="chmod o-rw") as raised:
        named(f"file:{file}")()
    assert "hunter2" not in str(raised.value)


def test_a_file_that_is_too_long_or_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"x" * (sources.MAX_FILE_BYTES + 1))
    file.chmod(0o600)
    with pytest.raises(UnreadableSecret, match="longer than"):
        named(f"file:{file}")()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableSecret, match="is not text"):
        named(f"file:{file}")()


def test_a_command_is_run_without_a_shell() -> None:
    assert named(python('print("one;$HOME")'))() == "one;$HOME"


def test_what_a_failing_command_has_found_is_not_told() -> None:
    with pytest.raises(UnreadableSecret, match=r"ended with 3: bad luck$"):
        named(python('import sys; print("bad luck\\nsecond line", file=sys.stderr); sys.exit(3)'))()
    with pytest.raises(UnreadableSecret, match=r"ended with 3$"):
        named(python('import sys; print("hunter2"); print("not hunter2!", file=sys.stderr); sys.exit(3)'))()
    with pytest.raises(UnreadableSecret, match="cannot be run: No such file"):
        named("command:/nowhere/vault read")()


def test_a_command_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "TIMEOUT", 0.2)
    with pytest.raises(UnreadableSecret, match=r"said nothing in 0\.2 s"):
        named("command:sleep 30")()


def test_what_is_sealed_is_opened_by_its_key_alone(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    make_key(tmp_path / "other")
    sealed = SealingKeys.read(tmp_path / "key").seal("hunter2")
    assert "hunter2" not in sealed
    assert named(sealed, str(tmp_path / "key"))() == "hunter2"
    with pytest.raises(UnreadableSecret, match="another key"):
        named(sealed, str(tmp_path / "other"))()
    with pytest.raises(UnreadableSecret, match="not whole"):
        named(sealed[:-3] + "AAA", str(tmp_path / "key"))()
    with pytest.raises(UnreadableSecret, match="give --secrets-key"):
        named(sealed)
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(UnreadableSecret, match="chmod"):
        named(sealed, str(tmp_path / "key"))()


def test_a_key_is_changed_by_putting_a_new_one_on_top(tmp_path: Path) -> None:
    make_key(tmp_path / "old")
    sealed = SealingKeys.read(tmp_path / "old").seal("one")
    make_key(tmp_path / "key")
    with (tmp_path / "key").open("a") as file:
        file.write("# the old one\n" + (tmp_path / "old").read_text())
    assert named(sealed, str(tmp_path / "key"))() == "one"
    anew = SealingKeys.read(tmp_path / "key").seal("one")
    with pytest.raises(UnreadableSecret):
        named(anew, str(tmp_path / "old"))()


def test_a_new_key_is_private_and_never_put_over_another(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        make_key(tmp_path / "key")


@pytest.mark.parametrize("said", ["hunter2", "hunter2:x", "http://hunter2", "ENV:X", "password hunter2"])
def test_a_secret_in_clear_is_refused_and_not_repeated(said: str) -> None:
    with pytest.raises(UnreadableSecret, match="give it as env:NAME, file:PATH, command:WORDS or sealed:") as raised:
        named(said)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "said", ["env:", "file:", "command:", "sealed:", "command:'", "command: ", "file:/\ud800", "file:a\0b"]
)
def test_a_reference_to_nothing_is_refused(said: str) -> None:
    with pytest.raises(UnreadableSecret):
        named(said, "key")
