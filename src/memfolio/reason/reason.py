"""Thinking a problem through: by a named method, by those that fit it, or by several together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memfolio.errors import InputError, MemfolioError, ModelError, PolicyError
from memfolio.intake import nearest, text_of
from memfolio.llm.model import Model
from memfolio.reason.ask import fill, work
from memfolio.reason.classify import ProblemClassification, classify
from memfolio.reason.fusion import Fusion, fuse
from memfolio.reason.given import MOST, Given
from memfolio.reason.judgements import THINKER, Judgement, Judgements
from memfolio.reason.meta.calibration import score
from memfolio.reason.method import Method
from memfolio.reason.methods import code_of, method_named, methods
from memfolio.reason.result import Result
from memfolio.reason.router import Ranked, rank
from memfolio.reason.worksheet import worksheet
from memfolio.reason.world import World
from memfolio.recall.asking.arguments import number, words
from memfolio.types import EMPTY, Attribution

FUSED = "fusion"
"""The name under which what several methods say together is kept."""
SITUATION = frozenset({"context", "beliefs", "desires", "features"})

Inputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned:
    """What came of a problem: one result a method, what they say together, and why these methods were chosen.

    `conclusion` is empty where there are only steps to work through. `failed` are methods that could do nothing with
    what was given, and why. `judgement` has the ids under which it was kept, if it was.
    """

    problem: str
    conclusion: str = ""
    confidence: float | None = None
    results: tuple[Result, ...] = ()
    fusion: Fusion | None = None
    route: tuple[Ranked, ...] = ()
    failed: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    notes: tuple[str, ...] = ()
    judgement: Judgement | None = None


class Reason:
    """The reasoning of one agent: call it with a problem."""

    def __init__(
        self, judgements: Judgements, *, world: Callable[[], World], model: Callable[[], Model | None]
    ) -> None:
        self.judgements = judgements
        self._world = world
        self._model = model

    def __call__(
        self,
        problem: str,
        *,
        method: str | None = None,
        given: Inputs | None = None,
        problem_classification: ProblemClassification | Mapping[str, Any] | None = None,
        multi_method: bool = False,
        methods: Iterable[str] = (),
        limit: int = 3,
        store: bool = False,
        by: Attribution = THINKER,
    ) -> Reasoned:
        """Think a problem through by `method`, else by the one that fits its classification best.

        With `multi_method` several do it: those named in `methods`, else the `limit` best fitting; what they say
        is weighed against each other. `given` has inputs by name, or by method: {"bayesian": {"prior": ...}}. A method
        that lacks its inputs answers with the steps to take. With `store` the conclusion is kept as a memory.
        """
        problem, most = text_of(problem), number("limit", limit, 1, len(self.methods()))
        named = [method_named(each) for each in (*([method] if method else []), *words("methods", methods))]
        several, inputs = multi_method or len(named) > 1, _by_method(given, named or self.methods())
        route, notes = self._route(problem, problem_classification, inputs, named)
        chosen = named or [method_named(each.method) for each in route[: most if several else 1]]
        if several:
            found = self._together(problem, dict.fromkeys(each.name for each in chosen), inputs, route)
        else:
            result = self._think(chosen[0], problem, inputs[chosen[0].name])
            sure, told = result.confidence, result.conclusion
            found = Reasoned(
                problem=problem, conclusion=told, confidence=sure, results=(result,), route=tuple(route[:1])
            )
        found = replace(found, notes=notes)
        return self._stored(found, by) if store else found

    def methods(self) -> Sequence[Method]:
        """Every method there is."""
        return [*methods().values()]

    def show(self, method: str) -> Method:
        """One method, with its inputs and its worksheet."""
        return method_named(method)

    def keep(self, result: Result, *, by: Attribution = THINKER) -> Judgement:
        """Keep a conclusion, such as that of somebody who worked through a worksheet."""
        return self.judgements.keep(result, by)

    def outcome(self, id: str, came_true: bool | float, *, by: Attribution = THINKER) -> Judgement:
        """Say what came of a judgement, named by its id or that of its memory: true, false, or how far from 0 to 1."""
        return self.judgements.outcome(id, came_true, by)

    def calibration(self) -> dict[str, dict[str, Any]]:
        """For each method with known outcomes, and for "all", how sure its judgements were and what came true."""
        known = self.judgements.forecasts()
        every = {"all": [each for forecasts in known.values() for each in forecasts], **known}
        return {name: score(forecasts) for name, forecasts in every.items() if forecasts}

    def _route(
        self, problem: str, classification: Any, inputs: Mapping[str, Inputs], named: Sequence[Method]
    ) -> tuple[list[Ranked], tuple[str, ...]]:
        """The methods by how well they fit; nothing where they are named and no classification is given."""
        if classification is None and named:
            return [], ()
        notes: tuple[str, ...] = ()
        if classification is None:
            classification, why = classify(problem)
            notes = (f"suggested: {'; '.join(why)}",)
        kind = ProblemClassification.of(classification)
        standing = self.judgements.standing()
        return rank(named or self.methods(), kind, text=problem, given=inputs, standing=standing), notes

    def _together(
        self, problem: str, chosen: Collection[str], inputs: Mapping[str, Inputs], route: Sequence[Ranked]
    ) -> Reasoned:
        """Each method by itself; one that can do nothing with its inputs is told beside the others."""
        results, failed = list[Result](), dict[str, str]()
        for name in chosen:
            try:
                results.append(self._think(method_named(name), problem, inputs[name]))
            except MemfolioError as error:
                failed[name] = f"{error.message}; {error.hint}"
        fusion = fuse(results, {each.method: each.score for each in route}, self.judgements.standing())
        return Reasoned(
            problem=problem,
            conclusion=fusion.conclusion,
            confidence=fusion.confidence,
            results=tuple(results),
            fusion=fusion,
            route=tuple(each for each in route if each.method in chosen),
            failed=failed,
        )

    def _think(self, method: Method, problem: str, given: Inputs) -> Result:
        """What a method says: computed, by the model, or as the steps to take."""
        supplied = self._supplied(method, problem, given)
        if method.computes and (given or method.is_ready(supplied)):
            try:
                return self._computed(method, problem, supplied)
            except InputError:
                if given:
                    raise
        model = self._model()
        if model is None:
            return worksheet(method, problem)
        try:
            if not method.computes:
                return work(model, method, problem)
            filled, notes = fill(model, method, problem)
            result = self._computed(method, problem, filled)
            return replace(result, notes=(*notes, *result.notes))
        except (ModelError, InputError) as error:
            return worksheet(method, problem, f"{model.name} was asked in vain: {error.message}")

    def _computed(self, method: Method, problem: str, given: Inputs) -> Result:
        return replace(code_of(method)(Given(given), self._world()), problem=problem)

    def _supplied(self, method: Method, problem: str, given: Inputs) -> Inputs:
        """What is given, with what memfolio itself knows for a method."""
        if method.name == "case-based" and not SITUATION & given.keys():
            return {"context": problem, **given}
        if method.name == "strategy-selection":
            return {"problem": problem, "standing": self.judgements.standing(), **given}
        if method.name == "calibration" and "forecasts" not in given:
            known = self.judgements.forecasts()
            wanted = [given["method"]] if "method" in given else [*known]
            pairs = [pair for name in wanted for pair in known.get(str(name), ())][-MOST:]
            return {"forecasts": [{"probability": sure, "outcome": came} for sure, came in pairs], **given}
        return given

    def _stored(self, found: Reasoned, by: Attribution) -> Reasoned:
        """What was reasoned, kept where there is something to keep and whoever asks may."""
        result = Result(
            method=FUSED if found.fusion else found.results[0].method,
            problem=found.problem,
            conclusion=found.conclusion,
            confidence=found.confidence,
            inputs={each.method: each.inputs for each in found.results},
            computed=any(each.computed for each in found.results),
        )
        try:
            return replace(found, judgement=self.keep(result, by=by))
        except (InputError, PolicyError) as error:
            return replace(found, notes=(*found.notes, f"not stored: {error.message}"))


def _by_method(given: Inputs | None, asked: Sequence[Method]) -> dict[str, Inputs]:
    """The inputs of each method: its own, or those of all that it reads; what none of those asked reads is refused."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"what is given is a {type(given).__name__}", hint="pass an object of inputs")
    known, flat = methods(), dict(given or {})
    is_by_method = all(name in known and isinstance(value, Mapping) for name, value in flat.items())
    read = [name for each in asked for name in ([each.name] if is_by_method else each.inputs)]
    if unread := [str(name) for name in flat if name not in read]:
        raise InputError(f"there is no input {unread[0]!r:.60}", hint=nearest(unread[0], sorted({*read})))
    if is_by_method:
        return {name: flat.get(name, {}) for name in known}
    return {name: {each: flat[each] for each in flat if each in method.inputs} for name, method in known.items()}
