"""Full-text search: filters applied before ranking, and BM25 over what passes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from itertools import accumulate
from math import log
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from apsw import Connection, FTS5ExtensionApi, format_sql_value

from memfolio.clock import to_ms
from memfolio.index.rows import (
    ReadingConnection,
    all_stored,
    clean,
    column,
    kept,
    number,
    of_kept,
    rows_array,
    selected,
    to_us,
)
from memfolio.index.schema import MemoryRow
from memfolio.text import MAX_TERM, match_expression, name_key, packaged_text
from memfolio.types import CLOSELY, LEARNED, OVERHEARD, Kind, Store, Type, frozen
from memfolio.vault.fields import without_surrogates

T = TypeVar("T")

# Which memories are within short-term memory: that follows from when they came and how important they are.
#
# Nothing is written when a memory leaves it: the text stays in its log, and from then on it counts as long-term
# memory.


@frozen
class ShortTerm:
    """The contents of short-term memory at a moment: the most important of what came since then."""

    since: datetime
    capacity: int

    @classmethod
    def at(cls, now: datetime, ttl: timedelta, capacity: int) -> ShortTerm:
        return cls(since=now - ttl, capacity=capacity)

    @property
    def values(self) -> tuple[str, int]:
        """What `WITHIN` asks for. Ids begin with the time of creation, so they tell it without a look at the rows."""
        return f"M-{max(0, to_ms(self.since)):013d}", self.capacity


_RECENT = """FROM memories s WHERE s.id >= ? AND s.id < 'M-:' AND s.store = 'short_term' AND s.forgotten_at IS NULL
    AND s.archived = 0"""
WITHIN = f"m.row IN (SELECT s.row {_RECENT} ORDER BY s.importance DESC, s.id DESC LIMIT ?)"


def count_within(db: Connection, short_term: ShortTerm) -> int:
    """How many memories are within short-term memory."""
    return number(db, f"SELECT count(*) FROM (SELECT 1 {_RECENT} LIMIT ?)", *short_term.values)


def stores_of(stores: Sequence[Store], short_term: ShortTerm) -> tuple[str, tuple[str | int, ...]]:
    """The condition that a memory is in one of these stores, with its values; what left short-term is long-term."""
    recent, lasting = Store.SHORT_TERM in stores, Store.LONG_TERM in stores
    sql, plain = _one_of("store", [each for each in stores if each is not Store.SHORT_TERM or lasting])
    if recent == lasting:
        return sql, plain
    within = WITHIN if recent else f"(m.store = 'short_term' AND NOT {WITHIN})"
    return f"{sql} OR {within}", (*plain, *short_term.values)


# Whether anything is remembered that has some tag, session, user or entity.

_ANY = {
    "tag": "SELECT 1 FROM tags WHERE tag = ?1 LIMIT 1",
    "session": "SELECT 1 FROM memories WHERE session = ?1 LIMIT 1",
    "user": "SELECT 1 FROM memories WHERE user = ?1 LIMIT 1",
    "entity": "SELECT 1 FROM names WHERE name = ?1 UNION ALL SELECT 1 FROM mentions WHERE entity = ?1 LIMIT 1",
}


def is_known(db: Connection, name: str, value: str) -> bool:
    """Whether a filter of this name and value can find anything; only users have no index, and are looked through."""
    key = {"tag": str.casefold, "entity": name_key}.get(name, str)(value)
    return db.execute(_ANY[name], clean((key,))).fetchone() is not None


# What somebody may hear: a view takes the place of the memories, so that no statement can forget to ask.


@cache
def _views() -> str:
    return packaged_text("index/data/heard.sql")


def has_private(db: Connection) -> bool:
    """Whether there is anything that a listener may not hear."""
    return bool(number(db, "SELECT EXISTS (SELECT 1 FROM unheard)"))


def as_heard_by(db: Connection, listener: str, question: Callable[[Connection], T]) -> T:
    """Answer a query with only what a listener may hear."""
    db.execute(_views().format(listener=format_sql_value(without_surrogates(listener))))
    with db.other_tables() if isinstance(db, ReadingConnection) else nullcontext():
        answer = question(db)  # where that fails, the connection is closed
    for view in column(db, "SELECT name FROM temp.sqlite_schema WHERE type = 'view'"):
        db.execute(f"DROP VIEW temp.{view}")
    return answer


def has_unheard(db: Connection, session: str | None, room: str | None) -> bool:
    """Whether anything was said in a session or a room that a listener does not hear."""
    sql = "SELECT EXISTS (SELECT 1 FROM main.memories WHERE {} = ? AND row NOT IN (SELECT row FROM memories))"
    asked = (("session", session), ("audience", room))
    return any(number(db, sql.format(column), clean((value,))[0]) for column, value in asked if value is not None)


def ordered_by(db: Connection, index: str) -> str:
    """The hint that rows are to be read in the order of an index, which a view has none of."""
    is_view = db.execute("SELECT 1 FROM temp.sqlite_schema LIMIT 1").fetchone()
    return "" if is_view else f" INDEXED BY {index}"


# What a memory must be to count at all: decided by the database, before anything is ranked or cut off.

ARCHIVED = "archived"
SUPERSEDED = "superseded"
DORMANT = "dormant"
QUARANTINED = "quarantined"
INCLUDABLE = (ARCHIVED, SUPERSEDED, DORMANT, QUARANTINED)
"""States that are hidden unless a caller includes them."""

_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
DAILY = "daily"
LEVELS = {
    DAILY: f"*/memory/{_DAY}*.md",
    "weekly": "*/memory/weekly/*.md",
    "monthly": "*/memory/monthly/*.md",
    "quarterly": "*/memory/quarterly/*.md",
}
"""The files of each level of the hierarchy: days as they were written, and the digests above them."""

Condition = tuple[str, tuple[Any, ...]]
LIVE = "m.form = 'memory' AND m.archived = 0 AND m.forgotten_at IS NULL"
CURRENT = f"{LIVE} AND m.superseded_by IS NULL"
MORE_THAN_EVENT = f"(m.kind <> 'episodic' OR m.source IN {OVERHEARD})"
CONFIRMED = "EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm')"
TRUSTED = f"(m.origin <> 'untrusted' OR {CONFIRMED})"
NOT_UNDONE = "(m.archived = 0 OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive'))"
"""Undone memories are in the archive, too, but without a state line."""
_TRUSTED_AT = """m.origin <> 'untrusted'
    OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm'
        AND julianday(json_extract(s.line, '$.at')) <= coalesce(julianday(?), 9e9))"""
"""Untrusted memories count from the moment somebody confirms them."""

_NOT_SUMMED_UP = """m.form IN ('memory', 'note') OR m.file NOT IN (SELECT number FROM files
    WHERE path GLOB '*/memory/weekly/*' OR path GLOB '*/memory/monthly/*' OR path GLOB '*/memory/quarterly/*'
    OR path GLOB '*/memory/checkpoints/*' OR path GLOB '*/sessions/*')"""
"""Excludes passages of pages that cover all projects."""
OUT_OF_SIGHT_WHERE = "(m.archived = 1 OR m.superseded_by IS NOT NULL OR m.origin = 'untrusted')"
"""The condition that SQLite needs to use the index of that name."""
_ONLY = {
    ARCHIVED: "m.archived = 1",
    SUPERSEDED: "m.archived = 0 AND m.superseded_by IS NOT NULL",
    QUARANTINED: f"m.archived = 0 AND m.superseded_by IS NULL AND m.origin = 'untrusted' AND NOT {CONFIRMED}",
}
IS_CLOSE = f"json_extract(m.more, '$.attributes.{CLOSELY}')"
"""Whether it was learned by an agent that read the turns."""
_ORIGINAL = f"""m.source <> '{LEARNED}' OR {IS_CLOSE}
    OR NOT EXISTS (SELECT 1 FROM edges e JOIN memories s ON s.id = e.target
    WHERE e.source = m.id AND e.type = 'derived_from' AND s.forgotten_at IS NULL AND s.archived = 0)"""
"""What rules made of a turn says less than the turn; an agent says what it means beside what is known."""


@frozen
class Filter:
    """Exact conditions; None or empty means any. Forgotten memories never pass."""

    kinds: tuple[Kind, ...] = ()
    types: tuple[Type, ...] = ()
    stores: tuple[Store, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    """Mentions one of these, by id or by any of its names."""
    session: str | None = None
    user: str | None = None
    project: str | None = None
    """Belongs to this one, by its name or its id."""
    projects: tuple[str, ...] = ()
    """Belongs to one with these keys, or to none."""
    since: datetime | None = None
    until: datetime | None = None
    valid_at: datetime | None = None
    as_of: datetime | None = None
    min_importance: float = 0
    include: tuple[str, ...] = ()
    only: str | None = None
    """What is out of sight in this one way, of `ARCHIVED`, `SUPERSEDED` and `QUARANTINED`; nothing else passes."""
    forms: tuple[str, ...] = ()
    """The form in its file: a memory, a passage of a page, a fact."""
    dated: bool = False
    """Whether notes that tell no date are left out: that of their file may be the day on which it was copied."""
    level: str | None = None
    """One of `LEVELS`."""
    originals: bool = False
    """Whether what rules learned from memories that are there gives way to them, unless its kind is asked for."""
    short_term: ShortTerm | None = None
    """The current extent of short-term memory, for `stores`; without it, whatever was ever put there."""

    @property
    def is_narrow(self) -> bool:
        """Whether a caller asked for something in particular, so that few memories may be left."""
        return any(True for _ in self._asked())

    @property
    def _asks_for_knowledge(self) -> bool:
        """Whether something is asked for that only what was learned may have."""
        asked = (self.kinds, self.types, self.tags, self.entities, self.stores, self.min_importance)
        return any(asked)

    @property
    def with_superseded(self) -> Filter:
        """The same, but for versions that were replaced, which may lead to those that replaced them."""
        return self if SUPERSEDED in self.include else replace(self, include=(*self.include, SUPERSEDED))

    def where(self) -> Condition:
        """The condition on `memories m`, with its values."""
        found = [*self._visible(), *self._asked()]
        values = clean(tuple(value for _, values in found for value in values))
        return " AND ".join(f"({sql})" for sql, _ in found), values

    def _visible(self) -> Iterator[Condition]:
        yield "m.forgotten_at IS NULL", ()
        if self.only is not None:
            yield f"{OUT_OF_SIGHT_WHERE} AND {_ONLY[self.only]}", ()
            return
        if ARCHIVED not in self.include:
            yield "m.archived = 0", ()
        if self.as_of is None and SUPERSEDED not in self.include:
            yield "m.superseded_by IS NULL", ()
        if self.originals and not self._asks_for_knowledge:
            yield _ORIGINAL, ()
        if self.projects and self.project is None:
            marks = ", ".join("?" * len(self.projects))
            yield f"m.project IS NULL OR substr(m.project, -8) IN ({marks})", self.projects
            yield _NOT_SUMMED_UP, ()
        if QUARANTINED not in self.include:
            yield _TRUSTED_AT, (None if self.as_of is None else self.as_of.isoformat(),)

    def _asked(self) -> Iterator[Condition]:
        stores = () if self.short_term else self.stores
        for name, values in (("kind", self.kinds), ("type", self.types), ("store", stores), ("form", self.forms)):
            if values:
                yield _one_of(name, values)
        if self.stores and self.short_term:
            yield stores_of(self.stores, self.short_term)
        if self.level is not None:
            yield "m.file IN (SELECT number FROM files WHERE path GLOB ?)", (LEVELS[self.level],)
        if self.level == DAILY:  # not the pages that have a day in their name, such as a plan for it
            yield _one_of("form", ("memory",))
        for tag in self.tags:
            yield "m.row IN (SELECT t.row FROM tags t WHERE t.tag = ?)", (tag.casefold(),)
        if self.entities:
            marks = ", ".join("?" * len(self.entities))
            mentioning = f"""SELECT n.row FROM mentions n WHERE n.entity IN ({marks}) UNION SELECT t.row FROM edges e
                JOIN memories t ON t.id = e.target WHERE e.type = 'about' AND e.source IN ({marks})"""
            mentioning += " UNION SELECT w.rowid FROM words w WHERE w.words MATCH ?"
            yield f"m.row IN ({mentioning})", (*self.entities, *self.entities, match_expression(self.entities))
        for name, value in (("session", self.session), ("user", self.user)):
            if value is not None:
                yield f"m.{name} = ?", (value,)
        if self.project is not None:
            yield "m.project = ? OR substr(m.project, 1, length(m.project) - 9) = ?", (self.project, self.project)
        if self.min_importance > 0:
            yield "m.importance >= ?", (self.min_importance,)
        yield from self._timed()

    def _timed(self) -> Iterator[Condition]:
        if self.dated:
            yield "m.source <> 'note' OR m.kind <> 'semantic' OR m.happened_at <> m.created_at", ()
        if self.since is not None:
            yield "m.happened_at >= ?", (to_us(self.since),)
        if self.until is not None:
            yield "m.happened_at <= ?", (to_us(self.until),)
        if self.valid_at is not None:
            at = to_us(self.valid_at)
            yield "coalesce(m.valid_from, ?) <= ? AND (m.valid_until IS NULL OR m.valid_until > ?)", (at, at, at)
        if self.as_of is not None:
            at = to_us(self.as_of)
            yield "m.created_at <= ? AND (m.superseded_at IS NULL OR m.superseded_at > ?)", (at, at)


def _one_of(name: str, values: Sequence[str]) -> Condition:
    return f"m.{name} IN ({', '.join('?' * len(values))})", tuple(values)


# What passes a filter: each memory is looked up once for a whole question.

HANDFUL = 40
"""Up to how many memories the best of a question are all there are."""
FEW = 4000
"""Up to how many memories that pass a filter are compared one by one."""
WIDER = 8
"""By how much a search widens while too few of the best pass the filter."""


Score = Callable[[Sequence[int] | None, int], Mapping[int, float]]
"""Finds the best so many of some rows, or of all, with their scores."""


BEGINNING = 1000
"""How many characters of a text are read for ranking."""


class TurnColumns(NamedTuple):
    """Columns needed for ranking every candidate: speaker, place, time and the beginning of the text."""

    row: int
    id: str
    session: str | None
    role: str | None
    happened_at: int
    created_at: int
    file: int
    kind: str
    source: str
    superseded_by: str | None
    text: str = ""
    """The first `BEGINNING` characters."""

    @property
    def is_dated(self) -> bool:
        """Whether its time is its own, as `Filter.dated` asks."""
        return self.source != "note" or self.kind != Kind.SEMANTIC or self.happened_at != self.created_at


_TURN = f"{selected(TurnColumns._fields[:-1])}, substr(m.content, 1, {BEGINNING})"
_of_turn = itemgetter(*map(MemoryRow._fields.index, TurnColumns._fields[1:-1]))
_turn = partial(tuple.__new__, TurnColumns)
"""A third of the time of Turn._make."""


class Sieve:
    """A filter over the memories of one moment."""

    def __init__(self, db: Connection, wanted: Filter) -> None:
        self.connection = db
        self._wanted = wanted

    def passing(self, rows: Collection[int]) -> dict[int, TurnColumns]:
        """Those of these rows that pass."""
        return of_kept(self.connection, self.where, rows, self._read)

    def best(self, scores: Mapping[int, float], limit: int) -> list[int]:
        """The best `limit` of those that pass, best first, equal ones by id."""
        rows: Collection[int] = scores
        if len(scores) > limit:  # most often all pass, and the rest need not be looked up
            least = sorted(scores.values(), reverse=True)[limit - 1]
            rows = [row for row, score in scores.items() if score >= least]
        turns = self.passing(rows)
        if len(turns) < limit:
            turns = self.passing(scores)
        order = sorted(turns, key=scores.__getitem__, reverse=True)
        if len({*map(scores.__getitem__, order)}) < len(order):
            order.sort(key=lambda row: (-scores[row], turns[row].id))
        return order[:limit]

    def search(self, score: Score, limit: int) -> dict[int, float]:
        """The best `limit` of all memories that pass with their scores, best first, equal ones by id."""
        if self.few is not None:
            found = score(self.few, limit) if self.few else {}
            return {row: found[row] for row in self.best(found, limit)}
        reach = limit + limit // 4
        while True:
            found = score(None, reach)
            # Where there are just as many as were asked for, some that are as good as the last may be missing.
            if len(found) == reach:
                least = min(found.values())
                best = self.best({row: each for row, each in found.items() if each > least}, limit)
            else:
                best = self.best(found, limit)
            if len(best) == limit or len(found) < reach:
                return {row: found[row] for row in best}
            reach *= WIDER

    def _read(self, rows: Iterable[int]) -> dict[int, TurnColumns]:
        condition, values = self.where
        if size(self.connection) <= HANDFUL:  # then all of them will be needed as a whole
            passing = {row: each.columns for row, each in all_stored(self.connection, condition, *values).items()}
            return {row: _turn((row, *_of_turn(each), each.content[:BEGINNING])) for row, each in passing.items()}
        # A join, and not IN, for which SQLite would sort the rows first.
        source, asked = "carray(?) asked CROSS JOIN memories m ON m.row = asked.value", [rows_array(rows)]
        if size(self.connection) <= TINY:  # then the rest will be needed as well
            source, asked = "memories m", []
        found = self.connection.execute(f"SELECT {_TURN} FROM {source} WHERE {condition}", (*asked, *values))
        return {turn[0]: _turn(turn) for turn in found}

    @cached_property
    def where(self) -> Condition:
        """The condition on `memories m`, with its values."""
        return self._wanted.where()

    @cached_property
    def few(self) -> list[int] | None:
        """The rows of all memories that pass; None when they are not few."""
        if not self._wanted.is_narrow:
            return None
        condition, values = self.where
        found = column(self.connection, f"SELECT m.row FROM memories m WHERE {condition} LIMIT ?", *values, FEW + 1)
        return found if len(found) <= FEW else None


# Search by words: BM25 over what passes the filter.
#
# To find what has a word is quick, to weigh it is not. So the filter is asked about the best alone, and in large
# homes the rarest words choose what is weighed; the weight itself is always that of all words.

COLUMNS = (1.0, 0.6)
"""How much a word counts in the content, and in the tags and headings around it."""
WEIGHTS = ", ".join(map(str, COLUMNS))
TINY = 200
"""Up to how many memories a word that most of them have counts more than nothing, which it does not in FTS5's BM25."""
SMALL = 50_000
"""Up to how many memories everything that has a word is weighed."""
_K1, _B = 1.2, 0.75
"""As in FTS5: how soon a word that is repeated tells nothing more, and how much long memories are held back."""
WEIGHED = 20_000
"""How many are weighed in larger homes."""


