"""Admission: single actions through REST, beside pgbench that runs the very statements."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figure import Figure, middle
from bench.ground import CELL, Stead, filled, path_of, pgbench, postgres
from bench.statement import PATH, kept, literal
from stead.access.authorized import Authorized
from stead.access.direct import create_token
from stead.catalog import KINDS
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.dev.engines import Nats, Postgres
from stead.lifecycle.rows import Actor
from stead.store import Store
from stead.store.statements import statement

LANES = [f"sim.r{i:02}" for i in range(20)]
CLIENTS = 16
BAR, GROWTH, PRICE = 0.25, 1.3, 1.25

POLICIES = {
    "keep": 'forbid (principal, action == Action::"terminate", resource) when { resource.hasTag("keep") };',
    "night": 'forbid (principal, action, resource) when { resource.kind == "sshkey" && context.force };',
    "frozen": 'forbid (principal, action, resource) when { resource.path like "/frozen/*" };',
}
"""Policies of an operator's own. The last looks at paths, so no answer for one VM is good for another."""

LOAD = """
local next = {first}
request = function()
    local i = next
    next = next + 1
    local path = string.format("/v1/resources/bench/fleet/g%02d/%07d?action={action}", i % 100, i)
    return wrk.format("POST", path)
end
"""


async def statements(dsn: str, vms: int, each: int | str) -> str:
    """What admission of one action says to the database, as a script whose clients have so many VMs each."""
    last = path_of(vms - 1)
    async with Store.open(dsn, connections=1) as store:
        admission = Admission(TransitionExecutor(store, KINDS, time.time))
        row = await store.resources.read(last)
        assert row is not None
        suspends = Authorized.of_record("anonymous", Actor.USER, "suspend")
        with kept(store) as calls:
            answer = await admission.admit(ActionRequest(last, "suspend", "vm", row=row), suspends)
        assert isinstance(answer, Accepted), answer
        ((templates, _, _, _, extras, at, _, batch),) = calls
    read = statement("read_resources").replace("$1", f"ARRAY[{PATH}]")
    own = f"replace(replace({literal(templates)}, '{answer.operation}', gen_random_uuid()::text), '{last}', {PATH})"
    return f"""\\set n :n + 1
\\set i :first + :client_id * {each} + :n
SELECT id AS vm, version AS seen FROM ({read}) r \\gset
SELECT commit_changes({own}::jsonb, '{{1}}', ARRAY[:vm]::bigint[], ARRAY[:seen]::bigint[],
                   replace({literal(extras)}, '{last}', {PATH})::jsonb, {at}, NULL, {batch});
"""


def load(
    url: str, first: int, seconds: float, folder: Path, action: str = "suspend", token: str = ""
) -> tuple[float, int]:
    """Requests a second that were let in, and how many of them there were."""
    script = folder / "load.lua"
    shown = f'wrk.headers["Authorization"] = "Bearer {token}"\n' if token else ""
    script.write_text(shown + LOAD.format(first=first, action=action))
    words = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{round(seconds)}s", "-s", str(script), url]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said:
        raise RuntimeError(said)
    rate, done = re.search(r"Requests/sec: *([\d.]+)", said), re.search(r"(\d+) requests in", said)
    if rate is None or done is None:
        raise RuntimeError(said)
    return float(rate[1]), int(done[1])


async def rounds(
    server: Postgres, nats: Nats, name: str, vms: int, seconds: float, times: int
) -> list[tuple[float, float]]:
    """Both in turn: through REST, and bare."""
    dsn = await filled(server, name, vms, LANES)
    each = vms // 2 // times // CLIENTS  # for one client of one turn; the other half is for REST
    script = await statements(dsn, vms, each)
    found = []
    words = ("--open", "--database", dsn, "--nats", nats.url, "--cell", f"{CELL}-{name}")
    with Stead("server", "server", *words) as stead:
        first = 0
        for turn in range(times):
            rate, done = load(stead.url, first, seconds, stead.folder)
            first += done + CLIENTS
            start = vms // 2 + turn * each * CLIENTS
            bare = pgbench(server, name, f"\\set first {start}\n{script}", CLIENTS, seconds)
            found.append((rate, bare))
    return found


