"""Growing the graph: what conversations told of people and things goes to their pages, and leaves them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, Protocol

from memfolio.errors import PageChangedError
from memfolio.graph.entities import EntityDraft, EntityNames, Pair, is_user, propose
from memfolio.graph.page import (
    FACTS,
    MENTIONS,
    RELATIONS,
    SUMMARISED,
    SUMMARY,
    TIMELINE,
    EntityText,
    RelationVocabulary,
    beginning,
    cited_line,
    default_page,
    mark_of,
    read_vocabulary,
    relation_line,
)
from memfolio.index.graph import EntityFact, EntityRelation, Material, Mention, Node, as_list, material, mentions
from memfolio.index.index import Index
from memfolio.learn.clauses import is_made_up, is_question, readable
from memfolio.learn.rules import is_news
from memfolio.state import Op
from memfolio.text import name_key, sentences
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import AddLines, Change, Operation, Page, PutPage, Receipt
from memfolio.vault.fields import local
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.sections import BEGIN, is_ours, marked, renewed
from memfolio.vault.vault import Vault

# What the graph needs of those who make its changes and of those who look things up.

GROWER = Attribution(actor="system:tend", trigger="graph")


class Maker(Protocol):
    """Makes changes, or only shows them: `tend.changes.JobChanges` is one."""

    vault: Vault
    agent: str
    now: datetime
    notes: list[str]

    def make(self, change: Change) -> Receipt | None: ...


class Readable(Protocol):
    """What an agent may read: `recall.searcher.Searcher` is one."""

    index: Index

    def indexes(self) -> list[Index]: ...


_SOMEBODY = re.compile(
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?([^\W\d_a-z][\w'-]+(?: [^\W\d_a-z][\w'-]+)*)(?=$|,| at | in | from | of )"
)
"""Somebody by name, without the title and where they are found."""
Present = Callable[[EntityFact, datetime, tzinfo], str]
"""Returns what a fact about the user says at a moment; an empty text where it does not hold."""


def graph_folder(agent: str) -> str:
    return f"{agent_root(agent)}/memory/graph"


# From what was learned to what each entity's page lacks. Pure.

Line = Mapping[str, Any]


def gather(material: Material, vocabulary: RelationVocabulary) -> EntityNames:
    """Everybody and everything, with what is to be added to the pages of those who are touched.

    Every line is looked at, so that mentions are counted from the beginning; only what comes behind the last growth
    touches a page, so that what a person took out of one stays out.
    """
    return _Gathering(material, vocabulary).names


def new_sessions(material: Material) -> int:
    """From which session line on they are new."""
    until, grown_at = material.job.get("until"), str(material.job.get("at", ""))
    if until is None:
        return 0
    lines = list(enumerate(material.sessions))
    at = next((at + 1 for at, line in lines if line.get("id") == until), None)
    if at is None:  # that conversation's consolidation was undone
        return next((at for at, line in lines if str(line.get("at", "")) > grown_at), len(lines))
    return at


def new_facts(material: Material) -> list[EntityFact]:
    """The facts that came behind the last growth and hold."""
    given, there = material.job.get("facts_until"), as_list(material.job.get("facts"))
    until = given if isinstance(given, int) else -1
    facts = (each for each in material.facts if not each.is_out)
    return [each for each in facts if (each.created_us, each.id not in there) > (until, False)]


class _Gathering:
    def __init__(self, material: Material, vocabulary: RelationVocabulary) -> None:
        self._material = material
        self._vocabulary = vocabulary
        self._rests: dict[EntityRelation, bool] = {}
        """Relations that conversations tell of, and whether one of those is still there."""
        self._stated: dict[EntityRelation, bool] = {}
        """The same for facts, which count more."""
        self._called: dict[tuple[str, str], bool] = {}
        """What conversations call an entity beside another name, and whether one of those is still there."""
        self._sources = {str(line.get("id")) for line in material.sessions} | {fact.id for fact in material.facts}
        types = vocabulary.types | {node.type for node in material.nodes}
        self.names = EntityNames(material.nodes, frozenset(types))
        # Pages may link to entities that have none yet; these keep the id they were promised.
        for tie in sorted(material.ties):
            self.names.add_linked(tie.target)
        first = new_sessions(material)
        for at, line in enumerate(material.sessions):
            self._hear(line, is_new=at >= first)
        fresh = {fact.id for fact in new_facts(material)}
        for fact in material.facts:
            self._learn(fact, is_new=fact.id in fresh)
        self._end_relations()
        self._end_names()
        altered = {node.id for node in material.nodes if _is_altered(node)}
        for entity in (material.stale | altered) & self.names.drafts.keys():
            self.names.drafts[entity].is_touched = True

    def _hear(self, line: Line, *, is_new: bool) -> None:
        """Take up what one conversation tells."""
        met: dict[str, EntityDraft] = {}
        for mention in _records(line.get("mentions")):
            told = self._trusted(mention.get("in"), line)
            seen = told - self._material.gone
            aliases = [each for each in as_list(mention.get("aliases")) if isinstance(each, str)]
            kind, name = str(mention.get("type", "")).lower(), mention.get("name", "")
            draft = self.names.find_or_add(name, kind, aliases, is_new=is_new) if seen else None
            if aliases and told:
                self._call(draft, [str(name), *aliases], kind)
            if draft is not None:
                met[name_key(str(name))] = draft
                draft.seen |= seen
                on = str(mention.get("on") or line.get("at", ""))[:10]
                draft.first_seen = min(draft.first_seen or on, on)
                draft.is_touched |= is_new
                for each in draft.aliases:
                    draft.named_by.setdefault(each, str(line.get("id")))
        for relation in _records(line.get("relations")):
            if told := self._trusted(relation.get("in"), line):
                is_there = bool(told - self._material.gone)
                self._relate(relation, met, str(line.get("id")), is_new=is_new, is_there=is_there)

    def _call(self, draft: EntityDraft | None, names: list[str], kind: str) -> None:
        """Note under which names somebody was mentioned, or had been before that was forgotten."""
        found = draft or next(filter(None, (self.names.find(each, kind) for each in names)), None)
        if found is None:
            return
        for each in names:
            key = (found.id, name_key(each))
            self._called[key] = self._called.get(key, False) or draft is not None

    def _trusted(self, ids: object, line: Line) -> set[str]:
        """Those of the memories that are not strangers' words; the line itself where it names none."""
        given = {each for each in as_list(ids) if isinstance(each, str)}
        return given - self._material.strange if given else {str(line.get("id", ""))}

    def _relate(self, relation: Line, met: Mapping[str, EntityDraft], by: str, *, is_new: bool, is_there: bool) -> None:
        subject, words, other = (str(relation.get(name) or "") for name in ("subject", "predicate", "object"))
        predicate = self._vocabulary.name(words)
        ends = self._vocabulary.ends.get(predicate.name, ("", ""))
        if predicate.is_turned:
            subject, other = other, subject
        source = met.get(name_key(subject)) or self.names.find_or_add(subject, ends[0], is_new=is_new)
        target = met.get(name_key(other)) or self.names.find_or_add(other, ends[1], is_new=is_new)
        if source is None or target is None or source is target:
            return
        tie = EntityRelation(source.id, predicate.name, target.id)
        self._rests[tie] = self._rests.get(tie, False) or is_there
        if is_new and is_there:
            self._draw(tie, by, predicate.note)

    def _draw(self, tie: EntityRelation, by: str, note: str = "") -> None:
        """Have a relation written, unless it stands on this page or, where it holds both ways, on the other."""
        source, predicate, target = tie
        draft = self.names.drafts[source]
        draft.is_touched = draft.is_subject = True
        turned = EntityRelation(target, predicate, source)
        is_mutual = predicate in self._vocabulary.mutual
        there = self.names.drafts[target].relations if is_mutual else {}
        if tie in self._material.ties or (is_mutual and turned in self._material.ties) or (predicate, source) in there:
            return
        draft.relations.setdefault((predicate, target), (note, by))

    def _learn(self, fact: EntityFact, *, is_new: bool) -> None:
        """Take up a fact, and the relation that it states if it is between two who are known."""
        predicate = self._vocabulary.find(fact.predicate)
        ends = self._vocabulary.ends.get(predicate.name, ("", "")) if predicate else ("", "")
        if predicate and predicate.is_turned:
            ends = ends[::-1]
        # Who was never mentioned by name has no page: not every subject of a sentence is somebody.
        subject = self.names.find(fact.subject, ends[0]) or self.names.find(fact.subject)
        # `Lene is the user's daughter` and `The vet is Dr Ruiz at the mill` say who Lene and Ruiz are.
        is_who = (
            fact.object != ""
            and fact.predicate != "name"
            and (
                fact.text.startswith(fact.object)
                or any(f" is {so}{fact.object}" in fact.text for so in ("", "called ", "named "))
            )
        )
        called = _SOMEBODY.match(fact.object) if is_who else None
        named = self.names.find(called[1]) if called else None
        if is_new and named is not None and named is not subject and named.type in ("person", "animal"):
            named.facts.append(fact)
            named.is_touched = named.is_subject = True
        if subject is None and is_new and is_user(fact.subject):
            subject = self.names.find_or_add(fact.subject, "person", is_new=is_new)
        if subject is None:
            return
        if is_new:
            subject.facts.append(fact)
            subject.is_touched = subject.is_subject = True
        other = self.names.find(fact.object, ends[1]) if predicate and not fact.negated else None
        if predicate is None or other is None or other is subject:
            return
        source, target = (other, subject) if predicate.is_turned else (subject, other)
        tie = EntityRelation(source.id, predicate.name, target.id)
        self._stated[tie] = self._stated.get(tie, False) or not fact.is_out
        if is_new:
            self._draw(tie, fact.id)

    def _end_relations(self) -> None:
        """Have relations of ours taken out that rest on nothing but what was replaced, forgotten or undone."""
        # Facts count more than conversations, so they come second.
        told = self._rests | self._stated
        held = {tie for tie, holds in told.items() if holds}
        held |= {
            EntityRelation(tie.target, tie.predicate, tie.source)
            for tie in held
            if tie.predicate in self._vocabulary.mutual
        }
        for tie in told.keys() - held:
            self.names.drafts[tie.source].relations.pop((tie.predicate, tie.target), None)
        for source, predicate, target, note, by in _noted(self._material, "relations", 5):
            tie = EntityRelation(self.names.current_id(source), predicate, self.names.current_id(target))
            is_over = tie not in held and (tie in told or by not in self._sources)
            if is_over and tie in self._material.ties and (draft := self.names.drafts.get(tie.source)):
                draft.ended[predicate, tie.target] = note
                draft.is_touched = True

    def _end_names(self) -> None:
        """The same for aliases."""
        for entity, alias, by in _noted(self._material, "aliases", 3):
            draft = self.names.drafts.get(self.names.current_id(entity))
            if draft is None or draft.page is None or alias not in draft.page.aliases:
                continue
            holds = self._called.get((draft.id, name_key(alias)), by in self._sources)
            if not holds:
                draft.unnamed.append(alias)
                draft.is_touched = True


