"""A person edits while memories are written: nobody's words are lost, and everybody's are attributed."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import HomeBusyError, PageChangedError
from memfolio.types import Action
from memfolio.vault.fields import text_id
from memfolio.vault.vault import Vault
from tests.vault.conftest import Tally
from tests.vault.proof import (
    BOT,
    blobs,
    check_commits,
    check_continuity,
    check_git,
    commits,
    configured,
    entries,
    files,
    find,
    fork,
    item,
    wait,
)

LOG = "agents/main/memory/2026-11-15.md"
PAGE = "agents/main/MEMORY.md"
Edit = Generator[None]


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def truncate_and_write(path: Path, words: bytes) -> Edit:
    content = read(path) + words
    path.write_bytes(content)
    yield


def save_beside_and_rename(path: Path, words: bytes) -> Edit:
    beside = path.with_name("draft.tmp")
    beside.write_bytes(read(path) + words)
    yield
    os.replace(beside, path)


def move_away_and_write_new(path: Path, words: bytes) -> Edit:
    content, backup = read(path), path.with_name(path.name + "~")
    if path.exists():
        os.replace(path, backup)
    yield
    path.write_bytes(content + words)
    yield
    backup.unlink(missing_ok=True)


def append(path: Path, words: bytes) -> Edit:
    with path.open("ab") as file:
        file.write(words)
    yield


def save_in_halves(path: Path, words: bytes) -> Edit:
    """Save through a handle that stays open meanwhile.

    Where the file is replaced between the halves, the second one goes into what was displaced. The vault waits for
    an editor that pauses for milliseconds (the races below show it), not for one that pauses for as long as it likes.
    """
    content = read(path) + words
    with path.open("wb") as file:
        yield
        file.write(content[: len(content) // 2])
        file.flush()
        yield
        file.write(content[len(content) // 2 :])


def save_a_stale_buffer(path: Path, words: bytes) -> Edit:
    content = read(path) + words
    yield
    yield
    path.write_bytes(content)


def change_in_the_middle(path: Path, words: bytes) -> Edit:
    lines = read(path).split(b"\n")
    lines.insert(len(lines) // 2, words.strip(b"\n"))
    yield
    path.write_bytes(b"\n".join(lines))


def delete(path: Path, words: bytes) -> Edit:
    path.unlink(missing_ok=True)
    yield


SAVES = [
    truncate_and_write,
    save_beside_and_rename,
    move_away_and_write_new,
    append,
    save_in_halves,
    save_a_stale_buffer,
    change_in_the_middle,
]


class Scene:
    """A writer and a person at one home, taking turns in random order."""

    def __init__(self, home: Path, clock: SettableClock, seed: int) -> None:
        self.home = home
        self.clock = clock
        self.chance = random.Random(seed)
        self.vault = Vault.open(config=configured(home), clock=clock)
        self.acknowledged: dict[str, str] = {}
        self.pages: list[bytes] = []
        self.saved: list[bytes] = []
        self.orphaned = 0
        self.unseen: dict[Path, list[bytes]] = {}
        self.editing: tuple[Edit, Path, bytes, bool] | None = None
        (home / "agents/main/memory").mkdir(parents=True)

    def turn(self, number: int) -> None:
        self.clock.advance(seconds=1)
        if self.editing is None and self.chance.random() < 0.3:
            self.begin_edit(number)
        elif self.editing is not None and self.chance.random() < 0.5:
            self.go_on()
        else:
            self.write(number)

    def begin_edit(self, number: int) -> None:
        path = self.home / self.chance.choice([LOG, LOG, PAGE])
        words = f"\nperson says {number}-{self.chance.randrange(10**9)}\n".encode()
        if self.chance.random() < 0.1:
            for _ in delete(path, words):
                self.unseen.pop(path, None)
            return
        way = self.chance.choice(SAVES)
        self.editing = (way(path, words), path, words.strip(), way is save_in_halves)

    def go_on(self) -> None:
        assert self.editing is not None
        edit, path, words, in_halves = self.editing
        ended = next(edit, "end") == "end"
        if path.exists():
            os.utime(path, (0, 0))  # nobody need wait for this editor: it pauses for longer than the vault does
        if ended:
            self.editing = None
            if not in_halves or words in read(path):
                self.unseen.setdefault(path, []).append(words)
            else:
                self.orphaned += 1  # see `save_in_halves`

    def write(self, number: int) -> None:
        match self.chance.choice(["add", "add", "add", "page", "survey", "commit", "reopen"]):
            case "add":
                self.acknowledged[self.vault.add("main", [item(f"bot {number}")], BOT).ids[0]] = f"bot {number}"
                self.see(LOG)
            case "page":
                self.write_page(number)
            case "survey":
                self.vault.survey()
                self.see(LOG, PAGE)
            case "commit":
                assert self.vault.commit() == 0
            case "reopen":
                self.vault.close()
                self.vault = Vault.open(config=configured(self.home), clock=self.clock)
                self.see(LOG, PAGE)

    def write_page(self, number: int) -> None:
        page = self.vault.page(PAGE)
        if page is None:
            self.vault.survey()  # a page that was not in git's index yet comes back: `git clean` may have taken it
            page = self.vault.page(PAGE)
        content = (page.content if page else b"") + f"bot page {number}\n".encode()
        self.vault.put_page(PAGE, content, expects=page.hash if page else None, by=BOT)
        self.pages.append(content)
        self.see(PAGE)

    def see(self, *paths: str) -> None:
        """The vault has looked at these files: what a person saved there is its responsibility now."""
        for path in paths:
            self.saved += self.unseen.pop(self.home / path, [])

    def end(self) -> None:
        while self.editing is not None:
            self.go_on()
        self.vault.survey()
        self.see(LOG, PAGE)
        check_scene(self.vault, self.acknowledged, self.saved)
        self.vault.close()
        check_git(self.home)


def check_scene(vault: Vault, acknowledged: dict[str, str], saved: list[bytes]) -> None:
    """Everybody's words are somewhere a person can find them, and the trail and git agree on whose they are."""
    home = vault.home.root
    assert vault.commit() == 0, vault.committer.obstacle
    everything = b"\n".join([*files(home).values(), *blobs(home)])
    for words in saved:
        assert words in everything, f"a person's words are lost: {words!r}"
    there = entries(home)
    removed = {path for line in vault.trail.lines() if line.by.actor == "human" for path in line.paths}
    for mark, content in acknowledged.items():
        assert content.encode() in everything
        assert mark in there or LOG in removed, f"{mark} is gone and nobody took it"
    rescued = {mark for line in vault.trail.lines() if line.action is Action.RESTORE for mark in line.ids}
    doubled = {mark for mark, contents in there.items() if len(contents) > 1}
    assert doubled <= rescued, "an entry stands twice that no editor took away and brought back"
    assert vault.trail.problems() == []
    check_continuity(vault)
    check_commits(vault)


