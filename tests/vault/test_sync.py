"""A home in a synced folder: one machine writes, conflict copies are taken in, what is not there is waited for."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import DiskError, FileNotHereError, HomeError, HomeMissingError, NotOwnerError, PageChangedError
from memfolio.types import Action
from memfolio.vault.disk import Disk
from memfolio.vault.move import cut_out, put_back
from memfolio.vault.paths import archive_log, is_home, state_ledger
from memfolio.vault.reconcile import original_of
from memfolio.vault.vault import Vault
from tests.vault.conftest import Tally
from tests.vault.proof import (
    BOT,
    blobs,
    check_git,
    check_home,
    configured,
    entries,
    files,
    git,
    item,
)

LOG = "agents/main/memory/2026-11-15.md"
STATE = "agents/main/memory/meta/state/0001.jsonl"
PAGE = "agents/main/MEMORY.md"
OWN = (".git/", "audit/", ".memfolio/")

STYLES: dict[str, Callable[[str, str], str]] = {
    "Dropbox": lambda stem, end: f"{stem} (B's conflicted copy 2026-11-15){end}",
    "Syncthing": lambda stem, end: f"{stem}.sync-conflict-20261115-143005-ABCDEF7{end}",
    "Nextcloud": lambda stem, end: f"{stem} (conflicted copy 2026-11-15 143005){end}",
    "OneDrive-like": lambda stem, end: f"{stem}-conflict-20261115-143005{end}",
}


class Sync:
    """Copies what changed on one side to the other; where both did, the second side's becomes a conflict copy.

    What is memfolio's own (trail, history, journal) is not merged by anybody: the first side's version stays.
    """

    def __init__(self, one: Path, other: Path, style: str) -> None:
        self._sides = (one, other)
        self._style = STYLES[style]
        self._base: dict[str, bytes] = {}

    def run(self) -> None:
        one, other = (_contents(side) for side in self._sides)
        for path in sorted(self._base.keys() | one.keys() | other.keys()):
            self._sync(path, one.get(path), other.get(path))
        self._base = _contents(self._sides[0])
        assert self._base == _contents(self._sides[1])

    def _sync(self, path: str, one: bytes | None, other: bytes | None) -> None:
        if one == other:
            return
        base = self._base.get(path)
        if one == base:
            _put(self._sides[0] / path, other)
        elif other == base or other is None or path.startswith(OWN):
            _put(self._sides[1] / path, one)
        elif one is None:
            _put(self._sides[0] / path, other)
        else:
            stem, dot, end = path.rpartition(".")
            for side in self._sides:
                _put(side / self._style(stem, dot + end), other)
            _put(self._sides[1] / path, one)


def _contents(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(("lock", ".tmp")))
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    os.utime(path, (0, 0))


def open_on(machine: str, root: Path, clock: SettableClock) -> Vault:
    return Vault.open(config=configured(root, machine=machine), clock=clock)


def write_some(vault: Vault, chance: random.Random, done: dict[str, str]) -> None:
    for _ in range(chance.randint(1, 4)):
        note = f"{vault.config.machine} {chance.randrange(10**9)}"
        if chance.random() < 0.3:
            done |= dict.fromkeys(vault.add_lines(state_ledger("main"), [{"note": note}], BOT).ids, f'"{note}"')
        else:
            done |= dict.fromkeys(vault.add("main", [item(note)], BOT).ids, note)
    page = vault.page(PAGE)
    content = (page.text if page else "") + f"page {chance.randrange(10**9)}\n"
    vault.put_page(PAGE, content, expects=page.hash if page else None, by=BOT)


def edit_by_hand(root: Path, chance: random.Random) -> list[bytes]:
    """A person's words in some files, as an editor on that machine leaves them."""
    said: list[bytes] = []
    for path in (LOG, PAGE):
        if chance.random() < 0.6:
            words = f"by hand {chance.randrange(10**9)}".encode()
            before = (root / path).read_bytes() if (root / path).exists() else b""
            _put(root / path, before + b"\n- " + words + b"\n")
            said.append(words)
    return said


