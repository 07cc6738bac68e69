"""Which method to think with: the router as a method of its own."""

from __future__ import annotations

from memfolio.reason.classify import ProblemClassification, classify
from memfolio.reason.given import Given
from memfolio.reason.methods import methods
from memfolio.reason.result import Result
from memfolio.reason.router import rank
from memfolio.reason.world import World

OWN = "strategy-selection"


def reason(given: Given, world: World) -> Result:
    """The methods that fit, the best first, with what each dimension adds."""
    given.only("classification", "problem", "standing", "limit")
    text = given.text("problem") if "problem" in given else ""
    problem, notes = _problem(given, text)
    standing = given.weights("standing", low=0, high=1) if given.value("standing", {}) else {}
    ranked = rank([each for each in methods().values() if each.name != OWN], problem, text=text, standing=standing)
    shown = ranked[: given.whole("limit", 5, low=1, high=len(ranked))]
    best = shown[0]
    rest = {name: {each.method: each.score - each.parts[name] for each in ranked} for name in problem.said}
    leading = {name: max(scores, key=scores.__getitem__) for name, scores in rest.items()}
    return Result(
        method=OWN,
        conclusion=f"Begin with {best.method}: {methods()[best.method].summary}",
        steps=tuple(f"{each.method} {each.score:g}: {'; '.join(each.why)}" for each in shown),
        would_change=tuple(
            f"without {name}, {each} would lead" for name, each in leading.items() if each != best.method
        ),
        inputs=given.used,
        answer={"best": best.method, "scores": {each.method: each.score for each in shown}},
        notes=(*notes, *(f"{each.method} fits as well" for each in shown[1:] if each.score == best.score)),
    )


def _problem(given: Given, text: str) -> tuple[ProblemClassification, tuple[str, ...]]:
    if "classification" in given:
        return ProblemClassification.of(given.value("classification")), ()
    found, why = classify(text or given.text("problem"))
    return found, tuple(f"suggested by the words of the problem: {each}" for each in why)
