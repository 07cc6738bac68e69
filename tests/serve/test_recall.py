"""`memfolio recall`: what it finds, which questions it refuses, and how it looks to programs and people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.serve.cli.output import beginning, emphasised
from tests.serve.calls import Run, RunJson, coloured, terminal

KEYS = ["id", "content", "kind", "type", "store", "score", "fit", "depth", "why", "created_at", "tags", "agent", "path"]
KEYS += ["heading", "snippet", "phase", "replaced", "replaces", "event_time", "role", "session", "user", "importance"]
KEYS += ["confidence", "origin", "valid_from", "valid_until", "superseded_by"]
LONG = "The long story of the harbour. " * 40


@pytest.fixture
def known(cli: Run) -> None:
    """Four memories of two types, two times and two people."""
    cli("remember", "Alex prefers tea", "--type", "preference", "--tag", "drinks", "--user", "alex")
    cli("remember", "Chose the harbour for lunch", "--type", "decision", "--importance", "high", "--at", "2026-03-01")
    cli("remember", "The office was in Oslo", "--type", "fact", "--valid-until", "2026-06-01", "--key", "oslo")
    cli("observe", "user", "Tea at four?", "--session", "s-1")


def contents(found: dict[str, object]) -> list[str]:
    hits = found["hits"]
    assert isinstance(hits, list)
    return [hit["content"] for hit in hits]


@pytest.mark.usefixtures("known")
def test_hits_tell_whose_they_are_and_a_question_may_be_for_some(cli: Run, cli_json: RunJson) -> None:
    cli("remember", "Everybody drinks tea", "--agent", "shared")

    def owners(*options: str) -> set[str]:
        return {hit["agent"] for hit in cli_json("recall", "tea", *options)["hits"]}

    assert (owners(), owners("--agents", "shared")) == ({"main", "shared"}, {"shared"})
    assert owners("--agents", "shared", "--agents", "main") == {"main", "shared"}
    assert "  shared  " in cli("recall", "tea")
    assert "  shared  " not in cli("recall", "tea", "--agents", "shared")
    cli("recall", "tea", "--agents", "nobody", status=3)


@pytest.mark.usefixtures("known")
def test_programs_get_the_promised_document(cli_json: RunJson) -> None:
    found = cli_json("recall", "What does Alex prefer?", "--limit", 2)
    assert list(found) == ["query", "took_ms", "intent", "filters", "degraded", "fits", "hits"]
    assert (found["query"], found["degraded"], len(found["hits"])) == ("What does Alex prefer?", [], 1)
    best = found["hits"][0]
    assert list(best) == KEYS
    assert (best["content"], best["type"], best["tags"], best["depth"]) == (
        "Alex prefers tea",
        "preference",
        ["drinks"],
        0,
    )
    assert best["path"].startswith("agents/main/memory/")
    assert (best["user"], best["origin"], best["superseded_by"]) == ("alex", "owner", None)
    assert list(best["why"][0]) == ["strategy", "rank", "score"]
    assert found["took_ms"] > 0


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (["--type", "decision"], {"Chose the harbour for lunch"}),
        (["--type", "decision", "--type", "preference"], {"Chose the harbour for lunch", "Alex prefers tea"}),
        (["--kind", "semantic"], {"Alex prefers tea", "The office was in Oslo"}),
        (["--tag", "drinks"], {"Alex prefers tea"}),
        (["--tag", "#drinks"], {"Alex prefers tea"}),
        (["--tag", "drinks", "--tag", "other"], set()),
        (["--user", "alex"], {"Alex prefers tea"}),
        (["--session", "s-1"], {"Tea at four?"}),
        (["--store", "short_term"], {"Tea at four?"}),
        (["--min-importance", "8"], {"Chose the harbour for lunch"}),
        (["--until", "2026-04-01"], {"Chose the harbour for lunch"}),
        (["--since", "2026-04-01", "--type", "decision"], set()),
        (["--valid-at", "2026-07-01", "--type", "fact"], set()),
        (["--as-of", "2026-01-01"], set()),
        (["--entity", "nobody"], set()),
    ],
)
def test_filters_decide_what_counts(cli_json: RunJson, filters: list[str], wanted: set[str]) -> None:
    assert set(contents(cli_json("recall", "tea harbour Oslo office", *filters))) == wanted


@pytest.mark.usefixtures("known")
def test_what_was_corrected_is_out_of_sight_unless_it_is_asked_for(cli: Run, cli_json: RunJson) -> None:
    old = cli_json("recall", "prefers tea", "--type", "preference")["hits"][0]["id"]
    cli("correct", old, "Alex prefers green tea")
    assert contents(cli_json("recall", "tea", "--type", "preference")) == ["Alex prefers green tea"]
    both = cli_json("recall", "tea", "--type", "preference", "--include", "superseded")
    assert set(contents(both)) == {"Alex prefers green tea", "Alex prefers tea"}
    (new,) = (hit["id"] for hit in both["hits"] if hit["superseded_by"] is None)
    assert [hit["superseded_by"] for hit in both["hits"] if hit["id"] == old] == [new]
    assert f"  superseded by {new}  " in cli("recall", "tea", "--include", "superseded")


def test_what_is_not_to_be_taken_for_true_is_marked(cli: Run) -> None:
    cli("remember", "The office was in Oslo", "--valid-until", "2026-06-30")
    cli("remember", "The office will be in Rome", "--valid-from", "2999-01-01")
    cli("remember", "The office is in Bergen", "--valid-from", "2026-06-30", "--valid-until", "2999-01-01")
    cli("observe", "tool", "The office is on fire")
    said = cli("recall", "office", "--include", "quarantined", "--limit", 4).split("\n\n")
    marks = {"Oslo": "until 2026-06-30", "Rome": "from 2999-01-01", "fire": "untrusted"}
    for hit in said:
        expected = [mark for word, mark in marks.items() if word in hit]
        assert [mark for mark in (*marks.values(), "until 2999", "from 2026") if mark in hit] == expected


def test_what_may_be_archived_is_called_dormant(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("observe", "user", "The ferry to Naxos leaves at nine", "--at", "2026-01-05")
    (home / "memfolio.toml").write_text("[decay]\nactive = 1.0\ndormant = 1.0\narchived = 1.0\n")
    assert [hit["phase"] for hit in cli_json("recall", "ferry")["hits"]] == ["dormant"]
    assert "  dormant  " in cli("recall", "ferry")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("tag:drinks since:2026-01-01 tea", "Filters in the question: tag drinks, since 2026-01-01 00:00."),
        ("type:lesson importance:high tea", "Filters in the question: type lesson, importance 0.9."),
    ],
)
def test_filters_inside_a_question_are_told(cli: Run, cli_json: RunJson, query: str, line: str) -> None:
    assert cli("recall", query).splitlines()[0] == line
    assert set(cli_json("recall", query)["filters"]) <= {"tags", "since", "types", "min_importance"}
    assert not cli("recall", "tag:latest tea").startswith("Filters")
    assert cli_json("recall", "tag:latest tea")["filters"] == {}


@pytest.mark.usefixtures("known")
def test_question_comes_from_standard_input(cli_json: RunJson, type_in: Callable[[bytes], None]) -> None:
    type_in(b"harbour")
    assert contents(cli_json("recall", "-", "--limit", 1)) == ["Chose the harbour for lunch"]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("question", ["tea " * 25_000, "", '"(*^', "\x1b[31m\x00", "茶"])
def test_any_text_may_be_asked(cli: Run, type_in: Callable[[bytes], None], question: str) -> None:
    type_in(question.encode())
    assert "\x1b" not in cli("recall", "-")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["--type", "prefrence"], "did you mean preference?"),
        (["--kind", "semantics"], "did you mean semantic?"),
        (["--store", "longterm"], "did you mean long_term?"),
        (["--include", "archive"], "did you mean archived?"),
        (["--since", "soon"], "write it like"),
        (["--min-importance", "much"], "low, medium, high"),
        (["--limit", "-1"], "from 1 to 1000"),
        (["--depth", "4"], "from 0 to 3"),
        (["--level", "yearly"], "daily, weekly, monthly, quarterly"),
        (["--user", ""], "leave user out"),
        (["--limit", "many"], "memfolio recall --help"),
        (["--colour", "red"], "memfolio recall --help"),
        (["--dry-run"], "`memfolio recall -- --dry-run`"),
        (["another"], "quotes"),
    ],
)
def test_wrong_filter_is_refused_with_what_would_do(cli: Run, cli_json: RunJson, args: list[str], hint: str) -> None:
    cli("init")
    assert hint in cli("recall", "tea", *args, status=2)
    assert hint in cli_json("recall", "tea", *args, status=2)["error"]["hint"]


def test_nothing_found_is_said_kindly_and_is_no_error(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    assert cli("recall", "tea").startswith("Nothing is remembered about 'tea'.\n")
    assert cli_json("recall", "tea")["hits"] == []


@pytest.mark.usefixtures("known")
def test_people_read_content_first_and_then_what_it_is(cli: Run) -> None:
    first, facts = cli("recall", "Alex prefers", "--limit", 1).splitlines()
    assert first == "1  Alex prefers tea"
    assert "  preference  #drinks" in facts
    assert "  M-" in facts
    assert facts.endswith(".md")


@pytest.mark.usefixtures("known")
def test_explain_says_which_strategy_found_it(cli: Run) -> None:
    assert "found by text as number 1, scored " in cli("recall", "prefers", "--explain")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_long_memory_is_cut_at_a_terminal_and_whole_elsewhere(cli: Run) -> None:
    cli("remember", LONG)
    for width in (80, 120):
        shown = terminal(width, "recall", "harbour")
        assert max(map(len, shown.splitlines())) <= width
        assert shown.splitlines()[2].endswith("…")
        assert len(shown.splitlines()) == (5 if width == 80 else 4)
        assert "…" not in terminal(width, "recall", "harbour", "--explain")
    assert LONG.strip() in cli("recall", "harbour")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_only_what_was_asked_for_stands_out_in_a_memory(cli: Run) -> None:
    cli("remember", "Alex prefers tea")
    first, facts, *_ = coloured(120, "recall", "tea").splitlines()  # a note follows while meaning is not ready
    assert first == "\x1b[1;36m1  \x1b[0mAlex prefers \x1b[1mtea\x1b[0m"
    assert "\x1b[2mM-" in facts


def test_missing_vectors_are_told_beside_the_answer(
    cli: Run, cli_json: RunJson, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memfolio.serve.cli.app import run

    cli("remember", "Alex prefers tea")
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    assert run(["recall", "tea"]) == 0
    out, err = capsys.readouterr()
    assert "Alex prefers tea" in out
    assert err == "memfolio: vectors: there is no embedder, so only words are compared\n"
    assert cli_json("recall", "tea")["degraded"] == ["vectors: there is no embedder, so only words are compared"]


def test_recall_does_not_make_a_home(cli: Run, home: Path) -> None:
    cli("recall", "tea", status=3)
    assert not home.exists()


def test_words_that_were_asked_for_are_bold() -> None:
    text = emphasised("Alex prefers tea. 東京で", ["prefer", "tea", "東 京"])
    assert [text.plain[span.start : span.end] for span in text.spans] == ["prefers", "tea", "東京"]


def test_beginning_of_a_text_is_one_short_line() -> None:
    assert beginning("one\n\ntwo", 20) == "one two"
    assert beginning("word " * 1000, 20) == "word word word word…"
    assert beginning("x" * 500, 500).endswith("…")


def test_day_that_ends_a_span_counts_as_a_whole(cli_json: RunJson) -> None:
    cli_json("remember", "tea at noon", "--at", "2026-03-05T12:00")
    assert [hit["content"] for hit in cli_json("recall", "tea noon", "--until", "2026-03-05")["hits"]][:1] == [
        "tea at noon"
    ]
    assert not cli_json("recall", "tea noon", "--until", "2026-03-04", "--since", "2026-03-01")["hits"]


@pytest.mark.parametrize("at", ["9999-12-31T23:00:00+00:00", "0001-01-01T00:00:00+00:00"])
def test_time_at_the_end_of_the_calendar_is_kept_and_shown(cli: Run, at: str) -> None:
    cli("remember", "the end of days", "--at", at)
    assert "the end of days" in cli("recall", "end of days")
    assert "the end of days" in cli("status")


def test_hit_from_a_note_has_its_title_and_its_fit_only_where_reasons_are_asked_for(cli: Run, home: Path) -> None:
    notes = home.parent / "notes"
    notes.mkdir()
    (notes / "Oma Hilde.md").write_text("---\nbirthday: 1938-11-29\n---\nLikes crime novels.\n")
    (notes / "2026-11-09.md").write_text("Bought the novels.\n")
    cli("init")
    cli("watch", notes)
    shown = cli("recall", "When is the birthday of Oma Hilde?")
    assert shown.startswith("1  Oma Hilde: birthday: 1938-11-29\n")
    assert "2026-11-09:" not in cli("recall", "Who bought the novels?")
    assert "fit" not in shown
    assert "fit 0." in cli("recall", "When is the birthday of Oma Hilde?", "--explain")


def test_questions_are_not_listed_as_the_nearest(cli: Run, cli_json: RunJson) -> None:
    cli("observe", "user", "Which restaurant did I like best in Lisbon?", "--session", "s-1")
    cli("remember", "The harbour crane is painted red")
    asked = "Which restaurant did I like most?"
    found = cli_json("recall", asked)
    assert not found["fits"]
    assert "Which restaurant did I like best in Lisbon?" in contents(found)
    shown = cli("recall", asked)
    assert shown.startswith("No memory is likely to answer this")
    assert "Lisbon" not in shown
