"""The fact store of an agent: assert, retract, query, history and provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, tzinfo
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from memfolio.arguments import ANY_ID, check_known
from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.graph.grow import Readable
from memfolio.index.database import Connection
from memfolio.index.facts import (
    FACTS,
    PARTS,
    RETRACT,
    VERIFY,
    Fact,
    FactLine,
    Triple,
    as_text,
    asserted,
    fact_id,
    from_json,
    only_line,
    read_fact,
    read_moment,
    read_term,
    versions,
)
from memfolio.index.index import Index
from memfolio.index.lookup import by_ids
from memfolio.index.rows import clean, from_us, to_us
from memfolio.index.search import ordered_by
from memfolio.redact.redactor import Redactor
from memfolio.types import Action, Attribution, Origin, check_attribution
from memfolio.vault.fields import iso_of
from memfolio.vault.paths import knowledge_ledger
from memfolio.vault.vault import Vault

# Asking for facts: by patterns, by time, by id, and what was known of them before.

UNTRUSTED = Origin.UNTRUSTED.value
_WILD = re.compile(r"[*?]")
_ORDERS = (PARTS, ("predicate", "object", "subject"), ("object", "subject", "predicate"))
"""By which of the indexes facts are read and sorted, depending on what is known of them."""
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_DERIVED = (
    "f.row, '', f.subject, f.predicate, f.object, f.confidence, f.rule, NULL, 'system', f.valid_from, f.valid_until,"
    " 0, 0, NULL, 0, NULL"
)

_FURTHER = {
    "valid_at": "ifnull(f.valid_from <= :valid_at, 1) AND ifnull(f.valid_until > :valid_at, 1)",
    "min_confidence": "f.confidence >= :min_confidence",
    "trusted": f"f.origin != '{UNTRUSTED}'",
    "category": "f.category = :category",
    "source": "f.source = :source",
    "after": "({keys}) > (:first, :second, :third, :row)",
}
"""What may be asked beside the patterns."""

Pattern = str | None
Key = tuple[str, str, str, int]
Operators = tuple[str | None, ...]
Names = tuple[str, ...]


class FactHistoryEntry(NamedTuple):
    """One line of a fact's history, and the fact as of `known_us`; None where it was retracted."""

    id: str
    op: str
    known_us: int
    fact: Fact | None
    said: FactLine


class FactFilter(NamedTuple):
    """A fact query. Patterns may contain `*` and `?`; times are in microseconds; None matches anything."""

    subject: Pattern = None
    predicate: Pattern = None
    object: Pattern = None
    min_confidence: float | None = None
    valid_at: int | None = None
    as_of: int | None = None
    derived: bool = True
    untrusted: bool = False
    category: str | None = None
    source: str | None = None
    limit: int = 50
    """How many at most; -1 stands for all that are asserted."""
    after: Key | None = None
    """The key of a fact behind which those that are asked for stand."""

    @property
    def order(self) -> tuple[str, str, str]:
        """The sort order: the first position with a known beginning comes first, so that its index can be used."""
        for pattern, order in zip(self[:3], _ORDERS, strict=True):
            if pattern and pattern[0] not in "*?":
                return order
        return PARTS

    def key(self, fact: Fact) -> Key:
        """Return the sort key of a fact, for reading the next page after it."""
        first, second, third = (getattr(fact, name) for name in self.order)
        return first, second, third, fact.row


def find_facts(db: Connection, wanted: FactFilter, agent: str) -> list[Fact]:
    """The facts that fit, sorted, at most as many as are wanted."""
    operators, limit = tuple(map(_operator, wanted[:3])), wanted.limit
    values = _values(wanted, operators)
    # The tables hold the present only; what was known earlier is folded from the history.
    if wanted.as_of is not None:
        return sorted(_known(db, wanted, operators, values), key=wanted.key)[:limit]
    asked = operators, _asked(values), wanted.order
    index = ordered_by(db, f"facts_by_{wanted.order[0]}")
    found = list(map(Fact._make, db.execute(_statement(*asked, wanted.derived, limit, index), values)))
    if found and found[-1].is_derived:
        # More conclusions than fit came in no order, so they are read again, sorted. That is rare, and sorting always
        # would be dear.
        if sum(each.is_derived for each in found) > limit:
            found = [each for each in found if not each.is_derived]
            found += map(Fact._make, db.execute(_conclusions(*asked, limit, is_sorted=True), values))
        found = sorted((_concluded(each, agent) for each in found), key=wanted.key)[:limit]
    return found