def trial(folder: Path, clock: SettableClock, seed: int) -> None:
    """A writes, B reads and is edited by hand; sometimes both believe that they are the writer."""
    chance, done, said = random.Random(seed), dict[str, str](), list[bytes]()
    a, b = folder / "a", folder / "b"
    sync = Sync(a, b, chance.choice(sorted(STYLES)))
    with open_on("a", a, clock) as first:
        write_some(first, chance, done)
        first.commit()
    sync.run()
    with open_on("b", b, clock) as second:
        check_reading_only(second)
        if chance.random() < 0.5:
            second.adopt()
            write_some(second, chance, done)
    said += edit_by_hand(b, chance)
    with open_on("a", a, clock) as first:
        if first.trouble is None:
            write_some(first, chance, done)
    sync.run()
    finish(a, clock, done, said)
    sync.run()
    with open_on("b", b, clock) as second:
        assert isinstance(second.trouble, NotOwnerError)
        check_present(b, done)


def check_present(root: Path, done: dict[str, str]) -> None:
    """Every memory is there once; what a person wrote below an entry belongs to it."""
    there = entries(root)
    for mark, note in done.items():
        assert [content.split("\n")[0] for content in there[mark]] == [note]


def check_reading_only(vault: Vault) -> None:
    assert isinstance(vault.trouble, NotOwnerError)
    before = files(vault.home.root)
    with pytest.raises(NotOwnerError) as caught:
        vault.add("main", [item("not here")], BOT)
    assert "adopt" in caught.value.hint
    page = vault.page(PAGE)
    assert page is not None
    assert files(vault.home.root) == before


def finish(root: Path, clock: SettableClock, done: dict[str, str], said: list[bytes]) -> None:
    """The copies are taken in on A, whoever owned the home in between."""
    with open_on("a", root, clock) as vault:
        if vault.trouble is not None:
            vault.adopt()
        assert not [path for path in files(root) if original_of(path)], "a conflict copy was left where it lay"
        check_present(root, done)
        assert vault.commit() == 0
        assert vault.trail.problems() == []
        everything = b"\n".join([*files(root).values(), *blobs(root)])
        assert [words for words in said if words not in everything] == []
    check_git(root)


@pytest.mark.parametrize("trials", [10, pytest.param(5000, marks=pytest.mark.long)])
def test_two_machines_lose_nothing_and_one_of_them_writes(
    quick_path: Path, clock: SettableClock, trials: int, tally: Tally
) -> None:
    for seed in range(trials):
        trial(quick_path / str(seed), clock, seed)
    tally("two machines syncing one folder", trials)


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with open_on("a", home, clock) as opened:
        opened.add("main", [item("first")], BOT)
        opened.put_page(PAGE, "the page\n", expects=None, by=BOT)
        yield opened


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_copy_of_a_log_is_merged_by_id(home: Path, vault: Vault, style: str) -> None:
    shared = (home / LOG).read_bytes()
    [kept] = vault.add("main", [item("on this machine")], BOT).ids
    here = (home / LOG).read_bytes()
    vault.add("main", [item("on the other machine")], BOT)
    theirs = shared + (home / LOG).read_bytes()[len(here) :]
    (home / LOG).write_bytes(here)
    os.utime(home / LOG, (0, 0))
    _put(home / STYLES[style](LOG.removesuffix(".md"), ".md"), theirs)
    vault.survey()
    contents = sorted(content for found in entries(home).values() for content in found)
    assert contents == ["first", "on the other machine", "on this machine"]
    assert kept in entries(home)
    assert [path for path in files(home) if original_of(path)] == []


def forget(vault: Vault, mark: str, op: str = "tombstone") -> None:
    cut_out(vault, {LOG: [mark]}, by=BOT, records=[{"op": op, "memory": mark}])


def said(home: Path) -> dict[str, bytes]:
    """Every file but the trail and the archive, in which nothing that was forgotten may be."""
    return {path: data for path, data in files(home).items() if "/archive/" not in path}


