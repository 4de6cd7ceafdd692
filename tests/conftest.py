"""What every test run shares: hypothesis profiles, real servers, and the notes on which requirements were proven."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from stead.dev.engines import Nats, Postgres
from stead.drivers.process import user_ids
from stead.store.migrate import migrate_now
from tests.alone import Alone
from tests.drivers.cloud import SimCloud, SimWorld
from tests.spread import spread
from tools.evidence import Evidence
from tools.requirements import EVIDENCE

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure(config: pytest.Config) -> None:
    # They are no test modules by name, and their assertions are to explain themselves all the same.
    pytest.register_assert_rewrite(
        "tests.drivers.conformance", "tests.drivers.datacenter_conformance", "tests.drivers.edge_conformance"
    )
    config.pluginmanager.register(Evidence(config.rootpath / EVIDENCE))
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Alone())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What brings up a whole cloud, and what only tries more of the same, runs where it is asked for: with
    `-m heavy`, and with `-m long`."""
    for mark in ("heavy", "long"):
        if mark not in config.option.markexpr:
            marked = [item for item in items if item.get_closest_marker(mark)]
            config.hook.pytest_deselected(items=marked)
            items[:] = [item for item in items if not item.get_closest_marker(mark)]
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
    with Postgres(fsync=False) as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The DSN of a new, empty database."""
    name = f"test_{secrets.token_hex(6)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> str:
    """A database with the schema in it, to be copied: the migrations run once, not for every test."""
    name = f"template_{secrets.token_hex(4)}"
    migrate_now(postgres.create_database(name))
    return name


@pytest.fixture
def migrated(postgres: Postgres, template: str) -> Iterator[str]:
    """The DSN of a new database with the schema in it."""
    name = f"test_{secrets.token_hex(6)}"
    yield postgres.create_database(name, template)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def nats_server() -> Iterator[Nats]:
    """One NATS server, shared likewise. Tests keep apart by the name of their cell."""
    with Nats() as server:
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
