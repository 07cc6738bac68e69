"""Making one entity of two: what the other page tells goes to the one that is kept, as one change."""

from __future__ import annotations

from collections.abc import Iterable

from memfolio.errors import ConflictError, NotFoundError
from memfolio.graph.page import FENCE, ORDER, EntityText, Part, Written, page_bytes, read_text
from memfolio.graph.registry import overview
from memfolio.index.graph import Node, Tie, nodes, nodes_named, ties
from memfolio.index.index import Index
from memfolio.index.pages import BOOKKEEPING, OWN_KEYS
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, Operation, Page, PutPage
from memfolio.vault.vault import Vault

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
    from_.drop_links({each for each in from_.relations() if each[1] in (keep.id, other.id)})
    text.drop_links({each for each in text.relations() if each[1] == other.id})
    for name in (other.name, *other.aliases):
        if name.casefold() != keep.name.casefold():
            text.add_alias(name)
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


def _join_part(text: EntityText, part: Part) -> list[str]:
    """Add what a section tells to the one of the same name; where there is none, it comes back."""
    lines = _closed(part.lines)
    ours = _SECTIONS.get(part.title.casefold())
    if not ours and part.heading not in (each.heading for each in text.parts()):
        return [part.heading, "", *lines, *([""] if lines else [])]
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
