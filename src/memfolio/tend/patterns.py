"""Patterns in episodes: found by a test against chance, and stored once each."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from memfolio.clock import EPOCH
from memfolio.index.index import Index
from memfolio.index.maintenance import CONCLUDED, DayMemory, known_patterns, told_between
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.extract import keys, sentences_of, shortened
from memfolio.types import PATTERN, Action, Kind, Type, frozen
from memfolio.vault.change import AddEntries, Change
from memfolio.vault.fields import Draft, local

# Finding patterns in what happened. Pure.
#
# What a topic does is compared with what everything does: that errors come up on Mondays says nothing where most
# happens on Mondays. A day, an hour or a conversation counts once, however often something is repeated in it. The
# level is divided by the number of tests, so that data without any pattern gives one in at most one of
# twenty cases.

LEVEL = 0.05
SUPPORT = 5
"""How often something must have been seen at least."""
LIFT = 1.3
"""How many times as often as usual."""
STATED = 3
"""How often a preference must have been stated."""
ALIKE = 0.6
"""Which share of their words two statements of a preference have in common."""
MOSTLY = 0.8
"""Which share of its days must be the same weekday."""
OPENINGS = 1_000
"""How many conversations are compared by how they begin, the latest."""
TOPICS = 200
EXAMPLES = 10
SURE = 0.95
_NO_TOPICS = frozenset({*(each.value for each in Type), PATTERN, "summary", "conversation", "the user"})
"""Names of what memories are, which many have as a tag and which nothing is about."""
_COUNTED = {"hour": "hours", "weekday": "days"}
_DAY_NAMES = frozenset("monday tuesday wednesday thursday friday saturday sunday today morning".split())
"""Words that begin conversations but are not their topic."""
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


class _Tests(NamedTuple):
    """What may be a pattern with how likely it is by chance, and of each test made the least chance it could give."""

    found: list[tuple[float, Pattern]]
    least: list[float]


Place = tuple[date, int]
"""A day, and the hour or weekday that is looked at."""


def at_least(hits: int, tries: int, chance: float) -> float:
    """The probability of so many hits or more in independent tries of the same chance: a binomial tail."""
    if hits <= 0 or chance >= 1:
        return 1.0
    if chance <= 0:
        return 0.0
    hit, miss = math.log(chance), math.log1p(-chance)
    terms = (math.exp(_ways(tries, n) + n * hit + (tries - n) * miss) for n in range(hits, tries + 1))
    return min(1.0, math.fsum(terms))


def drawn_at_least(hits: int, draws: int, marked: int, total: int) -> float:
    """The probability of so many marked ones or more among `draws` without return: a hypergeometric tail."""
    possible = range(max(hits, draws + marked - total, 0), min(draws, marked) + 1)
    ways = (math.exp(_ways(marked, n) + _ways(total - marked, draws - n) - _ways(total, draws)) for n in possible)
    return min(1.0, math.fsum(ways))


def _ways(total: int, chosen: int) -> float:
    """Return the logarithm of a binomial coefficient."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def find(episodes: Iterable[DayMemory], now: datetime, zone: tzinfo) -> list[Pattern]:
    """Return the patterns up to `now`, the least likely by chance first."""
    past = [each for each in episodes if each.at <= now and each.source not in CONCLUDED]
    past.sort(key=lambda each: each.at)
    families = (_temporal(past, zone, "hour"), _temporal(past, zone, "weekday"), _sequences(past))
    number = promising([least for tests in families for least in tests.least])
    found = [each for tests in families for each in tests.found if each[0] * number <= LEVEL]
    found.sort(key=lambda each: (each[0], each[1].key))
    return [*(pattern for _, pattern in found), *_weekly(past, zone), *_preferences(past)]


def promising(least: Iterable[float]) -> int:
    """How many tests count: those that could find something at the level divided by their number (Tarone 1990)."""
    ordered = sorted(least)
    return next((count for count in range(1, len(ordered) + 1) if bisect_right(ordered, LEVEL / count) <= count), 1)


def topics(memory: DayMemory) -> set[str]:
    """Return the topics that a memory states: its tags, entities, and that it is an error."""
    kind = (memory.type.value,) if memory.type is Type.ERROR else ()
    found = {" ".join(topic.split())[:80] for topic in (*memory.tags, *memory.names, *kind) if topic.strip()}
    return {topic for topic in found if topic in kind or topic.casefold() not in _NO_TOPICS}


def _frequent(found: Iterable[tuple[str, Hashable]]) -> list[str]:
    """The topics that were there in enough places, and not too many topics."""
    counts = Counter(topic for topic, _ in set(found))
    return sorted(topic for topic, count in counts.most_common(TOPICS) if count >= SUPPORT)


