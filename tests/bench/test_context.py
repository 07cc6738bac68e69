"""Counting what contexts show: gold, memories and tokens for own questions, and silence for those of other cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memfolio.bench.context import foreign_questions, measure_contexts
from memfolio.bench.retrieval import BenchQuestion
from memfolio.serve.cli.app import run
from tests.bench.examples import Json, question, written


def talk(number: int, *texts: str, questions: list[Json], **more: str) -> Json:
    turns = [
        {"id": f"t{nth}", "session": f"s{nth // 2}", "at": None, "role": "Ann", "text": text}
        for nth, text in enumerate(texts)
    ]
    return {"dataset": "by hand", "case": number, "turns": turns, "questions": questions, **more}


GARDEN = talk(
    1,
    "I planted quinces behind the shed in March",
    "My sister plays the cello in Bergen",
    questions=[
        question("plain", "What did Ann plant behind the shed?", "t0"),
        question("plain", "Where does Ann's sister play the cello?", "t1", "t9"),
    ],
)
HARBOUR = talk(
    2,
    "The ferry to Texel leaves at noon",
    "I painted the boat green",
    questions=[
        question("sea", "When does the ferry to Texel leave?", "s0"),
        question("sea", "Which colour has Ann painted the boat?", "s0"),
    ],
    gold_is="session",
)


def test_own_questions_are_shown_gold_and_foreign_ones_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in ("HANDFUL", "FULL"):  # in homes as tiny as these the nearest is told
        monkeypatch.setattr(f"memfolio.recall.searcher.{size}", 0)
    (found,) = measure_contexts([written(tmp_path, GARDEN, HARBOUR)])
    garden, harbour = found.own[:2], found.own[2:]
    assert [each.share for each in garden] == [1.0, 0.5]
    assert [each.share for each in harbour] == [1.0, 1.0]
    assert all(each.tokens > 0 and each.memories >= each.gold >= 1 for each in found.own)
    figures = found.figures()
    assert figures["gold_shown"] == 0.875
    assert (figures["silent_own"], figures["silent_foreign"]) == (0.0, 1.0)
    assert figures["density"] == pytest.approx(sum(each.gold / each.memories for each in found.own) / 4, abs=1e-4)


def test_foreign_questions_are_as_many_and_spread_over_the_other_cases() -> None:
    def asked(case: str, count: int) -> list[BenchQuestion]:
        texts = [*(f"{case}{nth}" for nth in range(count - 1)), "asked in every case"]
        return [BenchQuestion(kind="", text=text, gold=frozenset("1"), by_session=False) for text in texts]

    cases = [asked("a", 3), asked("b", 7), asked("c", 7)]
    assert [each.text for each in foreign_questions(cases, 0)] == ["b0", "b4", "c2"]
    assert foreign_questions(cases[:1], 0) == []


def test_command_tells_people_and_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, GARDEN)
    assert run(["bench", "context", str(path)]) == 0
    told = capsys.readouterr().out
    assert "cases.jsonl: 1 case, 2 questions, 0 questions of other cases" in told
    assert "–" in told
    assert run(["bench", "context", str(path), "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)["files"]
    assert (document["questions"], document["foreign"], document["silent_foreign"]) == (2, 0, None)
    assert document["kinds"]["plain"]["gold_shown"] == document["gold_shown"] == 0.75
