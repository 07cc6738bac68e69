"""Ranking candidates: evidence is weighed, hints and merit are added, near-duplicates are spread, hops follow. Pure."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from math import fsum, inf
from operator import attrgetter
from typing import NamedTuple
from unicodedata import combining, normalize

from memfolio.decay import DAY, Phase, phase, relevance
from memfolio.index.lookup import MemoryColumns
from memfolio.index.read_files import page_period
from memfolio.index.rows import day_us, from_us
from memfolio.recall.candidates import SURE, Candidates, Scores, Turns
from memfolio.recall.dates import LEXICON, pattern, words
from memfolio.recall.hit import MARKS, Hit, Reason, is_short_question, stem
from memfolio.recall.question import Intent, Question, by_words
from memfolio.settings import Decay, Ranking
from memfolio.text import FUNCTION_WORDS, sentences, terms
from memfolio.types import Kind, Origin

# What a memory's own words say about its use: that they tell a time, a name, a number or a wish that stands.
#
# English, but for names and figures. What was read is kept, since the same memories come up again and again. Pure.

KEPT = 8192
_role = attrgetter("role")

# A capital that begins neither the text nor a sentence.
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-ZÀ-ÖØ-Þ][^\W\d_]+")


@lru_cache(KEPT)
def tells(what: str, content: str) -> bool:
    """Whether a text tells a `time` or a `number`."""
    return pattern(what).search(content.lower()) is not None


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
def is_machine(role: str | None) -> bool:
    return role is not None and role.casefold() in words("machines")


# Memories that only ask what is asked: they fit a question best of all, and answer nothing. Pure.

FEW = 4
"""Words of a question that tells nothing of who asks it."""
QUESTIONS = (Intent.WHY, Intent.WHEN, Intent.WHO, Intent.WHAT, Intent.HOW)
_PLAIN_WORD = re.compile(r"(?<!\S)[a-z]{3,}(?!\S)")
"""A word that is a term of its text as it stands, unless it is a function word."""


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
    return frozenset(
        row for row, text in texts.items() if len(text) <= most and _opening(text) <= asked and _is_echo(text, asked)
    )


@lru_cache(2 * KEPT)
def _opening(text: str) -> frozenset[str]:
    """Stems of the first words that tell something, by which most texts are seen to say more than the question.

    None of a text that asks: it may say more than that.
    """
    return frozenset() if text.rstrip().endswith(MARKS) else frozenset(islice(_telling(text), 2))


def _is_echo(text: str, asked: Set[str]) -> bool:
    # One word beyond the question tells most texts apart; looking for question words takes ten times as long.
    if not text.rstrip().endswith(MARKS) and _says_more(text, asked):
        return False
    asking = _asking(text)
    if asking is None:
        return False
    # A single question asks even where it adds a few words; what has other sentences may tell something in them.
    beyond, common = asking.stems - asked, asking.stems & asked
    if not asking.is_question:
        return not beyond
    return 2 * len(beyond) <= len(common) + 1 if common else len(beyond) <= FEW


def _says_more(text: str, asked: Set[str]) -> bool:
    return any(each not in asked for each in _telling(text))


def _telling(text: str) -> Iterator[str]:
    roots = (_root(match[0]) for match in _PLAIN_WORD.finditer(text) if match[0] not in FUNCTION_WORDS)
    return (root for root in roots if root not in _asking_stems())


@lru_cache(KEPT)
def _asking(text: str) -> _Asking | None:
    """What a text asks for; None where it asks nothing."""
    parts = [part for part in sentences(text) if not _stems(part) <= _asking_stems()]
    is_marked = text.rstrip().endswith(MARKS)
    if not is_marked and by_words(text) not in QUESTIONS and not pattern("requests").search(text.lower()):
        return None
    return _Asking(_stems(text) - _asking_stems(), is_marked and len(parts) < 2)


@cache
def _asking_stems() -> frozenset[str]:
    return frozenset(map(_root, words("asking_words")))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_root, terms(text)))


def _root(word: str) -> str:
    """A stem as one of the same word: `like` and `likes`."""
    return stem(word).removesuffix("e")


# How much of what is asked a memory covers, by its own words and by those of the turns around it. Pure.

REACH = 2
"""How many turns before and after a memory count as said with it."""
FEW_MEMORIES = 200
_WORD = re.compile(r"\w+")


class Coverage(NamedTuple):
    """What of the question's words, weighed by their rarity, is in a memory and in the turns beside it."""

    own: float = 0.0
    around: float = 0.0
    """What the turns of people around it add."""
    asked: float = 0.0
    """What is in the question that it stands right behind."""
    words: int = 0
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


