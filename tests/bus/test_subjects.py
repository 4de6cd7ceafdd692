from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.bus.subjects import Recipient, Subjects, from_token, inbox, to_token

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=25)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("aws.us-east-1", "aws~us-east-1"),
        ("edge.site-17", "edge~site-17"),
        ("rack_3", "rack_3"),
        ("a b*c>d", "a=20b=2Ac=3Ed"),
        ("~=", "=7E=3D"),
        ("büro", "b=C3=BCro"),
    ],
)
def test_names_become_tokens(name: str, token: str) -> None:
    assert to_token(name) == token
    assert from_token(token) == name


@given(NAMES)
def test_any_name_is_one_token_and_comes_back(name: str) -> None:
    try:
        token = to_token(name)
    except ValueError:
        return
    assert re.fullmatch(r"[A-Za-z0-9_~=-]+", token)
    assert from_token(token) == name


@given(st.text("aZ09_~=.-*>% \u00e4", max_size=8))
def test_a_token_that_no_name_has_is_refused(token: str) -> None:
    try:
        name = from_token(token)
    except ValueError:
        return
    assert to_token(name) == token


@pytest.mark.parametrize("name", ["", "x" * 101, "\u20ac" * 20])
def test_a_name_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="empty or too long"):
        to_token(name)


def test_the_subjects_of_a_cell() -> None:
    cell = Subjects("eu.main")
    assert cell.order("aws.us-east-1") == "stead.eu~main.order.25.aws~us-east-1"
    assert cell.order("edge.site-17", Recipient("agent.a", 4)) == "stead.eu~main.order.31.edge~site-17.agent~a.4"
    assert cell.report("edge.site-17") == "stead.eu~main.report.edge~site-17"
    assert cell.agent_request("take-custody", "agent.a") == "stead.eu~main.take-custody.agent~a"
    assert cell.lane_request("probe", "edge.site-17") == "stead.eu~main.probe.edge~site-17"
    assert inbox("agent.a") == "_INBOX_agent~a"
    assert cell.consumer("edge.site-17", Recipient("agent.a", 4)) == "edge~site-17+agent~a+4"


@given(
    st.lists(st.tuples(NAMES, st.none() | st.builds(Recipient, NAMES, st.integers(0, 9))), unique=True, max_size=4)
)
def test_no_two_lanes_or_recipients_share_a_subject_or_a_consumer(places: list[tuple[str, Recipient | None]]) -> None:
    cell = Subjects("main")
    places = [
        place for place in places if all(fits(name) for name in (place[0], place[1].agent if place[1] else "x"))
    ]
    assert len({cell.order(*place) for place in places}) == len(places)
    assert len({cell.consumer(*place) for place in places}) == len(places)
    assert [cell.lane(cell.order(*place)) for place in places] == [lane for lane, _ in places]


def fits(name: str) -> bool:
    try:
        return bool(to_token(name))
    except ValueError:
        return False


def test_a_lane_is_read_from_a_report_and_from_nothing_else() -> None:
    cell = Subjects("main")
    assert cell.lane(cell.report("edge.site-17")) == "edge.site-17"
    for subject in ("stead.other.order.a", "stead.main.take-custody.a", "stead.main.hello.a", "order.a"):
        with pytest.raises(ValueError, match="of no lane"):
            cell.lane(subject)


@pytest.mark.parametrize("subject", ["report", "order", "order.3", ""])
def test_a_subject_that_ends_too_early_is_of_no_lane(subject: str) -> None:
    cell = Subjects("here")
    with pytest.raises(ValueError, match="no lane"):
        cell.lane(f"stead.here.{subject}")