def matches_any(words: Sequence[str], sieve: Sieve, limit: int) -> dict[int, float]:
    """What has any of these words or phrases: the best `limit` of those that pass, best first, equal ones by id.

    In a large home, what has none but common words is left out where rarer ones bring enough.
    """
    db = sieve.connection
    if sieve.few is not None or size(db) <= SMALL:
        found = matches(match_expression(words), sieve, limit)
        if size(db) <= TINY and isinstance(db, ReadingConnection):
            _keep_frequencies(db, words, is_of_all=sieve.few is None)
        return found
    counts = {word: count for word, count in frequencies(db, words, WEIGHED + 1).items() if count}
    expression = match_expression(list(counts))
    if choice := _choice(db, counts, 2 * limit):
        found = matches(expression, sieve, limit, choice)
        if len(found) >= limit:
            return found
    return matches(expression, sieve, limit)


def matches(expression: str, sieve: Sieve, limit: int, choice: str = "") -> dict[int, float]:
    """The best `limit` of the memories that pass, best first, equal ones by id; only of a choice, if there is one."""
    db = sieve.connection
    weight = "relevance(words)" if size(db) <= TINY else f"-bm25(words, {WEIGHTS})"
    if isinstance(db, ReadingConnection):
        db.counts.clear()

    def score(rows: Sequence[int] | None, most: int) -> Mapping[int, float]:
        # The plus keeps SQLite from searching anew for each of the rows.
        chosen, values = "", [expression]
        if rows is not None:
            chosen, values, most = "AND +rowid IN carray(?)", [expression, rows_array(rows)], -1
        elif choice:
            chosen, values = "AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?)", [expression, choice]
        sql = f"SELECT rowid, {weight} AS score FROM words WHERE words MATCH ? {chosen} ORDER BY score DESC LIMIT ?"
        return dict(db.execute(sql, (*values, most)))

    return sieve.search(score, limit)