@pytest.fixture
def pin(vault: Vault) -> str:
    return vault.add("main", [item("the pin is 7788")], BOT).ids[0]


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_copy_does_not_bring_back_what_was_forgotten(home: Path, vault: Vault, pin: str, style: str) -> None:
    copy = (home / LOG).read_bytes()
    forget(vault, pin)
    archived = (home / archive_log(LOG)).read_bytes()
    _put(home / STYLES[style](LOG.removesuffix(".md"), ".md"), copy)
    vault.survey()
    assert [path for path, data in said(home).items() if b"7788" in data] == []
    assert (home / archive_log(LOG)).read_bytes() == archived
    assert not (home / "agents/main/memory/conflicts").exists()


def test_an_edited_conflict_copy_is_set_aside_without_what_was_forgotten(home: Path, vault: Vault, pin: str) -> None:
    copy = (home / LOG).read_bytes().replace(b"first", b"first of all").replace(b"7788", b"7788, really")
    forget(vault, pin)
    name = STYLES["Dropbox"](LOG.removesuffix(".md"), ".md")
    _put(home / name, copy)
    vault.survey()
    aside = home / "agents/main/memory/conflicts" / name.rpartition("/")[2]
    assert b"first of all" in aside.read_bytes()
    assert [path for path, data in said(home).items() if b"7788" in data] == []
    assert vault.commit() == 0
    assert any(b"7788, really" in content for content in blobs(home)), "the person's words are in git"


def test_forgotten_hand_written_text_stays_out_of_conflicts(home: Path, vault: Vault) -> None:
    log = home / "agents/main/memory/2026-11-14.md"
    log.write_text("- buy oat milk\n\n- the pin is 7788\n")
    vault.survey()
    path = log.relative_to(home).as_posix()
    mark = next(each.id for each in vault.entries("main") if "7788" in each.content)
    cut_out(vault, {path: [mark]}, by=BOT, records=[{"op": "tombstone", "memory": mark}])
    _put(log.with_name("2026-11-14 (conflicted copy).md"), b"- buy oat milk\n\n- the pin is 7788\n\n- call Bo\n")
    vault.survey()
    assert [path for path, data in said(home).items() if b"7788" in data] == []
    assert any(b"call Bo" in data for data in said(home).values())


def test_a_forgotten_entry_that_only_a_conflict_copy_has_goes_to_the_archive(
    home: Path, vault: Vault, pin: str
) -> None:
    copy = (home / LOG).read_bytes()
    forget(vault, pin)
    (home / archive_log(LOG)).unlink()
    vault.survey()
    _put(home / STYLES["Syncthing"](LOG.removesuffix(".md"), ".md"), copy)
    vault.survey()
    assert [path for path, data in said(home).items() if b"7788" in data] == []
    put_back(vault, {LOG: [pin]}, by=BOT, records=[{"op": "restore", "memory": pin}])
    assert entries(home)[pin] == ["the pin is 7788"]


def test_nothing_of_a_purged_entry_is_kept(home: Path, vault: Vault, pin: str) -> None:
    copy = (home / LOG).read_bytes()
    forget(vault, pin, "purge")
    (home / archive_log(LOG)).unlink()
    vault.survey()
    _put(home / STYLES["Syncthing"](LOG.removesuffix(".md"), ".md"), copy)
    vault.survey()
    assert [path for path, data in files(home).items() if b"7788" in data] == []


def test_a_conflict_copy_brings_back_what_was_called_back(home: Path, vault: Vault, pin: str) -> None:
    copy = (home / LOG).read_bytes()
    forget(vault, pin)
    vault.add_lines(state_ledger("main"), [{"op": "restore", "memory": pin}], BOT)
    _put(home / STYLES["Syncthing"](LOG.removesuffix(".md"), ".md"), copy)
    vault.survey()
    assert entries(home)[pin] == ["the pin is 7788"]


