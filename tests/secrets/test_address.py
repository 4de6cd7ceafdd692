"""Addresses of databases without their passwords."""

from __future__ import annotations

import os

import pytest

from stead.secrets.address import parted, without_password
from stead.secrets.scrubbing import KNOWN


@pytest.mark.parametrize(
    ("dsn", "clean", "password"),
    [
        ("postgresql://u@h:5/db", "postgresql://u@h:5/db", ""),
        ("postgresql://u:p%40s@h:5/db", "postgresql://u@h:5/db", "p@s"),
        ("postgresql://u:p:q@h/db", "postgresql://u@h/db", "p:q"),
        ("postgresql://u:p@a:1,b:2/db?sslmode=require", "postgresql://u@a:1,b:2/db?sslmode=require", "p"),
        ("postgresql://h/db?password=p%26q&sslrootcert=/a/b", "postgresql://h/db?sslrootcert=/a/b", "p&q"),
        ("postgresql://h/db?user=u&password=p", "postgresql://h/db?user=u", "p"),
        ("postgresql://", "postgresql://", ""),
        ("postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg", ""),
    ],
)
def test_a_password_is_taken_out(dsn: str, clean: str, password: str) -> None:
    assert parted(dsn) == (clean, password)


def test_it_goes_on_by_the_environment_and_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "")
    assert without_password("postgresql://u:hunter2-address@h/db") == "postgresql://u@h/db"
    assert os.environ["PGPASSWORD"] == "hunter2-address"
    assert KNOWN.scrub("hunter2-address") == "***"
