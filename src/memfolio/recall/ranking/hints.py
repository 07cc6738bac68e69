"""Hints: what the memories' own words say about their use for a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memfolio.index.looks import Look
from memfolio.recall.asking.intent import Intent
from memfolio.recall.asking.question import Question
from memfolio.recall.ranking import cues
from memfolio.recall.ranking.weigh import Weighing
from memfolio.tuning import Ranking

READ = 1000
"""Characters of a memory that are read."""


def add_hints(weighing: Weighing, looks: Mapping[int, Look], question: Question, ranking: Ranking) -> None:
    """Let it count that a memory tells what is asked for: a time, a name, a number, a wish that stands."""
    said = {row: look.content[:READ] for row, look in looks.items()}
    people = {row: text for row, text in said.items() if not cues.is_machine(looks[row].life.role)}
    if when := ranking.time + ranking.when * (question.intent is Intent.WHEN):
        weighing.lean("when", {row: when for row, text in said.items() if cues.tells_time(text)})
    if question.asks_name and ranking.name:
        known = {word for look in looks.values() for word in (look.life.role or "").split("_")}
        weighing.lean("name", {row: ranking.name for row, text in said.items() if cues.tells_name(text, known)})
    if question.asks_number and ranking.number:
        weighing.lean("number", {row: ranking.number for row, text in said.items() if cues.tells_number(text)})
    if ranking.personal and not question.asks_what_was_told:
        weighing.lean("personal", {row: ranking.personal for row, text in people.items() if cues.tells_of_self(text)})
    if not question.asks_summary:
        # How somebody wants things matters whatever the help is about that is asked for, and else as far as it fits.
        give, worth = (weighing.add, ranking.help) if question.asks_help else (weighing.lean, 0.0)
        wishes = [row for row, text in people.items() if cues.is_standing_wish(text)]
        give("standing", dict.fromkeys(wishes, ranking.standing + worth))
