"""Beliefs that cannot, or may not, be true together. Pure, and near-linear: only what shares a key is compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain, combinations

from memfolio.index.mind_item import Item
from memfolio.mind.claim import Claim, Words, claims_of, key_of, subject_of
from memfolio.mind.validate import UNKNOWN, Ground

FEW = 4
"""Up to so many versions of the same are compared with each other; of more, each with the surest."""
CROWD = 8
"""How many subjects may differ from each other by one letter; more are numbered rather than mistyped."""
LONG_ENOUGH = 6
"""Letters from which on a slip of the pen can be told from another word."""


class ConflictKind(StrEnum):
    """How beliefs are in conflict, the gravest first."""

    NEGATION = "negation"
    VALUES = "values"
    SUPERSEDED = "superseded"
    SUBJECT = "subject"
    SIMILAR = "similar"


_KINDS = list(ConflictKind)
_REASONS = {
    ConflictKind.NEGATION: "one denies what the other says",
    ConflictKind.VALUES: "they give different values for the same",
    ConflictKind.SUPERSEDED: "it rests on what was {}",
    ConflictKind.SUBJECT: "they say different things about the same subject",
    ConflictKind.SIMILAR: "they say different things, and their subjects differ by little",
}

Clash = tuple[ConflictKind, bool, Item, Item | Ground]
Versions = dict[object, Claim]
"""What is said of the same in different ways, each by the surest belief that says so, the surest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are in conflict: a belief, or what speaks against it, which has no certainty."""

    id: str
    says: str
    certainty: float | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two that are in conflict; `is_certain` is false where both may well be true."""

    kind: ConflictKind
    subject: str
    is_certain: bool
    severity: float
    one: Side
    other: Side
    reason: str
    advice: str


def find_conflicts(items: Iterable[Item], gone: Mapping[str, Ground], threshold: float) -> list[Conflict]:
    """The conflicts among the beliefs that are more certain than the threshold, the gravest first.

    `gone` has what does not hold any more of what they rest on.
    """
    held = [item for item in items if item.is_live and item.says and item.certainty > threshold]
    held.sort(key=lambda item: (item.certainty, _age(item), item.id), reverse=True)
    claims = {item.id: list(claims_of(item)) for item in held}
    clashes = [*_by_frame(chain.from_iterable(claims.values())), *_by_subject(held, claims), *_by_ground(held, gone)]
    clashes.sort(key=lambda clash: (clash[1], -_KINDS.index(clash[0])))
    gravest = {frozenset((clash[2].id, clash[3].id)): clash for clash in clashes}
    found = (_conflict(*clash, gone) for clash in gravest.values())
    return sorted(found, key=lambda each: (not each.is_certain, -each.severity, each.one.id, each.other.id))


def _by_frame(claims: Iterable[Claim]) -> Iterator[Clash]:
    """Compare claims that have the same frame, or one that differs by a slip of the pen."""
    groups: defaultdict[Words, Versions] = defaultdict(dict)
    for claim in claims:
        groups[claim.frame].setdefault((claim.values, claim.is_denied), claim)
    for versions in groups.values():
        yield from filter(None, (_clash(*pair) for pair in _pairs(versions)))
    for one, other in near(frame for frame, some in groups.items() if any(each.values for each in some.values())):
        if clash := _clash(_surest(groups[one]), _surest(groups[other])):
            yield ConflictKind.SIMILAR, False, *clash[2:]


def _by_subject(held: Iterable[Item], claims: Mapping[str, Sequence[Claim]]) -> Iterator[Clash]:
    """Compare what is said below the same heading, or one that differs by little; what was and what is go together."""
    groups: defaultdict[tuple[Words, bool], Versions] = defaultdict(dict)
    for item in held:
        subject, content = subject_of(item)
        if content and (key := key_of(subject)):
            is_past = any(claim.is_past for claim in claims[item.id])
            says = frozenset(each.says for each in claims[item.id]) or content
            groups[key, is_past].setdefault(says, Claim(item, key, (), is_denied=False))
    for versions in groups.values():
        yield from (_apart(one.item, other.item) for one, other in _pairs(versions))
    for one, other in near(key for key, is_past in groups if not is_past):
        yield _apart(_surest(groups[one, False]).item, _surest(groups[other, False]).item)


