"""Candidates: everything that may answer a question, with its scores, gathered from one index."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime
from functools import cache, lru_cache, partial
from itertools import accumulate, chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memfolio.embed.vectorizer import QueryVector
from memfolio.index import graph
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lookup import NOBODY, around, newest_rows, overview, sides
from memfolio.index.read_files import DIGEST
from memfolio.index.rows import of_kept
from memfolio.index.search import (
    BEGINNING,
    NO_SCORES,
    SUPERSEDED,
    Doubles,
    Filter,
    Scored,
    Sieve,
    Turns,
    matches,
    matches_any,
)
from memfolio.index.vectors import Scan, neighbours
from memfolio.recall.current import asks_now
from memfolio.recall.dates import pattern, words
from memfolio.recall.hit import PEOPLE, asks, names_something, states_nothing, stem
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, Question, by_words
from memfolio.settings import Ranking
from memfolio.text import FUNCTION_WORDS, sentences, terms
from memfolio.types import frozen

NEIGHBOURLY = 40
"""How many of the best by words share with their neighbours."""
COMPANY = 3
"""How many turns before and after count as neighbours."""
SEEDS = 10
"""From how many of the best ties of cause and time are followed."""
LATEST = 20
"""How many of the latest memories are checked for changes of earlier ones."""
THEN = 100
"""How many memories a day or month that the question names brings at most."""
MANY = 200
"""How many memories one person or thing brings at most."""

APART = 1 << 40
"""The offset between the rows of two joined indexes."""
Scores = Mapping[int, float]
"""Scores by row."""
Places = NDArray[np.int64]
DISTANCES = np.array([*range(1, COMPANY + 1), *range(-1, -COMPANY - 1, -1)])
"""How far what stands beside a turn is from it, in the order of the columns of `Near`."""
SURE = 0.35
"""From which similarity on the nearest counts in full: something is always nearest, however far away it is."""
AGREEING = 0.8
"""The assumed similarity, relative to `SURE`, of the best match by words if no vectors are known."""
KEPT = 8192
_whole = itemgetter(0)
TIES = ("entity", "causal", "temporal", "link")
"""The fields of candidates with scores by row."""


@frozen
class Near:
    """The best by words, and what was said just before and after each, as places among the candidates; -1 for none."""

    scores: Doubles
    places: Places
    beside: Places
    """One line for each of the best, with a column for each of `DISTANCES`."""

    @classmethod
    def of(cls, turns: Turns, found: Scored, beside: Places) -> Near:
        """The same of rows, of which some may be no candidates."""
        return cls(scores=found.scores, places=turns.places(found.rows), beside=turns.places(beside))

    @classmethod
    def joined(cls, parts: Sequence[Near], ends: Sequence[int]) -> Near:
        """All of these, of which each is about candidates that begin behind so many others."""
        moved = [
            [np.where(each < 0, each, each + end) for each in (part.places, part.beside)]
            for part, end in zip(parts, ends, strict=True)
        ]
        places, beside = (np.concatenate(found) for found in zip(*moved, strict=True))
        return cls(scores=np.concatenate([part.scores for part in parts]), places=places, beside=beside)

    def without(self, places: Sequence[int]) -> Near:
        """The same where these places have nothing to do with any other."""
        left = ~np.isin(self.places, places)
        beside = np.where(np.isin(self.beside, places), NOBODY, self.beside)
        return Near(scores=self.scores[left], places=self.places[left], beside=beside[left])


NO_NEAR = Near(scores=np.zeros(0), places=np.zeros(0, np.int64), beside=np.zeros((0, len(DISTANCES)), np.int64))


@frozen
class Candidates:
    """Memories with their scores by words and by meaning, and with their links to others."""

    turns: Turns
    text: Scored = NO_SCORES
    vector: Doubles | None = None
    """In the places of the turns; None where nothing is known of meanings."""
    near: Near = NO_NEAR
    """What was said around the best by words."""
    entity: Scores = field(default_factory=dict)
    causal: Scores = field(default_factory=dict)
    temporal: Scores = field(default_factory=dict)
    link: Scores = field(default_factory=dict)
    digests: Mapping[int, str] = field(default_factory=dict)
    """The rows that are passages of a digest, with its path."""

    outdated: Mapping[int, int] = field(default_factory=dict)
    """Turns of which something no longer holds, with what was learned in its place."""
    alike: Places = field(default_factory=lambda: NO_NEAR.places)
    """What may be no more than the same question."""
    is_worded: bool = False
    """Whether word scores stand in for similarity, because too few memories have vectors."""

    def worded(self, share: float) -> Candidates:
        """Return candidates whose similarity counts only for a share, and is otherwise derived from word scores.

        With a share of 1, only unknown similarities are derived. Thus results found by words alone have scores and fits
        on the same scale.
        """
        words = self.turns.spread(self.text)
        vector = np.zeros(len(words)) if self.vector is None else self.vector
        best = self.text.scores.max(initial=0.0)
        near = AGREEING * SURE * words / best if best > 0 else words
        is_known = (vector > 0) & ((near == 0) | (share == 1))
        near = np.where(is_known, share * vector, near)
        return replace(self, vector=near, is_worded=share < 1 or not vector.any())

    def unanswered(self, asking: Set[int]) -> list[int]:
        """The questions of a person, those `asking` the same as now among them, that nobody else answers at once."""
        turns, near, behind = self.turns, self.near.places, self.near.beside[:, 0]
        roles = turns.columns.roles
        is_answered = (near < 0) | ((behind >= 0) & (roles[behind] != roles[near]))

        def is_question(place: int) -> bool:
            turn = turns[place]
            is_a_persons = (turn.role or "").casefold() in PEOPLE
            is_asking = place in asking or (len(turn.text) < BEGINNING and states_nothing(turn.text))
            return is_a_persons and is_asking

        # Most are answered, which is seen at once.
        return list(dict.fromkeys(filter(is_question, near[~is_answered].tolist())))

    def apart(self, places: Sequence[int]) -> Candidates:
        """The same, in which these say nothing of those around them, nor of their session."""
        return replace(self, near=self.near.without(places), turns=self.turns.without_session(places))

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which have to do with the question beyond doubt: by a word, or by a tie."""
        tied = [Scored.of(dict.fromkeys(scores, 1.0)) for scores in (self.entity, self.causal, self.link) if scores]
        sure: NDArray[np.bool_] = sum((self.turns.spread(each) for each in tied), self.turns.spread(self.text)) > 0
        return sure


