"""The same files give the same index, in whatever order they arrive, and the same answers after it is deleted."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.index.database import Database
from memfolio.index.write import Filing
from memfolio.vault.journal import FileState
from tests.conftest import START
from tests.index.dump import differences, dump
from tests.index.proof import QUESTIONS, answers, assert_index_equals_rebuilt, opened

LOG = "agents/main/memory"
ENTRY = "## 10:00 decision · 0.8 · #tag ^M-1794753005{0:03d}-0000000{1}\n\n{2}\n\n"
FILES = {
    f"{LOG}/2026-01-01.md": ENTRY.format(1, 1, "tea [[person--alex]]") + ENTRY.format(2, 2, "rain") + "- a bullet\n",
    f"{LOG}/2026-01-01-2.md": ENTRY.format(1, 1, "tea, copied") + ENTRY.format(3, 3, "coffee") + "- a bullet\n",
    f"{LOG}/2026-01-01-10.md": ENTRY.format(3, 3, "coffee, copied") + "- another bullet\n",
    f"{LOG}/2026-01-02.md": ENTRY.format(1, 1, "tea, copied") + ENTRY.format(3, 3, "coffee") + "- tea, copied\n",
    f"{LOG}/archive/2026-01/2026-01-01.md": ENTRY.format(1, 1, "tea") + ENTRY.format(4, 4, "gone"),
    f"{LOG}/meta/state/0001.jsonl": "".join(
        json.dumps({"op": op, "memory": f"M-179475300500{n}-0000000{n}", "at": "2026-01-01T00:00:00+00:00", **more})
        + "\n"
        for op, n, more in (
            ("pin", 1, {}),
            ("tombstone", 2, {}),
            ("supersede", 3, {"by": "M-1794753005001-00000001"}),
            ("store", 1, {"store": "vault"}),
        )
    ),
    f"{LOG}/meta/state/0002.jsonl": json.dumps(
        {"op": "restore", "memory": "M-1794753005002-00000002", "at": "2026-01-02T00:00:00+00:00"}
    )
    + "\n{broken\n",
    f"{LOG}/graph/entities/person--alex.md": "# Alex\n\nDrinks tea.\n",
    f"{LOG}/graph/entities/Person--ALEX.md": "# Another\n\nDrinks coffee.\n",
    "agents/main/knowledge/facts/0001.jsonl": '{"id":"F-1","subject":"a","predicate":"b","object":"tea"}\n',
    "agents/main/knowledge/facts/0002.jsonl": '{"id":"F-1","subject":"a","predicate":"b","object":"rain"}\n',
    "agents/main/knowledge/facts/0003.jsonl": '{"subject":"a","predicate":"b","object":"tea","confidence":0.5}\n'
    '{"op":"retract","subject":"a","predicate":"b","object":"rain"}\n{"subject":"a b","predicate":"b c","object":"x"}\n'
    '{"id":"F-1-00000001","subject":"z","predicate":"b","object":"snow","memories":["M-1794753005001-00000001"]}\n',
    "agents/main/knowledge/facts.jsonl": '{"id":"F-1-00000001","subject":"y","predicate":"b","object":"hail"}\n'
    '{"id":"F-1-00000002","subject":"a","predicate":"b","object":"tea","valid_until":"2026-11-15"}\n'
    '{"op":"verify","subject":"z","predicate":"b","object":"snow","confidence":0.25}',
    "agents/main/knowledge/facts/0012.jsonl": '{"fact":"F-1-00000001","subject":"x","predicate":"b","object":"ice"}\n'
    '{"op":"verify","subject":"a","predicate":"b","object":"rain"}\n{"subject":"a","predicate":"b","object":"rain"}\n',
    "agents/main/knowledge/cases/0001.jsonl": '{"id":"C-1","situation":{"context":"rain"},"solution":{"actions":'
    '["tea"]},"outcome":{"success":true,"lessons":"be warm"}}\n{"op":"delete","case":"C-2"}\n'
    '{"id":"C-2","situation":7}\n',
    "agents/main/knowledge/cases/0002.jsonl": '{"op":"revise","case":"C-1","situation":{"context":"snow"}}\n'
    '{"id":"C-2","situation":{"context":"storm"}}\n{"situation":{"context":"fog"}}\n',
    "agents/main/knowledge/rules/0001.jsonl": '{"id":"R-1","text":"?x b ?y => ?y c ?x"}\n'
    '{"text":"?x b rain => ?x d e"}\n',
    "agents/main/MEMORY.md": "# Core\n\nTea.\n\n## Rain\n\nOften.\n",
}


def filed(paths: list[str], *, gone: list[str], again: list[str]) -> Database:
    """An index into which files came in this order; some were there before as something else, some left."""
    database, there = Database.in_process("main"), dict[str, bytes]()

    def put(path: str, content: str) -> None:
        there[path] = content.encode()
        with database.writing() as connection:
            filing = Filing(connection, "main", START.tzinfo, there.get)  # type: ignore[arg-type]
            filing.put(path, there[path], FileState(content[:8], len(content), None))

    for path in again:
        put(path, FILES[paths[0]] if path.endswith(".md") else "")
    for path in paths:
        put(path, FILES[path])
    for path in gone:
        del there[path]
        with database.writing() as connection:
            Filing(connection, "main", START.tzinfo, there.get).drop(path)  # type: ignore[arg-type]
    return database


def dumped(database: Database) -> dict[str, list[tuple[object, ...]]]:
    return database.ask(dump)


@pytest.mark.parametrize("examples", [20, pytest.param(2000, marks=pytest.mark.long)])
def test_order_of_filing_does_not_matter(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.permutations(sorted(FILES)), st.data())
    def check(order: list[str], data: st.DataObject) -> None:
        gone = data.draw(st.lists(st.sampled_from(order), unique=True, max_size=4))
        again = data.draw(st.lists(st.sampled_from(order), unique=True, max_size=4))
        one = dumped(filed(order, gone=gone, again=again))
        other = dumped(filed(sorted(set(FILES) - set(gone)), gone=[], again=[]))
        assert differences(one, other) == []

    check()


def test_answers_are_the_same_after_the_index_is_deleted(home: Path) -> None:
    """Also where many memories fit equally well, and their order in the index is not that of their ids."""
    clock = SettableClock(START)
    with opened(home, clock=clock) as memory:
        for day in (0, -3, -1, -2):
            turns = [
                {"role": "user", "content": text, "at": START + timedelta(days=day), "session": f"s-{n % 2}"}
                for n in range(40)
                for text in ("tea for two", f"rain number {n % 5}")
            ]
            clock.advance(seconds=1)
            memory.observe_many(turns)
        for path, content in FILES.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(content)
        memory.sync()
        asked = [(question, limit) for question in (*QUESTIONS, "", "tea for two") for limit in (1, 10, 100)]
        filters: tuple[dict[str, Any], ...] = (
            {},
            {"session": "s-1"},
            {"include": ["archived", "superseded"]},
            {"since": START},
        )
        memory.searcher.vectorizer.fill(memory.searcher.index)
        before = [answers(memory.recall(q, limit=n, **more)) for q, n in asked for more in filters]
        cache = memory.vault.config.cache
    shutil.rmtree(cache)
    with opened(home, clock=clock) as memory:
        memory.searcher.vectorizer.fill(memory.searcher.index)
        after = [answers(memory.recall(q, limit=n, **more)) for q, n in asked for more in filters]
        assert after == before
        assert_index_equals_rebuilt(memory)


@pytest.mark.parametrize("agent", ["main", "shared"])
def test_many_changed_files_are_filed_as_well_as_few(home: Path, agent: str) -> None:
    with opened(home, agent) as memory:
        memory.recall("tea")
        root = home / ("shared" if agent == "shared" else f"agents/{agent}") / "mind"
        root.mkdir(parents=True)
        for number in range(70):
            (root / f"Page-{number}.md").write_text(f"# Page\n\ntea number {number}\n")
        memory.sync()
        assert len(memory.recall("tea", limit=100)) == 70
        assert_index_equals_rebuilt(memory)
