"""Who may do what: one table of deeds, roles and origins, and the three tables to choose from. Pure.

A row reads as a sentence, `remember by subagent from untrusted: propose`; the first one that fits decides. What a
person wrote into `memfolio.toml` stands before the rows of the preset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

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


_ALWAYS = ("acknowledge by owner: apply", "acknowledge by any: refuse", "any by owner: apply")
"""Only a person takes an alert off the list, and there is nobody above them to ask."""
_QUARANTINE = ("observe by any from untrusted: apply", "learn by any from untrusted: apply")
"""What strangers said is kept, and stays out of recall until somebody confirms it."""
_OWN = tuple(f"{deed} by {{}}: apply" for deed in ("observe", "learn", "note", "page", "propose"))
"""What an agent does in its own folder, without which it could not work."""

PRESETS = {
    "trusting": (
        *_ALWAYS,
        "confirm by any from untrusted: propose",
        "vault by any: propose",
        "critical by any: propose",
        "purge by subagent: refuse",
        "undo by subagent: refuse",
        "any by any: apply",
    ),
    "balanced": (
        *_ALWAYS,
        *_QUARANTINE,
        "remember by any from untrusted: propose",
        "confirm by any from untrusted: propose",
        "vault by system: refuse",
        "vault by any: propose",
        "critical by any: propose",
        "high by any: propose",
        "rewrite by any: propose",
        "reflect by any: propose",
        "core by system: propose",
        "any by system: apply",
        "archive by agent: propose",
        "merge by agent: propose",
        "any by agent: apply",
        *(row.format("subagent") for row in _OWN),
        "undo by subagent: refuse",
        "purge by subagent: refuse",
        "review by subagent: refuse",
        "any by subagent: propose",
    ),
    "strict": (
        *_ALWAYS,
        "observe by subagent: refuse",
        *_QUARANTINE,
        "any by any from untrusted: propose",
        "vault by any: refuse",
        "critical by any: refuse",
        "reflect by any: propose",
        "rewrite by any: propose",
        "core by any: propose",
        "any by system: apply",
        *(row.format("any") for row in _OWN),
        "undo by any: refuse",
        "purge by any: refuse",
        "review by any: refuse",
        "any by any: propose",
    ),
}
"""The tables to choose from; each ends with rows that fit whatever is left."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rows that count in a home, in their order."""

    rows: tuple[PolicyRow, ...]

    @classmethod
    def of(cls, preset: str, further: Iterable[str] = ()) -> Policy:
        """A preset with a person's own rows before it; an alert is a person's in any case."""
        return cls(tuple(map(read_row, (*_ALWAYS[:2], *further, *PRESETS[preset]))))

    def decide(self, deed: Deed, role: Role, origin: Origin | None = None) -> PolicyRow:
        """The row that decides."""
        return next(row for row in self.rows if row.fits(deed, role, origin))
