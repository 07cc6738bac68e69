"""Ranking candidates: evidence is weighed, hints and merit are added, near-duplicates are spread, hops follow. Pure."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import accumulate
from math import fsum, inf
from typing import NamedTuple, Protocol
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from memfolio.decay import DAY, Phase, phases
from memfolio.index.lookup import MemoryColumns
from memfolio.index.read_files import page_period
from memfolio.index.rows import day_us, from_us
from memfolio.index.search import Doubles, Numbers, Scored, TurnColumns, Turns
from memfolio.recall.candidates import DISTANCES, SURE, Candidates, Places
from memfolio.recall.dates import LEXICON, pattern, words
from memfolio.recall.hit import MARKS, Hit, Reason, is_short_question, names_something, stem
from memfolio.recall.question import Intent, Question
from memfolio.settings import Decay, Ranking
from memfolio.text import sentences, terms
from memfolio.types import Kind, Origin, frozen

Flags = NDArray[np.bool_]

# What a memory's own words say about its use: that they tell a time, a name, a number or a wish that stands.
#
# English, but for names and figures. What was read is kept, since the same memories come up again and again. Pure.

KEPT = 8192
OWN, MOST_OWN = 0.07, 3
"""How much more a turn is worth for each `I` or `my` in it, and how many of them count."""
SELF = 0.8
"""How much it counts that something is told of whoever asks, where they ask about themselves."""
REACTION = 0.17
"""How much less if it begins as a reaction to what others said."""
_reason = partial(tuple.__new__, Reason)
"""A third of the time of Reason()."""

_WORD = re.compile(r"\w+")
# A capital that begins neither the text nor a sentence.
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-ZÀ-ÖØ-Þ][^\W\d_]+")


@lru_cache(KEPT)
def tells(what: str, content: str) -> bool:
    """Whether a text contains a `time` or a `number`."""
    return pattern(what).search(content.lower()) is not None


@lru_cache(KEPT)
def tells_of_user(content: str) -> bool:
    """Whether a text contains something about whoever asks."""
    return pattern("about_user").search(content.lower()) is not None


@lru_cache(KEPT)
def _names(content: str) -> frozenset[str]:
    return frozenset(_NAME.findall(content))


@lru_cache(KEPT)
def is_standing_wish(content: str) -> bool:
    """Whether somebody says how they want things from then on."""
    beginning = content.lower()
    if "prefer" in beginning or "i ask" in beginning:
        return pattern("wish").search(beginning) is not None
    return pattern("standing_rule").match(beginning) is not None


@lru_cache(KEPT)
def of_oneself(text: str) -> float:
    """How much a turn of somebody who is asked about is worth: those in which they speak of themselves, more."""
    said = _WORD.findall(text.lower())
    own = sum(map(words("own").__contains__, said))
    is_reaction = bool(said) and said[0] in words("reactions")
    return 1.0 + OWN * min(own, MOST_OWN) - REACTION * is_reaction


@lru_cache(KEPT)
def is_machine(role: str | None) -> bool:
    return role is not None and role.casefold() in words("machines")


# How much of what is asked a memory covers, by its own words and by those of the turns around it. Pure.

REACH = 2
"""How many turns before and after a memory count as said with it."""
FEW_MEMORIES = 200
_SIDES = [DISTANCES.tolist().index(distance) for distance in (1, 2, -1, -2)]
"""The columns of what stands up to `REACH` turns after and before, the nearest first."""
_THERE, _BACK = np.array([0, 1, 2, 3]), np.array([2, 3, 0, 1])
"""The same columns as seen from what stands there."""


Said = Callable[[int], str]
"""What stands in a place."""


@frozen
class Coverage:
    """The share of the question's words, weighted by rarity, in each of some memories and in its neighbours."""

    own: Doubles
    around: Doubles
    """What neighbouring turns of people add."""
    asked: Doubles
    """What the question just before it contains."""
    words: Doubles
    """How many of the words it has."""