def _temporal(past: Sequence[DayMemory], zone: tzinfo, unit: str) -> _Tests:
    """Whether topics prefer hours or weekdays."""
    sizes: Counter[Place] = Counter()
    by_topic: dict[str, list[tuple[Place, str]]] = {}
    for each in past:
        at = local(each.at, zone)
        place = (at.date(), at.hour if unit == "hour" else at.weekday())
        sizes[place] += 1
        for topic in topics(each):
            by_topic.setdefault(topic, []).append((place, each.id))
    tests = _Tests([], [])
    for topic in _frequent((topic, place) for topic, seen in by_topic.items() for place, _ in seen):
        usual = _usual(by_topic[topic], sizes)
        places = len({place for place, _ in by_topic[topic]})
        tests.least.extend(drawn_at_least(min(places, n), places, n, usual.total) for n in usual.marked.values())
        tests.found.extend(_preferred(topic, by_topic[topic], usual, unit))
    return tests


class _Usual(NamedTuple):
    """What would be usual for a topic: each slot's share, and how many of `total` places count as having it."""

    shares: dict[int, float]
    marked: dict[int, int]
    total: int


def _usual(seen: Sequence[tuple[Place, str]], sizes: Counter[Place]) -> _Usual:
    """What would be usual if a topic came up whenever anything does, from its first to its last day.

    In a place where much happened anything is likely to come up, so that such places count as more than one.
    """
    first, last = seen[0][0][0], seen[-1][0][0]
    meanwhile = {place: size for place, size in sizes.items() if first <= place[0] <= last}
    rest = 1 - len(seen) / max(sum(meanwhile.values()), len(seen) + 1)
    weights: dict[int, float] = {}
    for (_, slot), size in meanwhile.items():
        weights[slot] = weights.get(slot, 0) + 1 - rest**size
    shares = {slot: weight / sum(weights.values()) for slot, weight in weights.items()}
    counts, total = Counter(slot for _, slot in meanwhile), len(meanwhile)
    marked = {slot: max(counts[slot], math.ceil(share * total)) for slot, share in shares.items()}
    return _Usual(shares, marked, total)


def _preferred(
    topic: str, seen: Sequence[tuple[Place, str]], usual: _Usual, unit: str
) -> Iterator[tuple[float, Pattern]]:
    places = {place for place, _ in seen}
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
            examples=tuple(memory for place, memory in seen if place[1] == slot)[-EXAMPLES:],
        )
        yield drawn_at_least(hits, len(places), usual.marked[slot], usual.total), pattern


def _sequences(past: Sequence[DayMemory]) -> _Tests:
    """Whether something follows something else in conversations, more often than it leads or is there anyway."""
    sessions: dict[str, list[DayMemory]] = {}
    for each in past:
        if each.session and topics(each):
            sessions.setdefault(each.session, []).append(each)
    steps = [(session, *pair) for session, listed in sessions.items() for pair in pairwise(listed)]
    after: Counter[str] = Counter()
    leads: dict[str, Counter[str]] = {}  # how often something came after a topic, by conversation
    seen: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}  # by conversation, the two memories
    for session, one, other in steps:
        after.update(topics(other))
        for first in topics(one):
            leads.setdefault(first, Counter())[session] += 1
            for second in topics(other) - {first}:
                seen.setdefault((first, second), {}).setdefault(session, (one.id, other.id))
    tests = _Tests([], [])
    for (first, second), where in sorted(seen.items()):
        hits, both = len(where), len(where) + len(seen.get((second, first), ()))
        tests.least.append(0.5**both)
        tries, usual = leads[first].values(), after[second] / len(steps)
        expected = sum(1 - (1 - usual) ** count for count in tries)
        if hits < SUPPORT or hits < LIFT * expected:
            continue
        pattern = Pattern(
            key=f"sequence:{first}:{second}",
            kind="behavioural",
            text=f"After “{first}” comes “{second}”: in {hits} of {len(tries)} conversations, where {expected:.1f} "
            f"would be usual; the other way round in {both - hits}.",
            support=hits,
            expected=round(expected, 2),
            examples=tuple(memory for pair in where.values() for memory in pair)[-EXAMPLES:],
        )
        # It must follow more often than usual, and more often than it goes before.
        chance = max(at_least(hits, len(tries), expected / len(tries)), at_least(hits, both, 0.5))
        tests.found.append((chance, pattern))
    return tests


_PAUSE = re.compile(r"[,;:，；：]\s*")


