"""While vectors are missing, words find as much as they do alone, and a command leaves the vectors to a process."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.bench.retrieval import BenchCase, BenchQuestion, BenchTurn, ask, bm25, observed, recalled
from memfolio.embed.vectorizer import SOME
from memfolio.index.vectors import count_pending
from memfolio.recall.hit import Hit
from memfolio.recall.query import Query
from memfolio.recall.recall import Search
from memfolio.serve.cli.app import run
from memfolio.settings import Ranking

ROOMS = "attic cellar kitchen garage study pantry hallway nursery workshop veranda".split()
THINGS = "ladder kettle lantern compass barrel anchor violin telescope hammock teapot".split()


def case() -> BenchCase:
    """Turns of which each room and thing are told once, among many that have one of the words."""
    turns, questions = [], []
    for nth in range(200):
        room, thing = ROOMS[nth % 10], THINGS[nth * 7 // 10 % 10]
        text = f"Somebody painted the {room} again" if nth % 2 else f"Kim looked for a {thing} all day"
        if nth % 20 == 3:
            text = f"The {THINGS[nth // 20]} stands in the {ROOMS[nth // 20]} now"
            asked = f"Which {THINGS[nth // 20]} stands in the {ROOMS[nth // 20]}?"
            questions.append(BenchQuestion(kind="", text=asked, gold=frozenset({str(nth)}), by_session=False))
        turns.append(BenchTurn(id=str(nth), session=f"s{nth // 10}", at=None, role="user", text=text))
    return BenchCase(turns=tuple(turns), questions=tuple(questions))


def test_words_find_no_less_than_plain_bm25_right_after_a_bulk_load(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = case()
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with Memory.open(home, background=False) as memory:
        memory.observe_many(observed(number, turn) for number, turn in enumerate(known.turns))
        floor = [ask(bm25(memory, known), each, known.turns).shares for each in known.questions]
        found = [ask(recalled(memory, known), each, known.turns).shares for each in known.questions]
    assert sum(shares[0] for shares in found) >= sum(shares[0] for shares in floor) > 0


def test_few_vectors_change_little_of_what_words_find(home: Path) -> None:
    known = case()
    with Memory.open(home, background=False) as memory:
        memory.observe_many(observed(number, turn) for number, turn in enumerate(known.turns))
        index, config = memory.searcher.index, memory.vault.config
        memory.searcher.vectorizer.fill(index, seconds=0.002, batch=16)
        waiting = memory.searcher.missing_vectors()
        assert len(known.turns) / 2 < waiting < len(known.turns)

        def answer(question: str, ranking: Ranking) -> list[Hit]:
            query = Query.from_args(question, now=memory.vault.home.now(), zone=memory.vault.home.zone)
            search = Search(indexes=[index], query=query, ranking=ranking, decay=config.decay).without(waiting)
            asked = search.understand(search.survey())
            return search.answer(asked, search.query_vector(asked, memory.searcher.vectorizer))

        for each in known.questions:
            hits = answer(each.text, config.recall)
            assert hits[0].memory == answer(each.text, replace(config.recall, vector=0.0))[0].memory
            assert all(why.score < 0.1 for hit in hits for why in hit.why if why.strategy == "vector")


def test_command_leaves_missing_vectors_to_a_process_that_finishes_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe_many({"role": "user", "content": turn.text} for turn in case().turns)
        assert memory.searcher.missing_vectors() > SOME
    assert run(["--home", str(home), "status"]) == 0
    with Memory.open(home, background=False) as memory:
        until = time.monotonic() + 30
        while (waiting := memory.searcher.index.read(count_pending)) and time.monotonic() < until:
            time.sleep(0.05)
    assert waiting == 0


def test_answer_fits_without_vectors_as_with_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "How do the tests of Kestrel run?"
    with Memory.open(home, background=False) as memory:
        memory.remember("The tests of Kestrel run with just, after the database is up")
        memory.observe_many({"role": "user", "content": f"The pump in hall {nth} ran again"} for nth in range(80))
        memory.sync(embed=True)
        assert "run with just" in (memory.context(question) or "")
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with Memory.open(home, background=False) as memory:
        hits = memory.recall(question)
        assert hits.fits
        assert "vector" not in {reason.strategy for hit in hits for reason in hit.why}
        assert "run with just" in (memory.context(question) or "")
        assert memory.context("Which glacier did the astronaut ski down?") is None
