"""A home against a plain dictionary: whatever is done in whatever order, model, files, trail and git agree."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memfolio.clock import SettableClock
from memfolio.errors import PageChangedError
from memfolio.types import Attribution
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, check_commits, check_continuity, check_git, configured, entries, files, item

PAGES = ["agents/main/MEMORY.md", "agents/main/mind/Goals.md", "shared/board.md", "agents/main/memory/2026-01-01.md"]
AGENTS = ["main", "other"]
ACTORS = [BOT, Attribution(actor="bot:alice", trigger="observe", session="s-1"), Attribution(actor="subagent:bob")]

words = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip()) and text == text.strip()
)
pages = st.sampled_from(PAGES)
contents = st.binary(min_size=1, max_size=60).filter(lambda data: bool(data.strip(b"\0")))


class Folio(RuleBasedStateMachine):
    """The model is two dictionaries: what is remembered, by id, and what each page says."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
        self.home = self.folder / "home"
        self.clock = SettableClock(START)
        self.memories: dict[str, str] = {}
        self.pages: dict[str, bytes] = {}
        self.vaults: list[Vault] = []
        self.dead: list[Vault] = []
        self.turn = 0

    @initialize()
    def found(self) -> None:
        """A home with enough in it that a few deletions do not look like an emptied disk."""
        self.vaults = [self.open()]
        for number in range(6):
            self.vault.put_page(f"agents/main/mind/Page-{number}.md", "words\n", expects=None, by=BOT)

    def open(self) -> Vault:
        return Vault.open(config=configured(self.home, max_ledger_bytes=4096), clock=self.clock)

    @property
    def vault(self) -> Vault:
        """The processes that share the home take turns."""
        Folio.steps += 1
        self.turn += 1
        return self.vaults[self.turn % len(self.vaults)]

    @rule(agent=st.sampled_from(AGENTS), notes=st.lists(words, min_size=1, max_size=3), by=st.sampled_from(ACTORS))
    def remember(self, agent: str, notes: list[str], by: Attribution) -> None:
        receipt = self.vault.add(agent, [item(note) for note in notes], by)
        self.memories |= dict(zip(receipt.ids, (each.content for each in receipt.items), strict=True))

    @rule(agent=st.sampled_from(AGENTS), number=st.integers(0, 99))
    def note_state(self, agent: str, number: int) -> None:
        receipt = self.vault.add_lines(state_ledger(agent), [{"note": number}], BOT)
        self.memories |= dict.fromkeys(receipt.ids, str(number))

    @rule(path=pages, content=contents, by=st.sampled_from(ACTORS))
    def replace_page(self, path: str, content: bytes, by: Attribution) -> None:
        vault = self.vault
        page = vault.page(path)
        assert (page.content if page else None) == self.pages.get(path)
        vault.put_page(path, content, expects=page.hash if page else None, by=by)
        self.pages[path] = content

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def delete_page(self, data: st.DataObject) -> None:
        path, vault = data.draw(st.sampled_from(sorted(self.pages))), self.vault
        page = vault.page(path)
        assert page is not None
        vault.put_page(path, None, expects=page.hash, by=BOT)
        del self.pages[path]

    @rule(path=pages, content=contents)
    def replace_a_page_from_an_old_copy(self, path: str, content: bytes) -> None:
        vault = self.vault
        with pytest.raises(PageChangedError) as caught:
            vault.put_page(path, content, expects="0" * 32, by=BOT)
        assert caught.value.current == self.pages.get(path)

    @rule(path=pages, content=contents)
    def edit_by_hand(self, path: str, content: bytes) -> None:
        self.save(path, content)
        self.pages[path] = content

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def delete_by_hand(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.pages)))
        self.vault.commit()  # what git's index lacks comes back, since `git clean` deletes just that
        (self.home / path).unlink()
        del self.pages[path]

    @precondition(lambda self: any(mark.startswith("M-") for mark in self.memories))
    @rule(data=st.data(), number=st.integers(0, 10**6))
    def edit_an_entry_by_hand(self, data: st.DataObject, number: int) -> None:
        mark = data.draw(st.sampled_from(sorted(mark for mark in self.memories if mark.startswith("M-"))))
        path, content = self.log_of(mark)
        start = content.index(mark.encode())
        after = re.search(rb"\n## [^\n]* \^M-\d+-[0-9a-f]{8}", content[start:])
        end = start + after.start() if after else len(content)
        head = content[start:end].split(b"\n\n", 1)[0]
        self.save(path, content[:start] + head + f"\n\nedited {number}\n".encode() + content[end:])
        self.memories[mark] = f"edited {number}"

    def log_of(self, mark: str) -> tuple[str, bytes]:
        return next((path, data) for path, data in files(self.home).items() if f"^{mark}".encode() in data)

    def save(self, path: str, content: bytes) -> None:
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_bytes(content)
        os.utime(self.home / path, (0, 0))

    @rule()
    def survey(self) -> None:
        self.vault.survey(accept_missing=True)

    @rule()
    def reopen(self) -> None:
        self.vault.close()
        self.vaults[self.turn % len(self.vaults)] = self.open_accepting()

    @rule()
    def die(self) -> None:
        """A process ends without a word; what it had not committed is for the next one."""
        self.dead.append(self.vault)
        self.vaults[self.turn % len(self.vaults)] = self.open_accepting()

    @precondition(lambda self: len(self.vaults) < 3)
    @rule()
    def start_another_process(self) -> None:
        self.vaults.append(self.open_accepting())

    def open_accepting(self) -> Vault:
        config = configured(self.home, max_ledger_bytes=4096)
        return Vault.open(config=config, clock=self.clock, accept_missing=True)

    @rule()
    def lose_the_recent_bytes(self) -> None:
        """What is in git already needs them no more."""
        vault = self.vault
        vault.survey(accept_missing=True)
        assert vault.commit() == 0, vault.committer.obstacle
        (self.home / ".memfolio/recent.jsonl").unlink(missing_ok=True)

    @rule()
    def commit(self) -> None:
        vault = self.vault
        assert vault.commit() == 0, vault.committer.obstacle

    @rule(seconds=st.sampled_from([0.001, 0.5, 3, 1000, -5]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def files_are_the_model(self) -> None:
        assert {mark: [content] for mark, content in self.memories.items()} == entries(self.home)
        found = {path: (self.home / path).read_bytes() for path in PAGES if (self.home / path).is_file()}
        assert found == self.pages

    def teardown(self) -> None:
        try:
            if self.vaults:
                self.check_everything()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            for vault in (*self.vaults, *self.dead):  # their threads end; there is nothing left to write to
                vault.close()

    def check_everything(self) -> None:
        vault = self.vaults[0]
        vault.survey(accept_missing=True)
        assert vault.commit() == 0, vault.committer.obstacle
        assert vault.trail.problems() == []
        check_continuity(vault)
        check_commits(vault)
        check_git(self.home)
        committed = {path: vault.history.read(path) for path in vault.history.files() if not path.startswith("audit/")}
        assert committed == files(self.home)
        ids = {mark for line in vault.trail.lines() for mark in line.ids}
        assert self.memories.keys() <= ids


@pytest.mark.parametrize(("examples", "steps"), [(12, 40), pytest.param(5000, 100, marks=pytest.mark.long, id="long")])
def test_model_files_trail_and_git_agree(examples: int, steps: int, tally: Tally) -> None:
    Folio.steps = 0
    run_state_machine_as_test(Folio, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None))
    tally("homes against a model", examples)
    tally("steps of homes against a model", Folio.steps)
