"""The overview of the graph, `graph/index.md`: written anew from the pages each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memfolio.graph.alike import Pair, propose
from memfolio.graph.making import graph_folder
from memfolio.graph.page import Written, page_bytes
from memfolio.graph.vocabulary import DEFAULT
from memfolio.index.graph import Node, Tie
from memfolio.vault.change import PutPage
from memfolio.vault.vault import Vault

HEAD = """\
# Semantic Graph Index

<!-- Made from the pages in entities/ whenever the graph grows; what is edited here is overwritten. -->
"""


def overview(
    vault: Vault, agent: str, nodes: Iterable[Node], ties: Iterable[Tie], written: Mapping[str, Written | None]
) -> Iterator[PutPage]:
    """The pages about the whole graph, where they are missing or outdated; of `written`, None is a page that goes."""
    listed = [node for node in nodes if node.id not in written]
    listed += [node for page in written.values() if page and (node := page.node)]
    drawn = {tie for tie in ties if tie.source not in written}
    drawn |= {tie for page in written.values() if page for tie in page.ties}
    if not listed and not written:
        return
    text = registry(listed, drawn, propose(listed, vault.config.learn.merge, drawn))
    path = f"{graph_folder(agent)}/index.md"
    before = vault.page(path)
    if before is None or before.content != page_bytes(text):
        yield PutPage(path, page_bytes(text), before.hash if before else None)
    vocabulary = f"{graph_folder(agent)}/relations.md"
    if vault.page(vocabulary) is None:
        yield PutPage(vocabulary, DEFAULT.encode(), None)


def registry(nodes: Iterable[Node], ties: Iterable[Tie], pairs: Iterable[Pair]) -> str:
    """All entities with the names of their files, all relations, and who may be the same."""
    entities = [
        (node.id, node.type, node.name, f"entities/{node.path.rpartition('/')[2]}", *_kept(node))
        for node in sorted(nodes, key=lambda node: node.id)
    ]
    alike = "".join(f"- [[{pair.one}]] and [[{pair.other}]]: {pair.why}, {pair.score:.2f}\n" for pair in pairs)
    return (
        f"{HEAD}\n## Entity Registry\n\n{_table(('ID', 'Type', 'Label', 'File', 'Mentions', 'Last Updated'), entities)}"
        f"\n## Edges\n\n{_table(('From', 'Relation', 'To'), sorted(ties))}"
        + (f"\n## Possibly the same\n\n{alike}" if alike else "")
    )


def _kept(node: Node) -> list[str | None]:
    return [node.properties.get(name) for name in ("mentions", "last_updated")]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    marks = ["---"] * len(columns)
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in (columns, marks, *rows))


def _cell(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())