def _concluded(fact: Fact, agent: str) -> Fact:
    """A fact with its id, which conclusions do not have in their table."""
    return fact._replace(id=fact_id(agent, fact.triple, "D")) if fact.is_derived else fact


def _operator(pattern: Pattern) -> str | None:
    """How a position is compared."""
    return None if pattern is None or pattern == "*" else "GLOB" if _WILD.search(pattern) else "="


def _values(wanted: FactFilter, operators: Operators) -> dict[str, Any]:
    values = wanted._asdict()
    # None is not asked for at all: see _asked.
    values["trusted"] = None if wanted.untrusted else True
    for name, operator in zip(PARTS, operators, strict=True):
        if operator == "GLOB":
            # GLOB knows character sets, patterns here do not: a bracket is a bracket.
            values[name] = values[name].replace("[", "[[]")
    if wanted.after is not None:
        values |= zip(("first", "second", "third", "row"), wanted.after, strict=True)
    return values


def _asked(values: Mapping[str, Any]) -> Names:
    """What is asked beside the patterns."""
    return tuple([name for name in _FURTHER if values[name] is not None])


@lru_cache(maxsize=1024)
def _statement(operators: Operators, asked: Names, order: Names, derived: bool, limit: int, index: str) -> str:
    """One statement for facts and conclusions, since each costs as much as the look-up itself."""
    keys = _keys(order)
    source, sort = "facts f", f" ORDER BY {keys}"
    if index and operators[PARTS.index(order[0])] == "=":
        source, sort = f"facts f{index}", ""  # an index is read in its order
    facts = f"SELECT {FACTS} FROM {source} WHERE {_where(operators, asked, keys)}{sort} LIMIT {limit:d}"
    # Conclusions have no category, and a rule in the place of a source.
    if not derived or "category" in asked or "source" in asked:
        return facts
    return f"SELECT * FROM ({facts}) UNION ALL SELECT * FROM ({_conclusions(operators, asked, order, limit + 1)})"


def _conclusions(operators: Operators, asked: Names, order: Names, limit: int, *, is_sorted: bool = False) -> str:
    """The statement for conclusions; to begin to sort takes SQLite longer than to find a few."""
    keys = _keys(order)
    # Only trusted facts lead to conclusions, so these have no origin to ask for.
    where = _where(operators, [name for name in asked if name != "trusted"], keys)
    return f"SELECT {_DERIVED} FROM derived f WHERE {where}{f' ORDER BY {keys}' if is_sorted else ''} LIMIT {limit:d}"


def _keys(order: Names) -> str:
    return ", ".join(f"f.{name}" for name in (*order, "row"))


def _where(operators: Iterable[str | None], asked: Iterable[str], keys: str = "") -> str:
    patterns = (f"f.{name} {how} :{name}" for name, how in zip(PARTS, operators, strict=True) if how)
    return " AND ".join((*patterns, *(_FURTHER[name].format(keys=keys) for name in asked))) or "1"


def _known(db: Connection, wanted: FactFilter, operators: Operators, values: Mapping[str, Any]) -> Iterator[Fact]:
    """The facts as they were known at a moment: those that have not changed since, and earlier versions of others."""
    sql = f"SELECT {FACTS} FROM facts f WHERE {_where(operators, _asked(values))} AND f.updated_at <= :as_of"
    yield from map(Fact._make, db.execute(sql, values))
    sql = (
        "SELECT f.file, f.ordinal, f.line FROM fact_history f LEFT JOIN facts c ON c.subject = f.subject"
        f" AND c.predicate = f.predicate AND c.object = f.object WHERE {_where(operators, ())}"
        " AND f.known_from <= :as_of AND (c.row IS NULL OR c.updated_at > :as_of)"
        " ORDER BY f.subject, f.predicate, f.object, f.ordinal"
    )
    lines = (from_json(*row) for row in db.execute(sql, values))
    for _, said in groupby(lines, key=attrgetter("triple")):
        then = versions(list(said))[-1]
        if then is not None and _fits(then, wanted):
            yield then