class Rarity(NamedTuple):
    """How much each word of a question tells among so many memories, and which share of that nothing remembered has."""

    weights: Mapping[str, float]
    absent: float
    size: int

    @classmethod
    def of(cls, counts: Mapping[str, int], size: int) -> Rarity:
        """By how many of all memories have each word; in a few memories that says little."""
        total = size + FEW_MEMORIES
        weights = {word: math.log(1 + (max(total - count, 0) + 0.5) / (count + 0.5)) for word, count in counts.items()}
        absent = fsum(weight for word, weight in weights.items() if not counts[word])
        return cls(weights, absent / (fsum(weights.values()) or 1.0), size)


def cover(places: Sequence[int], texts: Said, candidates: Candidates, rarity: Rarity) -> Coverage:
    """How much of the words of a question the candidates in these places cover; `texts` knows those of all."""
    weights = {_key(word): weight for word, weight in rarity.weights.items()}
    values = list(weights.values())
    total = fsum(values) or 1.0
    beside = _beside(candidates, np.array(places, np.int64))
    having = _having(weights, texts, {*places, *beside[beside >= 0].tolist()})

    @cache
    def share(keys: int) -> float:
        return fsum([weight for nth, weight in enumerate(values) if keys >> nth & 1]) / total

    has, before = having.get, _SIDES.index(DISTANCES.tolist().index(-1))
    found = np.zeros((4, len(places)))
    for nth, (place, others) in enumerate(zip(places, beside.tolist(), strict=True)):
        keys = together = has(place, 0)
        for other in others:
            if other >= 0:
                together |= has(other, 0)
        asked = has(others[before], 0) if others[before] >= 0 else 0
        if not together:
            continue
        is_asked = asked and texts(others[before]).rstrip().endswith(MARKS)
        found[:, nth] = share(keys), share(together) - share(keys), share(asked) if is_asked else 0.0, keys.bit_count()
    return Coverage(own=found[0], around=found[1], asked=found[2], words=found[3])


def _having(keys: Iterable[str], texts: Said, places: Iterable[int]) -> dict[int, int]:
    """The keys that each of the texts in these places has, as bits in their order; texts without any are left out."""
    known = list(places)
    # All texts are searched as one: most of them have none of the keys.
    lines = list(map(texts, known))
    whole = "\n".join(lines)
    if whole.isascii():
        whole = whole.lower()
    else:
        lines = list(map(_plain, lines))
        whole = "\n".join(lines)
    ends = list(accumulate(len(line) + 1 for line in lines))
    found: dict[int, int] = {}
    for place, key in enumerate(keys):
        at = whole.find(key)
        while at >= 0:
            if _begins_word(whole, at, key):
                nth = bisect_right(ends, at)
                found[known[nth]] = found.get(known[nth], 0) | 1 << place
                at = whole.find(key, ends[nth])  # in the next text
            else:
                at = whole.find(key, at + 1)
    return found


