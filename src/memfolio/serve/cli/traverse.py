"""Questions to the graph of facts, as commands below `fact`: traverse, impact, count and misfits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.times import read_moment
from memfolio.verbs import documents

if TYPE_CHECKING:
    from datetime import datetime

    from memfolio.knowledge.traverse import Cited, Path, Questions
    from memfolio.serve.cli.output import Screen


def fact_traverse(
    options: Options,
    start: str,
    steps: list[str],
    hops: int = 6,
    limit: int = 100,
    valid_at: str | None = None,
    mermaid: bool = False,
) -> Answer:
    with _asking(options, valid_at) as (ask, at):
        found = ask.traverse(None if start == "*" else start, steps, valid_at=at, limit=limit, hops=hops)
        return _paths(ask, found.paths, {"is_cut": found.is_cut}, mermaid=mermaid)


def fact_impact(
    options: Options, what: str, hops: int = 6, valid_at: str | None = None, mermaid: bool = False
) -> Answer:
    with _asking(options, valid_at) as (ask, at):
        found = ask.impact(what, valid_at=at, hops=hops)
        kinds = {kind: [path.nodes[-1] for path in paths] for kind, paths in found.kinds.items()}
        told = {"kinds": kinds, "conclusions": _told(ask, found.conclusions), "is_cut": found.is_cut}
        return _paths(ask, [path for paths in found.kinds.values() for path in paths], told, mermaid=mermaid)


def fact_count(options: Options, conditions: str, by: str = "agent", valid_at: str | None = None) -> Answer:
    with _asking(options, valid_at) as (ask, at):
        found = ask.aggregate(conditions, by=by, valid_at=at)
        document = documents.groups(ask, found)
    rows = [(value, len(told), ", ".join(each["node"] for each in told)) for value, told in document["groups"].items()]

    def draw(screen: Screen) -> None:
        if rows:
            screen.table((by, "count", "which"), rows, wide="which")
        else:
            screen.say("Nothing fits.")
        for problem in (*found.problems, *["There is more than was counted."] * found.is_cut):
            screen.say(problem, "yellow")

    return Answer(document, draw)


def fact_misfits(options: Options, strict: bool = False, valid_at: str | None = None) -> Answer:
    with _asking(options, valid_at) as (ask, at):
        found = ask.validate(strict=strict, valid_at=at)
        ids = ask.ids(each.cited for each in found)
    shown = [{"fact": ids[each.cited], "agent": each.cited.agent, "problem": str(each)} for each in found]
    lines = [f"{each['problem']} ({each['fact']})" for each in shown] or ["All facts of the base model fit it."]
    return Answer({"findings": shown}, lambda screen: screen.say("\n".join(lines)), status=1 if found else 0)


@contextmanager
def _asking(options: Options, valid_at: str | None) -> Iterator[tuple[Questions, datetime | None]]:
    with options.memory() as memory:
        yield memory.questions, read_moment(memory.vault.config, valid_at, name="valid_at")


def _told(ask: Questions, cited: Iterable[Cited]) -> list[dict[str, str]]:
    return [{"id": name, "fact": " ".join(each.atom.triple)} for each, name in ask.ids(cited).items()]


def _paths(ask: Questions, paths: Sequence[Path], more: dict[str, Any], *, mermaid: bool) -> Answer:
    from memfolio.knowledge.traverse import as_document, as_mermaid, as_text

    cite = ask.ids(hop.cited for path in paths for hop in path.hops).__getitem__
    kinds = {node: f"{kind}: " for kind, nodes in more.get("kinds", {}).items() for node in nodes}
    lines = [kinds.get(path.nodes[-1], "") + as_text(path, cite) for path in paths]
    lines += [f"falls: {each['fact']} ({each['id']})" for each in more.get("conclusions", ())]
    lines = lines or ["Nothing was found."]
    lines += ["There is more; narrow the question or raise --limit."] * more["is_cut"]
    drawn = as_mermaid(paths) if mermaid else "\n".join(lines)
    document = {"paths": [as_document(path, cite) for path in paths]} | more | ({"mermaid": drawn} if mermaid else {})
    return Answer(document, lambda screen: screen.say(drawn))