# Memories that only ask what is asked: they fit a question best of all, and answer nothing. Pure.

FEW = 4
"""Content words of a question that says nothing about who asks it."""
QUESTIONS = (Intent.WHY, Intent.WHEN, Intent.WHO, Intent.WHAT, Intent.HOW)
_PLAIN_WORD = re.compile(r"(?<!\S)[a-z]{3,}(?!\S)")
"""A word that is a term as it is, unless it is a function word."""


class _Asking(NamedTuple):
    """What a text asks for, by the stems of its words but those of asking itself, and whether it is one question."""

    stems: frozenset[str]
    is_question: bool


def longest(question: str) -> int:
    """Characters beyond which a memory asks for more than this question."""
    return 80 + 3 * len(question)


def echoes(texts: Mapping[int, str], question: str) -> frozenset[int]:
    """The texts that ask what the question asks, in its words or nearly, or for something else in a few words."""
    asked, most = stems_asked(question), longest(question)
    return frozenset(key for key, text in texts.items() if len(text) <= most and _is_echo(text, asked))


def _alike(turns: Turns, asked: Set[str]) -> Places:
    """The places of turns that may echo a question with these stems: nearly all begin with words that it lacks."""
    words, columns = turns.names.words, turns.columns
    is_known = np.zeros(len(words), np.bool_)
    is_known[[0, *(words[stem] for stem in asked if stem in words)]] = True
    return np.flatnonzero(is_known[columns.first] & is_known[columns.second])


@lru_cache(2 * KEPT)
def _opening(text: str) -> tuple[str | None, str | None]:
    """Stems of the first words that tell something, by which most texts are seen to say more than the question.

    None of a text that asks: it may say more than that.
    """
    found = [] if asks(text) else list(islice(_telling(text), 2))
    first, second, *_ = (*found, None, None)
    return first, second


