"""The commands about people and things: `entity` with what is below it, and `path`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer
from memfolio.serve.cli.errors import EXIT_CODES
from memfolio.serve.cli.output import Line, diff, fields_of, picked, seq_of, table
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.graph.graph import Entity, Graph, GraphStep, Neighbour
    from memfolio.memory import Memory

LISTED = "id name type aliases mentions summary path"


def entity_show(memory: Memory, name: str, hops: int = 1) -> Answer:
    graph = _graph(memory)
    entity, near = graph.entity(name), graph.neighbours(name, hops)
    document = fields_of(entity) | {"relations": list(map(_step, entity.relations))}
    if hops > 1:
        document["neighbours"] = [{"id": each.id, "hops": each.hops, "over": _step(each.step)} for each in near]
    return Answer(document, _described(entity, near))


def entity_list(memory: Memory, type: str | None = None) -> Answer:
    found = sorted(_graph(memory).entities(type), key=lambda each: (-each.mentions, each.id))
    rows = [(each.id, each.name, each.mentions, each.summary) for each in found]
    none = f"Nothing of type {type} has a page." if type else "Nobody and nothing has a page yet."
    return Answer(
        {"entities": [picked(each, LISTED) for each in found]},
        table(("id", "name", "mentions", "summary"), rows, wide="summary", none=none),
    )


def entity_merge(memory: Memory, keep: str | None = None, other: str | None = None, /, dry_run: bool = False) -> Answer:
    graph = _graph(memory)
    if keep is None or other is None:
        if keep is not None or not dry_run:
            raise InputError("two names are needed", hint="say who is kept and who is the same, or only --dry-run")
        return _alike(graph)
    merged = graph.merge(keep, other, dry_run=dry_run, by=PERSON)
    seq = seq_of(merged)
    done = f"{merged.other} is {merged.keep}, as change {seq}; `memfolio undo {seq}` takes that back"
    would = f"{merged.other} would become {merged.keep}. Nothing was changed."
    document = {"keep": merged.keep, "other": merged.other, "diff": merged.diff, "dry_run": dry_run, "seq": seq}
    return Answer(document, [diff(merged.diff), (done if seq else would, "bold")])


def _alike(graph: Graph) -> Answer:
    """Who may be the same, as `graph/index.md` lists it too."""
    pairs = graph.alike()
    rows = [(pair.one, pair.other, f"{pair.score:.2f}", pair.why) for pair in pairs]
    shown = table(("one", "other", "alike", "by"), rows, none="No two look like the same.")
    return Answer({"alike": [pair._asdict() for pair in pairs], "dry_run": True}, shown)


def entity_alias(memory: Memory, name: str, alias: str) -> Answer:
    node = _graph(memory).alias(name, alias, by=PERSON)
    document = {"id": node.id, "name": node.name, "aliases": list(node.aliases), "path": node.path}
    return Answer(document, (f"{node.id}: {', '.join((node.name, *node.aliases))}", "bold"))


def path(memory: Memory, a: str, b: str) -> Answer:
    steps = _graph(memory).path(a, b)
    document = {"from": a, "to": b, "steps": None if steps is None else list(map(_step, steps))}
    none = "They are the same." if steps == [] else "No way of up to six relations leads there."
    status = EXIT_CODES[NotFoundError] if steps is None else 0
    return Answer(document, list(map(str, steps)) if steps else none, status)


def _graph(memory: Memory) -> Graph:
    from memfolio.graph.graph import Graph

    return Graph(memory.vault, memory.library, memory.agent)


def _step(step: GraphStep) -> dict[str, object]:
    """A relation as it is written: from its subject to its object."""
    source, target = (step.here, step.there) if step.is_forward else (step.there, step.here)
    return {"source": source, "predicate": step.predicate, "target": target, "forward": step.is_forward}


def _described(entity: Entity, near: Iterable[Neighbour]) -> list[Line]:
    known = {
        "also called": ", ".join(entity.aliases),
        "mentioned": counted(entity.mentions, "time") if entity.mentions else "",
        "first seen": entity.first_seen,
        "last updated": entity.last_updated,
        "others of that name": ", ".join(entity.others),
    }
    lines: list[Line] = [(f"{entity.name}  {entity.id}", "bold")]
    lines += [(f"{label}: {value}", "dim") for label, value in known.items() if value]
    lines += [f"\n{entity.summary}"] if entity.summary else []
    parts: dict[str, Sequence[str]] = {
        "Facts": entity.facts,
        "Timeline": entity.timeline,
        "Open questions": entity.questions,
        "Relations": [str(each.step) for each in near],
    }
    for title, texts in parts.items():
        if texts:
            lines += [(f"\n{title}", "bold cyan"), *(f"- {text}" for text in texts)]
    return [*lines, (f"\n{entity.path}", "dim")]
