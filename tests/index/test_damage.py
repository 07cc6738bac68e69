"""The index file is damaged in every way that files are: each verb answers as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.index.database import newest
from memfolio.index.schema import VERSION
from memfolio.recall.hit import Hits
from tests.conftest import START
from tests.index.proof import QUESTIONS, answers, assert_index_equals_rebuilt, opened
from tests.vault.conftest import Tally

SECRET = "only the other agent knows the rain"
Harm = Callable[[Path, random.Random], None]


def furnish(home: Path, clock: SettableClock) -> None:
    """A home with enough in it that every kind of page of the index is in use, and another agent's index beside it."""
    with opened(home, "other", clock=clock) as other:
        other.remember(SECRET)
        other.recall("rain")
    with opened(home, clock=clock) as memory:
        for number in range(40):
            clock.advance(milliseconds=1)
            text = f"Alex walks the dog in the rain number {number} " + f"tea{number} coffee " * number
            memory.remember(text, tags=[f"tag{number}"], session=f"s-{number % 3}")
        memory.recall("tea")
    shutil.copy(index_of(home), home.parent / "older.db")
    with opened(home, clock=clock) as memory:
        memory.observe_many([{"role": "user", "content": f"deploy in the morning {number}"} for number in range(40)])
        page = home / "agents/main/memory/graph/entities/person--alex.md"
        page.parent.mkdir(parents=True)
        page.write_text("# Alex\n\nDrinks tea in the rain.\n")
        memory.sync()
        first, second, third, *_ = memory.vault.entries("main")
        memory.forget(first.id)
        memory.correct(second.id, "Alex walks the cat")
        memory.pin(third.id)
        memory.recall("tea")


def index_of(home: Path, agent: str = "main") -> Path:
    path = newest(next((home.parent / ".cache" / "memfolio").iterdir()), agent)
    assert path is not None
    return path


def flip(path: Path, chance: random.Random) -> None:
    with open(path, "r+b") as file:
        at = chance.randrange(max(1, path.stat().st_size))
        file.seek(at)
        old = file.read(1) or b"\0"
        file.seek(at)
        file.write(bytes([old[0] ^ (1 << chance.randrange(8))]))


def flip_in_journal(path: Path, chance: random.Random) -> None:
    journal = Path(f"{path}-wal")
    flip(journal if journal.exists() and journal.stat().st_size else path, chance)


