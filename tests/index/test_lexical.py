"""Search by words: what is asked of FTS5 step by step is what one query over everything would have said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from memfolio.index.database import Connection, Database
from memfolio.index.search import SMALL, WEIGHTS, Filter, Sieve, frequencies, matches, matches_any
from memfolio.text import match_expression

INSERT = """INSERT INTO memories (row, id, file, ordinal, form, kind, type, store, importance, confidence, created_at,
    happened_at, user, source, origin, forgotten_at, content)
    VALUES (?, ?, 1, 0, 'memory', 'episodic', 'observation', 'short_term', 0.5, 1, 0, 0, ?, '', 'agent', ?, ?)"""
FILTERS = (Filter(), Filter(user="few"), Filter(user="many"), Filter(user="nobody"))


def filled(texts: Sequence[str]) -> Iterator[Connection]:
    """An index of these texts; the ids are in another order than the rows, and every tenth is forgotten."""
    database = Database.in_process("main")
    with database.writing() as connection:
        for row, text in enumerate(texts, start=1):
            user, gone = ("few" if row % 50 == 0 else "many"), (1 if row % 10 == 0 and row % 50 else None)
            connection.execute(INSERT, (row, f"M-{row * 7919 % 1_000_003:07d}", user, gone, text))
            connection.execute("INSERT INTO words (rowid, content, about) VALUES (?, ?, '')", (row, text))
        tally = "INSERT INTO tally VALUES ('memory', 'episodic', 'short_term', 'agent', 1, 0, 0, 0, ?)"
        connection.execute(tally, (len(texts),))
        yield connection
    database.close()


@pytest.fixture(scope="module")
def small() -> Iterator[Connection]:
    words = "tea coffee rain deploy walk".split()
    texts = [" ".join(words[: row % 5 + 1]) + " and more" * (row % 7) for row in range(5000)]
    yield from filled(["tea"] * 600 + texts)


@pytest.fixture(scope="module")
def large() -> Iterator[Connection]:
    texts = [
        f"tea {'coffee' if row % 2 else 'rain'} {'zebra' if row % 97 == 0 else row}" for row in range(SMALL + 5000)
    ]
    yield from filled(texts)


def in_one_query(connection: Connection, words: Sequence[str], wanted: Filter, limit: int) -> list[tuple[int, float]]:
    condition, values = wanted.where()
    sql = (
        f"SELECT m.row, -bm25(words, {WEIGHTS}) AS score FROM words JOIN memories m ON m.row = words.rowid "
        f"WHERE words MATCH ? AND {condition} ORDER BY score DESC, m.id LIMIT ?"
    )
    return list(connection.execute(sql, (match_expression(words), *values, limit)))


@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: str(wanted.user))
@pytest.mark.parametrize("words", [["tea"], ["rain", "walk"], ["tea coffee", "deploy"], ["nothing"], []], ids=str)
@pytest.mark.parametrize("limit", [1, 20, 300])
def test_answer_is_that_of_one_query_over_everything(
    small: Connection, words: list[str], wanted: Filter, limit: int
) -> None:
    expected = in_one_query(small, words, wanted, limit)
    assert list(matches_any(words, Sieve(small, wanted), limit).items()) == expected
    assert list(matches(match_expression(words), Sieve(small, wanted), limit).items()) == expected


@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: str(wanted.user))
def test_rare_word_chooses_in_a_large_home_and_all_words_weigh(large: Connection, wanted: Filter) -> None:
    words = ["tea", "coffee", "zebra"]
    found = matches_any(words, Sieve(large, wanted), 100)
    assert list(found.items()) == in_one_query(large, words, wanted, 100)


@pytest.mark.parametrize("words", [["tea"], ["tea", "coffee"], ["tea", "unheard"], ["zebra", "unheard"], ["unheard"]])
def test_whatever_has_a_word_is_found_in_a_large_home_too(large: Connection, words: list[str]) -> None:
    found = matches_any(words, Sieve(large, Filter()), 1000)
    assert list(found.values()) == [score for _, score in in_one_query(large, words, Filter(), 1000)]


def test_words_are_counted_up_to_the_cap(small: Connection) -> None:
    found = frequencies(small, ["walking", "tea coffee", "unheard", "?"], 1500)
    assert found == {"walking": 1000, "tea coffee": 1500, "unheard": 0, "?": 0}