def frequencies(db: Connection, words: Collection[str], cap: int) -> dict[str, int]:
    """Return how many memories contain each of these words or phrases, counted up to `cap`."""

    def read(new: Sequence[str]) -> dict[str, int]:
        # One statement for all: asking takes longer than counting.
        sql = f"SELECT {', '.join([f'({_COUNT})'] * len(new))}"
        values = [value for word in new for value in (match_expression([word]), cap)]
        counts: Sequence[Any] = db.execute(sql, values).fetchall()[0]
        return dict(zip(new, counts, strict=True))

    return of_kept(db, _frequencies_to(db, cap), words, read)


def _frequencies_to(db: Connection, cap: int) -> tuple[str, int]:
    """Under which name frequencies are kept; up to `TINY` memories no cap matters."""
    return "frequencies", cap if size(db) > TINY else 0


def _keep_frequencies(db: ReadingConnection, words: Sequence[str], *, is_of_all: bool) -> None:
    """Keep in how many memories the words are that were just weighed, so that it need not be asked again."""
    counts = db.counts
    if not counts and is_of_all:  # there was nothing to weigh that has any of them
        counts = [0] * len(words)
    # Where several phrases stand for one word, or what begins like it, it is counted by itself.
    if len(counts) == len(words) and all(len(word) < MAX_TERM and word.replace(" ", "").isalnum() for word in words):
        kept(db, _frequencies_to(db, 0)).update(zip(words, counts, strict=True))


