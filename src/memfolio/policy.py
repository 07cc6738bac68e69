"""Who may do what: one table of deeds, roles and origins, and the three tables to choose from. Pure.

A row reads as a sentence, `remember by subagent from untrusted: propose`; the first one that fits decides. What a
person wrote into `memfolio.toml` stands before the rows of the preset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TypeVar

from memfolio.text import packaged_table
from memfolio.types import Origin

E = TypeVar("E", bound=StrEnum)
ANY = "any"


class Deed(StrEnum):
    """What a change does; one that does several things needs leave for each."""

    OBSERVE = "observe"
    REMEMBER = "remember"
    LEARN = "learn"
    """Memories made of other memories: what was extracted, summed up or flushed."""
    NOTE = "note"
    """What is counted and kept in mind by the way: use, sessions, jobs, stores."""
    CONFIRM = "confirm"
    PIN = "pin"
    CORRECT = "correct"
    FORGET = "forget"
    RESTORE = "restore"
    ARCHIVE = "archive"
    MERGE = "merge"
    CORE = "core"
    """A line of core memory."""
    REWRITE = "rewrite"
    """More than one line of core memory at once, or a log with lines that stood nowhere before."""
    RULE = "rule"
    """Rules and terms, which decide what is concluded."""
    VAULT = "vault"
    PAGE = "page"
    HIGH = "high"
    """A page of high sensitivity."""
    CRITICAL = "critical"
    """A file that decides how agents behave, the configuration, or another file of the home itself."""
    UNDO = "undo"
    PURGE = "purge"
    PROPOSE = "propose"
    REVIEW = "review"
    """Deciding on a proposal."""
    REFLECT = "reflect"
    """Applying a reflection."""
    ACKNOWLEDGE = "acknowledge"


class Role(StrEnum):
    """Who acts: a person, an agent that writes, one that proposes, or memfolio itself when it tends."""

    OWNER = "owner"
    AGENT = "agent"
    SUBAGENT = "subagent"
    SYSTEM = "system"


class Verdict(StrEnum):
    """What becomes of a deed, the mildest first."""

    APPLY = "apply"
    PROPOSE = "propose"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One row of the table; what is None fits everything."""

    deed: Deed | None
    role: Role | None
    origin: Origin | None
    verdict: Verdict

    def fits(self, deed: Deed, role: Role, origin: Origin | None) -> bool:
        return self.deed in (None, deed) and self.role in (None, role) and self.origin in (None, origin)

    def __str__(self) -> str:
        source = f" from {self.origin}" if self.origin else ""
        return f"{self.deed or ANY} by {self.role or ANY}{source}: {self.verdict}"


_ROW = re.compile(r"\s*(\w+)\s+by\s+(\w+)(?:\s+from\s+(\w+))?\s*:\s*(\w+)\s*")


@lru_cache(maxsize=256)
def read_row(text: str) -> PolicyRow:
    """The row that a sentence stands for; ValueError says which word nobody knows."""
    match = _ROW.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not of the form `DEED by ROLE: VERDICT` or `DEED by ROLE from ORIGIN: VERDICT`")
    deed, role, origin, verdict = match.groups()
    try:
        return PolicyRow(_word(Deed, deed), _word(Role, role), _word(Origin, origin or ANY), _member(Verdict, verdict))
    except ValueError as error:
        raise ValueError(f"in {text!r}, {error}") from error


def _word(choices: type[E], word: str) -> E | None:
    return None if word == ANY else _member(choices, word)


def _member(choices: type[E], word: str) -> E:
    try:
        return choices(word)
    except ValueError as error:
        known = ", ".join(each.value for each in choices)
        raise ValueError(f"{word!r} is not one of {known}") from error


def are_rows(texts: Iterable[str]) -> bool:
    """Whether each text is a row; the reason why one is not is raised as ValueError."""
    return all(read_row(text) for text in texts)


PRESETS = ("trusting", "balanced", "strict")
"""The tables to choose from; `govern/data/policy.toml` has their rows."""
_ALERTS = ("acknowledge by owner: apply", "acknowledge by any: refuse")


@cache
def _rows_of(preset: str) -> tuple[PolicyRow, ...]:
    tables = packaged_table("govern/data/policy.toml")
    return tuple(map(read_row, tables[preset]))


@dataclass(frozen=True, slots=True)
class Policy:
    """The rows that count in a home, in their order."""

    rows: tuple[PolicyRow, ...]

    @classmethod
    def of(cls, preset: str, further: Iterable[str] = ()) -> Policy:
        """A preset with a person's own rows before it; an alert is a person's in any case."""
        return cls((*map(read_row, (*_ALERTS, *further)), *_rows_of(preset)))

    def decide(self, deed: Deed, role: Role, origin: Origin | None = None) -> PolicyRow:
        """The row that decides."""
        return next(row for row in self.rows if row.fits(deed, role, origin))
