"""From what was learned to what each entity's page lacks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memfolio.graph.cast import Cast, Figure, is_user
from memfolio.graph.vocabulary import Vocabulary
from memfolio.index.graph import Fact, Material, Tie
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
    until = material.job.get("until")
    at = next((at for at, line in enumerate(material.sessions) if until and line.get("id") == until), -1)
    return at + 1


def new_facts(material: Material) -> list[Fact]:
    """The facts that came behind the last growth."""
    given, there = material.job.get("facts_until"), list(_list(material.job.get("facts")))
    until = given if isinstance(given, int) else -1
    return [each for each in material.facts if (each.created_us, each.id not in there) > (until, False)]


class _Gathering:
    def __init__(self, material: Material, vocabulary: Vocabulary) -> None:
        self._material = material
        self._vocabulary = vocabulary
        self._rests: dict[Tie, bool] = {}
        """Relations that conversations tell of, and whether one of those is still there."""
        self._stated: dict[Tie, bool] = {}
        """The same for facts, which count more."""
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
        for entity in material.stale & self.cast.figures.keys():
            self.cast.figures[entity].is_touched = True

    def _hear(self, line: Line, *, is_new: bool) -> None:
        """Take up what one conversation tells."""
        met: dict[str, Figure] = {}
        for mention in _records(line.get("mentions")):
            seen = self._trusted(mention.get("in"), line) - self._material.forgotten
            aliases = [each for each in _list(mention.get("aliases")) if isinstance(each, str)]
            kind = str(mention.get("type", "")).lower()
            figure = self.cast.meet(mention.get("name", ""), kind, aliases, is_new=is_new) if seen else None
            if figure is not None:
                met[name_key(str(mention.get("name")))] = figure
                figure.seen |= seen
                on = str(mention.get("on") or line.get("at", ""))[:10]
                figure.first_seen = min(figure.first_seen or on, on)
                figure.is_touched |= is_new
        for relation in _records(line.get("relations")):
            if told := self._trusted(relation.get("in"), line):
                self._relate(relation, met, is_new=is_new, is_there=bool(told - self._material.forgotten))

    def _trusted(self, ids: object, line: Line) -> set[str]:
        """Those of the memories that are not strangers' words; the line itself where it names none."""
        given = {each for each in _list(ids) if isinstance(each, str)}
        return given - self._material.strange if given else {str(line.get("id", ""))}

    def _relate(self, relation: Line, met: Mapping[str, Figure], *, is_new: bool, is_there: bool) -> None:
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
            self._draw(tie, predicate.note)

    def _draw(self, tie: Tie, note: str = "") -> None:
        """Have a relation written, unless it stands on this page or, where it holds both ways, on the other."""
        source, predicate, target = tie
        figure = self.cast.figures[source]
        figure.is_touched = figure.is_subject = True
        turned = Tie(target, predicate, source)
        is_mutual = predicate in self._vocabulary.mutual
        there = self.cast.figures[target].relations if is_mutual else {}
        if tie in self._material.ties or (is_mutual and turned in self._material.ties) or (predicate, source) in there:
            return
        figure.relations.setdefault((predicate, target), note)

    def _learn(self, fact: Fact, *, is_new: bool) -> None:
        """Take up a fact, and the relation that it states if it is between two who are known."""
        predicate = self._vocabulary.find(fact.predicate)
        is_added = is_new and not fact.is_out
        ends = self._vocabulary.ends.get(predicate.name, ("", "")) if predicate else ("", "")
        if predicate and predicate.is_turned:
            ends = ends[::-1]
        # Who was never mentioned by name has no page: not every subject of a sentence is somebody.
        subject = self.cast.find(fact.subject, ends[0]) or self.cast.find(fact.subject)
        if subject is None and is_added and is_user(fact.subject):
            subject = self.cast.meet(fact.subject, "person", is_new=is_new)
        if subject is None:
            return
        if is_added:
            subject.facts.append(fact)
            subject.is_touched = subject.is_subject = True
        other = self.cast.find(fact.object, ends[1]) if predicate and not fact.negated else None
        if predicate is None or other is None or other is subject:
            return
        source, target = (other, subject) if predicate.is_turned else (subject, other)
        tie = Tie(source.id, predicate.name, target.id)
        self._stated[tie] = self._stated.get(tie, False) or not fact.is_out
        if is_added:
            self._draw(tie)

    def _end_relations(self) -> None:
        """Have relations taken out that rest on nothing but what was replaced or forgotten."""
        for tie, holds in (self._rests | self._stated).items():
            figure = self.cast.figures[tie.source]
            if holds:
                continue
            figure.relations.pop((tie.predicate, tie.target), None)
            if tie in self._material.ties:
                figure.ended.add((tie.predicate, tie.target))
                figure.is_touched = True


def _list(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def _records(value: object) -> Iterator[Line]:
    return (each for each in _list(value) if isinstance(each, dict))
