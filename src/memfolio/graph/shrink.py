"""Taking out of the graph's pages what only certain memories told, when these go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from memfolio.graph.gather import gather
from memfolio.graph.grow import summary
from memfolio.graph.making import graph_folder
from memfolio.graph.page import SUMMARY, EntityText, Written, page_bytes, read_text
from memfolio.graph.registry import overview
from memfolio.graph.vocabulary import DEFAULT, Vocabulary, read_vocabulary
from memfolio.index.graph import Material, Node, material
from memfolio.index.index import Index
from memfolio.vault.change import PutPage
from memfolio.vault.vault import Vault

_CITING = re.compile(r"[^\n]*[(\[](M-\d{1,15}-[0-9a-f]{8})[)\]][ \t]*\r?(?:\n|\Z)")


def shrink(vault: Vault, index: Index, ids: Collection[str]) -> list[PutPage]:
    """The pages of the graph without these memories; a page of ours goes when nobody else tells of its entity."""
    given = index.read(material)
    if not given.nodes:
        return []
    page = vault.page(f"{graph_folder(index.agent)}/relations.md")
    vocabulary = read_vocabulary(DEFAULT if page is None else page.text)
    shrinking = _Shrinking(vault, given, vocabulary, frozenset(ids))
    pages = list(shrinking.pages())
    return [*pages, *overview(vault, index.agent, given.nodes, given.ties, shrinking.written)] if pages else []


class _Shrinking:
    def __init__(self, vault: Vault, given: Material, vocabulary: Vocabulary, ids: frozenset[str]) -> None:
        left = [replace(fact, is_out=fact.is_out or fact.id in ids) for fact in given.facts]
        self._vault = vault
        self._ids = ids
        self._nodes = given.nodes
        self._facts = {fact.id: fact for fact in left if not fact.is_out}
        self._before = gather(given, vocabulary)
        self._after = gather(replace(given, facts=tuple(left), gone=given.gone | ids), vocabulary)
        self.written: dict[str, Written | None] = {}
        """The pages that change; None is one that goes."""

    def pages(self) -> Iterator[PutPage]:
        for node in self._nodes:
            before = self._vault.page(node.path)
            old = read_text(before.content) if before else ""
            if before is None or "\0" in old:
                continue
            text = self._shrunk(node, old)
            if text != old:
                self.written[node.id] = None if text is None else Written(path=node.path, text=text)
                yield PutPage(node.path, None if text is None else page_bytes(text), before.hash)

    def _shrunk(self, node: Node, old: str) -> str | None:
        """The page as it will be; None where nothing is left of it."""
        page = EntityText(_CITING.sub(lambda line: "" if line[1] in self._ids else line[0], old))
        figure, earlier = self._after.figures[node.id], self._before.figures[node.id]
        page.drop_relations(figure.ended)
        for alias in figure.unnamed:
            page.drop_alias(alias)
        lost = earlier.seen & self._ids
        if page.text == old and not lost:
            return old
        facts = [self._facts[each] for each in page.cites if each in self._facts]
        if page.told(SUMMARY):
            page.summarise(summary(facts))
        if not figure.seen and not _tells(page):
            return None
        page.set_field("mentions", str(len(figure.seen)))
        return page.text


def _tells(page: EntityText) -> bool:
    """Whether anything stands below the title."""
    return any(line.strip() for part in page.parts() for line in part.lines)
