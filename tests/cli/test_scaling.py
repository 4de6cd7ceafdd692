"""`stead scaling`, as somebody at a terminal or a script sees it."""

from __future__ import annotations

import json

import httpx
import pytest
import yaml

from stead.cli.output import Code
from tests.api.cell import Cell
from tests.api.test_scaling import follow, policy, site
from tests.cli.remote import Stead


@pytest.mark.req("S1-12")
def test_a_policy_from_a_file_to_its_end(cell: Cell, web: httpx.Client, ns: str, stead: Stead) -> None:
    cell.obey(ns)
    site(cell, web, f"/{ns}/s", "c")
    text = yaml.safe_dump(policy(f"/{ns}/s/c"))
    assert stead("scaling", "put", f"{ns}/web", "-f", "-", stdin=text).out == f"{ns}/web is in force\n"
    assert stead("scaling", "list", "-n", ns).rows == [
        ["POLICY", "INSTANCES", "PLACES", "BOUNDS", "DECISION"],
        [f"{ns}/web", "web", "1", "0-3", "new"],
    ]
    assert stead("scaling", "demand", f"{ns}/web", "50").out == f"{ns}/web knows the demand\n"
    follow(cell, ns)
    said = stead("scaling", "show", f"{ns}/web").out.splitlines()
    assert said[0].startswith(f"{ns}/web: ")
    assert said[2] == f"instances of web: 1, of 0 to 3, at /{ns}/s/c"
    assert said[3].startswith("demand over all places: 50, measured 20")
    assert [line.split() for line in said if "web-1" in line] == [[f"/{ns}/s/c/web-1", "Ready", "the", "policy"]]
    assert [line.split()[1] for line in said if line.startswith(f"/{ns}/s/c ")] == ["create"]
    stead("scaling", "demand", f"{ns}/web", "60")
    follow(cell, ns)
    assert (
        "because: the demand over all places is 60, which is 60 for each of 1"
        in stead("scaling", "show", f"{ns}/web").out
    )
    whole = json.loads(stead("scaling", "show", f"{ns}/web", "-o", "json").out)
    assert (whole["code"], whole["policy"]["maximum"]) == ("rests", 3)
    assert stead("scaling", "list", "-n", ns, "-o", "name").out == f"{ns}/web\n"
    wide = stead("scaling", "list", "-n", ns, "-o", "wide").rows
    assert wide[0][5:] == ["SINCE", "BY", "MESSAGE"]
    gone = stead("scaling", "delete", f"{ns}/web")
    assert (gone.code, gone.out) == (Code.DONE, f"{ns}/web is no longer in force; its instances stay\n")
    assert stead("scaling", "show", f"{ns}/web").code == Code.NOT_FOUND


def test_wrong_use(cell: Cell, ns: str, stead: Stead) -> None:
    wrong = yaml.safe_dump(policy(f"/{ns}/s/c", down_below=90))
    answer = stead("scaling", "put", f"{ns}/web", "-f", "-", stdin=wrong)
    assert answer.code == Code.USAGE
    assert "body.down_below: it has to be at most half of up_above" in answer.err
    assert stead("scaling", "show", "web").code == Code.USAGE
    assert stead("scaling", "demand", f"{ns}/web", "1", "--at", "noon").code == Code.USAGE
    assert stead("scaling", "demand", f"{ns}/web", "1", "--at", "2026-01-01T00:00:00").code == Code.USAGE
    assert stead("scaling", "demand", f"{ns}/none", "1").code == Code.NOT_FOUND
    stead("scaling", "put", f"{ns}/web", "-f", "-", stdin=yaml.safe_dump(policy(f"/{ns}/s/c")))
    stead("scaling", "demand", f"{ns}/web", "1")
    late = stead("scaling", "demand", f"{ns}/web", "1", "--at", "2020-01-01T00:00:00Z")
    assert (late.code, late.out) == (Code.DONE, f"{ns}/web knew the demand\n")
    assert late.err == "the policy has a newer figure: this one changes nothing\n"
