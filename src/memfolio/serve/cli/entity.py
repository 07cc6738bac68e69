"""The commands about people and things: `entity` with what is below it, and `path`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.errors import EXIT_CODES
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.graph.graph import Entity, Graph, GraphStep, Merged, Neighbour
    from memfolio.memory import Memory


def entity_show(options: Options, name: str, hops: int = 1) -> Answer:
    with options.memory() as memory:
        graph = graph_of(memory)
        entity, near = graph.entity(name), graph.neighbours(name, hops)
    document = fields_of(entity) | {"relations": list(map(as_step, entity.relations))}
    if hops > 1:
        document["neighbours"] = [{"id": each.id, "hops": each.hops, "over": as_step(each.step)} for each in near]
    return Answer(document, lambda screen: draw(screen, entity, near))


def entity_list(options: Options, type: str | None = None) -> Answer:
    with options.memory() as memory:
        found = sorted(graph_of(memory).entities(type), key=lambda each: (-each.mentions, each.id))
    keys = ("id", "name", "type", "aliases", "mentions", "summary", "path")
    document = {"entities": [{key: getattr(each, key) for key in keys} for each in found]}
    rows = [(each.id, each.name, each.mentions, each.summary) for each in found]

    def show_all(screen: Screen) -> None:
        if rows:
            screen.table(("id", "name", "mentions", "summary"), rows, wide="summary")
        else:
            screen.say(f"Nothing of type {type} has a page." if type else "Nobody and nothing has a page yet.")

    return Answer(document, show_all)


def entity_merge(
    options: Options, keep: str | None = None, other: str | None = None, /, dry_run: bool = False
) -> Answer:
    with options.memory() as memory:
        graph = graph_of(memory)
        if keep is None or other is None:
            if keep is not None or not dry_run:
                raise InputError("two names are needed", hint="say who is kept and who is the same, or only --dry-run")
            return proposed(graph)
        merged = graph.merge(keep, other, dry_run=dry_run, by=PERSON)
    document = {"keep": merged.keep, "other": merged.other, "diff": merged.diff, "dry_run": dry_run}
    document["seq"] = merged.receipt.seq if merged.receipt else None
    return Answer(document, lambda screen: draw_merged(screen, merged))


def entity_alias(options: Options, name: str, alias: str) -> Answer:
    with options.memory() as memory:
        node = graph_of(memory).alias(name, alias, by=PERSON)
    document = {"id": node.id, "name": node.name, "aliases": list(node.aliases), "path": node.path}
    return Answer(document, lambda screen: screen.say(f"{node.id}: {', '.join((node.name, *node.aliases))}", "bold"))


def path(options: Options, a: str, b: str) -> Answer:
    with options.memory() as memory:
        steps = graph_of(memory).path(a, b)
    document: dict[str, Any] = {"from": a, "to": b, "steps": None if steps is None else list(map(as_step, steps))}

    def show_way(screen: Screen) -> None:
        for step in steps or ():
            screen.say(str(step))
        if not steps:
            screen.say("They are the same." if steps == [] else "No way of up to six relations leads there.")

    return Answer(document, show_way, status=EXIT_CODES[NotFoundError] if steps is None else 0)


def graph_of(memory: Memory) -> Graph:
    from memfolio.graph.graph import Graph

    return Graph(memory.vault, memory.library, memory.agent)


def as_step(step: GraphStep) -> dict[str, object]:
    """A relation as it is written: from its subject to its object."""
    source, target = (step.here, step.there) if step.is_forward else (step.there, step.here)
    return {"source": source, "predicate": step.predicate, "target": target, "forward": step.is_forward}


def draw(screen: Screen, entity: Entity, near: Iterable[Neighbour]) -> None:
    screen.say(f"{entity.name}  {entity.id}", "bold")
    known = {
        "also called": ", ".join(entity.aliases),
        "mentioned": counted(entity.mentions, "time") if entity.mentions else "",
        "first seen": entity.first_seen,
        "last updated": entity.last_updated,
        "others of that name": ", ".join(entity.others),
    }
    for label, value in known.items():
        if value:
            screen.say(f"{label}: {value}", "dim")
    if entity.summary:
        screen.say(f"\n{entity.summary}")
    listed(screen, "Facts", entity.facts)
    listed(screen, "Timeline", entity.timeline)
    listed(screen, "Open questions", entity.questions)
    listed(screen, "Relations", [str(each.step) for each in near])
    screen.say(f"\n{entity.path}", "dim")


def listed(screen: Screen, title: str, lines: Sequence[str]) -> None:
    if lines:
        screen.say(f"\n{title}", "bold cyan")
        for line in lines:
            screen.say(f"- {line}")


def proposed(graph: Graph) -> Answer:
    """Who may be the same, as `graph/index.md` lists it too."""
    pairs = graph.alike()
    document = {"alike": [pair._asdict() for pair in pairs], "dry_run": True}

    def show_pairs(screen: Screen) -> None:
        rows = [(pair.one, pair.other, f"{pair.score:.2f}", pair.why) for pair in pairs]
        if rows:
            screen.table(("one", "other", "alike", "by"), rows)
        else:
            screen.say("No two look like the same.")

    return Answer(document, show_pairs)


def draw_merged(screen: Screen, merged: Merged) -> None:
    screen.diff(merged.diff)
    if merged.receipt:
        seq = merged.receipt.seq
        screen.say(f"{merged.other} is {merged.keep}, as change {seq}; `memfolio undo {seq}` takes that back", "bold")
    else:
        screen.say(f"{merged.other} would become {merged.keep}. Nothing was changed.", "bold")
