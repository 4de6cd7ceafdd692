"""An installation is the files of a plan: shown, written once, changed, taken away; and what they start works."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest
import yaml
from typer.testing import CliRunner

from stead.cli.main import app
from stead.cli.output import Code
from stead.dev.children import free_port
from stead.install.plan import CannotPlan, Wanted, plan
from stead.pki.identity import Identity
from tests.cli.remote import NOWHERE, Answer, command

ROOT = Path(__file__).parents[2]
AGENT = "local=--lane local.one --driver process --set root=/var/lib/stead/agents/local/services"
ANALYZE = shutil.which("systemd-analyze")
EXPOSURE = 20
"""Of a hundred, as systemd judges it: what is above has not been locked up."""


def stead(*words: str) -> Answer:
    result = CliRunner().invoke(app, ["install", *words], catch_exceptions=False)
    return Answer(result.exit_code, result.stdout, result.stderr)


def installed(root: Path, *words: str) -> Answer:
    answer = stead("--root", str(root), "--agent", AGENT, *words)
    assert answer.code == Code.DONE, answer
    return answer


def everything(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}


def test_a_dry_run_tells_all_and_does_nothing(tmp_path: Path) -> None:
    answer = installed(tmp_path, "--dry-run")
    assert "write /etc/systemd/system/stead-server.service" in answer.out
    assert "nothing was changed" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_on_this_machine_a_dry_run_names_the_commands() -> None:
    answer = stead("--dry-run", "--agent", AGENT)
    assert answer.code == Code.DONE
    assert "systemd-sysusers /etc/sysusers.d/stead.conf" in answer.out
    assert "stead-agent@local.service" in answer.out


def test_the_second_time_there_is_nothing_to_do(tmp_path: Path) -> None:
    installed(tmp_path)
    first = everything(tmp_path)
    assert installed(tmp_path).err == "nothing to do\n"
    assert everything(tmp_path) == first
    answer = installed(tmp_path, "--port", "7771")
    assert answer.out == "change /etc/systemd/system/stead-server.service\n"


def test_it_goes_away_and_its_data_stays(tmp_path: Path) -> None:
    other = tmp_path / "etc/systemd/system/other.service"
    data = tmp_path / "var/lib/stead/backups/monday.stead"
    for file in (other, data):
        file.parent.mkdir(parents=True)
        file.touch()
    installed(tmp_path)
    installed(tmp_path, "--remove")
    assert set(everything(tmp_path)) == {str(f.relative_to(tmp_path)) for f in (other, data)}
    assert installed(tmp_path, "--remove").err == "nothing to do\n"
    installed(tmp_path, "--remove", "--data")
    assert set(everything(tmp_path)) == {str(other.relative_to(tmp_path))}


def test_whatever_has_a_password_is_private(tmp_path: Path) -> None:
    installed(tmp_path)
    (password,) = re.findall(r'password: "(.*)"', (tmp_path / "etc/stead/nats.conf").read_text())
    holders = {name for name, text in everything(tmp_path).items() if password in text}
    assert holders == {"etc/stead/nats.conf", "etc/stead/bus.env", "etc/stead/server.env"}
    for name in holders:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_with_a_database_that_is_there_none_is_installed(tmp_path: Path) -> None:
    installed(tmp_path, "--database", "postgresql://stead@db.example/stead")
    assert not (tmp_path / "etc/systemd/system/stead-postgres.service").exists()
    assert "postgresql://stead@db.example/stead" in (tmp_path / "etc/stead/server.env").read_text()


def test_only_an_agent_that_gives_programs_users_runs_as_root(tmp_path: Path) -> None:
    others = ("--agent", "cloud=--lane aws.one --driver ec2", "--agent", f"alone={AGENT[6:]} --set isolation=false")
    installed(tmp_path, *others)
    given = {name for name in everything(tmp_path) if name.endswith("agent-as-root.conf")}
    assert given == {"etc/systemd/system/stead-agent@local.service.d/agent-as-root.conf"}
    installed(tmp_path, "--remove")
    assert everything(tmp_path) == {}
    assert not list((tmp_path / "etc/systemd/system").iterdir())


def test_an_agent_with_another_driver_does_not_stay_root(tmp_path: Path) -> None:
    installed(tmp_path)
    drop_in = "/etc/systemd/system/stead-agent@local.service.d/agent-as-root.conf"
    assert drop_in[1:] in everything(tmp_path)
    answer = installed(tmp_path, "--agent", "local=--lane aws.one --driver ec2")
    assert f"remove {drop_in}\n" in answer.out
    assert drop_in[1:] not in everything(tmp_path)


def test_a_wrong_name_of_an_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotPlan, match="no name of an agent"):
        plan(Wanted(agents={"../../x": "--lane a.b"}, root=tmp_path))
    assert stead("--root", str(tmp_path), "--agent", "x").code == Code.USAGE


@pytest.mark.skipif(ANALYZE is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    assert ANALYZE is not None
    installed(tmp_path)
    units = sorted(path for path in (tmp_path / "etc/systemd/system").iterdir() if path.is_file())
    done = subprocess.run([ANALYZE, "verify", "--man=no", *units], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    services = [unit for unit in units if unit.suffix == ".service"]
    assert len(services) == 5
    for unit in services:
        judged = [ANALYZE, "security", "--offline=yes", f"--threshold={EXPOSURE}", str(unit)]
        assert subprocess.run(judged, check=False, capture_output=True).returncode == 0, unit


def test_what_a_shell_is_told_has_nothing_that_systemd_takes_for_its_own(tmp_path: Path) -> None:
    """It turns `$$` to `$`, and `$NAME` to what it knows by that name."""
    installed(tmp_path)
    for unit in (tmp_path / "etc/systemd/system").glob("*.service"):
        for line in re.findall(r"^Exec\w+=/bin/sh -c (.+)$", unit.read_text(), re.MULTILINE):
            assert re.findall(r"\$[^(]", line) == [], f"{unit.name}: {line}"


class Started:
    """What units start, without systemd: by their own command lines and environment files."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self.stack = root, stack

    def __call__(self, unit: str, instance: str = "") -> None:
        text = (self.root / "etc/systemd/system" / unit).read_text().replace("%i", instance)
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        for name in re.findall(r"^EnvironmentFile=(.+)$", text, re.MULTILINE):
            lines = (self.root / name.lstrip("/")).read_text().splitlines()
            env |= dict(text.split("=", 1) for text in lines)
        (line,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
        words = [w for word in shlex.split(line) for w in (env[word[1:]].split() if word[0] == "$" else [word])]
        words = [str(self.root / word.lstrip("/")) if word.startswith("/etc/") else word for word in words]
        process = subprocess.Popen(words, env=env)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    with ExitStack() as stack:
        yield Started(tmp_path, stack)


@pytest.mark.long
@pytest.mark.slow
async def test_what_the_units_start_is_a_cell(tmp_path: Path, database: str, started: Started) -> None:
    port, bus_port = free_port(), free_port()
    where = ("--database", database, "--port", str(port), "--bus-port", str(bus_port), "--server-options", "--open")
    installed(tmp_path, *where)
    conf = tmp_path / "etc/stead/nats.conf"
    conf.write_text(conf.read_text().replace("/var/lib/stead", str(tmp_path / "var/lib/stead")))
    agent = tmp_path / "etc/stead/agents/local.env"
    agent.write_text(agent.read_text().replace("/var/lib/stead", str(tmp_path / "var/lib/stead")))
    started("stead-nats.service")
    started("stead-server.service")
    started("stead-agent@.service", "local")
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
        asyncio.timeout(150),
    ):
        while True:
            await asyncio.sleep(0.2)
            try:
                lanes = (await client.get("/v1/cells/-/lanes")).json()["items"]
            except (httpx.TransportError, KeyError):
                continue
            if [agent["name"] for lane in lanes for agent in lane["agents"] if agent["connected"]] == ["local"]:
                break
    connection = await asyncpg.connect(database)
    assert await connection.fetchval("SELECT bus_identity <> '' FROM cell")
    await connection.close()


