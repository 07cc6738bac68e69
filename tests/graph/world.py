"""What the tests of the graph share: a home in which conversations were consolidated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.graph.graph import Graph
from memfolio.graph.grow import Grown, grow
from memfolio.tend.changes import JobChanges
from memfolio.types import Attribution, Kind, MemoryItem, Origin, Type
from memfolio.vault.fields import Draft
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER
from tests.index.dump import differences
from tests.index.proof import dump_of, opened, rebuilt

ENTITIES = "agents/main/memory/graph/entities"


class World:
    """A home, and what happens in it."""

    def __init__(self, home: Path, clock: SettableClock) -> None:
        self.home = home
        self.clock = clock
        self.memory: Memory = opened(home, clock=clock)
        self.changes = self._changes()
        self._turns: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        """Who is named in the turns that tests only number."""

    def _changes(self, *, dry_run: bool = False) -> JobChanges:
        return JobChanges(vault=self.memory.vault, agent="main", now=self.clock.now(), dry_run=dry_run)

    @property
    def graph(self) -> Graph:
        return Graph(self.memory.vault, self.memory.searcher, "main")

    def said(self, *texts: str, origin: Origin = Origin.AGENT) -> list[str]:
        drafts = [Draft(content=text, role="user", session="s-1", origin=origin) for text in texts]
        return [item.id for item in self.memory.vault.add("main", drafts, OWNER).items]

    def session(self, mentions: Sequence[dict[str, Any]] = (), relations: Sequence[dict[str, Any]] = ()) -> None:
        for each in mentions:
            for turn in each["in"]:
                self._names.setdefault(turn, []).append(each["name"])
        line = {
            "op": "session",
            "until": "M-1-00000000",
            "turns": 1,
            "mentions": [each | {"in": self._heard(each["in"])} for each in mentions],
            "relations": [each | {"in": self._heard(each["in"])} for each in relations],
        }
        self.memory.vault.add_lines(state_ledger("main"), [line], Attribution(session="s-1"))

    def _heard(self, where: Sequence[str]) -> list[str]:
        """The ids of turns, which are said where a test only numbers them: M-1."""
        for each in where:
            if re.fullmatch(r"M-[\d-]{1,9}", each) and each not in self._turns:
                self._turns[each] = self.said(
                    f"{' and '.join(self._names.get(each, ['Nobody']))} came up in turn {each}"
                )[0]
        return [self._turns.get(each, each) for each in where]

    def fact(self, text: str, subject: str, predicate: str = "", object: str = "", **more: Any) -> MemoryItem:
        self.clock.advance(milliseconds=1)
        draft = Draft(
            content=text,
            type=more.pop("type", Type.FACT),
            kind=more.pop("kind", Kind.SEMANTIC),
            source="extraction",
            attributes={"subject": subject, "predicate": predicate, "object": object},
            **more,
        )
        return self.memory.vault.add("main", [draft], OWNER).items[0]

    def grow(self, *, dry_run: bool = False) -> Grown:
        self.changes = self._changes(dry_run=dry_run)
        return grow(self.changes, self.memory.searcher.index)

    def page(self, id: str) -> str:
        return (self.home / ENTITIES / f"{id}.md").read_text(encoding="utf-8")

    def save(self, id: str, text: str) -> None:
        """A person writes a page."""
        path = self.home / ENTITIES / f"{id}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        self.memory.vault.survey()

    def assert_index_follows(self) -> None:
        """The index in use holds what one does that is built from the same files."""
        index = self.memory.searcher.index
        with rebuilt(self.memory.vault, "main") as other:
            assert differences(dump_of(index), dump_of(other)) == []

    def pages(self) -> list[str]:
        return sorted(path.stem for path in (self.home / ENTITIES).glob("*.md"))


def person(name: str, *where: str, aliases: Sequence[str] = (), type: str = "person") -> dict[str, Any]:
    return {"name": name, "type": type, "aliases": [*aliases], "in": [*where]}


def relation(subject: str, predicate: str, object: str, *where: str) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": object, "in": [*where]}