def zero_a_page(path: Path, chance: random.Random) -> None:
    with open(path, "r+b") as file:
        file.seek(4096 * chance.randrange(max(1, path.stat().st_size // 4096)))
        file.write(bytes(4096))


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def delete(path: Path, chance: random.Random) -> None:
    for suffix in ("", "-wal", "-shm")[: chance.choice([1, 3])]:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def delete_the_folder(path: Path, chance: random.Random) -> None:
    shutil.rmtree(path.parent)


def become_garbage(path: Path, chance: random.Random) -> None:
    replace(path, chance.randbytes(chance.choice([0, 1, 100, 5000, 100_000])))


def become_a_folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def become_anothers(path: Path, chance: random.Random) -> None:
    replace(path, index_of(path.parents[3] / "home", "other").read_bytes())


def become_older(path: Path, chance: random.Random) -> None:
    replace(path, (path.parents[3] / "older.db").read_bytes())


def have_another_version(path: Path, chance: random.Random) -> None:
    copy = path.with_name("copy")
    source = apsw.Connection(str(path), vfs="cksmvfs")
    target = apsw.Connection(str(copy), vfs="cksmvfs")
    with target.backup("main", source, "main") as backup:
        backup.step()
    target.pragma("user_version", VERSION + chance.choice([-1, 1, 1000]))
    source.close()
    target.close()
    os.replace(copy, path)


def replace(path: Path, content: bytes) -> None:
    """As programs do that restore files: beside it, and then in its place."""
    copy = path.with_name("copy")
    copy.write_bytes(content)
    os.replace(copy, path)


HARMS: tuple[Harm, ...] = (
    flip,
    flip_in_journal,
    zero_a_page,
    truncate,
    delete,
    delete_the_folder,
    become_garbage,
    become_a_folder,
    become_anothers,
    become_older,
    have_another_version,
)
QUIET = (flip, flip_in_journal, delete, delete_the_folder, become_older)
"""What needs no notice: an index may be deleted or behind, and a flipped bit may lie where nobody reads."""
REPLACING = (become_garbage, become_a_folder, become_anothers, become_older, have_another_version)
"""What is noticed while the index is open; of the rest, SQLite need not read again what it has read."""


def use_every_verb(memory: Memory) -> None:
    """Ask and change, and check each answer."""
    item = memory.remember("Alex bought a teapot")
    assert memory.get(item.id) == item
    assert memory.observe("user", "a turn in the rain").content == "a turn in the rain"
    assert [hit.memory.id for hit in memory.recall("teapot")][:1] == [item.id]
    assert memory.pin(item.id).pinned
    assert memory.confirm(item.id).confidence == 1
    better = memory.correct(item.id, "Alex bought two teapots")
    assert [each.id for each in memory.explain(better.id).supersedes] == [item.id]
    memory.forget(better.id)
    assert not {item.id, better.id} & {hit.memory.id for hit in memory.recall("teapots", limit=100)}
    memory.restore(better.id)
    assert memory.recall("two teapots")[0].memory.id == better.id
    assert memory.status().memories == len(memory.vault.entries("main"))


def recalled(memory: Memory, question: str) -> Hits:
    """The answer with all vectors: an index that was built anew has none at first, and says so."""
    hits = memory.recall(question)
    if any(each.startswith("vectors: ") for each in hits.degraded):
        memory.searcher.vectorizer.fill(memory.searcher.index)
        hits = memory.recall(question)
    return hits


def check(memory: Memory, expected: list[object], *, notices: tuple[int, ...]) -> None:
    found = [answers(recalled(memory, question)) for question in QUESTIONS]
    assert found == expected, "the answers are not those of before"
    assert not any(SECRET in answer.content for each in found for answer in each)
    use_every_verb(memory)
    assert_index_equals_rebuilt(memory)
    told = memory.searcher.notices()
    assert len(told) in notices, told
    assert memory.searcher.degraded() == ()
    assert memory.searcher.notices() == []


class Furnished:
    """A home that is furnished once and copied for every trial, always to the same place: indexes know theirs."""

    def __init__(self, folder: Path) -> None:
        self.trial, self._kept = folder / "trial", folder / "kept"
        self.trial.mkdir()
        furnish(self.home, SettableClock(START))
        with self.open() as memory:
            self.expected: list[object] = [answers(recalled(memory, question)) for question in QUESTIONS]
        shutil.copytree(self.trial, self._kept)

    @property
    def home(self) -> Path:
        return self.trial / "home"

    def open(self) -> Memory:
        clock = SettableClock(START)
        clock.advance(hours=1)
        return opened(self.home, clock=clock, git_enabled=False)

    def copy(self) -> None:
        shutil.rmtree(self.trial)
        shutil.copytree(self._kept, self.trial)


def harm_while_closed(furnished: Furnished, harm: Harm, chance: random.Random) -> None:
    furnished.copy()
    harm(index_of(furnished.home), chance)
    with furnished.open() as memory:
        check(memory, furnished.expected, notices=(0, 1) if harm in QUIET else (1,))


def harm_while_open(furnished: Furnished, harm: Harm, chance: random.Random) -> None:
    furnished.copy()
    with furnished.open() as memory:
        if chance.random() < 0.5:
            assert [answers(memory.recall(question)) for question in QUESTIONS] == furnished.expected
        else:
            memory.get("M-1-00000000")
        harm(index_of(furnished.home), chance)
        check(memory, furnished.expected, notices=(1,) if harm in REPLACING else (0, 1))


@pytest.mark.parametrize("trials", [1, pytest.param(1000, marks=pytest.mark.long)])
def test_damaged_index_is_rebuilt_and_answers_as_before(trials: int, quick_path: Path, tally: Tally) -> None:
    furnished = Furnished(quick_path)
    for seed in range(trials):
        for act in (harm_while_closed, harm_while_open):
            for harm in HARMS:
                try:
                    act(furnished, harm, random.Random(seed))
                except BaseException as error:
                    error.add_note(f"{act.__name__}, {harm.__name__}, seed {seed}")
                    raise
                tally("index damaged", 1)
