"""The commands about entities: the group `entity`, and `path`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer
from memfolio.serve.cli.errors import EXIT_CODES
from memfolio.serve.cli.output import Line, fields_of, picked, seq_of, table
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.graph.entities import Pair
    from memfolio.graph.graph import Entity, GraphStep, Neighbour
    from memfolio.index.graph import Node
    from memfolio.memory import Memory

LISTED = "id name type aliases mentions summary path"


def entity_show(entity: Entity, memory: Memory, name: str, hops: int = 1) -> Answer:
    near = memory.graph.neighbours(name, hops)
    document = fields_of(entity) | {"relations": list(map(_step, entity.relations))}
    if hops > 1:
        document["neighbours"] = [{"id": each.id, "hops": each.hops, "over": _step(each.step)} for each in near]
    return Answer(document, _described(entity, near))


def entity_list(nodes: Sequence[Node]) -> Answer:
    found = sorted(nodes, key=lambda each: (-each.mentions, each.id))
    return Answer({"entities": [picked(each, LISTED) for each in found]})


def entity_merge(memory: Memory, keep: str | None = None, other: str | None = None, /, dry_run: bool = False) -> Answer:
    if keep is None or other is None:
        if keep is not None or not dry_run:
            raise InputError("two names are needed", hint="say who is kept and who is the same, or only --dry-run")
        return _alike(memory.graph.alike())
    merged = memory.graph.merge(keep, other, dry_run=dry_run, by=PERSON)
    return Answer(picked(merged, "keep other diff") | {"dry_run": dry_run, "seq": seq_of(merged)})


def _alike(pairs: Sequence[Pair]) -> Answer:
    """Who may be the same, as `graph/index.md` lists it too."""
    rows = [(pair.one, pair.other, f"{pair.score:.2f}", pair.why) for pair in pairs]
    shown = table(("one", "other", "alike", "by"), rows, none="No two look like the same.")
    return Answer({"alike": [pair._asdict() for pair in pairs], "dry_run": True}, shown)


def path(steps: Sequence[GraphStep] | None, a: str, b: str) -> Answer:
    document = {"from": a, "to": b, "steps": None if steps is None else list(map(_step, steps))}
    none = "They are the same." if steps == [] else "No way of up to six relations leads there."
    status = EXIT_CODES[NotFoundError] if steps is None else 0
    return Answer(document, list(map(str, steps)) if steps else none, status)


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
