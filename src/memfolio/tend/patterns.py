"""Patterns in what happened: found by a test against chance, and kept once each."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from functools import partial
from itertools import pairwise

from memfolio.clock import EPOCH
from memfolio.index.index import Index
from memfolio.index.maintenance import CONCLUDED, DayMemory, known_patterns, told_between
from memfolio.tend.extract import keys, shortened
from memfolio.tend.hand import Hand, tender
from memfolio.types import PATTERN, Action, Kind, Type, frozen
from memfolio.vault.change import AddEntries, Change
from memfolio.vault.fields import Draft, local

# How likely something is by chance alone. Pure.


def at_least(hits: int, tries: int, chance: float) -> float:
    """The probability of so many hits or more in independent tries of the same chance: a binomial tail."""
    if hits <= 0 or chance >= 1:
        return 1.0
    if hits > tries or chance <= 0:
        return 0.0
    if hits <= tries * chance:  # the first terms would vanish
        return 1 - at_least(tries - hits + 1, tries, 1 - chance)
    odds = math.log(chance) - math.log1p(-chance)
    term = whole = math.exp(_ways(tries, hits) + hits * odds + tries * math.log1p(-chance))
    for nth in range(hits, tries):
        term *= (tries - nth) / (nth + 1) * math.exp(odds)
        whole += term
    return min(1.0, whole)


def drawn_at_least(hits: int, draws: int, marked: int, total: int) -> float:
    """The probability of so many marked ones or more among `draws` without return: a hypergeometric tail."""
    if hits <= max(0, draws + marked - total):
        return 1.0
    if hits > min(draws, marked):
        return 0.0
    if hits * total <= draws * marked:
        return 1 - drawn_at_least(draws - hits + 1, draws, total - marked, total)
    ways = _ways(marked, hits) + _ways(total - marked, draws - hits) - _ways(total, draws)
    term = whole = math.exp(ways)
    for nth in range(hits, min(draws, marked)):
        term *= (marked - nth) * (draws - nth) / ((nth + 1) * (total - marked - draws + nth + 1))
        whole += term
    return min(1.0, whole)


def _ways(total: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def corrected(chances: Sequence[float], tests: int) -> list[float]:
    """The share of false ones to expect among all that are at least as unlikely, as Benjamini and Hochberg have it.

    `tests` is how many were made; those that are not listed found nothing.
    """
    order = sorted(range(len(chances)), key=lambda at: chances[at], reverse=True)
    found = [1.0] * len(chances)
    least = 1.0
    for place, at in enumerate(order):
        least = min(least, chances[at] * tests / (len(chances) - place))
        found[at] = least
    return found


def promising(least: Sequence[float], level: float) -> int:
    """How many tests count, of which each can give at least so small a chance whatever happens.

    The others could never find anything, and must not make it harder for those that can (Tarone 1990, Gilbert 2005).
    """
    ordered = sorted(least)
    return next((count for count in range(1, len(ordered) + 1) if bisect_right(ordered, level / count) <= count), 0)


# Finding patterns in what happened. Pure.
#
# What a topic does is compared with what everything does: that errors come up on Mondays says nothing where most
# happens on Mondays. A day, an hour or a conversation counts once, however often something is repeated in it. All
# tests are corrected together, so that data without any pattern gives one in at most one of twenty cases.

FALSE_SHARE = 0.05
SUPPORT = 5
"""How often something must have been seen at least."""
LIFT = 1.3
"""How many times as often as usual."""
STATED = 3
"""How often a preference must have been stated."""
ALIKE = 0.6
"""Which share of their words two statements of a preference have in common."""
TOPICS = 200
EXAMPLES = 10
SURE = 0.95
_PLAIN = frozenset({Type.OBSERVATION, Type.EVENT})
"""The types of whatever has no other."""
_COUNTED = {"hour": "hours", "weekday": "days"}
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


@frozen
class Pattern:
    """Something that happens more often than chance explains; `key` names it, `examples` are ids of memories."""

    key: str
    kind: str
    text: str
    support: int
    expected: float = 0.0
    confidence: float = SURE
    examples: tuple[str, ...] = ()


@frozen
class _Test:
    """What may be a pattern, how likely it is by chance, and how unlikely it could have been at most."""

    pattern: Pattern
    chance: float
    least: float


Place = tuple[date, int]
"""A day, and the hour or weekday that is looked at."""


def find(episodes: Iterable[DayMemory], now: datetime, zone: tzinfo) -> list[Pattern]:
    """The patterns in what happened up to `now`, the least likely by chance first."""
    past = sorted(
        (each for each in episodes if each.at <= now and each.source not in CONCLUDED), key=lambda each: each.at
    )
    families = (_temporal(past, zone, "hour"), _temporal(past, zone, "weekday"), _behavioural(past))
    number = promising([least for _, listed in families for least in listed], FALSE_SHARE)
    tests = [test for found, _ in families for test in found if test.least * number <= FALSE_SHARE]
    shares = corrected([test.chance for test in tests], number)
    order = sorted(range(len(tests)), key=lambda at: (shares[at], tests[at].chance, tests[at].pattern.key))
    return [*(tests[at].pattern for at in order if shares[at] <= FALSE_SHARE), *_preferences(past)]


def topics(memory: DayMemory) -> set[str]:
    """What a memory is about, as far as somebody said so: its tags, what it mentions, and its type."""
    kind = () if memory.type in _PLAIN else (memory.type.value,)
    return {" ".join(topic.split())[:80] for topic in (*memory.tags, *memory.names, *kind) if topic.strip()}


def _frequent(found: Iterable[tuple[str, Hashable]]) -> list[str]:
    """The topics that were there in enough places, and not too many topics."""
    counts = Counter(topic for topic, _ in set(found))
    return sorted(topic for topic, count in counts.most_common(TOPICS) if count >= SUPPORT)


def _temporal(past: Sequence[DayMemory], zone: tzinfo, unit: str) -> tuple[list[_Test], list[float]]:
    """Whether topics prefer hours or weekdays; and of every test made, the least chance it could have given."""
    sizes: Counter[Place] = Counter()
    by_topic: dict[str, list[tuple[Place, str]]] = {}
    for each in past:
        at = local(each.at, zone)
        place = (at.date(), at.hour if unit == "hour" else at.weekday())
        sizes[place] += 1
        for topic in topics(each):
            by_topic.setdefault(topic, []).append((place, each.id))
    tests: list[_Test] = []
    least: list[float] = []
    for topic in _frequent((topic, place) for topic, found in by_topic.items() for place, _ in found):
        usual = _usual(by_topic[topic], sizes)
        places = len({place for place, _ in by_topic[topic]})
        least += [usual.chance(min(places, marked), places, slot) for slot, marked in usual.marked.items()]
        tests += _preferred(topic, by_topic[topic], usual, unit)
    return tests, least


@dataclass(frozen=True, slots=True)
class _Usual:
    """What would be usual for a topic: of `total` places where anything happened, those with an hour or weekday."""

    shares: Mapping[int, float]
    marked: Mapping[int, int]
    total: int

    def chance(self, hits: int, places: int, slot: int) -> float:
        """How likely it is that so many of a topic's places have this hour or weekday."""
        return drawn_at_least(hits, places, self.marked[slot], self.total)


