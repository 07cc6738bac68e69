"""Ranking candidates: evidence is weighed, hints and merit are added, near-duplicates are spread, hops follow. Pure."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import accumulate, compress, islice
from math import fsum, inf
from operator import itemgetter
from typing import NamedTuple
from unicodedata import combining, normalize

from memfolio.decay import DAY, Phase, phase, relevance
from memfolio.index.lookup import MemoryColumns
from memfolio.index.read_files import page_period
from memfolio.index.rows import day_us, from_us
from memfolio.index.search import TurnColumns
from memfolio.recall.candidates import SURE, Candidates, Scores, Turns
from memfolio.recall.dates import LEXICON, pattern, words
from memfolio.recall.hit import MARKS, Hit, Reason, asks, is_short_question, names_something, stem
from memfolio.recall.question import Intent, Question, by_words
from memfolio.settings import Decay, Ranking
from memfolio.text import FUNCTION_WORDS, sentences, terms
from memfolio.types import Kind, Origin

# What a memory's own words say about its use: that they tell a time, a name, a number or a wish that stands.
#
# English, but for names and figures. What was read is kept, since the same memories come up again and again. Pure.

KEPT = 8192
_session, _role = (itemgetter(TurnColumns._fields.index(name)) for name in ("session", "role"))
OWN, MOST_OWN = 0.07, 3
"""How much more a turn is worth for each `I` or `my` in it, and how many of them count."""
SELF = 0.8
"""How much it counts that something is told of whoever asks, where they ask about themselves."""
REACTION = 0.17
"""How much less if it begins as a reaction to what others said."""
_whole = itemgetter(0)
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
    """The rows whose texts ask what the question asks, in its words or nearly, or for something else in a few words."""
    asked, most = _stems(question), longest(question)
    # Skips nearly all candidates without a Python-level loop.
    short = list(compress(texts, map(most.__ge__, map(len, texts.values()))))
    alike = compress(short, map(asked.issuperset, map(_opening, map(texts.__getitem__, short))))
    return frozenset(row for row in alike if _is_echo(texts[row], asked))


@lru_cache(2 * KEPT)
def _opening(text: str) -> frozenset[str]:
    """Stems of the first words that tell something, by which most texts are seen to say more than the question.

    None of a text that asks: it may say more than that.
    """
    return frozenset() if asks(text) else frozenset(islice(_telling(text), 2))


def _is_echo(text: str, asked: Set[str]) -> bool:
    # One word beyond the question tells most texts apart; looking for question words takes ten times as long.
    if _opening(text) and _says_more(text, asked):
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
    is_one = len(parts) < 2 or sum(not _stems(part) <= _asking_stems() for part in parts) < 2
    return _Asking(_stems(text) - _asking_stems(), is_question and is_one)


@cache
def _asking_stems() -> frozenset[str]:
    return frozenset(map(_root, words("asking_words")))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_root, terms(text)))


def _root(word: str) -> str:
    """Return a common stem of `like` and `likes`."""
    return stem(word).removesuffix("e")


# How much of what is asked a memory covers, by its own words and by those of the turns around it. Pure.

REACH = 2
"""How many turns before and after a memory count as said with it."""
FEW_MEMORIES = 200
_SIDES = tuple(range(step, step * (REACH + 1), step) for step in (-1, 1))
"""The distances before and after, the nearest first."""


class Coverage(NamedTuple):
    """The share of the question's words, weighted by rarity, in a memory and in its neighbours."""

    own: float = 0.0
    around: float = 0.0
    """What neighbouring turns of people add."""
    asked: float = 0.0
    """What the question just before it contains."""
    words: int = 0
    """How many of the words it has."""


_coverage = partial(tuple.__new__, Coverage)


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


def cover(rows: Iterable[int], texts: Mapping[int, str], candidates: Candidates, rarity: Rarity) -> dict[int, Coverage]:
    """How much of the words of a question these rows cover."""
    weights = {_key(word): weight for word, weight in rarity.weights.items()}
    total = fsum(weights.values()) or 1.0
    rows = set(rows)
    beside = _beside(candidates, rows)
    having = _having(weights, texts, rows.union(*(others.values() for others in beside.values())))

    @cache
    def share(keys: int) -> float:
        return fsum([weight for nth, weight in enumerate(weights.values()) if keys >> nth & 1]) / total

    found: dict[int, Coverage] = {}
    for row in rows:
        keys, others = having.get(row, 0), beside.get(row)
        own = share(keys)
        if others is None or having.keys().isdisjoint(others.values()):
            found[row] = _coverage((own, 0.0, 0.0, keys.bit_count()))
            continue
        together, before = keys, others.get(-1)
        for other in others.values():
            together |= having.get(other, 0)
        asked = 0.0
        if before is not None and before in having and texts[before].rstrip().endswith(MARKS):
            asked = share(having[before])
        found[row] = _coverage((own, share(together) - own, asked, keys.bit_count()))
    return found


