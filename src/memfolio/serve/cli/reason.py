"""The command `reason` with what is below it: problems are thought through, and judged by what came of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memfolio.reason.reason import Judgement, Reasoned


def reason_ask(
    options: Options,
    problem: str,
    method: str | None = None,
    given: str = "{}",
    uncertainty: str | None = None,
    complexity: str | None = None,
    domain: str | None = None,
    time_pressure: str | None = None,
    data: str | None = None,
    stakes: str | None = None,
    multi: bool = False,
    methods: str = "",
    limit: int = 3,
    store: bool = False,
) -> Answer:
    kind = {"uncertainty": uncertainty, "complexity": complexity, "domain": domain, "stakes": stakes}
    kind |= {"time_pressure": time_pressure, "data_availability": data}
    named = [each.strip() for each in methods.split(",") if each.strip()]
    with options.memory() as memory:
        found: Reasoned = memory.reason(
            read_text(problem),
            method=method,
            given=read(given),
            problem_classification=kind if any(kind.values()) else None,
            multi_method=multi,
            methods=named,
            limit=limit,
            store=store,
            by=PERSON,
        )
    return Answer(fields_of(found), lambda screen: screen.say("\n".join(told(found))))


def reason_methods(options: Options) -> Answer:
    from memfolio.reason.registry import methods as every

    found = every().values()
    rows = [(each.name, each.category, "yes" if each.computes else "", each.good_for) for each in found]
    columns = ("method", "category", "computes", "good for")
    return Answer({"methods": [*found]}, lambda screen: screen.table(columns, rows, wide="good for"))


def reason_show(options: Options, method: str) -> Answer:
    from memfolio.reason.registry import method_named

    found = method_named(method)
    lines = [f"{found.name} ({found.category}): {found.summary}", f"Good for {found.good_for}."]
    lines += [f"Computes from {found.wants}:"] if found.computes else []
    lines += [f"  {name}: {line}" for name, line in found.inputs.items()] + numbered(found.steps)
    return Answer(fields_of(found), lambda screen: screen.say("\n".join(lines)))


def reason_outcome(options: Options, id: str, *, true: bool) -> Answer:
    with options.memory() as memory:
        found: Judgement = memory.reason.outcome(id, true, by=PERSON)
    line = f"{found.id} ({found.method}) {'came true' if true else 'did not come true'}"
    return Answer(fields_of(found), lambda screen: screen.say(line, "bold"))


def reason_calibration(options: Options) -> Answer:
    with options.memory() as memory:
        found = memory.reason.calibration()
    rows = [(name, each["count"], f"{each['brier']:.3f}", f"{each['bias']:+.2f}") for name, each in found.items()]
    columns = ("method", "judgements", "brier", "too sure by")
    none = "Of no judgement that says how sure it is an outcome is known."
    return Answer({"calibration": found}, lambda screen: screen.table(columns, rows) if rows else screen.say(none))


def read(given: str) -> dict[str, Any]:
    """The inputs that are given as JSON, in a file or on standard input."""
    try:
        found: dict[str, Any] = json.loads(Path(given[1:]).read_text("utf-8") if given[:1] == "@" else read_text(given))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the inputs cannot be read: {str(error)[:80]}", hint="give a JSON object") from error
    return found


def told(found: Reasoned) -> Iterator[str]:
    """What came of a problem, for people."""
    if found.fusion:
        yield found.conclusion or "Nothing is concluded."
        yield from (f"agree: {each}" for each in found.fusion.agreements)
        yield from (f"contradict each other: {each}" for each in found.fusion.disagreements)
    for result in found.results:
        sure = "" if result.confidence is None else f" ({result.confidence:.0%} sure)"
        yield f"{result.method}: {result.conclusion or 'steps to work through'}{sure}"
        yield from numbered(result.steps)
        yield from (f"  would change it: {each}" for each in result.would_change)
        yield from (f"  note: {each}" for each in result.notes)
    yield from (f"{name} could not be used: {why}" for name, why in found.failed.items())
    yield from (f"note: {each}" for each in found.notes)
    if found.judgement:
        yield f"kept as {found.judgement.memory}, judgement {found.judgement.id}"


def numbered(steps: tuple[str, ...]) -> list[str]:
    return [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
