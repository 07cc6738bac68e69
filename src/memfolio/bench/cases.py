"""Retrieval cases: conversations, and questions whose answers are known; one JSON object a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from memfolio.errors import InputError

HINT = "docs/bench.md shows what a line of cases looks like"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Something that somebody said."""

    id: str
    session: str
    at: datetime | None
    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the turns, or the sessions, that answer it."""

    kind: str
    text: str
    gold: frozenset[str]
    by_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation with the questions about it that have an answer in it."""

    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def gold_missing(self) -> int:
        """How often a question's gold names a turn or a session that is not there, and so cannot be found."""
        turns, sessions = ({getattr(each, name) for each in self.turns} for name in ("id", "session"))
        return sum(len(each.gold - (sessions if each.by_session else turns)) for each in self.questions)


def read_cases(path: Path, *, limit: int | None = None) -> Iterator[Case]:
    """The cases of a file, one after the other; InputError says which line is wrong."""
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
            filled = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
            for number, line in islice(filled, limit):
                yield _case(line, f"{path}, line {number}")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="name a file of cases") from error


def count_cases(path: Path, *, limit: int | None = None) -> int:
    """How many cases a file has; InputError where one of them is wrong, or there is nothing to ask."""
    questions = [len(case.questions) for case in read_cases(path, limit=limit)]
    if not any(questions):
        what = "question that has gold, so there is nothing to measure" if questions else "cases"
        raise InputError(f"{path} has no {what}", hint=HINT)
    return len(questions)


def _case(line: str, where: str) -> Case:
    try:
        found = _object("a case", json.loads(line.encode()))
        turns = [_turn(_object("a turn", each)) for each in _list("turns", found["turns"])]
        questions = [_question(_object("a question", each), found) for each in _list("questions", found["questions"])]
        _check_ids([each.id for each in turns])
    except KeyError as error:
        raise InputError(f"{where}: {error} is missing", hint=HINT) from error
    except UnicodeEncodeError as error:
        raise InputError(f"{where} is not UTF-8 text", hint="save it as UTF-8") from error
    except (ValueError, OverflowError, RecursionError) as error:
        reason = f"no JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else error
        raise InputError(f"{where}: {reason}", hint=HINT) from error
    return Case(
        turns=tuple(each for each in turns if each.text), questions=tuple(each for each in questions if each.gold)
    )


def _turn(found: Mapping[str, Any]) -> Turn:
    return Turn(
        id=_name(found["id"]),
        session=_name(found.get("session")),
        at=_moment(found.get("at")),
        role=_name(found.get("role")),
        text=_text(found["text"]),
    )


def _check_ids(ids: Sequence[str]) -> None:
    """Turns without an id may be many; no gold can mean them."""
    for name, count in Counter(filter(None, ids)).most_common(1):
        if count > 1:
            raise ValueError(f"{count} turns have the id {name[:40]!r}; each needs its own")


def _question(found: Mapping[str, Any], case: Mapping[str, Any]) -> Question:
    gold_is = found.get("gold_is") or case.get("gold_is") or "turn"
    if gold_is not in ("turn", "session"):
        raise ValueError(f"gold_is is {gold_is!r}; wanted turn or session")
    return Question(
        kind=_name(found.get("kind")),
        text=_text(found["text"]),
        gold=frozenset(map(_name, _list("gold", found["gold"]))),
        by_session=gold_is == "session",
    )


def _object(what: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{what} is {str(found)[:40]!r}; wanted an object")
    return found


def _list(what: str, found: Any) -> Sequence[Any]:
    if not isinstance(found, list):
        raise ValueError(f"{what} is {str(found)[:40]!r}; wanted a list")
    return found


def _name(found: object) -> str:
    if isinstance(found, dict | list):
        raise ValueError(f"{str(found)[:40]!r} is no name")
    return "" if found is None else str(found).strip()


def _text(found: object) -> str:
    """Text as it can be written into a file; none becomes empty."""
    if not isinstance(found, str | None):
        raise ValueError(f"a text is {str(found)[:40]!r}")
    return (found or "").replace("\0", " ").encode(errors="replace").decode().strip()


def _moment(found: object) -> datetime | None:
    """When it was; without a zone it counts as UTC."""
    if not found:
        return None
    moment = datetime.fromisoformat(str(found))
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