def test_the_compose_file_names_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = command(NOWHERE, monkeypatch)
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    ours = {name: service for name, service in compose["services"].items() if service["image"] == "stead"}
    assert set(ours) == {"server", "agent", "cloud", "pki"}
    for service in [service for name, service in ours.items() if name != "pki"]:
        assert (ROOT / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        verb = [word for word in service["command"] if not word.startswith("-")]
        said = whole(*verb, "--help").out
        assert all(word.partition("=")[0] in said for word in service["command"] if word.startswith("-"))


def test_compose_agent_joins_with_an_identity_of_its_own(tmp_path: Path) -> None:
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
    mounted = {name: [volume.split(":")[0] for volume in one.get("volumes", ())] for name, one in services.items()}
    assert {name for name, volumes in mounted.items() if "pki-controller" in volumes} == {"pki", "server"}
    assert {name for name, volumes in mounted.items() if "pki-root" in volumes} == {"pki"}
    assert mounted["agent"] == ["agent"]
    assert not {"STEAD_NATS", "STEAD_DATABASE"} & set(services["agent"].get("environment", {}))
    assert not any("pass" in word or "user" in word for word in services["nats"]["command"])
    # What makes the identities, with the folders of the image in another place.
    (script,) = services["pki"]["command"]
    pki = tmp_path / "pki"
    script = script.replace("/var/lib/stead/pki", str(pki)).replace("/tmp/pki", str(tmp_path / "new"))
    for part in ("root", "nats", "controller"):
        (pki / part).mkdir(parents=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for _ in range(2):  # the second time all is there
        subprocess.run(["sh", "-ec", script.replace("$$", "$")], check=True, env={**os.environ, "PATH": path})
    assert Identity(pki / "controller").description.bus == ["tls://nats:4222"]
    assert (pki / "nats/nats.conf").is_file()
    assert list((pki / "root").iterdir())
