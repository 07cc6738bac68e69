"""People and things that belong together: relations that no page has yet, and names that may mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from memfolio.govern.reflection.item import Item, Verb
from memfolio.govern.reflection.knowledge import quote
from memfolio.graph.alike import propose
from memfolio.graph.cast import is_user
from memfolio.graph.gather import gather
from memfolio.graph.vocabulary import ANY, read_vocabulary
from memfolio.index.graph import Material, Node
from memfolio.index.index import Index
from memfolio.index.reflecting import conversations

TOGETHER = 3
"""In how many conversations two must be mentioned to be connected for that."""
NODES = 100
"""How many entities are compared for that, those mentioned most."""
BELOW = 0.1
"""How much less alike than is proposed two names may be to be asked about."""
SHORT = 3
"""Letters of a name that is looked for in what was said."""


def connected(index: Index, material: Material, vocabulary: str, besides: Iterable[Item]) -> Iterator[Item]:
    """Relations that were told and stand on no page, then those who are often mentioned together."""
    drawn = {frozenset((tie.source, tie.target)) for tie in material.ties}
    drawn |= {frozenset((each.subject, each.object)) for each in besides}
    told = list(_told(material, vocabulary))
    drawn |= {frozenset((each.subject, each.object)) for each in told}
    yield from told
    yield from (each for each in _together(index, material) if frozenset((each.subject, each.object)) not in drawn)


def _told(material: Material, vocabulary: str) -> Iterator[Item]:
    cast, texts = gather(material, read_vocabulary(vocabulary)), {fact.id: fact.text for fact in material.facts}
    for figure in (each for each in cast.figures.values() if each.page):
        for (predicate, target), (_, by) in figure.relations.items():
            why = f"“{quote(texts[by])}”" if by in texts else "told in a conversation"
            names = {figure.id: figure.name, target: cast.figures[target].name}
            sources = (by,) if by in texts else ()
            yield _connection(predicate, names, why=why, sources=sources)


def _together(index: Index, material: Material) -> Iterator[Item]:
    nodes = [each for each in material.nodes if not is_user(each.name) and len(each.name) >= SHORT]
    most = {each.id: each for each in sorted(nodes, key=lambda node: (-node.mentions, node.id))[:NODES]}
    names = {each.id: (each.name, *each.aliases) for each in most.values()}
    met = index.read(lambda connection: conversations(connection, names))
    pairs = [(len(met[one] & met[other]), one, other) for one, other in combinations(sorted(met), 2)]
    for count, one, other in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if count >= TOGETHER and 2 * count > min(len(met[one]), len(met[other])):
            alone = ", ".join(f"{most[each].name} in {len(met[each])}" for each in (one, other))
            why = f"spoken of together in {count} conversations ({alone})"
            yield _connection(ANY, {one: most[one].name, other: most[other].name}, why=why)


def _connection(predicate: str, names: Mapping[str, str], *, why: str, sources: tuple[str, ...] = ()) -> Item:
    one, other = names
    return Item(
        verb=Verb.CONNECT, subject=one, predicate=predicate, object=other, sources=sources, why=why, quotes=names
    )


def merging(material: Material, limit: float) -> tuple[list[Item], list[tuple[Node, Node]]]:
    """Entities that may be the same: as proposals from this likeness on, below it as pairs to ask about."""
    known = {node.id: node for node in material.nodes}
    sure, unsure = [], []
    for pair in propose(material.nodes, max(0.5, limit - BELOW), material.ties):
        keep, other = sorted((known[pair.one], known[pair.other]), key=lambda node: (-node.mentions, node.id))
        if pair.score < limit:
            unsure.append((keep, other))
            continue
        why = f"{pair.why}: {keep.name} is mentioned {keep.mentions} times, {other.name} {other.mentions}"
        names = {each.id: quote(each.summary or each.name) for each in (keep, other)}
        sure.append(Item(verb=Verb.MERGE, subject=keep.id, object=other.id, why=why, quotes=names))
    return sure, unsure
