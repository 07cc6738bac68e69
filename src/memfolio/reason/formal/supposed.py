"""The facts and rules that are given with a question, and count for it only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.check import Beside
from memfolio.knowledge.inference import as_goal
from memfolio.knowledge.prove import Prover
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Condition, Rule, check_rule, variables
from memfolio.knowledge.rule_text import parse
from memfolio.knowledge.rules import as_rule
from memfolio.reason.given import Given
from memfolio.reason.world import World

T = TypeVar("T")


class Supposed:
    """What is given as `facts` and `rules`, beside what the agent knows, or with `only_given` alone."""

    def __init__(self, given: Given, world: World) -> None:
        self._world, self._is_alone, self.now = world, given.flag("only_given"), to_us(world.now)
        self._facts = [_fact(each, f"facts[{at}]") for at, each in enumerate(given.texts("facts", []))]
        said = [_rule(each, at) for at, each in enumerate(given.texts("rules", []))]
        self.rules = [*([] if self._is_alone else world.rules.list(enabled=True)), *said]

    def ask(self, question: Callable[[Prover], T], without: Collection[Triple] = ()) -> T:
        """Ask about all that holds and follows, as if some facts were not there."""

        def ask(stored: Relations) -> T:
            return question(Prover(_Less(Beside(stored, self._facts), without), self.rules))

        return ask(Held()) if self._is_alone else self._world.inference.supposing(ask)


class _Less(NamedTuple):
    """Facts without some."""

    relations: Relations
    without: Collection[Triple]

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        found = self.relations.match(predicate, subject, object)
        return [each for each in found if each.triple not in self.without]


def triple_in(text: str, place: str) -> Condition:
    """A triple as rules have it: `acme hasRevenue $60,000`, with quotes around what has spaces, ?x for anything."""
    try:
        part, *others = parse(f"{text} => a b c").conditions
    except RuleError as error:
        raise InputError(f"{place} is no fact: {error.message}", hint=error.hint) from error
    if others or not isinstance(part, Condition) or part.negated:
        raise InputError(f"{place} is {text!r:.80}", hint="give one subject, predicate and object")
    return as_goal(part.subject, part.predicate, part.object)


def _fact(text: str, place: str) -> Triple:
    found = triple_in(text, place)
    if variables(found.terms):
        raise InputError(f"{place} has a variable", hint="name what it is about, or make it a rule")
    return found.subject, found.predicate, found.object


def _rule(text: str, at: int) -> Rule:
    try:
        return check_rule(replace(as_rule(text), id=f"given-{at}"))
    except RuleError as error:
        raise InputError(f"rules[{at}]: {error.message}", hint=error.hint) from error
