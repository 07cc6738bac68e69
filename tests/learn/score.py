"""How well what was learned agrees with labelled conversations.

A labelled line has turns, the `statements` that a careful person would keep, `other` things that are neither right nor
wrong to keep, the `entities`, and names that `maybe` are entities. Every statement is told by words that each correct
wording of it contains; `|` stands between alternatives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memfolio.learn.learned import Learned, Mention, Statement, Turn
from memfolio.types import Type

KEPT = (Type.FACT, Type.PREFERENCE)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was found and what was to be found, with the mistakes by the line that they are in."""

    right: int = 0
    same_type: int = 0
    found: int = 0
    wanted: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.found / max(1, self.wanted)

    @property
    def type_accuracy(self) -> float:
        return self.same_type / max(1, self.found)

    def __str__(self) -> str:
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}, type {self.type_accuracy:.3f}"


@dataclass(slots=True, kw_only=True)
class Score:
    """Statements and entities apart."""

    statements: Tally = field(default_factory=Tally)
    entities: Tally = field(default_factory=Tally)


def labelled() -> list[dict[str, Any]]:
    """Every labelled line."""
    return [json.loads(line) for line in Path(__file__).with_name("labelled.jsonl").read_text("utf-8").splitlines()]


def turns_of(line: Mapping[str, Any]) -> list[Turn]:
    """The conversation of a labelled line."""
    return [Turn(**turn) for turn in line["turns"]]


def score(lines: Iterable[Mapping[str, Any]], learn: Callable[[Sequence[Turn]], Learned]) -> Score:
    """Compare what `learn` finds in each line with its labels."""
    total = Score()
    for line in lines:
        learned = learn(turns_of(line))
        _score_statements(total.statements, line, learned.statements)
        _score_entities(total.entities, line, learned.mentions)
    return total


def _score_statements(tally: Tally, line: Mapping[str, Any], statements: Sequence[Statement]) -> None:
    kept = [statement for statement in statements if statement.type in KEPT]
    for label in line["statements"]:
        covering = [statement for statement in kept if _has(statement.text, label["words"])]
        tally.wanted += 1
        tally.found += bool(covering)
        tally.same_type += any(statement.type == label["kind"] for statement in covering)
        if not covering:
            tally.missed.append((line["id"], " ".join(label["words"])))
    for statement in kept:
        if any(_has(statement.text, label["words"]) for label in line["statements"]):
            tally.right += 1
        elif not any(_has(statement.text, label["words"]) for label in line["other"]):
            tally.wrong.append((line["id"], statement.text))


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(any(word.casefold() in folded for word in alternatives.split("|")) for alternatives in words)


def _score_entities(tally: Tally, line: Mapping[str, Any], mentions: Sequence[Mention]) -> None:
    labels = [
        ({_name(each) for each in (label["name"], *label.get("aliases", ()))}, label) for label in line["entities"]
    ]
    neutral = {_name(name) for name in line.get("maybe", ())} | {_name(turn["speaker"]) for turn in line["turns"]}
    for names, label in labels:
        same = [mention for mention in mentions if _names(mention) & names]
        tally.wanted += 1
        tally.found += bool(same)
        tally.same_type += any(mention.type == label["type"] for mention in same)
        if not same:
            tally.missed.append((line["id"], label["name"]))
    for mention in mentions:
        if any(_names(mention) & names for names, _ in labels):
            tally.right += 1
        elif not _names(mention) & neutral:
            tally.wrong.append((line["id"], mention.name))


def _names(mention: Mention) -> set[str]:
    return {_name(each) for each in (mention.name, *mention.aliases)}


def _name(text: str) -> str:
    return " ".join(text.casefold().split())
