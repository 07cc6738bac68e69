"""Finding patterns in what happened. Pure.

What a topic does is compared with what everything does: that errors come up on Mondays says nothing where most happens
on Mondays. A day, an hour or a conversation counts once, however often something is repeated in it. All tests are
corrected together, so that data without any pattern gives one in at most one of twenty cases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from itertools import pairwise

from memfolio.index.days import CONCLUDED, Told
from memfolio.tend.extract import keys, shortened
from memfolio.tend.patterns.chance import at_least, corrected, drawn_at_least, promising
from memfolio.types import Type
from memfolio.vault.format.fields import local

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Something that happens more often than chance explains; `key` names it, `examples` are ids of memories."""

    key: str
    kind: str
    text: str
    support: int
    expected: float = 0.0
    confidence: float = SURE
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """What may be a pattern, how likely it is by chance, and how unlikely it could have been at most."""

    pattern: Pattern
    chance: float
    least: float


Place = tuple[date, int]
"""A day, and the hour or weekday that is looked at."""


def find(episodes: Iterable[Told], now: datetime, zone: tzinfo) -> list[Pattern]:
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


def topics(memory: Told) -> set[str]:
    """What a memory is about, as far as somebody said so: its tags, what it mentions, and its type."""
    kind = () if memory.type in _PLAIN else (memory.type.value,)
    return {" ".join(topic.split())[:80] for topic in (*memory.tags, *memory.names, *kind) if topic.strip()}


def _frequent(found: Iterable[tuple[str, Hashable]]) -> list[str]:
    """The topics that were there in enough places, and not too many topics."""
    counts = Counter(topic for topic, _ in set(found))
    return sorted(topic for topic, count in counts.most_common(TOPICS) if count >= SUPPORT)


def _temporal(past: Sequence[Told], zone: tzinfo, unit: str) -> tuple[list[_Test], list[float]]:
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

    def take(self, session: str, one: Told, other: Told) -> None:
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


def _behavioural(past: Sequence[Told]) -> tuple[list[_Test], list[float]]:
    """Whether something follows something else in conversations, more often than it leads or is there anyway."""
    sessions: dict[str, list[Told]] = {}
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


def _preferences(past: Sequence[Told]) -> Iterator[Pattern]:
    groups: list[tuple[frozenset[str], list[Told]]] = []
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
