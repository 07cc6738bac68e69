"""Facts as the index stores them, and the lines that say so. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

from memfolio.clock import EPOCH
from memfolio.errors import InputError
from memfolio.index.rows import MICROSECOND, from_us
from memfolio.types import Origin
from memfolio.vault.fields import check_fraction, hashed_id, without_surrogates
from memfolio.vault.lines import read_object

# A fact as those see it who reason: a triple with how sure it is and when it is true.
#
# Times are microseconds since 1970; a span begins with its first moment and ends before its last. `BEGINNING` and
# `END` stand for what is open.

BEGINNING, END = -(2**62), 2**62

Triple = tuple[str, str, str]


class Atom(NamedTuple):
    """A triple that holds for a span of time. `key` is positive for what was asserted, negative for what follows."""

    key: int
    subject: str
    predicate: str
    object: str
    confidence: float = 1.0
    start: int = BEGINNING
    end: int = END

    @property
    def triple(self) -> Triple:
        return self.subject, self.predicate, self.object

    def holds_at(self, moment: int) -> bool:
        return self.start <= moment < self.end


# Facts as the index has them: subject, predicate and object, with all that is known about when and how they hold.

FACTS = (
    "f.row, f.id, f.subject, f.predicate, f.object, f.confidence, f.source, f.category, f.origin, f.valid_from,"
    " f.valid_until, f.created_at, f.updated_at, f.verified_at, f.verifications, f.more"
)
"""The columns of a `Fact` in the table."""
FIRST_WIDE = "\u2e80"
"""From here on are the scripts that do not part words with spaces."""
_PARTS = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]+")
_NAME = re.compile(r"[\w-]+")
_ADDRESS = re.compile(r"[/@\\:]")
_LINK = re.compile(r"[A-Z]-(?:[0-9]{1,15}-[0-9a-f]{8}|[0-9a-f]{16})")


class Fact(NamedTuple):
    """A fact. Made from a row at once, since many are made: its times are read when somebody asks for them.

    `row` is negative for a fact that follows from others by a rule.
    """

    row: int
    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    source: str
    category: str | None
    origin: str
    valid_from_us: int | None
    valid_until_us: int | None
    created_us: int
    updated_us: int
    verified_us: int | None
    verification_count: int
    more: str | None

    @property
    def triple(self) -> Triple:
        return self.subject, self.predicate, self.object

    @property
    def is_derived(self) -> bool:
        return self.row < 0

    @property
    def valid_from(self) -> datetime | None:
        return None if self.valid_from_us is None else from_us(self.valid_from_us)

    @property
    def valid_until(self) -> datetime | None:
        return None if self.valid_until_us is None else from_us(self.valid_until_us)

    @property
    def span(self) -> tuple[int, int]:
        """When it holds; `BEGINNING` and `END` mark open ends."""
        start, end = self.valid_from_us, self.valid_until_us
        return BEGINNING if start is None else start, END if end is None else end

    @property
    def created_at(self) -> datetime:
        return from_us(self.created_us)

    @property
    def updated_at(self) -> datetime:
        return from_us(self.updated_us)

    @property
    def last_verified(self) -> datetime | None:
        return None if self.verified_us is None else from_us(self.verified_us)

    @property
    def details(self) -> dict[str, Any]:
        """Further fields of its line: `memories`, `derived_from`, `rule` and anything a person wrote there."""
        return json.loads(self.more) if self.more else {}

    @property
    def sentence(self) -> str:
        """The fact as people would say it: `Acme hasRevenue $50,000` is "Acme has revenue $50,000."."""
        return f"{self.subject} {in_words(self.predicate)} {self.object}{_full_stop(self.object)}"

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


def linked(fact: Fact) -> list[str]:
    """The ids of the memories and facts that a fact came from."""
    named = [fact.details.get(name) for name in ("memories", "derived_from")] if fact.more else []
    told = dict.fromkeys(each for some in named if isinstance(some, list) for each in some if isinstance(each, str))
    return [each for each in told if _LINK.fullmatch(each)]


@lru_cache(maxsize=4096)
def in_words(predicate: str) -> str:
    """A predicate as it is spoken: `hasRevenue` is "has revenue"; one of a vocabulary, as `rdf:type`, stays."""
    words = list(filter(None, _PARTS.split(predicate)))
    if len(words) < 2 or not _NAME.fullmatch(predicate):
        return predicate
    is_shouted = predicate.isupper()
    return " ".join(word if word.isupper() and len(word) > 1 and not is_shouted else word.lower() for word in words)


def _full_stop(text: str) -> str:
    """A full stop, but for where it would be taken for a part of an address, or the script has another one."""
    last = text.rsplit(None, 1)[-1]
    end = last.rstrip("'\")%”’»")[-1:]
    return "." if end.isalnum() and end < FIRST_WIDE and not _ADDRESS.search(last) else ""


# Lines about facts: what each says, and what a fact is after all of them. Pure.

ASSERT, RETRACT, VERIFY = "assert", "retract", "verify"
OPS = (ASSERT, RETRACT, VERIFY)
PARTS = ("subject", "predicate", "object")
LONGEST = 4096
"""Characters that a subject, a predicate or an object may have."""
_ID = re.compile(r"F-[0-9]{1,15}-[0-9a-f]{8}")
_LAST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
_TIMES = "write 2026-11-15 or 2026-11-15T14:30Z"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ORIGINS = frozenset(each.value for each in Origin)
_CORE = frozenset(
    "id at op fact subject predicate object confidence source from category origin valid_from valid_until".split()
)
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class FactLine(NamedTuple):
    """One line about a fact. `ordinal` is its place among all lines of the ledger; times are microseconds."""

    file: int
    ordinal: int
    id: str
    op: str
    subject: str
    predicate: str
    object: str
    at: int
    confidence: float | None
    source: str
    category: str | None
    origin: str
    valid_from: int | None
    valid_until: int | None
    fact: str | None
    more: str | None

    @property
    def triple(self) -> Triple:
        return self[4:7]


def fact_id(agent: str, triple: Triple, prefix: str = "F") -> str:
    """Return the id of a fact whose line has none or, with another prefix, of a conclusion."""
    return hashed_id(prefix, agent, *triple)


def read_facts(
    data: bytes, agent: str, zone: tzinfo, modified: int, file: int = 0, first: int = 0
) -> tuple[list[FactLine], list[str]]:
    """What the lines of a file say, counted from `first`, and what could not be read.

    A last line that lacks nothing but its end counts, too.
    """
    said: list[FactLine] = []
    problems: list[str] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n")):
        if not raw or raw.isspace():
            continue
        try:
            said.append(read_fact(_record(raw), agent, zone, modified, file, first + number))
        except InputError as error:
            problems.append(f"line {number + 1}: {error.message}")
        except ValueError as error:
            problems.append(f"line {number + 1}: {error}")
    return said, problems


def _record(raw: bytes) -> Mapping[str, Any]:
    """The record of a line; the quick way, and for whatever it does not understand the careful one."""
    try:
        record = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return read_object(raw.decode())
    return record if record.__class__ is dict else read_object(raw.decode())


def read_fact(
    record: Mapping[str, Any], agent: str, zone: tzinfo, modified: int, file: int = 0, ordinal: int = 0
) -> FactLine:
    """Read a line; raises InputError if it is invalid."""
    get = record.get
    triple = subject, predicate, target = read_triple(record)
    op = get("op", ASSERT)
    if op not in OPS:
        raise InputError(f"{op!r:.40} is nothing that can be said of a fact", hint=f"op is one of {', '.join(OPS)}")
    own = get("id")
    if own.__class__ is not str or not _ID.fullmatch(own):
        own = fact_id(agent, triple)
    start, end = read_span(get("valid_from"), get("valid_until"), zone)
    origin = get("origin") or Origin.AGENT.value
    if not isinstance(origin, str) or origin not in _ORIGINS:
        raise InputError(f"{origin!r:.40} is no origin", hint=f"one of {', '.join(sorted(_ORIGINS))}")
    known = {name: value for name, value in record.items() if name not in _CORE}
    return FactLine(
        file,
        ordinal,
        own,
        op,
        subject,
        predicate,
        target,
        modified if get("at") is None else _moment("at", get("at"), UTC),
        _confidence(get("confidence"), op),
        # In what the vault writes, `source` is whoever wrote the line.
        _word("source", get("from") or get("source")) or "manual",
        _word("category", get("category")),
        origin,
        start,
        end,
        _named(get("fact"), own, agent, triple) if "fact" in record else None,
        _encode(known) if known else None,
    )


def _named(id: object, own: str, agent: str, triple: Triple) -> str | None:
    """The fact that a line names if it is another than its own, and not what another triple has for want of an id."""
    is_id = isinstance(id, str) and (_ID.fullmatch(id) or id == fact_id(agent, triple))
    return str(id) if is_id and id != own else None


def read_triple(record: Mapping[str, Any]) -> Triple:
    """The subject, predicate and object of a line."""
    subject = read_term("subject", record.get("subject"))
    predicate = read_term("predicate", record.get("predicate"))
    if len(predicate.split()) != 1:
        raise InputError(f"the predicate {predicate[:60]!r} has spaces", hint="write it as one word: hasRevenue")
    return subject, predicate, read_term("object", record.get("object"))


def read_term(name: str, value: object) -> str:
    """A part of a triple as it is kept: text in NFC without space around it; numbers and truth values as JSON."""
    if value.__class__ is not str:
        is_number = isinstance(value, int) or (isinstance(value, float) and isfinite(value))
        value = _encode(value) if is_number else _refuse(name, value)
    text = str(value).strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if without_surrogates(text) != text:
            raise InputError(f"the {name} has half of a surrogate pair", hint="decode the text properly")
    if not text or len(text) > LONGEST or "\0" in text:
        flaw = "is empty" if not text else "has a NUL character" if "\0" in text else f"is longer than {LONGEST:,}"
        raise InputError(f"the {name} {flaw}", hint=f"1 to {LONGEST:,} characters of text")
    return text


def _refuse(name: str, value: object) -> str:
    if value is None:
        raise InputError(f"the {name} is missing", hint="a fact has a subject, a predicate and an object")
    raise InputError(f"the {name} is {value!r:.40}", hint="write it as text")


def _word(name: str, value: object) -> str | None:
    if value is None or value == "":
        return None
    return _short(name, value) if isinstance(value, str) else _refuse(name, value)


_short = lru_cache(maxsize=1024)(read_term)


def _confidence(value: object, op: str) -> float | None:
    if value is None:
        return 1.0 if op == ASSERT else None
    return check_fraction("the confidence", value)


def read_span(valid_from: object, valid_until: object, zone: tzinfo) -> tuple[int | None, int | None]:
    """When a fact begins to hold and when it ends; a day alone is meant from its first to its last moment."""
    if valid_from is None and valid_until is None:
        return None, None
    start = None if valid_from is None else _moment("valid_from", valid_from, zone)
    end = None if valid_until is None else _moment("valid_until", valid_until, zone, days=1)
    if start is not None and end is not None and end <= start:
        raise InputError(f"valid_until {valid_until} is not after valid_from {valid_from}", hint="turn them round")
    return start, end


def read_moment(name: str, value: object, zone: tzinfo) -> int:
    """A moment in microseconds; of a date, its beginning."""
    return _moment(name, as_text(value), zone)


def as_text(value: object) -> object:
    """A time as a line has it."""
    return value.isoformat() if isinstance(value, date) else value


def _moment(name: str, value: object, zone: tzinfo, days: int = 0) -> int:
    if isinstance(value, str):
        return _when(name, value, zone, days)
    raise InputError(f"{name} is {value!r:.40}, which is no time", hint=_TIMES)


@lru_cache(maxsize=4096)
def _when(name: str, value: str, zone: tzinfo, days: int) -> int:
    """A moment in microseconds; of a date, its beginning or with `days` that of the day after."""
    if days and value == "9999-12-31":
        return _LAST  # as many programs write that there is no end
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=zone) + timedelta(days=days) if _DAY.fullmatch(value) else moment
        since = moment.astimezone(UTC) - EPOCH
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name} is {value!r:.40}, which is no time", hint=_TIMES) from error
    if moment.utcoffset() is None:
        raise InputError(f"{name} {value} has no time zone", hint="add Z for UTC, or an offset such as +01:00")
    return since // MICROSECOND


def versions(said: Sequence[FactLine]) -> list[Fact | None]:
    """What a fact is after each of its lines, in their order; None while it is not asserted.

    Nothing is known before what stands before it, whatever the clocks said.
    """
    found: list[Fact | None] = []
    for each, known in zip(said, accumulate((each.at for each in said), max), strict=True):
        found.append(_after(found[-1] if found else None, each, known))
    return found


def _after(now: Fact | None, said: FactLine, at: int) -> Fact | None:
    if said.op == RETRACT or (now is None and said.op == VERIFY):
        return None
    if now is not None and said.op == VERIFY:
        confidence = now.confidence if said.confidence is None else said.confidence
        now = now._replace(confidence=confidence, updated_us=at)
        stood = not said.more or json.loads(said.more).get("verified") is not False
        return now._replace(verified_us=at, verification_count=now.verification_count + 1) if stood else now
    fact = asserted(0, said)._replace(created_us=at, updated_us=at)
    if now is None:
        return fact
    # Who asserts a fact again confirms nothing: its id, its age and its verifications stay.
    return Fact._make((*now[:5], *fact[5:11], now.created_us, at, *now[13:15], fact.more))


def asserted(row: int, said: FactLine) -> Fact:
    """The fact that a line alone asserts."""
    certain = 1.0 if said.confidence is None else said.confidence
    own = said.fact or said.id
    return Fact._make((row, own, *said[4:7], certain, *said[9:14], said.at, said.at, None, 0, said.more))


def only_line(fact: Fact, file: int, ordinal: int) -> FactLine:
    """Return the line of a fact with no other lines."""
    parts = (file, ordinal, fact.id, ASSERT, *fact[2:5], fact.created_us, *fact[5:11], None, fact.more)
    return FactLine._make(parts)


def to_json(said: FactLine) -> str:
    """A line without its place."""
    return _encode(said[2:])


def from_json(file: int, ordinal: int, text: str) -> FactLine:
    return FactLine(file, ordinal, *json.loads(text))
