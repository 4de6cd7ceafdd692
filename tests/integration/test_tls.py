"""HTTPS with a private authority, by command and by client; and PostgreSQL whose certificate is checked in full."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from stead.client import Client, Unreachable
from stead.dev.engines import Nats, Postgres
from stead.store import Store
from stead.store.migrate import migrate
from tests.integration.certificates import Authority
from tests.integration.test_processes import Stead


class Secure(Stead):
    """A server that speaks HTTPS."""

    def __init__(self, *words: str, ca: Path) -> None:
        super().__init__(*words, port_option=True)
        self.ca = ca

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        try:
            done = command("lane", "list", "--server", self.url, ca=str(self.ca))
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def command(*words: str, ca: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({"STEAD_CA": ca} if ca else {})}
    return subprocess.run(
        [sys.executable, "-m", "stead", *words], capture_output=True, text=True, timeout=60, check=False, env=env
    )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def secure(authority: Authority, migrated: str, nats_server: Nats) -> Iterator[Secure]:
    certificate, key = authority.issue("server")
    words = ("--database", migrated, "--nats", nats_server.url, "--cell", f"t{secrets.token_hex(4)}")
    tls = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with Secure("server", "--open", *words, *tls, ca=authority.file) as server:
        yield server


@pytest.mark.long
async def test_a_server_speaks_https_to_those_who_trust_its_authority(secure: Secure, authority: Authority) -> None:
    async with Client(secure.url, ca=str(authority.file), retries=0) as client:
        assert [one async for one in client.resources()] == []
    async with Client(secure.url, retries=0) as stranger:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            [one async for one in stranger.resources()]
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{secure.port}/livez", trust_env=False)
    by_option = command("--ca", str(authority.file), "vm", "list", "--server", secure.url)
    assert by_option.returncode == 0, by_option.stderr
    without = command("vm", "list", "--server", secure.url)
    assert without.returncode == 1
    assert "CERTIFICATE_VERIFY_FAILED" in without.stderr
    assert "Traceback" not in without.stderr
    nowhere = command("--ca", "/nowhere/ca.pem", "vm", "list", "--server", secure.url)
    assert (nowhere.returncode, "Traceback" in nowhere.stderr) == (1, False)
    assert "/nowhere/ca.pem cannot be read: No such file" in nowhere.stderr


@pytest.mark.long
def test_a_certificate_that_cannot_be_used_is_told_at_once(authority: Authority) -> None:
    certificate, key = authority.issue("server")
    _, other = authority.issue("other")
    words = ("server", "--database", "postgresql://127.0.0.1:9/x", "--tls-cert", str(certificate))
    assert "given together" in command(*words).stderr
    wrong = command(*words, "--tls-key", str(other))
    assert (wrong.returncode, "cannot be used" in wrong.stderr) == (2, True)
    key.chmod(0o644)
    assert "chmod" in command(*words, "--tls-key", str(key)).stderr


@pytest.fixture
def encrypted(authority: Authority) -> Iterator[Postgres]:
    """A PostgreSQL that takes nobody without encryption and a password."""
    server = Postgres(fsync=False)
    certificate, key = authority.issue("postgres")
    for file, name in ((certificate, "server.crt"), (key, "server.key")):
        there = server.folder / name
        shutil.copy(file, there)
        if server.user:
            shutil.chown(there, server.user)
        there.chmod(0o600)
    files = {"ssl_cert_file": str(server.folder / "server.crt"), "ssl_key_file": str(server.folder / "server.key")}
    server.settings |= {"ssl": "on", **files}
    with server:
        server.tool("createdb", "stead")
        server.tool("psql", "-d", "stead", "-c", "ALTER USER postgres PASSWORD 'hunter2-postgres'")
        rules = server.data / "pg_hba.conf"
        rules.write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        server.restart("fast")
        yield server


@pytest.mark.long
async def test_a_database_whose_certificate_is_checked_in_full(
    encrypted: Postgres, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2-postgres")
    plain = encrypted.dsn("stead")
    dsn = f"{plain}?sslmode=verify-full&sslrootcert={authority.file}"
    await migrate(dsn)
    async with Store.open(dsn, connections=2) as store:
        assert await store.resources.read("/a") is None
        watcher = await asyncpg.connect(dsn)
        (row,) = await watcher.fetch(
            "SELECT count(*) AS all, count(*) FILTER (WHERE ssl) AS ssl "
            "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'stead'"
        )
        await watcher.close()
        assert row["all"] == row["ssl"] == 2
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        await migrate(f"{plain}?sslmode=verify-full&sslrootcert={stranger.file}")
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match="no encryption"):
        await migrate(f"{plain}?sslmode=disable")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(asyncpg.InvalidPasswordError, match="password authentication failed"):
        await migrate(dsn)