def size(db: Connection) -> int:
    """Return the number of memories, regardless of filters."""
    table = kept(db, size)
    if not table:
        table[0] = number(db, "SELECT sum(memories) FROM tally")
    return int(table[0])


_COUNT = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"


def _count(db: Connection, expression: str, cap: int) -> int:
    return number(db, _COUNT, expression, cap)


def _choice(db: Connection, counts: Mapping[str, int], least: int) -> str | None:
    """Return a query for memories with one of the rarest words; None if all words together are rare."""
    rarest = sorted(counts, key=counts.__getitem__)
    together = sum(total <= WEIGHED for total in accumulate(counts[word] for word in rarest))
    if together == len(rarest):
        return None
    return match_expression(rarest[:together]) if together else _in_common(db, rarest, least)


def _in_common(db: Connection, words: Sequence[str], least: int) -> str:
    """Where each word brings too much, the expression for what has several of them, as many as leave enough."""
    choice = match_expression(words[:1])
    for size in range(2, len(words) + 1):
        narrower = match_expression(words[:size], all_of=True)
        count = _count(db, narrower, WEIGHED)
        choice = narrower if count >= least else choice
        if count < WEIGHED:
            break
    return choice


class _Statistics(NamedTuple):
    """What is the same for all rows that match: how much each phrase tells, and the mean length of a memory."""

    rarity: list[float]
    mean_length: float