def _fits(fact: Fact, wanted: FactFilter) -> bool:
    """Whether an earlier version of a fact, of which there is no row, meets what is asked beside the patterns."""
    at = wanted.valid_at
    return (
        (wanted.untrusted or fact.origin != UNTRUSTED)
        and fact.confidence >= (wanted.min_confidence or 0)
        and wanted.category in (None, fact.category)
        and wanted.source in (None, fact.source)
        and (at is None or fact.valid_from_us is None or fact.valid_from_us <= at)
        and (at is None or fact.valid_until_us is None or fact.valid_until_us > at)
    )


def fact_of(db: Connection, triple: Triple) -> Fact | None:
    """What is asserted of a triple."""
    found = db.execute(f"SELECT {FACTS} FROM facts f WHERE {_TRIPLE}", triple).fetchone()
    return Fact(*found) if found else None


def triple_named(db: Connection, id: str) -> Triple | None:
    """The triple of the fact with this id, or about which there is a line with this id."""
    by_fact = "SELECT f.subject, f.predicate, f.object FROM memories m JOIN facts f ON f.row = m.row WHERE m.id = ?"
    by_line = "SELECT subject, predicate, object FROM fact_history WHERE id = ? LIMIT 1"
    found: Triple | None = db.execute(by_fact, clean((id,))).fetchone()
    return found or db.execute(by_line, clean((id,))).fetchone()


def derived_named(db: Connection, id: str, agent: str) -> Fact | None:
    """The conclusion with this id, where it holds most surely."""
    sql = "SELECT subject, predicate, object, max(row) FROM derived GROUP BY 1, 2, 3"
    # The id of a conclusion is a hash of its triple and is not stored: one is looked for by hashing all.
    triple = next((row[:3] for row in db.execute(sql) if fact_id(agent, row[:3], "D") == id), None)
    if triple is None:
        return None
    sql = f"SELECT {_DERIVED} FROM derived f WHERE {_TRIPLE} ORDER BY confidence DESC, row LIMIT 1"
    return next(_concluded(Fact(*row), agent) for row in db.execute(sql, triple))


def fact_named(db: Connection, id: str, agent: str) -> Fact | None:
    """Return the fact or conclusion with this id, or the fact that a line with this id is about."""
    if id.startswith("D-"):
        return derived_named(db, id, agent)
    triple = triple_named(db, id)
    return fact_of(db, triple) if triple else None


def history_of(db: Connection, triple: Triple) -> list[FactHistoryEntry]:
    """Return all lines about a triple, each with the fact as it was after that line."""
    sql = f"SELECT file, ordinal, line, known_from FROM fact_history WHERE {_TRIPLE} ORDER BY ordinal"
    # A fact that was told once has no lines in the history: its row says everything.
    rows: list[tuple[Any, ...]] = db.execute(sql, triple).fetchall()
    if not rows:
        fact = fact_of(db, triple)
        return [FactHistoryEntry(fact.id, "assert", fact.created_us, fact, only_line(fact, 0, 0))] if fact else []
    said = [from_json(*row[:3]) for row in rows]
    told = zip(said, rows, versions(said), strict=True)
    return [FactHistoryEntry(each.id, each.op, row[3], fact, each) for each, row, fact in told]


def is_mentioned(db: Connection, node: str) -> bool:
    """Whether something is or was the subject or object of a fact."""
    each = "SELECT 1 FROM {} WHERE ?1 IN (subject, object)"
    sql = " UNION ALL ".join(each.format(table) for table in ("facts", "derived", "fact_history"))
    return db.execute(f"{sql} LIMIT 1", clean((node,))).fetchone() is not None


