"""What is known beside memories: core memory and what would be said now, people and things, facts, mind, health."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from math import cos, pi, sin
from typing import Any

from starlette.responses import Response

from memfolio.errors import InputError
from memfolio.graph.graph import Neighbour
from memfolio.index.mind_pages import KINDS
from memfolio.knowledge.rule import render
from memfolio.memory import Memory
from memfolio.recall.context import CORE, Request, preview
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.world import doors
from memfolio.serve.page.app import BY, Visit, mark_of
from memfolio.status import cost_of
from memfolio.stores.core import BLOCKS
from memfolio.tend.tend import schedule

PER_PAGE, MOST_NODES, RUNS, LATEST, DAYS = 100, 300, 20, 5, 7
PLAIN = ("created", "updated", "status", "from")
"""Fields that every item of a mind has."""
GRAVEST = ("error", "warning", "note", "ok")
_CITED = re.compile(r"\s*\((M-[0-9]+-[0-9a-f]{8})\)\s*$")
"""The memory that a line of a page cites, behind what it says."""


def core(visit: Visit) -> Response:
    prompt, found = visit.given("prompt").strip(), visit.memory.core.read()
    missing = [name for name in BLOCKS if name not in (each.name for each in found.blocks)]
    offered = visit.memory.core.memory_of(found.text + "".join(f"\n\n## {name}\n" for name in missing))
    rooms = [(block, found.share(block) or found.cap) for block in offered.blocks]
    values = {"core": found, "blocks": rooms, "mark": mark_of(found.text), "prompt": prompt}
    return visit.show("core.html", said=_said(visit.memory, prompt) if prompt else None, **values)


def _said(memory: Memory, prompt: str) -> dict[str, Any]:
    """What the agent would be told, item by item; asking leaves no trace."""
    given: dict[str, Any] = {"budget": None, "user": None, "task": None, "topics": (), "include": (CORE,)}
    request = Request.from_args(memory.vault, prompt, **given)

    def remind(about: str) -> list[tuple[str, str]]:
        return [(each.item.id, f"{each.item.title} ({each.why})") for each in memory.mind.due(about)]

    found = preview(memory.searcher, memory.vault, memory.agent, request, remind)
    left = [hit for each, hit in found.hits.items() if each not in found.context.ids]
    return {"context": found.context, "sections": found.sections, "hits": found.hits, "left": left}


def edit_core(visit: Visit) -> Response:
    """Add, change or remove a line of core memory as it was shown."""
    memory, block, text, old = visit.memory, visit.given("block"), visit.given("text").strip(), visit.given("old")
    with memory.vault.exclusive():
        now = memory.core.read().text
        visit.check_shown(mark_of(now), f"{now}\n\nYou wanted: {text or visit.given('deed')}")
        if visit.given("deed") == "remove":
            done, word = memory.core.remove(block, old, by=BY), "Removed."
        elif text and old:
            done, word = memory.core.replace(block, old, text, by=BY), "Changed."
        elif text:
            done, word = memory.core.add(block, text, by=BY), "Added."
        else:
            raise InputError("The line is empty", hint="write a line, or remove the one that is there")
    return visit.go("core", word if done.receipt else "It is there already.", done.receipt.seq if done.receipt else "")


def things(visit: Visit) -> Response:
    every, q, kind = visit.memory.graph.entities(), visit.given("q").strip(), visit.given("type")
    named = [each for each in every if any(q.casefold() in name.casefold() for name in (each.name, *each.aliases))]
    typed = (each for each in named if kind in ("", each.type))
    fitting = sorted(typed, key=lambda each: (-each.mentions, each.name.casefold()))
    kinds = sorted({each.type for each in every})
    return visit.show("things.html", things=fitting[:PER_PAGE], count=len(fitting), q=q, kinds=kinds, kind=kind)


def thing(visit: Visit) -> Response:
    memory, hops = visit.memory, 2 if visit.given("hops") == "2" else 1
    found = memory.graph.entity(visit.path["id"])
    near, names = memory.graph.neighbours(found.id, hops), {each.id: each.name for each in memory.graph.entities()}
    nodes, edges = drawn(found.id, near, names)
    told = [("What is known", found.facts), ("What happened", found.timeline), ("Open questions", found.questions)]
    sections = [(title, [_CITED.split(line) for line in lines]) for title, lines in told if lines]
    hits = [hit for hit in memory.recall(found.name, entity=found.id, limit=4 * LATEST) if hit.memory.id[0] in "MH"]
    values = {"near": near[:MOST_NODES], "names": names, "nodes": nodes, "edges": edges, "hops": hops, "thing": found}
    return visit.show("thing.html", sections=sections, is_cut=len(nodes) >= MOST_NODES, hits=hits[:LATEST], **values)


def drawn(
    start: str, near: Sequence[Neighbour], names: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[tuple[int, int, str]]]:
    """The nearest on circles around the one in the middle, where a script only moves them, and their relations."""
    rings: dict[int, dict[str, None]] = {0: {start: None}}
    for each in near:
        rings.setdefault(each.hops, {})[each.id] = None
    nodes: dict[str, dict[str, Any]] = {}
    for hops, ids in rings.items():
        ring = [*islice(ids, MOST_NODES - len(nodes))]
        for at, node in enumerate(ring):
            turn = 2 * pi * (at + hops / 2) / len(ring)
            x, y = round(120 * hops * cos(turn), 1), round(90 * hops * sin(turn), 1)
            nodes[node] = {"id": node, "name": names.get(node, node.rpartition("--")[2]), "hops": hops, "x": x, "y": y}
    place = {each: at for at, each in enumerate(nodes)}
    steps = [each.step for each in near if each.step.here in place and each.step.there in place]
    return [*nodes.values()], [(place[step.here], place[step.there], step.predicate) for step in steps]


def knowledge(visit: Visit) -> Response:
    memory, page = visit.memory, visit.given("page")
    terms = {name: visit.given(name).strip() for name in ("subject", "predicate", "object")}
    wanted: dict[str, Any] = {name: f"*{text}*" for name, text in terms.items() if text}
    first = int(page) * PER_PAGE if page.isdecimal() and len(page) < 6 else 0
    found = [*islice(memory.facts.all(**wanted, include_derived=True), first, first + PER_PAGE + 1)]
    following = visit.url("knowledge", **terms, page=first // PER_PAGE + 1) if len(found) > PER_PAGE else ""
    rules = [(rule, render(rule)) for rule in memory.rules.list()]
    values = {"next": following, "rules": rules, "problems": [*memory.facts.problems(), *memory.rules.problems()]}
    return visit.show("knowledge.html", facts=found[:PER_PAGE], terms=terms, **values)


def fact(visit: Visit) -> Response:
    facts = visit.memory.facts
    found = facts.get(visit.path["id"])
    history = [] if found.is_derived else facts.history(found.id)[::-1]
    values = {"tree": facts.explain(found.id, depth=6), "history": history}
    return visit.show("fact.html", fact=found, mark=mark_of(repr(found)), **values)


def retract(visit: Visit) -> Response:
    """Take a fact back, as it was shown."""
    with visit.memory.vault.exclusive():
        found = visit.memory.facts.get(visit.path["id"])
        visit.check_shown(mark_of(repr(found)), str(found))
        visit.memory.facts.retract(found.id, by=BY)
        return visit.go("knowledge", f"Retracted: {found}", visit.memory.vault.head)


def mind(visit: Visit) -> Response:
    memory, runs = visit.memory, visit.memory.runs.list()
    pages = [(kind.page, memory.mind.items(kind)) for kind in KINDS]
    steps = [(run, [(step, run.of(step.number).outcome or "") for step in run.steps]) for run in runs[:RUNS]]
    values = {"kinds": [each for each in pages if each[1]], "runs": steps, "more": max(0, len(runs) - RUNS)}
    return visit.show("mind.html", due=memory.mind.due(), plain=PLAIN, procedures=memory.procedures.list(), **values)


def health(visit: Visit) -> Response:
    memory, vault = visit.memory, visit.memory.vault
    misread = [*map(": ".join, vault.problems.items()), *memory.mind.problems(), *memory.procedures.problems()]
    degraded = [*memory.searcher.degraded(), *map("; ".join, vault.config.problems), *misread]
    values: dict[str, Any] = {"jobs": schedule(vault, memory.searcher), "members": memory.agents.list()}
    values |= {"obstacle": vault.obstacle if vault.waiting() else None, "unembedded": memory.searcher.missing_vectors()}
    findings = None
    if visit.given("checks"):
        hosts = doors(Options(home=str(vault.config.home), agent=visit.agent), vault.home.root)
        findings = sorted([*vault.doctor(), *hosts], key=lambda each: GRAVEST.index(each.level))
    values |= {"config": vault.config, "core": memory.core.read(), "embedder": memory.searcher.vectorizer.embedder}
    values |= {"findings": findings, "trouble": vault.trouble, "spent": cost_of(vault, memory.searcher, DAYS)}
    return visit.show("health.html", degraded=degraded, **values)


ROUTES = (
    *(("GET", "core", core), ("POST", "core", edit_core), ("GET", "health", health)),
    *(("GET", "things", things), ("GET", "things/{id}", thing), ("GET", "knowledge", knowledge)),
    *(("GET", "knowledge/{id}", fact), ("POST", "knowledge/{id}", retract)),
    ("GET", "mind", mind),
)
