"""Making one entity of two: what the other page tells goes to the one that is kept, as one change."""

from __future__ import annotations

from collections.abc import Iterable

from memfolio.errors import ConflictError, NotFoundError
from memfolio.graph.making import Maker
from memfolio.graph.page import ORDER, SUMMARY, EntityText, Written, page_bytes, read_text
from memfolio.graph.registry import overview
from memfolio.index.graph import Node, Tie, nodes, nodes_named, ties
from memfolio.index.index import Index
from memfolio.index.pages import BOOKKEEPING
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, Operation, Page, PutPage, Receipt
from memfolio.vault.vault import Vault

_SECTIONS = {name.casefold(): name for name in ORDER}


def merge(hand: Maker, index: Index, keep: str, other: str, by: Attribution) -> Receipt | None:
    """Merge the entity named `other` into the one named `keep`."""
    return hand.make(merged(hand.vault, index, one_named(index, keep), one_named(index, other), by))


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
    texts = {each: EntityText(read_text(page.content)) for each, page in pages.items() if each != other.id}
    _take_over(texts[keep.id], EntityText(read_text(pages[other.id].content)), keep, other)
    for text in texts.values():
        text.relink(other.id, keep.id)
    return Change(
        operations=tuple(_operations(vault, index.agent, known, drawn, pages, texts, other)),
        by=by,
        action=Action.MERGE,
    )


def _operations(
    vault: Vault,
    agent: str,
    known: list[Node],
    drawn: Iterable[Tie],
    pages: dict[str, Page],
    texts: dict[str, EntityText],
    other: Node,
) -> list[Operation]:
    changed = {each: text.text for each, text in texts.items() if page_bytes(text.text) != pages[each].content}
    written = {each: Written(path=pages[each].path, text=text) for each, text in changed.items()}
    puts = [PutPage(pages[each].path, page_bytes(text), pages[each].hash) for each, text in changed.items()]
    gone = PutPage(pages[other.id].path, None, pages[other.id].hash)
    return [*puts, gone, *overview(vault, agent, known, drawn, {**written, other.id: None})]


def _take_over(text: EntityText, from_: EntityText, keep: Node, other: Node) -> None:
    """Add to the kept page what the other one has and it has not."""
    from_.drop_relations({each for each in from_.relations() if each[1] in (keep.id, other.id)})
    text.drop_relations({each for each in text.relations() if each[1] == other.id})
    there = {line for _, lines in text.sections() for line in lines}
    if not from_.has_own_summary() or text.has_own_summary():
        from_.summarise("")
    for title, lines in from_.sections():
        added = [line for line in lines if line not in there]
        if title.casefold() == SUMMARY.casefold() and added:
            text.summarise("")
        text.add(_SECTIONS.get(title.casefold(), title), added)
    for name in (other.name, *other.aliases):
        if name.casefold() != keep.name.casefold():
            text.add_alias(name)
    for key, value in other.properties.items():
        if key not in BOOKKEEPING and key not in keep.properties:
            text.set_field(key, value)
    text.set_field("mentions", str(keep.mentions + other.mentions))
