"""Reasoning about a problem by a named method, by the best fitting one, or by several whose results are fused."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import cache
from importlib import import_module
from itertools import combinations
from typing import Any

from memfolio.arguments import check_known, nearest, text_of
from memfolio.errors import InputError, MemfolioError, ModelError, NotFoundError, PolicyError
from memfolio.index.lookup import records
from memfolio.llm.model import Model
from memfolio.reason.inputs import MOST, Inputs, Result, World, number_in, one_of, only
from memfolio.reason.inputs import Method as Code
from memfolio.reason.methods.experience import score
from memfolio.recall.query import check_number, words
from memfolio.recall.searcher import Searcher
from memfolio.text import packaged_table, terms
from memfolio.types import EMPTY, Attribution, Kind, Type, check_attribution, frozen
from memfolio.vault.change import AddLines, NewId
from memfolio.vault.fields import Draft, check_text
from memfolio.vault.paths import knowledge_ledger
from memfolio.vault.vault import Vault


@cache
def _data(name: str) -> dict[str, Any]:
    return packaged_table(f"reason/data/{name}.toml")


# What kind of problem it is, by six dimensions: said by whoever asks, or suggested by the words of the problem.

DIMENSIONS: Mapping[str, tuple[str, ...]] = {name: tuple(each["values"]) for name, each in _data("dimensions").items()}
WEIGHTS: Mapping[str, float] = {name: each["weight"] for name, each in _data("dimensions").items()}
"""What each dimension counts."""
UNTOLD = "no word of the problem tells what kind it is"


@frozen
class ProblemClassification:
    """A problem by its dimensions; None is one of which nothing is said."""

    uncertainty: str | None = None
    complexity: str | None = None
    domain: str | None = None
    time_pressure: str | None = None
    data_availability: str | None = None
    stakes: str | None = None

    @classmethod
    def of(cls, given: ProblemClassification | Mapping[str, Any]) -> ProblemClassification:
        """A classification from outside; what is unknown is refused with the nearest, an empty one with the choices."""
        dimensions = given.dimensions if isinstance(given, ProblemClassification) else given
        if not isinstance(dimensions, Mapping):
            raise InputError(
                f"the classification is a {type(dimensions).__name__}", hint="pass an object of dimensions"
            )
        found = {str(name): value for name, value in dimensions.items() if value is not None}
        if not found:
            known = "; ".join(f"{name} {'|'.join(values)}" for name, values in DIMENSIONS.items())
            raise InputError("the classification is empty", hint=f"say one of: {known}")
        only("", found, DIMENSIONS)
        return cls(**{name: one_of(name, value, DIMENSIONS[name]) for name, value in found.items()})

    @property
    def dimensions(self) -> dict[str, str]:
        """The dimensions of which something is said."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def classify(problem: str) -> tuple[ProblemClassification, tuple[str, ...]]:
    """A classification that plain rules read in the words of a problem, and what they read: a guess, to be corrected.

    Of a dimension without a telling word nothing is said; where no word tells anything, its domain is mixed.
    """
    found: dict[str, str] = {}
    why: list[str] = []
    for name, value, telling in _telling():
        # Values stand in the order in which they tell most: the first that is found counts.
        if name not in found and (match := telling.search(problem)):
            found[name] = value
            why.append(f"{name} {value}: {match[0].casefold()!r}")
    if not found:
        found, why = {"domain": "mixed"}, [UNTOLD]
    return ProblemClassification(**found), tuple(why)


