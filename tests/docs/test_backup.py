"""The page about backups is typed, with a bus and a server on the restored database where it says that they start."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stead.dev.engines import Postgres
from tests.backup.s3 import S3
from tests.docs.blocks import DOCS
from tests.docs.test_agents_safely import Starting

SERVER = "postgresql://stead@db.example"
"""What the page calls the database server."""
MADE = ("stead_new", "by_hand")
"""Databases that the page makes and leaves."""


class Restoring(Starting):
    """A terminal on a machine from which a database server can be reached, under the page's name for it."""

    def __init__(self, folder: Path, database: str) -> None:
        super().__init__(folder, database)
        self.server, _, self.name = database.rpartition("/")
        host, _, port = self.server.rpartition("@")[2].partition(":")
        self.env |= {"PGHOST": host, "PGPORT": port, "PGUSER": "postgres"}

    def step(self, command: str, output: Sequence[str]) -> list[str]:
        """The cell starts on the restored database before it is compared with what there is."""
        if command == "stead backup compare":
            super().step("nats-server --jetstream --port 4222 --store_dir bus &", ())
            place = f"--database {self.server}/stead_new --nats nats://127.0.0.1:4222 --port 7770"
            super().step(f"stead server --open {place} &", ())
        if "--copy-to" in command:
            (self.folder / "elsewhere").mkdir()
            command = command.replace("/mnt/elsewhere", "elsewhere")
        if command.endswith(f"{SERVER}/stead"):
            command = command.replace(f"{SERVER}/stead", f"{self.server}/{self.name}")
        command = command.replace(SERVER, self.server).replace("db.example", self.env["PGHOST"])
        return super().step(command, output)

    def end(self) -> None:
        """Its databases go, too."""
        super().end()
        for name in MADE:
            subprocess.run(["dropdb", "--if-exists", name], env=self.env, check=True)


@pytest.fixture
def terminal(tmp_path: Path, migrated: str, postgres: Postgres) -> Iterator[Restoring]:
    assert migrated.startswith(postgres.dsn().rpartition("/")[0])
    one = Restoring(tmp_path, migrated)
    try:
        with S3() as s3:
            s3.client().create_bucket(Bucket="backups.example")
            one.env |= s3.variables
            yield one
    finally:
        one.end()


@pytest.mark.slow
@pytest.mark.long
def test_the_page_about_backups_is_true(terminal: Restoring) -> None:
    terminal.follow(DOCS / "backup.md")