def _is_echo(text: str, asked: Set[str]) -> bool:
    # One word beyond the question tells most texts apart; looking for question words takes ten times as long.
    if _opening(text)[0] and _says_more(text, asked):
        return False
    asking = _asking(text)
    if asking is None:
        return False
    # A single question asks even where it adds a few words; what has other sentences may tell something in them.
    words, common = len(asking.stems), len(asking.stems & asked)
    if not asking.is_question:
        return words == common
    if not common:
        return words <= FEW
    # Among few words, one that the question lacks is no more than another wording.
    part = 1 if words <= FEW else 2
    return part * (words - common) <= common + 1


def _says_more(text: str, asked: Set[str]) -> bool:
    return any(each not in asked for each in _telling(text))


def _telling(text: str) -> Iterator[str]:
    return filter(None, map(_telling_root, map(_whole, _PLAIN_WORD.finditer(text))))


@lru_cache(KEPT)
def _telling_root(word: str) -> str | None:
    """Return the stem of a word; None for question words and function words."""
    root = _root(word)
    return None if word in FUNCTION_WORDS or root in _asking_stems() else root


@lru_cache(KEPT)
def _asking(text: str) -> _Asking | None:
    """Return what a text asks for; None if it asks nothing."""
    is_question = asks(text)
    is_asked = is_question or names_something(text) or by_words(text) in QUESTIONS
    if not is_asked and not pattern("requests").search(text.lower()):
        return None
    parts = sentences(text) if is_question else ()
    is_one = len(parts) < 2 or sum(not stems_asked(part) <= _asking_stems() for part in parts) < 2
    return _Asking(stems_asked(text) - _asking_stems(), is_question and is_one)


@cache
def _asking_stems() -> frozenset[str]:
    return frozenset(map(_root, words("asking_words")))


@lru_cache(KEPT)
def stems_asked(text: str) -> frozenset[str]:
    """The stems of the words of a text, by which what echoes it is found."""
    return frozenset(map(_root, terms(text)))


def _root(word: str) -> str:
    """Return a common stem of `like` and `likes`."""
    return stem(word).removesuffix("e")


# Gathering: every strategy brings what it finds.


def gather(
    connection: Connection,
    index: Index,
    query: Query,
    question: Question,
    vector: QueryVector | None,
    ranking: Ranking,
    asked: Set[str],
    previous: Sequence[str] = (),
) -> Candidates:
    """Run every strategy; all results pass the filter.

    `asked` are the stems of the question, and `previous` the memories that the previous hop found, where this one
    starts.
    """
    # At least twice what is wanted, since filters and versions take some away.
    breadth = max(ranking.breadth_complex if question.is_complex else ranking.breadth, 2 * query.limit)
    sieve = Sieve(connection, query.filter.with_superseded, _opening)
    text = _by_words(question, sieve, breadth) if ranking.text else NO_SCORES
    best = text.rows[:NEIGHBOURLY].tolist()
    near = sides(connection, best, COMPANY) if ranking.spread else {}
    beside = np.frombuffer(b"".join(near.values()), np.int64).reshape(-1, len(DISTANCES))
    tied = _tied(sieve, question, ranking, best[:SEEDS], previous)
    rows = [text.rows, beside[beside >= 0], *(np.array([*found], np.int64) for found in tied.values())]
    scan: Scan | None = None
    # Asked of the same moment as the vectors: another embedder may have taken the index over since.
    if vector is not None and ranking.vector and vector.whose.matches(overview(connection).identity or ""):
        scan = index.matrix.scan(connection, vector.values)
        rows.append(neighbours(scan, sieve, breadth).rows)
    if asks_now(query.text):  # what was said last may change the answer without a word of the question
        rows.append(np.array(newest_rows(connection, query.filter, LATEST), np.int64))
    for start, end in question.told_in:
        rows.append(np.array(newest_rows(connection, _within(query.filter, start, end), THEN), np.int64))
    turns = sieve.among(np.concatenate(rows))
    outdated = _outdated(connection, turns, query)
    if outdated:
        heirs = Sieve(connection, query.filter).passing(set(outdated.values()))
        known = heirs | {turn.row: turn for turn in turns}
        turns, outdated = Turns.of(known.values(), _opening), {row: by for row, by in outdated.items() if by in known}
    candidates = Candidates(
        turns=turns,
        outdated=outdated,
        text=text,
        vector=scan.similarities(turns.rows) if scan else None,
        near=Near.of(turns, _scored(text, near), beside),
        alike=_alike(turns, asked),
        **tied,
    )
    return _with_digests(connection, _resolved(connection, candidates, query, asked), ranking)


