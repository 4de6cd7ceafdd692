"""The user ids of a machine: each is given once, to one namespace, also when several agents ask at once."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from stead.drivers.base import PermanentError
from stead.drivers.process.folders import Root
from stead.drivers.process.user_ids import UserIds, check_mapped, parse_range

IDS = range(1_900_000_000, 1_900_000_100)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users" / "ids.json"


def none() -> list[int]:
    return []


def test_namespace_keeps_its_id_and_no_other_gets_it(file: Path) -> None:
    first = {name: UserIds(file, IDS).of(name, none) for name in ("a", "b", "c")}
    again = {name: UserIds(file, IDS).of(name, none) for name in ("c", "a", "b")}
    assert first == again == {"a": IDS[0], "b": IDS[1], "c": IDS[2]}
    assert UserIds(file, IDS).owner(IDS[1]) == "b"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_agents_that_ask_at_once_share_no_id(file: Path) -> None:
    asks = f"""
import sys
from pathlib import Path
from stead.drivers.process.user_ids import UserIds
ids = UserIds(Path({str(file)!r}), range({IDS.start}, {IDS.stop}))
sys.stdin.read()
for number in range(20):
    print("common", ids.of(f"common-{{number}}", list))
    print(sys.argv[1], ids.of(f"{{sys.argv[1]}}-{{number}}", list))
"""
    agents = [
        subprocess.Popen([sys.executable, "-c", asks, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("a", "b", "c")
    ]
    for agent in agents:
        assert agent.stdin is not None
        agent.stdin.close()
        agent.stdin = None
    said = [agent.communicate(timeout=60)[0].splitlines() for agent in agents]
    common = [[line.split()[1] for line in lines if line.startswith("common")] for lines in said]
    own = [line.split()[1] for lines in said for line in lines if not line.startswith("common")]
    assert common[0] == common[1] == common[2]
    assert len({*common[0], *own}) == 20 + 3 * 20


def test_blocks_and_single_ids_do_not_overlap(file: Path) -> None:
    single = UserIds(file, range(IDS.start, IDS.start + 10))
    given = [single.of(name, none) for name in ("a", "b")]
    blocks = UserIds(file, range(IDS.start, IDS.start + 40), 10)
    firsts = [blocks.of(name, none) for name in ("a", "b", "c")]
    assert given == [IDS.start, IDS.start + 1]
    assert firsts == [IDS.start + 10, IDS.start + 20, IDS.start + 30]
    with pytest.raises(PermanentError, match="no user id is left"):
        blocks.of("d", none)


def test_another_range_gives_another_id(file: Path) -> None:
    """Agents of two cells on one machine have ranges of their own, since namespaces may have the same name."""
    assert UserIds(file, IDS).of("a", none) == IDS[0]
    assert UserIds(file, range(IDS.stop, IDS.stop + 5)).of("a", none) == IDS.stop


def test_accounts_of_the_machine_are_not_given(file: Path) -> None:
    accounts = sorted(one.pw_uid for one in pwd.getpwall() if one.pw_uid > 0)
    ids = UserIds(file, range(accounts[0], accounts[0] + 5000))
    assert ids.of("a", none) not in accounts


def test_lost_file_gives_no_id_that_owns_a_folder(tmp_path: Path, file: Path) -> None:
    root = Root(tmp_path / "root")
    folder = root.folder / "services" / "a+shop+web"
    folder.mkdir(parents=True)
    os.chown(folder, 0, IDS[0])
    assert UserIds(file, IDS).of("b", root.groups_in_use) == IDS[1]


def test_damaged_file_gives_no_id(file: Path) -> None:
    ids = UserIds(file, IDS)
    ids.of("a", none)
    file.write_text(file.read_text()[:-9])
    with pytest.raises(PermanentError, match="damaged"):
        ids.of("b", none)


@pytest.mark.parametrize("loose", ["file", "folder"])
def test_file_that_others_can_write_is_not_trusted(file: Path, loose: str) -> None:
    ids = UserIds(file, IDS)
    ids.of("a", none)
    (file if loose == "file" else file.parent).chmod(0o777)
    with pytest.raises(PermanentError, match="must belong to root"):
        ids.of("b", none)


def test_file_behind_a_link_is_not_read(tmp_path: Path, file: Path) -> None:
    (tmp_path / "elsewhere").write_text("{}")
    file.parent.mkdir(mode=0o700)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermanentError, match=r"ids\.json"):
        UserIds(file, IDS).of("a", none)


def test_range_is_first_and_last() -> None:
    assert parse_range("200000-200001") == range(200000, 200002)
    for wrong in ("5", "a-b", "-1-5", "7-3", "0-4", f"1-{2**32}"):
        with pytest.raises(ValueError, match="uids"):
            parse_range(wrong)


def test_ids_that_a_container_does_not_have_are_told(tmp_path: Path) -> None:
    maps = tmp_path / "uid_map"
    maps.write_text("         0       1000          1\n         1     100000      65535\n")
    check_mapped(range(10, 65536), str(maps))
    with pytest.raises(ValueError, match="does not have all of 10-65536"):
        check_mapped(range(10, 65537), str(maps))
