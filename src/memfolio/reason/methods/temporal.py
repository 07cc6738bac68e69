"""How intervals of time lie to each other, in Allen's interval algebra."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import combinations, islice, product
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Computed, Effort, Texts, World, method, smallest
from memfolio.types import EMPTY

INVERSES = {"before": "after", "meets": "met by", "overlaps": "overlapped by", "starts": "started by"}
INVERSES |= {"during": "contains", "finishes": "finished by", "equals": "equals"}
_ENDS = {"< < < <": "before", "< < < =": "meets", "< < < >": "overlaps", "= < < >": "starts", "> < < >": "during"}
_ENDS |= {"> = < >": "finishes", "= = < >": "equals"}
"""By how start to start, end to end, start to end and end to start compare."""
INVERSES |= {inverse: name for name, inverse in INVERSES.items()}
ALL = frozenset(INVERSES)
_NAME = "|".join(sorted((each.replace(" ", r"[\s-]") for each in ALL), key=len, reverse=True))
_OR = r"\s*(?:,\s*(?:or\b)?|\bor\b)\s*"
_SAID = re.compile(rf"(.+?)\s+((?:{_NAME})(?:{_OR}(?:{_NAME}))*)\s+(.+)", re.IGNORECASE | re.DOTALL)

Span = tuple[float, float]
Said = tuple[str, frozenset[str], str]
Network = dict[tuple[str, str], frozenset[str]]


def relation(one: Span, other: Span) -> str:
    """How one interval lies to another."""
    pairs = ((one[0], other[0]), (one[1], other[1]), (one[0], other[1]), (one[1], other[0]))
    signs = " ".join("<" if left < right else ">" if left > right else "=" for left, right in pairs)
    return _ENDS.get(signs) or INVERSES[relation(other, one)]


@lru_cache(maxsize=1)
def composition() -> Mapping[tuple[str, str], frozenset[str]]:
    """For two relations, A to B and B to C, those that A may have to C: found in all orders of their six ends."""
    table = dict[tuple[str, str], set[str]]()
    for one, two, three in product(combinations(range(6), 2), repeat=3):
        table.setdefault((relation(one, two), relation(two, three)), set()).add(relation(one, three))
    return {pair: frozenset(found) for pair, found in table.items()}


@lru_cache(maxsize=10_000)
def composed(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """The same for sets of relations, one of which holds."""
    return frozenset(each for pair in product(left, right) for each in composition()[pair])


class Interval(NamedTuple):
    start: float | str
    end: float | str


class Intervals(NamedTuple):
    intervals: Mapping[str, Interval] = EMPTY
    constraints: Texts = ()
    between: Texts = ()


@method
def temporal(given: Intervals, world: World) -> Computed:
    """Whether what is said can be so, and which relations follow."""
    spans = {name: _span(each, f"intervals.{name}", world) for name, each in given.intervals.items()}
    if len({isinstance(each.start, str) for each in given.intervals.values()}) > 1:
        raise InputError("intervals have numbers and dates", hint="give all as numbers, or all as dates")
    said = {each: _said(each, f"constraints[{at}]") for at, each in enumerate(given.constraints)}
    for one, other in combinations(spans, 2):
        known = relation(spans[one], spans[other])
        said[f"{one} {known} {other}"] = one, frozenset({known}), other
    names = list(dict.fromkeys([*spans, *(name for one, _, other in said.values() for name in (one, other))]))
    asked, effort = given.between, world.effort()
    if len(names) < 2 or (asked and (len(asked) != 2 or not set(asked) <= set(names))):
        raise InputError("there are no two intervals to compare", hint="name two in intervals, constraints and between")
    if network := solve(names, said.values(), effort):
        return _follows(said, network, names, asked, effort)
    core = smallest(list(said), lambda some: solve(names, [said[each] for each in some], effort) is None)
    return Computed(
        f"this cannot all be so: {'; '.join(core)}",
        confidence=1.0,
        steps=[f"no order of the starts and ends agrees with all of these: {'; '.join(core)}"],
        would_change=[f"without {each!r} the rest of these can be so" for each in core],
        answer={"consistent": False, "conflict": core},
    )


def solve(names: list[str], said: Iterable[Said], effort: Effort) -> Network | None:
    """The relations that are left where all is consistent; None where no order of the ends agrees with all."""
    network = {(one, other): ALL if one != other else frozenset({"equals"}) for one in names for other in names}
    for one, relations, other in said:
        network[one, other] &= relations
        network[other, one] &= {INVERSES[each] for each in relations}
    return network if close(network, names, effort) and _has_scenario(dict(network), names, effort) else None


def close(network: Network, names: list[str], effort: Effort) -> bool:
    """Narrow each relation by all ways over a third interval (Allen 1983); False where nothing is left."""
    ahead = list(network)
    while ahead and all(network.values()):
        one, other = ahead.pop()
        for start, middle, end in (way for third in names for way in ((one, other, third), (third, one, other))):
            effort.spend()
            old = network[start, end]
            kept = old & composed(network[start, middle], network[middle, end])
            if kept != old:
                network[start, end], network[end, start] = kept, frozenset(INVERSES[each] for each in kept)
                ahead += [(start, end), (end, start)]
    return all(network.values())


def _has_scenario(network: Network, names: list[str], effort: Effort) -> bool:
    """Whether each pair can be given one relation: path consistency alone does not promise that."""
    open_pairs = [pair for pair in network if len(network[pair]) > 1]
    for pair in sorted(open_pairs, key=lambda one: len(network[one]))[:1]:
        return any(_has_scenario(trial, names, effort) for trial in _narrower(network, pair, names, effort))
    return True


def _narrower(network: Network, pair: tuple[str, str], names: list[str], effort: Effort) -> Iterator[Network]:
    """The networks in which a pair has one of its relations, as far as they are consistent on the face of it."""
    for each in sorted(network[pair]):
        trial = {**network, pair: frozenset({each}), pair[::-1]: frozenset({INVERSES[each]})}
        if close(trial, names, effort):
            yield trial


def _follows(said: Mapping[str, Said], network: Network, names: list[str], asked: Texts, effort: Effort) -> Computed:
    pairs = [(asked[0], asked[1])] if asked else list(combinations(names, 2))
    left = {pair: network[pair] for pair in pairs}
    if asked:
        possible = (each for each in _narrower(network, pairs[0], names, effort) if _has_scenario(each, names, effort))
        left[pairs[0]] = frozenset[str]().union(*(each[pairs[0]] for each in possible))
    shown = [f"{one} {' or '.join(sorted(some))} {other}" for (one, other), some in left.items() if some != ALL]
    is_loose = not asked and any(len(some) > 1 for some in left.values())
    return Computed(
        "; ".join(shown) or "nothing follows",
        confidence=1.0,
        steps=[*(f"given: {each}" for each in said), *(f"so: {each}" for each in shown)],
        would_change=_changes(said, network, names, pairs, effort),
        answer={
            "consistent": True,
            "relations": {f"{one} | {other}": sorted(some) for (one, other), some in left.items()},
        },
        notes=["of several relations that are left, some may be impossible: ask between two" if is_loose else ""],
    )


def _changes(
    said: Mapping[str, Said], network: Network, names: list[str], pairs: list[tuple[str, str]], effort: Effort
) -> Iterator[str]:
    """Without which words less would be known."""
    for gone in said:
        rest = solve(names, [said[each] for each in said if each != gone], effort)
        looser = (pair for pair in pairs if rest and rest[pair] != network[pair])
        yield from (f"without {gone!r} less is known of {one} and {other}" for one, other in islice(looser, 1))


def _span(given: Interval, place: str, world: World) -> Span:
    start, end = (_moment(each, f"{place}.{name}", world) for name, each in given._asdict().items())
    if start >= end or isinstance(given.start, str) != isinstance(given.end, str):
        raise InputError(f"{place} does not end after it starts", hint="give an end that is later than the start")
    return start, end


def _moment(value: float | str, place: str, world: World) -> float:
    if not isinstance(value, str):
        return value
    try:
        read = datetime.fromisoformat(value)
        return (read if read.tzinfo else read.replace(tzinfo=world.now.tzinfo)).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(f"{place} is {value!r:.60}", hint="give a number or a date such as 2026-11-15") from error


def _said(text: str, place: str) -> Said:
    found = _SAID.fullmatch(text)
    if not found:
        hint = f"write: A before or meets B; there are {', '.join(sorted(ALL))}"
        raise InputError(f"{place} is {text!r:.80}", hint=hint)
    return found[1], frozenset(re.sub(r"[\s-]+", " ", each) for each in re.split(_OR, found[2].lower())), found[3]
