"""Beliefs that cannot, or may not, be true together. Pure, and near-linear: only what shares a key is compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain, combinations

from memfolio.mind.claim import Claim, Words, claims_of, key_of, subject_of
from memfolio.mind.item import Item
from memfolio.mind.validate import UNKNOWN, Ground

FEW = 4
"""Up to so many versions of the same are compared with each other; of more, each with the surest."""
ABOUT = 10
"""How many conflicts about the same are told."""
MOST = 100
"""How many conflicts are told at all."""
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


_REASONS = {
    ConflictKind.NEGATION: "one denies what the other says",
    ConflictKind.VALUES: "they give different values for the same",
    ConflictKind.SUBJECT: "both are held for true, and say different things about the same subject",
    ConflictKind.SIMILAR: "both are held for true, and their subjects differ by little",
}
_GRAVITY = {kind: -number for number, kind in enumerate(ConflictKind)}

Clash = tuple[ConflictKind, bool, Item, Item | Ground]
Versions = dict[object, Claim]
"""What is said of the same in different ways, each by the surest belief that says so."""


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

    @property
    def key(self) -> str:
        """The same for the same two."""
        return " ".join(sorted((self.one.id, self.other.id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """The conflicts that are told, the gravest first, and how many there are besides."""

    told: tuple[Conflict, ...] = ()
    left_off: int = 0


def find_conflicts(chunks: Iterable[Sequence[Item]], gone: Mapping[str, Ground], threshold: float) -> Conflicts:
    """The conflicts among all beliefs that are held for more certain than the threshold, in whatever chunks they come.

    `gone` has what does not hold any more of what they rest on.
    """
    held = [item for chunk in chunks for item in chunk if item.is_live and item.says and item.certainty > threshold]
    claims = {item.id: list(claims_of(item)) for item in held}
    groups = [*_by_frame(chain.from_iterable(claims.values())), *_by_subject(held, claims), *_by_ground(held, gone)]
    found: dict[str, Conflict] = {}
    for clash in (clash for group in groups for clash in group[:ABOUT]):
        conflict = _conflict(*clash, gone)
        known = found.setdefault(conflict.key, conflict)
        if (known.is_certain, _GRAVITY[known.kind]) < (conflict.is_certain, _GRAVITY[conflict.kind]):
            found[conflict.key] = conflict
    order = sorted(found.values(), key=lambda each: (not each.is_certain, -each.severity, each.key))
    left_off = sum(max(0, len(group) - ABOUT) for group in groups) + max(0, len(order) - MOST)
    return Conflicts(told=tuple(order[:MOST]), left_off=left_off)


def _by_frame(claims: Iterable[Claim]) -> Iterator[list[Clash]]:
    """Compare claims that have the same frame, or one that differs by a slip of the pen."""
    groups: defaultdict[Words, Versions] = defaultdict(dict)
    for claim in claims:
        _keep_surest(groups[claim.frame], (claim.values, claim.is_denied), claim)
    for versions in groups.values():
        yield [clash for pair in _pairs(versions) if (clash := _clash(*pair))]
    for one, other in near(frame for frame, some in groups.items() if any(each.values for each in some.values())):
        if clash := _clash(_surest(groups[one]), _surest(groups[other])):
            yield [(ConflictKind.SIMILAR, False, *clash[2:])]


def _by_subject(held: Iterable[Item], claims: Mapping[str, Sequence[Claim]]) -> Iterator[list[Clash]]:
    """Compare what is said below the same heading, or one that differs by little; what was and what is go together."""
    groups: defaultdict[tuple[Words, bool], Versions] = defaultdict(dict)
    for item in held:
        subject, content = subject_of(item)
        if content and (key := key_of(subject)):
            is_past = any(claim.is_past for claim in claims[item.id])
            says = frozenset(each.says for each in claims[item.id]) or content
            _keep_surest(groups[key, is_past], says, Claim(item, key, (), is_denied=False))
    for versions in groups.values():
        yield [_apart(one.item, other.item) for one, other in _pairs(versions)]
    for one, other in near(key for key, is_past in groups if not is_past):
        yield [_apart(_surest(groups[one, False]).item, _surest(groups[other, False]).item)]


def _by_ground(held: Iterable[Item], gone: Mapping[str, Ground]) -> Iterator[list[Clash]]:
    """Beliefs that rest on what does not hold any more."""
    for item in held:
        grounds = filter(None, map(gone.get, item.links()))
        yield [(ConflictKind.SUPERSEDED, False, item, each) for each in grounds if each.state != UNKNOWN]


def near(keys: Iterable[Words]) -> Iterator[tuple[Words, Words]]:
    """The pairs of keys in which one long word differs by a letter put in, taken out, replaced or swapped."""
    first: dict[int, Words] = {}
    shared: dict[int, list[Words]] = {}
    for key in keys:
        for at, word in enumerate(key):
            if len(word) < LONG_ENOUGH or not word.isalpha():
                continue
            rest = hash(key[:at] + key[at + 1 :])
            # The first letter stays: with another one it is another word.
            for mark in {word, *[word[:cut] + word[cut + 1 :] for cut in range(1, len(word))]}:
                held = first.setdefault(slot := hash((rest, mark)), key)
                if held is not key:
                    shared.setdefault(slot, [held]).append(key)
    some = (keys for keys in shared.values() if len(keys) <= CROWD)
    pairs = dict.fromkeys(pair for keys in some for pair in combinations(sorted(set(keys)), 2))
    return (pair for pair in pairs if len({*pair[0]} ^ {*pair[1]}) == 2)


def _clash(one: Claim, other: Claim) -> Clash | None:
    """How two claims with the same frame are in conflict, if they are."""
    differing = sum(a.differs(b) for a, b in zip(one.values, other.values, strict=True))
    is_firm = not (one.is_vague or other.is_vague)
    if one.item is other.item or (one.is_denied and other.is_denied):
        return None
    if one.is_denied != other.is_denied:
        return None if differing else (ConflictKind.NEGATION, is_firm, one.item, other.item)
    is_certain = is_firm and differing == 1 and not one.is_timed
    return (ConflictKind.VALUES, is_certain, one.item, other.item) if differing else None


def _apart(one: Item, other: Item) -> Clash:
    is_same = subject_of(one)[0].casefold() == subject_of(other)[0].casefold()
    return ConflictKind.SUBJECT if is_same else ConflictKind.SIMILAR, False, one, other


def _pairs(versions: Versions) -> Iterator[tuple[Claim, Claim]]:
    """What is compared of the versions of the same."""
    if len(versions) <= FEW:
        return combinations(versions.values(), 2)
    surest, *others = sorted(versions.values(), key=_strength, reverse=True)
    return ((surest, each) for each in others)


def _keep_surest(versions: Versions, key: object, claim: Claim) -> None:
    versions[key] = max(versions.get(key, claim), claim, key=_strength)


def _surest(versions: Versions) -> Claim:
    return max(versions.values(), key=_strength)


def _strength(claim: Claim) -> tuple[float, float, str]:
    return claim.item.certainty, _age(claim.item), claim.item.id


def _age(item: Item) -> float:
    return item.updated.timestamp() if item.updated else 0.0


def _conflict(kind: ConflictKind, is_certain: bool, a: Item, b: Item | Ground, gone: Mapping[str, Ground]) -> Conflict:
    if isinstance(b, Ground):
        one, other = a, Side(id=b.id, says=b.says or b.state, at=b.at)
        reason, advice = f"it rests on what was {b.state}", f"Look whether {a.id} still holds, or retire it"
    else:
        one, two = sorted((a, b), key=lambda each: (each.line, each.id))
        other, reason, advice = _side(two), _REASONS[kind], _advice(one, two, gone)
    return Conflict(
        kind=kind,
        subject=subject_of(one)[0],
        is_certain=is_certain,
        severity=min(one.certainty, one.certainty if other.certainty is None else other.certainty),
        one=_side(one),
        other=other,
        reason=reason,
        advice=advice,
    )


def _side(item: Item) -> Side:
    return Side(id=item.id, says=item.says, certainty=item.certainty, at=item.updated)


def _advice(one: Item, other: Item, gone: Mapping[str, Ground]) -> str:
    """Which of two looks stale, and why."""
    shaky = [each for each in (one, other) if not gone.keys().isdisjoint(each.links())]
    if len(shaky) == 1:
        return f"{shaky[0].id} looks stale: what it rests on does not hold any more"
    if one.updated and other.updated and one.updated.date() != other.updated.date():
        return f"{min((one, other), key=_age).id} looks stale: it is older"
    if one.certainty != other.certainty:
        return f"{min((one, other), key=lambda each: each.certainty).id} is held for less certain"
    return "Review both: nothing tells which is stale"