def _having(keys: Iterable[str], texts: Mapping[int, str], rows: Iterable[int]) -> dict[int, int]:
    """The keys that each of these rows has, as bits in their order; rows without any are left out."""
    known = [row for row in rows if row in texts]
    # All texts are searched as one: most of them have none of the keys.
    lines = [texts[row] for row in known]
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


def _beside(candidates: Candidates, rows: Set[int]) -> dict[int, dict[int, int]]:
    """Return for each of these rows the turns of people up to `REACH` before and after it, with distances.

    A machine's answer ends a stretch of turns.
    """
    turns = candidates.turns
    near: dict[int, dict[int, int]] = {}
    for row, pairs in candidates.near.items():
        if row not in turns:
            continue
        own = near.setdefault(row, {}) if row in rows else {}
        for other, distance in pairs:
            if -REACH <= distance <= REACH and other in turns:
                own[distance] = other
                if other in rows:
                    near.setdefault(other, {})[-distance] = row
    machines = set(filter(is_machine, set(map(_role, turns.values()))))
    found: dict[int, dict[int, int]] = {}
    for row, others in near.items():
        if turns[row].role in machines:
            continue
        for side in _SIDES:
            for distance in side:
                beside = others.get(distance)
                if beside is None or turns[beside].role in machines:
                    break
                found.setdefault(row, {})[distance] = beside
    return found


# Weighing candidates: what speaks for each, measured against the best of its kind, weighed and added. Pure.

LEAST = 1e-5
"""By how much of a score one comes behind another."""


WORDED = "worded"
"""The share that words give in place of an unknown similarity; not a strategy of its own."""


@dataclass(slots=True)
class Weighing:
    """The share of each strategy in each candidate's score, and the sum."""

    turns: Turns
    whole: float = 1.0
    """The score that counts as full."""
    echoing: Set[int] = frozenset()
    """Rows that only ask: the scores of the others are not relative to theirs."""
    shares: dict[str, Scores] = field(default_factory=dict)
    scores: dict[int, float] = field(init=False)
    _sorted: dict[str, list[float]] = field(default_factory=dict)
    evidence: Scores = field(default_factory=dict)
    """The scores before hints count, beside which these only lean."""

    def __post_init__(self) -> None:
        self.scores = dict.fromkeys(self.turns, 0.0)

    def add(self, strategy: str, shares: Scores) -> None:
        """Add a strategy's share to each row."""
        scores = self.scores
        if not self.shares:
            scores.update(shares)  # every score is 0 yet
        else:
            for row, share in shares.items():
                scores[row] += share
        if shares:
            self.shares[strategy] = shares

    def lean(self, strategy: str, shares: Scores) -> None:
        """Add a hint's points: all of them to rows found by their words, to others in proportion to their evidence.

        A hint tells two memories apart that both fit; it does not make one fit that does not.
        """
        own, worded = self.evidence, self.shares.get("text", {})
        most = _best(own, self.echoing)
        parts = {row: 1.0 if row in worded or most <= 0 else min(1.0, max(0.0, own[row] / most)) for row in shares}
        self.add(strategy, {row: share * parts[row] for row, share in shares.items()})

    def scale(self, strategy: str, factors: Scores) -> None:
        """Multiply positive scores; negative ones stay."""
        scores = self.scores
        self.add(
            strategy,
            {
                row: share
                for row, factor in factors.items()
                if factor != 1 and (score := scores[row]) > 0 and (share := score * (factor - 1))
            },
        )

    def hold_back(self, strategy: str, rows: Iterable[int], factor: float, behind: Iterable[int]) -> None:
        """Multiply the scores of some rows, and rank them behind the others."""
        scores = self.scores
        most = min((scores[row] for row in behind), default=inf) - LEAST
        lowered = {row: min(scores[row] * (factor if scores[row] > 0 else 1.0), most) for row in rows}
        self.add(strategy, {row: score - scores[row] for row, score in lowered.items() if score != scores[row]})

    def best(self, count: int, among: Iterable[int] | None = None) -> list[int]:
        """The rows with most to speak for them, equal ones by id."""
        scores, turns = self.scores, self.turns
        rows = list(turns if among is None else among)
        if not rows:
            return []
        if len(rows) > count:  # most need not be put in order
            least = sorted([scores[row] for row in rows], reverse=True)[count - 1]
            rows = [row for row in rows if scores[row] >= least]
        return [row for _, _, row in sorted([(-scores[row], turns[row].id, row) for row in rows])[:count]]

    def why(self, row: int) -> tuple[Reason, ...]:
        """Return the strategies that found a row, its rank in each, and their shares."""
        return tuple(
            [
                _reason((name, self._rank(name, share), round(share, 4)))
                for name, shares in self.shares.items()
                if name != WORDED and (share := shares.get(row))
            ]
        )

    def _rank(self, strategy: str, share: float) -> int:
        if strategy not in self._sorted:
            self._sorted[strategy] = sorted(self.shares[strategy].values())
        ordered = self._sorted[strategy]
        return 1 + len(ordered) - bisect_right(ordered, share)


