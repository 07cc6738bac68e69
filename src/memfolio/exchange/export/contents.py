"""What is exported: the files of one agent or of all, and what they tell, as it is at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize

from memfolio.clock import iso
from memfolio.errors import HomeError, PathError
from memfolio.exchange.files import safe_path
from memfolio.index.facts import Fact
from memfolio.index.filter import ARCHIVED, Filter
from memfolio.index.index import Index
from memfolio.index.lookup import Located, located
from memfolio.index.mind_item import Item
from memfolio.knowledge.case import Case
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.rule import Rule
from memfolio.knowledge.rules import Rules
from memfolio.mind.mind import Mind
from memfolio.vault.disk import disk_errors
from memfolio.vault.excerpt import cut, excerpts
from memfolio.vault.paths import AUDIT, Form, agent_of, agent_root, check_path, form_of
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

VERSION = "1"
OUT_OF_SIGHT = ("agent.toml", "memory/archive/", "memory/meta/")


def is_plain(path: str) -> bool:
    """Whether a file of a home may have this path; parts of the trail are not for anybody to write."""
    try:
        return check_path(path) == path and not path.startswith(f"{AUDIT}/")
    except PathError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The agents and the files to export; `check` raises ConflictError where the home has changed since."""

    vault: Vault
    indexes: Mapping[str, Index]
    files: tuple[str, ...]
    whole_home: bool
    now: datetime
    check: Callable[[], None]
    step: Callable[[], object]
    """Called for every file that was read."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Files that could not be exported, and why."""

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.indexes)

    @property
    def manifest(self) -> dict[str, Any]:
        """What an export says of itself."""
        told = {"version": VERSION, "exported_at": iso(self.now)}
        return {**told, "agents": self.agents, "whole_home": self.whole_home}

    def read(self, agent: str | None = None) -> Iterator[tuple[str, bytes]]:
        """Every file, or those of one agent, with its bytes, as far as it can be read."""
        for path in self.files:
            if agent is not None and agent_of(path) != agent:
                continue
            self.step()
            home = self.vault.home  # which also has files with names that the vault would not give
            try:
                with disk_errors(home.root):
                    data = home.disk.read(home.path(path))
            except HomeError as error:
                self.left_out[path] = error.message
            else:
                if data is not None:
                    yield path, data

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """Every file with its bytes, by the nearest name that it may have in every home."""
        given = set(self.files)
        for path, data in self.read():
            name = path if is_plain(path) else normalize("NFC", safe_path(path))
            if name != path and (name in given or not is_plain(name)):
                self.left_out[path] = "has a name that other systems do not allow: rename it"
                continue
            given.add(name)
            yield name, data

    def pages(self, agent: str) -> Iterator[tuple[str, bytes]]:
        """The pages, days and attachments of an agent by their paths in its folder; not what is out of sight.

        Of the days neither: what was corrected or is in quarantine would be as good as the rest elsewhere.
        """
        hidden = {each.item.id: each.path for each in self._hidden(agent)}
        paths = set(hidden.values())
        for path, data in self.read(agent):
            inside = path.removeprefix(f"{agent_root(agent)}/")
            if form_of(path) is Form.LINES or inside.startswith(OUT_OF_SIGHT):
                continue
            if path in paths:
                text = to_text(data)
                data = to_bytes(cut(text, excerpts(path, text, hidden)))
            yield inside, data

    def memories(self, agent: str, *include: str) -> list[Located]:
        """What an agent remembers, by id, with what is out of sight only if that is asked for."""
        condition, values = Filter(forms=("memory",), include=include).where()
        return self._located(agent, condition, values)

    def _hidden(self, agent: str) -> list[Located]:
        """What was corrected or is in quarantine."""
        condition, values = Filter(include=(ARCHIVED,)).where()
        return self._located(agent, f"m.form = 'memory' AND m.forgotten_at IS NULL AND NOT ({condition})", values)

    def _located(self, agent: str, condition: str, values: tuple[Any, ...]) -> list[Located]:
        rest = f"WHERE {condition} ORDER BY m.id"
        return self.indexes[agent].read(lambda connection: list(located(connection, rest, values)))

    def facts(self, agent: str, *, untrusted: bool = False) -> Iterator[Fact]:
        """What is asserted; what follows from it is not told."""
        yield from Facts(self.vault, self._own(agent), agent).all(include_untrusted=untrusted)

    def rules(self, agent: str) -> list[Rule]:
        return Rules(self.vault, self._own(agent), agent).list()

    def cases(self, agent: str) -> list[Case]:
        return sorted(Cases(self.vault, self._own(agent), agent).list(), key=lambda case: case.id)

    def mind(self, agent: str) -> list[Item]:
        return Mind(self.vault, self._own(agent), agent).items(live=False)

    def _own(self, agent: str) -> Any:
        """A library of one agent alone, so that nobody else's facts are told as its own."""
        index = self.indexes[agent]
        return SimpleNamespace(index=index, indexes=lambda: [index])
