"""What is asked for is found in a real FTS5 table, and nothing anyone types breaks the search."""

from __future__ import annotations

import time
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.text import MAX_TERM, estimate_tokens, every_word, match_expression, searchable, terms
from tests.conftest import many


class Table:
    """A full-text table as the index has it."""

    def __init__(self) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2')")

    def add(self, text: str) -> None:
        self.db.execute("INSERT INTO t VALUES (?)", (searchable(text),))

    def count(self, expression: str) -> int:
        return len(list(self.db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,))))

    def finds(self, text: str, query: str, *, all_of: bool = False) -> bool:
        self.db.execute("DELETE FROM t")
        self.add("something else entirely 別の話")
        self.add(text)
        return self.count(match_expression(terms(query), all_of=all_of)) == 1


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    table = Table()
    yield table
    table.db.close()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We don't deploy on Fridays", "don't"),
        ("We don’t deploy on Fridays", "don't"),
        ("see the foo-bar module", "foo-bar"),
        ("written in C++ mostly", "C++"),
        ("NEAR(a b) is an operator", "NEAR("),
        ("col:x is a filter", "col:x"),
        ("call do_the_thing first", "do_the_thing"),
        ('he said "hello"', '"hello'),
        ("wild*card", "wild*"),
        ("ship it 🚀 today", "🚀 ship"),
        ("avocado🥑toast", "toast"),
        ("Foo™ costs ₿100 or 5µm", "Foo 100 5µm"),
        ("area in m²", "m²"),
        ("שלום עולם", "עולם"),
        ("\u200fשלום\u200f", "שלום"),
        ("مرحبا بالعالم", "مرحبا"),
        ("before\0after", "after"),
        ("broken \udcff surrogate", "surrogate\udcff"),
        ("café in Łódź", "cafe Lodz"),
        ("cafe\u0301", "café"),
        ("Hauptstraße 5", "HAUPTSTRASSE"),
        ("ＡＢＣ full width", "abc"),
        ("the ﬁne print", "fine"),
        ("co\u00adoperate", "cooperate"),
        ("नमस्ते दुनिया", "नमस्ते"),
        ("Решили использовать Postgres", "решили"),
        ("東京の天気は晴れです", "東京"),
        ("明日の会議は東京タワーで行います", "東京タワーはどこですか"),
        ("我们决定使用 PostgreSQL 数据库", "用什么数据库？"),
        ("ｶﾞｲﾄﾞを読む", "ガイド"),
        ("한국어를 공부한다", "한국어는 어렵다"),
        ("สวัสดีชาวโลก", "ชาวโลก"),
        ("running the deployments", "deployment run"),
        ("WHO guidelines", "what does WHO say?"),
        ("Ёлка стоит в углу", "елки"),
        ("новые базы данных", "база"),
        ("بالمدرسة الجديدة", "مدرسة"),
        ("قرأ كتابا", "الكتاب"),
        ("كَتَبَ", "كتب"),
        ("readFile and write", "read_file"),
        ("read_file and write", "readFile"),
        ("x" * 100, "x" * 100),
        ("é" * 100, "é" * 100),
    ],
)
def test_what_is_asked_for_is_found(table: Table, text: str, query: str) -> None:
    assert table.finds(text, query)
    assert not table.finds("nothing of the kind", query)


def test_japanese_words_are_phrases_not_bags_of_characters(table: Table) -> None:
    assert table.finds("京都ではなく東京へ行く", "東京")
    assert not table.finds("東の都と京の都", "東京")


@pytest.mark.parametrize(
    ("text", "other", "query"),
    [
        ("C++ here", "C here", "C++"),
        ("C here", "C# here", "C"),
        ("pass --flag", "pass flag", "--flag"),
        ("pass --flag", "pass -flag", "--flag"),
        ("see #42", "see 42", "#42"),
        ("see .env", "see env", ".env"),
    ],
)
def test_signs_tell_words_apart(table: Table, text: str, other: str, query: str) -> None:
    sign = match_expression([query])
    assert table.finds(text, query)
    for stored, count in ((text, 1), (other, 0)):
        table.db.execute("DELETE FROM t")
        table.add(stored)
        assert table.count(sign) == count


@pytest.mark.parametrize("text", ["pass --flag", "see #flag", "@flag", "$flag,", "/flag", ".flag", "(-flag)"])
def test_word_is_found_without_its_sign(table: Table, text: str) -> None:
    assert table.finds(text, "flag")


def test_all_of_the_words_may_be_required(table: Table) -> None:
    assert table.finds("token refresh policy", "policy token", all_of=True)
    assert not table.finds("token refresh", "policy token", all_of=True)
    assert table.finds("東京タワー", "東京タワー", all_of=True)


@pytest.mark.parametrize("text", ["we host on GitHub", "we host on Git Hub", "we host on git-hub"])
def test_word_that_is_written_in_one_may_be_written_apart_where_all_are_required(table: Table, text: str) -> None:
    assert table.finds(text, "GitHub host", all_of=True)
    assert not table.finds(text, "GitHub host Berlin", all_of=True)
    assert not table.finds("we host a hub", "GitHub host", all_of=True)


@many(3000)
@given(
    text=st.text(max_size=40) | st.text(alphabet="\"'+#-_@$/.:~<* aAbBtT1é東ёЖжالก\u0301\ue02b🥑\udcff", max_size=20)
)
def test_a_text_has_every_word_of_its_own(table: Table, text: str) -> None:
    table.db.execute("DELETE FROM t")
    table.add(text)
    expression = every_word(text)
    assert table.count(expression) == (expression != '""')