def _weekly(past: Sequence[DayMemory], zone: tzinfo) -> Iterator[Pattern]:
    """What conversations begin with on one weekday and hardly ever on another, such as a weekly plan.

    Only the words that a conversation begins with are compared: of all words that are ever said, some come up on three
    Mondays by chance.
    """
    begun = {each.session or each.id: each for each in reversed(past) if len(keys(_first(each))) > 1}
    groups: list[tuple[frozenset[str], list[DayMemory]]] = []
    for each in sorted(begun.values(), key=lambda each: each.at)[-OPENINGS:]:
        words = keys(_first(each)) - _DAY_NAMES
        same = (group for known, group in groups if len(common := known & words) > 1 and _is_most(common, known, words))
        if (group := next(same, None)) is not None:
            group.append(each)
        elif len(words) > 1:
            groups.append((words, [each]))
    for words, listed in groups:
        begins = shortened(_first(listed[-1]).rstrip(".!"), 12)
        if pattern := _on_weekday(begins, " ".join(sorted(words)), listed, zone):
            yield pattern
    for activity, listed in _activities(past).items():
        found = _on_weekday(activity, activity, listed, zone)
        # Of many words some come up on three Mondays by chance, but hardly where somebody says that it is Monday.
        names = () if found is None else (each.content.lower() for each in listed if each.id in found.examples)
        day = "" if found is None else _WEEKDAYS[int(found.key.split(":")[1])].lower().rstrip("s")
        if found and (found.support > STATED or any(day in told for told in names)):
            yield found


def _on_weekday(name: str, key: str, listed: Sequence[DayMemory], zone: tzinfo) -> Pattern | None:
    """The pattern of what came up on these days, if nearly all are the same weekday."""
    days = {local(each.at, zone).date() for each in listed}
    weekday, hits = Counter(day.weekday() for day in days).most_common(1)[0]
    if hits < STATED or hits < MOSTLY * len(days):
        return None
    return Pattern(
        key=f"weekly:{weekday}:{key[:100]}",
        kind="temporal",
        text=f"“{name}” comes up on {_WEEKDAYS[weekday]}: {hits} of its {len(days)} days.",
        support=hits,
        expected=round(len(days) / 7, 2),
        confidence=round(min(SURE, 1 - 0.5**hits), 2),
        examples=tuple(each.id for each in listed if local(each.at, zone).weekday() == weekday)[-EXAMPLES:],
    )


_ACTIVITY = re.compile(
    r"(?P<under_way>(?:\b(?:am|is|are|was|were|be|been|not|keep|start|stop)|['’](?:m|s|re)) )?"
    r"\b(?P<what>[a-z]{4,}ing)\b"
)


def _activities(past: Sequence[DayMemory]) -> dict[str, list[DayMemory]]:
    """What people do, by a noun such as bouldering, with where they speak of it; what goes on at the moment is none."""
    from memfolio.learn.words import words

    found: dict[str, list[DayMemory]] = {}
    for each in past:
        if not each.is_machine and each.session:
            told = _ACTIVITY.finditer(each.content.lower())
            for what in {act["what"] for act in told if not act["under_way"]} - words("chatter"):
                found.setdefault(what, []).append(each)
    return found


def _first(memory: DayMemory) -> str:
    """The first thing that is told, without greetings and questions, up to a comma: what follows differs each time."""
    told = next(iter(sentences_of(memory.content)), "")
    return next((part for part in _PAUSE.split(told) if len(keys(part)) > 1), told)


def _is_most(common: frozenset[str], one: frozenset[str], other: frozenset[str]) -> bool:
    return len(common) >= ALIKE * min(len(one), len(other)) and len(common) * 2 >= ALIKE * max(len(one), len(other))


def _preferences(past: Sequence[DayMemory]) -> Iterator[Pattern]:
    groups: list[tuple[frozenset[str], list[DayMemory]]] = []
    for each in past:
        if each.type is not Type.PREFERENCE or not (words := keys(each.content)):
            continue
        alike = (group for others, group in groups if len(others & words) >= ALIKE * len(others | words))
        group = next(alike, None)
        if group is None:
            group = []
            groups.append((words, group))
        group.append(each)
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


def learn_patterns(changes: JobChanges, index: Index, now: datetime) -> list[Pattern]:
    """Store the patterns in the last half year that were never stored before; what was forgotten stays forgotten."""
    since = max(now - WINDOW, EPOCH)
    episodes = index.read(partial(told_between, since=since, until=now, limit=MOST))
    known = index.read(known_patterns)
    fresh = [each for each in find(episodes, now, changes.vault.home.zone) if each.key not in known][:AT_ONCE]
    return [each for each in fresh if changes.make(_change(changes, each, now)) or changes.dry_run]


def _change(changes: JobChanges, pattern: Pattern, now: datetime) -> Change:
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
    key = changes.vault.home.key_mark(changes.agent, f"pattern {pattern.key} {now:%Y-%m}")
    return Change(
        operations=(AddEntries(changes.agent, (draft,)),), by=tender("patterns"), action=Action.APPEND, key=key
    )