def weigh(candidates: Candidates, question: Question, ranking: Ranking, echoing: Set[int] = frozenset()) -> Weighing:
    """What words, meaning, company, ties, speaker and time give to each candidate; not yet what its own words do.

    The best of those that do not echo the question is the measure of them all.
    """
    turns = candidates.turns
    weighing = Weighing(turns, whole=(ranking.text + ranking.vector + 2 * ranking.session) or 1.0, echoing=echoing)
    text, vector = _relative(candidates.text, turns, echoing), _relative(candidates.vector, turns, echoing, least=SURE)
    weighing.add("text", _times(ranking.text, _relative(_flow(candidates, ranking.spread), turns, echoing)))
    weighing.add(WORDED if candidates.is_worded else "vector", _times(ranking.vector, vector))
    weighing.add("session", _by_session(ranking.session, (text, vector), turns))
    for name in ("entity", "causal", "temporal", "link"):
        found: Scores = getattr(candidates, name)
        if found:
            weighing.add(name, _times(getattr(ranking, name), {row: found[row] for row in found if row in turns}))
    if candidates.digests:
        weighing.add("digest", _times(ranking.digest, _by_digest(candidates, text, vector)))
    weighing.evidence = dict(weighing.scores)
    _weigh_cues(weighing, question, ranking)
    return weighing


def _weigh_cues(weighing: Weighing, question: Question, ranking: Ranking) -> None:
    """Score what the question says about person, time and kind of memory."""
    turns = weighing.turns
    if question.speakers:
        asked, weight = question.speakers, ranking.speaker
        spoken = {row: weight * of_oneself(turn.text) for row, turn in turns.items() if turn.role in asked}
        weighing.add("speaker", spoken)
    if question.times:
        # Once for all turns of a moment, as what was written at once has one.
        moments = {row: turn.happened_at for row, turn in turns.items() if turn.is_dated}
        nearness = {at: question.nearness(from_us(at)) for at in {*moments.values()}}
        within = {row: nearness[at] for row, at in moments.items()}
        weighing.add("date", _times(ranking.date, within))
    role = ranking.told if question.asks_what_was_told or question.asks_summary else -ranking.owner
    if role:
        machines = set(filter(is_machine, set(map(_role, turns.values()))))
        weighing.add("role", {row: role for row, turn in turns.items() if turn.role in machines})
    if question.intent is Intent.HOW and ranking.procedure:
        ways = [row for row, turn in turns.items() if turn.kind == Kind.PROCEDURAL]
        weighing.lean("procedure", dict.fromkeys(ways, ranking.procedure))
    recency = ranking.latest if question.intent is Intent.LATEST else ranking.recency
    if recency and turns:
        weighing.lean("recent", _times(recency, _recent(turns, weighing.echoing, ranking.recency_days)))


def _times(weight: float, scores: Scores) -> dict[int, float]:
    return {row: weight * score for row, score in scores.items() if score > 0} if weight else {}


def _flow(candidates: Candidates, spread: float) -> dict[int, float]:
    """Return each row's word score, with a share of its neighbours' scores."""
    text = candidates.text
    flow, several = dict(text), dict[int, list[float]]()
    parts = {distance: spread * 0.5 ** (abs(distance) - 1) for distance in range(-8, 9) if distance}
    for row, near in candidates.near.items():
        score = text[row]
        for other, distance in near:
            share = parts[distance] * score
            if other not in flow:
                flow[other] = share
            elif other in several:
                several[other].append(share)
            else:
                several[other] = [flow[other], share]
    # Exact, so that the order in which neighbours come does not show.
    flow.update({row: fsum(scores) for row, scores in several.items()})
    return flow


