"""What the rules learn is what a careful person would keep, also in conversations that they were not made with."""

from __future__ import annotations

import pytest

from memfolio.learn.rules import learn
from tests.learn.score import Score, labelled, score

LINES = labelled()
UNSEEN = [line for line in LINES if line["set"] == "test"]


@pytest.fixture(scope="module", params=[UNSEEN, LINES], ids=["unseen", "all"])
def scored(request: pytest.FixtureRequest) -> Score:
    return score(request.param, learn)


def test_labelled_conversations_are_many_and_often_hold_nothing() -> None:
    nothing = [line for line in LINES if not line["statements"]]
    assert sum(len(line["turns"]) for line in LINES) >= 300
    assert len(UNSEEN) >= 0.6 * len(LINES)
    assert 0.3 * len(LINES) < len(nothing) < 0.5 * len(LINES)


def test_what_is_kept_is_worth_keeping(scored: Score) -> None:
    assert scored.statements.precision >= 0.80, scored.statements.wrong


def test_most_of_what_is_worth_keeping_is_kept(scored: Score) -> None:
    assert scored.statements.recall >= 0.50, scored.statements.missed


def test_what_is_taken_for_an_entity_is_one(scored: Score) -> None:
    assert scored.entities.precision >= 0.85, scored.entities.wrong


def test_most_entities_are_found(scored: Score) -> None:
    assert scored.entities.recall >= 0.70, scored.entities.missed
