"""A secret shows nothing of itself, and notices when it was changed where it is kept."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest

from stead.secrets import NO_SECRET, Secret, UnreadableSecret

VALUE = "hunter2-hunter2"


class Kept:
    """Where a secret is kept, and a clock."""

    def __init__(self) -> None:
        self.value: str | None = VALUE
        self.reads = 0
        self.now = 100.0

    def __call__(self) -> str:
        self.reads += 1
        if self.value is None:
            raise UnreadableSecret("it is away")
        return self.value


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def secret(kept: Kept) -> Secret:
    return Secret(kept, again=5, clock=lambda: kept.now)


def test_no_text_of_it_has_anything_in_it(secret: Secret) -> None:
    assert secret.reveal() == VALUE
    for text in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>40}",
        f"{secret!r}",
        "{}".format(secret),  # noqa: UP032
        f"{[secret]}",
    ):
        assert VALUE not in text
        assert "***" in text


def test_it_cannot_be_written_anywhere(secret: Secret) -> None:
    secret.reveal()
    for write in (pickle.dumps, json.dumps, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError) as raised:
            write(secret)
        assert VALUE not in str(raised.value)
    assert not hasattr(secret, "__dict__")


def test_a_copy_is_the_same(secret: Secret) -> None:
    assert copy.deepcopy({"a": secret})["a"] is copy.copy(secret) is secret


def test_it_is_read_once(secret: Secret, kept: Kept) -> None:
    assert [secret.reveal() for _ in range(3)] == [VALUE] * 3
    assert kept.reads == 1


def test_a_doubted_one_is_read_anew_but_not_all_the_time(secret: Secret, kept: Kept) -> None:
    used = secret.reveal()
    kept.value = "another"
    assert not secret.doubt(used)
    assert kept.reads == 1
    kept.now += 6
    assert secret.doubt(used)
    assert secret.reveal() == "another"
    assert kept.reads == 2


def test_who_used_an_old_one_is_told_so_at_once(secret: Secret, kept: Kept) -> None:
    used = secret.reveal()
    kept.value = "another"
    kept.now += 6
    assert secret.doubt(used)
    assert secret.doubt(used)
    assert kept.reads == 2


def test_one_that_cannot_be_read_anew_stays(secret: Secret, kept: Kept) -> None:
    used = secret.reveal()
    kept.value = None
    kept.now += 6
    assert not secret.doubt(used)
    assert not secret.doubt(used)
    assert kept.reads == 2
    assert secret.reveal() == VALUE


def test_nothing_is_nothing(secret: Secret) -> None:
    assert secret
    assert not NO_SECRET
    assert not NO_SECRET.doubt("")
    with pytest.raises(UnreadableSecret):
        NO_SECRET.reveal()
