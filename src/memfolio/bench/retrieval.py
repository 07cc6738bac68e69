"""Retrieval: each case goes into a fresh home, and the share of gold in the first hits is printed."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from memfolio.bench.scratch import scratch
from memfolio.errors import InputError
from memfolio.index.search import PlainSearch
from memfolio.memory import Memory
from memfolio.types import MemoryItem, frozen

# The floor: plain BM25 over the same turns. It shares nothing with recall, so that it stays where it is.

FUNCTION_WORDS = frozenset(
    """
    a about am an and any are as at be been being but by can could did do does doing for from had has have having he
    her here hers him his how i if in into is it its just let me my of on or our ours please shall she should so
    some such tell than that the their theirs them then there these they this those to too us very was we were what
    when where which while who whom whose why will with would you your yours
    """.split()
)


def bm25(_: Memory, case: BenchCase) -> Find:
    """Each turn is one text that begins with who said it; any word of the question may match."""
    search = PlainSearch(f"{turn.role}: {turn.text}" for turn in case.turns)
    return lambda question: search.best(any_word(question), DEPTH)


def any_word(question: str) -> str:
    """The words of a question but function words, each once, as an FTS5 expression."""
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    telling = [word for word in words if word not in FUNCTION_WORDS]
    return " OR ".join(f'"{word}"' for word in telling or words) or '""'


BASELINES: dict[str, Way] = {"bm25": bm25}


def find_baseline(name: str) -> Way:
    """The floor that has this name."""
    if name not in BASELINES:
        raise InputError(f"there is no baseline {name[:40]!r}", hint=f"there is {', '.join(BASELINES)}")
    return BASELINES[name]


# Retrieval cases: conversations, and questions whose answers are known; one JSON object a line.

HINT = "docs/bench.md shows what a line of cases looks like"


@frozen
class BenchTurn:
    """Something that somebody said."""

    id: str
    session: str
    at: datetime | None
    role: str
    text: str


@frozen
class BenchQuestion:
    """A question and the turns, or the sessions, that answer it."""

    kind: str
    text: str
    gold: frozenset[str]
    by_session: bool


@frozen
class BenchCase:
    """A conversation with the questions about it that have an answer in it."""

    turns: tuple[BenchTurn, ...]
    questions: tuple[BenchQuestion, ...]

    @property
    def gold_missing(self) -> int:
        """How often a question's gold names a turn or a session that is not there, and so cannot be found."""
        turns, sessions = ({getattr(each, name) for each in self.turns} for name in ("id", "session"))
        return sum(len(each.gold - (sessions if each.by_session else turns)) for each in self.questions)


def read_cases(path: Path, *, limit: int | None = None) -> Iterator[BenchCase]:
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


def _case(line: str, where: str) -> BenchCase:
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
    return BenchCase(
        turns=tuple(each for each in turns if each.text), questions=tuple(each for each in questions if each.gold)
    )


