"""Input that cannot be accepted: a typed error that says what to do, and nothing is written."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import (
    AgentIdError,
    ConfigError,
    ContentError,
    DiskError,
    FileNotHereError,
    HomeError,
    HomeFormatError,
    HomeMissingError,
    HomeReadOnlyError,
    InputError,
    MemfolioError,
    NaiveTimeError,
    PathError,
)
from memfolio.memory import Memory
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import Change, PutPage
from memfolio.vault.disk import Disk
from memfolio.vault.past.past import write_digest
from memfolio.vault.paths import audit_ledger, state_ledger
from memfolio.vault.vault import Vault
from tests.disks import fill_up
from tests.vault.proof import BOT, check_home, configured, fork, item, snapshot, wait

NOBODY = 65534
NAIVE = datetime(2026, 11, 15, 12, 0)


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(config=configured(home), clock=clock) as opened:
        opened.add("main", [item("already there")], BOT)
        yield opened


def refuses(vault: Vault, error: type[MemfolioError], act: Callable[[], object]) -> None:
    """The act fails with exactly this error, with a hint, and the home is as it was."""
    before = snapshot(vault.home.root)
    with pytest.raises(error) as caught:
        act()
    assert caught.value.hint
    assert caught.value.message
    assert snapshot(vault.home.root) == before
    assert vault.add("main", [item("the next one works")], BOT).ids


CONTENTS = {
    "empty": "",
    "blank": " \n\t\n ",
    "NUL": "one\0two",
    "over-long": "x" * (1024 * 1024 + 1),
    "over-long in bytes": "é" * (512 * 1024 + 1),
    "half a surrogate pair": "one\ud800two",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_content_that_cannot_be_remembered_is_refused(vault: Vault, content: str) -> None:
    refuses(vault, ContentError, lambda: vault.add("main", [item(content)], BOT))
    refuses(vault, ContentError, lambda: vault.add("main", [item("good"), item(content)], BOT))


def test_content_of_just_the_longest_length_is_accepted(home: Path, vault: Vault) -> None:
    content = "x" * 1024 * 1024
    [mark] = vault.add("main", [item(content)], BOT).ids
    vault.close()
    check_home(home, {mark: content})


VALUES: dict[str, tuple[type[InputError], dict[str, object]]] = {
    "naive event_time": (NaiveTimeError, {"event_time": NAIVE}),
    "naive valid_from": (NaiveTimeError, {"valid_from": NAIVE}),
    "naive valid_until": (NaiveTimeError, {"valid_until": NAIVE}),
    "importance above 1": (InputError, {"importance": 1.01}),
    "importance below 0": (InputError, {"importance": -0.01}),
    "importance nan": (InputError, {"importance": float("nan")}),
    "importance infinite": (InputError, {"importance": float("inf")}),
    "confidence above 1": (InputError, {"confidence": 7}),
    "decay_rate nan": (InputError, {"decay_rate": float("nan")}),
    "attributes that are no JSON": (InputError, {"attributes": {"x": object()}}),
}


@pytest.mark.parametrize(("error", "values"), VALUES.values(), ids=VALUES.keys())
def test_values_out_of_range_are_refused(vault: Vault, error: type[InputError], values: dict[str, object]) -> None:
    refuses(vault, error, lambda: vault.add("main", [item("words", **values)], BOT))


@pytest.mark.parametrize(
    "agent", ["../up", "a/b", "/etc", "", ".", "..", "A", "-x", "x" * 65, "a b", "ä", "a\0", "a\n"]
)
def test_an_agent_id_that_could_be_a_path_is_refused(vault: Vault, agent: str) -> None:
    refuses(vault, AgentIdError, lambda: vault.add(agent, [item("words")], BOT))


@pytest.mark.parametrize(
    "record", [{"id": "mine"}, {"actor": "human"}, {"x": float("nan")}, {"x": {1}}, {"x": "\ud800"}]
)
def test_a_record_that_cannot_be_a_line_is_refused(vault: Vault, record: dict[str, object]) -> None:
    refuses(vault, InputError, lambda: vault.add_lines(state_ledger("main"), [record], BOT))


@pytest.mark.parametrize(
    "values", [{"actor": "stranger"}, {"actor": "a b"}, {"trigger": "two words"}, {"session": "a\nb"}]
)
def test_an_attribution_that_is_prose_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        Attribution(**values)  # type: ignore[arg-type]
    assert caught.value.hint


def test_a_change_of_nothing_is_refused(vault: Vault) -> None:
    refuses(vault, InputError, lambda: vault.add("main", list[MemoryItem](), BOT))


def test_a_page_below_a_page_is_refused(vault: Vault) -> None:
    paths = ("agents/main/memory/x.md", "agents/main/memory/x.md/y.md")
    both = Change(operations=tuple(PutPage(path, b"# X\n", None) for path in paths), by=BOT, action=Action.CREATE)
    refuses(vault, InputError, lambda: vault.apply(both))
    vault.put_page(paths[0], b"# X\n", expects=None, by=BOT)
    refuses(vault, InputError, lambda: vault.put_page(paths[1], b"# Y\n", expects=None, by=BOT))


def test_lines_for_the_trail_are_refused(vault: Vault) -> None:
    refuses(vault, PathError, lambda: vault.add_lines(audit_ledger("2026-11"), [{"x": 1}], BOT))


@pytest.mark.parametrize("month", ["0000-05", "２０２６-11", "2026-13", "2026-1", "2026-11\n", ""])
def test_a_digest_of_no_month_is_refused(vault: Vault, month: str) -> None:
    refuses(vault, InputError, lambda: write_digest(vault, month))


def test_a_trail_that_is_a_link_is_a_typed_error_whatever_is_asked(home: Path, tmp_path: Path, vault: Vault) -> None:
    part = home / vault.trail.parts()[0]
    part.rename(tmp_path / "elsewhere.jsonl")
    part.symlink_to(tmp_path / "elsewhere.jsonl")
    acts: list[Callable[[], object]] = [
        vault.alerts,
        vault.verify,
        vault.doctor,
        lambda: write_digest(vault, "2026-11"),
        lambda: Memory(vault, "main", background=False).status(),
        lambda: vault.add("main", [item("words")], BOT),
    ]
    for act in acts:
        with pytest.raises(FileNotHereError) as caught:
            act()
        assert "link" in caught.value.hint
    part.unlink()
    (tmp_path / "elsewhere.jsonl").rename(part)


def test_what_was_closed_is_not_written_and_can_still_be_read(home: Path, vault: Vault) -> None:
    vault.close()
    before = snapshot(home)
    acts: list[Callable[[], object]] = [
        lambda: vault.add("main", [item("too late")], BOT),
        lambda: vault.put_page("agents/main/USER.md", "too late\n", expects=None, by=BOT),
        lambda: vault.acknowledge([1]),
        vault.survey,
        vault.adopt,
    ]
    for act in acts:
        with pytest.raises(HomeError) as caught:
            act()
        assert "open it again" in caught.value.hint
    assert [each.content for each in vault.entries("main")] == ["already there"]
    assert write_digest(vault, "2026-11")
    vault.close()
    assert snapshot(home) == before


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    for path in (tmp_path / "home", tmp_path / "home/below"):
        with pytest.raises(MemfolioError) as caught:
            Vault.open(config=configured(path))
        assert caught.value.hint
    with pytest.raises(HomeMissingError):
        Vault.open(config=configured(tmp_path / "home"))
    assert snapshot(tmp_path) == {"home": b"a file"}


def as_nobody(act: Callable[[], None]) -> None:
    """Run in a process that the modes of files mean something to: root ignores them."""

    def drop_and_act() -> None:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        act()

    assert wait(fork(drop_and_act)) == 0


def test_a_read_only_home_opens_for_reading(quick_path: Path) -> None:
    quick_path.chmod(0o755)
    home = quick_path / "home"
    with Vault.open(config=configured(home)) as vault:
        vault.put_page("agents/main/MEMORY.md", "words\n", expects=None, by=BOT)
    home.chmod(0o755)
    if os.getuid() != 0:
        subprocess.run(["chmod", "-R", "a-w", home], check=True)
    before = snapshot(home)

    def read_and_fail_to_write() -> None:
        with Vault.open(config=configured(home)) as vault:
            assert isinstance(vault.trouble, HomeReadOnlyError)
            page = vault.page("agents/main/MEMORY.md")
            assert page is not None
            assert page.text == "words\n"
            with pytest.raises(HomeReadOnlyError) as caught:
                vault.add("main", [item("words")], BOT)
            assert caught.value.hint

    as_nobody(read_and_fail_to_write)
    assert snapshot(home) == before
    subprocess.run(["chmod", "-R", "u+w", home], check=True)


def test_a_home_that_cannot_be_made_is_a_typed_error(quick_path: Path) -> None:
    folder = quick_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    quick_path.chmod(0o755)

    def fail_to_open() -> None:
        with pytest.raises(HomeReadOnlyError) as caught:
            Vault.open(config=configured(folder / "home"))
        assert caught.value.hint

    as_nobody(fail_to_open)
    assert list(folder.iterdir()) == []


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(small_disk: Path) -> None:
    home = small_disk / "home"
    with Vault.open(config=configured(home)) as vault:
        done = {vault.add("main", [item("before")], BOT).ids[0]: "before"}
        before = {path: path.read_bytes() for path in home.rglob("*.md")}
        free = fill_up(small_disk)
        acts: list[Callable[[], object]] = [
            lambda: vault.add("main", [item("x" * 9000)], BOT),
            lambda: vault.add("other", [item("words")], BOT),
            lambda: vault.put_page("agents/main/MEMORY.md", "x" * 9000, expects=None, by=BOT),
        ]
        for act in acts:
            with pytest.raises(DiskError) as caught:
                act()
            assert "space" in caught.value.hint
        assert {path: path.read_bytes() for path in home.rglob("*.md")} == before
        free()
        done[vault.add("main", [item("after")], BOT).ids[0]] = "after"
    check_home(home, done)


class FullDisk(Disk):
    """Has room for half of what is written, and then for nothing."""

    def __init__(self) -> None:
        self.full = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.full:
            return super().write(fd, data)
        if len(data) > 1:
            return super().write(fd, bytes(data[: len(data) // 2]))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_fills_up_in_the_middle_of_a_write_leaves_nothing_half_done(home: Path) -> None:
    disk = FullDisk()
    with Vault.open(config=configured(home), disk=disk) as vault:
        done = {vault.add("main", [item("before")], BOT).ids[0]: "before"}
        before = snapshot(home)
        disk.full = True
        acts: list[Callable[[], object]] = [
            lambda: vault.add("main", [item("words")], BOT),
            lambda: vault.add("main", [item("two"), item("entries")], BOT),
            lambda: vault.add("other", [item("words")], BOT),
            lambda: vault.put_page("agents/main/MEMORY.md", "words\n", expects=None, by=BOT),
        ]
        for act in acts:
            with pytest.raises(DiskError) as caught:
                act()
            assert "space" in caught.value.hint
        after = snapshot(home)
        assert {path: data for path, data in after.items() if data is not None} == {
            path: data for path, data in before.items() if data is not None
        }
        disk.full = False
        done[vault.add("main", [item("after")], BOT).ids[0]] = "after"
    check_home(home, done)


BROKEN = {
    "a newer format": ("format = 2\n", HomeFormatError),
    "no TOML": ("timezone = \n", ConfigError),
    "a wrong type": ("lock_timeout = 'soon'\n", ConfigError),
    "out of range": ("max_content_bytes = -1\n", ConfigError),
    "no such zone": ("timezone = 'Mars/Olympus'\n", ConfigError),
}


@pytest.mark.parametrize(("text", "error"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_or_newer_configuration_is_a_typed_error(
    home: Path, vault: Vault, text: str, error: type[MemfolioError]
) -> None:
    vault.close()
    (home / "memfolio.toml").write_text(text)
    before = snapshot(home)
    with pytest.raises(error) as caught:
        Vault.open(config=load_config(home, environ={"HOME": str(home.parent)}))
    assert caught.value.hint
    assert str(home) in caught.value.message
    assert snapshot(home) == before