async def measure(small: bool) -> list[Figure]:
    """The ratio, and what a hundred times as many resources cost."""
    few, many = (10_000, 100_000) if small else (10_000, 1_000_000)
    seconds, times = (2, 1) if small else (4, 3)
    enough = 60_000 if not small else 20_000
    with postgres() as server, Nats() as nats:
        near = await rounds(server, nats, "few", enough, seconds, times)
        ratio = middle([rate / bare for rate, bare in near])
        detail = {"a second": round(middle([r for r, _ in near])), "bare": round(middle([b for _, b in near]))}
        figures = [Figure("admit", ratio, "of the bare engine", "pgbench, the very statements", BAR, detail=detail)]
        figures.append(await growth(server, nats, few, many, seconds, times))
        figures.append(await price(server, nats, 2 * enough, seconds, times))
    return figures


async def growth(server: Postgres, nats: Nats, few: int, many: int, seconds: float, times: int) -> Figure:
    """The cost of one action among many resources, against the cost among few."""
    dsns = {name: await filled(server, name, vms, LANES) for name, vms in (("among_few", few), ("among_many", many))}
    rates: dict[str, list[float]] = {name: [] for name in dsns}
    first = 0
    for _ in range(times):
        done = []
        for name, dsn in dsns.items():
            with Stead(
                "server", "server", "--open", "--database", dsn, "--nats", nats.url, "--cell", f"{CELL}-{name}"
            ) as stead:
                rate, count = load(stead.url, first, min(seconds, 2), stead.folder)
                rates[name].append(rate)
                done.append(count)
        first += max(done) + CLIENTS
    cost = middle([a / b for a, b in zip(rates["among_few"], rates["among_many"], strict=True)])
    detail = {
        f"a second at {few:,}": round(middle(rates["among_few"])),
        f"at {many:,}": round(middle(rates["among_many"])),
    }
    return Figure("admit at size", cost, "times the cost", f"{few:,} resources", GROWTH, at_most=True, detail=detail)


async def price(server: Postgres, nats: Nats, vms: int, seconds: float, times: int) -> Figure:
    """What it costs to know who asks and what they may, by roles and policies, against nobody being asked."""
    dsn = await filled(server, "asked", vms, LANES)
    token = await create_token(dsn, "bench", [("operator", "bench")], timedelta(hours=1))
    words = ("--database", dsn, "--nats", nats.url, "--cell", f"{CELL}-asked")
    ways: dict[str, tuple[str, ...]] = {"open": ("--open",), "roles": (), "policies": ()}
    rates: dict[str, list[float]] = {way: [] for way in ways}
    first = 0
    for turn in range(times):
        for way, more in sorted(ways.items(), reverse=turn % 2 == 1):  # whoever comes later finds more to do
            with folder_of(POLICIES) as folder:
                own = ("--policies", str(folder)) if way == "policies" else more
                with Stead("server", "server", *own, *words) as stead:
                    shown = "" if way == "open" else token
                    _, warm = load(stead.url, first, 1, stead.folder, token=shown)
                    first += warm + CLIENTS
                    rate, done = load(stead.url, first, min(seconds, 3), stead.folder, token=shown)
            rates[way].append(rate)
            first += done + CLIENTS
    cost = middle([a / b for a, b in zip(rates["open"], rates["policies"], strict=True)])
    roles = middle([a / b for a, b in zip(rates["open"], rates["roles"], strict=True)])
    detail = {"a second, open": round(middle(rates["open"])), "with policies": round(middle(rates["policies"]))}
    detail["times the cost with roles alone, in percent"] = round(roles * 100)
    says = "the same without knowing who asks"
    return Figure("admit, asked who", cost, "times the cost", says, PRICE, at_most=True, detail=detail)


@contextmanager
def folder_of(policies: Mapping[str, str]) -> Iterator[Path]:
    """Policies in files."""
    with TemporaryDirectory() as folder:
        for name, text in policies.items():
            (Path(folder) / f"{name}.cedar").write_text(text)
        yield Path(folder)
