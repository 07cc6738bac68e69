"""A fact as a line of its ledger, as it is asserted, and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, tzinfo
from typing import Any

from memfolio.errors import InputError
from memfolio.index.fact_lines import Said, as_text, asserted, read_fact
from memfolio.index.fact_query import Entry
from memfolio.index.facts import Fact
from memfolio.index.rows import from_us
from memfolio.intake import ANY_ID, nearest
from memfolio.vault.format.fields import iso_of

When = date | str | None
"""A time with its zone, a day, or either as ISO text."""
GIVEN = (
    *("subject", "predicate", "object", "confidence", "source", "valid_from", "valid_until", "category", "memories"),
    *("origin", "derived_from", "rule", "was"),
)
"""What can be said when a fact is asserted."""
_TAKEN_AWAY = ("valid_from", "valid_until", "category")
"""What an empty text takes away from a fact."""
_LINKS = ("memories", "derived_from", "rule")
MOST_LINKS = 1000


def assertion(given: Mapping[str, Any], agent: str, zone: tzinfo) -> tuple[Said, dict[str, Any]]:
    """What is asserted, checked, and what its line is made of; what is None is not given."""
    if unknown := next((name for name in given if name not in GIVEN), None):
        raise InputError(f"a fact has no {str(unknown)[:40]!r}", hint=nearest(str(unknown), [*GIVEN]))
    told = {name: as_text(value) for name, value in given.items() if value is not None and value != ()}
    for name in ("memories", "derived_from"):
        if name in told:
            told[name] = _ids(name, told[name])
    said = read_fact(_held(told), agent, zone, 0)
    for name, term in triple_of(said).items():
        _check_term(name, term)
    return said, told | triple_of(said)


def updated(record: Mapping[str, Any], fact: Fact) -> dict[str, Any]:
    """What is given of a known fact, and beside it what is known."""
    known = fact_json(fact)
    for name in ("memories", "derived_from"):  # a person may have written anything there
        told = known.get(name)
        known[name] = [each for each in told if ANY_ID.fullmatch(str(each))] if isinstance(told, list) else None
    held = ("confidence", "source", *_TAKEN_AWAY, *_LINKS)
    return {**{name: known[name] for name in held if known.get(name) not in (None, [])}, **record}


def line_of(said: Said, record: Mapping[str, Any]) -> dict[str, Any]:
    """The line of what is asserted; it has all that there is to know."""
    whole = _held(record) | {"confidence": said.confidence, "category": said.category, "origin": said.origin}
    line = {name: whole[name] for name in GIVEN if name != "source" and whole.get(name) is not None}
    return {"op": said.op, **line, "from": said.source}


def _held(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what an empty text takes away."""
    return {name: value for name, value in record.items() if name not in _TAKEN_AWAY or value != ""}


def _check_term(name: str, term: str) -> None:
    """Refuse what questions and rules would read as something else."""
    if term.startswith("?"):
        raise InputError(f"the {name} {term[:60]!r} is a variable, as rules have them", hint="name what is meant")
    if not term.strip("*"):
        raise InputError(f"the {name} {term[:60]!r} stands for anything", hint="name what is meant")


def sources(record: Mapping[str, Any]) -> list[str]:
    """The memories and facts that a checked line names as its sources."""
    return [*record.get("memories", ()), *record.get("derived_from", ())]


def triple_of(of: Said | Fact) -> dict[str, str]:
    return {"subject": of.subject, "predicate": of.predicate, "object": of.object}


def _ids(name: str, value: object) -> list[str]:
    """Ids of memories and facts, each once."""
    given = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    for each in given:
        if not isinstance(each, str) or not ANY_ID.fullmatch(each):
            raise InputError(f"{name} has {each!r:.60}, which is no id", hint="an id is like M-1763217005123-5f2c91ab")
    if len(given) > MOST_LINKS:
        raise InputError(f"{name} has {len(given):,} ids", hint=f"name at most {MOST_LINKS:,}")
    return list(dict.fromkeys(given))


def is_same(fact: Fact, said: Said) -> bool:
    """Whether a fact is exactly what is asserted of it."""
    mine = (fact.confidence, fact.source, fact.category, fact.origin, fact.valid_from_us, fact.valid_until_us)
    return mine == said[8:14] and _told(fact.details) == _told(asserted(0, said).details)


def _told(of: Mapping[str, Any]) -> dict[str, Any]:
    return {name: of[name] for name in _LINKS if of.get(name)}


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact as a document; a conclusion has its rule as its source, and no history."""
    times = {
        "valid_from": fact.valid_from_us,
        "valid_until": fact.valid_until_us,
        "created_at": None if fact.is_derived else fact.created_us,
        "updated_at": None if fact.is_derived else fact.updated_us,
        "last_verified": fact.verified_us,
    }
    return {
        "id": fact.id,
        **triple_of(fact),
        "confidence": fact.confidence,
        "source": fact.source,
        "category": fact.category,
        "origin": fact.origin,
        **{name: None if us is None else iso_of(from_us(us).astimezone(UTC)) for name, us in times.items()},
        "verification_count": fact.verification_count,
        "derived": fact.is_derived,
        **{name: value for name, value in fact.details.items() if name in _LINKS},
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """A line of a fact's history as a document."""
    fact = None if entry.fact is None else fact_json(entry.fact)
    return {"id": entry.id, "op": entry.op, "at": iso_of(from_us(entry.known_us)), "fact": fact}
