"""Thinking a problem through: by a named method, by those that fit it, or by several together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memfolio.errors import InputError, MemfolioError, ModelError, PolicyError
from memfolio.intake import nearest, text_of
from memfolio.llm.model import Model
from memfolio.reason.ask import fill, work
from memfolio.reason.classify import UNTOLD, ProblemClassification, classify
from memfolio.reason.fusion import Fusion, fuse
from memfolio.reason.given import MOST, Given
from memfolio.reason.judgements import THINKER, Judgement, Judgements
from memfolio.reason.meta.calibration import score
from memfolio.reason.methods import Method, code_of, method_named, methods
from memfolio.reason.result import Result
from memfolio.reason.router import Ranked, rank
from memfolio.reason.worksheet import worksheet
from memfolio.reason.world import World
from memfolio.recall.asking.arguments import number, words
from memfolio.types import EMPTY, Attribution

FUSED = "fusion"
"""The name under which what several methods say together is kept."""
STRATEGY, SUGGESTED = "strategy-selection", 5
"""The worksheet to which the router adds so many methods that fit."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A problem with its kind, what was given by method, and the words from which the kind was guessed, if it was."""

    problem: str
    kind: ProblemClassification
    inputs: Mapping[str, Inputs]
    guessed: tuple[str, ...]


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
        most = number("limit", limit, 1, len(self.methods()))
        names = (*([method] if method else []), *words("methods", methods))
        named = [*{each.name: each for each in map(method_named, names)}.values()]
        asked = _question(problem, problem_classification, given, named or self.methods())
        several = multi_method or len(named) > 1
        route = self._route(asked, named or [each for each in self.methods() if each.name != STRATEGY or not several])
        chosen = named or [method_named(each.method) for each in route[: most if several else 1]]
        found = self._together(asked, chosen, route) if several else self._alone(asked, chosen[0])
        if not (named and asked.guessed):
            used = tuple(each for each in route if each.method in [one.name for one in chosen])
            notes = (f"suggested: {'; '.join(asked.guessed)}",) if asked.guessed else ()
            found = replace(found, route=used, notes=notes)
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

    def _route(self, asked: _Question, among: Iterable[Method]) -> list[Ranked]:
        standing, is_guess = self.judgements.standing(), bool(asked.guessed)
        return rank(among, asked.kind, text=asked.problem, is_guess=is_guess, given=asked.inputs, standing=standing)

    def _alone(self, asked: _Question, method: Method) -> Reasoned:
        found = self._think(asked, method)
        return Reasoned(
            problem=asked.problem, conclusion=found.conclusion, confidence=found.confidence, results=(found,)
        )

    def _together(self, asked: _Question, chosen: Iterable[Method], route: Sequence[Ranked]) -> Reasoned:
        """Each method by itself; one that can do nothing with its inputs is told beside the others."""
        results, failed = list[Result](), dict[str, str]()
        for each in chosen:
            try:
                results.append(self._think(asked, each))
            except MemfolioError as error:
                failed[each.name] = f"{error.message}; {error.hint}"
        scores = {} if asked.guessed else {each.method: each.score for each in route}
        fusion = fuse(results, scores, self.judgements.standing())
        return Reasoned(
            problem=asked.problem,
            conclusion=fusion.conclusion,
            confidence=fusion.confidence,
            results=tuple(results),
            fusion=fusion,
            failed=failed,
        )

    def _think(self, asked: _Question, method: Method) -> Result:
        """What a method says: computed, by the model, or as the steps to take."""
        given, problem = asked.inputs[method.name], asked.problem
        supplied = self._supplied(method, problem, given)
        if given or method.is_ready(supplied):
            try:
                return self._computed(method, problem, supplied)
            except InputError:
                if given:
                    raise
        model, notes = self._model(), self._suggested(asked) if method.name == STRATEGY else ()
        if model is None:
            return worksheet(method, problem, *notes)
        try:
            if not method.computes:
                return work(model, method, problem, *notes)
            filled, notes = fill(model, method, problem)
            result = self._computed(method, problem, filled)
            return replace(result, notes=(*notes, *result.notes), filled_by=model.name)
        except (ModelError, InputError) as error:
            return worksheet(method, problem, *notes, f"{model.name} was asked in vain: {error.message}")

    def _suggested(self, asked: _Question) -> tuple[str, ...]:
        """What the router says to whoever chooses a method, if it knows anything."""
        if UNTOLD in asked.guessed:
            return ()
        ranked = self._route(asked, [each for each in self.methods() if each.name != STRATEGY])[:SUGGESTED]
        return tuple(f"{each.method} fits ({each.score:g}): {'; '.join(each.why)}" for each in ranked)

    def _computed(self, method: Method, problem: str, given: Inputs) -> Result:
        if not method.computes:
            raise InputError(f"{method.name} reads no inputs", hint="leave them out: it is a worksheet")
        return replace(code_of(method)(Given(given), self._world()), problem=problem)

    def _supplied(self, method: Method, problem: str, given: Inputs) -> Inputs:
        """What is given, with what memfolio itself knows for a method."""
        if method.name == "case-based" and not SITUATION & given.keys():
            return {"context": problem, **given}
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
            filled_by=next((each.filled_by for each in found.results if each.filled_by), ""),
        )
        try:
            return replace(found, judgement=self.keep(result, by=by))
        except (InputError, PolicyError) as error:
            return replace(found, notes=(*found.notes, f"not stored: {error.message}"))


def _question(problem: str, classification: Any, given: Inputs | None, asked: Sequence[Method]) -> _Question:
    if not str(problem).strip():
        raise InputError("the problem is empty", hint="say what is to be thought through")
    text = text_of(problem)
    kind, guessed = classify(text) if classification is None else (classification, ())
    kind = ProblemClassification.of(kind)
    return _Question(problem=text, kind=kind, inputs=_by_method(given, asked), guessed=guessed)


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