@many(5000)
@given(query=st.text(max_size=40) | st.text(alphabet="\"'*^:(){}+-_ \0aANDORTé東あก\u0301🥑\udcff", max_size=40))
def test_no_question_raises(table: Table, query: str) -> None:
    words = terms(query)
    for all_of in (False, True):
        table.count(match_expression(words, all_of=all_of))
        table.count(match_expression([query], all_of=all_of))
    assert len(words) <= 32
    assert all(0 < len(word) <= MAX_TERM for word in words)


@many(3000)
@given(text=st.text(max_size=40) | st.text(alphabet="+#-_@$/.:~<* aAbBzZ1é東ёЖжالك\u0301\ue02b🥑'", max_size=20))
def test_a_text_is_found_by_each_of_its_words(table: Table, text: str) -> None:
    table.db.execute("DELETE FROM t")
    table.add(text)
    for word in terms(text):
        is_written_apart_by_others = word.isascii() and " " in word  # as `foo Bar` for `fooBar`
        assert is_written_apart_by_others or table.count(match_expression([word])) == 1


def test_many_words_make_a_valid_expression(table: Table) -> None:
    assert table.count(match_expression([f"w{number}" for number in range(1000)])) == 0


@pytest.mark.parametrize("words", [[], [""], ["***"], ["👍"], ["\0"]])
def test_no_words_find_nothing(table: Table, words: list[str]) -> None:
    table.add("👍 anything")
    assert table.count(match_expression(words)) == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What did I decide about the JWT token?", ["decide", "JWT", "token"]),
        ("Token token TOKEN", ["Token"]),
        ("why is it not working", ["not", "working"]),
        ("Who are you?", ["Who", "are", "you"]),
        ("does IT help us or the US?", ["IT", "help", "US"]),
        ("WHAT IS THE PLAN", ["PLAN"]),
        ("Alex's vitamin D", ["Alex", "vitamin", "D"]),
        ("l'avis d'Anne", ["avis", "Anne"]),
        ("'s", ["s"]),
        ("Was haben wir über die Datenbank entschieden?", ["die", "Datenbank", "entschieden"]),
        ("Quand avons-nous choisi la base ?", ["avons", "choisi", "base"]),
        ("Что мы решили про базу?", ["решили", "про", "базу"]),
        ("which ai runs in ci on what os", ["ai", "runs", "ci", "os"]),
        ("a_b-c.d", ["b", "c", "d", "a_b-c.d"]),
        ("is C++ better than C# or g++?", ["C++", "better", "C#", "g++"]),
        ("run --dry-run with fooBar", ["run", "dry", "fooBar", "--dry-run", "foo Bar"]),
        ("ask @kim about foo.bar() in #42", ["ask", "kim", "foo", "bar", "42", "@kim", "#42", "foo.bar"]),
        ("a - b -- c", ["b", "c"]),
        ("std:C++ and foo:bar", ["std", "C++", "foo", "bar", "foo:bar"]),
        ("東", ["東"]),
        ("東京", ["東 京"]),
        ("東京都 abc", ["東 京", "京 都", "abc"]),
        ("", []),
        ("?!", []),
    ],
)
def test_the_words_that_matter_are_kept_in_order(query: str, expected: list[str]) -> None:
    assert terms(query) == expected


def test_of_too_many_words_the_telling_ones_are_kept_in_order() -> None:
    assert terms("cat dog Berlin ant 2026 bee architecture fox", limit=3) == ["Berlin", "2026", "architecture"]
    assert terms("わたしはあした東京へいく", limit=1) == ["東 京"]
    assert terms("one two", limit=0) == []


@pytest.mark.serial
@pytest.mark.parametrize("repeated", ["aB", "a-", "a.", "a::", "a-a.", "-a", "a_", "#a_", "(-a-b_", "a'"])
def test_no_pattern_takes_long(repeated: str) -> None:
    query = (repeated * 8_192)[:8_190] + "aé"
    assert min(_seconds(query) for _ in range(3)) < 0.03


@pytest.mark.serial
@pytest.mark.parametrize("filler", ["lorem ipsum ", "a'", "é ", "x", "漢字仮名", "\u0301", "\ud800", "🥑 "])
def test_a_huge_question_is_read_in_no_time(filler: str) -> None:
    query = "Zanzibar " + filler * (100_000 // len(filler)) + " Quagga"
    best = min(_seconds(query) for _ in range(3))
    assert best < 0.05
    assert {"Zanzibar", "Quagga"} <= set(terms(query))


def _seconds(query: str) -> float:
    start = time.process_time()
    terms(query)
    return time.process_time() - start


def test_plain_text_is_indexed_as_it_is() -> None:
    text = "plain text, with signs - and_such"
    assert searchable(text) is text


def test_each_character_of_a_script_without_spaces_is_a_token() -> None:
    assert searchable("東京tower한").split() == ["東", "京", "tower", "한"]


@given(text=st.text())
def test_searchable_text_can_be_stored(text: str) -> None:
    assert b"\0" not in searchable(text).encode()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fiver", 2),
        ("x" * 400, 100),
        ("東京", 2),
        ("abcd東京", 3),
        ("привет", 3),
        ("é", 1),
    ],
)
def test_tokens_are_estimated_as_stated(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(left=st.text(), right=st.text())
def test_the_estimate_grows_with_the_text_and_never_beyond_its_parts(left: str, right: str) -> None:
    whole = estimate_tokens(left + right)
    assert max(estimate_tokens(left), estimate_tokens(right)) <= whole
    assert whole <= estimate_tokens(left) + estimate_tokens(right)
