"""Scenarios that are made to go wrong, and the judge of what they leave behind.

A `Stage` is one run of a scenario: it asks the vault for changes and keeps a record, outside of the home, of what was
asked and what was acknowledged. `judge` opens the home again on a sound disk and holds it against that record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memfolio.clock import SettableClock
from memfolio.errors import MemfolioError
from memfolio.testing import Crash, QuickDisk
from memfolio.types import HUMAN, Action
from memfolio.vault.change import AddEntries, AddLines, Change, PutPage, Receipt
from memfolio.vault.disk import Disk
from memfolio.vault.entry import is_whole
from memfolio.vault.lines import read_lines
from memfolio.vault.log import split_log
from memfolio.vault.paths import CONFIG, GITIGNORE, Form, form_of, state_ledger
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.vault.proof import BOT, check_git, configured, entries, files, item

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
            with suppress(Crash, OSError):
                vault.close()

    @contextmanager
    def _asking(self, request: Request) -> Iterator[Request]:
        self.requests.append(request)
        try:
            yield request
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
        disk = self.disk if self.disk.__class__.__name__ == "RecordingDisk" else QuickDisk()
        disk.put(self.home / path, content)
        self.acknowledged()

    def person_appends(self, path: str, text: str) -> None:
        before = (self.home / path).read_bytes() if (self.home / path).exists() else b""
        self.person_saves(path, before + f"\n{text}\n".encode(), shown=text)


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


def settled(stage: Stage) -> None:
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


SCENARIOS = (
    Scenario("first memory of a new home", one_memory),
    Scenario("further memories", add_two, one_memory),
    Scenario("log and ledger roll over", fill_up, nearly_full),
    Scenario("trail rolls over", roll_the_trail, many_lines),
    Scenario("many memories over several parts", add_many, one_memory),
    Scenario("ledger in JSON lines", two_notes, one_memory),
    Scenario("page created, replaced, deleted", page_life, one_memory),
    Scenario("several files at once", all_at_once, one_memory),
    Scenario("a person's edits are settled", go_on_after_a_person, settled),
    Scenario("a stale editor saved over memories", add_two, overwritten),
    Scenario("requests with a key", keyed, one_memory),
)


def judge(stage: Stage) -> None:
    """Open the home again and raise AssertionError for whatever is not as it was promised."""
    stage.disk, stage.persistent = QuickDisk(), False
    stage.clock.advance(seconds=1)
    with stage.vault() as vault:
        assert vault.trouble is None
        assert vault.problems == {}
        _send_again(stage, vault)
        _judge_content(stage)
        _judge_trail(stage, vault)
        assert list((stage.home / ".memfolio" / "intents").glob("*.json")) == [], "an intent is still waiting"
        stage.add(vault, "the next write works")
        _judge_content(stage)
        if stage.git:
            assert vault.commit() == 0, vault.committer.obstacle
    if stage.git:
        check_git(stage.home)
    _judge_rest(stage)


def _send_again(stage: Stage, vault: Vault) -> None:
    """What has a key may be asked for twice."""
    for request in list(stage.requests):
        if request.key and request.receipt is None:
            request.receipt = vault.add("main", [item(text) for text in request.texts], BOT, key=request.key)


def memories(stage: Stage) -> dict[str, list[str]]:
    """What is found under each id, without what a person wrote below it."""
    by_hand = [shown for each in stage.edits.values() for shown in each]
    return {each: [_without(text, by_hand) for text in texts] for each, texts in entries(stage.home).items()}


def _without(text: str, by_hand: list[str]) -> str:
    for shown in by_hand:
        text = text.removesuffix(f"\n{shown}").rstrip()
    return text


def _judge_content(stage: Stage) -> None:
    there, tracked = memories(stage), files(stage.home)
    found = Counter(content for contents in there.values() for content in contents)
    overwritten: set[str] = set()
    for request in reversed(stage.requests):
        wanted = [*request.texts, *(f'"{note}"' for note in request.notes)]
        counts = {found[text] for text in wanted}
        pages = {path: tracked.get(path) == data for path, data in request.pages.items() if path not in overwritten}
        pages = {path: same for path, same in pages.items() if path not in stage.edits}
        if request.receipt is not None:
            overwritten |= request.pages.keys()
            assert counts <= {1}, f"acknowledged, and there {counts} times: {wanted}"
            assert all(pages.values()), f"acknowledged, and not what is there: {pages}"
            for each, text in zip(request.receipt.ids, wanted, strict=True):
                assert there.get(each) == [text], f"{each}: wrote {text!r}, found {there.get(each)}"
        else:
            done = counts | {int(same) for same in pages.values()}
            assert len(done) <= 1, f"not acknowledged, and half done: {counts} {pages} of {wanted}"
            assert done <= {0, 1}, f"doubled: {wanted}"
            overwritten |= {path for path, same in pages.items() if same}
    for path, content in tracked.items():
        _judge_file(stage, path, content)
    for shown in (shown for each in stage.edits.values() for shown in each):
        assert any(shown.encode() in content for content in tracked.values()), f"a person misses {shown!r}"


def _judge_file(stage: Stage, path: str, content: bytes) -> None:
    """Nothing in the file is torn."""
    assert b"\0" not in content, f"{path} has NUL bytes"
    assert not path.endswith(".tmp"), f"{path} is litter"
    if form_of(path) is Form.LINES:
        assert content.endswith(b"\n"), f"{path} ends in the middle of a line"
        assert read_lines(content).problems == [], f"{path} has broken lines"
    if form_of(path) is not Form.LOG:
        return
    for block in split_log(content.decode()):
        text = block.text
        for shown in stage.edits.get(path, []):
            text = text.replace(f"\n{shown}\n", "")
        if block.id is not None:
            assert is_whole(text, path.split("/")[1]), f"{path} has a torn entry: {text!r}"
        else:
            assert block.kind == "preamble" or not text.strip(), f"{path} has a fragment: {text!r}"


def _judge_trail(stage: Stage, vault: Vault) -> None:
    assert vault.trail.problems() == []
    lines = list(vault.trail.lines())
    counted = Counter(each for line in lines if line.action in (Action.APPEND, Action.MERGE) for each in line.ids)
    present = entries(stage.home)
    assert counted == Counter(present.keys()), "the trail and the files name different memories"
    for path, content in files(stage.home).items():
        mark = vault.trail.last_mark(path)
        assert mark is not None, f"{path} is not in the trail"
        assert mark.now == vault.home.hash(content), f"the trail says something else about {path}"
    by_hand = {path for line in lines if line.by.actor == HUMAN.actor for path in line.paths}
    allowed = {CONFIG, GITIGNORE, *stage.edits}
    assert by_hand <= allowed, f"our own writing is ascribed to a person: {by_hand - allowed}"
    entered = Counter((mark.path, mark.now) for line in lines if line.by == BOT for mark in line.files)
    for request in stage.requests:
        for path, data in request.pages.items():
            now = None if data is None else vault.home.hash(data)
            assert request.receipt is None or entered[path, now] == 1, f"{path}: {entered[path, now]} lines"


def _judge_rest(stage: Stage) -> None:
    """Opening again and again changes nothing."""
    before = files(stage.home), _trail_bytes(stage.home)
    for _ in range(2):
        with stage.vault():
            pass
        assert (files(stage.home), _trail_bytes(stage.home)) == before, "opening the home changed it"


def _trail_bytes(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((home / "audit").rglob("*.jsonl"))}
