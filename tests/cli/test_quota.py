"""`stead quota`, and what somebody is told who wants too much."""

from __future__ import annotations

import httpx

from stead.cli.output import Code
from tests.api.cell import Cell
from tests.api.test_queues import deployed
from tests.cli.remote import Stead


def test_quotas_are_set_shown_and_held(cell: Cell, web: httpx.Client, ns: str, stead: Stead) -> None:
    account = {"kind": "account"}
    assert web.post(f"/v1/resources/{ns}?action=create", json=account).status_code == 202
    deployed(cell, web, f"/{ns}/space/a")
    done = stead("quota", "set", ns, "--machines", "1", "--memory", "4096")
    assert (done.code, done.rows[1]) == (Code.DONE, ["machines", "1", "1"])
    assert ["memory", "512", "MiB", "4096", "MiB"] in done.rows
    full = web.post(f"/v1/resources/{ns}/space/b?action=deploy", json={"kind": "machine", "lane": "dc.1"})
    assert (full.status_code, full.json()["code"]) == (409, "quota")
    assert full.json()["detail"] == f"/{ns} has 1 of 1 machines that it may have"
    told = web.get(f"/v1/explain?path=/{ns}/space/b&action=deploy&kind=machine").json()
    assert [remedy["kind"] for remedy in told["remedies"]] == ["quota"]
    gone = stead("quota", "set", ns, "--machines", "none")
    assert gone.rows[1] == ["machines", "1", "-"]
    assert stead("quota", "show", ns).out == gone.out
    deployed(cell, web, f"/{ns}/space/b")


def test_nonsense_is_told(cell: Cell, ns: str, stead: Stead) -> None:
    assert stead("quota", "set", ns).code == Code.USAGE
    assert stead("quota", "set", ns, "--machines", "some").code == Code.USAGE
    missing = stead("quota", "show", f"{ns}/nothing")
    assert (missing.code, f"there is nothing at /{ns}/nothing" in missing.err) == (Code.NOT_FOUND, True)


def test_quota_of_the_leases_of_a_namespace_without_a_record(ns: str, stead: Stead) -> None:
    set_ = stead("quota", "set", ns, "--hosts", "2", "--lease-seconds", "3600")
    assert set_.code == Code.DONE
    assert set_.rows[-2:] == [["hosts", "0", "2"], ["lease_seconds", "0", "s", "3600", "s"]]
    assert stead("host", "add", f"{ns}-h1", "--lane", "rack.lab", "--property", f"of={ns}").code == Code.DONE
    words = ("lease", "create", f"{ns}/one", "--from", "2030-01-07T08:00:00Z", "--with", f"of={ns}", "--to")
    refused = stead(*words, "+2h")
    assert (refused.code, f"a lease of {ns} may last 3600 s, and this one would last 7200 s" in refused.err) == (
        Code.FAILED,
        True,
    )
    assert stead(*words, "+1h").code == Code.DONE
    assert stead("quota", "show", ns).rows[-2] == ["hosts", "1", "2"]
    assert stead("quota", "set", ns, "--machines", "1").code == Code.NOT_FOUND
