"""Growing the graph: what conversations told of people and things goes to their pages, as one change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memfolio.errors import PageChangedError
from memfolio.graph.cast import Cast, Figure
from memfolio.graph.gather import gather, new_facts, new_sessions
from memfolio.graph.making import GROWER, Maker, graph_folder
from memfolio.graph.page import (
    FACTS,
    RELATIONS,
    TIMELINE,
    EntityText,
    Written,
    beginning,
    cited_line,
    mark_of,
    page_bytes,
    read_text,
    relation_line,
)
from memfolio.graph.registry import overview
from memfolio.graph.vocabulary import DEFAULT, read_vocabulary
from memfolio.index.graph import Fact, Material, material
from memfolio.index.index import Index
from memfolio.state import Op
from memfolio.types import Action
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.format.fields import local
from memfolio.vault.paths import state_ledger

ATTEMPTS = 3
IN_SUMMARY = 3
LONGEST_SUMMARY = 400
EVENTS = frozenset({"event", "decision", "outcome"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What a growth did: the entities whose pages were written, how much was new, and what a person should know."""

    pages: tuple[str, ...] = ()
    sessions: int = 0
    facts: int = 0
    notes: tuple[str, ...] = ()


def grow(hand: Maker, index: Index, types: Collection[str] = ()) -> Grown:
    """Bring the pages up to what was learned since the last growth; makes no change where nothing is due.

    `types` are types of entities beside those that `relations.md` declares.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return _Growth(hand, index.read(material), types).make()
        except PageChangedError:  # a person saved a page meanwhile: what they wrote is taken into account
            index.catch_up()
    return _Growth(hand, index.read(material), types).make()


class _Growth:
    def __init__(self, hand: Maker, given: Material, types: Collection[str]) -> None:
        self._hand = hand
        self._given = given
        self._types = types
        self._learning = hand.vault.config.learn
        self._folder = graph_folder(hand.agent)
        self._day = f"{local(hand.now, hand.vault.home.zone):%Y-%m-%d}"
        self._facts = {fact.id: fact for fact in given.facts if not fact.is_out}
        self._before = frozenset(each for each in given.noted("lines") if isinstance(each, str))
        """The marks of lines that were written before."""
        self._wrote: dict[str, list[object]] = {"lines": [], "relations": [], "aliases": [], "left": []}
        """What is written now, and which memories are cited by lines that a person edited."""
        self._notes: list[str] = []

    def make(self) -> Grown:
        vocabulary = self._hand.vault.page(f"{self._folder}/relations.md")
        cast = gather(self._given, read_vocabulary(vocabulary.text if vocabulary else DEFAULT, self._types))
        sessions = len(self._given.sessions) - new_sessions(self._given)
        facts = len(new_facts(self._given))
        written = dict(filter(None, map(self._grown, self._touched(cast))))
        operations: list[Operation] = [operation for _, operation in written.values()]
        pages = {entity: page for entity, (page, _) in written.items()}
        operations += overview(self._hand.vault, self._hand.agent, self._given.nodes, self._given.ties, pages)
        if sessions or facts or written or self._wrote["left"]:
            operations.append(AddLines(state_ledger(self._hand.agent), (self._job(),)))
        notes = (*self._notes, *(cast.notes if sessions or facts else cast.namesakes() if operations else ()))
        if operations:
            self._hand.make(Change(operations=tuple(operations), by=GROWER, action=Action.EDIT))
            self._hand.notes += notes
        return Grown(pages=tuple(written), sessions=sessions, facts=facts, notes=notes)

    def _touched(self, cast: Cast) -> list[Figure]:
        """Whose pages are due, by their ids."""
        enough = self._learning.pages
        figures = (each for each in cast.figures.values() if each.is_touched)
        due = (each for each in figures if each.page or each.is_subject or len(each.seen) >= enough)
        return sorted(due, key=lambda each: each.id)

    def _grown(self, figure: Figure) -> tuple[str, tuple[Written, Operation]] | None:
        """The page of an entity with what it lacks; None where it lacks nothing."""
        path = figure.page.path if figure.page else f"{self._folder}/entities/{figure.id}.md"
        before = self._hand.vault.page(path)
        old = read_text(before.content) if before else beginning(figure, self._day)
        if "\0" in old:
            return None
        page = EntityText(old)
        self._add(page, figure)
        is_miscounted = figure.page and figure.seen and figure.page.mentions != len(figure.seen)
        if before and page.text == old and not is_miscounted:
            return None
        if figure.seen or figure.ended or figure.id in self._given.stale:
            page.set_field("mentions", str(len(figure.seen)))
        page.set_field("last_updated", self._day)
        if before and page.text == old:
            return None
        put = PutPage(path, page_bytes(page.text), before.hash if before else None)
        return figure.id, (Written(path=path, text=page.text), put)

    def _add(self, page: EntityText, figure: Figure) -> None:
        self._drop(page, figure)
        there, related = set(page.cites), page.relations()
        for alias in figure.aliases:
            page.add_alias(alias)
            self._wrote["aliases"].append([figure.id, alias, figure.named_by.get(alias, "")])
        facts = [fact for fact in figure.facts if fact.id not in there]
        self._write(page, FACTS, [cited_line(fact.text, fact.id) for fact in facts if not _is_event(fact)])
        events = sorted((fact for fact in facts if _is_event(fact)), key=lambda fact: fact.at)
        self._write(page, TIMELINE, [cited_line(fact.text, fact.id, self._date(fact)) for fact in events])
        relations = {tie: given for tie, given in figure.relations.items() if tie not in related}
        page.add(RELATIONS, [relation_line(*tie, note) for tie, (note, _) in relations.items()])
        self._wrote["relations"] += [[figure.id, *tie, *given] for tie, given in relations.items()]
        cited = [self._facts[each] for each in page.cites if each in self._facts]
        is_due = figure.weight >= self._learning.mentions
        page.summarise(summary(cited) if is_due else "", {_words(fact) for fact in cited})

    def _drop(self, page: EntityText, figure: Figure) -> None:
        """Take out what is not so any more, as far as nobody edited it."""
        known = self._given.noted("left")
        for memory in page.drop_cited(self._given.lost, self._before):
            if memory not in known:
                self._wrote["left"].append(memory)
                self._notes.append(f"{figure.id}: a line that you edited stays, though {memory} does not hold any more")
        page.drop_relations(figure.ended)
        for alias in figure.unnamed:
            page.drop_alias(alias)

    def _write(self, page: EntityText, section: str, lines: list[str]) -> None:
        page.add(section, lines)
        self._wrote["lines"] += map(mark_of, lines)

    def _date(self, fact: Fact) -> str:
        return f"{local(fact.at, self._hand.vault.home.zone):%Y-%m-%d}"

    def _job(self) -> dict[str, object]:
        """The line that says up to where the graph has grown."""
        sessions, facts = self._given.sessions, list(self._facts.values())
        last = max((fact.created_us for fact in facts), default=-1)
        return {
            "op": Op.JOB.value,
            "job": "graph",
            "until": sessions[-1].get("id") if sessions else None,
            "facts_until": last,
            "facts": [fact.id for fact in facts if fact.created_us == last],
            **{name: given for name, given in self._wrote.items() if given},
        }


def summary(facts: Sequence[Fact]) -> str:
    """The most important of these facts, in their order."""
    lasting = [fact for fact in facts if not _is_event(fact)]
    best = sorted(lasting, key=lambda fact: (-fact.importance, -fact.confidence, -fact.created_us, fact.id))
    chosen = {fact.id for fact in best[:IN_SUMMARY]}
    words = [_words(fact) for fact in lasting if fact.id in chosen]
    told = "".join(f"{each}. " for each in words).strip()
    return told if len(told) <= LONGEST_SUMMARY else f"{told[:LONGEST_SUMMARY].rsplit(' ', 1)[0]} …"


def _words(fact: Fact) -> str:
    return " ".join(fact.text.split()).rstrip(".")


def _is_event(fact: Fact) -> bool:
    return fact.type in EVENTS or fact.kind == "episodic"
