"""The command `explain`: where a memory comes from and what became of it, as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from memfolio.clock import iso
from memfolio.serve.cli.brief import beginning, happened, local, standing, tagged
from memfolio.serve.cli.call import Answer, Command, Options
from memfolio.serve.cli.mend import Id
from memfolio.serve.cli.output import Screen, as_document, fields_of, safe

if TYPE_CHECKING:
    from rich.tree import Tree

    from memfolio.index.lookup import Edge
    from memfolio.memory import Memory
    from memfolio.recall.explain import Explanation
    from memfolio.types import MemoryItem
    from memfolio.vault.audit import TrailLine

LEEWAY = timedelta(days=1)
"""How much older than a memory the trail is still searched for the change that brought it: clocks are set."""
MARGIN = 14
DEEDS = {
    "confirm": "confirmed",
    "tombstone": "forgotten",
    "purge": "forgotten for good",
    "restore": "restored",
    "access": "recalled",
}


def explain(options: Options, id: Id) -> Answer:
    """Show where a memory comes from: who wrote it, what it was made of, and what was said about it since."""
    with options.memory() as memory:
        found = memory.explain(id)
        story = Story(found=found, change=origin(memory, found.memory), zone=memory.vault.home.zone)
    return Answer(story.document(), story.draw)


def origin(memory: Memory, item: MemoryItem) -> TrailLine | None:
    """The change that brought the memory, if the trail names it: it names few of a large change."""
    found, earliest = None, iso(item.created_at - LEEWAY)
    for line in memory.vault.trail.newest_first():
        if line.at < earliest:
            break
        found = line if item.id in line.ids else found
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A memory's provenance, for programs and for people."""

    found: Explanation
    change: TrailLine | None
    zone: tzinfo

    def document(self) -> dict[str, Any]:
        document = fields_of(self.found) | {"memory": as_document(self.found.memory)}
        by = self.change
        return document | {"change": {"seq": by.seq, "at": by.at, "actor": by.by.actor} if by else None}

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
            "since then": [self._deed(line) for line in found.history],
        }

    def _what(self) -> str:
        item = self.found.memory
        sure = f"{item.type}, {item.kind}, {item.store}, importance {item.importance:g}, confidence {item.confidence:g}"
        return f"{sure}  {tagged(item)}".rstrip()

    def _written(self) -> str:
        item, by = self.found.memory, self.change
        parts = {"role": item.role, "source": item.source, "session": item.session, "user": item.user}
        facts = [f"{name} {value}" for name, value in parts.items() if value]
        who = [f"by {by.by.actor}", f"change {by.seq}"] if by else []
        return ", ".join([local(item.created_at, self.zone), *who, *facts, f"origin {item.origin}"])

    def _line(self, item: MemoryItem) -> str:
        return f"{item.id}  {happened(item, self.zone)}  {beginning(item.content)}"

    def _tie(self, edge: Edge) -> str:
        is_source = edge.source == self.found.memory.id
        other = edge.target if is_source else edge.source
        return f"{edge.predicate or edge.type} {'→' if is_source else '←'} {other}"

    def _deed(self, line: Mapping[str, Any]) -> str:
        from memfolio.state import moment

        at = moment(line.get("at"))
        return f"{local(at, self.zone) if at else '?'}  {deed(line)} by {line.get('actor', 'somebody')}"


def deed(line: Mapping[str, Any]) -> str:
    """What a state line did to the memory, as a word or two."""
    op = str(line.get("op"))
    if op == "pin":
        return "pinned" if line.get("pinned", True) is True else "unpinned"
    if op == "supersede":
        return f"corrected as {line.get('by')}"
    if op == "store":
        return f"moved to {line.get('store')}"
    return DEEDS.get(op, op)


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


COMMANDS = (Command(explain, "explain M-1763217005123-5f2c91ab"),)
