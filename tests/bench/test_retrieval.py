"""Counting the gold that is found: the floor by hand, recall by asking, and nothing left behind."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.bench.retrieval import (
    CUTS,
    AskedQuestion,
    BenchCase,
    BenchQuestion,
    BenchTurn,
    Find,
    QuestionTally,
    any_word,
    ask,
    bm25,
    count_cases,
    measure,
    observed,
    read_cases,
    recalled,
)
from memfolio.errors import InputError
from memfolio.serve.cli.app import run
from tests.bench.examples import SESSIONS, SHARES, TALK, Json, question, turns, written

GOOD = {"turns": turns("tea", 1), "questions": [question("one", "tea", "tea0")]}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return written(tmp_path, TALK, SESSIONS)


def bench(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = run(["bench", *map(str, args)])
    return code, *capsys.readouterr()


def stamps(*folders: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def test_floor_finds_what_can_be_counted_by_hand(cases: Path) -> None:
    (measured,) = measure([cases], {"bm25": bm25})
    assert (measured.cases, measured.turns, measured.questions) == (2, 57, 7)
    rows = measured.rows(["bm25"])
    assert [(name, number) for name, number, _ in rows] == [(name, number) for name, (number, _) in SHARES.items()]
    for name, _, shares in rows:
        assert shares == pytest.approx(SHARES[name][1]), name


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("Where is the Zebra's zebra?", '"zebra" OR "s"'),
        ("Who is it?", '"who" OR "is" OR "it"'),
        ('"?', '""'),
    ],
)
def test_floor_looks_for_any_word_but_function_words(question: str, expression: str) -> None:
    assert any_word(question) == expression


def test_recall_is_measured_by_asking_it(cases: Path, home: Path) -> None:
    talk = next(read_cases(cases))
    with Memory.open(home, background=False) as memory:
        memory.observe_many({**observed(0, turn), "attributes": {"mine": turn.id}} for turn in talk.turns)
        found = [
            [hit.memory.attributes["mine"] for hit in memory.recall(each.text, limit=20)] for each in talk.questions
        ]
    shares = [
        tuple(len(each.gold & set(hits[:cut])) / len(each.gold) for cut in CUTS)
        for each, hits in zip(talk.questions, found, strict=True)
    ]
    (measured,) = measure([cases], {"recall": recalled}, limit=1)
    assert [each.shares for each in measured.tallies["recall"]] == shares
    assert shares[0] == (1.0, 1.0, 1.0)
    assert measured.turns_per_second > 0
    assert all(each.seconds > 0 for each in measured.tallies["recall"])


def test_every_way_of_searching_gets_every_question_that_has_gold(cases: Path) -> None:
    asked: list[str] = []

    def last(_: Memory, case: BenchCase) -> Find:
        def find(question: str) -> list[int]:
            asked.append(question)
            return [len(case.turns) - 1]

        return find

    (measured,) = measure([cases], {"last": last})
    assert asked == [each["text"] for case in (TALK, SESSIONS) for each in case["questions"] if each["gold"]]
    assert measured.tallies["last"].share() == {5: 0.0, 10: 0.0, 20: 0.0}


def test_session_counts_once_however_many_of_its_turns_are_found() -> None:
    talk = [BenchTurn(id=str(n), session="ab"[n // 5], at=None, role="", text="x") for n in range(10)]
    wanted = BenchQuestion(kind="", text="x", gold=frozenset("ab"), by_session=True)
    assert ask(lambda _: range(10), wanted, talk).shares == (0.5, 1.0, 1.0)


def test_gold_may_be_sessions_for_one_question_alone(tmp_path: Path) -> None:
    one = question("one", "tea", "day 1") | {"gold_is": "session"}
    (case,) = read_cases(written(tmp_path, {**GOOD, "questions": [one, *GOOD["questions"]]}))
    assert [each.by_session for each in case.questions] == [True, False]


def test_odd_names_and_times_are_taken_in(tmp_path: Path) -> None:
    odd: list[Json] = [
        {"id": 1, "text": "no role, no session"},
        {"id": 2, "session": 7, "role": "", "at": "2026-03-01T10:00:00", "text": "naive"},
        {"id": 3, "session": "a b", "role": "Ann · Lee\n", "at": "2026-03-01T10:00:00+02:00", "text": "a\0b \ud800"},
        {"id": 4, "role": "x" * 500, "text": None},
    ]
    path = written(tmp_path, {"turns": odd, "questions": [question("one", "naive", 2)]})
    (case,) = read_cases(path)
    assert [turn.at for turn in case.turns] == [None, *(datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (10, 8))]
    assert [observed(0, turn)["role"] for turn in case.turns] == ["user", "user", "Ann_Lee"]
    (measured,) = measure([path], {"recall": recalled})
    assert (measured.turns, measured.tallies["recall"].share()[5]) == (3, 1.0)


def test_slowest_twentieth_is_left_out_of_p95() -> None:
    tally = QuestionTally(AskedQuestion("", (0.0,) * 3, second / 1000) for second in range(1, 21))
    assert [round(tally.milliseconds(share)) for share in (0.5, 0.95, 1.0)] == [10, 19, 20]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "no JSON"),
        (b"[1]", "a case is '[1]'; wanted an object"),
        (b"{}", "'turns' is missing"),
        (b'{"turns": 3, "questions": []}', "turns is '3'; wanted a list"),
        (b'{"turns": ["a"], "questions": []}', "a turn is 'a'; wanted an object"),
        (b'{"turns": [{"id": 1}], "questions": []}', "'text' is missing"),
        (b'{"turns": [{"id": [], "text": ""}], "questions": []}', "'[]' is no name"),
        (b'{"turns": [{"id": 1, "text": 2}], "questions": []}', "a text is '2'"),
        (b'{"turns": [{"id": 1, "text": "", "at": "Friday"}], "questions": []}', "Invalid isoformat string"),
        (b'{"turns": [], "questions": [{"text": "", "gold": "t1"}]}', "gold is 't1'; wanted a list"),
        (b'{"turns": [], "gold_is": "day", "questions": [{"text": "", "gold": []}]}', "gold_is is 'day'"),
        (b'{"turns": [], "questions": "\xff"}', "is not UTF-8 text"),
        (b'{"turns": [{"id": 1, "text": "a"}, {"id": "1", "text": ""}], "questions": []}', "2 turns have the id '1'"),
    ],
)
def test_wrong_line_is_named_before_any_work_is_done(
    line: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))  # where work would fail otherwise
    good, bad = written(tmp_path, GOOD), tmp_path / "bad.jsonl"
    bad.write_bytes(good.read_bytes() + b"\n" + line + b"\n")
    code, out, err = bench(capsys, "retrieval", good, bad)
    assert (code, out) == (2, "")
    assert f"{bad}, line 3" in err
    assert words in err


@pytest.mark.parametrize(("name", "words"), [("none.jsonl", "has no cases"), ("absent", "No such file"), (".", "Is a")])
def test_file_without_cases_is_refused(
    name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none.jsonl").write_text("\n\n")
    code, _, err = bench(capsys, "retrieval", tmp_path / name)
    assert code == 2
    assert words in err


def test_file_without_a_question_that_has_gold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, {**GOOD, "questions": [question("one", "tea")]}, {**GOOD, "questions": []})
    code, out, err = bench(capsys, "retrieval", path)
    assert (code, out) == (2, "")
    assert "has no question that has gold" in err


def test_gold_that_no_turn_has_is_counted(tmp_path: Path) -> None:
    silent = [*turns("tea", 1), {"id": "silent", "session": "day 2", "text": ""}]
    asked = [
        question("one", "tea", "tea0", "coffee0", "silent"),
        question("one", "tea", "day 1", "day 2") | {"gold_is": "session"},
    ]
    path = written(tmp_path, {"turns": silent, "questions": asked}, GOOD)
    (measured,) = measure([path], {"bm25": bm25})
    assert measured.gold_missing == 3
    assert measured.tallies["bm25"].share()[5] == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)


def test_gold_that_no_turn_has_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, {**GOOD, "questions": [question("one", "tea", "tea0", "coffee0")]})
    assert "gold that no turn has, and that nothing can find: 1\n" in bench(capsys, "retrieval", path)[1]
    (found,) = json.loads(bench(capsys, "retrieval", path, "--json")[1])["files"]
    assert found["gold_missing"] == 1
    assert "gold that no turn has" not in bench(capsys, "retrieval", written(tmp_path, GOOD))[1]


@pytest.mark.parametrize("name", ["foo", ""])
def test_unknown_baseline_is_refused_with_what_there_is(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = bench(capsys, "retrieval", written(tmp_path, GOOD), "--baseline", name)
    assert (code, out) == (2, "")
    assert f"there is no baseline {name!r}" in err
    assert "there is bm25" in err


def test_turns_without_an_id_are_no_duplicates(tmp_path: Path) -> None:
    path = written(tmp_path, {**GOOD, "turns": [*GOOD["turns"], *({"id": None, "text": "a"} for _ in range(2))]})
    assert count_cases(path) == 1


def test_limit_reads_no_further_than_it_says(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    path.write_text(path.read_text() + "not a case\n")
    assert count_cases(path, limit=1) == 1
    with pytest.raises(InputError, match="line 2"):
        count_cases(path)


def test_person_gets_tables_and_program_one_document(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = bench(capsys, "retrieval", cases, "--baseline", "bm25")
    assert (code, err) == (0, "")
    assert "cases.jsonl: 2 cases, 57 turns, 7 questions; " in out
    assert "recall@5  @10    @20    bm25@5  @10    @20" in out
    assert "many  3" in out
    assert "ms a question (p50)" in out
    code, out, err = bench(capsys, "retrieval", cases, cases, "--baseline", "bm25", "--limit-cases", 1, "--json")
    assert (code, err) == (0, "")
    (found,) = json.loads(out)["files"]
    assert (found["file"], found["cases"], found["turns"], found["questions"]) == ("cases.jsonl", 1, 37, 5)
    assert found["results"].keys() == {"recall", "bm25"}
    assert found["results"]["bm25"]["kinds"]["many"] == {"questions": 2, "share": {"5": 0.3571, "10": 0.75, "20": 1.0}}


def test_persons_home_and_cache_are_not_touched(
    cases: Path,
    home: Path,
    cache: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scratch = home.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("MEMFOLIO_HOME", str(home))
    with Memory.open() as memory:
        memory.remember("Alex prefers tea")
    before = stamps(home, cache)
    assert bench(capsys, "retrieval", cases)[0] == 0
    assert stamps(home, cache) == before
    assert list(scratch.iterdir()) == []


def test_speed_is_shown_for_every_size(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = bench(capsys, "speed", "--sizes", "20,40", "--json")
    assert code == 0
    rows = json.loads(out)["sizes"]
    assert [row["memories"] for row in rows] == [20, 40]
    assert all(row["p95_ms"] >= row["p50_ms"] > 0 for row in rows)


@pytest.mark.parametrize("sizes", ["", "ten", "0", "10,", "-1"])
def test_sizes_must_be_numbers(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = bench(capsys, "speed", f"--sizes={sizes}")
    assert code == 2
    assert "is not a list of sizes" in err


@pytest.mark.parametrize("command", ["retrieval", "speed"])
def test_help_teaches_by_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = bench(capsys, command, "--help")
    assert code == 0
    assert f"Example: memfolio bench {command}" in out
    assert "<bool>" not in out
