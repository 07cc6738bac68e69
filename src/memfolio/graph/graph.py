"""The graph of one agent as a small object: who and what is known, and how they are related."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.graph import walk
from memfolio.graph.alike import Pair, propose
from memfolio.graph.cast import clean_name, slug
from memfolio.graph.making import Shelf
from memfolio.graph.merge import merged, one_named
from memfolio.graph.page import FACTS, QUESTIONS, TIMELINE, EntityText, page_bytes, read_text
from memfolio.graph.walk import Neighbour, Step
from memfolio.index.graph import Node, Tie, nodes, nodes_named, promised, ties, ties_of
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.vault import OWNER, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
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
    relations: tuple[Step, ...]
    others: tuple[str, ...]
    """Further entities of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge did, or would do: then there is no receipt."""

    keep: str
    other: str
    diff: str
    receipt: Receipt | None = None


class Graph:
    """The entities that an agent may see: its own, and those that all share."""

    def __init__(self, vault: Vault, library: Shelf, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._agent = agent

    def entities(self, type: str | None = None) -> list[Node]:
        """All that have pages, or those of one type."""
        return [each for index in self._library.indexes() for each in index.read(lambda db: nodes(db, type))]

    def entity(self, name: str) -> Entity:
        """Who or what goes by a name, alias or id; of several, the one that is mentioned most."""
        found = self._named(name)
        if not found:
            raise _unknown(name)
        node = found[0]
        page = self._vault.page(node.path)
        text = EntityText(read_text(page.content) if page else "")
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
            relations=tuple(each.step for each in walk.neighbours(self._ties, node.id, 1)),
            others=tuple(each.id for each in found[1:]),
        )

    def neighbours(self, name: str, hops: int = 1) -> list[Neighbour]:
        """Who is related to an entity, directly or over up to `hops` relations."""
        if not 1 <= hops <= walk.MOST_HOPS:
            raise InputError(f"{hops} hops are not 1 to {walk.MOST_HOPS}", hint="1 is the nearest")
        return walk.neighbours(self._ties, self._id(name), hops)

    def path(self, a: str, b: str) -> list[Step] | None:
        """The shortest way from one entity to another, over at most six relations; None where there is none."""
        return walk.path(self._ties, self._id(a), self._id(b))

    def alike(self) -> list[Pair]:
        """The agent's entities that may be the same, likeliest first; nothing is done about it."""
        known, drawn = self._library.index.read(lambda db: (nodes(db), ties(db)))
        return propose(known, self._vault.config.learn.merge, drawn)

    def merge(self, keep: str, other: str, *, dry_run: bool = False, by: Attribution = OWNER) -> Merged:
        """Make one entity of two of the agent's own, as one change; `dry_run` only shows it."""
        index = self._library.index
        one, two = one_named(index, keep), one_named(index, other)
        change = merged(self._vault, index, one, two, by)
        diff = self._vault.preview(change)
        return Merged(keep=one.id, other=two.id, diff=diff, receipt=None if dry_run else self._vault.apply(change))

    def alias(self, name: str, alias: str, *, by: Attribution = OWNER) -> Node:
        """Give one of the agent's own entities a further name."""
        node, further = one_named(self._library.index, name), clean_name(alias)
        if not further:
            raise InputError(f"{alias[:40]!r} is no name", hint="use letters")
        if others := [each.id for each in self._named(further) if each.id != node.id]:
            raise ConflictError(f"{further!r} is what {others[0]} is called", hint="merge them if they are the same")
        page = self._vault.page(node.path)
        if page is None:
            raise _unknown(name)
        text = EntityText(read_text(page.content))
        text.add_alias(further)
        if page_bytes(text.text) != page.content:
            put = PutPage(node.path, page_bytes(text.text), page.hash)
            self._vault.apply(Change(operations=(put,), by=by, action=Action.EDIT))
        return one_named(self._library.index, node.id)

    def _named(self, name: str) -> list[Node]:
        return [each for index in self._library.indexes() for each in index.read(lambda db: nodes_named(db, name))]

    def _id(self, name: str) -> str:
        """The id for a name; also of what pages only link to."""
        if found := self._named(name):
            return found[0].id
        for index in self._library.indexes():
            if ids := index.read(lambda db: promised(db, name.lower(), slug(name))):
                return ids[0]
        raise _unknown(name)

    def _ties(self, ids: Iterable[str]) -> list[Tie]:
        wanted = tuple(ids)
        found = [each for index in self._library.indexes() for each in index.read(lambda db: ties_of(db, wanted))]
        return list(dict.fromkeys(found))


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"there is no page about {name[:80]!r}", hint="`memfolio entity list` shows who and what has one"
    )