def _usual(found: Sequence[tuple[Place, str]], sizes: Counter[Place]) -> _Usual:
    """What would be usual if a topic came up whenever anything does, from its first to its last day.

    In a place where much happened anything is likely to come up, so that such places count as more than one.
    """
    first, last = found[0][0][0], found[-1][0][0]
    meanwhile = [(place, size) for place, size in sizes.items() if first <= place[0] <= last]
    rest = 1 - len(found) / max(sum(size for _, size in meanwhile), len(found) + 1)
    weights: dict[int, float] = {}
    for (_, slot), size in meanwhile:
        weights[slot] = weights.get(slot, 0) + 1 - rest**size
    whole, total = sum(weights.values()), len(meanwhile)
    counts = Counter(slot for (_, slot), _ in meanwhile)
    shares = {slot: weight / whole for slot, weight in weights.items()}
    marked = {slot: min(total, max(counts[slot], math.ceil(share * total))) for slot, share in shares.items()}
    return _Usual(shares, marked, total)


def _preferred(topic: str, found: Sequence[tuple[Place, str]], usual: _Usual, unit: str) -> Iterator[_Test]:
    places = {place for place, _ in found}
    for slot, hits in Counter(slot for _, slot in places).items():
        expected = len(places) * usual.shares[slot]
        if hits < SUPPORT or hits < LIFT * expected:
            continue
        hours = f"between {slot:02d}:00 and {(slot + 1) % 24:02d}:00"
        when = hours if unit == "hour" else f"on {_WEEKDAYS[slot]}"
        pattern = Pattern(
            key=f"{unit}:{slot}:{topic}",
            kind="temporal",
            text=f"“{topic}” comes up {when}: {hits} of its {len(places)} {_COUNTED[unit]}, "
            f"where {expected:.1f} would be usual.",
            support=hits,
            expected=round(expected, 2),
            examples=tuple(memory for place, memory in found if place[1] == slot)[-EXAMPLES:],
        )
        least = usual.chance(min(len(places), usual.marked[slot]), len(places), slot)
        yield _Test(pattern=pattern, chance=usual.chance(hits, len(places), slot), least=least)