def test_a_conflict_copy_of_an_archive_does_not_show_what_is_in_it(home: Path, vault: Vault, pin: str) -> None:
    forget(vault, pin)
    archive = home / archive_log(LOG)
    _put(archive.with_name("2026-11-15 (conflicted copy).md"), archive.read_bytes())
    vault.survey()
    assert [path for path, data in said(home).items() if b"7788" in data] == []


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_copy_of_a_page_goes_to_conflicts(home: Path, vault: Vault, style: str) -> None:
    name = STYLES[style](PAGE.removesuffix(".md"), ".md")
    _put(home / name, b"their page\n")
    vault.survey()
    assert not (home / name).exists()
    assert (home / PAGE).read_text() == "the page\n"
    aside = home / "agents/main/memory/conflicts" / name.rpartition("/")[2]
    assert aside.read_bytes() == b"their page\n"
    assert [line.action for line in vault.trail.lines()][-1] is Action.MERGE


@pytest.mark.parametrize(
    "name",
    [
        "notes (B's conflicted copy 2026-11-15).md",
        "notes (conflicted copy alex 2026-11-15 143005).md",
        "notes (Conflicted copy phone 202611151430).md",
        "notes (case conflict 1).md",
        "notes.sync-conflict-20261115-143005-ABCDEF7.md",
        "notes_conflict-20261115-143005.md",
        "notes (SFConflict alex@example.org 2026-11-15-14-30-05).md",
        "notes_Alex-PC_Nov-15-1430-2026_CaseConflict_1.md",
        "notes.Conflict.md",
    ],
)
def test_the_names_that_sync_programs_give_are_known(name: str) -> None:
    assert original_of(f"shared/{name}") == "shared/notes.md"


@pytest.mark.parametrize("name", ["Team retro (conflict resolution).md", "merge-conflict-2026-01-05.md"])
def test_a_page_about_conflicts_is_no_conflict_copy(home: Path, vault: Vault, name: str) -> None:
    for each in (name, "Team retro.md", "merge.md"):
        _put(home / "shared" / each, b"a page\n")
    vault.survey()
    assert (home / "shared" / name).read_bytes() == b"a page\n"


def test_a_name_like_a_conflict_copy_without_an_original_is_a_page(home: Path, vault: Vault) -> None:
    name = STYLES["Dropbox"]("shared/lonely", ".md")
    _put(home / name, b"a page\n")
    assert vault.survey() == [name]
    assert (home / name).read_bytes() == b"a page\n"


def test_a_conflict_copy_of_a_page_that_vanished_meanwhile_is_taken_in(home: Path, vault: Vault) -> None:
    name = STYLES["Dropbox"](PAGE.removesuffix(".md"), ".md")
    (home / PAGE).rename(home / name)
    vault.survey()
    assert (home / "agents/main/memory/conflicts" / name.rpartition("/")[2]).read_text() == "the page\n"


@pytest.mark.parametrize(
    "bad", ["agents/My Agent/notes (conflicted copy).md", "agents/main/notes (conflicted copy 10:20).md"]
)
def test_a_conflict_copy_that_cannot_be_merged_is_noted_and_stops_no_other(home: Path, vault: Vault, bad: str) -> None:
    good = STYLES["Dropbox"](PAGE.removesuffix(".md"), ".md")
    for path in (bad, f"{bad.partition(' (')[0]}.md", good):
        _put(home / path, b"words\n")
    vault.survey()
    assert list(vault.problems) == [bad]
    assert (home / bad).exists()
    assert not (home / good).exists()
    vault.add("main", [item("goes on")], BOT)


def test_a_clone_whose_first_opening_was_killed_calls_nothing_edited(
    home: Path, tmp_path: Path, vault: Vault, clock: SettableClock
) -> None:
    vault.close()
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(home), str(clone))
    half = Vault(configured(clone, machine="b"), clock=clock)
    half._found()  # and here the process dies
    with open_on("b", clone, clock) as again:
        assert [line for line in again.trail.lines() if line.by.actor == "human"] == []
        (clone / PAGE).write_text("edited\n")
        assert again.survey() == [PAGE]
    with open_on("b", clone, clock) as again:
        assert not again.home.has_new_key


