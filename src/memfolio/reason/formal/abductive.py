"""What would best explain what was observed.

observation: a triple that was observed, to be explained by the rules of the store
facts: triples that count beside those of the store, for this question only
rules: rules that count beside those of the store
only_given: true to leave the store out
causes: instead of rules, for each cause {"effects": [...] or {effect: chance}, "prior": chance}
observations: the effects that were observed
absent: effects that were looked for and not found
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.abduce import abduce, gaps
from memfolio.knowledge.prove import At
from memfolio.knowledge.rule_text import render_part
from memfolio.knowledge.tree import called, sentence
from memfolio.reason.effort import Effort
from memfolio.reason.formal.known import Known, triple_in
from memfolio.reason.formal.telling import as_far_as_possible, told
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

SHOWN, MOST = 10, 300
Some = frozenset[str]


def reason(given: Given, world: World) -> Result:
    """The hypotheses that explain an observation, the best first."""
    if "causes" in given:
        given.only("causes", "observations", "absent")
        return _by_causes(given, Effort(world.settings.work))
    given.only("observation", "facts", "rules", "only_given")
    return _by_rules(given, Known(given, world))


def _by_rules(given: Given, known: Known) -> Result:
    prover, observed = known.prover(), triple_in(given.text("observation"), "observation")
    held = At(prover, known.now)
    found = abduce(observed, held, prover.rules)
    sets = [str(each) for each in gaps(observed, held, prover.rules) if each.missing]
    assumed = [list(map(render_part, each.assumptions)) for each in found]
    steps = [
        f"by {called(one.rule)} ({one.score:.2f}), assuming {' and '.join(new) or 'nothing'}, "
        f"as {' and '.join(sentence(atom.triple) for atom in one.supports) or 'nothing is known'}"
        for one, new in zip(found, assumed, strict=True)
    ]
    change = [f"if it were not so that {' and '.join(new)}" for new in assumed[:1] if new]
    change += [f"if it were known that {each}" for each in sets if assumed and each != " and ".join(assumed[0])]
    told_of = [
        {"rule": called(one.rule), "score": one.score, "assumes": new} for one, new in zip(found, assumed, strict=True)
    ]
    notes = ["the best explanation by known rules need not be the true one", *sorted(prover.problems)]
    words = f"best explained {steps[0]}" if steps else f"no rule leads to {render_part(observed)}"
    sure = found[0].score * found[0].confidence if found and found[0].supports else None
    answer = {"hypotheses": told_of, "minimal": sets}
    return told(given, "abductive", words, steps or ["no rule concludes it"], change[:SHOWN], answer, notes, sure)


class _Cause(NamedTuple):
    effects: Mapping[str, float]
    prior: float | None


class _Causes:
    """Parsimonious covering (Peng & Reggia 1990): sets of causes that explain all, with none to spare."""

    def __init__(self, causes: Mapping[str, _Cause], absent: list[str], effort: Effort) -> None:
        self.causes, self.absent, self.effort = causes, absent, effort

    def ranked(self, seen: list[str]) -> list[tuple[float, Some]]:
        """The minimal explanations with their weights, the heaviest first, then the smallest."""
        covers = set(self._covers(seen, frozenset()))
        self.effort.spend(len(covers) ** 2)
        least = [one for one in covers if not any(other < one for other in covers)]
        return sorted(
            ((self.weight(one, seen), one) for one in least), key=lambda each: (-each[0], len(each[1]), sorted(each[1]))
        )

    def _covers(self, left: list[str], chosen: Some) -> Iterator[Some]:
        self.effort.spend(len(self.causes))
        if not left:
            yield chosen
        for name, cause in self.causes.items() if left else ():
            if left[0] in cause.effects:
                yield from self._covers([each for each in left if each not in cause.effects], chosen | {name})

    def weight(self, some: Some, seen: list[str]) -> float:
        """The relative likelihood: prior odds, times that they cause what was seen, times that they spare the rest."""
        priors = [prior for name in some if (prior := self.causes[name].prior) is not None]
        odds = prod(each / max(1 - each, 1e-12) for each in priors)
        missed = {
            name: prod(1 - self.causes[one].effects.get(name, 0) for one in some) for name in (*seen, *self.absent)
        }
        return odds * prod(1 - missed[each] for each in seen) * prod(missed[each] for each in self.absent)

    def changes(self, seen: list[str], best: Some) -> Iterator[str]:
        """Which observation, left out, would let another explanation win, and which would speak against this one."""
        sure = {each for name in best for each, chance in self.causes[name].effects.items() if chance == 1}
        yield from (f"if {each} were looked for and not found" for each in sorted(sure - {*seen, *self.absent})[:SHOWN])
        for gone in seen if len(seen) > 1 else ():
            _, other = self.ranked([each for each in seen if each != gone])[0]
            yield from [f"without the observation {gone}: {' and '.join(sorted(other))}"] if other != best else []


def _by_causes(given: Given, effort: Effort) -> Result:
    causes = {name: _cause(part) for name, part in given.by_name("causes", least=1).items()}
    seen, absent = list(dict.fromkeys(given.texts("observations", least=1))), given.texts("absent", [])
    if len(seen) > MOST:
        raise InputError(f"there are {len(seen):,} observations", hint=f"give up to {MOST}")
    if orphan := next((each for each in seen if not any(each in one.effects for one in causes.values())), None):
        raise InputError(f"no cause has the effect {orphan!r:.60}", hint="add a cause for it, or leave it out")
    problem = _Causes(causes, absent, effort)
    ranked, is_weighed = problem.ranked(seen), all(each.prior is not None for each in causes.values())
    best, total = ranked[0][1], sum(weight for weight, _ in ranked)
    shares = [weight / total if is_weighed and total else None for weight, _ in ranked]
    chances = [f" ({share:.3f})" if share is not None else "" for share in shares]
    shown = [f"{' and '.join(sorted(one))}{chance}" for (_, one), chance in zip(ranked, chances, strict=True)]
    explained = {name: [each for each in seen if each in causes[name].effects] for name in sorted(best)}
    steps = [f"{name} explains {', '.join(some)}" for name, some in explained.items()]
    steps += [f"minimal explanation: {each}" for each in shown[:SHOWN]]
    notes = [f"chances {'are among the minimal explanations only' if is_weighed else 'need all priors'}"]
    notes += [] if total else ["every explanation is excluded by what was not found"]
    answer = {"explanations": [sorted(one) for _, one in ranked], "shares": shares}
    change = as_far_as_possible(problem.changes(seen, best))
    return told(given, "abductive", f"best explained by {shown[0]}", steps, change, answer, notes, shares[0])


def _cause(part: Given) -> _Cause:
    part.only("effects", "prior")
    is_weighed = isinstance(part.value("effects", wanted="a list of effects"), Mapping)
    sure = {} if is_weighed else dict.fromkeys(part.texts("effects", least=1), 1.0)
    return _Cause(sure or part.weights("effects", low=0, high=1), part.share("prior") if "prior" in part else None)
