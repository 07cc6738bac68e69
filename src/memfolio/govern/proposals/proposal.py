"""A proposal: a call of a verb that waits for somebody's leave. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.intake import CHECKS, nearest
from memfolio.vault.format.content import encoded
from memfolio.vault.format.fields import iso_of, plain, read_moment
from memfolio.vault.paths import agent_root

WORDS = 80
"""Characters of a text that its title shows."""
TIMES = ("at", "valid_from", "valid_until")


_LIKE_ID = re.compile(r"[A-Za-z]-[0-9a-f-]{4,}")


class Verb(NamedTuple):
    """How a verb reads, which of its arguments is its text, and which others it has."""

    says: str
    body: str
    names: tuple[str, ...]

    @property
    def names_memory(self) -> bool:
        return not {"id", "what"}.isdisjoint(self.names)


_REMEMBER = (
    *("store", "kind", "type", "confidence", "importance", "tags", *TIMES),
    *("user", "session", "source", "origin", "key", "attributes"),
)
_TRIPLE = ("subject", "predicate", "object")
_FACT = ("confidence", "source", "valid_from", "valid_until", "category", "origin", "memories")
_RULE = ("name", "domain", "description", "factor", "enabled")
_TERM = ("domain", "label", "parent_class", "domain_class", "range", "synonyms", "functional", "rule", "rationale")
OPTIONAL = frozenset({*_REMEMBER, *_FACT, *_RULE, *_TERM, "pinned"})
VERBS = {
    "remember": Verb("Remember", "text", _REMEMBER),
    "correct": Verb("Correct", "text", ("id",)),
    "forget": Verb("Forget", "", ("what",)),
    "restore": Verb("Restore", "", ("id",)),
    "confirm": Verb("Confirm", "", ("id",)),
    "pin": Verb("Pin", "", ("id", "pinned")),
    "archive": Verb("Archive", "", ("id",)),
    "core.add": Verb("Add to core memory", "text", ("block",)),
    "core.replace": Verb("Change a line of core memory", "new", ("block", "old")),
    "core.remove": Verb("Remove a line of core memory", "", ("block", "text")),
    "core.rewrite": Verb("Rewrite a block of core memory", "lines", ("block",)),
    "core.pin": Verb("Pin to core memory", "", ("what",)),
    "core.unpin": Verb("Unpin from core memory", "", ("what",)),
    "graph.merge": Verb("Make one entity of two", "", ("keep", "other")),
    "facts.assert_": Verb("Assert a fact", "", (*_TRIPLE, *_FACT)),
    "facts.retract": Verb("Retract a fact", "", ("id",)),
    "rules.create": Verb("Make a rule", "rule", _RULE),
    "rules.toggle": Verb("Switch a rule on or off", "", ("id", "enabled")),
    "rules.delete": Verb("Delete a rule", "", ("id",)),
    "ontology.commit": Verb("Add a term", "definition", ("node_id", "node_type", *_TERM)),
}
"""What can be proposed."""


class Status(StrEnum):
    """How a proposal stands that nobody has decided on."""

    PENDING = "pending"
    DEFERRED = "deferred"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Intent:
    """A call of a verb, with arguments as JSON has them; `intent_of` makes and checks it."""

    verb: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What it is about, in words."""
        given = (VERBS[self.verb].body, "text", "what", "id", "keep")
        value = next((self.arguments[name] for name in given if self.arguments.get(name)), "")
        return "\n".join(value) if isinstance(value, list) else str(value)

    @property
    def named(self) -> str:
        """The term or the triple that it is about; empty where it is about neither."""
        term = self.arguments.get("node_id")
        return str(term) if term else " ".join(str(self.arguments[name]) for name in _TRIPLE if name in self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody wants done, as its page tells."""

    id: str
    to: str
    proposer: str
    at: datetime
    intent: Intent
    trigger: str = "propose"
    about: str = ""
    """What the memory says that is meant."""
    row: str = ""
    """The row of the policy that asked for leave."""
    status: Status = Status.PENDING
    conflicts: tuple[str, ...] = ()
    note: str = ""
    expires: datetime | None = None
    hash: str = field(default="", compare=False)
    """That of its page as it was read."""
    made: object = field(default=None, compare=False)
    """What it led to, where it was committed at once."""

    @property
    def path(self) -> str:
        return f"{agent_root(self.to)}/memory/meta/proposals/{self.id}.md"

    @property
    def shown(self) -> str:
        """The mark that an approval must name, so that nobody approves what they have not seen."""
        return self.hash[:16]

    @property
    def title(self) -> str:
        return f"{VERBS[self.intent.verb].says}: {first_words(self.about or self.intent.named or self.intent.text)}"


def first_words(text: str) -> str:
    """The beginning of a text, on one line that can be printed."""
    words = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * WORDS]).split())
    return words if len(words) <= WORDS else f"{words[: WORDS - 1].rstrip()}…"


def intent_of(verb: str, arguments: Mapping[str, Any]) -> Intent:
    """The call with its arguments checked, in the form that a page can hold; InputError where they make no sense."""
    known_verb(verb)
    given = {"store" if name == "tier" else name: value for name, value in arguments.items() if value is not None}
    checked = {name: checked_argument(verb, name, value) for name, value in given.items()}
    if missing := {VERBS[verb].body, *VERBS[verb].names} - {"", *OPTIONAL, *checked}:
        raise InputError(f"{verb} lacks its {min(missing)}", hint="say what is meant")
    return Intent(verb, {name: value for name, value in checked.items() if value != [] or name == "lines"})


def known_verb(verb: str) -> str:
    """`verb` if it can be proposed."""
    if verb not in VERBS:
        raise InputError(f"{verb[:40]!r} cannot be proposed", hint=nearest(verb, list(VERBS)))
    return verb


def checked_argument(verb: str, name: str, value: Any) -> Any:
    """An argument in its normal form, as JSON has it."""
    names = (VERBS[verb].body, *VERBS[verb].names)
    if name not in names:
        raise InputError(f"{verb} has no {name[:40]!r}", hint=nearest(name, names))
    value = _CHECKS.get(name, CHECKS["user"])(name, value)
    if verb == "forget" and not _LIKE_ID.fullmatch(value):
        raise InputError("a description may mean something else by the time it is approved", hint="name it by its id")
    if isinstance(value, datetime):
        return iso_of(value)
    value = plain(value.value if isinstance(value, StrEnum) else value, name)
    encoded(json.dumps(value, ensure_ascii=False))  # refuses what no file can hold
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} is {str(value)[:40]!r}", hint="say true or false")
    return value


def _lines(_: str, value: Any) -> list[str]:
    text = value if isinstance(value, str) else "\n".join(map(str, value))
    return [line for each in text.split("\n") if (line := " ".join(each.split()))]


def _time(name: str, value: object) -> object:
    return CHECKS[name](name, (read_moment(value, UTC) or value) if isinstance(value, str) else value)


_CHECKS: Mapping[str, Callable[[str, Any], object]] = {
    **CHECKS,
    **dict.fromkeys(("text", "new"), CHECKS["content"]),
    **dict.fromkeys(("pinned", "enabled", "functional"), _flag),
    **dict.fromkeys(("rule", "definition"), CHECKS["content"]),
    "factor": CHECKS["confidence"],
    **dict.fromkeys(("synonyms", "memories"), CHECKS["tags"]),
    **dict.fromkeys(TIMES, _time),
    "lines": _lines,
}
