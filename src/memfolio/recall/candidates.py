"""Candidates: everything that may answer a question, with its scores, gathered from one index."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import Any

from memfolio.embed.vectorizer import QueryVector
from memfolio.index import graph
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lookup import around, newest_rows, overview
from memfolio.index.read_files import DIGEST
from memfolio.index.search import BEGINNING, SUPERSEDED, Filter, Sieve, TurnColumns, matches, matches_any
from memfolio.index.vectors import Scan, neighbours
from memfolio.recall.current import asks_now
from memfolio.recall.hit import PEOPLE, states_nothing
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, Question
from memfolio.settings import Ranking
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
Turns = Mapping[int, TurnColumns]
Near = Mapping[int, Sequence[tuple[int, int]]]
"""Rows with their neighbours and distances, which are negative for earlier ones."""
_row = itemgetter(0)
_superseded_by, _source = (itemgetter(TurnColumns._fields.index(name)) for name in ("superseded_by", "source"))
SURE = 0.35
"""From which similarity on the nearest counts in full: something is always nearest, however far away it is."""
AGREEING = 0.8
"""The assumed similarity, relative to `SURE`, of the best match by words if no vectors are known."""
SCORES = ("text", "vector", "entity", "causal", "temporal", "link")
"""The score fields of candidates."""


@frozen
class Candidates:
    """Rows with their scores by words and by meaning, and with their links to others."""

    turns: Turns
    text: Scores = field(default_factory=dict)
    vector: Scores = field(default_factory=dict)
    near: Near = field(default_factory=dict)
    """For each of the best by words, the rows around it with their distances."""
    entity: Scores = field(default_factory=dict)
    causal: Scores = field(default_factory=dict)
    temporal: Scores = field(default_factory=dict)
    link: Scores = field(default_factory=dict)
    digests: Mapping[int, str] = field(default_factory=dict)
    """The rows that are passages of a digest, with its path."""

    outdated: Mapping[int, int] = field(default_factory=dict)
    """Turns of which something no longer holds, with what was learned in its place."""
    is_worded: bool = False
    """Whether word scores stand in for similarity, because too few memories have vectors."""

    def worded(self, share: float) -> Candidates:
        """Return candidates whose similarity counts only for a share, and is otherwise derived from word scores.

        With a share of 1, only unknown similarities are derived. Thus results found by words alone have scores and fits
        on the same scale.
        """
        best = max(self.text.values(), default=0.0)
        near = {row: AGREEING * SURE * score / best for row, score in self.text.items()} if best > 0 else {}
        near |= {row: share * score for row, score in self.vector.items() if share == 1 or row not in near}
        return replace(self, vector=near, is_worded=share < 1 or not self.vector)

    def unanswered(self, asking: Container[int]) -> frozenset[int]:
        """The questions of a person, those `asking` the same as now among them, that nobody else answers at once."""
        turns = self.turns

        def is_question(row: int) -> bool:
            text = turns[row].text
            is_a_persons = (turns[row].role or "").casefold() in PEOPLE
            return is_a_persons and (row in asking or (len(text) < BEGINNING and states_nothing(text)))

        def is_answered(row: int) -> bool:
            role = turns[row].role
            beside = (turns[other] for other, distance in self.near[row] if distance == 1 and other in turns)
            return any(turn.role != role for turn in beside)

        # Most are answered, which is seen at once.
        unanswered = (row for row in self.near if row in turns and not is_answered(row))
        return frozenset(filter(is_question, unanswered))

    def apart(self, rows: Set[int]) -> Candidates:
        """The same, in which these rows say nothing of those around them, nor of their session."""
        near = {
            row: [pair for pair in pairs if pair[0] not in rows] for row, pairs in self.near.items() if row not in rows
        }
        return replace(self, near=near, turns={**self.turns, **{r: self.turns[r]._replace(session=None) for r in rows}})

    @property
    def sure(self) -> Set[int]:
        """The rows that have to do with the question beyond doubt: by a word, or by a tie."""
        return self.text.keys() | self.entity.keys() | self.causal.keys() | self.link.keys()


def gather(
    connection: Connection,
    index: Index,
    query: Query,
    question: Question,
    vector: QueryVector | None,
    ranking: Ranking,
    previous: Sequence[str] = (),
) -> Candidates:
    """Run every strategy; all results pass the filter.

    `previous` are the memories that the previous hop found, where this one starts.
    """
    # At least twice what is wanted, since filters and versions take some away.
    breadth = max(ranking.breadth_complex if question.is_complex else ranking.breadth, 2 * query.limit)
    sieve = Sieve(connection, query.filter.with_superseded)
    text = _by_words(question, sieve, breadth) if ranking.text else {}
    best = list(text)
    near = around(connection, best[:NEIGHBOURLY], COMPANY) if ranking.spread else {}
    tied = _tied(sieve, question, ranking, best[:SEEDS], previous)
    rows = {*text, *map(_row, chain.from_iterable(near.values())), *chain.from_iterable(tied.values())}
    scan: Scan | None = None
    # Asked of the same moment as the vectors: another embedder may have taken the index over since.
    if vector is not None and ranking.vector and vector.whose.matches(overview(connection).identity or ""):
        scan = index.matrix.scan(connection, vector.values)
        rows.update(neighbours(scan, sieve, breadth))
    if asks_now(query.text):  # what was said last may change the answer without a word of the question
        rows.update(newest_rows(connection, query.filter, LATEST))
    for start, end in question.told_in:
        rows.update(newest_rows(connection, _within(query.filter, start, end), THEN))
    turns = sieve.passing(rows)
    outdated = _outdated(connection, turns, query)
    turns |= Sieve(connection, query.filter).passing(set(outdated.values()) - turns.keys())
    candidates = Candidates(
        turns=turns,
        outdated={row: heir for row, heir in outdated.items() if heir in turns},
        text=text,
        vector=scan.similarities(sorted(turns)) if scan else {},
        near=near
        if rows <= turns.keys()
        else {row: [pair for pair in pairs if pair[0] in turns] for row, pairs in near.items()},
        **tied,
    )
    return _with_digests(connection, _resolved(connection, candidates, query), ranking)


def _within(wanted: Filter, start: datetime, end: datetime) -> Filter:
    """The same filter, for what happened in a time."""
    since, until = max(filter(None, (wanted.since, start))), min(filter(None, (wanted.until, end)))
    return replace(wanted, since=since, until=until, dated=True)


def _by_words(question: Question, sieve: Sieve, breadth: int) -> dict[int, float]:
    """The best rows by words, best first, with their scores."""
    if question.without and question.words:
        return matches(question.expression, sieve, breadth)
    return matches_any(question.search, sieve, breadth) if question.words else {}


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
    rows = {turn.id: row for row, turn in turns.items() if turn.role}
    return {rows[id_]: heir for id_, heir in graph.outdated(connection, list(rows)).items()}


def _resolved(connection: Connection, found: Candidates, query: Query) -> Candidates:
    """Transfer the scores of replaced versions to those that replaced them."""
    if SUPERSEDED in query.filter.include or query.filter.as_of is not None:
        return found
    if not any(map(_superseded_by, found.turns.values())):  # as most often, and quicker to see
        return found
    old = {row: turn.superseded_by for row, turn in found.turns.items() if turn.superseded_by is not None}
    heirs = {row: heir for row, by in old.items() if (heir := graph.successor(connection, by)) is not None}
    kept = {row: turn for row, turn in found.turns.items() if row not in old}
    kept |= Sieve(connection, query.filter).passing({heir for heir in heirs.values() if heir not in kept})
    scores: dict[str, Any] = {name: _inherited(getattr(found, name), heirs) for name in SCORES}
    return replace(found, turns=kept, near=_moved(found.near, old, heirs), **scores)


def _moved(near: Near, old: Container[int], heirs: Mapping[int, int]) -> dict[int, list[tuple[int, int]]]:
    """Move the neighbours of an old version to its successor."""
    found: dict[int, list[tuple[int, int]]] = {}
    for row, pairs in near.items():
        if row not in old or row in heirs:
            found.setdefault(heirs.get(row, row), []).extend(pairs)
    return found


def _inherited(scores: Scores, heirs: Mapping[int, int]) -> dict[int, float]:
    found = dict(scores)
    for row, heir in heirs.items():
        if row in scores:
            found[heir] = max(found.get(heir, 0.0), scores[row])
    return found


def _with_digests(connection: Connection, found: Candidates, ranking: Ranking) -> Candidates:
    if not ranking.digest or DIGEST not in map(_source, found.turns.values()):
        return found
    paths = graph.paths(connection, {turn.file for turn in found.turns.values() if turn.source == DIGEST})
    return replace(found, digests={row: paths[turn.file] for row, turn in found.turns.items() if turn.file in paths})


def join(parts: Sequence[Candidates]) -> Candidates:
    """Join the candidates of several indexes, with scores on one scale."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {
        name: {row + nth * APART: value for nth, part in enumerate(parts) for row, value in getattr(part, name).items()}
        for name in ("turns", *SCORES, "digests")
    }
    joined["outdated"] = {
        row + nth * APART: heir + nth * APART for nth, part in enumerate(parts) for row, heir in part.outdated.items()
    }
    near = {
        row + nth * APART: [(other + nth * APART, distance) for other, distance in pairs]
        for nth, part in enumerate(parts)
        for row, pairs in part.near.items()
    }
    return Candidates(near=near, **joined)