def _by_ground(held: Iterable[Item], gone: Mapping[str, Ground]) -> Iterator[Clash]:
    """Beliefs that rest on what does not hold any more."""
    for item in held:
        for ground in filter(None, map(gone.get, item.links())):
            if ground.state != UNKNOWN:
                yield ConflictKind.SUPERSEDED, False, item, ground


def near(keys: Iterable[Words]) -> Iterator[tuple[Words, Words]]:
    """The pairs of keys in which one long word differs by a letter put in, taken out, replaced or swapped."""
    alike: defaultdict[int, list[Words]] = defaultdict(list)
    for key in keys:
        for at, word in enumerate(key):
            if len(word) >= LONG_ENOUGH and word.isalpha():
                rest = hash(key[:at] + key[at + 1 :])
                # The first letter stays: with another one it is another word.
                for mark in {word, *[word[:cut] + word[cut + 1 :] for cut in range(1, len(word))]}:
                    alike[hash((rest, mark))].append(key)
    some = (sorted(set(keys)) for keys in alike.values() if 1 < len(keys) <= CROWD)
    pairs = dict.fromkeys(pair for keys in some for pair in combinations(keys, 2))
    return (pair for pair in pairs if len({*pair[0]} ^ {*pair[1]}) == 2)


def _clash(one: Claim, other: Claim) -> Clash | None:
    """How two claims with the same frame are in conflict, if they are."""
    differing = sum(a.differs(b) for a, b in zip(one.values, other.values, strict=True))
    is_firm = not (one.is_vague or other.is_vague)
    if one.item is other.item or (one.is_denied and other.is_denied):
        return None
    if one.is_denied != other.is_denied:
        return None if differing else (ConflictKind.NEGATION, is_firm, one.item, other.item)
    if not differing or (differing > 1 and one.is_timed):
        return None  # what was at another time may well have been otherwise
    is_certain = is_firm and differing == 1 and not one.is_timed and "<name>" not in one.frame
    return ConflictKind.VALUES, is_certain, one.item, other.item


def _apart(one: Item, other: Item) -> Clash:
    is_same = subject_of(one)[0].casefold() == subject_of(other)[0].casefold()
    return ConflictKind.SUBJECT if is_same else ConflictKind.SIMILAR, False, one, other


def _pairs(versions: Versions) -> Iterator[tuple[Claim, Claim]]:
    """What is compared of the versions of the same."""
    surest, *others = versions.values()
    return combinations(versions.values(), 2) if len(versions) <= FEW else ((surest, each) for each in others)


def _surest(versions: Versions) -> Claim:
    return next(iter(versions.values()))


def _age(item: Item) -> float:
    return item.updated.timestamp() if item.updated else 0.0


def _conflict(kind: ConflictKind, is_certain: bool, a: Item, b: Item | Ground, gone: Mapping[str, Ground]) -> Conflict:
    if isinstance(b, Item):
        a, b = sorted((a, b), key=lambda each: (each.line, each.id))
    return Conflict(
        kind=kind,
        subject=subject_of(a)[0],
        is_certain=is_certain,
        severity=min(a.certainty, b.certainty if isinstance(b, Item) else 1),
        one=_side(a),
        other=_side(b),
        reason=_REASONS[kind].format("" if isinstance(b, Item) else b.state),
        advice=_advice(a, b, gone),
    )


def _side(one: Item | Ground) -> Side:
    if isinstance(one, Ground):
        return Side(id=one.id, says=one.says or one.state, at=one.at)
    return Side(id=one.id, says=one.says, certainty=one.certainty, at=one.updated)


def _advice(one: Item, other: Item | Ground, gone: Mapping[str, Ground]) -> str:
    """Which of two to look at first, and why."""
    if isinstance(other, Ground):
        return f"Check whether {one.id} still holds, or retire it"
    shaky = [each for each in (one, other) if not gone.keys().isdisjoint(each.links())]
    if len(shaky) == 1:
        stale, why = shaky[0], "what it rests on does not hold any more"
    elif one.updated and other.updated and one.updated.date() != other.updated.date():
        stale, why = min((one, other), key=_age), "it is older"
    elif one.certainty != other.certainty:
        stale, why = min((one, other), key=lambda each: each.certainty), "it is less certain"
    else:
        return "Check both: nothing tells which of them is stale"
    return f"Check {stale.id} first: {why}"