def register(db: Connection) -> None:
    """Give a connection the function `relevance`."""
    db.register_fts5_function("relevance", partial(_relevance, db.counts if isinstance(db, ReadingConnection) else []))


def _relevance(counts: list[int], api: FTS5ExtensionApi, *_: object) -> float:
    """BM25 as in FTS5, but with a rarity that is never zero: in a few memories, most words are in most of them.

    `counts` is told how many have each phrase.
    """
    statistics: _Statistics = api.aux_data or _statistics(api, counts)
    length = 1 - _B + _B * api.column_size(-1) / statistics.mean_length
    score = 0.0
    for phrase, rarity in enumerate(statistics.rarity):
        places = zip(COLUMNS, api.phrase_locations(phrase), strict=True)
        count = sum(weight * len(found) for weight, found in places)
        score += rarity * count * (_K1 + 1) / (count + _K1 * length)
    return score


def _statistics(api: FTS5ExtensionApi, counts: list[int]) -> _Statistics:
    counts[:] = [0] * api.phrase_count
    for phrase in range(api.phrase_count):

        def count(_: FTS5ExtensionApi, phrase: int) -> None:
            counts[phrase] += 1

        api.query_phrase(phrase, count, phrase)
    total = api.row_count
    rarity = [log(1 + (total - rows + 0.5) / (rows + 0.5)) for rows in counts]
    api.aux_data = found = _Statistics(rarity, api.column_total_size(-1) / total)
    return found


# Plain full-text search, with nothing of ours in it: the floor that recall is measured against.


class PlainSearch:
    """Texts in one FTS5 table in memory, with the tokenizer of the index."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._db = Connection(":memory:")
        self._db.execute(
            'CREATE VIRTUAL TABLE words USING fts5 (content, tokenize="porter unicode61 remove_diacritics 2")'
        )
        with self._db:
            self._db.executemany("INSERT INTO words (rowid, content) VALUES (?, ?)", enumerate(texts))

    def best(self, expression: str, limit: int) -> list[int]:
        """The numbers, from 0, of the texts that match best by BM25; of equal ones the earlier comes first."""
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?"
        return column(self._db, sql, expression, limit)
