"""What every test run shares: hypothesis profiles, real servers, and the notes on which requirements were proven."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
from hypothesis import settings

from stead.dev.engines import Nats, Postgres
from stead.drivers.process import user_ids
from tests.databases import Databases
from tests.drivers.cloud import SimCloud, SimWorld
from tests.plugins import collection, optional, tiers
from tests.plugins.alone import Alone
from tests.plugins.budget import Budget
from tests.plugins.leftovers import Leftovers
from tests.plugins.spread import spread
from tests.tiers import ALL_EXAMPLES, FEW_EXAMPLES
from tools.evidence import Evidence
from tools.requirements import EVIDENCE

MEMORY, ROOM = Path("/dev/shm"), 8 << 30
"""A file system in memory, and the bytes that have to be free there for it to be used."""

# Every client of httpx otherwise reads all certificates of the world, whether or not it will ever need one.
os.environ.setdefault("SSL_CERT_DIR", "/etc/ssl/certs")


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    # They are no test modules by name, and their assertions are to explain themselves all the same.
    pytest.register_assert_rewrite(
        "tests.drivers.conformance", "tests.drivers.datacenter_conformance", "tests.drivers.edge_conformance"
    )
    tier = tiers.of(config)
    few = FEW_EXAMPLES if tier == tiers.FAST else ALL_EXAMPLES
    settings.register_profile("dev", deadline=None, max_examples=few)
    settings.register_profile("ci", deadline=None, max_examples=few, derandomize=True, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") else "dev")
    config.pluginmanager.register(Evidence(config.rootpath / EVIDENCE[tier]))
    config.pluginmanager.register(Budget(config, enforced=tier == tiers.FAST))
    config.pluginmanager.register(Leftovers(config), "leftovers")
    config.pluginmanager.register(optional)
    config.pluginmanager.register(collection)
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Alone())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.select(config, items)
    items[:] = spread(items, getattr(config, "workerinput", {}).get("workercount", 1))


@pytest.fixture(scope="session", autouse=True)
def uid_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user ids of namespaces, for agents of this run that are root: the machine's own are left alone."""
    file = tmp_path_factory.mktemp("users") / "ids.json"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(user_ids.VARIABLE, str(file))
        yield file


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for the run, or for each worker of a parallel one. Whoever stops it starts one of their own."""
    with in_memory():
        server = Postgres(fsync=False)
    with server:
        yield server


@contextmanager
def in_memory() -> Iterator[None]:
    """Servers that are made meanwhile have their folder in memory, where there is room: disks may stall."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    with pytest.MonkeyPatch.context() as patched:
        if roomy:
            patched.setattr(tempfile, "tempdir", str(MEMORY))
        yield


@pytest.fixture(scope="session")
def databases(postgres: Postgres, pytestconfig: pytest.Config) -> Iterator[Databases]:
    """Makes and drops databases there over one connection."""
    with Databases(postgres) as maker:
        yield maker
        leftovers = pytestconfig.pluginmanager.getplugin("leftovers")
        for name in maker.existing():
            leftovers.note(f"database {name}")


@pytest.fixture
def database(databases: Databases) -> Iterator[str]:
    """The DSN of a new, empty database."""
    with databases.new() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def template(databases: Databases) -> str:
    """A database with the schema in it, to be copied: the migrations run once, not for every test."""
    return databases.template


@pytest.fixture
def migrated(databases: Databases) -> Iterator[str]:
    """The DSN of a new database with the schema in it."""
    with databases.migrated() as dsn:
        yield dsn


@pytest.fixture
async def strict(migrated: str) -> str:
    """The same, in which no namespace was given a lane."""
    connection = await asyncpg.connect(migrated)
    await connection.execute("DELETE FROM lane_grants")
    await connection.close()
    return migrated


@pytest.fixture(scope="session")
def nats_server() -> Iterator[Nats]:
    """One NATS server, shared likewise. Tests keep apart by the name of their cell."""
    with in_memory():
        server = Nats()
    with server:
        yield server


@pytest.fixture(scope="session")
def cloud() -> Iterator[SimCloud]:
    """One simulated cloud, shared likewise. Tests keep apart by region."""
    with SimCloud("--seed", "1") as server:
        yield server


@pytest.fixture
async def world(cloud: SimCloud) -> AsyncIterator[SimWorld]:
    """A region of one's own."""
    region = SimWorld(cloud)
    yield region
    await region.close()


@pytest.fixture
def cell() -> str:
    """A name on the bus of one's own."""
    return f"t{secrets.token_hex(4)}"
