"""Finding patterns in what happened. Pure.

What a topic does is compared with what everything does: that errors come up on Mondays says nothing where most happens
on Mondays. A day, an hour or a conversation counts once, however often something is repeated in it. All tests are
corrected together, so that data without any pattern gives one in at most one of twenty cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from itertools import pairwise

from memfolio.index.days import PATTERN, Told
from memfolio.tend.extract import keys, shortened
from memfolio.tend.patterns.chance import at_least, corrected
from memfolio.types import Type

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
    pattern: Pattern
    chance: float


Place = tuple[date, int]
"""A day, and the hour or weekday that is looked at."""


def find(episodes: Iterable[Told], now: datetime, zone: tzinfo) -> list[Pattern]:
    """The patterns in what happened up to `now`, the least likely by chance first."""
    past = sorted((each for each in episodes if each.at <= now and each.source != PATTERN), key=lambda each: each.at)
    at_hours = _temporal(past, lambda at: (at.date(), at.hour), zone, "hour", _at_hour)
    on_weekdays = _temporal(past, lambda at: (at.date(), at.weekday()), zone, "weekday", lambda nth: _WEEKDAYS[nth])
    families = (at_hours, on_weekdays, _behavioural(past))
    tests = [test for found, _ in families for test in found]
    shares = corrected([test.chance for test in tests], sum(number for _, number in families))
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


# When something comes up


def _at_hour(hour: int) -> str:
    return f"between {hour:02d}:00 and {(hour + 1) % 24:02d}:00"


def _temporal(
    past: Sequence[Told],
    place_of: Callable[[datetime], Place],
    zone: tzinfo,
    unit: str,
    named: Callable[[int], str],
) -> tuple[list[_Test], int]:
    """Whether topics prefer hours or weekdays, and how many tests that took."""
    placed = [(place_of(_there(each.at, zone)), each) for each in past]
    sizes = Counter(place for place, _ in placed)
    by_topic: dict[str, list[tuple[Place, str]]] = {}
    for place, each in placed:
        for topic in topics(each):
            by_topic.setdefault(topic, []).append((place, each.id))
    tests: list[_Test] = []
    number = 0
    for topic in _frequent((topic, place) for topic, found in by_topic.items() for place, _ in found):
        usual = _usual(by_topic[topic], sizes)
        number += len(usual)
        tests += _preferred(topic, by_topic[topic], usual, unit, named)
    return tests, number


def _there(at: datetime, zone: tzinfo) -> datetime:
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def _usual(found: Sequence[tuple[Place, str]], sizes: Counter[Place]) -> dict[int, float]:
    """Which share of a topic's places each hour or weekday would have if it came up whenever anything does.

    Only the time from its first to its last day counts. In a place where much happened, anything is likely to come up.
    """
    first, last = found[0][0][0], found[-1][0][0]
    meanwhile = [(place, size) for place, size in sizes.items() if first <= place[0] <= last]
    rest = 1 - len(found) / max(sum(size for _, size in meanwhile), len(found) + 1)
    shares: Counter[int] = Counter()
    for (_, slot), size in meanwhile:
        shares[slot] += 1 - rest**size  # type: ignore[assignment]
    total = sum(shares.values())
    return {slot: share / total for slot, share in shares.items()}


def _preferred(
    topic: str,
    found: Sequence[tuple[Place, str]],
    usual: dict[int, float],
    unit: str,
    named: Callable[[int], str],
) -> Iterator[_Test]:
    places = set(place for place, _ in found)
    for slot, hits in Counter(slot for _, slot in places).items():
        expected = len(places) * usual[slot]
        if hits < SUPPORT or hits < LIFT * expected:
            continue
        when = named(slot) if unit == "hour" else f"on {named(slot)}"
        what = "hours" if unit == "hour" else "days"
        pattern = Pattern(
            key=f"{unit}:{slot}:{topic}",
            kind="temporal",
            text=f"“{topic}” comes up {when}: {hits} of its {len(places)} {what}, where {expected:.1f} would be usual.",
            support=hits,
            expected=round(expected, 2),
            examples=tuple(id for place, id in found if place[1] == slot)[-EXAMPLES:],
        )
        yield _Test(pattern=pattern, chance=at_least(hits, len(places), usual[slot]))


# What follows what


def _behavioural(past: Sequence[Told]) -> tuple[list[_Test], int]:
    """Whether something follows something else in conversations, more often than it leads or is there anyway."""
    sessions: dict[str, list[Told]] = {}
    for each in past:
        if each.session and topics(each):
            sessions.setdefault(each.session, []).append(each)
    steps = [(session, pair) for session, listed in sessions.items() for pair in pairwise(listed)]
    frequent = _frequent((topic, session) for session, pair in steps for each in pair for topic in topics(each))
    known = set(frequent)
    leads: Counter[tuple[str, str]] = Counter()
    follows: Counter[str] = Counter()
    seen: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for session, (one, other) in steps:
        before, after = topics(one) & known, topics(other) & known
        leads.update((topic, session) for topic in before)
        follows.update(after)
        for first in before:
            for second in after - {first}:
                seen.setdefault((first, second), {}).setdefault(session, (one.id, other.id))
    tries: dict[str, list[int]] = {}
    for (topic, _), count in leads.items():
        tries.setdefault(topic, []).append(count)
    tests = [
        test
        for (first, second), where in sorted(seen.items())
        if len(where) >= SUPPORT
        and (test := _sequence(first, second, where, seen, tries[first], follows[second] / len(steps)))
    ]
    return tests, len(frequent) * (len(frequent) - 1)


def _sequence(
    first: str,
    second: str,
    where: dict[str, tuple[str, str]],
    seen: dict[tuple[str, str], dict[str, tuple[str, str]]],
    tries: Sequence[int],
    usual: float,
) -> _Test | None:
    """A test of both: that it follows more often than usual, and more often than it goes before."""
    hits, back = len(where), len(seen.get((second, first), ()))
    expected = sum(1 - (1 - usual) ** count for count in tries)
    if hits < LIFT * expected:
        return None
    pattern = Pattern(
        key=f"sequence:{first}:{second}",
        kind="behavioural",
        text=f"After “{first}” comes “{second}”: in {hits} of {len(tries)} conversations, where {expected:.1f} would be "
        f"usual; the other way round in {back}.",
        support=hits,
        expected=round(expected, 2),
        examples=tuple(id for pair in where.values() for id in pair)[-EXAMPLES:],
    )
    is_more = at_least(hits, len(tries), expected / len(tries))
    return _Test(pattern=pattern, chance=max(is_more, at_least(hits, hits + back, 0.5)))


# What is said again and again


def _preferences(past: Sequence[Told]) -> Iterator[Pattern]:
    groups: list[tuple[frozenset[str], list[Told]]] = []
    for each in past:
        words = keys(each.content) if each.type is Type.PREFERENCE else frozenset()
        home = next((listed for known, listed in groups if _are_alike(known, words)), None)
        if home is not None:
            home.append(each)
        elif words:
            groups.append((words, [each]))
    for words, listed in groups:
        times = {(each.session, each.at.date()) for each in listed}
        if len(listed) >= STATED and len(times) >= STATED:
            yield Pattern(
                key=f"preference:{' '.join(sorted(words))[:100]}",
                kind="preference",
                text=f"Stated {len(listed)} times: {shortened(listed[-1].content, 60)}",
                support=len(listed),
                confidence=round(min(SURE, 1 - 0.5 ** len(times)), 2),
                examples=tuple(each.id for each in listed)[-EXAMPLES:],
            )


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other) and len(one & other) >= ALIKE * len(one | other)
