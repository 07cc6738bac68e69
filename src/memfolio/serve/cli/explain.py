"""The command `explain`: where a memory comes from and what became of it, as a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen, as_document, beginning, fields_of, happened, local, safe, standing, tagged

if TYPE_CHECKING:
    from rich.tree import Tree

    from memfolio.index.lookup import Edge
    from memfolio.recall.explain import Explanation
    from memfolio.types import MemoryItem
    from memfolio.vault.past.view import Event

MARGIN = 14


def explain(options: Options, id: str) -> Answer:
    with options.memory() as memory:
        found = memory.explain(id)
        story = ExplanationView(found=found, zone=memory.vault.home.zone)
    return Answer(story.document(), story.draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationView:
    """A memory's provenance, for programs and for people."""

    found: Explanation
    zone: tzinfo

    @property
    def origin(self) -> Event | None:
        """How it came to be, if the trail knows it."""
        return next((event for event in self.found.events if event.deed == "written"), None)

    def document(self) -> dict[str, Any]:
        document = fields_of(self.found) | {"memory": as_document(self.found.memory)}
        by = self.origin
        return document | {"change": {"seq": by.seq, "at": by.at, "actor": by.actor} if by else None}

    def draw(self, screen: Screen) -> None:
        from rich.text import Text
        from rich.tree import Tree

        found, item = self.found, self.found.memory
        marks = [*standing(item), *(["archived"] if found.archived else [])]
        screen.print(Text.assemble((item.id, "bold"), ("".join(f"  {mark}" for mark in marks), "yellow")))
        # Beside the tree, which would be laid out line by line.
        screen.say(item.content.strip())
        tree = Tree("", guide_style="dim")
        for name, lines in self._branches().items():
            grow(tree, name, lines)
        screen.print(tree)

    def _branches(self) -> dict[str, list[str]]:
        found = self.found
        return {
            "what": [self._what()],
            "written": [self._written()],
            "stands in": list(found.places or (found.path,)),
            "made from": [self._line(each) for each in found.sources],
            "corrects": [self._line(each) for each in found.supersedes],
            "corrected by": [self._line(each) for each in found.superseded_by],
            "names": [", ".join(found.entities)] if found.entities else [],
            "tied to": [self._tie(edge) for edge in found.edges if edge.type not in ("supersedes", "derived_from")],
            "since then": [self._deed(event) for event in found.events if event is not self.origin],
        }

    def _what(self) -> str:
        item = self.found.memory
        sure = f"{item.type}, {item.kind}, {item.store}, importance {item.importance:g}, confidence {item.confidence:g}"
        return f"{sure}  {tagged(item)}".rstrip()

    def _written(self) -> str:
        item, by = self.found.memory, self.origin
        parts = {"role": item.role, "source": item.source, "session": item.session, "user": item.user}
        facts = [f"{name} {value}" for name, value in parts.items() if value]
        who = [f"by {by.actor}", f"change {by.seq}"] if by else []
        said = f": {beginning(by.text)}" if by and by.text and by.text != item.content else ""
        return ", ".join([local(item.created_at, self.zone), *who, *facts, f"origin {item.origin}"]) + said

    def _line(self, item: MemoryItem) -> str:
        return f"{item.id}  {happened(item, self.zone)}  {beginning(item.content)}"

    def _tie(self, edge: Edge) -> str:
        is_source = edge.source == self.found.memory.id
        other = edge.target if is_source else edge.source
        return f"{edge.predicate or edge.type} {'→' if is_source else '←'} {other}"

    def _deed(self, event: Event) -> str:
        at = datetime.fromisoformat(event.at) if event.at else None
        change = f", change {event.seq}" if event.seq else ""
        what = f"{event.deed} as {event.by}" if event.by else event.deed
        said = f": {beginning(event.text)}" if event.text and event.deed == "edited" else ""
        return f"{local(at, self.zone) if at else '?'}  {what} by {event.actor}{change}{said}"


def grow(tree: Tree, name: str, lines: Iterable[str]) -> None:
    """A branch, if there is anything to say: its name, and beside it one or more lines."""
    from rich.table import Table
    from rich.text import Text

    found = [Text(safe(line)) for line in lines]
    if found:
        branch = Table.grid()
        branch.add_column(style="cyan", width=MARGIN)
        branch.add_column()
        for number, line in enumerate(found):
            branch.add_row("" if number else name, line)
        tree.add(branch)
