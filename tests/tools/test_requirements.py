from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tiers import first_fast
from tools import requirements
from tools.requirements import Outcomes, problems, proofs, read_list, table

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PAGE = """
| id | what | status |
|---|---|---|
| S0-01 | a thing `a|b` | open |
| S0-02 | another | core |
| X-03 | the third | done |
"""
PROVEN: Outcomes = {"S0-02": {"tests/a.py::test_a": "passed"}, "X-03": {"tests/b.py::test_b": "passed"}}


def test_the_list_is_the_rows_that_start_with_an_id() -> None:
    assert read_list(PAGE) == {"S0-01": "open", "S0-02": "core", "X-03": "done"}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("| X-03 | again | open |", "X-03 stands twice"),
        ("| X-04 | x | finished |", "X-04: 'finished' is none of"),
    ],
)
def test_a_list_that_cannot_be_trusted_is_refused(row: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_list(PAGE + row)


def test_nothing_is_wrong_where_core_and_done_have_a_passing_test() -> None:
    assert problems(read_list(PAGE), PROVEN) == []


@pytest.mark.parametrize("outcome", ["failed", "skipped", None])
@pytest.mark.parametrize(("id_", "status"), [("S0-02", "core"), ("X-03", "done")])
def test_what_is_core_or_done_needs_a_passing_test(id_: str, status: str, outcome: str | None) -> None:
    outcomes = {**PROVEN, id_: {"tests/c.py::test_c": outcome} if outcome else {}}
    assert f"{id_} is marked {status}, but no passing test carries it" in problems(read_list(PAGE), outcomes)


def test_a_failing_test_is_a_problem_even_beside_a_passing_one_and_even_if_open() -> None:
    outcomes = {
        "S0-01": {"tests/c.py::test_c[1]": "failed", "tests/c.py::test_c[2]": "passed"},
        **PROVEN,
    }
    assert problems(read_list(PAGE), outcomes) == ["S0-01 is carried by c.py::test_c, which failed"]


def test_an_unknown_id_is_a_problem() -> None:
    outcomes = {**PROVEN, "S9-99": {"tests/c.py::test_c": "passed"}}
    assert problems(read_list(PAGE), outcomes) == ["S9-99 is not in the list, but carried by c.py::test_c"]


def test_a_line_names_three_tests_and_counts_the_others() -> None:
    outcomes = {"S0-02": {f"tests/a.py::test_{name}[{n}]": "passed" for name in "abcde" for n in (1, 2)}}
    assert table(read_list(PAGE), outcomes) == [
        "S0-01 open",
        "S0-02 core a.py::test_a a.py::test_b a.py::test_c +2",
        "X-03  done",
    ]


@pytest.mark.parametrize(("outcome", "status", "count"), [("passed", 0, 1), ("failed", 1, 0)])
def test_the_last_line_counts_what_is_done_and_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcome: str, status: int, count: int
) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "evidence.json").write_text(json.dumps({**PROVEN, "X-03": {"tests/b.py::test_b": outcome}}))
    options = ["--list", str(tmp_path / "page.md"), "--evidence", str(tmp_path / "evidence.json")]
    assert requirements.main(options) == status
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == f"requirements: {count} of 3 proven"
    assert bool(printed.err) == bool(status)
    requirements.main([*options, "--brief"])
    assert capsys.readouterr().out == f"requirements: {count} of 3 proven\n"


def test_the_projects_own_list_is_whole() -> None:
    counts = {"S0": 20, "S1": 14, "S2": 11, "S3": 10, "S4": 7, "X": 12}
    expected = [f"{group}-{n:02}" for group, count in counts.items() for n in range(1, count + 1)]
    assert list(read_list((ROOT / requirements.LIST).read_text())) == expected


@pytest.mark.parametrize("workers", first_fast([[], ["-n", "2"]]), ids=["here", "in workers"])
def test_a_run_notes_how_each_test_ended(pytester: pytest.Pytester, workers: list[str]) -> None:
    pytester.makeini(f"[pytest]\npythonpath = {ROOT}\nmarkers = req(*ids)")
    pytester.makeconftest(
        """
        from pathlib import Path
        from tools.evidence import Evidence

        def pytest_configure(config):
            config.pluginmanager.register(Evidence(Path("build/evidence.json")))
        """
    )
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture
        def unclean():
            yield
            raise OSError

        @pytest.mark.req("A-01", "A-02")
        @pytest.mark.parametrize("n", [1, 2])
        def test_passes(n): pass

        @pytest.mark.req("A-02")
        def test_fails(): assert False

        @pytest.mark.req("A-03")
        def test_leaves_a_mess(unclean): pass

        @pytest.mark.req("A-04")
        class TestClass:
            @pytest.mark.skip
            def test_skipped(self): pass

            @pytest.mark.xfail
            def test_fails_as_known(self): assert False

        def test_carries_nothing(): assert False
        """
    )
    pytester.runpytest_subprocess(*workers)
    outcomes = json.loads((pytester.path / "build/evidence.json").read_text())
    passes = {"test_it.py::test_passes[1]": "passed", "test_it.py::test_passes[2]": "passed"}
    assert outcomes == {
        "A-01": passes,
        "A-02": {**passes, "test_it.py::test_fails": "failed"},
        "A-03": {"test_it.py::test_leaves_a_mess": "failed"},
        "A-04": {
            "test_it.py::TestClass::test_skipped": "skipped",
            "test_it.py::TestClass::test_fails_as_known": "skipped",
        },
    }
    assert proofs(outcomes, "A-01") == ["test_it.py::test_passes"]
