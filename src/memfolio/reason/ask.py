"""A language model that gives a method its inputs, or works through its steps; what it says is marked as its word."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from memfolio.errors import ModelError
from memfolio.llm.model import Model
from memfolio.reason.methods import Method
from memfolio.reason.result import Result
from memfolio.reason.worksheet import worksheet

FILL = """\
The material is a problem. It is to be computed by the method {name}: {summary} Give the inputs of the method as one \
JSON object in `inputs`. It needs {wants}; the rest may be left out. What it reads:
{inputs}
Take numbers from the problem where it has them; where it has none, estimate, and say so in `assumptions`, one short \
sentence each. If the problem does not fit the method, answer with {{}}."""
WORK = """\
The material is a problem. Work through it by the method {name}: {summary} Do each of these steps and write down \
what it asks for, one entry of `steps` a step:
{steps}
Then give the conclusion in one or two sentences, how sure you are of it from 0 to 1, and what would change it. Use \
nothing as a fact that the problem does not say; an empty conclusion is right where none can be drawn."""
LONGEST = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The inputs of a method as a model gives them."""

    inputs: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A worksheet that a model worked through."""

    steps: tuple[str, ...]
    conclusion: str
    confidence: float
    would_change: tuple[str, ...] = ()


def fill(model: Model, method: Method, problem: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The inputs of a method out of a problem, with notes on whose they are; only what the method reads is kept."""
    inputs = "\n".join(f"- {name}: {line}" for name, line in method.inputs.items())
    task = FILL.format(name=method.name, summary=method.summary, wants=method.wants, inputs=inputs)
    filled = model.ask(task, problem, Filled)
    try:
        given = json.loads(filled.inputs)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{model.name} gave inputs that are no JSON", hint="give the inputs yourself") from error
    found = {name: value for name, value in given.items() if name in method.inputs} if isinstance(given, dict) else {}
    if not found:
        raise ModelError(f"{model.name} found no inputs for {method.name}", hint="give the inputs yourself")
    return found, (f"{model.name} gave the inputs", *(f"it assumed: {_line(each)}" for each in filled.assumptions[:20]))


def work(model: Model, method: Method, problem: str, *notes: str) -> Result:
    """The worksheet of a method with what a model wrote down and concluded."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(method.steps, 1))
    worked = model.ask(WORK.format(name=method.name, summary=method.summary, steps=steps), problem, Worked)
    if not worked.steps and not worked.conclusion.strip():
        raise ModelError(f"{model.name} wrote nothing down", hint="work through the steps yourself")
    return replace(
        worksheet(method, problem, f"{model.name} worked through the steps: what they say is its opinion", *notes),
        conclusion=_line(worked.conclusion),
        confidence=worked.confidence if worked.conclusion.strip() and 0 <= worked.confidence <= 1 else None,
        steps=tuple(_line(each) for each in worked.steps[:50]),
        would_change=tuple(_line(each) for each in worked.would_change[:20]),
    )


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]