def test_a_clone_is_a_home_and_gets_its_inside_when_it_is_opened(
    home: Path, tmp_path: Path, vault: Vault, clock: SettableClock
) -> None:
    vault.close()
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(home), str(clone))
    assert is_home(clone)
    assert not is_home(tmp_path)
    with open_on("b", clone, clock) as there:
        assert there.trouble is None
        assert [each.content for each in there.entries("main")] == ["first"]
        assert {finding.level for finding in there.verify()} == {"ok"}
        assert [line for line in there.trail.lines() if line.by.actor == "human"] == []


def test_a_home_whose_key_is_lost_gets_none_from_a_machine_that_only_reads(
    home: Path, vault: Vault, clock: SettableClock
) -> None:
    vault.close()
    (home / ".memfolio" / "key").unlink()
    with open_on("b", home, clock) as reading:
        assert isinstance(reading.trouble, NotOwnerError)
        assert not (home / ".memfolio" / "key").exists()
        notes = [finding for finding in reading.verify() if finding.level != "ok"]
        assert [(note.level, note.where) for note in notes] == [("note", "files")]
        reading.adopt()
        assert {finding.level for finding in reading.verify()} == {"ok"}


class Meddler(Disk):
    """Somebody makes the file in the very moment in which we put ours there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def rename_new(self, source: Path, target: Path) -> bool:
        if target.name == self._name and not target.exists():
            target.write_text("a person's page\n")
        return super().rename_new(source, target)


def test_a_page_that_a_person_makes_in_the_moment_of_ours_stays(home: Path, clock: SettableClock) -> None:
    with Vault.open(config=configured(home, machine="a"), clock=clock, disk=Meddler("plan.md")) as vault:
        with pytest.raises(PageChangedError) as caught:
            vault.put_page("agents/main/plan.md", "a bot's page\n", expects=None, by=BOT)
        assert caught.value.current == b"a person's page\n"
        vault.survey()
        assert (home / "agents/main/plan.md").read_text() == "a person's page\n"
    check_home(home, {}, configured(home, machine="a"))


def test_a_folder_where_a_page_should_be_is_a_typed_error(home: Path, vault: Vault) -> None:
    (home / "agents/main/plan.md").mkdir()
    with pytest.raises(DiskError) as caught:
        vault.put_page("agents/main/plan.md", "words\n", expects=None, by=BOT)
    assert caught.value.hint
    vault.add("main", [item("goes on")], BOT)


def test_adopting_moves_the_ownership(home: Path, vault: Vault, clock: SettableClock) -> None:
    vault.commit()
    with open_on("b", home, clock) as other:
        check_reading_only(other)
        other.adopt()
        assert other.trouble is None
        other.add("main", [item("written by b")], BOT)
        with pytest.raises(NotOwnerError):
            vault.add("main", [item("no longer allowed")], BOT)
        other.commit()
    check_home(home, {}, configured(home, machine="b"))


def make_sparse(path: Path) -> None:
    size = path.stat().st_size
    path.unlink()
    with path.open("wb") as file:
        file.truncate(size)


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_link(path: Path) -> None:
    elsewhere = path.parents[4] / "elsewhere.md"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)


def make_icloud(path: Path) -> None:
    path.unlink()
    path.with_name(f".{path.name}.icloud").write_bytes(b"bplist00")


def unmake(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.icloud").unlink(missing_ok=True)
    path.write_bytes(content)


PLACEHOLDERS = [make_sparse, make_fifo, make_link, make_icloud]


@pytest.mark.parametrize("make", PLACEHOLDERS)
def test_a_placeholder_is_not_a_deletion_and_stops_nobody_else(
    home: Path, vault: Vault, clock: SettableClock, make: Callable[[Path], None]
) -> None:
    [mark] = vault.add("main", [item("in the cloud")], BOT).ids
    content = (home / LOG).read_bytes()
    make(home / LOG)
    with pytest.raises(HomeError) as caught:
        vault.add("main", [item("cannot be appended")], BOT)
    assert caught.value.hint
    (home / PAGE).write_text("edited meanwhile\n")
    assert vault.survey() == [PAGE], "one bad file never stops the others"
    assert LOG in vault.problems
    vault.add("other", [item("elsewhere")], BOT)
    vault.close()
    with open_on("a", home, clock) as again:
        assert LOG in again.problems
        unmake(home / LOG, content)
        assert again.survey() == []
        assert again.problems == {}
        again.add("main", [item("goes on")], BOT)
        assert [line for line in again.trail.lines() if line.action is Action.DELETE] == []
    check_home(home, {mark: "in the cloud"}, configured(home, machine="a"))


def test_an_unreadable_placeholder_page_is_a_typed_error(home: Path, vault: Vault) -> None:
    make_fifo(home / PAGE)
    with pytest.raises(FileNotHereError):
        vault.page(PAGE)


def move_away(home: Path) -> Path:
    return home.rename(home.with_name("away"))


def bring_back(home: Path, away: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    away.rename(home)


@pytest.mark.parametrize("replacement", ["nothing", "an empty folder", "another home", "a file"])
def test_a_vanished_home_stops_writing_until_it_is_back(
    home: Path, vault: Vault, clock: SettableClock, replacement: str
) -> None:
    away = move_away(home)
    before = {path: path.read_bytes() for path in away.rglob("*") if path.is_file() and path.name != "lock"}
    if replacement == "an empty folder":
        home.mkdir()
    elif replacement == "another home":
        open_on("a", home, clock).close()
    elif replacement == "a file":
        home.write_text("not a folder")
    for write in (lambda: vault.add("main", [item("nowhere")], BOT), vault.survey):
        with pytest.raises(HomeMissingError) as caught:
            write()
        assert caught.value.hint
    if replacement in ("nothing", "an empty folder"):
        assert not home.exists() or list(home.iterdir()) == [], "nothing was written into the gap"
    if home.is_file():
        home.unlink()
    bring_back(home, away)
    assert {path: (home / path.relative_to(away)).read_bytes() for path in before} == before
    vault.add("main", [item("back")], BOT)
    assert [line for line in vault.trail.lines() if line.action is Action.DELETE] == []


def fill(vault: Vault, pages: int) -> list[str]:
    paths = [f"agents/main/mind/Page-{number}.md" for number in range(pages)]
    for path in paths:
        vault.put_page(path, f"{path}\n", expects=None, by=BOT)
    return paths


@pytest.mark.parametrize("trials", [12, pytest.param(700, marks=pytest.mark.long)])
def test_an_emptied_home_is_not_taken_for_a_persons_wish(
    tmp_path: Path, clock: SettableClock, trials: int, tally: Tally
) -> None:
    for number in range(trials):
        home = tmp_path / str(number)
        with open_on("a", home, clock) as vault:
            vault.add("main", [item("first")], BOT)
            fill(vault, 3 + number)
            vault.commit()
            kept = shutil.copytree(home / "agents", tmp_path / f"kept-{number}")
            shutil.rmtree(home / "agents")
            for write in (vault.survey, partial(vault.add, "main", [item("too late")], BOT)):
                with pytest.raises(HomeMissingError) as caught:
                    write()
                assert "accept-missing" in caught.value.hint
            with pytest.raises(HomeMissingError):
                open_on("a", home, clock)
            assert [line for line in vault.trail.lines() if line.action is Action.DELETE] == []
            shutil.rmtree(home / "agents", ignore_errors=True)
            shutil.copytree(kept, home / "agents")
            vault.survey()
            vault.add("main", [item("it is back")], BOT)
            assert [line for line in vault.trail.lines() if line.action is Action.DELETE] == []
    tally("emptied homes", trials)


def test_an_emptied_home_can_be_accepted(home: Path, vault: Vault, clock: SettableClock) -> None:
    paths = fill(vault, 4)
    vault.commit()
    shutil.rmtree(home / "agents")
    vault.survey(accept_missing=True)
    gone = {path for line in vault.trail.lines() if line.action is Action.DELETE for path in line.paths}
    assert gone == {*paths, LOG, PAGE}
    assert vault.commit() == 0
    check_git(home)


def test_a_few_deleted_pages_are_a_persons_wish(home: Path, vault: Vault) -> None:
    paths = fill(vault, 6)
    for path in paths[:2]:
        (home / path).unlink()
    assert vault.survey() == paths[:2]
