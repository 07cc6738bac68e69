"""Search by words: BM25 over what passes the filter.

To find what has a word is quick, to weigh it is not. So the filter is asked about the best alone, and in large homes
the rarest words choose what is weighed; the weight itself is always that of all words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import log
from typing import NamedTuple

import apsw

from memfolio.index.sieve import WIDER, Sieve
from memfolio.text import match_expression

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


class Match(NamedTuple):
    """A memory's row and how well its words fit: more is better."""

    row: int
    score: float


class Asked(NamedTuple):
    """What is weighed: the expression, and a condition that chooses among what matches it, with its value."""

    expression: str
    condition: str = ""
    values: tuple[object, ...] = ()


def matches_any(words: Sequence[str], sieve: Sieve, limit: int) -> list[Match]:
    """What has any of these words or phrases: the best `limit` of those that pass, best first, equal ones by id.

    In a large home, what has none but common words is left out where rarer ones bring enough.
    """
    connection = sieve.connection
    if sieve.few is not None or _has_at_most(connection, SMALL):
        return _best(Asked(match_expression(words)), sieve, limit)
    counts = {word: count for word, count in frequencies(connection, words, WEIGHED + 1).items() if count}
    expression = match_expression(list(counts))
    if choice := _choice(connection, counts, 2 * limit):
        # The plus keeps SQLite from searching anew for each of the rows.
        condition = "AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"
        found = _best(Asked(expression, condition, (choice,)), sieve, limit)
        if len(found) >= limit:
            return found
    return _best(Asked(expression), sieve, limit)


def matches(expression: str, sieve: Sieve, limit: int) -> list[Match]:
    """The best `limit` of the memories that pass, best first, equal ones by id."""
    return _best(Asked(expression), sieve, limit)


def frequencies(connection: apsw.Connection, words: Iterable[str], cap: int) -> dict[str, int]:
    """In how many memories each of these words or phrases stands, counted up to `cap`."""
    return {word: _count(connection, match_expression([word]), cap) for word in words}


def _count(connection: apsw.Connection, expression: str, cap: int) -> int:
    sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    found: int = connection.execute(sql, (expression, cap)).get
    return found


def _has_at_most(connection: apsw.Connection, most: int) -> bool:
    """Whether there are no more memories than that."""
    last: int | None = connection.execute("SELECT max(row) FROM memories").get
    if last is None or last <= most:
        return True
    # Rows that are gone leave gaps, of which a rebuilt index has none.
    count: int = connection.execute("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT ?)", (most + 1,)).get
    return count <= most


def _choice(connection: apsw.Connection, counts: Mapping[str, int], least: int) -> str | None:
    """The expression for what has one of the rarest words; None when all of them together are rare."""
    rarest = sorted(counts, key=counts.__getitem__)
    together = sum(total <= WEIGHED for total in accumulate(counts[word] for word in rarest))
    if together == len(rarest):
        return None
    return match_expression(rarest[:together]) if together else _in_common(connection, rarest, least)


def _in_common(connection: apsw.Connection, words: Sequence[str], least: int) -> str:
    """Where each word brings too much, the expression for what has several of them, as many as leave enough."""
    choice = match_expression(words[:1])
    for size in range(2, len(words) + 1):
        narrower = match_expression(words[:size], all_of=True)
        count = _count(connection, narrower, WEIGHED)
        choice = narrower if count >= least else choice
        if count < WEIGHED:
            break
    return choice


def _best(asked: Asked, sieve: Sieve, limit: int) -> list[Match]:
    if sieve.few is not None:
        found = _of_few(sieve.connection, asked.expression, sieve.few)
        return [Match(row, found[row]) for row in sieve.best(found, limit)]
    reach = limit + limit // 4
    while True:
        found = _weighed(sieve.connection, asked, reach)
        is_all = len(found) < reach
        # Of those that are as good as the last, some may be missing.
        least = min(found.values(), default=0.0)
        best = sieve.best({row: score for row, score in found.items() if is_all or score > least}, limit)
        if len(best) == limit or is_all:
            return [Match(row, found[row]) for row in best]
        reach *= WIDER


def _of_few(connection: apsw.Connection, expression: str, rows: Sequence[int]) -> dict[int, float]:
    if not rows:
        return {}  # SQLite takes no array of nothing
    return _weighed(connection, Asked(expression, "AND +rowid IN carray(?)", (apsw.carray(array("q", rows)),)), -1)


def _weighed(connection: apsw.Connection, asked: Asked, limit: int) -> dict[int, float]:
    """The best rows, best first, with their scores."""
    weight = "relevance(words)" if _has_at_most(connection, TINY) else f"-bm25(words, {WEIGHTS})"
    sql = (
        f"SELECT rowid, {weight} AS score FROM words WHERE words MATCH ? {asked.condition} ORDER BY score DESC LIMIT ?"
    )
    return dict(connection.execute(sql, (asked.expression, *asked.values, limit)))


class _Statistics(NamedTuple):
    """What is the same for all rows that match: how much each phrase tells, and the mean length of a memory."""

    rarity: list[float]
    mean_length: float


def register(connection: apsw.Connection) -> None:
    """Give a connection the function `relevance`."""
    connection.register_fts5_function("relevance", _relevance)


def _relevance(api: apsw.FTS5ExtensionApi, *_: object) -> float:
    """BM25 as in FTS5, but with a rarity that is never zero: in a few memories, most words are in most of them."""
    told: _Statistics = api.aux_data or _statistics(api)
    length = 1 - _B + _B * api.column_size(-1) / told.mean_length
    score = 0.0
    for phrase, rarity in enumerate(told.rarity):
        places = zip(COLUMNS, api.phrase_locations(phrase), strict=True)
        count = sum(weight * len(found) for weight, found in places)
        score += rarity * count * (_K1 + 1) / (count + _K1 * length)
    return score


def _statistics(api: apsw.FTS5ExtensionApi) -> _Statistics:
    having = [0] * api.phrase_count
    for phrase in range(api.phrase_count):

        def count(_: apsw.FTS5ExtensionApi, phrase: int) -> None:
            having[phrase] += 1

        api.query_phrase(phrase, count, phrase)
    total = api.row_count
    rarity = [log(1 + (total - rows + 0.5) / (rows + 0.5)) for rows in having]
    api.aux_data = found = _Statistics(rarity, api.column_total_size(-1) / total)
    return found
