"""What would best explain what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import exp, fsum, inf, log, prod
from typing import Annotated, NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.prove import At, Gap, Hypothesis, Prover, abduce, gaps
from memfolio.knowledge.rule import render_part
from memfolio.knowledge.tree import called, sentence
from memfolio.reason.inputs import Computed, Effort, Named, Several, Share, Texts, World, method, sized
from memfolio.reason.methods.logic import Supposed, triple_in

SHOWN = 10
Some = frozenset[str]


class Observation(NamedTuple):
    observation: str
    facts: Texts = ()
    rules: Texts = ()
    only_given: bool = False


class Cause(NamedTuple):
    """What a cause brings about, each with its chance, and how likely it is beforehand."""

    effects: Several[str] | Named[Share]
    prior: Share | None = None

    @property
    def chances(self) -> Mapping[str, float]:
        return self.effects if isinstance(self.effects, Mapping) else dict.fromkeys(self.effects, 1.0)


class Effects(NamedTuple):
    causes: Named[Cause]
    observations: Annotated[Texts, sized(1, 300)]
    absent: Texts = ()


@method
def abductive(given: Observation | Effects, world: World) -> Computed:
    """The hypotheses that explain an observation, the best first."""
    if isinstance(given, Effects):
        return _by_causes(given, world.effort())
    observed = triple_in(given.observation, "observation")
    known = Supposed(given.facts, given.rules, given.only_given, world)

    def explained(prover: Prover) -> tuple[list[Hypothesis], list[Gap]]:
        now = At(prover, known.now)
        return abduce(observed, now, prover.rules), gaps(observed, now, prover.rules)

    # What was observed does not explain itself, though it may be among the facts.
    found, missing = known.ask(explained, [(observed.subject, observed.predicate, observed.object)])
    minimal = [str(each) for each in missing if each.missing]
    steps = [
        f"by {called(one.rule)} ({one.score:.2f}), assuming {_joined(map(render_part, one.assumptions))}, "
        f"as it is known that {_joined(sentence(atom.triple) for atom in one.supports)}"
        for one in found
    ]
    assumed = _joined(map(render_part, found[0].assumptions)) if found else ""
    change = [f"if it were not so that {assumed}"] if found and found[0].assumptions else []
    change += [f"if it were known that {each}" for each in minimal if each != assumed]
    hypotheses = [
        {"rule": called(one.rule), "score": one.score, "assumes": [render_part(each) for each in one.assumptions]}
        for one in found
    ]
    return Computed(
        f"best explained {steps[0]}" if steps else f"no rule leads to {render_part(observed)}",
        confidence=found[0].score * found[0].confidence if found and found[0].supports else None,
        steps=steps or ["no rule concludes it"],
        would_change=change[:SHOWN],
        answer={"hypotheses": hypotheses, "minimal": minimal},
        notes=["the best explanation by known rules need not be the true one"],
    )


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(parts) or "nothing"


class Covering:
    """Parsimonious covering (Peng & Reggia 1990): sets of causes that explain all, with none to spare."""

    def __init__(self, given: Effects, effort: Effort) -> None:
        self.effects = {name: cause.chances for name, cause in given.causes.items()}
        self.priors = {name: cause.prior for name, cause in given.causes.items()}
        self.absent, self.effort = given.absent, effort

    def ranked(self, seen: list[str]) -> list[tuple[float, Some]]:
        """The minimal explanations with the logarithms of their weights, the likeliest first, then the smallest."""
        least = [each for each in set(self._covers(seen, frozenset())) if self._is_irredundant(each, seen)]
        weighed = [(self._weight(one, seen), one) for one in least]
        return sorted(weighed, key=lambda each: (-each[0], len(each[1]), sorted(each[1])))

    def _covers(self, left: list[str], chosen: Some) -> Iterator[Some]:
        self.effort.spend(len(self.effects))
        if not left:
            yield chosen
        for name, effects in self.effects.items() if left else ():
            if left[0] in effects:
                yield from self._covers([each for each in left if each not in effects], chosen | {name})

    def _is_irredundant(self, some: Some, seen: list[str]) -> bool:
        """Whether each of these causes alone explains something."""
        alone = [[name for name in some if each in self.effects[name]] for each in seen]
        return {names[0] for names in alone if len(names) == 1} == some

    def _weight(self, some: Some, seen: list[str]) -> float:
        """Prior odds, times that the causes bring about what was seen, times that they spare the rest."""
        missed = {each: prod(1 - self.effects[name].get(each, 0) for name in some) for each in (*seen, *self.absent)}
        factors = [prior / max(1 - prior, 1e-12) for name in some if (prior := self.priors[name]) is not None]
        factors += [*(1 - missed[each] for each in seen), *(missed[each] for each in self.absent)]
        return fsum(map(log, factors)) if all(factors) else -inf

    def changes(self, seen: list[str], best: Some) -> Iterator[str]:
        """Which observation, left out, would let another explanation win, and which would speak against this one."""
        sure = {each for name in best for each, chance in self.effects[name].items() if chance == 1}
        yield from (f"if {each} were looked for and not found" for each in sorted(sure - {*seen, *self.absent})[:SHOWN])
        for gone in seen if len(seen) > 1 else ():
            _, other = self.ranked([each for each in seen if each != gone])[0]
            if other != best:
                yield f"without the observation {gone}: {_joined(sorted(other))}"


def _by_causes(given: Effects, effort: Effort) -> Computed:
    seen, problem = list(dict.fromkeys(given.observations)), Covering(given, effort)
    for each in seen:
        if not any(each in effects for effects in problem.effects.values()):
            raise InputError(f"no cause has the effect {each!r:.60}", hint="add a cause for it, or leave it out")
        if each in given.absent:
            raise InputError(f"{each!r:.60} is observed and absent", hint="say one of both")
    ranked = problem.ranked(seen)
    explanations = [sorted(one) for _, one in ranked]
    has_priors = None not in problem.priors.values()
    shares = _shares([weight for weight, _ in ranked]) if has_priors else [None] * len(ranked)
    options = [" and ".join(each) for each in explanations]
    shown = [name if share is None else f"{name} ({share:.3f})" for name, share in zip(options, shares, strict=True)]
    explained = {name: [each for each in seen if each in problem.effects[name]] for name in explanations[0]}
    return Computed(
        f"best explained by {shown[0]}",
        confidence=shares[0],
        steps=[
            *(f"{name} explains {', '.join(effects)}" for name, effects in explained.items()),
            *(f"minimal explanation: {each}" for each in shown[:SHOWN]),
        ],
        would_change=problem.changes(seen, ranked[0][1]),
        answer={"best": options[0], "options": options, "explanations": explanations, "shares": shares},
        notes=[
            "chances are among the minimal explanations only" if has_priors else "chances need all priors",
            "every explanation is excluded by what was not found" if ranked[0][0] == -inf else "",
        ],
    )


def _shares(logarithms: list[float]) -> list[float | None]:
    """Weights as shares of their sum, the heaviest first; None where all are nothing."""
    if logarithms[0] == -inf:
        return [None] * len(logarithms)
    weights = [exp(each - logarithms[0]) for each in logarithms]
    return [each / fsum(weights) for each in weights]
