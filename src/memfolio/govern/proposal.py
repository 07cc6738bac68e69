"""A proposal: a call of a verb that waits for somebody's leave, as a value and as a page. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache, partial
from itertools import dropwhile, takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from memfolio.arguments import CHECKS, choose, nearest
from memfolio.errors import ContentError, InputError
from memfolio.learn.resolve import LONG, Knowledge, KnownStatementAbout, about, plain_words
from memfolio.state import moment
from memfolio.types import check_token, frozen
from memfolio.vault.fields import (
    encoded,
    iso_of,
    normalise_content,
    plain,
    read_confidence,
    read_importance,
    read_moment,
    read_tags,
)
from memfolio.vault.paths import agent_of, agent_root, check_agent

# A proposal: a call of a verb that waits for somebody's leave. Pure.

WORDS = 80
"""Characters of a text that its title shows."""
TIMES = ("at", "valid_from", "valid_until")


_LIKE_ID = re.compile(r"[A-Za-z]-[0-9a-f-]{4,}")


class ProposableVerb(NamedTuple):
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
    "remember": ProposableVerb("Remember", "text", _REMEMBER),
    "correct": ProposableVerb("Correct", "text", ("id",)),
    "forget": ProposableVerb("Forget", "", ("what",)),
    "restore": ProposableVerb("Restore", "", ("id",)),
    "confirm": ProposableVerb("Confirm", "", ("id",)),
    "pin": ProposableVerb("Pin", "", ("id", "pinned")),
    "archive": ProposableVerb("Archive", "", ("id",)),
    "core.add": ProposableVerb("Add to core memory", "text", ("block",)),
    "core.replace": ProposableVerb("Change a line of core memory", "new", ("block", "old")),
    "core.remove": ProposableVerb("Remove a line of core memory", "", ("block", "text")),
    "core.rewrite": ProposableVerb("Rewrite a block of core memory", "lines", ("block",)),
    "core.pin": ProposableVerb("Pin to core memory", "", ("what",)),
    "core.unpin": ProposableVerb("Unpin from core memory", "", ("what",)),
    "graph.merge": ProposableVerb("Make one entity of two", "", ("keep", "other")),
    "facts.assert_": ProposableVerb("Assert a fact", "", (*_TRIPLE, *_FACT)),
    "facts.retract": ProposableVerb("Retract a fact", "", ("id",)),
    "rules.create": ProposableVerb("Make a rule", "rule", _RULE),
    "rules.toggle": ProposableVerb("Switch a rule on or off", "", ("id", "enabled")),
    "rules.delete": ProposableVerb("Delete a rule", "", ("id",)),
    "ontology.commit": ProposableVerb("Add a term", "definition", ("node_id", "node_type", *_TERM)),
}
"""What can be proposed."""


class ProposalStatus(StrEnum):
    """How a proposal stands that nobody has decided on."""

    PENDING = "pending"
    DEFERRED = "deferred"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class ProposedCall:
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


@frozen
class Proposal:
    """What somebody wants done, as its page tells."""

    id: str
    to: str
    proposer: str
    at: datetime
    intent: ProposedCall
    trigger: str = "propose"
    about: str = ""
    """What the memory says that is meant."""
    row: str = ""
    """The row of the policy that asked for leave."""
    status: ProposalStatus = ProposalStatus.PENDING
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


def intent_of(verb: str, arguments: Mapping[str, Any]) -> ProposedCall:
    """The call with its arguments checked, in the form that a page can hold; InputError where they make no sense."""
    known_verb(verb)
    given = {"store" if name == "tier" else name: value for name, value in arguments.items() if value is not None}
    checked = {name: checked_argument(verb, name, value) for name, value in given.items()}
    if missing := {VERBS[verb].body, *VERBS[verb].names} - {"", *OPTIONAL, *checked}:
        raise InputError(f"{verb} lacks its {min(missing)}", hint="say what is meant")
    return ProposedCall(verb, {name: value for name, value in checked.items() if value != [] or name == "lines"})


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


# The page of a proposal, which people read and edit: a title, a field a line, a rule, and below it the memory that is
# meant, as a quote, and the text. Pure.

RULE = "---"
QUOTE = ">"
_ID = r"P-\d{1,15}-[0-9a-f]{8}"
PATH = re.compile(rf"(?:agents/[^/]+|shared)/memory/meta/proposals/({_ID})\.md")
LABELS = {"id": "Memory"} | {name: f"Suggested {name}" for name in ("store", "kind", "type")}
LEVELS: Mapping[str, Callable[[str], float | None]] = {"confidence": read_confidence, "importance": read_importance}
_FIELD = re.compile(r"[-*] \*\*([^*]+)\*\*:[ \t]*(.*?)[ \t]*")
_LINK = re.compile(rf"\[\[({_ID})\]\]")


def _moment(text: str) -> datetime:
    moment = read_moment(text, UTC)
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint="write it like 2026-11-15T14:30:00+00:00")
    return moment


FIELDS: Mapping[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "From": ("proposer", str, check_agent),
    "Timestamp": ("at", iso_of, _moment),
    "Trigger": ("trigger", str, partial(check_token, "trigger")),
    "Policy": ("row", str, str),
    "Status": ("status", str, partial(choose, ProposalStatus, "status")),
    "Conflicts": (
        "conflicts",
        lambda ids: ", ".join(f"[[{each}]]" for each in ids),
        lambda text: tuple(_LINK.findall(text)),
    ),
    "Note": ("note", str, str),
    "Expires": ("expires", iso_of, _moment),
}
"""The fields behind those of the verb: what of the proposal they are, and how they are written and read."""


def render(proposal: Proposal) -> str:
    """The page of a proposal."""
    intent, how = proposal.intent, VERBS[proposal.intent.verb]
    fields = {_label(name): _say(name, intent.arguments[name]) for name in how.names if name in intent.arguments}
    fields |= {label: say(value) for label, (name, say, _) in FIELDS.items() if (value := getattr(proposal, name))}
    lines = "\n".join(f"- **{label}**: {value}" for label, value in {"Do": intent.verb, **fields}.items())
    text = intent.text if how.body else ""
    # Where no memory is known, an empty quote keeps a text that begins with one from being taken for it.
    has_quote = proposal.about or (how.names_memory and text.startswith(QUOTE))
    below = f"{_quoted(proposal.about)}\n\n{text}" if has_quote else text
    return f"# {proposal.title}\n\n{lines}\n\n{RULE}\n\n{below}".rstrip("\n") + "\n"


def _quoted(text: str) -> str:
    return "\n".join(f"{QUOTE} {line}" if line else QUOTE for line in text.split("\n"))


def _unquoted(lines: list[str]) -> tuple[str, list[str]]:
    """What is quoted before anything else, and the lines behind it."""
    lines = list(dropwhile(lambda line: not line.strip(), lines))
    quote = list(takewhile(lambda line: line.startswith(QUOTE), lines))
    return "\n".join(line[1:].removeprefix(" ") for line in quote), lines[len(quote) :]


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " ").capitalize())


def _say(name: str, value: Any) -> str:
    """A value as a person would write it where it reads back as the same, else as JSON."""
    plain = ", ".join(value) if name == "tags" else value
    is_plain = isinstance(plain, str) and plain.isprintable() and plain == plain.strip() != ""
    return plain if is_plain and read_value(name, plain) == value else json.dumps(value, ensure_ascii=False)


def read_value(name: str, text: str) -> Any:
    """The value of an argument as a person wrote it."""
    if name in LEVELS and LEVELS[name](text) is not None:
        return LEVELS[name](text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return list(read_tags(text)) if name == "tags" and not isinstance(value, list) else value


def parse(path: str, content: bytes) -> Proposal:
    """The proposal on a page; ContentError names the line that makes no sense."""
    match, to = PATH.fullmatch(path), agent_of(path)
    with _line(path, content.count(b"\n")):
        try:
            lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError("it is not UTF-8 text") from error
        if match is None or to is None or RULE not in lines:
            raise InputError(f"a line {RULE} between its fields and its text is missing")
    rule = lines.index(RULE)
    fields = _fields(path, lines[:rule])
    take = partial(_taken, path, fields)
    verb = take("Do", known_verb)
    given = {name: take(_label(name), partial(_argument, verb, name)) for name in VERBS[verb].names}
    told = {name: take(label, read) for label, (name, _, read) in FIELDS.items()}
    for label, (number, _) in fields.items():
        with _line(path, number):
            raise InputError(f"there is no field {label[:40]!r} here")
    with _line(path, rule + 2):
        about, below = _unquoted(lines[rule + 1 :]) if VERBS[verb].names_memory else ("", lines[rule + 1 :])
        text, body = normalise_content("\n".join(below)), VERBS[verb].body
        if text and not body:
            raise InputError(f"{verb} takes no text")
        intent = intent_of(verb, {**given, body: text} if body else given)
    known = {name: each for name, each in told.items() if each is not None}
    return Proposal(id=match[1], to=to, intent=intent, about=about, **known)


def _argument(verb: str, name: str, text: str) -> Any:
    return checked_argument(verb, name, read_value(name, text))


def _fields(path: str, lines: list[str]) -> dict[str, tuple[int, str]]:
    """The fields of a page by their labels, with their lines."""
    fields: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            with _line(path, number):
                match = _FIELD.fullmatch(line)
                if match is None or match[1] in fields:
                    raise InputError("this field stands here twice" if match else "this is no field")
                fields[match[1]] = number, match[2]
    return fields


def _taken(path: str, fields: dict[str, tuple[int, str]], label: str, read: Callable[[str], Any]) -> Any:
    """What a field says, which is taken from the others; None where it is empty, if it may be."""
    number, text = fields.pop(label, (1, ""))
    with _line(path, number):
        if not text and label in ("Do", "From", "Timestamp"):
            raise InputError(f"the field {label} is missing")
        return read(text) if text else None


@contextmanager
def _line(path: str, number: int) -> Iterator[None]:
    """Say where it stands if something makes no sense."""
    try:
        yield
    except InputError as error:
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        raise ContentError(f"{path}, line {number}: {why}", hint="correct that line, or delete the file") from error


# Which proposals cannot both be carried out. Pure.

CLAIMS = frozenset({"remember", "correct", "core.add", "core.replace", "core.pin"})
KEEPING = frozenset({"confirm", "pin"})
_IS = re.compile(
    r"(?:[Tt]he )?(?P<subject>\w[^.,;]{2,60}?) (?:is|are|will be) (?:on |at |due )?(?P<object>[A-Z\d][^.;]*)\.?"
)
"""A thing and its value, which begins with a capital or a digit."""


def content_of(intent: ProposedCall) -> str:
    """What an intent would do, without how sure or important it is, to be compared with what others would do."""
    said = {name: value for name, value in intent.arguments.items() if intent.verb != "remember" or name == "text"}
    alike = {name: plain_words(value) or value if isinstance(value, str) else value for name, value in said.items()}
    return json.dumps([intent.verb, alike], ensure_ascii=False, sort_keys=True)


def rivals(proposal: Proposal, pending: Iterable[Proposal]) -> list[Proposal]:
    """The proposals to the same agent that say or do something else about the same thing."""
    return [each for each in pending if each.to == proposal.to and _clash(proposal.intent, each.intent)]


def _clash(one: ProposedCall, other: ProposedCall) -> bool:
    if content_of(one) == content_of(other):
        return False
    if one.verb != other.verb and {one.verb, other.verb} <= KEEPING:
        return False
    return bool(_things(one, other) & _things(other, one)) or _contradict(one, other)


def _things(intent: ProposedCall, other: ProposedCall) -> set[tuple[str, ...]]:
    """What is touched: a memory, an entity that goes, a line of core memory, or its block where that is rewritten."""
    given = intent.arguments
    if "block" not in given:
        return {(given[name],) for name in ("id", "what", "other") if name in given}
    block = plain_words(given["block"])
    if "core.rewrite" in (intent.verb, other.verb):
        return {(block,)}
    line = given.get("text" if intent.verb == "core.remove" else "old")
    return {(block, plain_words(line))} if line else set()


def _contradict(one: ProposedCall, other: ProposedCall) -> bool:
    """Whether two texts give one thing two values."""
    return {one.verb, other.verb} <= CLAIMS and bool(Knowledge([_claim(one.text)]).detect(_claim(other.text)))


@lru_cache(maxsize=1024)
def _claim(text: str) -> KnownStatementAbout:
    """What a text claims, by the rules or, where they cannot tell, as `this is that`."""
    found: dict[str, Any] = about(text[:LONG])
    match = _IS.fullmatch(text[:LONG])
    if match and not found.get("is_single"):
        found = {**match.groupdict(), "predicate": "is", "is_single": True}
    return KnownStatementAbout(ref="", text=text, at=datetime.min.replace(tzinfo=UTC), **found)


def carry_out(memory: object, intent: ProposedCall) -> object:
    """Call the verb of a `Memory` that an intent names."""
    given = {name: moment(value) if name in TIMES else value for name, value in intent.arguments.items()}
    return attrgetter(intent.verb)(memory)(**given)
