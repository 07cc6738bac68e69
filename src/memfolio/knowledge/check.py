"""Which constraints are violated, and which policies ask for something. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memfolio.errors import InputError
from memfolio.knowledge.join import Binding, Solution, solve
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Rule, Severity, mentioned
from memfolio.knowledge.tree import called

_FIRST = 1 << 61
"""Keys from here on are facts of one call."""
_WORST = {severity: place for place, severity in enumerate(reversed(Severity))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Facts that meet the conditions of a constraint or a policy, and what that rule has to say about them."""

    rule: Rule
    severity: Severity
    escalate: bool
    text: str
    """The message of a constraint or the action of a policy, with its values."""
    binding: Binding
    supports: tuple[Atom, ...]
    confidence: float


def findings(
    relations: Relations,
    rules: Iterable[Rule],
    now: int,
    *,
    severity: Severity = Severity.INFO,
    problems: set[str] | None = None,
) -> list[Finding]:
    """What violates constraints, or what policies ask for, at `now`; `severity` is the mildest that counts.

    What is to be escalated and what is worst comes first, then the surest. Actions that contradict each other are all
    told.
    """
    chosen = [rule for rule in rules if _WORST[rule.severity] <= _WORST[severity]]
    return sorted((each for rule in chosen for each in _findings(rule, relations, now, problems)), key=_rank)


def _rank(each: Finding) -> tuple[bool, int, float, str, str]:
    return not each.rule.escalate, _WORST[each.rule.severity], -each.confidence, each.rule.name, each.text


def _findings(rule: Rule, relations: Relations, now: int, problems: set[str] | None) -> Iterator[Finding]:
    """One for each set of values, the surest where several facts give the same."""
    best: dict[frozenset[tuple[str, str]], Solution] = {}
    for found in solve(rule.conditions, relations, span=(now, now + 1), problems=problems):
        key = frozenset(found.binding.items())
        if key not in best or found.confidence > best[key].confidence:
            best[key] = found
    for found in best.values():
        yield Finding(
            rule=rule,
            severity=rule.severity,
            escalate=rule.escalate,
            text=with_values(rule.message or rule.action or called(rule), found.binding),
            binding=found.binding,
            supports=found.atoms,
            confidence=found.confidence * rule.factor,
        )


def with_values(text: str, binding: Binding) -> str:
    """A text with its `?variables` filled in, the longest names first, each once."""
    names = sorted(mentioned(text) & binding.keys(), key=len, reverse=True)
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"(?:{pattern})(?!\w)", lambda match: binding[match[0]], text) if names else text


class Beside:
    """Facts of one call beside all others."""

    def __init__(self, relations: Relations, context: Iterable[Triple]) -> None:
        self._relations = relations
        self._given = Held(Atom(_FIRST + number, *as_triple(each)) for number, each in enumerate(context))

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        given = self._given.match(predicate, subject, object)
        return [*self._relations.match(predicate, subject, object), *given]


def as_triple(given: object) -> Triple:
    """Subject, predicate and object, if that is what somebody gave."""
    parts = given if isinstance(given, list | tuple) else ()
    if len(parts) == 3 and all(isinstance(each, str) and each.strip() for each in parts):
        return parts[0], parts[1], parts[2]
    raise InputError(f"{str(given)[:80]!r} is no fact", hint="give subject, predicate and object")
