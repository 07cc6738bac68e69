"""Whatever is done to a home, in whatever order: every original text is still there, but for what was purged."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.tend.tend import JOBS
from memfolio.vault.vault import OWNER
from tests.index.proof import assert_index_equals_rebuilt

SEEDS, STEPS = 12, 25
TOWNS = ("Berlin", "Oslo", "Rome", "Bern")
TAGS = ("tea", "api", "garden")


class Life:
    """A home in which things happen at random."""

    def __init__(self, home: Path, clock: SettableClock, seed: int) -> None:
        self.memory = Memory.open(home, clock=clock, background=False)
        self.clock = clock
        self.chance = random.Random(seed)
        self.said: dict[str, str] = {}
        self.purged: set[str] = set()
        self.number = 0

    def step(self) -> None:
        deeds = [self.observe] * 6 + [self.remember] * 3 + [self.tend] * 3
        deeds += [self.forget, self.restore, self.correct, self.archive, self.undo, self.redo, self.edit, self.purge]
        deed: Callable[[], None] = self.chance.choice(deeds)
        with suppress(MemfolioError):  # what cannot be done is refused; nothing may be lost by it
            deed()
        self.clock.advance(hours=self.chance.choice((0, 1, 30, 200)))

    def observe(self) -> None:
        self.number += 1
        text = f"I live in {self.chance.choice(TOWNS)}, and this is turn {self.number}."
        session = f"s-{self.chance.randrange(4)}"
        self.said[self.memory.observe("user", text, session=session, user="Kim").id] = text

    def remember(self) -> None:
        self.number += 1
        text = f"Note {self.number} on {self.chance.choice(TAGS)}"
        tag = self.chance.choice(TAGS)
        item = self.memory.remember(
            text, tags=[tag], importance=0.9, store=self.chance.choice(("short_term", "working"))
        )
        self.said[item.id] = text

    def tend(self) -> None:
        jobs = [job.name for job in JOBS] if self.chance.random() < 0.5 else []
        found = self.memory.tend(jobs=jobs)
        assert not [done.error for done in found.done if done.error]

    def some(self) -> str:
        return self.chance.choice([*self.said])

    def forget(self) -> None:
        self.memory.forget(self.some())

    def restore(self) -> None:
        self.memory.restore(self.some())

    def archive(self) -> None:
        self.memory.archive(self.some())

    def correct(self) -> None:
        self.number += 1
        text = f"Corrected {self.number}"
        self.said[self.memory.correct(self.some(), text).id] = text

    def undo(self) -> None:
        seq = self.chance.randrange(max(2, self.memory.vault.head - 5), self.memory.vault.head + 1)
        self.memory.audit.undo(seq, by=OWNER)

    def redo(self) -> None:
        self.memory.audit.undo(self.memory.vault.head, by=OWNER)

    def edit(self) -> None:
        page = self.memory.vault.config.home / "agents/main/USER.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"Edited {self.number} times\n")
        self.memory.sync()

    def purge(self) -> None:
        done = self.memory.purge(self.some())
        self.purged |= {each.id for each in done.plan.memories}

    def check(self) -> None:
        for name in self.said.keys() - self.purged:
            assert self.memory.explain(name).memory.content == self.said[name]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_original_is_reached_after_any_sequence(home: Path, clock: SettableClock, seed: int) -> None:
    life = Life(home, clock, seed)
    life.observe()
    for _ in range(STEPS):
        life.step()
    life.check()
    assert_index_equals_rebuilt(life.memory)
    life.memory.vault.commit()  # which would follow within a second
    assert not [finding for finding in life.memory.vault.verify() if finding.level == "error"]
    life.memory.close()
