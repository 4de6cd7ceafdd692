"""A field of a spec that is nearly the name of a known one is rejected, with that name, before anything begins."""

from __future__ import annotations

import httpx
import pytest

from stead.application.spec_fields import FIELDS, misspelled
from stead.catalog import KINDS
from tests.api.cell import Cell

PATHS = {"cloudlet": "/{ns}/s", "clusterinst": "/{ns}/s/c", "appinst": "/{ns}/s/c/a"}
"""Where a resource of the kind lies; others lie anywhere."""

READ_WHOLE = {"mci", "subgroup", "account", "node", "lease", "reservation", "event", "system", "service", "job"}
"""Kinds whose specs are read whole elsewhere, or which have none that a user writes."""


def test_every_kind_has_its_fields_known_or_its_spec_read_whole() -> None:
    assert set(FIELDS) | READ_WHOLE == set(KINDS)
    assert not set(FIELDS) & READ_WHOLE


@pytest.mark.parametrize("kind", FIELDS)
def test_misspelled_field_of_every_kind_is_found_and_known_fields_are_not(kind: str) -> None:
    assert list(misspelled(kind, dict.fromkeys(FIELDS[kind]))) == []
    long = [field for field in FIELDS[kind] if len(field) > 4]
    for field in long:
        wrong = field[:-3] + field[-2:]
        assert [says for _, says in misspelled(kind, {wrong: 1})] == [
            f"{kind} has no field {wrong}; did you mean {field}?"
        ]
    assert list(misspelled(kind, {"town": 1, "flavour": 2, "x" * 10_000: 3})) == []  # left to the driver


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("dry_run", [False, True])
def test_misspelled_field_is_rejected_at_admission_and_in_a_dry_run(
    cell: Cell, web: httpx.Client, ns: str, kind: str, *, dry_run: bool
) -> None:
    path = PATHS.get(kind, "/{ns}/thing").format(ns=ns)
    body = {"kind": kind, "spec": {"label": {"a": "b"}}, "lane": "" if kind in PATHS else "sim.a"}
    lifecycle = KINDS[kind]
    action = next(one.name for one in lifecycle.actions if lifecycle.initial.name in one.source and one.actors)
    where = f"/v1/resources{path}?action={action}" + ("&dry_run=true" if dry_run else "")
    answer = web.post(where, json=body)
    assert answer.status_code == 422, answer.text
    assert f"{kind} has no field label; did you mean labels?" in answer.text
    assert "spec.label" in answer.text
    assert web.get(f"/v1/resources{path}").status_code == 404


def test_misspelled_field_of_an_update_without_a_kind_is_rejected(cell: Cell, web: httpx.Client, ns: str) -> None:
    for path, kind in ((f"/{ns}/s", "cloudlet"), (f"/{ns}/s/c", "clusterinst"), (f"/{ns}/s/c/a", "appinst")):
        cell.put(path, kind)
    body = {"spec": {"comand": ["serve"]}}
    answer = web.post(f"/v1/resources/{ns}/s/c/a?action=update", json=body)
    assert answer.status_code == 422, answer.text
    assert "appinst has no field comand; did you mean command?" in answer.text
