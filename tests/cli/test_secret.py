"""Secrets by command: made, sealed, refused in clear, and read from a file of settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stead.cli.main import app
from tests.tiers import first_fast


def stead(*words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STEAD_", "PG"))} | env
    command = [sys.executable, "-m", "stead", *words]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=60, check=False, env=environment
    )


def test_a_secret_is_sealed_from_stdin(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert stead("secret", "key", str(key)).returncode == 0
    sealed = stead("secret", "seal", "--key", str(key), stdin="hunter2\n")
    assert sealed.returncode == 0
    assert sealed.stdout.startswith("sealed:")
    assert "hunter2" not in sealed.stdout + sealed.stderr
    again = stead("secret", "seal", stdin="hunter2\n", STEAD_SECRETS_KEY=str(key))
    assert again.stdout.startswith("sealed:")
    assert again.stdout != sealed.stdout


@pytest.mark.long
def test_what_cannot_be_sealed_is_told(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert stead("secret", "seal", "--key", str(key), stdin="x").returncode == 2
    stead("secret", "key", str(key))
    again = stead("secret", "key", str(key))
    assert (again.returncode, "File exists" in again.stderr) == (2, True)
    assert "nothing to seal" in stead("secret", "seal", "--key", str(key), stdin="").stderr
    key.chmod(0o644)
    assert "chmod" in stead("secret", "seal", "--key", str(key), stdin="x").stderr


AGENT = ("agent", "run", "--lane", "lab.blue", "--driver", "openstack")
STACK = ("--set", "auth_url=http://127.0.0.1:9/v3", "--set", "username=u", "--set", "project_name=p")


def test_an_agent_refuses_a_secret_in_clear_in_a_line() -> None:
    said = stead(*AGENT, *STACK, "--set", "password=hunter2hunter2")
    assert said.returncode == 2
    assert "lab.blue: the configuration of OpenStack is wrong: it is a secret" in said.stderr
    assert "at `$.password`" in said.stderr
    assert "hunter2" not in said.stderr
    assert "Traceback" not in said.stderr


def test_a_setting_without_a_value_is_not_repeated() -> None:
    said = stead(*AGENT, "--set", "hunter2hunter2")
    assert said.returncode == 2
    assert "a setting is given as name=value" in said.stderr
    assert "hunter2" not in said.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("password: hunter2hunter2\n", "it is a secret"),
        ("password: env:NOWHERE_AT_ALL\n", "the environment has no NOWHERE_AT_ALL"),
        ("password: [hunter2hunter2]\n", "password is no single value"),
        ("- hunter2hunter2\n", "has no settings"),
        ('a: b\npassword: "hunter2hunter2\n', "is not YAML, see line"),
        ("passwort: hunter2hunter2\n", "unknown field `passwort`"),
    ],
)
def test_settings_come_from_a_file(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    said = CliRunner().invoke(app, [*AGENT, *STACK, "--settings", str(tmp_path / "settings.yaml")])
    assert said.exit_code == 2
    assert says in said.stderr
    assert "hunter2" not in said.stderr


@pytest.mark.parametrize("command", first_fast(["controller", "server"]))
@pytest.mark.parametrize(
    "dsn", first_fast(["postgresql://u:hunter2hunter2@h/db", "postgresql://h/db?password=hunter2hunter2"])
)
def test_a_password_in_the_address_of_a_database_is_refused_in_a_line(command: str, dsn: str) -> None:
    said = stead(command, "--database", dsn)
    assert said.returncode == 2
    assert "PGPASSWORD, PGPASSFILE or STEAD_DATABASE" in said.stderr
    assert "hunter2" not in said.stderr
