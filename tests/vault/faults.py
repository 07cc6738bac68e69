"""Scenarios that are made to go wrong.

A `Stage` is one run of a scenario: it asks the vault for changes and keeps a record, outside of the home, of what was
asked and what was acknowledged. `judge.py` holds the home against that record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, MemfolioError
from memfolio.types import Action
from memfolio.vault.change import AddEntries, AddLines, Change, PutPage, Receipt
from memfolio.vault.disk import Disk
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.disks import Crash, QuickDisk, RecordingDisk
from tests.vault.proof import BOT, configured, item

LOG = "agents/main/memory/2026-11-15.md"
SECOND_LOG = "agents/main/memory/2026-11-15-2.md"
PAGE = "agents/main/MEMORY.md"
OTHER_PAGE = "agents/main/mind/Goals.md"


@dataclass
class Request:
    """A change that was asked for: the memories and pages that belong together, and how it was answered."""

    texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pages: dict[str, bytes | None] = field(default_factory=dict)
    key: str | None = None
    receipt: Receipt | None = None


@dataclass
class Stage:
    """One run of a scenario on one home."""

    home: Path
    disk: Disk = field(default_factory=QuickDisk)
    git: bool = False
    persistent: bool = False
    """Whether the scenario goes on after an error, as a caller does that tries something else."""
    clock: SettableClock = field(default_factory=lambda: SettableClock(START))
    requests: list[Request] = field(default_factory=list)
    edits: dict[str, list[str]] = field(default_factory=dict)
    """What a person put into which file, and must find again somewhere."""
    acknowledged: Callable[[], None] = lambda: None
    """Called whenever something has become a promise."""

    @contextmanager
    def vault(self) -> Iterator[Vault]:
        """The home, opened on this run's disk; when the process dies, nothing is closed in an orderly way."""
        config = configured(self.home, git_enabled=self.git, max_ledger_bytes=4096, lock_timeout=2.0)
        vault = Vault.open(config=config, clock=self.clock, disk=self.disk)
        try:
            yield vault
        finally:
            with suppress(Crash, MemfolioError, OSError):
                vault.close()

    @contextmanager
    def _asking(self, request: Request) -> Iterator[Request]:
        self.requests.append(request)
        try:
            yield request
        except ConflictError:
            pass  # a fair answer: somebody else was quicker
        except MemfolioError:
            if not self.persistent:
                raise
        else:
            self.acknowledged()
        self.clock.advance(milliseconds=1)

    def add(self, vault: Vault, *texts: str, agent: str = "main", key: str | None = None) -> None:
        with self._asking(Request(texts, key=key)) as request:
            request.receipt = vault.add(agent, [item(text) for text in texts], BOT, key=key)

    def note(self, vault: Vault, *notes: str) -> None:
        """Append to a ledger in JSON lines."""
        with self._asking(Request(notes=notes)) as request:
            request.receipt = vault.add_lines(state_ledger("main"), [{"note": note} for note in notes], BOT)

    def put(self, vault: Vault, path: str, content: bytes | None) -> None:
        """Create, replace or delete a page."""
        with self._asking(Request(pages={path: content})) as request:
            page = vault.page(path)
            request.receipt = vault.put_page(path, content, expects=page.hash if page else None, by=BOT)

    def together(self, vault: Vault, name: str) -> None:
        """Change two logs, a ledger and two pages at once."""
        request = Request((f"{name} one", f"{name} two", f"{name} other"), (f"{name} note",))
        request.pages = {PAGE: f"{name} page\n".encode(), OTHER_PAGE: f"{name} goals\n".encode()}
        with self._asking(request):
            pages = {path: vault.page(path) for path in request.pages}
            puts = [PutPage(path, request.pages[path], page.hash if page else None) for path, page in pages.items()]
            change = Change(
                operations=(
                    AddEntries("main", tuple(item(text) for text in request.texts[:2])),
                    AddEntries("other", (item(request.texts[2]),)),
                    AddLines(state_ledger("main"), ({"note": request.notes[0]},)),
                    *puts,
                ),
                by=BOT,
                action=Action.MERGE,
            )
            request.receipt = vault.apply(change)

    def person_saves(self, path: str, content: bytes, *, shown: str) -> None:
        """A person saves a file in an editor that syncs it; `shown` is what they would miss."""
        self.edits.setdefault(path, []).append(shown)
        disk = RecordingDisk() if isinstance(self.disk, RecordingDisk) else QuickDisk()
        if isinstance(self.disk, RecordingDisk) and isinstance(disk, RecordingDisk):
            disk.calls = self.disk.calls  # what goes wrong there is not the person's
        target = self.home / path
        draft = target.with_name(f".{target.name}.swp")
        fd = disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with disk.closing(fd):
            disk.write_all(fd, content)
            disk.fsync(fd)
        disk.rename(draft, target)
        disk.sync_dir(target.parent)
        let_settle(target)
        self.acknowledged()

    def person_appends(self, path: str, text: str) -> None:
        """A person adds a line at the end of a file, in place."""
        self.edits.setdefault(path, []).append(text)
        with (self.home / path).open("ab") as file:
            file.write(f"\n{text}\n".encode())
        let_settle(self.home / path)


