"""Hints: what the memories' own words say about their use for a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memfolio.index.looks import Look
from memfolio.recall.asking.intent import Intent
from memfolio.recall.asking.question import Question
from memfolio.recall.ranking.cues import (
    is_machine,
    is_standing_wish,
    tells_name,
    tells_number,
    tells_of_self,
    tells_time,
)
from memfolio.recall.ranking.weigh import Weighing
from memfolio.tuning import Ranking

READ = 1000
"""Characters of a memory that are read."""


def add_hints(weighing: Weighing, looks: Mapping[int, Look], question: Question, ranking: Ranking) -> None:
    """Let it count that a memory tells what is asked for: a time, a name, a number, a wish that stands."""
    said = {row: look.content[:READ] for row, look in looks.items()}
    people = {row: text for row, text in said.items() if not is_machine(looks[row].life.role)}
    if when := ranking.time + ranking.when * (question.intent is Intent.WHEN):
        weighing.lean("when", {row: when for row, text in said.items() if tells_time(text)})
    if question.asks_name and ranking.name:
        known = {word for look in looks.values() for word in (look.life.role or "").split("_")}
        weighing.lean("name", {row: ranking.name for row, text in said.items() if tells_name(text, known)})
    if question.asks_number and ranking.number:
        weighing.lean("number", {row: ranking.number for row, text in said.items() if tells_number(text)})
    if ranking.personal and not question.asks_what_was_told:
        weighing.lean("personal", {row: ranking.personal for row, text in people.items() if tells_of_self(text)})
    if not question.asks_summary:
        _add_wishes(weighing, [row for row, text in people.items() if is_standing_wish(text)], question, ranking)


def _add_wishes(weighing: Weighing, wishes: list[int], question: Question, ranking: Ranking) -> None:
    """How somebody wants things matters whatever the help is about that is asked for, and else as far as it fits."""
    if question.asks_help:
        weighing.add("standing", dict.fromkeys(wishes, ranking.standing + ranking.help))
    else:
        weighing.lean("standing", dict.fromkeys(wishes, ranking.standing))