def _scored(text: Scored, near: Collection[int]) -> Scored:
    """The best by words, as far as they belong to a session."""
    if len(near) == min(NEIGHBOURLY, len(text.rows)):
        return Scored(text.rows[: len(near)], text.scores[: len(near)])
    scores = text.by_row()
    return Scored.of({row: scores[row] for row in near})


def _within(wanted: Filter, start: datetime, end: datetime) -> Filter:
    """The same filter, for what happened in a time."""
    since, until = max(filter(None, (wanted.since, start))), min(filter(None, (wanted.until, end)))
    return replace(wanted, since=since, until=until, dated=True)


def _by_words(question: Question, sieve: Sieve, breadth: int) -> Scored:
    """The best rows by words, best first, with their scores."""
    if question.without and question.words:
        return matches(question.expression, sieve, breadth)
    return matches_any(question.search, sieve, breadth) if question.words else NO_SCORES


def _tied(
    sieve: Sieve, question: Question, ranking: Ranking, seeds: Sequence[int], previous: Sequence[str]
) -> dict[str, Any]:
    """Return the scores by entity, cause, time and link, under the names of these fields."""
    reach = ranking.reach_complex if question.is_complex else ranking.reach
    found: dict[str, dict[int, float]] = {}
    if ranking.entity and question.entities:
        found["entity"] = _about(sieve, question.entities)
    if question.intent is Intent.WHY and ranking.causal:
        found["causal"] = _causes(sieve.connection, [seed.id for seed in sieve.passing(seeds).values()], reach)
    if question.intent is Intent.WHEN and ranking.temporal:
        found["temporal"] = _times(sieve.connection, list(sieve.passing(seeds)), reach)
    if previous:
        found["link"] = _links(sieve, previous)
    return found


def _about(sieve: Sieve, entities: Sequence[str]) -> dict[int, float]:
    """Score memories that mention an entity or are on its page; related entities count half."""
    further = graph.related(sieve.connection, entities)
    found = dict.fromkeys(graph.about(sieve, further, MANY), 0.5)
    return found | dict.fromkeys(graph.about(sieve, entities, MANY), 1.0)


def _causes(connection: Connection, ids: Sequence[str], reach: int) -> dict[int, float]:
    """Causes and effects of the best, and theirs in turn."""
    found: dict[int, float] = {}
    here, seen = list(ids), set(ids)
    for step in range(reach):
        reached = [tie for tie in graph.tied(connection, here, "causal") if tie.id not in seen]
        found |= {tie.row: 0.5**step for tie in reached}
        here = [tie.id for tie in reached][:MANY]
        seen.update(here)
    return found


def _times(connection: Connection, seeds: Sequence[int], reach: int) -> dict[int, float]:
    """Score what was said before and after the best matches."""
    found: dict[int, float] = {}
    for row, distance in chain.from_iterable(around(connection, seeds, reach).values()):
        found[row] = max(found.get(row, 0.0), 0.5 ** (abs(distance) - 1))
    return found


def _links(sieve: Sieve, previous: Sequence[str]) -> dict[int, float]:
    """Score what is linked to the hits of the previous hop: by an edge, or by common entities."""
    tied = dict.fromkeys((tie.row for tie in graph.tied(sieve.connection, previous)), 1.0)
    entities = graph.mentioned(sieve.connection, previous)
    return dict.fromkeys(graph.about(sieve, entities, MANY), 0.5) | tied


def _outdated(connection: Connection, turns: Turns, query: Query) -> dict[int, int]:
    """The turns of which something was replaced since, with the rows of what replaced it."""
    if SUPERSEDED in query.filter.include or query.filter.as_of or not overview(connection).has_edges:
        return {}
    rows = {turn.id: turn.row for turn in turns if turn.role}
    read = partial(graph.outdated, connection)
    return {rows[id_]: heir for id_, heir in of_kept(connection, graph.outdated, rows, read).items()}


