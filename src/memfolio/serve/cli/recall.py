"""The commands `recall`, `why` and `explain`: answers to a question, and the sources of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from memfolio.index.notes import NOTE
from memfolio.serve.cli.call import Answer
from memfolio.serve.cli.output import (
    LONG,
    Line,
    Lines,
    Screen,
    beginning,
    day,
    emphasised,
    happened,
    local,
    safe,
    standing,
    tagged,
)
from memfolio.text import terms
from memfolio.types import Kind, MemoryItem, Origin, frozen
from memfolio.verbs.documents import hits_document, phase

if TYPE_CHECKING:
    from rich.text import Text

    from memfolio.govern.account import Because
    from memfolio.index.lookup import Edge
    from memfolio.memory import Memory
    from memfolio.recall.explain import Explanation
    from memfolio.recall.hit import Hit, Hits, Reason
    from memfolio.vault.past.past import Event

LINES = 3
"""How many lines of a memory a list shows."""
FURTHERED = frozenset(
    "when name number cover words around reply asking standing role recent procedure date speaker importance".split()
)
"""Strategies that find nothing by themselves."""
TYPED = {"kinds": "kind", "types": "type", "tags": "tag", "min_importance": "importance"}
"""Names of filters inside a question, if they differ."""
MARGIN = 14
"""Width of the labels in an explanation."""
FACTS = 52
"""Width of the details of a memory, so that the ids beside them line up."""


def recall(hits: Hits, memory: Memory, query: str, explain: bool = False) -> Answer:
    home = memory.vault.home
    view = HitsView(query=query, hits=hits, zone=home.zone, now=home.now(), explained=explain)
    return Answer(hits_document(query, hits), view.draw)


@frozen
class HitsView:
    """Shows hits for people."""

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
        shown = self.hits[:]
        if self.hits and not self.hits.fits:  # what was only asked is no nearer to an answer
            shown = [hit for hit in shown if self.explained or not (hit.only_asks or hit.is_question)]
            screen.say(f"No memory is likely to answer this{'; the nearest are:' if shown else '.'}", "yellow")
        for rank, hit in enumerate(shown, start=1):
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
        """Return the text of the memory below the title of its note, with the words of the question highlighted."""
        from rich.text import Text

        item = hit.memory
        is_titled = (
            item.source == NOTE and item.kind != Kind.EPISODIC and hit.heading
        )  # a day's note has its date below
        content = f"{hit.heading[0]}: {item.content.strip()}" if is_titled else item.content.strip()
        if screen.is_terminal and not self.explained:
            content = content[: screen.console.width * (LINES + 1) * 2]
        is_shown_to_a_person = screen.is_terminal and len(content) <= LONG
        return emphasised(content, terms(self.query)) if is_shown_to_a_person else Text(safe(content))

    def _facts(self, screen: Screen, hit: Hit, width: int) -> list[Text]:
        """Return date, type and place, on one line if there is room."""
        from rich.text import Text

        item = hit.memory
        # Shown with the reasons only, since hits are not ordered by it alone; none was measured for all.
        fit = [(f"fit {hit.fit:.2f}  ", "bold magenta")] if self.explained and hit.score else []
        facts = Text.assemble(*fit, happened(item, self.zone))
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
        """Yield why the memory may not be true here and now."""
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


def _standing(item: MemoryItem) -> list[str]:
    by = f"superseded by {item.superseded_by}"
    return [by if word == "superseded" else word for word in standing(item)]


def _state(hit: Hit) -> Iterator[str]:
    """Yield how a hit differs from ordinary ones."""
    if phase(hit) != "active":
        yield phase(hit)
    if hit.depth:
        yield f"hop {hit.depth}"
    if hit.replaced:
        yield f"replaced {len(hit.replaced)}"
    if hit.replaces:
        yield "holds now"


def reasons(hit: Hit) -> Iterator[str]:
    """Why a memory was found, a line each."""
    if hit.heading:
        yield f"under {' › '.join(map(safe, hit.heading))}"
    if hit.replaces:
        yield f"said later than {', '.join(hit.replaces)}, which it replaces"
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


def explain(found: Explanation, memory: Memory) -> Lines:
    # How it came to be, if the trail knows it.
    by = next((event for event in found.events if event.deed == "written"), None)
    item, zone = found.memory, memory.vault.home.zone
    marks = [*standing(item), *(["archived"] if found.archived else [])]
    lines: list[Line] = [("  ".join([item.id, *marks]), "bold"), item.content.strip()]
    for name, told in _branches(found, by, zone).items():
        lines += [f"{'' if number else name:<{MARGIN}}{line}" for number, line in enumerate(told)]
    return lines


def why(found: Because, memory: Memory) -> Lines:
    zone, lines = memory.vault.home.zone, list[Line]()
    for each in found.memories:
        by = next((event for event in each.events if event.deed == "written"), None)
        lines += ["" if lines else "It rests on what is remembered:", (each.memory.content.strip(), "bold")]
        told = _branches(each, by, zone)
        for name in ("written", "made from", "corrects", "corrected by", "since then"):
            lines += [f"  {'' if number else name:<{MARGIN}}{line}" for number, line in enumerate(told[name])]
        lines.append((f"  {each.memory.id}  {each.path}", "dim"))
    if not lines:
        lines = [
            "Nothing that is remembered is behind that.",
            "`memfolio recall` shows what comes nearest.",
        ]
    return lines


def _branches(found: Explanation, by: Event | None, zone: tzinfo) -> dict[str, list[str]]:
    """Return the parts of an explanation."""
    item = found.memory
    sure = f"{item.type}, {item.kind}, {item.store}, importance {item.importance:g}, confidence {item.confidence:g}"
    return {
        "what": [f"{sure}  {tagged(item)}".rstrip()],
        "written": [_written(item, by, zone)],
        "stands in": list(found.places or (found.path,)),
        "made from": [_brief(each, zone) for each in found.sources],
        "corrects": [_brief(each, zone) for each in found.supersedes],
        "corrected by": [_brief(each, zone) for each in found.superseded_by],
        "names": [", ".join(found.entities)] if found.entities else [],
        "tied to": [_tie(edge, item.id) for edge in found.edges if edge.type not in ("supersedes", "derived_from")],
        "since then": [_deed(event, zone) for event in found.events if event is not by],
    }


def _written(item: MemoryItem, by: Event | None, zone: tzinfo) -> str:
    # A page is its own source, and of a turn or a page the origin is not who wrote it but through whom it came.
    is_page = item.id[0] in "PN"
    parts = {"role": item.role, "source": None if is_page else item.source, "session": item.session, "user": item.user}
    facts = [f"{name} {value}" for name, value in parts.items() if value]
    facts += [] if is_page or (item.role and item.origin is Origin.AGENT) else [f"origin {item.origin}"]
    who = [f"by {by.actor}", f"change {by.seq}"] if by else []
    said = f": {beginning(by.text)}" if by and by.text and by.text != item.content else ""
    at = local(item.created_at, zone)
    # Of many notes only the day is known.
    return ", ".join([at.removesuffix(" 00:00") if is_page else at, *who, *facts]) + said


def _brief(item: MemoryItem, zone: tzinfo) -> str:
    return f"{item.id}  {happened(item, zone)}  {beginning(item.content)}"


def _tie(edge: Edge, id: str) -> str:
    arrow, other = ("→", edge.target) if edge.source == id else ("←", edge.source)
    return f"{edge.predicate or edge.type} {arrow} {other}"


def _deed(event: Event, zone: tzinfo) -> str:
    at = local(datetime.fromisoformat(event.at), zone) if event.at else "?"
    change = f", change {event.seq}" if event.seq else ""
    what = f"{event.deed} as {event.by}" if event.by else event.deed
    said = f": {beginning(event.text)}" if event.text and event.deed == "edited" else ""
    return f"{at}  {what} by {event.actor}{change}{said}"
