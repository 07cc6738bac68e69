"""Lines about facts: what each says, and what a fact is after all of them. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

from memfolio.clock import EPOCH
from memfolio.errors import InputError
from memfolio.index.facts import Fact
from memfolio.index.rows import MICROSECOND
from memfolio.types import Origin
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.format.fields import read_object

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
_PLAIN = ("id", "at", "op", "fact", "subject", "predicate", "object", "confidence", "source", "category", "origin")
_CORE = frozenset((*_PLAIN, "from", "valid_from", "valid_until"))
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode

Triple = tuple[str, str, str]


class Said(NamedTuple):
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
    """The id of a fact whose line has none, or with another prefix of what follows by rules."""
    return f"{prefix}-{blake2b(chr(0).join((agent, *triple)).encode('utf-8', 'replace')).hexdigest()[:16]}"


def read_facts(
    data: bytes, agent: str, zone: tzinfo, modified: int, file: int = 0, first: int = 0
) -> tuple[list[Said], list[str]]:
    """What the lines of a file say, counted from `first`, and what could not be read.

    A last line that lacks nothing but its end counts, too.
    """
    said: list[Said] = []
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
) -> Said:
    """What a line says; raises InputError for what cannot be said."""
    get = record.get
    subject, predicate, target = read_triple(record)
    op = get("op", ASSERT)
    if op not in OPS:
        raise InputError(f"{op!r:.40} is nothing that can be said of a fact", hint=f"op is one of {', '.join(OPS)}")
    own = get("id")
    if own.__class__ is not str or not _ID.fullmatch(own):
        own = fact_id(agent, (subject, predicate, target))
    start, end = read_span(get("valid_from"), get("valid_until"), zone)
    origin = get("origin") or Origin.AGENT.value
    if not isinstance(origin, str) or origin not in _ORIGINS:
        raise InputError(f"{origin!r:.40} is no origin", hint=f"one of {', '.join(sorted(_ORIGINS))}")
    known = {name: value for name, value in record.items() if name not in _CORE}
    return Said(
        file,
        ordinal,
        own,
        op,
        subject,
        predicate,
        target,
        modified if get("at") is None else _when("at", _time("at", get("at")), UTC, 0),
        _confidence(get("confidence"), op),
        # In what the vault writes, `source` is whoever wrote the line.
        _word("source", get("from") or get("source")) or "manual",
        _word("category", get("category")),
        origin,
        start,
        end,
        _named(get("fact"), own, agent, (subject, predicate, target)) if "fact" in record else None,
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
        value = _encode(value) if isinstance(value, int) or _is_finite(value) else _refuse(name, value)
    text = str(value).strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if without_surrogates(text) != text:
            raise InputError(f"the {name} has half of a surrogate pair", hint="decode the text properly")
    if not text or len(text) > LONGEST or "\0" in text:
        flaw = "is empty" if not text else "has a NUL character" if "\0" in text else f"is longer than {LONGEST:,}"
        raise InputError(f"the {name} {flaw}", hint=f"1 to {LONGEST:,} characters of text")
    return text


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and isfinite(value)


def _refuse(name: str, value: object) -> str:
    if value is None:
        raise InputError(f"the {name} is missing", hint="a fact has a subject, a predicate and an object")
    raise InputError(f"the {name} is {value!r:.40}", hint="write it as text")


def _word(name: str, value: object) -> str | None:
    return (
        None
        if value is None or value == ""
        else _short(name, value)
        if isinstance(value, str)
        else _refuse(name, value)
    )


_short = lru_cache(maxsize=1024)(read_term)


def _confidence(value: object, op: str) -> float | None:
    if value is None:
        return 1.0 if op == ASSERT else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"the confidence {value!r:.40} is not a number from 0 to 1", hint="1 is certain")
    return float(value)


def read_span(valid_from: object, valid_until: object, zone: tzinfo) -> tuple[int | None, int | None]:
    """When a fact begins to hold and when it ends; a day alone is meant from its first to its last moment."""
    if valid_from is None and valid_until is None:
        return None, None
    start = None if valid_from is None else _when("valid_from", _time("valid_from", valid_from), zone, 0)
    end = None if valid_until is None else _when("valid_until", _time("valid_until", valid_until), zone, 1)
    if start is not None and end is not None and end <= start:
        raise InputError(f"valid_until {valid_until} is not after valid_from {valid_from}", hint="turn them round")
    return start, end


def read_moment(name: str, value: object, zone: tzinfo) -> int:
    """A moment in microseconds; of a date, its beginning."""
    return _when(name, _time(name, as_text(value)), zone, 0)


def as_text(value: object) -> object:
    """A time as a line has it."""
    return value.isoformat() if isinstance(value, date) else value


def _time(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
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


def versions(said: Sequence[Said]) -> list[Fact | None]:
    """What a fact is after each of its lines, in their order; None while it is not asserted.

    Nothing is known before what stands before it, whatever the clocks said.
    """
    found: list[Fact | None] = []
    for each, known in zip(said, accumulate((each.at for each in said), max), strict=True):
        found.append(_after(found[-1] if found else None, each, known))
    return found


def _after(now: Fact | None, said: Said, at: int) -> Fact | None:
    if said.op == RETRACT or (now is None and said.op == VERIFY):
        return None
    if now is not None and said.op == VERIFY:
        confidence = now.confidence if said.confidence is None else said.confidence
        now = now._replace(confidence=confidence, updated_us=at)
        stood = not said.more or json.loads(said.more).get("verified") is not False
        return now._replace(verified_us=at, verification_count=now.verification_count + 1) if stood else now
    fact = asserted(0, said)
    if now is None:
        return fact._replace(created_us=at, updated_us=at)
    return fact._replace(
        id=now.id,
        created_us=now.created_us,
        updated_us=at,
        verified_us=now.verified_us,
        verification_count=now.verification_count,
    )


def asserted(row: int, said: Said) -> Fact:
    """The fact that a line alone asserts."""
    _, _, own, _, subject, predicate, target, at, confidence, source, category, origin, start, end, fact, more = said
    certain = 1.0 if confidence is None else confidence
    held = (source, category, origin, start, end)
    return Fact(row, fact or own, subject, predicate, target, certain, *held, at, at, None, 0, more)


def only_line(fact: Fact, file: int, ordinal: int) -> Said:
    """The line of a fact about which there is no other."""
    _, own, subject, predicate, target, confidence, source, category, origin, start, end, at, *_ = fact
    held = (source, category, origin, start, end)
    return Said(file, ordinal, own, ASSERT, subject, predicate, target, at, confidence, *held, None, fact.more)


def to_json(said: Said) -> str:
    """A line without its place."""
    return _encode(said[2:])


def from_json(file: int, ordinal: int, text: str) -> Said:
    return Said(file, ordinal, *json.loads(text))