def _resolved(connection: Connection, found: Candidates, query: Query, asked: Set[str]) -> Candidates:
    """Transfer the scores of replaced versions to those that replaced them."""
    if SUPERSEDED in query.filter.include or query.filter.as_of is not None:
        return found
    if not found.turns.columns.is_replaced.any():  # as most often, and quicker to see
        return found
    old = {turn.row: turn.superseded_by for turn in found.turns if turn.superseded_by is not None}
    heirs = {row: heir for row, by in old.items() if (heir := graph.successor(connection, by)) is not None}
    kept = {turn.row: turn for turn in found.turns if turn.row not in old}
    kept |= Sieve(connection, query.filter).passing({heir for heir in heirs.values() if heir not in kept})
    turns = Turns.of(kept.values(), _opening)
    scores: dict[str, Any] = {name: _inherited(getattr(found, name), heirs) for name in TIES}
    text = _inherited(found.text.by_row(), heirs)
    if found.vector is not None:
        vector = Scored(found.turns.rows, found.vector).by_row()
        scores["vector"] = turns.spread(Scored.of(_inherited(vector, heirs)))
    near = _moved(found, turns, heirs, text)
    return replace(found, turns=turns, text=Scored.of(text), near=near, alike=_alike(turns, asked), **scores)


def _moved(found: Candidates, turns: Turns, heirs: Mapping[int, int], text: Scores) -> Near:
    """Move the neighbours of an old version to its successor; one without a successor has none."""
    rows, near = found.turns.rows, found.near
    heir_of = {row: heirs.get(row, NOBODY) for row in rows[found.turns.columns.is_replaced].tolist()}
    lines = dict[int, list[Places]]()
    for row, beside in zip(rows[near.places].tolist(), near.beside, strict=True):
        lines.setdefault(heir_of.get(row, row), []).append(beside)
    left = [(row, beside) for row, found in lines.items() if row != NOBODY for beside in found]
    beside = np.array([each for _, each in left], np.int64).reshape(-1, len(DISTANCES))
    return Near(
        scores=np.array([text[row] for row, _ in left], np.float64),
        places=turns.places(np.array([row for row, _ in left], np.int64)),
        beside=np.where(beside < 0, beside, turns.places(rows[beside])),
    )


def _inherited(scores: Scores, heirs: Mapping[int, int]) -> dict[int, float]:
    found = dict(scores)
    for row, heir in heirs.items():
        if row in scores:
            found[heir] = max(found.get(heir, 0.0), scores[row])
    return found


def _with_digests(connection: Connection, found: Candidates, ranking: Ranking) -> Candidates:
    is_digest = found.turns.columns.sources == found.turns.names.others.get(DIGEST, NOBODY)
    if not ranking.digest or not is_digest.any():
        return found
    digests = {turn.row: turn.file for turn in found.turns if turn.source == DIGEST}
    paths = graph.paths(connection, set(digests.values()))
    return replace(found, digests={row: paths[file] for row, file in digests.items() if file in paths})


def join(parts: Sequence[Candidates]) -> Candidates:
    """Join the candidates of several indexes, with scores on one scale."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {
        name: {row + nth * APART: value for nth, part in enumerate(parts) for row, value in getattr(part, name).items()}
        for name in (*TIES, "digests")
    }
    joined["outdated"] = {
        row + nth * APART: heir + nth * APART for nth, part in enumerate(parts) for row, heir in part.outdated.items()
    }
    sizes = [len(part.turns) for part in parts]
    ends = list(accumulate(sizes, initial=0))[:-1]
    vectors = [np.zeros(size) if part.vector is None else part.vector for part, size in zip(parts, sizes, strict=True)]
    return Candidates(
        turns=Turns.joined([part.turns for part in parts], APART),
        text=Scored(
            np.concatenate([part.text.rows + nth * APART for nth, part in enumerate(parts)]),
            np.concatenate([part.text.scores for part in parts]),
        ),
        alike=np.concatenate([part.alike + end for part, end in zip(parts, ends, strict=True)]),
        vector=np.concatenate(vectors),
        near=Near.joined([part.near for part in parts], ends),
        **joined,
    )
