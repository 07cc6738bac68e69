"""The proofs are themselves on trial: bugs planted into the index, each of which they must find."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memfolio import state
from memfolio.embed.embedder import HashedEmbedder
from memfolio.errors import MemfolioError
from memfolio.index import database, vectors
from memfolio.index.index import FileIndexer, Index
from memfolio.index.read_files import FileReading, Searchable
from memfolio.index.write import Filing, RowFiling
from memfolio.recall.rank import Weighing
from tests.embed.test_vectorizer import (
    test_vectors_that_come_too_late_are_not_mixed_with_those_of_another_embedder as mix_vectors,
)
from tests.index.dump import differences
from tests.index.proof import assert_index_equals_rebuilt, opened
from tests.index.test_damage import Furnished, become_anothers, flip, harm_while_closed
from tests.index.test_order import FILES, dumped, filed
from tests.index.test_order import test_answers_are_the_same_after_the_index_is_deleted as delete_the_index
from tests.index.test_surroundings import (
    test_home_that_is_restored_from_a_backup_is_searched_as_it_is as restore_a_backup,
)
from tests.vault.conftest import Tally

Plant = Callable[[pytest.MonkeyPatch], None]
Hunt = Callable[[Path], object]
LOG = "agents/main/memory"


@dataclass(frozen=True)
class Bug:
    """What is wrong, how it is put in, and which proof should find it."""

    name: str
    plant: Plant
    hunt: Hunt


def live(folder: Path) -> None:
    """A plain life: what one remembers, and what a person does to it, with a look at the index after each step."""
    home = folder / "home"
    with opened(home) as memory:

        def save(path: str, text: str | None) -> None:
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).unlink() if text is None else (home / path).write_text(text)
            memory.vault.survey(accept_missing=True)
            assert_index_equals_rebuilt(memory)

        first = memory.remember("Alex drinks tea", tags=["drink"])
        second = memory.remember("rain in the morning")
        assert_index_equals_rebuilt(memory)
        assert "vector" in {reason.strategy for hit in memory.recall("Alex drinks tea") for reason in hit.why}
        log = next((home / LOG).glob("*.md"))
        entries = log.read_text()
        name = str(log.relative_to(home))
        save(name, entries.replace("Alex drinks tea", "Alex drinks coffee with [[person--bo]]"))
        save(f"{LOG}/2099-01-01.md", entries)
        save(f"{LOG}/2000-01-01.md", entries.replace("rain", "snow"))
        save(f"{LOG}/2000-01-01.md", None)
        save(name, None)
        save(name, entries)
        save(f"{LOG}/2099-01-01.md", None)
        memory.pin(first.id)
        memory.confirm(second.id)
        assert_index_equals_rebuilt(memory)
        better = memory.correct(second.id, "rain in the evening")
        assert second.id not in {hit.memory.id for hit in memory.recall("rain")}
        assert_index_equals_rebuilt(memory)
        memory.forget(first.id)
        assert_index_equals_rebuilt(memory)
        save(name, log.read_text() + "\n" + entries[entries.index("## ") :].split("\n## ")[0] + "\n")
        assert first.id not in {hit.memory.id for hit in memory.recall("Alex drinks tea")}, "it was forgotten"
        save("agents/main/knowledge/facts/0001.jsonl", '{"subject":"a","predicate":"b","object":"tea"}\n{broken\n')
        save("agents/main/knowledge/facts/0001.jsonl", '{"subject":"a","predicate":"b","object":"tea"}\n')
        save(f"{LOG}/graph/entities/person--bo.md", "# Bo\n\nDrinks tea.\n")
        save(f"{LOG}/graph/entities/Person--bo.md", "# Somebody\n\nDrinks rain.\n")
        save(f"{LOG}/graph/entities/Person--bo.md", None)
        save(f"{LOG}/meta/state/0001.jsonl", None)
        assert memory.get(better.id) is not None


def shuffle(folder: Path) -> None:
    """The same files in any order."""
    wanted, chance = dumped(filed(sorted(FILES), gone=[], again=[])), random.Random(1)
    for _ in range(20):
        order = chance.sample(sorted(FILES), len(FILES))
        assert differences(dumped(filed(order, gone=[], again=order[:3])), wanted) == []


def find_by_meaning(folder: Path) -> None:
    """What shares no whole word with a question is found by its vector alone."""
    with opened(folder / "home", embedder=HashedEmbedder(256)) as memory:
        found = memory.remember("Wanderungen im Gebirge")
        assert found.id in {hit.memory.id for hit in memory.recall("Gebirgswanderung")}


def harm(how: Callable[[Path, random.Random], None], times: int) -> Hunt:
    def hunt(folder: Path) -> None:
        furnished = Furnished(folder)
        for seed in range(times):
            try:
                harm_while_closed(furnished, how, random.Random(seed))
            except AttributeError as error:  # a damaged word was taken for a name
                raise AssertionError("damage was believed") from error

    return hunt


def becomes(owner: object, name: str, broken: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, broken)


def nothing(*_: Any, **__: Any) -> None:
    pass


def marks_with_the_same_version(connection: Any, block: int) -> None:
    connection.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, 1)", (block,))


def forgets_no_problem(self: Filing, number: int, problems: Any) -> None:
    if problems:
        self._db.execute("UPDATE files SET problems = ? WHERE number = ?", (json.dumps(problems), number))


def drops_as_if_it_were_a_page(self: Filing, path: str) -> None:
    number = self._rows.value("SELECT number FROM files WHERE path = ?", path)
    if number is not None:
        self._refile(path, number, FileReading())
        self._db.execute("DELETE FROM files WHERE number = ?", (number,))
    self._read_affected()


def takes_whatever_comes_first(self: Filing, path: str, number: int, found: Searchable) -> Searchable | None:
    owner = self._rows.value("SELECT file FROM memories WHERE id = ?", found.item.id)
    return found if owner in (None, number) else None


def updates_without_words(self: RowFiling, key: int, old: Any, row: Any, *_: Any) -> None:
    self.rewrite(key, old, row)
    self._forget_vector(key)


def ranks_by_row(self: Weighing, count: int, among: Iterable[int] | None = None) -> list[int]:
    rows = self.turns if among is None else among
    return sorted(rows, key=lambda row: (-self.scores.get(row, 0.0), row))[:count]


def extends_without_folding(self: Filing, path: str, lines: Any, state: Any) -> None:
    number = self._known_number(path, state)
    ordinal = self._rows.value("SELECT max(ordinal) FROM states WHERE file = ?", number, default=-1) + 1
    for nth, line in enumerate(lines):
        self._add_line(number, ordinal + nth, line)


BUGS = (
    Bug("tombstones are not folded", lambda patch: patch.delitem(state._STEPS, "tombstone"), live),
    Bug("state lines that are added are not folded", becomes(Filing, "extend", extends_without_folding), live),
    Bug("an edited memory keeps its vector", becomes(RowFiling, "_forget_vector", nothing), live),
    Bug("vectors change without a new version", becomes(vectors, "_mark_changed", marks_with_the_same_version), live),
    Bug("an edited memory keeps its words", becomes(RowFiling, "update", updates_without_words), live),
    Bug("a deleted state file goes on to count", becomes(Filing, "drop", drops_as_if_it_were_a_page), live),
    Bug("problems are never solved", becomes(Filing, "_note_problems", forgets_no_problem), live),
    Bug("vectors are not compared", becomes(vectors, "read_vectors", lambda *_: {}), live),
    Bug("vectors are not searched", becomes(vectors.Scan, "nearest", lambda *_: {}), find_by_meaning),
    Bug("nobody takes over what a file loses", becomes(Filing, "_offer_to_copies", nothing), live),
    Bug("files that a change reaches are not read again", becomes(Filing, "_read_affected", nothing), live),
    Bug("whoever comes first has an id", becomes(Filing, "_claim", takes_whatever_comes_first), shuffle),
    Bug("changes are followed without being filed", becomes(FileIndexer, "take", nothing), live),
    Bug("an index is anybody's", becomes(Index, "_basis", lambda self: "basis"), harm(become_anothers, 1)),
    Bug("pages have no checksums", becomes(database, "_vfs", lambda: None), harm(flip, 60)),
    Bug(
        "vectors of two embedders are mixed",
        becomes(vectors, "is_identity", lambda *_: True),
        lambda folder: mix_vectors(folder / "home", 16),
    ),
    Bug("the chain is not looked at", becomes(database.Database, "is_at", lambda self, head: True), restore_a_backup),
    Bug("equal ones are ranked by row", becomes(Weighing, "best", ranks_by_row), delete_the_index),
)


def hunt(bug: Bug, folder: Path) -> None:
    bug.hunt(folder / "home" if bug.hunt in (restore_a_backup, delete_the_index) else folder)


def test_nothing_is_found_where_nothing_is_planted(quick_path: Path) -> None:
    live(quick_path)
    shuffle(quick_path)
    find_by_meaning(quick_path / "other")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Bug, quick_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally) -> None:
    bug.plant(monkeypatch)
    with pytest.raises((AssertionError, MemfolioError, UnicodeError, ValueError, LookupError)):
        hunt(bug, quick_path)
    tally("planted bug of the index found", 1)
