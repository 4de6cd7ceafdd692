"""A real OpenStack for tests: Keystone, Glance, Placement, Nova and Neutron, with MariaDB and RabbitMQ, from nothing.

Only the hypervisor and the network are make-believe. Every process has a keeper, as all servers of the tests have,
and all of them listen on free ports of this machine alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from stead.dev.children import START_TIMEOUT, NotStarted, Server, free_port, signal_process
from tests.heavy.openstack.packages import environment
from tests.heavy.openstack.settings import PASSWORD, REGION, settings

PROGRAMS = ("mariadbd", "mariadb", "mariadb-install-db", "epmd", "uwsgi")
RABBIT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
LONG = 240.0
"""Seconds for a start: there are a dozen of them at once."""

DATABASES = ("keystone", "placement", "glance", "nova_api", "nova_cell0", "nova", "neutron")
KEPT = ("data", "keystone")
"""The folders of what migrations make: the databases, and Keystone's keys."""

SERVICES = {
    "identity": "keystone",
    "placement": "placement",
    "image": "glance",
    "network": "neutron",
    "compute": "nova",
}


def missing() -> str:
    """Why there can be no OpenStack here; nothing, if there can."""
    lacking = [program for program in PROGRAMS[:-1] if not shutil.which(program)]
    lacking += [] if RABBIT.exists() else ["rabbitmq-server"]
    return f"OpenStack cannot be started: {', '.join(lacking)} not installed" if lacking else ""