def _plain(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    text = normalize("NFKD", text.casefold())
    for accent in filter(combining, set(text)):
        text = text.replace(accent, "")
    return text


def _key(word: str) -> str:
    """Return what a text must contain for a word of the question; other alphabets have longer endings."""
    key = _plain(stem(word))
    return key if key.isascii() else key[: max(4, len(key) - 3)]


def _begins_word(text: str, at: int, key: str) -> bool:
    """Whether a word with this stem begins here, where the stem stands; other alphabets may join words."""
    if not key.isascii():
        return True
    word = None if text[at - 1 : at].isalnum() else _WORD.match(text, at)
    return word is not None and stem(word[0]) in (key, f"{key}e", key.removesuffix("e"))


def _beside(candidates: Candidates, places: Places) -> Places:
    """Return for each of these places those of people's turns up to `REACH` after and before it; -1 for none.

    A machine's answer ends a stretch of turns.
    """
    near, turns, count = candidates.near, candidates.turns, len(places)
    lines = np.full(len(turns) + 1, count, np.int64)  # the last is for what is no candidate
    lines[places] = np.arange(count)
    beside, own = near.beside[:, _SIDES], near.places[:, None]
    is_there = (beside >= 0) & (own >= 0)
    # Each is beside the other; of what contradicts, which only replaced versions do, the last counts.
    where = np.where(is_there, [lines[own] * len(_SIDES) + _THERE, lines[beside] * len(_SIDES) + _BACK], -1)
    found = np.full((count + 1) * len(_SIDES), -1, np.int64)
    found[where.transpose(1, 2, 0).ravel()] = np.array([beside, own + beside * 0]).transpose(1, 2, 0).ravel()
    found = found.reshape(-1, len(_SIDES))[:count]
    ends = np.append(machines(turns), True)
    is_end = ends[found]
    is_end[:, 1::2] |= is_end[:, ::2]
    found[is_end | ends[places][:, None]] = -1
    return found


# Weighing candidates: what speaks for each, measured against the best of its kind, weighed and added. Pure.

LEAST = 1e-5
"""By how much of a score one comes behind another."""


WORDED = "worded"
"""The share that words give in place of an unknown similarity; not a strategy of its own."""


class ByPlace(Protocol):
    """Memories in their places."""

    def __getitem__(self, place: int, /) -> TurnColumns: ...

    def __iter__(self) -> Iterator[TurnColumns]: ...


@dataclass(slots=True)
class Weighing:
    """The share of each strategy in the score of each memory, and the sum; all in the places of the memories."""

    turns: ByPlace
    scores: Doubles
    echoing: Flags
    """What only asks: the scores of the others are not relative to theirs."""
    whole: float = 1.0
    """The score that counts as full."""
    shares: dict[str, Doubles] = field(default_factory=dict)
    evidence: Doubles | float = 1.0
    """How far a hint counts."""
    among: Weighing | None = None
    """All candidates, where these are the best of them."""
    places: Places | None = None
    """Their places among those."""
    highest: float = -inf
    """The best score of those that are not among the best."""

    def add(self, strategy: str, shares: Doubles) -> None:
        """Add a strategy's shares."""
        if shares.any():
            self.scores += shares
            self.shares[strategy] = shares

    def add_to(self, strategy: str, places: Collection[int], share: float) -> None:
        """Add the same share to these."""
        if places and share:
            shares = np.zeros(len(self.scores))
            shares[[*places]] = share
            self.add(strategy, shares)

    def note_evidence(self) -> None:
        """Let hints count fully from now on for what was found by its words, for others in proportion to their scores.

        A hint tells two memories apart that both fit; it does not make one fit that does not.
        """
        measure = self.scores if self.echoing.all() else self.scores[~self.echoing]
        most, worded = measure.max(initial=0.0), self.shares.get("text", np.zeros(len(self.scores))) > 0
        if most > 0:
            self.evidence = np.where(worded, 1.0, np.minimum(np.maximum(self.scores / most, 0.0), 1.0))

    def lean(self, strategy: str, shares: Doubles) -> None:
        """Add a hint's shares as far as the evidence goes."""
        self.add(strategy, shares * self.evidence)

    def scale(self, strategy: str, factors: Doubles) -> None:
        """Multiply positive scores; negative ones stay."""
        self.add(strategy, np.maximum(self.scores, 0.0) * (factors - 1))

    def hold_back(self, strategy: str, places: Sequence[int], factor: float, behind: Sequence[int]) -> None:
        """Multiply the scores of some, and rank them behind the others."""
        if not places:
            return
        most = min(self.scores[[*behind]].tolist(), default=inf) - LEAST
        shares, held = np.zeros(len(self.scores)), self.scores[[*places]]
        shares[[*places]] = np.minimum(np.where(held > 0, held * factor, held), most) - held
        self.add(strategy, shares)

    def best(self, count: int, among: Sequence[int] | Places | None = None) -> list[int]:
        """The places of those with most to speak for them, equal ones by id."""
        scores, turns = self.scores, self.turns
        places = np.arange(len(scores)) if among is None else np.asarray(among, np.int64)
        found = scores[places]
        if len(places) > count > 0:  # most need not be put in order
            chosen = found >= np.partition(found, -count)[-count]
            places, found = places[chosen], found[chosen]
        listed = zip(found.tolist(), places.tolist(), strict=True)
        return [place for _, _, place in sorted([(-score, turns[place].id, place) for score, place in listed])[:count]]

    def shortlist(self, chosen: Places, turns: ByPlace) -> Weighing:
        """These alone, to be looked at more closely."""
        others = np.ones(len(self.scores), np.bool_)
        others[chosen] = False
        return Weighing(
            turns=turns,
            scores=self.scores[chosen],
            echoing=self.echoing[chosen],
            whole=self.whole,
            evidence=self.evidence if isinstance(self.evidence, float) else self.evidence[chosen],
            among=self,
            places=chosen,
            highest=float(self.scores[others].max(initial=-inf)),
        )

    def before(self, strategy: str) -> Doubles:
        """The shares of a strategy for all candidates."""
        whole = self.among or self
        return whole.shares.get(strategy, np.zeros(len(whole.scores)))

    def why(self, places: Sequence[int]) -> list[tuple[Reason, ...]]:
        """The strategies that found each of these, its rank in each, and their shares."""
        found = self._ranked([*places])
        if self.among is not None and self.places is not None:
            before = self.among._ranked(self.places[[*places]].tolist())
            found = [[*one, *other] for one, other in zip(before, found, strict=True)]
        return list(map(tuple, found))

    def _ranked(self, places: Sequence[int]) -> list[list[Reason]]:
        names = [name for name in self.shares if name != WORDED]
        if not names or not places:
            return [[] for _ in places]
        shares = np.array([self.shares[name] for name in names])
        own = shares[:, places]
        # What a strategy says nothing about has no rank in it, so that it is not above what it speaks against.
        above = np.add.reduce((shares[:, None, :] > own[:, :, None]).view(np.int8), axis=2, dtype=np.int64)
        if (own < 0).any():
            above -= (own < 0) * (shares == 0).sum(axis=1)[:, None]
        listed = zip(own.T.tolist(), above.T.tolist(), strict=True)
        return [
            [
                _reason((name, rank + 1, round(share, 4)))
                for name, share, rank in zip(names, each, ranks, strict=True)
                if share
            ]
            for each, ranks in listed
        ]


def weigh(
    candidates: Candidates, question: Question, ranking: Ranking, echoing: Collection[int] = frozenset()
) -> Weighing:
    """What words, meaning, company, ties, speaker and time give to each candidate; not yet what its own words do.

    The best of those that do not echo the question is the measure of them all.
    """
    turns = candidates.turns
    is_echo = np.zeros(len(turns), np.bool_)
    is_echo[[*echoing]] = True
    whole = (ranking.text + ranking.vector + 2 * ranking.session) or 1.0
    weighing = Weighing(turns=turns, scores=np.zeros(len(turns)), echoing=is_echo, whole=whole)
    text = turns.spread(candidates.text)
    flow = _relative(_flow(candidates, text, ranking.spread), is_echo)
    text = _relative(text, is_echo)
    vector = text * 0 if candidates.vector is None else _relative(candidates.vector, is_echo, least=SURE)
    weighing.add("text", ranking.text * flow)
    weighing.add(WORDED if candidates.is_worded else "vector", ranking.vector * vector)
    if ranking.session:
        weighing.add("session", ranking.session * _by_session((text, vector), turns.columns.sessions))
    for name in ("entity", "causal", "temporal", "link"):
        if found := getattr(candidates, name):
            weighing.add(name, getattr(ranking, name) * turns.spread(Scored.of(found)))
    if candidates.digests and ranking.digest:
        weighing.add("digest", ranking.digest * _by_digest(candidates, np.maximum(text, vector)))
    weighing.note_evidence()
    _weigh_cues(weighing, turns, question, ranking)
    return weighing


def _weigh_cues(weighing: Weighing, turns: Turns, question: Question, ranking: Ranking) -> None:
    """Score what the question says about person, time and kind of memory."""
    columns, names = turns.columns, turns.names.others
    if question.speakers:
        spoken, is_asked = np.zeros(len(turns)), np.array([name in question.speakers for name in names])
        for place in np.flatnonzero(is_asked[columns.roles]).tolist():
            spoken[place] = ranking.speaker * of_oneself(turns[place].text)
        weighing.add("speaker", spoken)
    if question.times:
        # Once for all turns of a moment, as what was written at once has one.
        dated = [turn.happened_at if turn.is_dated else None for turn in turns]
        nearness = {at: 0.0 if at is None else question.nearness(from_us(at)) for at in {*dated}}
        within = [nearness[at] for at in dated]
        weighing.add("date", ranking.date * np.array(within))
    role = ranking.told if question.asks_what_was_told or question.asks_summary else -ranking.owner
    weighing.add("role", np.where(machines(turns), role, 0.0))
    if question.intent is Intent.HOW and ranking.procedure:
        is_way = columns.kinds == names.get(Kind.PROCEDURAL, -1)
        weighing.lean("procedure", np.where(is_way, ranking.procedure, 0.0))
    recency = ranking.latest if question.intent is Intent.LATEST else ranking.recency
    if recency and len(turns):
        weighing.lean("recent", recency * _recent(turns, weighing.echoing, ranking.recency_days))


def machines(turns: Turns) -> Flags:
    """Which of these a machine said."""
    flags: Flags = np.array([is_machine(name) for name in turns.names.others])[turns.columns.roles]
    return flags


def _flow(candidates: Candidates, text: Doubles, spread: float) -> Doubles:
    """Each word score, with a share of those of its neighbours."""
    near = candidates.near
    if not len(near.places):
        return text
    is_there = near.beside >= 0
    places = near.beside[is_there]
    shares = (near.scores[:, None] * (spread * 0.5 ** (np.abs(DISTANCES) - 1)))[is_there]
    flow = text + np.bincount(places, shares, minlength=len(text))
    # Exact, so that the order in which neighbours come does not show; of two it does not anyway.
    counts = np.bincount(places, minlength=len(text))
    ordered, ends = shares[np.argsort(places, kind="stable")].tolist(), np.cumsum(counts).tolist()
    for place in np.flatnonzero(counts + (text > 0) > 2).tolist():
        flow[place] = fsum((text[place], *ordered[ends[place] - int(counts[place]) : ends[place]]))
    return flow


def _relative(scores: Doubles, echoing: Flags, least: float = 0.0) -> Doubles:
    """Return scores relative to the best one."""
    best = max(_best(scores, echoing), least)
    return np.minimum(scores / best, 1.0) if best > 0 else scores * 0  # only what echoes can be above the best


def _best(scores: Doubles, echoing: Flags) -> float:
    """Return the best score of what does not echo the question, or else of all."""
    others = scores[~echoing].max(initial=0.0) if echoing.any() else 0.0
    return float(others or scores.max(initial=0.0))


def _by_session(lists: Sequence[Doubles], sessions: Numbers) -> Doubles:
    """For each the best of its session in each list, added up; what has no session stands for itself."""
    total, is_in_one = np.zeros(len(sessions)), sessions > 0
    for scores in lists:
        best = np.zeros(int(sessions.max(initial=0)) + 1)
        np.maximum.at(best, sessions, scores)
        total += np.where(is_in_one, best[sessions], scores)
    return total


def _by_digest(candidates: Candidates, scores: Doubles) -> Doubles:
    """How well the digest matches in whose time each memory lies."""
    turns, spans = candidates.turns, {row: page_period(path) for row, path in candidates.digests.items()}
    fit = dict(zip(turns.rows.tolist(), scores.tolist(), strict=True))
    found, happened_at = np.zeros(len(scores)), turns.columns.happened_at
    for row, span in spans.items():
        if span:
            is_within = (happened_at >= day_us(span[0])) & (happened_at < day_us(span[1]) + DAY)
            found = np.where(is_within, np.maximum(found, fit.get(row, 0.0)), found)
    found[np.isin(turns.rows, list(spans))] = 0.0
    return found


def _recent(turns: Turns, echoing: Flags, half_life: float) -> Doubles:
    """From 1 for the newest of the candidates down to 0."""
    happened_at = turns.columns.happened_at
    told = happened_at if echoing.all() else happened_at[~echoing]
    age: Doubles = np.maximum(0.0, (told.max() - happened_at) / DAY / half_life)
    return 0.5**age


# Hints: what the memories' own words say about their use for a question. Pure.


def add_coverage(weighing: Weighing, coverage: Coverage, texts: Sequence[str], people: Flags, ranking: Ranking) -> None:
    """Let it count how much of what is asked a memory covers, and that it is not itself a mere question."""
    weighing.add("cover", ranking.cover * np.where(people, coverage.own, 0.0))
    weighing.add("words", ranking.words * coverage.words)
    weighing.add("around", ranking.around * coverage.around)
    weighing.add("reply", ranking.reply * coverage.asked)
    asking = [nth for nth, turn in enumerate(weighing.turns) if _only_asks(texts[nth], is_turn=bool(turn.role))]
    weighing.add_to("asking", asking, -ranking.asking)


@lru_cache(KEPT)
def _only_asks(text: str, *, is_turn: bool) -> bool:
    return is_short_question(text) or (is_turn and names_something(text))


def fits(weighing: Weighing, vector: Doubles, coverage: Coverage, order: Sequence[int], rarity: Rarity) -> Doubles:
    """How well each memory of this order, best first, answers the question: about the share of such hits that do.

    It means the same in every answer and in homes of every size and age: what a memory is worth and how far it has
    faded change its place, not what it says. What only asks answers nothing.
    """
    weights = LEXICON.table("fit")
    size = min(1.0, math.log(1 + rarity.size) / math.log(weights["full_size"]))
    same = weights["base"] + weights["asked"] * math.log(1 + len(rarity.weights))
    same += size * (weights["size"] + weights["absent"] * rarity.absent)

    scores = weighing.scores / weighing.whole
    for worth in WORTH:
        if worth in weighing.shares:
            scores = scores - weighing.shares[worth] / weighing.whole
    places = np.array(order, np.int64)
    scores = scores[places]
    own = weights["score"] * scores + weights["behind"] * (scores.max(initial=0.0) - scores)
    own += weights["vector"] * vector[places] + weights["words"] * coverage.words[places]
    own += weights["rank"] * np.log(np.arange(1, len(places) + 1))
    found = 1 / (1 + np.exp(-np.minimum(np.maximum(same + own, -50.0), 50.0)))
    return np.where(weighing.echoing[places], 0.0, found)


def add_hints(
    weighing: Weighing, looks: Sequence[MemoryColumns], people: Flags, question: Question, ranking: Ranking
) -> None:
    """Let it count that a memory tells what is asked for: a time, a name, a number, a wish that stands."""
    said = [turn.text for turn in weighing.turns]

    def lean(strategy: str, weight: float, telling: Iterable[bool]) -> None:
        if weight:
            weighing.lean(strategy, weight * np.array([*telling], np.float64))

    when = ranking.time + ranking.when * (question.intent is Intent.WHEN)
    lean("when", when, [tells("time", text) for text in said])
    if question.asks_name:
        known = {word for look in looks for word in (look.life.role or "").split("_")}
        lean("name", ranking.name, [bool(_names(text) - known) for text in said])
    if question.asks_own:
        own = people & np.array([*map(tells_of_user, said)], np.bool_)
        # Where nearly everything is told of whoever asks, that tells nothing apart.
        lean("own", SELF * (1 - int(own.sum()) / (int(people.sum()) or 1)) ** 2, own)
    if question.asks_number:
        lean("number", ranking.number, [tells("number", text) for text in said])
    if not question.is_broad:
        # How somebody wants things matters whatever the help is about that is asked for, and else as far as it fits.
        give, worth = (weighing.add, ranking.help) if question.asks_help else (weighing.lean, 0.0)
        is_wish = people & np.array([*map(is_standing_wish, said)], np.bool_)
        give("standing", np.where(is_wish, ranking.standing + worth, 0.0))


# What a memory is worth apart from the question: how important, certain, trusted and awake it is. Pure.

TRUSTED = frozenset({Origin.OWNER.value, Origin.AGENT.value})
SUMMARIES = frozenset({"digest", "session", "summary", "consolidation"})
"""Sources that only summarize other memories."""
PAGE = "page"
CITED = re.compile(r"\s*\((?:[A-Z]-\w+-\w+(?:,\s)?)+\)")
"""The ids that summaries and digests put behind a sentence."""
ASLEEP = frozenset({Phase.DORMANT, Phase.ARCHIVED})
WORTH = ("importance", "confidence", "fading", "newer", "older")
"""Parts of a memory's rank that do not affect how well it answers."""


def is_bare(source: str, content: str) -> bool:
    """Whether a passage of a page or a summary has only headings, labels and counts, and so tells nothing."""
    return (source == PAGE or source in SUMMARIES) and _has_only_labels(content)


@lru_cache(KEPT)
def _has_only_labels(content: str) -> bool:
    return all(pattern("bare").fullmatch(part.strip()) for part in sentences(CITED.sub("", content)))


def add_merit(
    weighing: Weighing, looks: Sequence[MemoryColumns], now: int, at: int, ranking: Ranking, decay: Decay
) -> list[Phase]:
    """Let what memories are worth count in their scores; returns how far each has faded.

    `at` is the time for which they should be true.
    """
    if not looks:
        return []
    _, sources, importance, confidence, origins, begins, ends, *_, lives = zip(*looks, strict=True)
    found = phases(lives, now, decay)

    def scale(strategy: str, telling: Iterable[bool], loss: float) -> None:
        weighing.scale(strategy, np.where([*telling], 1 - loss, 1.0))

    # Most often all are alike, which is seen soonest.
    if {*importance} != {0.5}:
        weighing.scale("importance", 1 + ranking.importance * (2 * np.array(importance) - 1))
    if {*confidence} != {1.0}:
        weighing.scale("confidence", 1 - ranking.confidence * (1 - np.array(confidence)))
    if not SUMMARIES.isdisjoint(sources):
        scale("summary", map(SUMMARIES.__contains__, sources), ranking.summaries)
    if not TRUSTED.issuperset(origins):
        scale("trust", (origin not in TRUSTED for origin in origins), ranking.trust)
    if any((*begins, *ends)):
        scale("expired", (not _is_true(*span, at) for span in zip(begins, ends, strict=True)), ranking.expired)
    if {*found} != {Phase.ACTIVE}:
        scale("fading", (each is not Phase.ACTIVE for each in found), ranking.fading)
    return found


def _is_true(begin: int | None, end: int | None, at: int) -> bool:
    return (begin is None or begin <= at) and (end is None or end > at)


def awake(order: list[int], scores: Sequence[float], phases: Sequence[Phase], bar: float) -> list[int]:
    """The places without dormant ones, but for those that answer well: they have `bar` of the best awake one's score.

    Who asks for something that was said long ago and never again searches for just that.
    """
    best = max((scores[place] for place in order if phases[place] not in ASLEEP), default=-inf)
    return [place for place in order if phases[place] not in ASLEEP or scores[place] >= bar * best]


# Maximal marginal relevance: each next hit is one that fits and is not like those above it. Pure.


def diversify(
    order: Sequence[int], scores: Mapping[int, float], contents: Mapping[int, str], weight: float
) -> list[int]:
    """The rows in an order in which likeness to those before costs `weight` of fitting; 0 leaves them as they are."""
    if not weight or len(order) < 3:
        return list(order)
    words = {row: frozenset(term.casefold() for term in terms(contents[row], limit=64)) for row in order}
    fits = _fits(order, scores)
    likeness = dict.fromkeys(order, 0.0)
    chosen: list[int] = []
    left = list(order)
    while left:
        row = max(left, key=lambda each: (1 - weight) * fits[each] - weight * likeness[each])
        left.remove(row)
        chosen.append(row)
        for other in left:
            union = words[row] | words[other]
            jaccard = len(words[row] & words[other]) / len(union) if union else 0.0
            likeness[other] = max(likeness[other], jaccard)
    return chosen


def _fits(order: Sequence[int], scores: Mapping[int, float]) -> dict[int, float]:
    """The scores from 0 for the least to 1 for the best, whatever their signs."""
    given = {row: scores.get(row, 0.0) for row in order}
    least, most = min(given.values()), max(given.values())
    return {row: (score - least) / (most - least) if most > least else 1.0 for row, score in given.items()}


# Recall in hops: what the hits say leads to what shares no word with the question. Pure.
#
# Each hop looks for the most telling words of the hits before, and follows their ties; it has a share of the limit,
# so that direct hits do not starve it, and what it does not fill goes back to them.

SOURCES = 5
"""From how many of the best hits a hop takes its words."""
FADE = 0.5
"""The weight of a hit after one more hop."""

Step = Callable[[Sequence[Hit], int], Sequence[Hit]]
"""From hits, and how many more are wanted, to those one hop further."""


def with_hops(direct: Sequence[Hit], step: Step, *, depth: int, limit: int, share: float) -> list[Hit]:
    """The best of all hops, each with its depth; `direct` are at least `limit` hits if there are so many."""
    # Each further hop has its share of the places, or direct hits would take them all.
    quota = max(1, int(limit * share)) if limit > 1 and share else 0
    first = max(1, limit - depth * quota)
    hops: list[list[Hit]] = [list(direct[:first])]
    known = {hit.memory.id for hit in direct}
    for _ in range(depth if quota else 0):
        if not hops[-1]:
            break
        further = [hit for hit in step(hops[-1], quota + len(known)) if hit.memory.id not in known]
        hops.append(further[:quota])
        known.update(hit.memory.id for hit in hops[-1])
    found = [hit for hop in hops for hit in hop][:limit]
    found += direct[first : first + limit - len(found)]
    return sorted(found, key=lambda hit: (-hit.score, hit.memory.id))


def hop_words(
    hits: Sequence[Hit], known: Sequence[str], frequencies: Callable[[Sequence[str]], Mapping[str, int]], count: int
) -> list[str]:
    """The most telling words of the best hits and their tags that are not known yet: often there, rare elsewhere."""
    seen = {word.casefold() for word in known}
    often: Counter[str] = Counter()
    for hit in hits[:SOURCES]:
        words = {*hit.memory.tags, *filter(_can_tell, terms(hit.memory.content))}
        often.update(sorted({word.casefold() for word in words} - seen))
    rare = frequencies(list(often))
    worth = {word: times / math.log(2 + rare.get(word, 0)) for word, times in often.items() if rare.get(word, 0) > 1}
    return sorted(worth, key=lambda word: (-worth[word], word))[:count]


def _can_tell(word: str) -> bool:
    """Long words, acronyms, and what mixes in digits or has letters of other scripts; not a bare small number."""
    has_more = not word.isascii() or not (word.isalpha() or word.isdigit())
    return len(word) > 3 or word.isupper() or has_more