def let_settle(path: Path) -> None:
    """Have the file look as if it had been left alone for a while, so that nobody waits for more to come."""
    info = path.stat()
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns - 10**9))


def nothing(stage: Stage) -> None:
    pass


@dataclass(frozen=True)
class Scenario:
    """What happens before the disk turns bad, and what happens on the bad disk."""

    name: str
    act: Callable[[Stage], None]
    prepare: Callable[[Stage], None] = nothing

    def __str__(self) -> str:
        return self.name


def one_memory(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "the first")


def add_two(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "again\n\nand on a second line, with a little · more to tear")
        stage.add(vault, "and again")


def nearly_full(stage: Stage) -> None:
    with stage.vault() as vault:
        for number in range(3):
            stage.add(vault, f"{number} " + "x" * 1150)
        stage.note(vault, "y" * 3900)


def fill_up(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "z" * 800)
        stage.note(vault, "w" * 200)
        stage.add(vault, "in the second part")


def many_lines(stage: Stage) -> None:
    with stage.vault() as vault:
        for number in range(8):
            stage.add(vault, f"line {number}")


def roll_the_trail(stage: Stage) -> None:
    with stage.vault() as vault:
        for number in range(3):
            stage.add(vault, f"more {number}")
        stage.put(vault, PAGE, b"behind the new part\n")
        for number in range(3):
            stage.add(vault, f"yet more {number}")


def add_many(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, *(f"{number} " + "x" * 1500 for number in range(6)))
        stage.add(vault, "a", "b", "c")


def two_notes(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.note(vault, "one")
        stage.note(vault, "two", "three")


def page_life(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.put(vault, PAGE, b"created\n")
        stage.put(vault, PAGE, b"replaced\n")
        stage.add(vault, "in between")
        stage.put(vault, PAGE, None)


def all_at_once(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.together(vault, "x")
        stage.add(vault, "behind it")
        stage.together(vault, "y")


def reconciled(stage: Stage) -> None:
    one_memory(stage)
    with stage.vault() as vault:
        stage.put(vault, PAGE, b"as we wrote it\n")
    stage.person_appends(LOG, "a line by hand")
    stage.person_saves(PAGE, b"as a person wrote it\n", shown="as a person wrote it")


def go_on_after_a_person(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "after the person")
        stage.put(vault, PAGE, b"as a person wrote it\nand we went on\n")


def overwritten(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "before")
        old = (stage.home / LOG).read_bytes()
        stage.add(vault, "saved over")
        stage.add(vault, "saved over too")
    stage.person_saves(LOG, old + b"\nin the editor\n", shown="in the editor")


def keyed(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "once", key="k-1")
        stage.add(vault, "both", "of them", key="k-2")


def with_page(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.put(vault, PAGE, b"to be read\n")
        stage.add(vault, "beside the page")


def lose_to_a_person(stage: Stage) -> None:
    """Compose a page against what a person replaces meanwhile."""
    with stage.vault() as vault:
        page = vault.page(PAGE)
        stage.person_saves(PAGE, b"a person was quicker\n", shown="a person was quicker")
        with stage._asking(Request(pages={PAGE: b"too late\n"})) as request:
            request.receipt = vault.put_page(PAGE, b"too late\n", expects=page.hash if page else None, by=BOT)
        stage.add(vault, "behind the quarrel")


def extend_page(stage: Stage) -> None:
    """Write a page that keeps what was read of it."""
    with stage.vault() as vault:
        page = vault.page(PAGE)
        content = (page.content if page else b"") + b"and we go on\n"
        with stage._asking(Request(pages={PAGE: content})) as request:
            request.receipt = vault.put_page(PAGE, content, expects=page.hash if page else None, by=BOT)
        stage.add(vault, "behind the page")


def commit_often(stage: Stage) -> None:
    with stage.vault() as vault:
        stage.add(vault, "to be committed")
        stage.person_appends(LOG, "added before the commit")
        vault.commit()
        stage.put(vault, PAGE, b"a page to be committed\n")
        stage.add(vault, "committed with the page")
        vault.commit()
        stage.together(vault, "c")


SCENARIOS = (
    Scenario("first memory of a new home", one_memory),
    Scenario("further memories", add_two, one_memory),
    Scenario("log and ledger roll over", fill_up, nearly_full),
    Scenario("trail rolls over", roll_the_trail, many_lines),
    Scenario("many memories over several parts", add_many, one_memory),
    Scenario("ledger in JSON lines", two_notes, one_memory),
    Scenario("page created, replaced, deleted", page_life, one_memory),
    Scenario("several files at once", all_at_once, one_memory),
    Scenario("a person's edits are reconciled", go_on_after_a_person, reconciled),
    Scenario("a stale editor saved over memories", add_two, overwritten),
    Scenario("a person is quicker", lose_to_a_person, with_page),
    Scenario("a page is extended", extend_page, with_page),
    Scenario("requests with a key", keyed, one_memory),
)
COMMITTING = Scenario("commits in between", commit_often, one_memory)


def named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)