class Part(Server):
    """One of its processes, with all that it starts."""

    def __init__(self, name: str, *command: str | Path, where: Mapping[str, str] | None = None) -> None:
        super().__init__(f"openstack-{name}")
        self.name = name
        self.words: Sequence[str | Path] = command
        self.where = where or {}

    def command(self) -> Sequence[str | Path]:
        return ["env", *(f"{name}={value}" for name, value in self.where.items()), *self.words]

    def start(self) -> None:
        """Without waiting for it."""
        with self.log.open("ab") as log:
            self.process = self.spawn(self.command(), stdout=log)
        self.keep(self.pid)

    def keep(self, pid: int | None) -> None:
        """The whole group that began with it."""
        super().keep(None if pid is None else -pid)

    def end(self, with_signal: signal.Signals, patience: float = START_TIMEOUT) -> None:
        if self.process is not None:
            signal_process(self.pid, with_signal, group=True)
        super().end(with_signal, patience)

    def wait_for(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + LONG
        while not true():
            if not self.running or time.monotonic() > end:
                raise NotStarted(f"{self.name}: {self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)


class OpenStack:
    """The whole of it."""

    def __init__(self) -> None:
        self.programs = environment()
        self.parts: list[Part] = []
        self.ports = {name: free_port() for name in (*SERVICES.values(), "rabbit", "rabbit-peers", "epmd", "db")}
        self.database = Part("mariadb")
        self.folder = self.database.folder
        self.fronts: dict[str, int] = {}
        """Ports that users are told instead of the services' own."""
        self.took: dict[str, float] = {}

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for part in reversed([self.database, *self.parts]):
            part.close()

    def start(self) -> None:
        began = time.monotonic()
        for name, content in settings(self.folder, self.programs, self.ports).items():
            path = self.folder / "etc" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        for folder in ("locks", "keystone", "nova/instances", "neutron", "images", "tasks", "staging"):
            (self.folder / folder).mkdir(parents=True)
        node = uuid.uuid5(uuid.NAMESPACE_DNS, "compute1")
        (self.folder / "nova/compute_id").write_text(str(node))
        with ThreadPoolExecutor() as pool:
            broker = pool.submit(self.start_broker)
            self.prepare_databases(pool)
            broker.result()
        self.took["databases"] = time.monotonic() - began
        web = [self.web(name) for name in SERVICES.values()]
        for part in web:
            part.wait_for(lambda port=self.ports[part.name]: answers(port))  # type: ignore[misc]
        self.describe_services()
        self.took["services"] = time.monotonic() - began
        self.start_compute()
        self.took["compute"] = time.monotonic() - began

    def prepare_databases(self, pool: ThreadPoolExecutor) -> None:
        """Migrations take minutes. What they come to is kept beside the programs, and copied the next time."""
        said = b"".join((Path(__file__).parent / name).read_bytes() for name in ("cloud.py", "settings.py"))
        kept = self.programs / f"databases-{hashlib.sha256(said).hexdigest()[:12]}"
        if not kept.exists():
            self.run(
                "mariadb-install-db", *self.options, "--auth-root-authentication-method=normal", "--skip-test-db"
            )
            self.start_database()
            for name in DATABASES:
                self.sql(f"create database {name} character set utf8mb3")
            for done in [pool.submit(self.migrate, name) for name in SERVICES.values()]:
                done.result()
            self.database.end(signal.SIGTERM)
            (self.folder / "db.sock").unlink(missing_ok=True)
            new = kept.with_suffix(f".{uuid.uuid4().hex}")
            for name in KEPT:
                shutil.copytree(self.folder / name, new / name)
            with suppress(OSError):  # somebody else has kept theirs
                new.rename(kept)
            self.start_database()
            return
        for name in KEPT:
            shutil.copytree(kept / name, self.folder / name, dirs_exist_ok=True)
        self.start_database()
        broker = f"rabbit://guest:guest@127.0.0.1:{self.ports['rabbit']}/"
        for name, cell in (("nova_cell0", "cell0"), ("nova", "cell1")):
            change = f"update nova_api.cell_mappings set database_connection = '{self.address(name)}'"
            self.sql(f"{change} where name = '{cell}'")
        self.sql(f"update nova_api.cell_mappings set transport_url = '{broker}' where name = 'cell1'")

    @property
    def options(self) -> list[str]:
        return ["--no-defaults", f"--datadir={self.folder / 'data'}", "--user=root"]

    def address(self, database: str) -> str:
        return f"mysql+pymysql://root@localhost/{database}?unix_socket={self.folder}/db.sock"

    def start_database(self) -> None:
        where = self.folder / "db.sock"
        quick = ["--max-connections=500", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
        here = [f"--socket={where}", f"--port={self.ports['db']}", "--bind-address=127.0.0.1"]
        self.database.words = ["mariadbd", *self.options, *here, *quick]
        self.database.start()
        self.database.wait_for(where.exists)

    def start_broker(self) -> None:
        epmd = self.part("epmd", "epmd", "-port", str(self.ports["epmd"]), "-address", "127.0.0.1")
        epmd.wait_for(lambda: listens(self.ports["epmd"]))
        broker = Part("rabbit", RABBIT)
        (broker.folder / "plugins").write_text("[].")
        broker.where = {
            "HOME": str(broker.folder),
            "RUNNING_UNDER_SYSTEMD": "1",  # then it is one process, and no shell waits for it
            "RABBITMQ_NODENAME": f"stead{self.ports['rabbit']}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.ports["rabbit"]),
            "RABBITMQ_DIST_PORT": str(self.ports["rabbit-peers"]),
            "RABBITMQ_MNESIA_BASE": str(broker.folder / "data"),
            "RABBITMQ_LOG_BASE": str(broker.folder / "logs"),
            "RABBITMQ_PID_FILE": str(broker.folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(broker.folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(broker.folder / "none"),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.ports["epmd"]),
        }
        self.parts.append(broker)
        broker.start()
        broker.wait_for(lambda: listens(self.ports["rabbit"]))

    def migrate(self, name: str) -> None:
        def manage(program: str, config: str, *words: str) -> None:
            self.run(self.programs / "bin" / program, "--config-file", self.folder / "etc" / config, *words)

        match name:
            case "keystone":
                me = ("--keystone-user", "root", "--keystone-group", "root")
                manage("keystone-manage", "keystone.conf", "db_sync")
                for keys in ("fernet_setup", "credential_setup"):
                    manage("keystone-manage", "keystone.conf", keys, *me)
                manage("keystone-manage", "keystone.conf", "bootstrap", "--bootstrap-password", PASSWORD)
            case "placement":
                manage("placement-manage", "placement.conf", "db", "sync")
            case "glance":
                manage("glance-manage", "glance-api.conf", "db_sync")
            case "neutron":
                manage("neutron-db-manage", "neutron.conf", "upgrade", "heads")
            case "nova":
                manage("nova-manage", "nova.conf", "api_db", "sync")
                manage(
                    "nova-manage",
                    "nova.conf",
                    "cell_v2",
                    "map_cell0",
                    "--database_connection",
                    self.address("nova_cell0"),
                )
                manage("nova-manage", "nova.conf", "db", "sync")
                manage("nova-manage", "nova.conf", "cell_v2", "create_cell", "--name", "cell1")

    def web(self, name: str) -> Part:
        etc = self.folder / "etc"
        served: dict[str, tuple[str, dict[str, str | Path]]] = {
            "keystone": ("keystone.wsgi.api", {"OS_KEYSTONE_CONFIG_FILES": etc / "keystone.conf"}),
            "placement": ("placement.wsgi.api", {"OS_PLACEMENT_CONFIG_DIR": etc}),
            "glance": ("glance.wsgi.api", {"OS_GLANCE_CONFIG_DIR": etc}),
            "neutron": ("neutron.wsgi.api", {"OS_NEUTRON_CONFIG_FILES": etc / "neutron.conf"}),
            # The first of them must be this one.
            "nova": (
                "nova.wsgi.osapi_compute",
                {"OS_NOVA_CONFIG_FILES": f"{self.programs}/etc/nova/api-paste.ini;{etc}/nova.conf"},
            ),
        }
        module, where = served[name]
        serve = ["--http-socket", f"127.0.0.1:{self.ports[name]}", "--module", f"{module}:application"]
        how = ["--enable-threads", "--threads", "8", "--lazy-apps", "--die-on-term", "--disable-logging"]
        sizes = ["--buffer-size", "65535", "--http-chunked-input", "--add-header", "Connection: close"]
        uwsgi: list[str | Path] = [self.programs / "bin/uwsgi", "--virtualenv", self.programs]
        return self.part(name, *uwsgi, *serve, *how, *sizes, where={k: str(v) for k, v in where.items()})

    def describe_services(self) -> None:
        """Users come by the public addresses, and services by the internal ones."""
        admin = self.admin("identity", "/v3", direct=True)
        project = admin("POST", "/projects", project={"name": "service", "domain_id": "default"})["project"]["id"]
        user = {"name": "svc", "password": PASSWORD, "domain_id": "default"}
        service = admin("POST", "/users", user=user)["user"]["id"]
        roles = {role["name"]: role["id"] for role in admin("GET", "/roles")["roles"]}
        for role in ("admin", "service"):
            admin("PUT", f"/projects/{project}/users/{service}/roles/{roles[role]}")
        admin("POST", "/regions", region={"id": REGION})
        for kind, name in SERVICES.items():
            ids = {s["type"]: s["id"] for s in admin("GET", "/services")["services"]}
            if kind not in ids:
                ids[kind] = admin("POST", "/services", service={"name": name, "type": kind})["service"]["id"]
            for interface in ("public", "internal"):
                port = self.fronts.get(kind, self.ports[name]) if interface == "public" else self.ports[name]
                path = {"identity": "/v3", "compute": "/v2.1"}.get(kind, "")
                endpoint = {
                    "service_id": ids[kind],
                    "interface": interface,
                    "region_id": REGION,
                    "url": f"http://127.0.0.1:{port}{path}",
                }
                admin("POST", "/endpoints", endpoint=endpoint)

    def start_compute(self) -> None:
        where = {"OS_NOVA_DISABLE_EVENTLET_PATCHING": "true", "PYTHONWARNINGS": "ignore"}
        config = ("--config-file", self.folder / "etc/nova.conf")
        for name in ("nova-conductor", "nova-scheduler", "nova-compute"):
            self.part(name, self.programs / "bin" / name, *config, where=where)
        compute = self.parts[-1]
        nodes = "select count(*) from nova.compute_nodes where deleted = 0"
        compute.wait_for(lambda: self.sql(nodes) == "1")
        self.run(self.programs / "bin/nova-manage", *config, "cell_v2", "discover_hosts")
        alive = "select count(*) from nova.services where report_count > 0 and deleted = 0"
        compute.wait_for(lambda: self.sql(alive) == "3")

    def part(self, name: str, *command: str | Path, where: Mapping[str, str] | None = None) -> Part:
        made = Part(name, *command, where=where)
        self.parts.append(made)
        made.start()
        return made

    def sql(self, statement: str) -> str:
        """What MariaDB says, past everybody."""
        return self.run(
            "mariadb", "--no-defaults", "-S", self.folder / "db.sock", "-N", "-B", "-e", statement
        ).strip()

    def run(self, *command: str | Path) -> str:
        path = f"{self.programs / 'bin'}:{os.environ.get('PATH', os.defpath)}"
        where = {**os.environ, "PATH": path, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONG, env=where)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr[-2000:]}")
        return done.stdout

    def admin(self, kind: str, path: str = "", *, direct: bool = False) -> Callable[..., Any]:
        """Asks a service, past everybody, as who may do everything."""
        token = self.token()
        base = f"http://127.0.0.1:{self.ports[SERVICES[kind]]}{path}"

        def ask(method: str, at: str, *, content: bytes | None = None, **body: Any) -> Any:
            headers = {"X-Auth-Token": token, "OpenStack-API-Version": "compute 2.90"}
            if content is not None:
                headers["Content-Type"] = "application/octet-stream"
            how: dict[str, Any] = {"content": content} if content is not None else {"json": body} if body else {}
            said = httpx.request(method, f"{base}{at}", headers=headers, timeout=60, trust_env=False, **how)
            if said.is_error:
                raise RuntimeError(f"{method} {at}: {said.status_code} {said.text[:500]}")
            return said.json() if said.content and "json" in said.headers.get("content-type", "") else None

        return ask

    def token(self) -> str:
        who = {"name": "admin", "password": PASSWORD, "domain": {"id": "default"}}
        asked = {
            "identity": {"methods": ["password"], "password": {"user": who}},
            "scope": {"project": {"name": "admin", "domain": {"id": "default"}}},
        }
        address = f"http://127.0.0.1:{self.ports['keystone']}/v3/auth/tokens"
        said = httpx.post(address, json={"auth": asked}, timeout=60, trust_env=False)
        assert said.status_code == 201, said.text
        return said.headers["x-subject-token"]


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def answers(port: int) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=5, trust_env=False).status_code < 400
    return False
