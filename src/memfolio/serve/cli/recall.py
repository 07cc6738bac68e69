"""The command `recall`: a question, its filters, and the list of what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

import typer

from memfolio.serve.cli.call import Answer, Options, read_text
from memfolio.serve.cli.output import LONG, Screen, beginning, day, emphasised, happened, local, safe, standing, tagged
from memfolio.serve.cli.typed import read_importance
from memfolio.types import MemoryItem, Origin
from memfolio.verbs.documents import hits_document, phase

if TYPE_CHECKING:
    from rich.text import Text

    from memfolio.recall.hit import Hit, Hits, Reason

LINES = 3
"""How many lines of a memory a list shows."""
BAR = 5
FURTHERED = frozenset("when name number personal standing role recent procedure date speaker importance".split())
"""Strategies that find nothing by themselves."""
TYPED = {"kinds": "kind", "types": "type", "tags": "tag", "min_importance": "importance"}
"""How filters are called inside a question, where that is not their name."""
FACTS = 52
"""Columns for the facts about a memory, so that the ids beside them stand below each other."""


def what(metavar: str, help: str, autocompletion: Callable[..., list[str]] | None = None) -> Any:
    return typer.Option(metavar=metavar, help=help, rich_help_panel="What counts", autocompletion=autocompletion)


def when(help: str) -> Any:
    return typer.Option(metavar="TIME", help=help, rich_help_panel="When")


def recall(
    options: Options,
    query: str,
    limit: int = 10,
    explain: bool = False,
    depth: int = 0,
    kind: list[str] | None = None,
    type: list[str] | None = None,
    tag: list[str] | None = None,
    entity: str | None = None,
    session: str | None = None,
    store: str | None = None,
    user: str | None = None,
    min_importance: str = "0",
    include: list[str] | None = None,
    agents: list[str] | None = None,
    level: str | None = None,
    since: str | None = None,
    until: str | None = None,
    valid_at: str | None = None,
    as_of: str | None = None,
) -> Answer:
    asked, importance = read_text(query), read_importance(min_importance)
    with options.memory() as memory:
        hits = memory.recall(
            asked,
            limit=limit,
            depth=depth,
            kinds=kind or None,
            types=type or None,
            tags=tag or None,
            entity=entity,
            session=session,
            store=store,
            user=user,
            min_importance=importance,
            include=include or (),
            agents=agents or None,
            level=level,
            since=since,
            until=until,
            valid_at=valid_at,
            as_of=as_of,
        )
        home = memory.vault.home
        findings = HitsView(query=asked, hits=hits, zone=home.zone, now=home.now(), explained=explain)
    return Answer(hits_document(asked, hits), findings.draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsView:
    """What was found, as people read it."""

    query: str
    hits: Hits
    zone: tzinfo
    now: datetime
    explained: bool

    def draw(self, screen: Screen) -> None:
        if self.hits.degraded:
            Screen(errors=True).say(f"memfolio: {'; '.join(self.hits.degraded)}", "yellow")
        if self.hits.filters:
            screen.say(f"Filters in the question: {', '.join(filters(self.hits.filters, self.zone))}.", "dim")
        if not self.hits:
            screen.say(f"Nothing is remembered about {beginning(self.query)!r}.")
            screen.say("Other words, or fewer filters, may find it.", "dim")
        elif self.explained:
            screen.say(f"Taken for a question of the kind: {self.hits.intent}.", "dim")
        for rank, hit in enumerate(self.hits, start=1):
            if rank > 1:
                screen.say()
            self._draw(screen, rank, hit)

    def _draw(self, screen: Screen, rank: int, hit: Hit) -> None:
        from rich.text import Text

        margin = len(str(len(self.hits))) + 2
        lead = Text(f"{rank:>{margin - 2}}  ", "bold cyan")
        screen.hang(lead, self._content(screen, hit), most=None if self.explained else LINES)
        lines = self._facts(screen, hit, screen.console.width - margin)
        lines += [Text(line, "italic") for line in reasons(hit)] if self.explained else []
        for line in lines:
            screen.hang(Text(" " * margin), line)

    def _content(self, screen: Screen, hit: Hit) -> Text:
        """The memory's words; those that were asked for stand out where a person reads them."""
        from rich.text import Text

        from memfolio.text import terms

        content = hit.memory.content.strip()
        if screen.is_terminal and not self.explained:
            content = content[: screen.console.width * (LINES + 1) * 2]
        is_shown_to_a_person = screen.is_terminal and len(content) <= LONG
        return emphasised(content, terms(self.query)) if is_shown_to_a_person else Text(safe(content))

    def _facts(self, screen: Screen, hit: Hit, width: int) -> list[Text]:
        """When, what and where: on one line where there is room for all."""
        from rich.text import Text

        item = hit.memory
        facts = Text.assemble(
            *score_parts(hit.score, as_number=self.explained or not screen.is_terminal), happened(item, self.zone)
        )
        facts.append(f"  {item.role or item.type}", "cyan")
        if len({each.agent for each in self.hits}) > 1:
            facts.append(f"  {hit.agent}", "blue")
        if item.tags:
            facts.append(f"  {safe(tagged(item))}", "green")
        for word in (*_standing(item), *self._truth(item), *_state(hit)):
            facts.append(f"  {word}", "yellow")
        place = Text(safe(f"{item.id}  {hit.path}"), "dim")
        facts_width = max(FACTS, facts.cell_len + 2)
        if facts_width + place.cell_len > width:
            return [facts, place]
        facts.pad_right(facts_width - facts.cell_len)
        return [Text.assemble(facts, place)]

    def _truth(self, item: MemoryItem) -> Iterator[str]:
        """What keeps a reader from taking it for true here and now."""
        if item.origin is Origin.UNTRUSTED:
            yield "untrusted"
        if item.valid_from and item.valid_from > self.now:
            yield f"from {day(item.valid_from, self.zone)}"
        if item.valid_until and item.valid_until <= self.now:
            yield f"until {day(item.valid_until, self.zone)}"


