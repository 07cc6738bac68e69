"""People and things that belong together: those often spoken of together, and names that may mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from memfolio.govern.reflection.item import Item, Verb
from memfolio.govern.reflection.knowledge import quote
from memfolio.graph.alike import propose
from memfolio.graph.cast import is_user
from memfolio.graph.vocabulary import ANY
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


def connected(index: Index, material: Material, besides: Iterable[Item]) -> Iterator[Item]:
    """Those that are spoken of together more often than not, and that no page and no other proposal connects.

    Relations that somebody told are drawn when the graph grows.
    """
    drawn = {frozenset((tie.source, tie.target)) for tie in material.ties}
    drawn |= {frozenset((each.subject, each.object)) for each in besides}
    nodes = [each for each in material.nodes if not is_user(each.name) and len(each.name) >= SHORT]
    most = {each.id: each for each in sorted(nodes, key=lambda node: (-node.mentions, node.id))[:NODES]}
    names = {each.id: (each.name, *each.aliases) for each in most.values()}
    met = index.read(lambda connection: conversations(connection, names))
    pairs = [(len(met[one] & met[other]), one, other) for one, other in combinations(sorted(met), 2)]
    for count, one, other in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        is_often = count >= TOGETHER and 2 * count > max(len(met[one]), len(met[other]))
        if is_often and frozenset((one, other)) not in drawn:
            alone = ", ".join(f"{most[each].name} in {len(met[each])}" for each in (one, other))
            why = f"spoken of together in {count} conversations ({alone})"
            quotes = {each: most[each].name for each in (one, other)}
            yield Item(verb=Verb.CONNECT, subject=one, predicate=ANY, object=other, why=why, quotes=quotes)


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