@pytest.mark.parametrize("trials", [40, pytest.param(20_000, marks=pytest.mark.long)])
def test_nobody_loses_words_when_a_person_edits_during_writes(
    quick_path: Path, clock: SettableClock, trials: int, tally: Tally
) -> None:
    kept = written = said = orphaned = 0
    for trial in range(trials):
        scene = Scene(quick_path / f"home-{trial}", clock, trial)
        for number in range(16):
            scene.turn(number)
        scene.end()
        there = entries(scene.home)
        kept += sum(mark in there for mark in scene.acknowledged)
        written, said = written + len(scene.acknowledged), said + len(scene.saved)
        orphaned += scene.orphaned
    tally("a person edits between writes", trials)
    tally("saves by a person between writes", said)
    assert kept > written * 0.8, "memories go from their files only where a person took them out"
    assert orphaned < said / 20


def type_in_parallel(home: Path, report: Path, seed: int) -> None:
    """A person who saves again and again while the vault writes, in a process of their own."""
    chance, said = random.Random(seed), []
    for number in range(8):
        path = home / chance.choice([LOG, PAGE])
        words = f"\nperson {seed}.{number}.\n".encode()
        for _ in chance.choice(SAVES)(path, words):
            time.sleep(chance.uniform(0, 0.004))
        said.append(words.strip().decode())
        time.sleep(chance.uniform(0, 0.12))
    report.write_text(json.dumps(said))