def unreadable_lines(db: Connection, ledger: str = "facts") -> list[str]:
    """The lines of a ledger of knowledge that say nothing, each with its file and why."""
    sql = (
        "SELECT path, problems FROM files WHERE problems IS NOT NULL"
        " AND (path GLOB ?1 || '.jsonl' OR path GLOB ?1 || '/*.jsonl') ORDER BY path"
    )
    found = db.execute(sql, (f"*/knowledge/{ledger}",))
    return [f"{path}, {each}" for path, told in found for each in json.loads(told)]


def facts_from(db: Connection, memory: str) -> list[Fact]:
    """The facts that came from a memory, or from a fact, with this id."""
    sql = (
        f"SELECT DISTINCT {FACTS} FROM edges e JOIN memories m ON m.id = e.source JOIN facts f ON f.row = m.row"
        " WHERE e.target = ? AND e.type = 'derived_from' ORDER BY f.subject, f.predicate, f.object"
    )
    return [Fact(*row) for row in db.execute(sql, clean((memory,)))]


def premises_of(db: Connection, fact: Fact) -> list[str]:
    """Return the premises of a conclusion, each as a sentence."""
    sql = (
        "SELECT t.subject || ' ' || t.predicate || ' ' || t.object FROM supports s JOIN {} t ON t.row = s.premise"
        " WHERE s.row = ? ORDER BY 1"
    )
    return [each for table in ("facts", "derived") for (each,) in db.execute(sql.format(table), (fact.row,))]


# Which words of a question facts know: predicates, subjects and objects.

# From one predicate to the next by the index, since there are few of them for many facts.
_PREDICATES = """
    WITH RECURSIVE each (predicate) AS (
        SELECT min(predicate) FROM facts
        UNION ALL SELECT (SELECT min(f.predicate) FROM facts f WHERE f.predicate > each.predicate) FROM each
        WHERE each.predicate IS NOT NULL
    ) SELECT predicate FROM each WHERE predicate IS NOT NULL
"""
_IS_TERM = """
    SELECT EXISTS (SELECT 1 FROM facts WHERE subject = ?1) OR EXISTS (SELECT 1 FROM facts WHERE object = ?1)
        OR EXISTS (SELECT 1 FROM derived WHERE object = ?1)
"""


def predicates(db: Connection) -> list[str]:
    """The predicates of all facts."""
    return [predicate for (predicate,) in db.execute(_PREDICATES)]


def known_terms(db: Connection, texts: Iterable[str]) -> list[str]:
    """Those of some texts that are the subject or the object of a fact, or the object of a conclusion."""
    return [text for text in texts if db.execute(_IS_TERM, (text,)).get]


# A fact as a line of its ledger, as it is asserted, and as a document.

When = date | str | None
"""A time with its zone, a day, or either as ISO text."""
GIVEN = (
    *("subject", "predicate", "object", "confidence", "source", "valid_from", "valid_until", "category", "memories"),
    *("origin", "derived_from", "rule", "was"),
)
"""What can be said when a fact is asserted."""
_CLEARABLE = ("valid_from", "valid_until", "category")
"""What an empty text takes away from a fact."""
_IDS = ("memories", "derived_from")
_LINKS = (*_IDS, "rule")
MOST_LINKS = 1000


def assertion(given: Mapping[str, Any], agent: str, zone: tzinfo) -> tuple[FactLine, dict[str, Any]]:
    """Check an assertion and return it as a line, with the fields to write; None counts as not given."""
    check_known("a fact has no", given, GIVEN)
    record = {name: as_text(value) for name, value in given.items() if value is not None and value != ()}
    record |= {name: _checked_ids(name, record[name]) for name in _IDS if name in record}
    # Read as a line of the ledger would be, so that both are checked alike.
    line = read_fact(_without_cleared(record), agent, zone, 0)
    for name, term in triple_of(line).items():  # questions and rules would read these as something else
        if term.startswith("?"):
            raise InputError(f"the {name} {term[:60]!r} is a variable, as rules have them", hint="name what is meant")
        if not term.strip("*"):
            raise InputError(f"the {name} {term[:60]!r} stands for anything", hint="name what is meant")
    return line, record | triple_of(line)


