"""What is known for one question: the facts and rules of the store, and those that are given with it, never stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.inference import as_goal
from memfolio.knowledge.prove import Prover
from memfolio.knowledge.relations import BEGINNING, END, Atom, Held, Triple
from memfolio.knowledge.rule import Condition, Rule, check_rule, variables
from memfolio.knowledge.rule_text import parse
from memfolio.knowledge.rules import as_rule
from memfolio.reason.given import Given
from memfolio.reason.world import World

MOST = 100_000
"""How many facts of one predicate are looked at."""


def triple_in(text: str, place: str) -> Condition:
    """A triple as rules have it: `acme hasRevenue $60,000`, with quotes around what has spaces, ?x for anything."""
    try:
        part, *others = parse(f"{text} => a b c").conditions
    except RuleError as error:
        raise InputError(f"{place} is no fact: {error.message}", hint=error.hint) from error
    if others or not isinstance(part, Condition) or part.negated:
        raise InputError(f"{place} is {text!r:.80}", hint="give one subject, predicate and object")
    return as_goal(part.subject, part.predicate, part.object)


def _rule(text: str, at: int) -> Rule:
    try:
        return check_rule(replace(as_rule(text), id=f"given-{at}"))
    except RuleError as error:
        raise InputError(f"rules[{at}]: {error.message}", hint=error.hint) from error


class Known:
    """Facts of the store and given ones, where a prover looks them up; some can be left out."""

    def __init__(self, given: Given, world: World) -> None:
        facts = [triple_in(each, f"facts[{at}]") for at, each in enumerate(given.texts("facts", []))]
        for at in (at for at, each in enumerate(facts) if variables(each.terms)):
            raise InputError(f"facts[{at}] has a variable", hint="name what it is about, or make it a rule")
        self._given = Held(Atom(-1, each.subject, each.predicate, each.object) for each in facts)
        self._facts = None if given.flag("only_given") else world.facts
        self._seen = dict[object, list[Atom]]()
        self._keys = dict[object, int]()
        self._without: Collection[Triple] = ()
        self._most, self.now = world.settings.work // 5, to_us(world.now)
        said = [_rule(each, at) for at, each in enumerate(given.texts("rules", []))]
        self.rules = [*(world.rules.list(enabled=True) if self._facts else []), *said]

    def prover(self, without: Collection[Triple] = ()) -> Prover:
        """All that follows, without some of the facts."""
        self._without = without
        return Prover(self, self.rules, most=self._most)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        asked = predicate, subject, object
        if asked not in self._seen:
            found = [*self._given.match(*asked), *self._stored(*asked)]
            self._seen[asked] = [
                each._replace(key=self._keys.setdefault(each[1:], len(self._keys) + 1)) for each in found
            ]
        return [each for each in self._seen[asked] if each.triple not in self._without]

    def _stored(self, predicate: str, subject: str | None, object: str | None) -> list[Atom]:
        """What the store has, of any time; no sign in a term stands for others."""
        if self._facts is None:
            return []
        found = self._facts.query(subject, predicate, object, valid_at="any", include_derived=False, limit=MOST)
        wanted = subject, predicate, object
        exact = [one for one in found if all(want in (None, own) for own, want in zip(one.triple, wanted, strict=True))]
        spans = [(one.valid_from_us, one.valid_until_us) for one in exact]
        ends = [(BEGINNING if start is None else start, END if end is None else end) for start, end in spans]
        return [Atom(0, *one.triple, one.confidence, *span) for one, span in zip(exact, ends, strict=True)]