def write_in_parallel(vault: Vault, is_over: Callable[[], bool]) -> dict[str, str]:
    acknowledged: dict[str, str] = {}
    for number in range(100_000):
        if is_over():
            return acknowledged
        try:
            acknowledged[vault.add("main", [item(f"bot {number}")], BOT).ids[0]] = f"bot {number}"
            page = vault.page(PAGE)
            content = (page.content if page else b"") + f"bot page {number}\n".encode()
            vault.put_page(PAGE, content, expects=page.hash if page else None, by=BOT)
        except (PageChangedError, HomeBusyError):
            pass
        time.sleep(0.001)
    return acknowledged


@pytest.mark.serial
@pytest.mark.parametrize("trials", [4, pytest.param(2_000, marks=pytest.mark.long)])
def test_nobody_loses_words_when_both_write_at_the_very_same_time(
    quick_path: Path, clock: SettableClock, trials: int, tally: Tally
) -> None:
    written = kept = 0
    for trial in range(trials):
        home, report = quick_path / f"home-{trial}", quick_path / f"report-{trial}"
        (home / "agents/main/memory").mkdir(parents=True)
        pid = fork(lambda home=home, report=report, trial=trial: type_in_parallel(home, report, trial))  # type: ignore[misc]
        with Vault.open(config=configured(home, commit_delay=0.01), clock=clock) as vault:
            acknowledged = write_in_parallel(vault, report.exists)
            assert wait(pid) == 0
            vault.survey()
            said = [words.encode() for words in json.loads(report.read_text())]
            check_scene(vault, acknowledged, said)
            there = entries(home)
        written, kept = written + len(acknowledged), kept + sum(mark in there for mark in acknowledged)
        check_git(home)
    tally("a person edits at the same moment", trials)
    assert kept > written * 0.8


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(config=configured(home), clock=clock) as opened:
        yield opened


def remember(vault: Vault, *notes: str) -> list[str]:
    return [vault.add("main", [item(note)], BOT).ids[0] for note in notes]


def actors(vault: Vault, path: str) -> list[tuple[Action, str]]:
    return [(line.action, line.by.actor) for line in vault.trail.lines() if path in line.paths]


def test_entries_that_a_stale_editor_overwrote_come_back(home: Path, vault: Vault) -> None:
    first = remember(vault, "one", "two")
    stale = (home / LOG).read_bytes()
    late = remember(vault, "three", "four")
    (home / LOG).write_bytes(stale + b"\n- a person's own line\n")
    next_one = remember(vault, "five")
    contents = [entries(home)[mark] for mark in [*first, *late, *next_one]]
    assert contents == [["one"], ["two"], ["three"], ["four"], ["five"]]
    assert find(vault, text_id("main", "a person's own line")) is not None
    assert b"- a person's own line" in (home / LOG).read_bytes()
    assert (Action.RESTORE, "system:recover") in actors(vault, LOG)


def test_an_entry_deleted_by_hand_twice_stays_deleted(home: Path, vault: Vault) -> None:
    remember(vault, "stays")
    before = (home / LOG).read_bytes()
    doomed = remember(vault, "goes")
    (home / LOG).write_bytes(before)
    vault.survey()
    assert doomed[0] in entries(home)
    (home / LOG).write_bytes(before)
    vault.survey()
    remember(vault, "after")
    assert doomed[0] not in entries(home)


def test_an_old_entry_deleted_by_hand_stays_deleted(home: Path, vault: Vault, clock: SettableClock) -> None:
    remember(vault, "stays")
    before = (home / LOG).read_bytes()
    doomed = remember(vault, "goes")
    clock.advance(minutes=11)
    (home / LOG).write_bytes(before)
    vault.survey()
    assert doomed[0] not in entries(home)