@cache
def _telling() -> list[tuple[str, str, re.Pattern[str]]]:
    return [
        (name, value, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
        for name, values in _data("words").items()
        for value, words in values.items()
    ]


# The methods there are, as the data file tells them; the code of a method is loaded when it is used.


@frozen
class Method:
    """A way to think a problem through: what it is good for, and the steps that guide whoever takes it.

    `settles` is what it ends with, a "choice" or a "claim"; `cues` are words that call for it, as a pattern; `ideals`
    are the kinds of problems it is made for, by dimension. One that computes tells the `inputs` it reads, and what it
    `needs` of them: one entry for each way to ask it.
    """

    name: str
    category: str
    summary: str
    good_for: str
    settles: str
    cues: str
    steps: tuple[str, ...]
    ideals: Mapping[str, tuple[str, ...]]
    needs: tuple[tuple[str, ...], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def computes(self) -> bool:
        return bool(self.needs)

    @property
    def wants(self) -> str:
        """What it needs, in words."""
        return ", or ".join(" and ".join(each) for each in self.needs)

    def is_ready(self, given: Collection[str]) -> bool:
        """Whether it can compute from inputs of these names."""
        return any(set(each) <= set(given) for each in self.needs)


def prompt(name: str) -> str:
    """What a model is asked."""
    return str(_data("prompts")[name])


@cache
def methods() -> Mapping[str, Method]:
    """Every method by its name, category by category."""
    plain = ("category", "summary", "good_for", "settles", "cues")
    return {
        name: Method(
            name=name,
            steps=tuple(table["steps"]),
            ideals={each: tuple(table[each]) for each in DIMENSIONS},
            needs=tuple(tuple(each.split()) for each in table.get("needs", ())),
            inputs=table.get("inputs", EMPTY),
            **{each: table[each] for each in plain},
        )
        for name, table in _data("methods").items()
    }


def method_named(name: str) -> Method:
    """The method of this name, whether its words are joined by hyphens, underscores or spaces."""
    plain = "-".join(str(name).casefold().replace("_", " ").replace("-", " ").split())
    if plain not in methods():
        raise NotFoundError(f"there is no method {str(name)[:60]!r}", hint=nearest(plain, [*methods()]))
    return methods()[plain]


def limits_of(method: Method) -> tuple[str, ...]:
    """What a method assumes, or cannot say, whatever it is given."""
    return tuple(_data("methods")[method.name].get("limits", ()))


def code_of(method: Method) -> Code:
    """The function with which a method computes; its module is loaded when it is used."""
    # numpy and others take long to load, and most problems need none of them.
    module = import_module(f"memfolio.reason.methods.{_data('methods')[method.name]['code']}")
    code: Code = getattr(module, method.name.replace("-", "_"))
    return code


# Which methods fit a problem: a score by its classification, with the reason for each part of it.

UNKNOWN = 0.75
"""The standing of a method of which no result was judged: that of somebody who says 0.5 to everything."""


@frozen
class Ranked:
    """A method with how well it fits; `parts` is what each dimension adds, `why` says the same in words.

    `is_ready` is whether it can compute from what is given, `standing` how well its past results came true.
    """

    method: str
    score: float
    parts: Mapping[str, float]
    why: tuple[str, ...]
    is_ready: bool
    standing: float


def rank(
    methods: Iterable[Method],
    classification: ProblemClassification,
    *,
    text: str = "",
    is_guess: bool = False,
    given: Mapping[str, Collection[str]] = EMPTY,
    standing: Mapping[str, float] = EMPTY,
) -> list[Ranked]:
    """The methods, the best fitting first; `given` has the names of the inputs that there are for each.

    Before all others come those that can compute at once, as whoever gives inputs wants them used. Among equals come
    first those that the words of the problem call for, the longest words first, then those whose results came true,
    then those that are made for fewer kinds of problems, and the first of the table. Where the classification is a
    guess by single words, those that call for a method tell more, and count before the score.
    """
    every = {each.name: each for each in methods}
    found = [_ranked(each, classification, given.get(name, ()), standing) for name, each in every.items()]

    def place(it: Ranked) -> tuple[float, ...]:
        method, used = every[it.method], len(given.get(it.method, ())) if it.is_ready else 0
        calls = sum(map(len, re.findall(rf"\b(?:{method.cues})\b", text, re.IGNORECASE)))
        fit = (-calls, -it.score) if is_guess else (-it.score, -calls)
        # Tuples compare from the left: the first difference decides.
        return -used, *fit, -it.standing, sum(map(len, method.ideals.values()))

    return sorted(found, key=place)


def _ranked(
    method: Method, problem: ProblemClassification, given: Collection[str], standing: Mapping[str, float]
) -> Ranked:
    parts, why = dict[str, float](), list[str]()
    for name, value in problem.dimensions.items():
        ideal = method.ideals[name]
        parts[name] = WEIGHTS[name] if value in ideal else 0.0
        why.append(f"{name} {value}: " + (f"+{parts[name]:g}" if parts[name] else f"made for {' or '.join(ideal)}"))
    return Ranked(
        method=method.name,
        score=round(sum(parts.values()), 9),
        parts=parts,
        why=tuple(why),
        is_ready=method.is_ready(given),
        standing=standing.get(method.name, UNKNOWN),
    )


# A method as steps for whoever works through them: no conclusion is made up where nothing was computed.


def worksheet(method: Method, problem: str, *notes: str) -> Result:
    """What to do about a problem with a method, step by step, and which inputs it would compute from."""
    needs = f"nothing was computed: {method.name} needs {method.wants}"
    guides = f"{method.name} does not compute: its steps guide whoever works through them"
    return Result(
        method=method.name,
        conclusion="",
        steps=method.steps,
        answer={"inputs": dict(method.inputs)} if method.computes else {},
        notes=(needs if method.computes else guides, *notes),
        computed=False,
        problem=problem,
    )


# What several methods say together: where they agree, where they contradict each other, and what weighs more. Pure.
#
# Two results are compared only where they answer the same question: a choice among the same options, or a yes or no
# to the same claim. Those that contradict each other are shown beside each other; no mean of them is taken.

ALIKE = 0.6
"""The share of words from which on two claims, or conclusions, are about the same."""
CLOSE = 0.8
"""From this share of the weight of the leading view on, what contradicts it leaves the matter undecided."""
UNSURE, LEAST = 0.5, 0.05
"""What counts for a method that cannot say how sure it is, and at least for how well a method fits."""
_NEGATION = re.compile(r"\b(?:not|no|never|none|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)

Weights = Mapping[str, Mapping[str, float]]
Pairs = Mapping[frozenset[str], bool | None]


@frozen
class Fusion:
    """The fusion of several results: the heaviest of the `views`, what contradicts it, and other conclusions.

    A view is the methods that say the same; `decided` is whether the first outweighs those against it. `weights` has
    for each method how well it fits (score), how sure it is, how well its past results came true (calibration), and
    the product. `silent` are those that concluded nothing, such as worksheets.
    """

    conclusion: str = ""
    confidence: float | None = None
    decided: bool = False
    views: tuple[tuple[str, ...], ...] = ()
    agreements: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    weights: Weights = field(default_factory=lambda: EMPTY)
    silent: tuple[str, ...] = ()


def fuse(results: Sequence[Result], scores: Mapping[str, float], standing: Mapping[str, float]) -> Fusion:
    """One conclusion out of several; `scores` is how well methods fit, `standing` how their past results came true.

    How sure it is is lowered by the share of the weight that is against it.
    """
    spoken = {each.method: each for each in results if each.conclusion}
    silent = tuple(each.method for each in results if not each.conclusion)
    if not spoken:
        return Fusion(silent=silent)
    weights = {name: _weight(each, scores, standing) for name, each in spoken.items()}
    # True for the same, False for the contrary, None for something else.
    pairs = {frozenset(pair): _same(*(spoken[name] for name in pair)) for pair in combinations(spoken, 2)}
    views = sorted(_groups(spoken, pairs), key=lambda view: -_sum(view, weights))
    against = [name for name in spoken if any(pairs.get(frozenset((name, each))) is False for each in views[0])]
    # Only what contradicts the leading view weighs against it; what speaks of something else does not.
    own, rival = _sum(views[0], weights), _sum(against, weights)
    decided = not against or rival < CLOSE * own
    sure = [each for each in views[0] if spoken[each].confidence is not None]
    mean = sum(weights[each]["confidence"] * weights[each]["weight"] for each in sure) / (_sum(sure, weights) or 1)
    lines = {name: f"{name}: {each.conclusion}" for name, each in spoken.items()}
    return Fusion(
        conclusion=_conclusion(spoken, views, against, weights, decided=decided),
        confidence=mean * own / (own + rival or 1) if decided and sure else None,
        decided=decided,
        views=tuple(map(tuple, views)),
        agreements=tuple(" = ".join(sorted(pair)) for pair, same in pairs.items() if same),
        disagreements=tuple(" / ".join(lines[name] for name in sorted(pair)) for pair in pairs if pairs[pair] is False),
        weights=weights,
        silent=silent,
    )


def _weight(result: Result, scores: Mapping[str, float], standing: Mapping[str, float]) -> dict[str, float]:
    score, calibration = scores.get(result.method, 1.0), standing.get(result.method, UNKNOWN)
    sure = UNSURE if result.confidence is None else result.confidence
    # A method that is certain is so given its inputs. How far to trust them shows in how often it came true.
    sure = min(sure, calibration) if sure == 1 else sure
    return {
        "score": score,
        "confidence": sure,
        "calibration": calibration,
        "weight": max(score, LEAST) * sure * calibration,
    }


def _same(one: Result, other: Result) -> bool | None:
    """Whether two results say the same; None where they speak of different things."""
    (kind, stance, about), (other_kind, other_stance, other_about) = _stance(one), _stance(other)
    if kind != other_kind:
        return None
    if kind == "choice":
        is_among = stance <= other_about and other_stance <= about
        return True if stance & other_stance else False if is_among else None
    is_alike = len(about & other_about) >= ALIKE * max(len(about | other_about), 1)
    return stance == other_stance if is_alike else None


def _stance(result: Result) -> tuple[str, frozenset[str], frozenset[str]]:
    """What a result says, and about what: the options of a choice, the words of a claim, or its own words."""
    answer = result.answer
    # Most exact first: a choice among options, then a claim, then the words alone.
    if chosen := _names(answer.get("best")):
        options = _names(answer.get("options"))
        is_open = len(chosen) > 1 and chosen == options  # all of them tie: nothing is chosen
        return ("open", frozenset(), frozenset()) if is_open else ("choice", chosen, options)
    if "holds" in answer:
        is_open = answer["holds"] is None
        return "claim", frozenset({str(answer["holds"])}), frozenset() if is_open else _words(answer.get("claim"))
    stance = frozenset({"negated"} if _NEGATION.search(result.conclusion) else ())
    return "words", stance, _words(_NEGATION.sub(" ", result.conclusion))


def _names(found: Any) -> frozenset[str]:
    """One option or several, as they are compared."""
    several = found if isinstance(found, list | tuple) else [found]
    return frozenset(" ".join(each.casefold().split()) for each in several if isinstance(each, str) and each)


def _words(text: Any) -> frozenset[str]:
    return frozenset(terms(str(text or "")))


def _groups(names: Iterable[str], pairs: Pairs) -> list[list[str]]:
    """Methods that say the same as every other in their group."""
    groups: list[list[str]] = []
    for name in names:
        # All and not any: that one is like two others does not make these alike.
        same = [group for group in groups if all(pairs[frozenset((each, name))] for each in group)]
        if same:
            same[0].append(name)
        else:
            groups.append([name])
    return groups


def _sum(names: Iterable[str], weights: Weights) -> float:
    return sum(weights[name]["weight"] for name in names)


def _conclusion(
    spoken: Mapping[str, Result],
    views: Sequence[Sequence[str]],
    against: Sequence[str],
    weights: Weights,
    *,
    decided: bool,
) -> str:
    """The conclusion of the heaviest method of each view, those against the first before those beside it."""
    conclusions = [spoken[max(view, key=lambda name: weights[name]["weight"])].conclusion for view in views]
    lines = [f"{', '.join(view)}: {each}" for view, each in zip(views, conclusions, strict=True)]
    rivals = "; ".join(each for each, view in zip(lines, views, strict=True) if set(view) & set(against))
    others = "; ".join(each for each, view in zip(lines[1:], views[1:], strict=True) if not set(view) & set(against))
    first = (
        [conclusions[0], f"Against that, {rivals}"] if decided else [f"Undecided: {lines[0]}; against that, {rivals}"]
    )
    parts = [*first[: 2 if rivals else 1], *([f"Besides, {others}"] if others else [])]
    return " ".join(each if each.endswith((".", "?", "!")) or each is parts[-1] else f"{each}." for each in parts)


# A language model that gives a method its inputs, or works through its steps; what it says is marked as its word.

LONGEST = 5_000


@frozen
class Filled:
    """The inputs of a method as a model gives them."""

    inputs: str
    assumptions: tuple[str, ...] = ()


@frozen
class Worked:
    """A worksheet that a model worked through."""

    steps: tuple[str, ...]
    conclusion: str
    confidence: float
    would_change: tuple[str, ...] = ()


def fill(model: Model, method: Method, problem: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The inputs of a method out of a problem, with notes on whose they are; only what the method reads is kept."""
    inputs = "\n".join(f"- {name}: {line}" for name, line in method.inputs.items())
    task = prompt("fill").format(name=method.name, summary=method.summary, wants=method.wants, inputs=inputs)
    filled = model.ask(task, problem, Filled)
    try:
        given = json.loads(filled.inputs)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{model.name} gave inputs that are no JSON", hint="give the inputs yourself") from error
    # A model adds what nobody asked for; that is dropped rather than refused.
    found = {name: value for name, value in given.items() if name in method.inputs} if isinstance(given, dict) else {}
    if not found:
        raise ModelError(f"{model.name} found no inputs for {method.name}", hint="give the inputs yourself")
    # Notes travel with the result, so that nobody takes estimates for data.
    return found, (f"{model.name} gave the inputs", *(f"it assumed: {_line(each)}" for each in filled.assumptions[:20]))


def work(model: Model, method: Method, problem: str, *notes: str) -> Result:
    """The worksheet of a method with what a model wrote down and concluded."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(method.steps, 1))
    worked = model.ask(prompt("work").format(name=method.name, summary=method.summary, steps=steps), problem, Worked)
    if not worked.steps and not worked.conclusion.strip():
        raise ModelError(f"{model.name} wrote nothing down", hint="work through the steps yourself")
    return replace(
        worksheet(method, problem, f"{model.name} worked through the steps: what they say is its opinion", *notes),
        conclusion=_line(worked.conclusion),
        # A model may say 95 for 0.95; that is no confidence.
        confidence=worked.confidence if worked.conclusion.strip() and 0 <= worked.confidence <= 1 else None,
        steps=tuple(_line(each) for each in worked.steps[:50]),
        would_change=tuple(_line(each) for each in worked.would_change[:20]),
    )


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


# What was concluded and what came of it: results are kept as memories, and scored when their outcome is known.

Forecasts = list[tuple[float, float]]
THINKER = Attribution(actor="bot:reason", trigger="reason")
DOUBT = 5
"""So many results at chance level count beside those of a method: a few hits prove little."""
LONG = 2_000
"""How much of a problem and of a conclusion is kept, in characters."""


@frozen
class Judgement:
    """A stored conclusion; `came_true` is None until its outcome is recorded."""

    id: str
    method: str
    confidence: float | None
    memory: str
    at: str
    came_true: float | None = None


class Judgements:
    """The judgements of one agent; the ledger has ids and numbers only, what they say is in the memories."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent
        self._ledger = knowledge_ledger(agent, "judgements")

    def keep(self, result: Result, by: Attribution = THINKER) -> Judgement:
        """Keep a conclusion as a memory with a line that waits for its outcome, as one change."""
        if not result.conclusion.strip():
            raise InputError("nothing was concluded", hint="work through the steps and keep what you conclude")
        line = {"op": "judge", "method": result.method, "confidence": result.confidence, "memory": NewId(0)}
        beside = (AddLines(self._ledger, (line,), "J"),)
        receipt = self._vault.add(self._agent, [_draft(result)], check_attribution(by), beside=beside)
        return self.get(receipt.items[0].id)

    def outcome(self, id: str, came_true: bool | float, by: Attribution = THINKER) -> Judgement:
        """Say whether a judgement, named by its id or that of its memory, came true, or how far; the latest counts."""
        found = self.get(id)
        value = float(came_true) if isinstance(came_true, bool) else number_in("came_true", came_true, 0, 1)
        line = {"op": "outcome", "judgement": found.id, "came_true": value}
        self._vault.add_lines(self._ledger, [line], check_attribution(by), "J")
        return self.get(found.id)

    def get(self, id: str) -> Judgement:
        found = next((each for each in self.list() if str(id).strip() in (each.id, each.memory)), None)
        if found is None:
            raise NotFoundError(f"there is no judgement {str(id)[:80]!r}", hint="name its id, or that of its memory")
        return found

    def list(self) -> Sequence[Judgement]:
        """All judgements, oldest first; lines that make no sense are passed over."""
        lines = self._searcher.index.read(lambda connection: records(connection, "judgements"))
        outcomes = (line for line in lines if line.get("op") == "outcome")
        # Later lines replace earlier ones: the latest word counts.
        shares = {str(line.get("judgement")): _share(line.get("came_true")) for line in outcomes}
        return [
            Judgement(
                id=str(line["id"]),
                method=str(line.get("method")),
                confidence=_share(line.get("confidence")),
                memory=str(line.get("memory")),
                at=str(line["at"]),
                came_true=shares.get(str(line["id"])),
            )
            for line in lines
            if line.get("op") == "judge"
        ]

    def forecasts(self) -> dict[str, Forecasts]:
        """By method, how sure each judgement was and what came of it, where both are known."""
        found: dict[str, Forecasts] = defaultdict(list)
        for each in self.list():
            if each.confidence is not None and each.came_true is not None:
                found[each.method].append((each.confidence, each.came_true))
        return dict(sorted(found.items()))

    def standing(self) -> dict[str, float]:
        """How well the judgements of each method came true: 1 - the Brier score, drawn towards chance by few."""
        return {
            name: 1 - (sum((sure - came) ** 2 for sure, came in each) + DOUBT * (1 - UNKNOWN)) / (len(each) + DOUBT)
            for name, each in self.forecasts().items()
        }


def _draft(result: Result) -> Draft:
    """A conclusion as a memory; one that nobody computed, or that rests on a model's estimates, is an opinion.

    Method and conclusion are one sentence: one that many memories share would look like what is left of a purged one.
    """
    method = methods().get(result.method)
    given = " given its inputs" if result.computed else ""
    sure = "" if result.confidence is None else f", {result.confidence:.0%} sure{given}"
    problem = f"{result.problem.strip()[:LONG]} – " if result.problem.strip() else ""
    return Draft(
        content=check_text(f"{problem}by {result.method}{sure}: {result.conclusion.strip()[:LONG]}"),
        type=Type.DECISION if method and method.settles == "choice" else Type.OBSERVATION,
        kind=Kind.SEMANTIC if result.computed and not result.filled_by else Kind.OPINION,
        confidence=1.0 if result.confidence is None else result.confidence,
        tags=(f"reasoning/{result.method}",),
        source="reason",
        attributes={"method": result.method, "confidence": result.confidence},
    )


def _share(value: object) -> float | None:
    is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if is_share else None  # type: ignore[arg-type]


FUSED = "fusion"
"""The name under which what several methods say together is kept."""
STRATEGY, SUGGESTED = "strategy-selection", 5
"""The worksheet to which the router adds so many methods that fit."""
SITUATION = frozenset({"context", "beliefs", "desires"})


@frozen
class Reasoned:
    """The answer to a problem: one result per method, their fusion, and why these methods were chosen.

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


@frozen
class _Question:
    """A problem with its kind, what was given by method, and the words from which the kind was guessed, if it was."""

    problem: str
    kind: ProblemClassification
    inputs: Mapping[str, Inputs]
    guessed: tuple[str, ...]


class Reasoner:
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
        most = check_number("limit", limit, 1, len(self.methods()))
        names = (*([method] if method else []), *words("methods", methods))
        named = [*{each.name: each for each in map(method_named, names)}.values()]
        asked = _question(problem, problem_classification, given, named or self.methods())
        # Two methods are named: they are meant to be compared.
        several = multi_method or len(named) > 1
        route = self._route(asked, named or [each for each in self.methods() if each.name != STRATEGY or not several])
        chosen = named or [method_named(each.method) for each in route[: most if several else 1]]
        found = self._together(asked, chosen, route) if several else self._alone(asked, chosen[0])
        # How methods were ranked by a guess tells nothing to whoever named one.
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
        # Scores from guessed dimensions would only look exact.
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
        # Nothing that memfolio knows itself would do either: a model may fill in the inputs, else there are steps.
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
        found = code_of(method)(given, self._world())
        return replace(found, problem=problem, notes=(*found.notes, *limits_of(method)))

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
        # The answer is worth more than its storing: that it was not stored is a note.
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
    # {"bayesian": {…}} names methods; {"prior": …} names inputs, which all that read them get.
    is_by_method = all(name in known and isinstance(value, Mapping) for name, value in flat.items())
    read = [name for each in asked for name in ([each.name] if is_by_method else each.inputs)]
    check_known("there is no input", flat, sorted({*read}))
    if is_by_method:
        return {name: flat.get(name, {}) for name in known}
    return {name: {each: flat[each] for each in flat if each in method.inputs} for name, method in known.items()}
