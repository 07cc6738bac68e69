"""The trials are themselves on trial: bugs planted into the vault, each of which they must find."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import MemfolioError
from memfolio.vault import journal, reconcile, recover
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.committer import Committer
from memfolio.vault.disk import Disk, FileLock, Stamp
from memfolio.vault.journal import GENESIS, Journal, TrailLine, Written, seal
from memfolio.vault.reconcile import Reconciler
from memfolio.vault.writer import FileWriter, Intents, Plan, Writer, receipt_of
from tests.vault.conftest import Tally
from tests.vault.faults import COMMITTING, LOG, PAGE, Scenario, Stage, named
from tests.vault.trials import (
    cut_the_power,
    die_before_a_person,
    die_everywhere,
    in_place,
    intrude_everywhere,
    meddle_everywhere,
    refuse_everywhere,
    same_size,
)

Plant = Callable[[pytest.MonkeyPatch], None]
Hunt = Callable[[Path], object]

MORE = named("further memories")
FULL = named("log and ledger roll over")
ROLLING = named("trail rolls over")
MANY = named("many memories over several parts")
PAGES = named("page created, replaced, deleted")
SEVERAL = named("several files at once")
EDITED = named("a person's edits are reconciled")
STALE = named("a stale editor saved over memories")
QUICKER = named("a person is quicker")
EXTENDED = named("a page is extended")
KEYED = named("requests with a key")


@dataclass(frozen=True)
class Bug:
    """What is wrong, how it is put in, and which trial should find it."""

    name: str
    plant: Plant
    hunt: Hunt


def crash(scenario: Scenario, **more: Any) -> Hunt:
    return lambda folder: die_everywhere(scenario, folder / "home", **more)


def power(scenario: Scenario) -> Hunt:
    return lambda folder: cut_the_power(scenario, folder, 600)


def errors(scenario: Scenario) -> Hunt:
    return lambda folder: refuse_everywhere(scenario, folder / "home")


def person(scenario: Scenario, path: str, how: Callable[[Stage, str], None]) -> Hunt:
    return lambda folder: meddle_everywhere(scenario, folder / "home", path, how)


def becomes(owner: object, name: str, broken: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, broken)


def appends_without_sync(self: Disk, fd: int, data: bytes, *, sync: bool, before: int | None = None) -> Stamp:
    self.write_all(fd, data)
    return self.stamp_of(fd)


def appends_and_ignores_errors(self: Disk, fd: int, data: bytes, *, sync: bool, before: int | None = None) -> Stamp:
    with suppress(OSError):
        self.write_all(fd, data)
    return self.stamp_of(fd)


def stages_without_sync(self: Disk, target: Path, data: bytes) -> tuple[Path, Stamp]:
    self.make_dirs(target.parent)
    temporary = target.parent / f".{target.name}.{os.urandom(6).hex()}.tmp"
    fd = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    self.write_all(fd, data)
    stamp = self.stamp_of(fd)
    self.close(fd)
    return temporary, stamp


def creates_in_place(self: Disk, path: Path, data: bytes, *, sync: bool = True) -> Stamp | None:
    self.make_dirs(path.parent)
    fd = self.open(path, os.O_WRONLY | os.O_CREAT)
    self.write_all(fd, data)
    self.fsync(fd)
    stamp = self.stamp_of(fd)
    self.close(fd)
    self.sync_dir(path.parent)
    return stamp


def appends_whatever_is_there(self: Disk, path: Path, data: bytes, expected: Stamp) -> Stamp | None:
    return self.append(path, data, sync=True)


def overwrites_pages(self: Writer, operation: PutPage) -> Written:
    content = self._journal.read(operation.path)
    was = None if content is None else self._home.hash(content)
    assert operation.content is not None
    return Written(operation.path, None, operation.content, was, self._home.hash(operation.content))


def enters_before_it_writes(self: Writer, change: Change) -> Receipt:
    plan = self._compose(change)
    if not self._tells_itself(change, plan):
        return receipt_of(self._carry_out(change, plan), plan)
    details: dict[str, Any] = {"ids": plan.ids, "key": change.key}
    line = self._journal.enter(change.action, change.by, plan.files[:1], **details)
    self._append_file(plan.files[0])
    return receipt_of(line, plan)


def drops_the_intent_too_early(self: Writer, change: Change, plan: Plan) -> TrailLine:
    intent = self._intents.save(self._journal.head.seq + 1, change, plan)
    file_writer = FileWriter(self._journal, self._reconciler)
    done = [file_writer.finish(planned) for planned in plan.files]
    self._intents.drop(intent)
    return self._journal.enter(change.action, change.by, done, ids=plan.ids, key=change.key)


def writes_several_files_without_intent(self: Writer, change: Change, plan: Plan) -> TrailLine:
    file_writer = FileWriter(self._journal, self._reconciler)
    done = [file_writer.finish(planned) for planned in plan.files]
    return self._journal.enter(change.action, change.by, done, ids=plan.ids, key=change.key, sync=True)


def notes_past_a_gap(self: Journal, line: dict[str, Any]) -> None:
    try:
        stamp = self._disk.append(self.path, json.dumps(line).encode() + b"\n", sync=False)
    except OSError:
        return
    self._inode, self._offset = stamp.inode, stamp.size


def commits_what_is_there_now(self: Committer, writes: Sequence[Written], content: bytes | None) -> bytes | None:
    return None if writes[-1].state is None else self._journal.read(writes[-1].path)


@contextmanager
def locks_nothing(self: FileLock, patience: float | None = None) -> Iterator[None]:
    yield


def seals_each_line_alone(line: TrailLine, previous: str) -> tuple[TrailLine, bytes]:
    return seal(line, GENESIS)


def keep_nothing_displaced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileWriter, "keep_displaced", lambda self, files: None)
    patch.setattr(Writer, "sweep", lambda self, leftovers: None)


def shows_no_stamp_change(self: Reconciler, path: str, **more: object) -> bool:
    return False


BUGS = (
    Bug("the ledger is not synced", becomes(Disk, "append_to", appends_without_sync), power(MORE)),
    Bug("folders are not synced", becomes(Disk, "sync_dir", lambda self, path: None), power(MANY)),
    Bug("staged files are not synced", becomes(Disk, "stage", stages_without_sync), power(PAGES)),
    Bug("a new file is written in place", becomes(Disk, "create", creates_in_place), crash(FULL)),
    Bug("errors of a write are ignored", becomes(Disk, "append_to", appends_and_ignores_errors), errors(MORE)),
    Bug(
        "the stamp is not checked",
        becomes(Disk, "_append_known", appends_whatever_is_there),
        person(MORE, LOG, same_size),
    ),
    Bug("a page's hash is not checked", becomes(Writer, "_compose_page", overwrites_pages), crash(QUICKER)),
    Bug("the trail is written first", becomes(Writer, "_make", enters_before_it_writes), crash(MORE)),
    Bug("several blocks go without intent", becomes(Writer, "_tells_itself", lambda *_: True), crash(KEYED)),
    Bug(
        "several files go without intent",
        becomes(Writer, "_carry_out", writes_several_files_without_intent),
        crash(SEVERAL),
    ),
    Bug("the intent is dropped too early", becomes(Writer, "_carry_out", drops_the_intent_too_early), crash(PAGES)),
    Bug("intents are not rolled forward", becomes(Intents, "waiting", lambda self: []), crash(SEVERAL)),
    Bug("intents are rolled forward twice", becomes(Writer, "_is_entered", lambda *_: False), crash(PAGES)),
    Bug("keys are forgotten", becomes(Journal, "made_under", lambda self, key: None), crash(KEYED)),
    Bug("torn entries are not cut off", becomes(Reconciler, "_cut_torn", lambda self, seen, whole: None), crash(MORE)),
    Bug(
        "torn entries are taken for whole",
        becomes(reconcile, "whole_length", lambda block, agent: len(block)),
        crash(MORE),
    ),
    Bug("own entries are taken for a person's", becomes(Reconciler, "_recover_own", lambda *_: False), crash(MORE)),
    Bug("other people's edits are not seen", becomes(Reconciler, "reconcile", shows_no_stamp_change), crash(EDITED)),
    Bug("stale editors win", becomes(Reconciler, "_lost", lambda self, seen, before: []), crash(STALE)),
    Bug("no conflict copies", keep_nothing_displaced, person(EXTENDED, PAGE, in_place)),
    Bug(
        "a person's end of a file is cut",
        becomes(FileWriter, "_is_begun", lambda *_: True),
        lambda folder: die_before_a_person(SEVERAL, folder / "home", (LOG,)),
    ),
    Bug("nothing is taken back", becomes(FileWriter, "take_back", lambda self: True), errors(SEVERAL)),
    Bug("the trail is not synced when it must be", becomes(Journal, "sync_trail", lambda self: None), power(ROLLING)),
    Bug(
        "torn lines of the trail are kept",
        becomes(recover, "_set_aside_torn", lambda journal, head, ours=(): recover._Cut(b"", b"")),
        crash(MORE),
    ),
    Bug("the chain is not linked", becomes(journal, "seal", seals_each_line_alone), crash(MORE)),
    Bug("gaps in the journal are overlooked", becomes(Journal, "_append", notes_past_a_gap), errors(PAGES)),
    Bug(
        "there is no lock",
        becomes(FileLock, "__call__", locks_nothing),
        lambda folder: intrude_everywhere(MORE, folder / "home"),
    ),
    Bug(
        "git gets what is there at the time",
        becomes(Committer, "_content_after", commits_what_is_there_now),
        crash(COMMITTING, git=True, stride=40),
    ),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Bug, quick_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally) -> None:
    bug.plant(monkeypatch)
    with pytest.raises((AssertionError, MemfolioError)):
        bug.hunt(quick_path)
    tally("planted bug found", 1)
