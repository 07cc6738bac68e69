"""What several methods say together: where they agree, where they contradict each other, and what weighs more. Pure.

Two results are compared only where they answer the same question: a choice among the same options, or a yes or no to
the same claim. Those that contradict each other are shown beside each other; no mean of them is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from memfolio.reason.result import Result
from memfolio.reason.router import UNKNOWN
from memfolio.text import terms

CHOICES = ("best", "condorcet_winner", "label", "root", "first")
RANKINGS = ("ranked", "explanations")
"""Where the answer of a method has what it chose, or has ranked, the best first."""
TRUTHS = ("holds", "valid", "verdict", "significant")
CLAIMS = ("goal", "conclusion", "formula", "question", "outcome")
"""Where its inputs have what it was asked about."""
ALIKE = 0.6
"""The share of words from which on two conclusions say the same."""
CLOSE = 0.8
"""From this share of the weight of the leading view on, one that contradicts it leaves the matter undecided."""
UNSURE, LEAST = 0.5, 0.05
"""What counts for a method that cannot say how sure it is, and at least for how well a method fits."""
_PROOFS = {"proven": True, "unprovable": False}
_NEGATION = re.compile(r"\b(?:not|no|never|none|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)

Pairs = Mapping[frozenset[str], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Methods that say the same, what they weigh together, and which methods contradict them.

    How sure they are is lowered by the share of the weight that is against them.
    """

    conclusion: str
    methods: tuple[str, ...]
    weight: float
    confidence: float | None
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """What comes out of several results: `views`, the heaviest first, and whether that one outweighs its rivals.

    `weights` has for each method how well it fits (score), how sure it is, how well its past results came true
    (calibration), and the product. `silent` are those that concluded nothing, such as worksheets.
    """

    conclusion: str
    confidence: float | None
    decided: bool
    views: tuple[View, ...]
    agreements: tuple[str, ...]
    disagreements: tuple[str, ...]
    weights: Mapping[str, Mapping[str, float]]
    silent: tuple[str, ...]


def fuse(results: Sequence[Result], scores: Mapping[str, float], standing: Mapping[str, float]) -> Fusion:
    """One conclusion out of several; `scores` is how well methods fit, `standing` how their past results came true."""
    spoken = {each.method: each for each in results if each.conclusion}
    weights = {each.method: _weight(each, scores, standing) for each in spoken.values()}
    pairs = {frozenset(pair): _same(*(spoken[name] for name in pair)) for pair in combinations(spoken, 2)}
    found = (_view([spoken[name] for name in names], weights, pairs) for names in _groups(spoken, pairs))
    views = sorted(found, key=lambda view: -view.weight)
    rivals = [each for each in views if set(each.methods) & set(views[0].against)]
    decided = bool(views) and all(each.weight < CLOSE * views[0].weight for each in rivals)
    told = {each.method: f"{each.method}: {each.conclusion}" for each in spoken.values()}
    return Fusion(
        conclusion=_conclusion(views, rivals, decided=decided),
        confidence=views[0].confidence if decided else None,
        decided=decided,
        views=tuple(views),
        agreements=tuple(" = ".join(sorted(pair)) for pair, same in pairs.items() if same),
        disagreements=tuple(" / ".join(told[name] for name in sorted(pair)) for pair in pairs if pairs[pair] is False),
        weights=weights,
        silent=tuple(each.method for each in results if not each.conclusion),
    )


def _weight(result: Result, scores: Mapping[str, float], standing: Mapping[str, float]) -> dict[str, float]:
    score, calibration = scores.get(result.method, 1.0), standing.get(result.method, UNKNOWN)
    sure = UNSURE if result.confidence is None else result.confidence
    weight = max(score, LEAST) * sure * calibration
    return {"score": score, "confidence": sure, "calibration": calibration, "weight": weight}


