"""From what was learned to what each entity's page lacks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.graph.cast import Cast, Figure, is_user
from memfolio.graph.page import SUMMARISED, mark_of
from memfolio.graph.vocabulary import Vocabulary
from memfolio.index.graph import Fact, Material, Node, Tie, as_list
from memfolio.index.pages import name_key

Line = Mapping[str, Any]


def gather(material: Material, vocabulary: Vocabulary) -> Cast:
    """Everybody and everything, with what is to be added to the pages of those who are touched.

    Every line is looked at, so that mentions are counted from the beginning; only what comes behind the last growth
    touches a page, so that what a person took out of one stays out.
    """
    return _Gathering(material, vocabulary).cast


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


def new_facts(material: Material) -> list[Fact]:
    """The facts that came behind the last growth and hold."""
    given, there = material.job.get("facts_until"), as_list(material.job.get("facts"))
    until = given if isinstance(given, int) else -1
    facts = (each for each in material.facts if not each.is_out)
    return [each for each in facts if (each.created_us, each.id not in there) > (until, False)]


class _Gathering:
    def __init__(self, material: Material, vocabulary: Vocabulary) -> None:
        self._material = material
        self._vocabulary = vocabulary
        self._rests: dict[Tie, bool] = {}
        """Relations that conversations tell of, and whether one of those is still there."""
        self._stated: dict[Tie, bool] = {}
        """The same for facts, which count more."""
        self._called: dict[tuple[str, str], bool] = {}
        """What conversations call an entity beside another name, and whether one of those is still there."""
        self._sources = {str(line.get("id")) for line in material.sessions} | {fact.id for fact in material.facts}
        types = vocabulary.types | {node.type for node in material.nodes}
        self.cast = Cast(material.nodes, frozenset(types))
        for tie in sorted(material.ties):
            self.cast.promise(tie.target)
        first = new_sessions(material)
        for at, line in enumerate(material.sessions):
            self._hear(line, is_new=at >= first)
        fresh = {fact.id for fact in new_facts(material)}
        for fact in material.facts:
            self._learn(fact, is_new=fact.id in fresh)
        self._end_relations()
        self._end_names()
        altered = {node.id for node in material.nodes if _is_altered(node)}
        for entity in (material.stale | altered) & self.cast.figures.keys():
            self.cast.figures[entity].is_touched = True

    def _hear(self, line: Line, *, is_new: bool) -> None:
        """Take up what one conversation tells."""
        met: dict[str, Figure] = {}
        for mention in _records(line.get("mentions")):
            told = self._trusted(mention.get("in"), line)
            seen = told - self._material.gone
            aliases = [each for each in as_list(mention.get("aliases")) if isinstance(each, str)]
            kind, name = str(mention.get("type", "")).lower(), mention.get("name", "")
            figure = self.cast.meet(name, kind, aliases, is_new=is_new) if seen else None
            if aliases and told:
                self._call(figure, [str(name), *aliases], kind)
            if figure is not None:
                met[name_key(str(name))] = figure
                figure.seen |= seen
                on = str(mention.get("on") or line.get("at", ""))[:10]
                figure.first_seen = min(figure.first_seen or on, on)
                figure.is_touched |= is_new
                for each in figure.aliases:
                    figure.named_by.setdefault(each, str(line.get("id")))
        for relation in _records(line.get("relations")):
            if told := self._trusted(relation.get("in"), line):
                is_there = bool(told - self._material.gone)
                self._relate(relation, met, str(line.get("id")), is_new=is_new, is_there=is_there)

    def _call(self, figure: Figure | None, names: list[str], kind: str) -> None:
        """Note under which names somebody was mentioned, or had been before that was forgotten."""
        found = figure or next(filter(None, (self.cast.find(each, kind) for each in names)), None)
        if found is None:
            return
        for each in names:
            key = (found.id, name_key(each))
            self._called[key] = self._called.get(key, False) or figure is not None

    def _trusted(self, ids: object, line: Line) -> set[str]:
        """Those of the memories that are not strangers' words; the line itself where it names none."""
        given = {each for each in as_list(ids) if isinstance(each, str)}
        return given - self._material.strange if given else {str(line.get("id", ""))}

    def _relate(self, relation: Line, met: Mapping[str, Figure], by: str, *, is_new: bool, is_there: bool) -> None:
        subject, words, other = (str(relation.get(name) or "") for name in ("subject", "predicate", "object"))
        predicate = self._vocabulary.name(words)
        ends = self._vocabulary.ends.get(predicate.name, ("", ""))
        if predicate.is_turned:
            subject, other = other, subject
        source = met.get(name_key(subject)) or self.cast.meet(subject, ends[0], is_new=is_new)
        target = met.get(name_key(other)) or self.cast.meet(other, ends[1], is_new=is_new)
        if source is None or target is None or source is target:
            return
        tie = Tie(source.id, predicate.name, target.id)
        self._rests[tie] = self._rests.get(tie, False) or is_there
        if is_new and is_there:
            self._draw(tie, by, predicate.note)

    def _draw(self, tie: Tie, by: str, note: str = "") -> None:
        """Have a relation written, unless it stands on this page or, where it holds both ways, on the other."""
        source, predicate, target = tie
        figure = self.cast.figures[source]
        figure.is_touched = figure.is_subject = True
        turned = Tie(target, predicate, source)
        is_mutual = predicate in self._vocabulary.mutual
        there = self.cast.figures[target].relations if is_mutual else {}
        if tie in self._material.ties or (is_mutual and turned in self._material.ties) or (predicate, source) in there:
            return
        figure.relations.setdefault((predicate, target), (note, by))

    def _learn(self, fact: Fact, *, is_new: bool) -> None:
        """Take up a fact, and the relation that it states if it is between two who are known."""
        predicate = self._vocabulary.find(fact.predicate)
        ends = self._vocabulary.ends.get(predicate.name, ("", "")) if predicate else ("", "")
        if predicate and predicate.is_turned:
            ends = ends[::-1]
        # Who was never mentioned by name has no page: not every subject of a sentence is somebody.
        subject = self.cast.find(fact.subject, ends[0]) or self.cast.find(fact.subject)
        if subject is None and is_new and is_user(fact.subject):
            subject = self.cast.meet(fact.subject, "person", is_new=is_new)
        if subject is None:
            return
        if is_new:
            subject.facts.append(fact)
            subject.is_touched = subject.is_subject = True
        other = self.cast.find(fact.object, ends[1]) if predicate and not fact.negated else None
        if predicate is None or other is None or other is subject:
            return
        source, target = (other, subject) if predicate.is_turned else (subject, other)
        tie = Tie(source.id, predicate.name, target.id)
        self._stated[tie] = self._stated.get(tie, False) or not fact.is_out
        if is_new:
            self._draw(tie, fact.id)

    def _end_relations(self) -> None:
        """Have relations of ours taken out that rest on nothing but what was replaced, forgotten or undone."""
        told = self._rests | self._stated
        held = {tie for tie, holds in told.items() if holds}
        held |= {Tie(tie.target, tie.predicate, tie.source) for tie in held if tie.predicate in self._vocabulary.mutual}
        for tie in told.keys() - held:
            self.cast.figures[tie.source].relations.pop((tie.predicate, tie.target), None)
        for source, predicate, target, note, by in _noted(self._material, "relations", 5):
            tie = Tie(self.cast.now(source), predicate, self.cast.now(target))
            is_over = tie not in held and (tie in told or by not in self._sources)
            if is_over and tie in self._material.ties and (figure := self.cast.figures.get(tie.source)):
                figure.ended[predicate, tie.target] = note
                figure.is_touched = True

    def _end_names(self) -> None:
        """The same for aliases."""
        for entity, alias, by in _noted(self._material, "aliases", 3):
            figure = self.cast.figures.get(self.cast.now(entity))
            if figure is None or figure.page is None or alias not in figure.page.aliases:
                continue
            holds = self._called.get((figure.id, name_key(alias)), by in self._sources)
            if not holds:
                figure.unnamed.append(alias)
                figure.is_touched = True


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