@dataclass(slots=True)
class _Steps:
    """What came right after what in conversations."""

    number: int = 0
    leads: dict[str, Counter[str]] = field(default_factory=dict)
    """How often something came after a topic, by conversation."""
    follows: Counter[str] = field(default_factory=Counter)
    seen: dict[tuple[str, str], dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Where one topic came after another: by conversation, the two memories."""

    def take(self, session: str, one: DayMemory, other: DayMemory) -> None:
        before, after = topics(one), topics(other)
        self.number += 1
        self.follows.update(after)
        for first in before:
            self.leads.setdefault(first, Counter())[session] += 1
            for second in after - {first}:
                self.seen.setdefault((first, second), {}).setdefault(session, (one.id, other.id))

    def either_way(self, first: str, second: str) -> int:
        """In how many conversations they came one after the other, in whichever order."""
        return len(self.seen.get((first, second), ())) + len(self.seen.get((second, first), ()))


def _behavioural(past: Sequence[DayMemory]) -> tuple[list[_Test], list[float]]:
    """Whether something follows something else in conversations, more often than it leads or is there anyway."""
    sessions: dict[str, list[DayMemory]] = {}
    for each in past:
        if each.session and topics(each):
            sessions.setdefault(each.session, []).append(each)
    steps = _Steps()
    for session, listed in sessions.items():
        for one, other in pairwise(listed):
            steps.take(session, one, other)
    least = [0.5 ** steps.either_way(*pair) for pair in steps.seen]
    tests = (_sequence(steps, *pair) for pair, where in sorted(steps.seen.items()) if len(where) >= SUPPORT)
    return [test for test in tests if test], least


def _sequence(steps: _Steps, first: str, second: str) -> _Test | None:
    """A test of both: that it follows more often than usual, and more often than it goes before."""
    where, tries = steps.seen[first, second], steps.leads[first].values()
    hits, both = len(where), steps.either_way(first, second)
    usual = steps.follows[second] / steps.number
    expected = sum(1 - (1 - usual) ** count for count in tries)
    if hits < LIFT * expected:
        return None
    pattern = Pattern(
        key=f"sequence:{first}:{second}",
        kind="behavioural",
        text=f"After “{first}” comes “{second}”: in {hits} of {len(tries)} conversations, where {expected:.1f} would "
        f"be usual; the other way round in {both - hits}.",
        support=hits,
        expected=round(expected, 2),
        examples=tuple(memory for pair in where.values() for memory in pair)[-EXAMPLES:],
    )
    is_more = at_least(hits, len(tries), expected / len(tries))
    return _Test(pattern=pattern, chance=max(is_more, at_least(hits, both, 0.5)), least=0.5**both)


def _preferences(past: Sequence[DayMemory]) -> Iterator[Pattern]:
    groups: list[tuple[frozenset[str], list[DayMemory]]] = []
    having: dict[str, list[int]] = {}
    for each in past:
        words = keys(each.content) if each.type is Type.PREFERENCE else frozenset()
        near = sorted({at for word in words for at in having.get(word, ())})
        alike = (at for at in near if len(groups[at][0] & words) >= ALIKE * len(groups[at][0] | words))
        home = next(alike, len(groups))
        if home == len(groups) and words:
            groups.append((words, []))
            for word in words:
                having.setdefault(word, []).append(home)
        if words:
            groups[home][1].append(each)
    for words, listed in groups:
        times = {(each.session, each.at.date()) for each in listed}
        if len(listed) >= STATED and len(times) >= STATED:
            yield Pattern(
                key=f"preference:{' '.join(sorted(words))[:100]}",
                kind="preference",
                text=f"Stated {len(listed)} times: {shortened(listed[-1].content, 60)}",
                support=len(listed),
                confidence=round(min(SURE, 1 - 0.5 ** len(times)), 2),
                examples=tuple(each.id for each in listed),  # all of them, since its text is theirs
            )


# Keeping the patterns that were found, each once.

WINDOW = timedelta(days=180)
"""How far back patterns are looked for."""
MOST = 50_000
"""Memories that are looked at, the most important."""
AT_ONCE = 20
"""Patterns that are stored in one run, the clearest."""


def learn_patterns(hand: Hand, index: Index, now: datetime) -> list[Pattern]:
    """Store the patterns in the last half year that were never stored before; what was forgotten stays forgotten."""
    since = max(now - WINDOW, EPOCH)
    episodes = index.read(partial(told_between, since=since, until=now, limit=MOST))
    known = index.read(known_patterns)
    fresh = [each for each in find(episodes, now, hand.vault.home.zone) if each.key not in known][:AT_ONCE]
    return [each for each in fresh if hand.make(_change(hand, each, now)) or hand.dry_run]


def _change(hand: Hand, pattern: Pattern, now: datetime) -> Change:
    draft = Draft(
        content=pattern.text,
        kind=Kind.SEMANTIC,
        source=PATTERN,
        tags=(PATTERN,),
        confidence=pattern.confidence,
        derived_from=pattern.examples,
        attributes={"pattern": pattern.key, "support": pattern.support, "expected": pattern.expected},
    )
    # Of two processes that find it at once, one stores it.
    key = hand.vault.home.key_mark(hand.agent, f"pattern {pattern.key} {now:%Y-%m}")
    return Change(operations=(AddEntries(hand.agent, (draft,)),), by=tender("patterns"), action=Action.APPEND, key=key)