def _noted(material: Material, name: str, length: int) -> Iterator[list[str]]:
    """What growths wrote down as lists of so many words."""
    for each in material.noted(name):
        if isinstance(each, list) and len(each) == length and all(isinstance(word, str) for word in each):
            yield each


def _is_altered(node: Node) -> bool:
    """Whether the summary is another one than was written: a person changed it, or something was purged."""
    written = node.properties.get(SUMMARISED)
    return written is not None and written != mark_of(node.summary)


def _records(value: object) -> Iterator[Line]:
    return (each for each in as_list(value) if isinstance(each, dict))


# The overview of the graph, `graph/index.md`: written anew from the pages each time.

HEAD = """\
# Semantic Graph Index

<!-- Made from the pages in entities/ whenever the graph grows; what is edited here is overwritten. -->
"""


def overview(
    vault: Vault,
    agent: str,
    nodes: Iterable[Node],
    ties: Iterable[EntityRelation],
    written: Mapping[str, EntityText | None],
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
    if before is None or before.content != to_bytes(text):
        yield PutPage.over(before, path, to_bytes(text))
    vocabulary = f"{graph_folder(agent)}/relations.md"
    if vault.page(vocabulary) is None:
        yield PutPage(vocabulary, default_page().encode(), None)


def registry(nodes: Iterable[Node], ties: Iterable[EntityRelation], pairs: Iterable[Pair]) -> str:
    """All entities with the names of their files, all relations, and who may be the same."""
    counts = ("mentions", "last_updated")
    entities = [
        (node.id, node.type, node.name, f"entities/{node.path.rpartition('/')[2]}", *map(node.properties.get, counts))
        for node in sorted(nodes, key=lambda node: node.id)
    ]
    alike = "".join(f"- [[{pair.one}]] and [[{pair.other}]]: {pair.why}, {pair.score:.2f}\n" for pair in pairs)
    return (
        f"{HEAD}\n## Entity Registry\n\n{_table(('ID', 'Type', 'Label', 'File', 'Mentions', 'Last Updated'), entities)}"
        f"\n## Edges\n\n{_table(('From', 'Relation', 'To'), sorted(ties))}"
        + (f"\n## Possibly the same\n\n{alike}" if alike else "")
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    marks = ["---"] * len(columns)
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in (columns, marks, *rows))


def _cell(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())


# Growing the graph: what conversations told of people and things goes to their pages, as one change.

ATTEMPTS = 3
IN_SUMMARY = 3
LONGEST_SUMMARY = 400
IN_USER_PART = 20
LATELY = timedelta(days=30)
IN_MENTIONS = 5
"""The first sentence that names somebody and the last ones, on their page."""
EVENTS = frozenset({"event", "decision", "outcome"})
_WORD = re.compile(r"\w+")


@frozen
class Grown:
    """What a growth did: the entities whose pages were written, how much was new, and what a person should know."""

    pages: tuple[str, ...] = ()
    sessions: int = 0
    facts: int = 0
    notes: tuple[str, ...] = ()


def grow(
    changes: Maker, index: Index, types: Collection[str] = (), present: Present = lambda fact, *_: fact.text
) -> Grown:
    """Bring the pages up to what was learned since the last growth; makes no change where nothing is due.

    `types` are types of entities beside those that `relations.md` declares; `present` says what holds of the user.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return _Growth(changes, index, types, present).make()
        except PageChangedError:  # a person saved a page meanwhile: what they wrote is taken into account
            index.catch_up()
    return _Growth(changes, index, types, present).make()


class _Growth:
    def __init__(self, changes: Maker, index: Index, types: Collection[str], present: Present) -> None:
        self._changes, self._present = changes, present
        self._index = index
        self._given = given = index.read(material)
        self._types = types
        self._learning = changes.vault.config.learn
        self._folder = graph_folder(changes.agent)
        self._day = f"{local(changes.now, changes.vault.home.zone):%Y-%m-%d}"
        self._facts = {fact.id: fact for fact in given.facts if not fact.is_out}
        self._before = frozenset(each for each in given.noted("lines") if isinstance(each, str))
        """The marks of lines that were written before."""
        self._wrote: dict[str, list[object]] = {"lines": [], "relations": [], "aliases": [], "left": []}
        """What is written now, and which memories are cited by lines that a person edited."""
        self._notes: list[str] = []

    def make(self) -> Grown:
        # A person may have edited the vocabulary; it counts as it is now.
        vocabulary = self._changes.vault.page(f"{self._folder}/relations.md")
        names = gather(self._given, read_vocabulary(vocabulary.text if vocabulary else default_page(), self._types))
        sessions = len(self._given.sessions) - new_sessions(self._given)
        facts = len(new_facts(self._given))
        written = {draft.id: page for draft in self._touched(names) if (page := self._grown(draft))}
        operations: list[Operation] = [*(page.put for page in written.values()), *self._user_page()]
        operations += overview(self._changes.vault, self._changes.agent, self._given.nodes, self._given.ties, written)
        if sessions or facts or written or self._wrote["left"]:
            operations.append(AddLines(state_ledger(self._changes.agent), (self._job(),)))
        notes = (*self._notes, *(names.notes if sessions or facts else ()))
        if operations:
            self._changes.make(Change(operations=tuple(operations), by=GROWER, action=Action.EDIT))
            self._changes.notes += notes
        return Grown(pages=tuple(written), sessions=sessions, facts=facts, notes=notes)

    def _touched(self, names: EntityNames) -> list[EntityDraft]:
        """Whose pages are due, by their ids."""
        enough = self._learning.pages
        drafts = (each for each in names.drafts.values() if each.is_touched)
        due = (each for each in drafts if each.page or each.is_subject or len(each.seen) >= enough)
        return sorted(due, key=lambda each: each.id)

    def _grown(self, draft: EntityDraft) -> EntityText | None:
        """The page of an entity with what it lacks; None where it lacks nothing."""
        path = draft.page.path if draft.page else f"{self._folder}/entities/{draft.id}.md"
        before = self._changes.vault.page(path)
        page = EntityText.of(before) if before else EntityText(beginning(draft, self._day), path)
        # Not a text file: it is left alone.
        if "\0" in page.text:
            return None
        self._add(page, draft)
        if before is None and not _tells(page):
            return None
        # A page may lag behind in its count alone, as after a memory was forgotten.
        is_miscounted = draft.page and draft.seen and draft.page.mentions != len(draft.seen)
        if not page.is_changed and not is_miscounted:
            return None
        if draft.seen or draft.ended or draft.id in self._given.stale:
            page.set_field("mentions", str(len(draft.seen)))
        page.set_field("last_updated", self._day)
        return page if page.is_changed else None

    def _add(self, page: EntityText, draft: EntityDraft) -> None:
        self._drop(page, draft)
        there, related, here = set(page.cites), page.relations(), self._changes.vault.home.zone
        for alias in draft.aliases:
            page.add_alias(alias)
            self._wrote["aliases"].append([draft.id, alias, draft.named_by.get(alias, "")])
        facts = [fact for fact in draft.facts if fact.id not in there]
        lasting = [fact for fact in facts if not _is_event(fact)]
        # With dates for days, as on the day on which it was said.
        self._write(
            page, FACTS, [cited_line(self._present(fact, fact.at, here) or fact.text, fact.id) for fact in lasting]
        )
        events = sorted((fact for fact in facts if _is_event(fact)), key=lambda fact: fact.at)
        self._write(page, TIMELINE, [cited_line(fact.text, fact.id, self._date(fact)) for fact in events])
        relations = {tie: given for tie, given in draft.relations.items() if tie not in related}
        page.add(RELATIONS, [relation_line(*tie, note) for tie, (note, _) in relations.items()])
        self._wrote["relations"] += [[draft.id, *tie, *given] for tie, given in relations.items()]
        self._quote(page, draft)
        cited = [self._facts[each] for each in page.cites if each in self._facts]
        is_due = draft.weight >= self._learning.mentions
        now = self._changes.now
        current = [fact for fact in cited if self._present(fact, now, here)]
        page.summarise(summary(current) if is_due else "", {_words(fact) for fact in cited})

    def _quote(self, page: EntityText, draft: EntityDraft) -> None:
        """Keep the first and the last sentences that name somebody on their page, unless a fact there says the same."""
        # A fact says it better than the sentence it was learned from.
        there, seen = page.cites, draft.seen - self._given.strange
        found = self._index.read(lambda db: mentions(db, seen, there, self._given.user))
        named = ((each, naming(each.content, draft)) for each in found)
        # With who says it, where that is known: it may speak of `me`.
        told = {each.id: f"{each.user}: {words}" if each.user else words for each, words in named if words}
        # Small talk is quoted only where nothing else tells of them.
        serious = {ref: words for ref, words in told.items() if not is_made_up(words)}
        news = [(ref, words) for ref, words in serious.items() if is_news(words)]
        # Whoever comes up for the first time is introduced then.
        listed = [*[each for each in list(serious.items())[:1] if each not in news], *news]
        last = dict(listed if len(listed) <= IN_MENTIONS else [*listed[:1], *listed[1 - IN_MENTIONS :]])
        page.drop_cited(told.keys() - last.keys(), self._before)
        new = [each for each in found if each.id in last and each.id not in there]
        lines = [cited_line(last[each.id], each.id, self._date(each)) for each in new]
        self._write(page, MENTIONS, lines)

    def _drop(self, page: EntityText, draft: EntityDraft) -> None:
        """Take out what is not so any more, as far as nobody edited it."""
        known = self._given.noted("left")
        for memory in page.drop_cited(self._given.lost, self._before):
            if memory not in known:
                self._wrote["left"].append(memory)
                self._notes.append(f"{draft.id}: a line that you edited stays, though {memory} does not hold any more")
        page.drop_relations(draft.ended)
        for alias in draft.unnamed:
            page.drop_alias(alias)

    def _write(self, page: EntityText, section: str, lines: list[str]) -> None:
        page.add(section, lines)
        self._wrote["lines"] += map(mark_of, lines)

    def _date(self, fact: EntityFact | Mention) -> str:
        return f"{local(fact.at, self._changes.vault.home.zone):%Y-%m-%d}"

    def _user_page(self) -> Iterator[PutPage]:
        """USER.md with what is known about the user, in a part of its own: what a person writes there stays."""
        path = f"{agent_root(self._changes.agent)}/USER.md"
        facts = self._facts.values()
        theirs = {name_key(each.object) for each in facts if is_user(each.subject) and each.predicate == "name"}
        theirs |= {name_key(self._given.user)} - {""}
        about = (each for each in facts if is_user(each.subject) or name_key(each.subject) in theirs)
        here, now = self._changes.vault.home.zone, self._changes.now
        told = ((each, self._present(each, now, here)) for each in sorted(about, key=lambda each: each.at))
        known = [replace(each, text=text) for each, text in told if text]
        page = self._changes.vault.page(path)
        # The page may be from before memfolio: only the marked part is ours.
        body, old = user_section(known, self._changes.now), page.text if page else ""
        if BEGIN in old and not is_ours(old):
            return  # a person edited what memfolio keeps there: it stays as they left it
        if BEGIN not in old and not known:
            return
        new = renewed(old, body) if BEGIN in old else f"{old.rstrip() or '# User'}\n\n{marked(body)}\n"
        if new != old:
            yield PutPage.over(page, path, to_bytes(new))

    def _job(self) -> dict[str, object]:
        """The line that says up to where the graph has grown."""
        sessions, facts = self._given.sessions, list(self._facts.values())
        last = max((fact.created_us for fact in facts), default=-1)
        return {
            "op": Op.JOB,
            "job": "graph",
            "until": sessions[-1].get("id") if sessions else None,
            "facts_until": last,
            "facts": [fact.id for fact in facts if fact.created_us == last],
            **{name: given for name, given in self._wrote.items() if given},
        }


def user_section(known: Sequence[EntityFact], now: datetime) -> str:
    """What is known about the user as Markdown: what lasts, what they prefer, and what they did or planned last."""
    parts: dict[str, list[EntityFact]] = {"About the user": [], "Preferences": [], "Lately": []}
    for fact in known:
        is_passing = _is_event(fact) or fact.predicate == "plans" or " will " in fact.text
        if (is_passing or fact.predicate == "thinks") and fact.at < now - LATELY:
            continue
        name = "Lately" if is_passing else "Preferences" if fact.type == "preference" else "About the user"
        parts[name].append(fact)
    return "\n".join(
        f"## {name}\n\n{''.join(f'{cited_line(each.text, each.id)}{chr(10)}' for each in facts[-IN_USER_PART:])}"
        for name, facts in parts.items()
        if facts
    )


def naming(content: str, draft: EntityDraft) -> str:
    """The first sentence that tells something and has one of the names of an entity; empty where there is none."""
    names = [_in_words(name) for name in (draft.name, *draft.aliases)]
    told = (sentence for line in readable(content) for sentence in sentences(line) if not is_question(sentence))
    telling = (each for each in told if _in_words(each) not in names)
    return next((each for each in telling if any(name in _in_words(each) for name in names)), "")


def _in_words(text: str) -> str:
    return f" {' '.join(_WORD.findall(name_key(text)))} "


def summary(facts: Sequence[EntityFact]) -> str:
    """The most important of these facts, in their order."""
    lasting = [fact for fact in facts if not _is_event(fact)]
    best = sorted(lasting, key=lambda fact: (-fact.importance, -fact.confidence, -fact.created_us, fact.id))
    chosen = {fact.id for fact in best[:IN_SUMMARY]}
    words = [_words(fact) for fact in lasting if fact.id in chosen]
    told = "".join(f"{each}. " for each in words).strip()
    return told if len(told) <= LONGEST_SUMMARY else f"{told[:LONGEST_SUMMARY].rsplit(' ', 1)[0]} …"


def _words(fact: EntityFact) -> str:
    return " ".join(fact.text.split()).rstrip(".")


def _is_event(fact: EntityFact) -> bool:
    return fact.type in EVENTS or fact.kind == "episodic"


# Taking out of the graph's pages what only certain memories told, when these go.

_CITING = re.compile(r"[^\n]*[(\[](M-\d{1,15}-[0-9a-f]{8})[)\]][ \t]*\r?(?:\n|\Z)")


def shrink(vault: Vault, index: Index, ids: Collection[str]) -> list[PutPage]:
    """The pages of the graph without these memories; a page of ours goes when nobody else tells of its entity."""
    given = index.read(material)
    if not given.nodes:
        return []
    page = vault.page(f"{graph_folder(index.agent)}/relations.md")
    vocabulary = read_vocabulary(default_page() if page is None else page.text)
    shrinking = _Shrinking(vault, given, vocabulary, frozenset(ids))
    pages = list(shrinking.pages())
    return [*pages, *overview(vault, index.agent, given.nodes, given.ties, shrinking.written)] if pages else []


class _Shrinking:
    def __init__(self, vault: Vault, given: Material, vocabulary: RelationVocabulary, ids: frozenset[str]) -> None:
        left = [replace(fact, is_out=fact.is_out or fact.id in ids) for fact in given.facts]
        self._vault = vault
        self._ids = ids
        self._nodes = given.nodes
        self._facts = {fact.id: fact for fact in left if not fact.is_out}
        self._before = gather(given, vocabulary)
        self._after = gather(replace(given, facts=tuple(left), gone=given.gone | ids), vocabulary)
        self.written: dict[str, EntityText | None] = {}
        """The pages that change; None is one that goes."""

    def pages(self) -> Iterator[PutPage]:
        for node in self._nodes:
            before = self._vault.page(node.path)
            if before is None or b"\0" in before.content:
                continue
            page = self._shrunk(node, before)
            if page is None or page.is_changed:
                self.written[node.id] = page
                yield page.put if page else PutPage(node.path, None, before.hash)

    def _shrunk(self, node: Node, before: Page) -> EntityText | None:
        """The page as it will be; None where nothing is left of it."""
        text = _CITING.sub(lambda line: "" if line[1] in self._ids else line[0], to_text(before.content))
        page = EntityText(text, node.path, before)
        draft, earlier = self._after.drafts[node.id], self._before.drafts[node.id]
        page.drop_relations(draft.ended)
        for alias in draft.unnamed:
            page.drop_alias(alias)
        lost = earlier.seen & self._ids
        if not page.is_changed and not lost:
            return page
        facts = [self._facts[each] for each in page.cites if each in self._facts]
        if page.told(SUMMARY):
            page.summarise(summary(facts))
        if not draft.seen and not _tells(page):
            return None
        page.set_field("mentions", str(len(draft.seen)))
        return page


def _tells(page: EntityText) -> bool:
    """Whether anything stands below the title."""
    return any(line.strip() for part in page.parts() for line in part.lines)