def _checked_ids(name: str, value: object) -> list[str]:
    """Ids of memories and facts, each once."""
    given = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    for each in given:
        if not isinstance(each, str) or not ANY_ID.fullmatch(each):
            raise InputError(f"{name} has {each!r:.60}, which is no id", hint="an id is like M-1763217005123-5f2c91ab")
    if len(given) > MOST_LINKS:
        raise InputError(f"{name} has {len(given):,} ids", hint=f"name at most {MOST_LINKS:,}")
    return list(dict.fromkeys(given))


def _without_cleared(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _CLEARABLE or value != ""}


def _updated(record: Mapping[str, Any], fact: Fact) -> dict[str, Any]:
    """Merge the given fields with the current fields of a known fact."""
    known = fact_json(fact)
    for name in _IDS:  # a person may have written anything there
        ids = known.get(name)
        known[name] = [each for each in ids if ANY_ID.fullmatch(str(each))] if isinstance(ids, list) else None
    # The origin is not kept: it is that of whoever speaks now.
    kept = ("confidence", "source", *_CLEARABLE, *_LINKS)
    return {**{name: known[name] for name in kept if known.get(name) not in (None, [])}, **record}


def _record_of(line: FactLine, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete record to write for an assertion."""
    whole = _without_cleared(record)
    whole |= {"confidence": line.confidence, "category": line.category, "origin": line.origin}
    fields = {name: whole[name] for name in GIVEN if name != "source" and whole.get(name) is not None}
    return {"op": line.op, **fields, "from": line.source}


def _is_same(fact: Fact, line: FactLine) -> bool:
    """Whether a fact already is exactly as asserted."""
    links, others = (
        {name: each.get(name) or None for name in _LINKS} for each in (fact.details, asserted(0, line).details)
    )
    # Confidence, source, category, origin and validity, which stand in this order in both.
    return fact[5:11] == line[8:14] and links == others


def triple_of(of: FactLine | Fact) -> dict[str, str]:
    return dict(zip(PARTS, of.triple, strict=True))


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


def entry_json(entry: FactHistoryEntry) -> dict[str, Any]:
    """A line of a fact's history as a document."""
    fact = None if entry.fact is None else fact_json(entry.fact)
    return {"id": entry.id, "op": entry.op, "at": iso_of(from_us(entry.known_us)), "fact": fact}


ASSERTER = Attribution(actor="bot:trigger-remember", trigger="fact")
ANY = "any"
MOST = 100_000
"""How many facts can be asserted as one change, or asked for at once."""
PAGE = 5000
"""How many facts are read at once."""


class Facts:
    """The facts of an agent: it writes its own and reads those of every agent in its scope.

    Before each read, `refresh` lets the agent's own index catch up with the files and brings conclusions up to date.
    `explainer` answers where a fact comes from.
    """

    def __init__(
        self,
        vault: Vault,
        searcher: Readable,
        agent: str,
        refresh: Callable[[], object] | None = None,
        explainer: Callable[[str, int], Any] | None = None,
    ) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent
        self._refresh = refresh
        self._explainer = explainer
        self._clean = Redactor(vault.config.redact, vault.home.hash).clean
        self._ledger = knowledge_ledger(agent, "facts")

    # What is told

    def assert_(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        confidence: float | None = None,
        source: str | None = None,
        valid_from: When = None,
        valid_until: When = None,
        category: str | None = None,
        memories: Iterable[str] = (),
        origin: Origin | str | None = None,
        by: Attribution = ASSERTER,
    ) -> Fact:
        """Assert a fact; asserting the same triple again replaces the given fields and keeps the history.

        Fields that are not given keep their value; a new fact is certain and has the source "manual". An empty text
        removes a time or the category. An identical assertion is not written again. An untrusted assertion changes no
        trusted fact, and a trusted one takes nothing over from an untrusted one.
        """
        given: dict[str, Any] = {"subject": subject, "predicate": predicate, "object": object, "confidence": confidence}
        given |= {"source": source, "valid_from": valid_from, "valid_until": valid_until, "category": category}
        return self.assert_many([given | {"memories": tuple(memories), "origin": origin}], by=by)[0]

    def assert_many(
        self, records: Iterable[Mapping[str, Any]], *, retracting: Iterable[Fact] = (), by: Attribution = ASSERTER
    ) -> list[Fact]:
        """Assert many facts as one change that one undo reverts; if one of them is invalid, nothing is written.

        If a triple is given several times, the last one counts. The facts in `retracting` are retracted first, in the
        same change.
        """
        checked = self.check_many(records)
        with self._vault.exclusive():  # what others tell meanwhile must not be taken for what is not given
            lines = self._lines(checked, by)
            self._append([*map(_retraction, retracting), *filter(None, lines.values())], by, Action.APPEND)
        return self._searcher.index.read(lambda db: [fact for each in lines if (fact := fact_of(db, each))])

    def check_many(self, records: Iterable[Mapping[str, Any]]) -> list[tuple[FactLine, dict[str, Any]]]:
        """Check records without writing them; InputError names the number of the invalid record."""
        checked: list[tuple[FactLine, dict[str, Any]]] = []
        for number, record in enumerate(records, 1):
            if number > MOST:
                raise InputError(f"more than {MOST:,} facts at once", hint="assert them in several calls")
            # The terms as they will be written, since by those the fact is found again.
            terms = {name: self._clean(record[name]) for name in PARTS if isinstance(record.get(name), str)}
            try:
                checked.append(assertion({**record, **terms}, self._agent, self._vault.home.zone))
            except InputError as error:
                where = f"fact {number}: " if number > 1 or checked else ""
                raise InputError(f"{where}{error.message}", hint=error.hint) from error
        return checked

    def _lines(
        self, checked: Sequence[tuple[FactLine, dict[str, Any]]], by: Attribution
    ) -> dict[Triple, dict[str, Any] | None]:
        """For each triple the line that has to be written, if any."""
        own = origin_of(self._vault, by)
        lines = dict[Triple, dict[str, Any] | None]()
        known = self._searcher.index.read(lambda db: {line.triple: fact_of(db, line.triple) for line, _ in checked})
        sources = [{each for name in _IDS for each in record.get(name, ())} for _, record in checked]
        untrusted = set() if own is Origin.OWNER else self._untrusted(set().union(*sources))
        for (line, record), made_of in zip(checked, sources, strict=True):
            fact = known[line.triple]
            origin = record.get("origin", own.value) if untrusted.isdisjoint(made_of) else UNTRUSTED
            if fact and (fact.origin == UNTRUSTED) == (origin == UNTRUSTED):
                line, record = assertion(_updated(record, fact), self._agent, self._vault.home.zone)
            # After the update, which would bring back the origin of the known fact.
            line = line._replace(origin=origin)
            # What a stranger tells changes nothing that is known from those who are trusted.
            is_weaker = fact is not None and origin == UNTRUSTED != fact.origin
            is_known = fact is not None and (is_weaker or _is_same(fact, line))
            lines[line.triple] = None if is_known else _record_of(line, record) | ({"fact": fact.id} if fact else {})
        return lines

    def _untrusted(self, ids: set[str]) -> set[str]:
        """Return which of these ids are untrusted: what an agent derives from them is untrusted, too."""
        found = [each for index in self._searcher.indexes() for each in index.read(lambda db: by_ids(db, ids))]
        return {each.item.id for each in found if each.item.origin is Origin.UNTRUSTED}

    def retract(
        self,
        id: str | None = None,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        by: Attribution = ASSERTER,
        dry_run: bool = False,
    ) -> list[Fact]:
        """Retract the agent's own facts that match all given terms, and return them as they were.

        Conclusions cannot be retracted, only the facts they follow from: if nothing but a conclusion matches,
        ConflictError names its premises.
        """
        if id is None and subject is None and predicate is None and object is None:
            raise InputError("nothing says which facts to retract", hint="name an id, subject, predicate or object")
        one = None if id is None else self._own(id)
        first, second, third = patterns = _patterns(subject, predicate, object)
        if one:
            first, second, third = (given or term for given, term in zip(patterns, one.triple, strict=True))
        wanted = FactFilter(first, second, third, derived=False, untrusted=True, limit=MOST + 1)
        found = [each for each in _found(self._searcher.index, wanted) if one is None or each.triple == one.triple]
        if len(found) > MOST:
            raise InputError(f"more than {MOST:,} facts fit", hint="retract them in several calls")
        # Nothing was asserted that fits; if a conclusion does, say what it rests on instead of retracting nothing.
        if not found and one is None:
            self._refreshed()
            for conclusion in _found(self._searcher.index, FactFilter(*patterns, untrusted=True, limit=1)):
                raise self._refusal(conclusion)
        if found and not dry_run:
            self._append(map(_retraction, found), by, Action.DELETE)
        return found

    def note_verification(
        self, fact: Fact, method: str, verified: bool, confidence: float | None, by: Attribution = ASSERTER
    ) -> Fact:
        """Record that one of the agent's own facts was verified, and the outcome; returns the fact afterwards."""
        own = self._own(fact.id)
        line = {"op": VERIFY, "fact": own.id, **triple_of(own), "method": method, "verified": verified}
        self._append([line | ({} if confidence is None else {"confidence": confidence})], by, Action.APPEND)
        return self.get(own.id)

    def _append(self, lines: Iterable[Mapping[str, Any]], by: Attribution, action: Action) -> None:
        if records := tuple(lines):
            self._vault.add_lines(self._ledger, records, by, "F", action)

    # What is known

    def query(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        min_confidence: float = 0.0,
        valid_at: When = None,
        as_of: When = None,
        include_derived: bool = True,
        category: str | None = None,
        source: str | None = None,
        agents: Iterable[str] | str | None = None,
        include_untrusted: bool = False,
        limit: int = 50,
    ) -> list[Fact]:
        """Return the matching facts, sorted by subject, or by predicate or object if only those are given.

        `*` and `?` match any text and any character. `valid_at` is the moment at which the facts hold, now by default,
        or "any"; `as_of` shows what was known at a moment, without conclusions.
        """
        if not 1 <= limit <= MOST:
            raise InputError(f"the limit {limit} is not 1 to {MOST:,}", hint="50 is usual")
        if not 0 <= min_confidence <= 1:
            raise InputError(f"the least confidence {min_confidence} is not 0 to 1", hint="1 is certain")
        wanted = FactFilter(
            *_patterns(subject, predicate, object),
            min_confidence=min_confidence or None,
            valid_at=self._moment("valid_at", valid_at),
            as_of=None if as_of is None else read_moment("as_of", as_of, self._vault.home.zone),
            derived=include_derived and as_of is None,
            untrusted=include_untrusted,
            category=_pattern("category", category),
            source=_pattern("source", source),
            limit=limit,
        )
        # Refreshing has the own index catch up, so it need not do so again below.
        is_fresh = wanted.derived and self._refreshed()
        found = [
            _found(index, wanted, is_caught_up=is_fresh and index is self._searcher.index)
            for index in self._chosen(agents)
        ]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=wanted.key)[:limit]

    def all(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        include_derived: bool = False,
        include_untrusted: bool = False,
    ) -> Iterator[Fact]:
        """Yield every matching fact, valid or not, one agent after another."""
        terms = _patterns(subject, predicate, object)
        wanted = FactFilter(*terms, derived=include_derived, untrusted=include_untrusted, limit=PAGE)
        if include_derived:
            self._refreshed()
        for index in self._searcher.indexes():
            after = wanted
            while found := _found(index, after):
                yield from found
                after = wanted._replace(after=wanted.key(found[-1]))

    def _refreshed(self) -> bool:
        """Bring conclusions up to date, if somebody can."""
        if self._refresh is not None:
            self._refresh()
        return self._refresh is not None

    def _moment(self, name: str, value: When) -> int | None:
        if value is None:
            return to_us(self._vault.home.now())
        return None if value == ANY else read_moment(name, value, self._vault.home.zone)

    def _chosen(self, agents: Iterable[str] | str | None) -> list[Index]:
        indexes = self._searcher.indexes()
        if agents is None:
            return indexes
        known = {index.agent: index for index in indexes}
        wanted = [agents] if isinstance(agents, str) else list(agents)
        if unknown := next((name for name in wanted if name not in known), None):
            hint = "`memfolio agent list` shows whose memory it reads"
            raise NotFoundError(f"agent {self._agent} reads no agent {unknown[:80]!r}", hint=hint)
        return [known[name] for name in wanted]

    def get(self, id: str) -> Fact:
        """The fact with this id, or that of any line about it."""
        if id.startswith("D-"):
            self._refreshed()
        for index in self._searcher.indexes():
            if fact := index.read(partial(fact_named, id=id, agent=index.agent)):
                return fact
        # No index has it as a fact: either it never was one, or it is retracted.
        _, triple = self._line_named(id)
        text = " ".join(triple)
        raise NotFoundError(f"{id}, {text[:80]!r}, is retracted", hint=f"see `memfolio fact history {id}`")

    def _line_named(self, id: str) -> tuple[Index, Triple]:
        """Return the triple that a line with this id is or was about, and the index that holds it."""
        for index in self._searcher.indexes():
            if triple := index.read(lambda db: triple_named(db, id)):
                return index, triple
        raise NotFoundError(f"there is no fact {id[:80]!r}", hint="`memfolio fact query` shows which there are")

    def _own(self, id: str) -> Fact:
        """A fact that can be changed."""
        fact = self.get(id)
        if fact.is_derived:
            raise self._refusal(fact)
        if self._searcher.index.read(lambda db: fact_of(db, fact.triple)) is None:
            raise ConflictError(f"{fact.id} is another agent's", hint="change it as that agent")
        return fact

    def _refusal(self, conclusion: Fact) -> ConflictError:
        return ConflictError(self._grounds(conclusion), hint="retract one of those, or switch the rule off")

    def _grounds(self, fact: Fact) -> str:
        """By which rule and from which facts a conclusion follows."""
        indexes = self._searcher.indexes()
        owners = (each for each in indexes if each.read(partial(fact_named, id=fact.id, agent=each.agent)))
        premises = next((each.read(partial(premises_of, fact=fact)) for each in owners), [])
        return f"{fact} follows by rule {fact.source} from {'; '.join(premises) or 'other facts'}"

    def history(self, id: str) -> list[FactHistoryEntry]:
        """Return everything recorded about a fact, oldest first, even if it is retracted; not for conclusions."""
        if id.startswith("D-"):
            message = f"{self._grounds(self.get(id))}, and has no history"
            raise NotFoundError(message, hint=f"`memfolio fact explain {id}` shows where it comes from")
        index, triple = self._line_named(id)
        return index.read(partial(history_of, triple=triple))

    def problems(self) -> list[str]:
        """Which lines of the agent's ledger were passed over, and why."""
        return self._searcher.index.read(unreadable_lines)

    def explain(self, id: str, depth: int = 3) -> Any:
        """Explain where a fact comes from: its sources, or the rules and facts it follows from, `depth` steps back."""
        fact = self.get(id)
        if self._explainer is None:
            raise InputError("nobody here can explain facts", hint="use the facts of an open memory: memory.facts")
        return self._explainer(fact.id, depth)

    def about_memory(self, memory_id: str) -> list[Fact]:
        """The facts that came from a memory."""
        return [fact for index in self._searcher.indexes() for fact in index.read(lambda db: facts_from(db, memory_id))]


def origin_of(vault: Vault, by: Attribution) -> Origin:
    """Return the origin of a change: the configured speaker, otherwise derived from the attribution."""
    speaker = vault.speaker or ("owner" if check_attribution(by).actor == "human" else "agent")
    return Origin.OWNER if speaker == "owner" else Origin.AGENT


def _patterns(subject: str | None, predicate: str | None, object: str | None) -> tuple[Pattern, Pattern, Pattern]:
    """Patterns in the spelling in which terms are kept."""
    return _pattern("subject", subject), _pattern("predicate", predicate), _pattern("object", object)


def _pattern(name: str, given: str | None) -> Pattern:
    return None if given is None else read_term(name, given)


def _found(index: Index, wanted: FactFilter, *, is_caught_up: bool = False) -> list[Fact]:
    return index.read(lambda db: find_facts(db, wanted, index.agent), is_caught_up=is_caught_up)


def _retraction(fact: Fact) -> dict[str, Any]:
    return {"op": RETRACT, "fact": fact.id, **triple_of(fact)}