def filters(found: Mapping[str, object], zone: tzinfo) -> Iterator[str]:
    """Filters, each with its value, as people read them."""
    for name, value in found.items():
        said = local(value, zone) if isinstance(value, datetime) else value
        yield f"{TYPED.get(name, name)} {' '.join(said) if isinstance(said, list) else said}"


def score_parts(score: float, *, as_number: bool) -> list[tuple[str, str]]:
    """The score as a bar or a number; none where nothing was measured."""
    if not score:
        return []
    if as_number:
        return [(f"{score:.2f}  ", "bold magenta")]
    filled = max(1, min(BAR, round(score * BAR)))
    return [("━" * filled, "magenta"), ("╌" * (BAR - filled) + "  ", "dim")]


def _standing(item: MemoryItem) -> list[str]:
    by = f"superseded by {item.superseded_by}"
    return [by if word == "superseded" else word for word in standing(item)]


def _state(hit: Hit) -> Iterator[str]:
    """What sets a hit apart from the others."""
    if phase(hit) != "active":
        yield phase(hit)
    if hit.depth:
        yield f"hop {hit.depth}"
    if hit.replaced:
        yield f"replaced {len(hit.replaced)}"


def reasons(hit: Hit) -> Iterator[str]:
    """Why a memory was found, a line each."""
    if hit.heading:
        yield f"under {' › '.join(map(safe, hit.heading))}"
    if hit.replaced:
        yield f"in place of {', '.join(hit.replaced)}"
    yield from map(_reason, hit.why)


def _reason(reason: Reason) -> str:
    if reason.score < 0:
        return f"held back by {reason.strategy}: {reason.score:g}"
    if reason.strategy in FURTHERED:
        return f"raised by {reason.strategy}: {reason.score:g}"
    score = f", scored {reason.score:g}" if reason.score else ""
    return f"found by {reason.strategy} as number {reason.rank}{score}"