def _same(one: Result, other: Result) -> bool | None:
    """Whether two results say the same; None where they speak of different things."""
    (kind, said, about), (other_kind, other_said, other_about) = _stance(one), _stance(other)
    if kind != other_kind:
        return None
    if kind == "choice":
        is_among = said <= other_about and other_said <= about
        return True if said & other_said else False if is_among or not (about and other_about) else None
    is_alike = about == other_about or len(about & other_about) >= ALIKE * len(about | other_about)
    return said == other_said if is_alike else None


def _stance(result: Result) -> tuple[str, frozenset[str], frozenset[str]]:
    """What a result says, and about what: the options of a choice, the claim of a truth, or its words."""
    for name in CHOICES:
        if chosen := _names(result.answer.get(name)):
            return "choice", chosen, frozenset(_options(result.answer, chosen))
    for name in RANKINGS:
        found = result.answer.get(name)
        ranked = [_names(each) for each in found] if isinstance(found, list | tuple) else []
        if ranked and ranked[0]:
            return "choice", ranked[0], frozenset().union(*ranked)
    claim = next((str(result.inputs[each]) for each in CLAIMS if result.inputs.get(each)), "")
    for name in TRUTHS:
        if isinstance(truth := _PROOFS.get(str(value := result.answer.get(name)), value), bool):
            return "truth", frozenset({str(truth)}), frozenset(terms(claim))
    said = frozenset({"negated"} if _NEGATION.search(result.conclusion) else ())
    return "words", said, frozenset(terms(_NEGATION.sub(" ", result.conclusion)))


def _names(value: Any) -> frozenset[str]:
    """One name or several, as they are compared."""
    several = value if isinstance(value, list | tuple) else [value]
    return frozenset(_plain(each) for each in several if isinstance(each, str) and each.strip())


def _options(answer: Mapping[str, Any], chosen: frozenset[str], depth: int = 3) -> Iterator[str]:
    """The names among which something was chosen: those that stand beside it as keys of an object."""
    keys = {_plain(str(each)) for each in answer}
    yield from keys if chosen <= keys else ()
    for value in answer.values():
        if isinstance(value, Mapping) and depth:
            yield from _options(value, chosen, depth - 1)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _groups(names: Iterable[str], pairs: Pairs) -> list[list[str]]:
    """Methods that say the same as every other in their group."""
    groups: list[list[str]] = []
    for name in names:
        same = [group for group in groups if all(pairs[frozenset((each, name))] for each in group)]
        if same:
            same[0].append(name)
        else:
            groups.append([name])
    return groups


def _view(group: Sequence[Result], weights: Mapping[str, Mapping[str, float]], pairs: Pairs) -> View:
    weight = {name: each["weight"] for name, each in weights.items()}
    names = [each.method for each in group]
    against = [other for other in weight if any(pairs.get(frozenset((name, other))) is False for name in names)]
    own = sum(weight[name] for name in names)
    total = own + sum(weight[name] for name in against)
    sure = [(each.confidence, weight[each.method]) for each in group if each.confidence is not None]
    mean = sum(each * weight for each, weight in sure) / (sum(weight for _, weight in sure) or 1)
    return View(
        conclusion=max(group, key=lambda each: weight[each.method]).conclusion,
        methods=tuple(names),
        weight=own,
        confidence=mean * own / total if sure and total else None,
        against=tuple(against),
    )


def _conclusion(views: Sequence[View], rivals: Sequence[View], *, decided: bool) -> str:
    against, besides = (
        "; ".join(f"{', '.join(each.methods)}: {each.conclusion}" for each in some)
        for some in (rivals, [each for each in views[1:] if each not in rivals])
    )
    if not views:
        return ""
    told = views[0].conclusion + (f" Against that, {against}" if against else "")
    if not decided:
        told = f"Undecided: {', '.join(views[0].methods)}: {views[0].conclusion}; against that, {against}"
    return told + (f" Besides, {besides}" if besides else "")