def test_an_entry_deleted_from_the_middle_stays_deleted(home: Path, vault: Vault) -> None:
    remember(vault, "one")
    start = (home / LOG).stat().st_size
    doomed = remember(vault, "two")
    end = (home / LOG).stat().st_size
    remember(vault, "three")
    content = (home / LOG).read_bytes()
    (home / LOG).write_bytes(content[:start] + content[end:])
    vault.survey()
    assert doomed[0] not in entries(home)


def test_an_edited_entry_keeps_its_id(home: Path, vault: Vault) -> None:
    [mark] = remember(vault, "Alex likes tea")
    path = home / LOG
    path.write_bytes(path.read_bytes().replace(b"tea", b"coffee"))
    remember(vault, "after")
    assert entries(home)[mark] == ["Alex likes coffee"]
    assert actors(vault, LOG)[1] == (Action.EDIT, "human")


def test_a_copy_of_an_entry_that_a_person_pastes_at_the_end_is_theirs(home: Path, vault: Vault) -> None:
    [mark] = remember(vault, "the original")
    content = (home / LOG).read_bytes()
    entry = content[content.index(b"##") :]
    (home / LOG).write_bytes(content + b"\n" + entry.replace(b"the original", b"my own version"))
    remember(vault, "after")
    assert b"my own version" in (home / LOG).read_bytes()
    assert entries(home)[mark][0] == "the original"


@pytest.mark.parametrize("words", ["## 14:30:05 buy milk", "##", "## 14:30", "- no line end", "{", "#"])
def test_words_saved_without_a_line_end_stay_findable(home: Path, vault: Vault, words: str) -> None:
    remember(vault, "one")
    with (home / LOG).open("a") as file:
        file.write(f"\n{words}")
    remember(vault, "two")
    vault.commit()
    assert words.encode() in b"\n".join([*files(home).values(), *blobs(home)])


def test_a_json_line_a_person_adds_without_a_line_end_stays_findable(home: Path, vault: Vault) -> None:
    from memfolio.vault.paths import state_ledger

    vault.add_lines(state_ledger("main"), [{"note": 1}], BOT)
    path = home / "agents/main/memory/meta/state/0001.jsonl"
    with path.open("a") as file:
        file.write('{"mine": "a person wrote this"}')
    vault.add_lines(state_ledger("main"), [{"note": 2}], BOT)
    vault.commit()
    assert b"a person wrote this" in b"\n".join([*files(home).values(), *blobs(home)])


def test_a_human_edit_is_committed_before_our_change_of_the_same_file(home: Path, vault: Vault) -> None:
    vault.put_page(PAGE, "one\n", expects=None, by=BOT)
    (home / PAGE).write_text("one\ntwo, by hand\n")
    page = vault.page(PAGE)
    assert page is not None
    vault.put_page(PAGE, "three\n", expects=page.hash, by=BOT)
    assert vault.commit() == 0
    found = [(each.author, vault.history.read(PAGE, commit=each.id)) for each in commits(vault.history, PAGE)]
    assert found == [
        (BOT.actor, b"three\n"),
        ("human", b"one\ntwo, by hand\n"),
        (BOT.actor, b"one\n"),
    ]


def test_a_change_composed_against_an_old_page_is_refused_with_the_current_one(home: Path, vault: Vault) -> None:
    vault.put_page(PAGE, "one\n", expects=None, by=BOT)
    old = vault.page(PAGE)
    assert old is not None
    (home / PAGE).write_text("by hand\n")
    with pytest.raises(PageChangedError) as caught:
        vault.put_page(PAGE, "late\n", expects=old.hash, by=BOT)
    assert caught.value.current == b"by hand\n"
    assert caught.value.current_hash == vault.home.hash(b"by hand\n")
    assert caught.value.hint
    assert (home / PAGE).read_text() == "by hand\n"
    assert actors(vault, PAGE)[-1] == (Action.EDIT, "human")


def test_a_deleted_page_is_recorded_as_a_persons_deletion(home: Path, vault: Vault) -> None:
    vault.put_page(PAGE, "one\n", expects=None, by=BOT)
    (home / PAGE).unlink()
    assert vault.survey() == [PAGE]
    assert actors(vault, PAGE)[-1] == (Action.DELETE, "human")
    assert vault.commit() == 0
    assert vault.history.read(PAGE) is None
