"""Cases whose shares under plain BM25 can be worked out by hand.

In each conversation all turns have the same length and role, so those that have the word of a question are equally good
and come in their order: which of them are among the first 5, 10 and 20 can be counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def turns(word: str, count: int, *, session: str = "day 1") -> list[Json]:
    """So many turns with this word, the first of them number 0."""
    return [
        {"id": f"{word}{n}", "session": session, "at": None, "role": "Ann Lee", "text": f"{word} item {n}"}
        for n in range(count)
    ]


def question(kind: str, text: str, *gold: object) -> Json:
    return {"id": text, "kind": kind, "text": text, "gold": list(gold)}


TALK: Json = {
    "dataset": "by hand",
    "case": 1,
    "turns": [
        *turns("tram", 7),
        *turns("ferry", 12),
        {"id": 99, "session": 2, "at": "2026-03-01T10:00:00", "role": "", "text": "zebra item 0"},
        {"id": "empty", "session": 2, "at": None, "role": None, "text": "  "},
        *turns("walk", 17, session="day 3"),
    ],
    "questions": [
        question("one", "Where is the zebra?", 99),
        question("one", "zebra or unicorn", "99", "unicorn0"),
        question("many", "Was there a tram?", *(f"tram{n}" for n in range(7))),
        question("many", "Which ferry?", "ferry7", "ferry11"),
        question("many", "Who sings?"),
        question("none", "unicorn", "tram0"),
    ],
}
SESSIONS: Json = {
    "dataset": "by hand",
    "case": "two",
    "gold_is": "session",
    "turns": [
        turn | {"id": f"{day}-{turn['id']}"} for day in "abcdefghij" for turn in turns("harbour", 2, session=day)
    ],
    "questions": [
        question("many", "harbour", "a", "d"),
        question("one", "harbour", "h"),
    ],
}
SHARES = {
    "all": (7, [(1 + 0.5 + 5 / 7 + 0.5) / 7, (1 + 0.5 + 1 + 0.5 + 1) / 7, (1 + 0.5 + 1 + 1 + 1 + 1) / 7]),
    "many": (3, [(5 / 7 + 0.5) / 3, (1 + 0.5 + 1) / 3, 1.0]),
    "none": (1, [0.0, 0.0, 0.0]),
    "one": (3, [(1 + 0.5) / 3, (1 + 0.5) / 3, (1 + 0.5 + 1) / 3]),
}
"""For each kind the number of questions that have gold, and their mean shares under BM25."""


def written(folder: Path, *cases: Json) -> Path:
    """A file with these cases."""
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases), encoding="utf-8")
    return path
