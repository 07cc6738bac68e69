"""Which constraints are violated, and which policies ask for something. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memfolio.errors import InputError
from memfolio.knowledge.join import Binding, Solution, solve
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Rule, RuleType, Severity, mentioned

Context = Iterable[Triple] | Mapping[str, Mapping[str, object]]
"""Facts for one call only: triples, or for each subject its predicates with an object or a list of them."""
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
    type: RuleType,
    now: int,
    *,
    severity: Severity | None = None,
    domain: str | None = None,
    problems: set[str] | None = None,
) -> list[Finding]:
    """What violates constraints, or what policies ask for, at `now`; `severity` is the mildest that counts.

    What is to be escalated and what is worst comes first, then the surest. Actions that contradict each other are all
    told.
    """
    chosen = (each for each in rules if each.type is type and each.enabled and domain in (None, each.domain))
    mildest = _WORST[severity or Severity.INFO]
    found = [
        each
        for rule in chosen
        if _WORST[rule.severity] <= mildest
        for each in _findings(rule, relations, now, problems)
    ]
    return sorted(found, key=_rank)


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
            text=with_values(rule.message or rule.action or rule.name, found.binding),
            binding=found.binding,
            supports=found.atoms,
            confidence=found.confidence * rule.factor,
        )


def with_values(text: str, binding: Binding) -> str:
    """A text with its `?variables` filled in, the longest names first, each once."""
    names = sorted(mentioned(text) & binding.keys(), key=len, reverse=True)
    if not names:
        return text
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"(?:{pattern})(?!\w)", lambda match: binding[match[0]], text)


class Beside:
    """Facts of one call beside all others."""

    def __init__(self, relations: Relations, context: Context) -> None:
        self._relations = relations
        triples = _triples(context) if isinstance(context, Mapping) else map(as_triple, context)
        self._given = Held(Atom(_FIRST + number, *each) for number, each in enumerate(triples))

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        given = self._given.match(predicate, subject, object)
        return [*self._relations.match(predicate, subject, object), *given]


def _triples(context: Mapping[str, Mapping[str, object]]) -> Iterator[Triple]:
    for subject, about in context.items():
        if not isinstance(about, Mapping):
            raise _no_triple(about)
        for predicate, value in about.items():
            for each in value if isinstance(value, list | tuple) else [value]:
                yield as_triple((subject, predicate, str(each)))


def as_triple(triple: object) -> Triple:
    """Subject, predicate and object, if that is what somebody gave."""
    if not isinstance(triple, list | tuple) or len(triple) != 3:
        raise _no_triple(triple)
    if not all(isinstance(each, str) and each.strip() for each in triple):
        raise _no_triple(triple)
    return triple[0], triple[1], triple[2]


def _no_triple(given: object) -> InputError:
    return InputError(f"{str(given)[:80]!r} is no fact", hint="give subject, predicate and object")
