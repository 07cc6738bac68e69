"""What several methods say together: where they agree, where they contradict each other, and what weighs more. Pure.

Two results are compared only where they answer the same question: a choice among the same options, or a yes or no to
the same claim. Those that contradict each other are shown beside each other; no mean of them is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from memfolio.reason.result import Result
from memfolio.reason.router import UNKNOWN
from memfolio.text import terms
from memfolio.types import EMPTY

ALIKE = 0.6
"""The share of words from which on two claims, or conclusions, are about the same."""
CLOSE = 0.8
"""From this share of the weight of the leading view on, what contradicts it leaves the matter undecided."""
UNSURE, LEAST = 0.5, 0.05
"""What counts for a method that cannot say how sure it is, and at least for how well a method fits."""
_NEGATION = re.compile(r"\b(?:not|no|never|none|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)

Weights = Mapping[str, Mapping[str, float]]
Pairs = Mapping[frozenset[str], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """What comes out of several results: the heaviest of the `views`, what contradicts it, and what else is said.

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
    pairs = {frozenset(pair): _same(*(spoken[name] for name in pair)) for pair in combinations(spoken, 2)}
    views = sorted(_groups(spoken, pairs), key=lambda view: -_sum(view, weights))
    against = [name for name in spoken if any(pairs.get(frozenset((name, each))) is False for each in views[0])]
    own, rival = _sum(views[0], weights), _sum(against, weights)
    decided = not against or rival < CLOSE * own
    sure = [each for each in views[0] if spoken[each].confidence is not None]
    mean = sum(weights[each]["confidence"] * weights[each]["weight"] for each in sure) / (_sum(sure, weights) or 1)
    told = {name: f"{name}: {each.conclusion}" for name, each in spoken.items()}
    return Fusion(
        conclusion=_conclusion(spoken, views, against, weights, decided=decided),
        confidence=mean * own / (own + rival or 1) if decided and sure else None,
        decided=decided,
        views=tuple(map(tuple, views)),
        agreements=tuple(" = ".join(sorted(pair)) for pair, same in pairs.items() if same),
        disagreements=tuple(" / ".join(told[name] for name in sorted(pair)) for pair in pairs if pairs[pair] is False),
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
    (kind, said, about), (other_kind, other_said, other_about) = _stance(one), _stance(other)
    if kind != other_kind:
        return None
    if kind == "choice":
        is_among = said <= other_about and other_said <= about
        return True if said & other_said else False if is_among else None
    is_alike = len(about & other_about) >= ALIKE * max(len(about | other_about), 1)
    return said == other_said if is_alike else None


def _stance(result: Result) -> tuple[str, frozenset[str], frozenset[str]]:
    """What a result says, and about what: the options of a choice, the words of a claim, or its own words."""
    answer = result.answer
    if chosen := _names(answer.get("best")):
        options = _names(answer.get("options"))
        is_open = len(chosen) > 1 and chosen == options  # all of them tie: nothing is chosen
        return ("open", frozenset(), frozenset()) if is_open else ("choice", chosen, options)
    if "holds" in answer:
        is_open = answer["holds"] is None
        return "claim", frozenset({str(answer["holds"])}), frozenset() if is_open else _words(answer.get("claim"))
    said = frozenset({"negated"} if _NEGATION.search(result.conclusion) else ())
    return "words", said, _words(_NEGATION.sub(" ", result.conclusion))


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
    said = [spoken[max(view, key=lambda name: weights[name]["weight"])].conclusion for view in views]
    told = [f"{', '.join(view)}: {each}" for view, each in zip(views, said, strict=True)]
    rivals = "; ".join(each for each, view in zip(told, views, strict=True) if set(view) & set(against))
    others = "; ".join(each for each, view in zip(told[1:], views[1:], strict=True) if not set(view) & set(against))
    first = [said[0], f"Against that, {rivals}"] if decided else [f"Undecided: {told[0]}; against that, {rivals}"]
    parts = [*first[: 2 if rivals else 1], *([f"Besides, {others}"] if others else [])]
    return " ".join(each if each.endswith((".", "?", "!")) or each is parts[-1] else f"{each}." for each in parts)