def _relative(scores: Scores, turns: Turns, echoing: Set[int], least: float = 0.0) -> dict[int, float]:
    """Return scores relative to the best one."""
    own = scores if scores.keys() <= turns.keys() else {row: score for row, score in scores.items() if row in turns}
    best = max(_best(own, echoing), least)
    if best <= 0:
        return {}
    found = {row: score / best for row, score in own.items()}
    return found | {row: min(1.0, found[row]) for row in echoing if row in found}  # only these can be above the best


def _best(scores: Scores, echoing: Set[int]) -> float:
    """Return the best score of rows that do not echo the question, or else of all."""
    others = [score for row, score in scores.items() if row not in echoing] if echoing else None
    return max(others or scores.values(), default=0.0)


def _by_session(weight: float, lists: Sequence[Scores], turns: Turns) -> dict[int, float]:
    """Weigh for each row the best of its session in each list, added up; what has no session stands for itself."""
    if not weight:
        return {}
    sessions = dict(zip(turns, map(_session, turns.values()), strict=True))
    total = dict.fromkeys(sessions.values(), 0.0)
    for scores in lists:
        best = dict.fromkeys(total, 0.0)
        for row, score in scores.items():
            session = sessions[row]
            if score > best[session]:
                best[session] = score
        for session, score in best.items():
            total[session] += score
    shares = {session: weight * score for session, score in total.items() if session is not None}
    found = {row: share for row, session in sessions.items() if (share := shares.get(session))}
    if None in total:
        alone = [row for row, session in sessions.items() if session is None]
        found |= _times(weight, {row: sum(scores.get(row, 0.0) for scores in lists) for row in alone})
    return found


def _by_digest(candidates: Candidates, *lists: Scores) -> dict[int, float]:
    """Return for memories in the time of a digest how well that digest matches."""
    spans = {row: page_period(path) for row, path in candidates.digests.items()}
    fits = {row: max(scores.get(row, 0.0) for scores in lists) for row in spans}
    bounds = [(day_us(span[0]), day_us(span[1]), fits[row]) for row, span in spans.items() if span]
    return {
        row: max((fit for start, end, fit in bounds if start <= turn.happened_at < end + DAY), default=0.0)
        for row, turn in candidates.turns.items()
        if row not in spans
    }


def _recent(turns: Turns, echoing: Set[int], half_life: float) -> dict[int, float]:
    """From 1 for the newest of the candidates down to 0."""
    newest = _best({row: turn.happened_at for row, turn in turns.items()}, echoing)
    return {row: 0.5 ** max(0.0, (newest - turn.happened_at) / DAY / half_life) for row, turn in turns.items()}


# Hints: what the memories' own words say about their use for a question. Pure.


def add_coverage(
    weighing: Weighing, coverage: Mapping[int, Coverage], texts: Mapping[int, str], ranking: Ranking
) -> None:
    """Let it count how much of what is asked a memory covers, and that it is not itself a mere question."""
    turns = weighing.turns
    people = {row: each for row, each in coverage.items() if not is_machine(turns[row].role)}
    weighing.add("cover", _times(ranking.cover, {row: each.own for row, each in people.items()}))
    weighing.add("words", _times(ranking.words, {row: float(each.words) for row, each in coverage.items()}))
    weighing.add("around", _times(ranking.around, {row: each.around for row, each in coverage.items()}))
    weighing.add("reply", _times(ranking.reply, {row: each.asked for row, each in coverage.items()}))
    said = {row: texts.get(row, "") for row in coverage}
    asking = [
        row for row, text in said.items() if is_short_question(text) or (turns[row].role and names_something(text))
    ]
    weighing.add("asking", dict.fromkeys(asking, -ranking.asking))


def fits(
    order: Sequence[int], weighing: Weighing, vector: Scores, coverage: Mapping[int, Coverage], rarity: Rarity
) -> dict[int, float]:
    """How well each row, best first, answers the question: about the share of such hits that do.

    It means the same in every answer and in homes of every size and age: what a memory is worth and how far it has
    faded change its place, not what it says. What only asks answers nothing.
    """
    weights = LEXICON.table("fit")
    size = min(1.0, math.log(1 + rarity.size) / math.log(weights["full_size"]))
    same = weights["base"] + weights["asked"] * math.log(1 + len(rarity.weights))
    same += size * (weights["size"] + weights["absent"] * rarity.absent)

    scores = {row: weighing.scores[row] / weighing.whole for row in order}
    for worth in filter(None, map(weighing.shares.get, WORTH)):
        scores = {row: score - worth.get(row, 0.0) / weighing.whole for row, score in scores.items()}
    best = max(scores.values(), default=0.0)
    found: dict[int, float] = {}
    for place, (row, score) in enumerate(scores.items(), start=1):
        own = weights["score"] * score + weights["behind"] * (best - score)
        own += weights["vector"] * vector.get(row, 0.0)
        own += weights["words"] * coverage[row].words + weights["rank"] * math.log(place)
        found[row] = 1 / (1 + math.exp(-min(max(same + own, -50.0), 50.0)))
    return found | {row: 0.0 for row in weighing.echoing if row in found}


