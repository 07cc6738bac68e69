"""The graph of one agent: who and what is known, how they are related, walks along it, and merges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.graph.entities import Pair, clean_name, propose, slug
from memfolio.graph.grow import Readable, overview
from memfolio.graph.page import (
    FACTS,
    FENCE,
    ORDER,
    QUESTIONS,
    TIMELINE,
    EntityText,
    PageSection,
)
from memfolio.index.graph import EntityRelation, Node, nodes, nodes_named, promised, ties, ties_of
from memfolio.index.index import Index
from memfolio.index.read_files import BOOKKEEPING, OWN_KEYS
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.vault import OWNER, Vault

# Walking the graph: who is near an entity, and how two of them are connected.

MOST_HOPS = 6
Ties = Callable[[Iterable[str]], Sequence[EntityRelation]]
"""The relations that lead from or to entities."""


class GraphStep(NamedTuple):
    """One relation on the way from `here` to `there`; where `is_forward` is False it points the other way."""

    here: str
    predicate: str
    there: str
    is_forward: bool

    def __str__(self) -> str:
        arrow = f"─ {self.predicate} →" if self.is_forward else f"← {self.predicate} ─"
        return f"{self.here} {arrow} {self.there}"

    @property
    def back(self) -> GraphStep:
        return GraphStep(self.there, self.predicate, self.here, not self.is_forward)


class Neighbour(NamedTuple):
    """An entity that can be reached, the last step of the way to it, and how many steps that is."""

    id: str
    hops: int
    step: GraphStep


def neighbours(ties: Ties, start: str, hops: int) -> list[Neighbour]:
    """Who can be reached in so many steps, the nearest first; of several relations to the nearest, all are told."""
    found: list[Neighbour] = []
    seen, edge = {start}, {start}
    for hop in range(1, hops + 1):
        steps = [step for step in _steps(ties, edge) if step.there not in seen]
        edge = {step.there for step in steps}
        seen |= edge
        found += [Neighbour(step.there, hop, step) for step in sorted(steps, key=lambda each: (each.there, each))]
    return found


def path(ties: Ties, start: str, end: str) -> list[GraphStep] | None:
    """The shortest way between two entities, over relations in either direction; None where there is none.

    It is looked for from both ends, so that only what lies near them is read.
    """
    if start == end:
        return []
    sides: list[dict[str, GraphStep | None]] = [{start: None}, {end: None}]
    edges = [{start}, {end}]
    for _ in range(MOST_HOPS):
        # The smaller edge is walked on: it brings fewer relations to read.
        near = 0 if len(edges[0]) <= len(edges[1]) else 1
        reached, there = sides[near], sides[1 - near]
        edge: set[str] = set()
        for step in _steps(ties, edges[near]):
            if step.there not in reached:
                reached[step.there] = step
                edge.add(step.there)
        if met := sorted(edge & there.keys()):
            middle = min(met, key=lambda each: (len(_way(there, each)), each))
            return [*_way(sides[0], middle), *(step.back for step in reversed(_way(sides[1], middle)))]
        if not edge:
            return None
        edges[near] = edge
    return None


def _steps(ties: Ties, ids: set[str]) -> list[GraphStep]:
    """The relations of these entities, each as seen from them, in an order of their own."""
    steps = []
    for source, predicate, target in ties(sorted(ids)):
        if source in ids:
            steps.append(GraphStep(source, predicate, target, True))
        if target in ids:
            steps.append(GraphStep(target, predicate, source, False))
    return steps


def _way(side: dict[str, GraphStep | None], at: str) -> list[GraphStep]:
    """The steps from the beginning of one side to an entity that it has reached."""
    steps = []
    while step := side[at]:
        steps.append(step)
        at = step.here
    return steps[::-1]


# Making one entity of two: what the other page tells goes to the one that is kept, as one change.

_SECTIONS = {name.casefold(): name for name in ORDER}
_OF_PAGES = BOOKKEEPING | OWN_KEYS


def one_named(index: Index, name: str) -> Node:
    """The entity with this id or name; raises NotFoundError, or ConflictError where several have it."""
    found = index.read(lambda connection: nodes_named(connection, name))
    if not found:
        raise NotFoundError(f"there is no page about {name[:80]!r}", hint="`memfolio entity list` shows all")
    if len(found) > 1 and found[0].id != name.lower():
        ids = ", ".join(node.id for node in found)
        raise ConflictError(f"{len(found)} entities are called {name[:80]!r}: {ids}", hint="name one by its id")
    return found[0]


def merged(vault: Vault, index: Index, keep: Node, other: Node, by: Attribution) -> Change:
    """The change that makes one of two: pages, links to them on other pages, and the overview."""
    if keep.id == other.id:
        raise ConflictError(f"both are {keep.id}", hint="name two entities")
    known, drawn = index.read(lambda connection: (nodes(connection), ties(connection)))
    pages = {node.id: page for node in known if (page := vault.page(node.path))}
    if keep.id not in pages or other.id not in pages:
        raise ConflictError("a page was removed a moment ago", hint="look again")
    texts = {each: EntityText.of(page) for each, page in pages.items()}
    _take_over(texts[keep.id], texts.pop(other.id), keep, other)
    for text in texts.values():
        text.relink(other.id, keep.id)
    written = {each: text for each, text in texts.items() if text.is_changed}
    operations = [*(text.put for text in written.values()), PutPage(other.path, None, pages[other.id].hash)]
    operations += overview(vault, index.agent, known, drawn, {**written, other.id: None})
    return Change(operations=tuple(operations), by=by, action=Action.MERGE)


def _take_over(text: EntityText, from_: EntityText, keep: Node, other: Node) -> None:
    """Add to the kept page what the other one has and it has not."""
    # A relation between the two would become one of an entity with itself.
    from_.drop_links({each for each in from_.relations() if each[1] in (keep.id, other.id)})
    text.drop_links({each for each in text.relations() if each[1] == other.id})
    for name in (other.name, *other.aliases):
        if name.casefold() != keep.name.casefold():
            text.add_alias(name)
    # Of two summaries a person's is kept; one of ours is written anew when the graph grows.
    if not from_.has_own_summary():
        from_.summarise("")
    elif not text.has_own_summary():
        text.summarise("")
    title = f"# {other.name}"
    head, rest = _join_fields(text, from_), []
    for part in from_.parts():
        if part.heading in ("", title):
            head += [*([""] if head and part.lines else []), *_closed(part.lines)]
        else:
            rest += _join_part(text, part)
    text.append([*([title, "", *head] if head else []), *([""] if head and rest else []), *rest])
    text.set_field("mentions", str(keep.mentions + other.mentions))
    seen = sorted(filter(None, (each.properties.get("first_seen") for each in (keep, other))))
    if seen:
        text.set_field("first_seen", seen[0])


def _join_fields(text: EntityText, from_: EntityText) -> list[str]:
    """Add the fields that are not there; the lines of those that say something else come back."""
    there, left = text.fields(), []
    for key, lines in from_.fields().items():
        if key in _OF_PAGES or there.get(key) == lines:
            continue
        if key in there or not there:
            left += lines
        else:
            text.add_fields(lines)
    return left


def _join_part(text: EntityText, part: PageSection) -> list[str]:
    """Add what a section tells to the one of the same name; where there is none, it comes back."""
    lines = _closed(part.lines)
    ours = _SECTIONS.get(part.title.casefold())
    if not ours and part.heading not in (each.heading for each in text.parts()):
        return [part.heading, "", *lines, *([""] if lines else [])]
    # Lines of code may repeat; only prose is compared line by line.
    known = [] if any(map(FENCE.match, lines)) else text.told(part.title)
    added = "\n".join(line for line in lines if line not in known).strip("\n")
    text.add(ours or part.title, added.split("\n") if added.strip() else ())
    return []


def _closed(lines: list[str]) -> list[str]:
    """Lines in which a code fence that is opened is also closed, so that it takes in nothing that comes behind."""
    fence = ""
    for match in filter(None, map(FENCE.match, lines)):
        fence = match[1] if not fence else "" if match[1] == fence else fence
    return [*lines, fence] if fence else lines


# The graph of one agent as a small object: who and what is known, and how they are related.


@frozen
class Entity:
    """Somebody or something, with all that its page tells; facts and events end with the ids of their memories."""

    id: str
    name: str
    type: str
    path: str
    aliases: tuple[str, ...]
    summary: str
    mentions: int
    first_seen: str
    last_updated: str
    facts: tuple[str, ...]
    timeline: tuple[str, ...]
    questions: tuple[str, ...]
    relations: tuple[GraphStep, ...]
    others: tuple[str, ...]
    """Further entities of that name."""


@frozen
class Merged:
    """What a merge did, or would do: then there is no receipt."""

    keep: str
    other: str
    diff: str
    receipt: Receipt | None = None


class Graph:
    """The entities that an agent may see: its own, and those that all share."""

    def __init__(self, vault: Vault, searcher: Readable, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent

    def entities(self, type: str | None = None) -> list[Node]:
        """All that have pages, or those of one type; those mentioned most come first."""
        found = [each for index in self._searcher.indexes() for each in index.read(lambda db: nodes(db, type))]
        return sorted(found, key=lambda each: (-each.mentions, each.id))

    def entity(self, name: str) -> Entity:
        """Who or what goes by a name, alias or id; of several, the one that is mentioned most."""
        found = self._named(name)
        if not found:
            raise _unknown(name)
        node = found[0]
        page = self._vault.page(node.path)
        text = EntityText.of(page) if page else EntityText("")
        facts, timeline, questions = (
            tuple(line.lstrip("-*+ \t") for line in text.told(title)) for title in (FACTS, TIMELINE, QUESTIONS)
        )
        return Entity(
            id=node.id,
            name=node.name,
            type=node.type,
            path=node.path,
            aliases=node.aliases,
            summary=node.summary,
            mentions=node.mentions,
            first_seen=node.properties.get("first_seen", ""),
            last_updated=node.properties.get("last_updated", ""),
            facts=facts,
            timeline=timeline,
            questions=questions,
            relations=tuple(each.step for each in neighbours(self._ties, node.id, 1)),
            others=tuple(each.id for each in found[1:]),
        )

    def neighbours(self, name: str, hops: int = 1) -> list[Neighbour]:
        """Who is related to an entity, directly or over up to `hops` relations."""
        if not 1 <= hops <= MOST_HOPS:
            raise InputError(f"{hops} hops are not 1 to {MOST_HOPS}", hint="1 is the nearest")
        return neighbours(self._ties, self._id(name), hops)

    def path(self, a: str, b: str) -> list[GraphStep] | None:
        """The shortest way from one entity to another, over at most six relations; None where there is none."""
        return path(self._ties, self._id(a), self._id(b))

    def alike(self) -> list[Pair]:
        """The agent's entities that may be the same, likeliest first; nothing is done about it."""
        known, drawn = self._searcher.index.read(lambda db: (nodes(db), ties(db)))
        return propose(known, self._vault.config.learn.merge, drawn)

    def merge(self, keep: str, other: str, *, dry_run: bool = False, by: Attribution = OWNER) -> Merged:
        """Make one entity of two of the agent's own, as one change; `dry_run` only shows it."""
        index = self._searcher.index
        one, two = one_named(index, keep), one_named(index, other)
        change = merged(self._vault, index, one, two, by)
        diff = self._vault.preview(change)
        return Merged(keep=one.id, other=two.id, diff=diff, receipt=None if dry_run else self._vault.apply(change))

    def alias(self, name: str, alias: str, *, by: Attribution = OWNER) -> Node:
        """Give one of the agent's own entities a further name."""
        node, further = one_named(self._searcher.index, name), clean_name(alias)
        if not further:
            raise InputError(f"{alias[:40]!r} is no name", hint="use letters")
        # A name that means two entities would send new facts to either of them.
        if others := [each.id for each in self._named(further) if each.id != node.id]:
            raise ConflictError(f"{further!r} is what {others[0]} is called", hint="merge them if they are the same")
        page = self._vault.page(node.path)
        if page is None:
            raise _unknown(name)
        text = EntityText.of(page)
        text.add_alias(further)
        if text.is_changed:
            self._vault.apply(Change(operations=(text.put,), by=by, action=Action.EDIT))
        return one_named(self._searcher.index, node.id)

    def _named(self, name: str) -> list[Node]:
        return [each for index in self._searcher.indexes() for each in index.read(lambda db: nodes_named(db, name))]

    def _id(self, name: str) -> str:
        """The id for a name; also of what pages only link to."""
        if found := self._named(name):
            return found[0].id
        for index in self._searcher.indexes():
            if ids := index.read(lambda db: promised(db, name.lower(), slug(name))):
                return ids[0]
        raise _unknown(name)

    def _ties(self, ids: Iterable[str]) -> list[EntityRelation]:
        wanted = tuple(ids)
        found = [each for index in self._searcher.indexes() for each in index.read(lambda db: ties_of(db, wanted))]
        return list(dict.fromkeys(found))


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"there is no page about {name[:80]!r}", hint="`memfolio entity list` shows who and what has one"
    )