def cover(rows: Iterable[int], texts: Mapping[int, str], candidates: Candidates, rarity: Rarity) -> dict[int, Coverage]:
    """How much of the words of a question these rows cover."""
    weights = {_key(word): weight for word, weight in rarity.weights.items()}
    total = fsum(weights.values()) or 1.0
    said: dict[int, frozenset[str]] = {}
    rows = set(rows)
    beside = _beside(candidates, rows)

    def having(row: int) -> frozenset[str]:
        if row not in said:
            text = _plain(texts.get(row, ""))
            said[row] = frozenset([key for key in weights if key in text and _has(text, key)])
        return said[row]

    def share(keys: Iterable[str]) -> float:
        return fsum(weights[key] for key in keys) / total

    found: dict[int, Coverage] = {}
    for row in rows:
        keys, others = having(row), beside.get(row, {})
        own, before = share(keys), others.get(-1)
        around = share(keys.union(*map(having, others.values()))) - own if others else 0.0
        asks = before is not None and texts.get(before, "").rstrip().endswith(MARKS)
        found[row] = Coverage(own, around, share(having(before)) if asks and before is not None else 0.0, len(keys))
    return found


def _plain(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(each for each in normalize("NFKD", text.casefold()) if not combining(each))


def _key(word: str) -> str:
    """What a text must have for a word of the question; other alphabets have longer endings."""
    key = _plain(stem(word))
    return key if key.isascii() else key[: max(4, len(key) - 3)]


def _has(text: str, key: str) -> bool:
    """Whether a plain text has a word with this stem."""
    at = text.find(key)
    while at >= 0:
        if not key.isascii():
            return True
        word = _WORD.match(text, at)
        if word and not text[at - 1 : at].isalnum() and stem(word[0]) in (key, f"{key}e", key.removesuffix("e")):
            return True
        at = text.find(key, at + 1)
    return False


def _beside(candidates: Candidates, rows: Set[int]) -> dict[int, dict[int, int]]:
    """For each of these rows the turns of people up to `REACH` before and after it, by their distances.

    What a machine answers ends what was said together.
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
        for side in (-1, 1):
            for distance in range(side, side * (REACH + 1), side):
                beside = others.get(distance)
                if beside is None or turns[beside].role in machines or turns[row].role in machines:
                    break
                found.setdefault(row, {})[distance] = beside
    return found


# Weighing candidates: what speaks for each, measured against the best of its kind, weighed and added. Pure.

LEAST = 1e-5
"""By how much of a score one comes behind another."""


WORDED = "worded"
"""What words give in the place of a meaning that nobody knows yet; it is no strategy of its own."""


@dataclass(slots=True)
class Weighing:
    """What each strategy gives to each candidate, and what that comes to."""

    turns: Turns
    whole: float = 1.0
    """The score that counts as full."""
    echoing: Set[int] = frozenset()
    """The rows that only ask: what the others are worth is not measured against them."""
    shares: dict[str, Scores] = field(default_factory=dict)
    scores: dict[int, float] = field(init=False)
    _sorted: dict[str, list[float]] = field(default_factory=dict)
    evidence: Scores = field(default_factory=dict)
    """The scores before hints count, beside which these only lean."""

    def __post_init__(self) -> None:
        self.scores = dict.fromkeys(self.turns, 0.0)

    def add(self, strategy: str, shares: Scores) -> None:
        """Give to each row what a strategy has for it."""
        if shares:
            self.shares[strategy] = shares
        scores = self.scores
        for row, share in shares.items():
            scores[row] += share

    def lean(self, strategy: str, shares: Scores) -> None:
        """Add a hint's points: all of them to rows found by their words, to others in proportion to their evidence.

        A hint tells two memories apart that both fit; it does not make one fit that does not.
        """
        own, worded = self.evidence, self.shares.get("text", {})
        most = _best(own, self.echoing)
        parts = {row: 1.0 if row in worded or most <= 0 else min(1.0, max(0.0, own[row] / most)) for row in shares}
        self.add(strategy, {row: share * parts[row] for row, share in shares.items()})

    def scale(self, strategy: str, factors: Scores) -> None:
        """Multiply what speaks for each row; what speaks against it stays."""
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
        """Multiply what speaks for some rows, and let them come behind the others."""
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
        return sorted(rows, key=lambda row: (-scores[row], turns[row].id))[:count]

    def why(self, row: int) -> tuple[Reason, ...]:
        """Which strategies found a row, as which of theirs, and what each gave it."""
        return tuple(
            Reason(name, self._rank(name, share), round(share, 4))
            for name, shares in self.shares.items()
            if name != WORDED and (share := shares.get(row))
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
    weighing.add("session", _times(ranking.session, _by_session((text, vector), turns)))
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
    """What the question says about whom, when and what kind of memory it wants."""
    turns = weighing.turns
    if question.speakers:
        spoken = [row for row, turn in turns.items() if turn.role in question.speakers]
        weighing.add("speaker", dict.fromkeys(spoken, ranking.speaker))
    if question.times:
        within = {row: question.nearness(from_us(turn.happened_at)) for row, turn in turns.items()}
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
    """Each row's words with what it has from its neighbours' words."""
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
    """The scores of candidates as parts of the best of them."""
    own = scores if scores.keys() <= turns.keys() else {row: score for row, score in scores.items() if row in turns}
    best = max(_best(own, echoing), least)
    if best <= 0:
        return {}
    if not echoing:  # then none is above the best
        return {row: score / best for row, score in own.items()}
    return {row: min(1.0, score / best) for row, score in own.items()}


def _best(scores: Scores, echoing: Set[int]) -> float:
    """The best score of those that do not echo the question, or else of all."""
    others = [score for row, score in scores.items() if row not in echoing] if echoing else None
    return max(others or scores.values(), default=0.0)


def _by_session(lists: Sequence[Scores], turns: Turns) -> dict[int, float]:
    """For each row the best of its session in each list, added up; what has no session stands for itself."""
    total: dict[str | None, float] = {}
    for scores in lists:
        best: dict[str | None, float] = {}
        for row, score in scores.items():
            session = turns[row].session
            if score > best.get(session, 0.0):
                best[session] = score
        for session, score in best.items():
            total[session] = total.get(session, 0.0) + score
    total.pop(None, None)
    alone = {row: sum(scores.get(row, 0.0) for scores in lists) for row, turn in turns.items() if turn.session is None}
    return alone | {row: total[session] for row, turn in turns.items() if (session := turn.session) in total}


def _by_digest(candidates: Candidates, *lists: Scores) -> dict[int, float]:
    """For what happened in the time of a digest, how well that digest fits."""
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

READ = 1000
"""Characters of a memory that are read."""


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
    asking = [row for row in coverage if is_short_question(texts.get(row, ""))]
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

    def fit(place: int, row: int) -> float:
        if row in weighing.echoing:
            return 0.0
        own = weights["score"] * scores[row] + weights["behind"] * (best - scores[row])
        own += weights["vector"] * vector.get(row, 0.0)
        own += weights["words"] * coverage[row].words + weights["rank"] * math.log(place)
        return 1 / (1 + math.exp(-min(max(same + own, -50.0), 50.0)))

    return {row: fit(place, row) for place, row in enumerate(order, start=1)}


def add_hints(weighing: Weighing, looks: Mapping[int, MemoryColumns], question: Question, ranking: Ranking) -> None:
    """Let it count that a memory tells what is asked for: a time, a name, a number, a wish that stands."""
    said = {row: look.content[:READ] for row, look in looks.items()}
    people = {row: text for row, text in said.items() if not is_machine(looks[row].life.role)}

    def lean(strategy: str, weight: float, rows: Iterable[int]) -> None:
        if weight:
            weighing.lean(strategy, dict.fromkeys(rows, weight))

    when = ranking.time + ranking.when * (question.intent is Intent.WHEN)
    lean("when", when, (row for row, text in said.items() if tells("time", text)))
    if question.asks_name:
        known = {word for look in looks.values() for word in (look.life.role or "").split("_")}
        lean("name", ranking.name, (row for row, text in said.items() if _names(text) - known))
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
"""The sources of what only sums up other memories."""
PAGE = "page"
CITED = re.compile(r"\s*\((?:[A-Z]-\w+-\w+(?:,\s)?)+\)")
"""The ids that summaries and digests put behind a sentence."""
ASLEEP = frozenset({Phase.DORMANT, Phase.ARCHIVED})
WORTH = ("importance", "confidence", "fading")
"""What counts for the place of a memory in an answer, and not for how well it answers."""


@lru_cache(KEPT)
def is_bare(source: str, content: str) -> bool:
    """Whether a passage of a page or a summary has only headings, labels and counts, and so tells nothing."""
    is_made = source == PAGE or source in SUMMARIES
    return is_made and all(pattern("bare").fullmatch(part.strip()) for part in sentences(CITED.sub("", content)))


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
    """The rows without dormant ones, but for those that no awake one comes near: none reaches `bar` of their score."""
    up = [scores.get(row, 0.0) for row in order if phases.get(row) not in ASLEEP]
    return [row for row in order if phases.get(row) not in ASLEEP or not up or max(up) < bar * scores.get(row, 0.0)]


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
"""What a hit is worth after one more hop."""

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
