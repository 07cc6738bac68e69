"""An index against plain dictionaries: whatever is done in whatever order, it says what the files say."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, InputError
from memfolio.vault.lines import read_lines
from memfolio.vault.log import Block, split_log
from memfolio.vault.vault import OWNER
from tests.conftest import START
from tests.index.proof import assert_index_equals_rebuilt, opened
from tests.vault.conftest import Tally

LOGS = "agents/main/memory"
STATE = f"{LOGS}/meta/state"
WORDS = ("tea", "coffee", "Alex walks the dog", "rain in the morning", "- a bullet\n- and another", "## no heading")
PAGES = {
    "agents/main/MEMORY.md": "# Core\n\nAlex drinks tea.\n\n## Habits\n\nRain or not.\n",
    "agents/main/mind/Goals.md": "# Goals\n\nLearn to deploy.\n\n## Drink tea ^G-1794753005123-a3f2c91d\n"
    "priority: 0.9\n\n## Walk in the rain\nstatus: done\n",
    f"{LOGS}/archive/2026-01/mind/Goals.md": "## Drink coffee ^G-1794753005123-a3f2c91d\nstatus: dropped\n",
    f"{LOGS}/procedures/deploy.md": "# Deploy\n\n1. Make tea\n2. Wait\n",
    f"{LOGS}/graph/entities/person--alex.md": "---\naliases: [Al]\n---\n# Alex\n\nLikes [[drink--tea]].\n",
    f"{LOGS}/graph/entities/Person--Alex.md": "# Alexander\n\nSomebody else's page.\n",
    "agents/main/knowledge/facts/0001.jsonl": '{"subject":"Alex","predicate":"drinks","object":"tea"}\n',
    "agents/main/knowledge/facts/0002.jsonl": '{"id":"F-1","subject":"rain","predicate":"is","object":"wet"}\n{oops\n',
    "shared/memory/2026-01-02.md": "- everybody likes tea\n",
    "agents/other/memory/2026-01-02.md": "- somebody else's rain\n",
    f"{LOGS}/2026-01-05.md": "- a note about rain\n- [[person--alex]] had tea\n\nplain text\n",
    f"{LOGS}/2026-01-06.md": "- a note about rain\n- only here #tagged\n",
    f"{LOGS}/archive/2026-01/2026-01-05.md": "- a note about rain\n- archived coffee\n",
}
texts = st.builds("{} number{}".format, st.sampled_from(WORDS), st.integers(0, 30))


class OnProgress(NamedTuple):
    """What the files say about entries with an mark: their contents, and which are not to be found."""

    contents: dict[str, str]
    forgotten: set[str]
    superseded: set[str]


def told(home: Path) -> OnProgress:
    """Read the logs and states as simply as can be."""
    contents: dict[str, str] = {}
    for path in sorted((home / LOGS).glob("*.md"), key=_in_order):
        for block in split_log(path.read_text(), "main"):
            if block.id is not None:
                contents.setdefault(block.id, block.text)
    forgotten, superseded = set[str](), set[str]()
    for path in sorted((home / STATE).glob("*.jsonl")):
        for line in read_lines(path.read_bytes()).records:
            op, memory = line.get("op"), str(line.get("memory"))
            if op == "supersede":
                superseded.add(memory)
            elif op == "tombstone":
                forgotten.add(memory)
            elif op == "restore":
                forgotten.discard(memory)
    return OnProgress(contents, forgotten, superseded)


def _in_order(path: Path) -> tuple[str, int]:
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:-(\d+))?\.md", path.name)
    return (match[1], int(match[2] or 1)) if match else (path.name, 1)


class Mind(RuleBasedStateMachine):
    """Several processes use the verbs, and a person the files, of one home."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
        self.home = self.folder / "home"
        self.clock = SettableClock(START)
        self.memories: list[Memory] = []
        self.forgotten: dict[str, str] = {}
        self.turn = 0
        self.number = 100

    @initialize()
    def found(self) -> None:
        self.memories = [self.open()]
        self.memory.remember("the first tea")
        self.number += 1

    def open(self) -> Memory:
        return opened(self.home, clock=self.clock, max_ledger_bytes=4096)

    @property
    def memory(self) -> Memory:
        """The processes that share the home take turns."""
        Mind.steps += 1
        self.turn += 1
        self.clock.advance(milliseconds=1)
        return self.memories[self.turn % len(self.memories)]

    def chosen(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(told(self.home).contents) or ["M-1-00000000"]))

    @rule(text=texts, tags=st.lists(st.sampled_from(["a", "B", "two words"])), days=st.sampled_from([0, 0, -1, -400]))
    def remember(self, text: str, tags: list[str], days: int) -> None:
        memory = self.memory
        at = None if not days else START.replace(year=2026 + days // 365, day=START.day + days % 3)
        item = memory.remember(text, tags=tags, at=at, session="s-1" if days else None)
        assert memory.get(item.id) == item

    @rule(notes=st.lists(texts, min_size=1, max_size=12))
    def observe(self, notes: list[str]) -> None:
        memory = self.memory
        turns = [{"role": "user", "content": note, "session": "s-2", "attributes": {"n": 1}} for note in notes]
        items = memory.observe_many(turns)
        assert [memory.get(item.id) for item in items] == items

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        memory, mark = self.memory, self.chosen(data)
        with suppress(ConflictError, InputError, LookupError):
            item = memory.forget(mark).memories[0]
            self.forgotten[item.id] = item.content

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        memory = self.memory
        mark = data.draw(st.sampled_from(sorted(self.forgotten) or ["M-1-00000000"]))
        with suppress(ConflictError, LookupError):
            memory.restore(mark)
            self.forgotten.pop(mark, None)

    @rule(data=st.data(), text=texts)
    def correct(self, data: st.DataObject, text: str) -> None:
        memory, mark = self.memory, self.chosen(data)
        with suppress(ConflictError, LookupError):
            item = memory.correct(mark, text)
            assert memory.get(item.id) == item
            here = memory.get(mark)
            while here is not None and here.superseded_by:
                here = memory.get(here.superseded_by)
            assert here == item

    @rule(data=st.data(), pinned=st.booleans())
    def pin_or_confirm(self, data: st.DataObject, pinned: bool) -> None:
        memory, mark = self.memory, self.chosen(data)
        with suppress(ConflictError, LookupError):
            if pinned:
                assert memory.pin(mark).pinned
            else:
                assert memory.confirm(mark).confidence == 1

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        memory = self.memory
        seqs = [entry.seq for entry in memory.audit.log(limit=6)]
        with suppress(ConflictError, InputError, LookupError):
            memory.audit.undo([data.draw(st.sampled_from(seqs))], by=OWNER)
            self.look_at_tombstones()

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        memory = self.memory
        memory.vault.commit()
        commits = [anchor.commit for anchor in memory.vault.history.anchors()][:6]
        with suppress(ConflictError, InputError, LookupError):
            memory.audit.rollback(to=data.draw(st.sampled_from(commits)), by=OWNER)
            self.look_at_tombstones()

    def look_at_tombstones(self) -> None:
        """Going back may take back that something was forgotten."""
        left = told(self.home).forgotten
        self.forgotten = {mark: content for mark, content in self.forgotten.items() if mark in left}

    # What a person does to the files

    @rule(path=st.sampled_from(sorted(PAGES)), number=st.integers(0, 3))
    def write_a_page(self, path: str, number: int) -> None:
        self.save(path, PAGES[path] + ("" if not number else f"\n- and page {number}\n"))

    @rule(path=st.sampled_from(sorted(PAGES)))
    def delete_a_page(self, path: str) -> None:
        (self.home / path).unlink(missing_ok=True)
        self.survey()

    @rule(data=st.data(), text=texts)
    def append_a_bullet(self, data: st.DataObject, text: str) -> None:
        path = self.log(data)
        self.save(path, (self.home / path).read_text() + f"\n- {text.splitlines()[0]}\n")

    @rule(data=st.data(), number=st.integers(0, 10**6))
    def edit_an_entry(self, data: st.DataObject, number: int) -> None:
        path, blocks, nth = self.entry(data)
        head = blocks[nth].text.split("\n\n", 1)[0]
        self.put(path, [*blocks[:nth], blocks[nth]._replace(text=f"{head}\n\nedited {number}\n\n"), *blocks[nth + 1 :]])

    @rule(data=st.data())
    def delete_an_entry(self, data: st.DataObject) -> None:
        path, blocks, nth = self.entry(data)
        self.put(path, [*blocks[:nth], *blocks[nth + 1 :]])

    @rule(data=st.data(), day=st.sampled_from(["2020-01-01", "2026-01-05", "2099-01-01"]))
    def copy_an_entry(self, data: st.DataObject, day: str) -> None:
        _, blocks, nth = self.entry(data)
        target = self.home / LOGS / f"{day}.md"
        self.save(f"{LOGS}/{day}.md", (target.read_text() if target.exists() else "") + "\n" + blocks[nth].text)

    @rule(data=st.data())
    def swap_entries(self, data: st.DataObject) -> None:
        path, blocks, nth = self.entry(data)
        self.put(path, [*blocks[:nth], *blocks[nth + 1 :], blocks[nth]])

    @rule(data=st.data())
    def delete_a_log(self, data: st.DataObject) -> None:
        (self.home / self.log(data)).unlink(missing_ok=True)
        self.survey()

    @rule(data=st.data())
    def archive_a_copy(self, data: st.DataObject) -> None:
        path = self.log(data)
        self.save(f"{LOGS}/archive/2026-11/{Path(path).name}", (self.home / path).read_text())

    @precondition(lambda self: any((self.home / STATE).glob("*.jsonl")))
    @rule(data=st.data(), whole=st.booleans())
    def lose_state(self, data: st.DataObject, whole: bool) -> None:
        """Delete a line of state, or a file of it: whatever it said is unsaid."""
        path = data.draw(st.sampled_from(sorted((self.home / STATE).glob("*.jsonl"))))
        lines = path.read_text().splitlines(keepends=True)
        if whole or len(lines) < 2:
            path.unlink()
            self.survey()
        else:
            del lines[data.draw(st.integers(0, len(lines) - 1))]
            self.save(str(path.relative_to(self.home)), "".join(lines))
        self.look_at_tombstones()

    def log(self, data: st.DataObject) -> str:
        logs = sorted(str(path.relative_to(self.home)) for path in (self.home / LOGS).glob("*.md"))
        if not logs:
            self.memory.remember("another tea")
            return self.log(data)
        return data.draw(st.sampled_from(logs))

    def entry(self, data: st.DataObject) -> tuple[str, list[Block], int]:
        path = self.log(data)
        blocks = [*split_log((self.home / path).read_text(), "main")] or [Block("- tea\n", 0, None, "text")]
        return path, blocks, data.draw(st.integers(0, len(blocks) - 1))

    def put(self, path: str, blocks: list[Block]) -> None:
        self.save(path, "".join(block.text for block in blocks))

    def save(self, path: str, content: str) -> None:
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(content)
        os.utime(self.home / path, (self.number, self.number))
        self.number += 1
        self.survey()

    def survey(self) -> None:
        self.memory.vault.survey(accept_missing=True)

    # What processes do

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memories[self.turn % len(self.memories)] = self.open()

    @precondition(lambda self: len(self.memories) < 3)
    @rule()
    def start_another_process(self) -> None:
        self.memories.append(self.open())

    @rule()
    def delete_the_index(self) -> None:
        for path in self.memory.vault.config.cache.glob("*"):
            path.unlink()

    @rule()
    def build_the_index_anew(self) -> None:
        self.memory.reindex()

    @rule()
    def ask(self) -> None:
        self.memory.recall("tea")

    @invariant()
    def answers_are_those_of_the_files(self) -> None:
        if self.memories and self.turn % 3 == 0:
            self.check_answers(self.memories[self.turn % len(self.memories)])

    def check_answers(self, memory: Memory) -> None:
        contents, forgotten, superseded = told(self.home)
        hits = memory.recall("tea coffee dog rain bullet heading edited", limit=1000)
        found = [hit.memory.id for hit in hits]
        assert len(found) == len(set(found)), "found twice"
        found_entries, wanted = (
            {mark for mark in found if mark.startswith("M-")},
            contents.keys() - forgotten - superseded,
        )
        assert found_entries == wanted, (found_entries - wanted, wanted - found_entries)
        for mark, text in contents.items():
            item = memory.get(mark)
            assert item is not None
            assert item.content.splitlines()[-1].strip() in text
        assert not self.forgotten.keys() & set(found), "found though it is forgotten"
        assert not any("somebody else's rain" in hit.memory.content for hit in hits)

    def teardown(self) -> None:
        try:
            for memory in self.memories:
                memory.vault.survey(accept_missing=True)
                self.check_answers(memory)
                assert_index_equals_rebuilt(memory)
                assert [each for each in memory.searcher.notices() if "search index" in each] == []
        finally:
            for memory in self.memories:
                memory.close()
            shutil.rmtree(self.folder, ignore_errors=True)


@pytest.mark.parametrize(("examples", "steps"), [(20, 25), pytest.param(3000, 60, marks=pytest.mark.long, id="long")])
def test_index_says_what_the_files_say(examples: int, steps: int, tally: Tally) -> None:
    Mind.steps = 0
    phases = (Phase.explicit, Phase.reuse, Phase.generate)  # a failure names its steps; shorter ones take minutes
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None, phases=phases)
    run_state_machine_as_test(Mind, settings=chosen)
    tally("indexes against a model", examples)
    tally("steps of indexes against a model", Mind.steps)