def _turn(found: Mapping[str, Any]) -> BenchTurn:
    return BenchTurn(
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


def _question(found: Mapping[str, Any], case: Mapping[str, Any]) -> BenchQuestion:
    gold_is = found.get("gold_is") or case.get("gold_is") or "turn"
    if gold_is not in ("turn", "session"):
        raise ValueError(f"gold_is is {gold_is!r}; wanted turn or session")
    return BenchQuestion(
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


# How much of the gold is found: each case goes into a fresh home, and every question is asked.

CUTS = (5, 10, 20)
"""After how many hits the gold among them is counted."""
DEPTH = max(CUTS)
NO_TOKEN = re.compile(r"[\s·\x00-\x1f\x7f-\x9f\ud800-\udfff]+")

Find = Callable[[str], Sequence[int]]
"""Gives for a question the numbers of a case's turns, best first."""
Way = Callable[[Memory, BenchCase], Find]
"""A way to search a case that is in a memory."""
Progress = Callable[[str, int, int], None]
"""Called with the file's name, the cases of it that are done, and how many it has."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question: its kind, its share of gold at each cut, and how long the answer took."""

    kind: str
    shares: tuple[float, ...]
    seconds: float


class QuestionTally(list[AskedQuestion]):
    """All questions that were asked in one way."""

    def share(self) -> dict[int, float]:
        """The mean share of gold at each cut."""
        return {cut: fmean(each.shares[nth] for each in self) if self else 0.0 for nth, cut in enumerate(CUTS)}

    def kinds(self) -> dict[str, QuestionTally]:
        """The same by kind of question, in the order of their names."""
        names = sorted({each.kind for each in self})
        return {name: QuestionTally(each for each in self if each.kind == name) for name in names}

    def milliseconds(self, share: float) -> float:
        """The time within which this share of the questions was answered."""
        return within([each.seconds for each in self] or [0.0], share)


@dataclass(slots=True, kw_only=True)
class Measured:
    """What one file gave: a tally for each way of searching, and how long it took to take the turns in."""

    file: str
    cases: int = 0
    turns: int = 0
    questions: int = 0
    gold_missing: int = 0
    seconds: float = 0.0
    tallies: dict[str, QuestionTally] = field(default_factory=dict)
    degraded: set[str] = field(default_factory=set)

    @property
    def turns_per_second(self) -> float:
        """How many turns were written, indexed and given their vectors in a second."""
        return self.turns / self.seconds if self.seconds else 0.0

    def heads(self, ways: Iterable[str]) -> list[str]:
        """What the shares in `rows` are called."""
        return [f"{way if nth == 0 else ''}@{cut}" for way in ways for nth, cut in enumerate(CUTS)]

    def rows(self, ways: Iterable[str]) -> list[tuple[str, int, list[float]]]:
        """For all questions, and for each kind: their name, their number, and the shares of these ways side by side."""
        tallies = [self.tallies[way] for way in ways]
        kinds = [tally.kinds() for tally in tallies]
        groups = [("all", tallies), *((name, [kind[name] for kind in kinds]) for name in kinds[0])]
        return [
            (name, len(each[0]), [share for tally in each for share in tally.share().values()]) for name, each in groups
        ]


def within(seconds: Sequence[float], share: float) -> float:
    """The milliseconds within which this share of them lies."""
    return 1000 * sorted(seconds)[max(0, ceil(share * len(seconds)) - 1)]


def measure(
    paths: Iterable[Path], ways: Mapping[str, Way], *, limit: int | None = None, progress: Progress | None = None
) -> list[Measured]:
    """Ask all questions of these files in every one of the ways; nothing begins before all files are read and right."""
    totals = {path: count_cases(path, limit=limit) for path in paths}
    return [_measure(path, total, ways, limit, progress or (lambda *_: None)) for path, total in totals.items()]


def _measure(path: Path, total: int, ways: Mapping[str, Way], limit: int | None, progress: Progress) -> Measured:
    found = Measured(file=path.name, tallies={name: QuestionTally() for name in ways})
    for number, case in enumerate(read_cases(path, limit=limit)):
        progress(path.name, number, total)
        with scratch() as memory:
            started = time.perf_counter()
            take_in(memory, case)
            found.seconds += time.perf_counter() - started
            found.cases += 1
            found.turns += len(case.turns)
            found.questions += len(case.questions)
            found.gold_missing += case.gold_missing
            for name, way in ways.items():
                find = way(memory, case)
                found.tallies[name] += [ask(find, question, case.turns) for question in case.questions]
            found.degraded.update(memory.searcher.degraded())
    return found


def take_in(memory: Memory, case: BenchCase) -> list[MemoryItem]:
    """The turns of a case as memories, in their order, all of them with their vectors."""
    items = memory.observe_many(observed(number, turn) for number, turn in enumerate(case.turns))
    memory.searcher.vectorizer.fill(memory.searcher.index)
    return items


def observed(number: int, turn: BenchTurn) -> dict[str, object]:
    """A turn as it is observed; its number leads back to it."""
    return {
        "role": _token(turn.role) or "user",
        "content": turn.text,
        "session": _token(turn.session) or None,
        "at": turn.at,
        "attributes": {"ref": number},
    }


def _token(name: str) -> str:
    return NO_TOKEN.sub("_", name)[:128]


def recalled(memory: Memory, _: BenchCase) -> Find:
    """Recall as everybody calls it."""
    return lambda question: [int(hit.memory.attributes["ref"]) for hit in memory.recall(question, limit=DEPTH)]


def ask(find: Find, question: BenchQuestion, turns: Sequence[BenchTurn]) -> AskedQuestion:
    started = time.perf_counter()
    found = find(question.text)
    seconds = time.perf_counter() - started
    names = [turns[number].session if question.by_session else turns[number].id for number in found]
    shares = tuple(len(question.gold & set(names[:cut])) / len(question.gold) for cut in CUTS)
    return AskedQuestion(question.kind, shares, seconds)