def add_hints(weighing: Weighing, looks: Mapping[int, MemoryColumns], question: Question, ranking: Ranking) -> None:
    """Let it count that a memory tells what is asked for: a time, a name, a number, a wish that stands."""
    said = {row: weighing.turns[row].text for row in looks}
    people = {row: text for row, text in said.items() if not is_machine(looks[row].life.role)}

    def lean(strategy: str, weight: float, rows: Iterable[int]) -> None:
        if weight:
            weighing.lean(strategy, dict.fromkeys(rows, weight))

    when = ranking.time + ranking.when * (question.intent is Intent.WHEN)
    lean("when", when, (row for row, text in said.items() if tells("time", text)))
    if question.asks_name:
        known = {word for look in looks.values() for word in (look.life.role or "").split("_")}
        lean("name", ranking.name, (row for row, text in said.items() if _names(text) - known))
    if question.asks_own:
        own = [row for row, text in people.items() if tells_of_user(text)]
        # Where nearly everything is told of whoever asks, that tells nothing apart.
        lean("own", SELF * (1 - len(own) / (len(people) or 1)) ** 2, own)
    if question.asks_number:
        lean("number", ranking.number, (row for row, text in said.items() if tells("number", text)))
    if not question.is_broad:
        # How somebody wants things matters whatever the help is about that is asked for, and else as far as it fits.
        give, worth = (weighing.add, ranking.help) if question.asks_help else (weighing.lean, 0.0)
        wishes = [row for row, text in people.items() if is_standing_wish(text)]
        give("standing", dict.fromkeys(wishes, ranking.standing + worth))


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
    weighing: Weighing, looks: Mapping[int, MemoryColumns], now: int, at: int, ranking: Ranking, decay: Decay
) -> dict[int, Phase]:
    """Let what memories are worth count in their scores; returns how far each has faded.

    `at` is the time for which they should be true.
    """
    phases = {row: phase(relevance(look.life, now, decay), decay) for row, look in looks.items()}
    weighing.scale("importance", {row: 1 + ranking.importance * (2 * x.importance - 1) for row, x in looks.items()})
    weighing.scale("confidence", {row: 1 - ranking.confidence * (1 - x.confidence) for row, x in looks.items()})
    summaries = [row for row, look in looks.items() if look.source in SUMMARIES]
    weighing.scale("summary", dict.fromkeys(summaries, 1 - ranking.summaries))
    strange = [row for row, look in looks.items() if look.origin not in TRUSTED]
    weighing.scale("trust", dict.fromkeys(strange, 1 - ranking.trust))
    untrue = [row for row, look in looks.items() if not _is_true(look, at)]
    weighing.scale("expired", dict.fromkeys(untrue, 1 - ranking.expired))
    faded = [row for row, each in phases.items() if each is not Phase.ACTIVE]
    weighing.scale("fading", dict.fromkeys(faded, 1 - ranking.fading))
    return phases


def _is_true(look: MemoryColumns, at: int) -> bool:
    return (look.valid_from is None or look.valid_from <= at) and (look.valid_until is None or look.valid_until > at)


def awake(order: list[int], scores: Scores, phases: Mapping[int, Phase], bar: float) -> list[int]:
    """The rows without dormant ones, but for those that answer well: they have `bar` of the best awake one's score.

    Who asks for something that was said long ago and never again searches for just that.
    """
    best = max((scores.get(row, 0.0) for row in order if phases.get(row) not in ASLEEP), default=-math.inf)
    return [row for row in order if phases.get(row) not in ASLEEP or scores.get(row, 0.0) >= bar * best]


# Maximal marginal relevance: each next hit is one that fits and is not like those above it. Pure.


def diversify(order: Sequence[int], scores: Scores, contents: Mapping[int, str], weight: float) -> list[int]:
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


def _fits(order: Sequence[int], scores: Scores) -> dict[int, float]:
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
