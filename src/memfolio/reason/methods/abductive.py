"""What would best explain what was observed.

observation: a triple that was observed, to be explained by the rules of the store
facts: triples that count beside those of the store, for this question only
rules: rules that count beside those of the store
only_given: true to leave the store out
causes: instead of rules, for each cause {"effects": [...] or {effect: chance}, "prior": chance}
observations: the effects that were observed
absent: effects that were looked for and not found"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import exp, fsum, inf, log, prod
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.prove import At, Gap, Hypothesis, Prover, abduce, gaps
from memfolio.knowledge.rule import render_part
from memfolio.knowledge.tree import called, sentence
from memfolio.reason.inputs import Effort, Given, Result, World
from memfolio.reason.methods.logic import Supposed, as_far_as_possible, told, triple_in

SHOWN, MOST = 10, 300
Some = frozenset[str]


def reason(given: Given, world: World) -> Result:
    """The hypotheses that explain an observation, the best first."""
    if "causes" in given:
        given.only("causes", "observations", "absent")
        return _by_causes(given, Effort(world.settings.work))
    given.only("observation", "facts", "rules", "only_given")
    return _by_rules(given, Supposed(given, world))


def _by_rules(given: Given, known: Supposed) -> Result:
    observed = triple_in(given.text("observation"), "observation")

    def explained(prover: Prover) -> tuple[list[Hypothesis], list[Gap]]:
        held = At(prover, known.now)
        return abduce(observed, held, prover.rules), gaps(observed, held, prover.rules)

    # What was observed does not explain itself, though it may be among the facts.
    found, missing = known.ask(explained, [(observed.subject, observed.predicate, observed.object)])
    minimal = [str(each) for each in missing if each.missing]
    hypotheses = [
        {"rule": called(one.rule), "score": one.score, "assumes": [render_part(each) for each in one.assumptions]}
        for one in found
    ]
    steps = [
        f"by {called(one.rule)} ({one.score:.2f}), assuming {_joined(map(render_part, one.assumptions))}, "
        f"as it is known that {_joined(sentence(atom.triple) for atom in one.supports)}"
        for one in found
    ]
    assumed = _joined(map(render_part, found[0].assumptions)) if found else ""
    change = [f"if it were not so that {assumed}"] if found and found[0].assumptions else []
    change += [f"if it were known that {each}" for each in minimal if each != assumed]
    words = f"best explained {steps[0]}" if steps else f"no rule leads to {render_part(observed)}"
    sure = found[0].score * found[0].confidence if found and found[0].supports else None
    answer = {"hypotheses": hypotheses, "minimal": minimal}
    notes = ["the best explanation by known rules need not be the true one"]
    return told(given, "abductive", words, steps or ["no rule concludes it"], change[:SHOWN], answer, notes, sure)


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(parts) or "nothing"


class Cause(NamedTuple):
    """What a cause brings about, each with its chance, and how likely it is beforehand."""

    effects: Mapping[str, float]
    prior: float | None


class Causes:
    """Parsimonious covering (Peng & Reggia 1990): sets of causes that explain all, with none to spare."""

    def __init__(self, causes: Mapping[str, Cause], absent: list[str], effort: Effort) -> None:
        self.causes, self.absent, self.effort = causes, absent, effort

    def ranked(self, seen: list[str]) -> list[tuple[float, Some]]:
        """The minimal explanations with the logarithms of their weights, the likeliest first, then the smallest."""
        least = [each for each in set(self._covers(seen, frozenset())) if self._is_irredundant(each, seen)]
        weighed = [(self._weight(one, seen), one) for one in least]
        return sorted(weighed, key=lambda each: (-each[0], len(each[1]), sorted(each[1])))

    def _covers(self, left: list[str], chosen: Some) -> Iterator[Some]:
        self.effort.spend(len(self.causes))
        if not left:
            yield chosen
        for name, cause in self.causes.items() if left else ():
            if left[0] in cause.effects:
                yield from self._covers([each for each in left if each not in cause.effects], chosen | {name})

    def _is_irredundant(self, some: Some, seen: list[str]) -> bool:
        """Whether each of these causes alone explains something."""
        alone = [[name for name in some if each in self.causes[name].effects] for each in seen]
        return {names[0] for names in alone if len(names) == 1} == some

    def _weight(self, some: Some, seen: list[str]) -> float:
        """Prior odds, times that the causes bring about what was seen, times that they spare the rest."""
        priors = [prior for name in some if (prior := self.causes[name].prior) is not None]
        missed = {
            each: prod(1 - self.causes[name].effects.get(each, 0) for name in some) for each in (*seen, *self.absent)
        }
        factors = [each / max(1 - each, 1e-12) for each in priors]
        factors += [*(1 - missed[each] for each in seen), *(missed[each] for each in self.absent)]
        return fsum(map(log, factors)) if all(factors) else -inf

    def changes(self, seen: list[str], best: Some) -> Iterator[str]:
        """Which observation, left out, would let another explanation win, and which would speak against this one."""
        sure = {each for name in best for each, chance in self.causes[name].effects.items() if chance == 1}
        yield from (f"if {each} were looked for and not found" for each in sorted(sure - {*seen, *self.absent})[:SHOWN])
        for gone in seen if len(seen) > 1 else ():
            _, other = self.ranked([each for each in seen if each != gone])[0]
            if other != best:
                yield f"without the observation {gone}: {_joined(sorted(other))}"


def _by_causes(given: Given, effort: Effort) -> Result:
    causes = {name: _cause(part) for name, part in given.by_name("causes", least=1).items()}
    seen, absent = list(dict.fromkeys(given.texts("observations", least=1))), given.texts("absent", [])
    if len(seen) > MOST:
        raise InputError(f"there are {len(seen):,} observations", hint=f"give up to {MOST}")
    for each in seen:
        if not any(each in one.effects for one in causes.values()):
            raise InputError(f"no cause has the effect {each!r:.60}", hint="add a cause for it, or leave it out")
        if each in absent:
            raise InputError(f"{each!r:.60} is observed and absent", hint="say one of both")
    problem = Causes(causes, absent, effort)
    ranked = problem.ranked(seen)
    explanations, shares = [sorted(one) for _, one in ranked], _shares([weight for weight, _ in ranked])
    notes = ["chances are among the minimal explanations only"]
    if any(each.prior is None for each in causes.values()):
        shares, notes = [None] * len(ranked), ["chances need all priors"]
    notes += ["every explanation is excluded by what was not found"] if ranked[0][0] == -inf else []
    options = [" and ".join(each) for each in explanations]
    shown = [name if share is None else f"{name} ({share:.3f})" for name, share in zip(options, shares, strict=True)]
    steps = [
        f"{name} explains {', '.join(each for each in seen if each in causes[name].effects)}"
        for name in explanations[0]
    ]
    steps += [f"minimal explanation: {each}" for each in shown[:SHOWN]]
    answer = {"best": options[0], "options": options, "explanations": explanations, "shares": shares}
    change = as_far_as_possible(problem.changes(seen, ranked[0][1]))
    return told(given, "abductive", f"best explained by {shown[0]}", steps, change, answer, notes, shares[0])


def _shares(logarithms: list[float]) -> list[float | None]:
    """Weights as shares of their sum, the heaviest first; None where all are nothing."""
    if logarithms[0] == -inf:
        return [None] * len(logarithms)
    weights = [exp(each - logarithms[0]) for each in logarithms]
    return [each / fsum(weights) for each in weights]


def _cause(part: Given) -> Cause:
    part.only("effects", "prior")
    is_weighed = isinstance(part.value("effects", wanted="a list of effects"), Mapping)
    sure = {} if is_weighed else dict.fromkeys(part.texts("effects", least=1), 1.0)
    return Cause(sure or part.weights("effects", low=0, high=1), part.share("prior") if "prior" in part else None)
