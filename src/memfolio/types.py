"""The vocabulary: what is remembered, who changed it, and what a change left behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from reprlib import recursive_repr
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

from memfolio.errors import InputError

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a plain value: a dataclass that cannot be changed, and whose fields are given by name."""
    made = dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)(cls)
    # The same as `dataclass` would make, which compiles it for each class: a tenth of the start of every process.
    given, each = vars(cls), fields(made)  # type: ignore[arg-type]
    compared = _values([one.name for one in each if one.compare])
    hashed = _values([one.name for one in each if (one.compare if one.hash is None else one.hash)])
    shown = [one.name for one in each if one.repr]

    def equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def digest(self: object) -> int:
        return hash(hashed(self))

    @recursive_repr()
    def show(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    for name, method in (("__eq__", equal), ("__hash__", digest), ("__repr__", show)):
        if given.get(name) is None:
            setattr(made, name, method)
    return made


def _values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What returns the values of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


ID_PATTERN = re.compile(r"[A-Z]-\d{1,15}-[0-9a-f]{8}")
AGENT_PATTERN = re.compile(r"(?!(?:con|prn|aux|nul|com[1-9]|lpt[1-9])$)[a-z0-9][a-z0-9-]{0,63}")
"""An agent is a folder, which Windows could not have under some names."""
TOKEN_PATTERN = re.compile(r"[^\s·\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}")
"""Session, source, trigger and actor are identifiers, never prose: they appear in the audit trail."""


class Kind(StrEnum):
    """The kind of a memory: what happened, what is known, how something is done, or an opinion."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    OPINION = "opinion"


class Type(StrEnum):
    """What a memory is about."""

    EVENT = "event"
    DECISION = "decision"
    OUTCOME = "outcome"
    LESSON = "lesson"
    FACT = "fact"
    OBSERVATION = "observation"
    PREFERENCE = "preference"
    TASK = "task"
    EMOTION = "emotion"
    CORRECTION = "correction"
    ERROR = "error"


class Store(StrEnum):
    """Where a memory lives at the moment."""

    WORKING = "working"
    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    VAULT = "vault"


class Origin(StrEnum):
    """Who a memory came from; set when it is stored, and never made more trusted by a later change."""

    OWNER = "owner"
    AGENT = "agent"
    UNTRUSTED = "untrusted"
    SYSTEM = "system"


class Action(StrEnum):
    """The closed vocabulary of the audit trail."""

    CREATE = "CREATE"
    EDIT = "EDIT"
    APPEND = "APPEND"
    DELETE = "DELETE"
    ARCHIVE = "ARCHIVE"
    RESTORE = "RESTORE"
    MERGE = "MERGE"
    REVERT = "REVERT"
    DECAY = "DECAY"
    RENAME = "RENAME"
    PROPOSE = "PROPOSE"
    COMMIT = "COMMIT"
    REJECT = "REJECT"
    ALERT = "ALERT"
    ACK = "ACK"
    PURGE = "PURGE"


class Approval(StrEnum):
    """How a change came to be allowed."""

    AUTO = "auto"
    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"
    NONE = "none"


SEMANTIC_TYPES = frozenset({Type.FACT, Type.PREFERENCE, Type.LESSON})
DEFAULT_KINDS = {each: Kind.SEMANTIC if each in SEMANTIC_TYPES else Kind.EPISODIC for each in Type}
"""The kind that a memory of each type has when nobody says otherwise."""
ACTOR_ROLES = frozenset({"human", "bot", "reflection", "system", "skill", "subagent"})
EMPTY: Mapping[str, Any] = MappingProxyType({})


def check_token(name: str, value: str) -> str:
    """`value` if it is a plain identifier; these are shown in the trail, so prose is refused."""
    if not TOKEN_PATTERN.fullmatch(value):
        raise InputError(
            f"{name} {value[:40]!r} is not an identifier",
            hint=f"use 1 to 128 characters without spaces for {name}; longer text belongs into attributes",
        )
    return value


def check_actor(actor: str) -> str:
    """`actor` if it is `role` or `role:name` with one of the known roles."""
    check_token("actor", actor)
    if actor.partition(":")[0] not in ACTOR_ROLES:
        raise InputError(f"unknown actor {actor!r}", hint=f"start it with one of {', '.join(sorted(ACTOR_ROLES))}")
    return actor


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One remembered thing. Times are aware; importance and confidence lie in 0–1."""

    id: str
    content: str
    created_at: datetime
    type: Type = Type.OBSERVATION
    kind: Kind = Kind.EPISODIC
    store: Store = Store.LONG_TERM
    user: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    source: str = "conversation"
    role: str | None = None
    session: str | None = None
    project: str | None = None
    """The project in which it was said; None where it is about the person, or about nothing in particular."""
    audience: str | None = None
    """Who may hear it: a person, or a room (`room:…`); None is everybody."""
    origin: Origin = Origin.AGENT
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: str | None = None
    forgotten_at: datetime | None = None
    accessed_at: datetime | None = None
    access_count: int = 0
    decay_rate: float | None = None
    pinned: bool = False
    derived_from: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    key: str | None = None
    fate: str | None = field(default=None, compare=False)
    """Why it is out of sight, since when and by whom, and what brings it back; told of what is looked up by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who made a change, how it was approved, and what triggered it."""

    actor: str = "bot:auto-detect"
    approval: Approval = Approval.AUTO
    trigger: str = "observe"
    session: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        check_actor(self.actor)
        check_token("trigger", self.trigger)
        for name, value in (("session", self.session), ("source", self.source)):
            if value is not None:
                check_token(name, value)


def check_attribution(by: object) -> Attribution:
    """`by` if it says who makes a change."""
    if not isinstance(by, Attribution):
        raise InputError(f"by is a {type(by).__name__}", hint='pass an Attribution, such as Attribution(actor="human")')
    return by


HUMAN = Attribution(actor="human", approval=Approval.NONE, trigger="edit")


# The sources of what memfolio makes of memories itself, and what follows from them.

LEARNED = "extraction"
"""Learned from a conversation."""
CLOSELY = "closely"
"""The attribute of what an agent learned, who read the turns beside what was known."""
FLUSHED = "flush"
"""Saved from a transcript before it was cut."""
CORRECTION = "correction"
PATTERN = "pattern"
REFLECTION = "reflection"
"""Learned by looking back, with somebody's approval."""
OVERHEARD = (LEARNED, FLUSHED)
"""What nobody said in order to have it remembered."""
SUMMED_UP = ("consolidation", "summary", PATTERN)
"""What tells of several memories; it is not summed up again."""


def sums_up(item: MemoryItem) -> bool:
    """Whether a memory tells of several others, also after a correction."""
    return item.source in SUMMED_UP or (item.source == CORRECTION and len(item.derived_from) > 1)
