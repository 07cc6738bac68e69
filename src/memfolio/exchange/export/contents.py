"""What is exported: the files of one agent or of all, and what they tell, as it is at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from memfolio.errors import HomeError
from memfolio.index.facts import Fact
from memfolio.index.index import Index
from memfolio.index.lookup import Located, located
from memfolio.knowledge.case import Case
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.rule import Rule
from memfolio.knowledge.rules import Rules
from memfolio.mind.item import Item
from memfolio.mind.mind import Mind
from memfolio.vault.paths import Form, agent_of, agent_root, form_of, is_packed_log
from memfolio.vault.vault import Vault

ARCHIVED = "memory/archive/"


@dataclass(frozen=True, slots=True)
class _Own:
    """One agent's index alone, so that nobody else's facts are told as its own."""

    index: Index

    def indexes(self) -> list[Index]:
        return [self.index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The agents and the files to export; `check` raises ConflictError where the home has changed since."""

    vault: Vault
    indexes: Mapping[str, Index]
    files: tuple[str, ...]
    whole_home: bool
    now: datetime
    check: Callable[[], None]
    left_out: dict[str, str] = field(default_factory=dict)
    """Files that could not be read, and why."""

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.indexes)

    def read(self) -> Iterator[tuple[str, bytes]]:
        """Every file that can be read, with its bytes."""
        for path in self.files:
            try:
                if (data := self.vault.content(path)) is not None:
                    yield path, data
            except HomeError as error:
                self.left_out[path] = error.message

    def pages(self, agent: str) -> Iterator[tuple[str, str]]:
        """The pages of an agent that are text, by their paths in its folder; logs and what is archived are none."""
        yield from self._texts(agent, Form.PAGE)

    def days(self, agent: str) -> Iterator[tuple[str, str]]:
        """The daily logs of an agent in the same way."""
        yield from self._texts(agent, Form.LOG)

    def _texts(self, agent: str, form: Form) -> Iterator[tuple[str, str]]:
        for path, data in self.read():
            inside = path.removeprefix(f"{agent_root(agent)}/")
            is_meant = agent_of(path) == agent and form_of(path) is form and not inside.startswith(ARCHIVED)
            if not is_meant or is_packed_log(path) or inside == "agent.toml":
                continue
            try:
                yield inside, data.decode()
            except UnicodeDecodeError:
                self.left_out[path] = "is not UTF-8 text"

    def memories(self, agent: str) -> Iterator[Located]:
        """What an agent remembers, by id; what was forgotten is not told."""
        rest = "WHERE m.form = 'memory' AND m.forgotten_at IS NULL ORDER BY m.id"
        yield from self.indexes[agent].read(lambda connection: list(located(connection, rest, ())))

    def facts(self, agent: str) -> Iterator[Fact]:
        """What is asserted; what follows from it is not told."""
        yield from Facts(self.vault, self._own(agent), agent).all(include_untrusted=True)

    def rules(self, agent: str) -> list[Rule]:
        return Rules(self.vault, self._own(agent), agent).list()

    def cases(self, agent: str) -> list[Case]:
        return sorted(Cases(self.vault, self._own(agent), agent).list(), key=lambda case: case.id)

    def mind(self, agent: str) -> list[Item]:
        return Mind(self.vault, self._own(agent), agent).items(live=False)

    def _own(self, agent: str) -> Any:
        return cast(Any, _Own(self.indexes[agent]))
