"""All terms that can be used together: found by any of their names, with what is above and below them. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise

from memfolio.errors import NotFoundError
from memfolio.graph.alike import distance
from memfolio.knowledge.ontology.term import Term, TermKind

LONG_ENOUGH = 5
"""Letters that a name needs to be taken for another one with a typing error: MRR is not ARR."""
CLOSE = 0.2
"""The share of letters in which two such names may differ."""


class Vocabulary:
    """Terms by their ids; a term that is given twice counts as it is given first."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms: dict[str, Term] = {}
        for term in terms:
            self.terms.setdefault(term.id, term)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms.values())

    @cached_property
    def domains(self) -> set[str]:
        return {each.domain for each in self}

    def of_kind(self, *kinds: TermKind) -> list[Term]:
        return [each for each in self if each.kind in kinds]

    @cached_property
    def _named(self) -> dict[str, list[Term]]:
        """Terms by their names; a term's own name comes before what is only a synonym of another."""
        found: dict[str, list[Term]] = defaultdict(list)
        for rank in (lambda term: (term.id, term.name), lambda term: (term.label,), lambda term: term.synonyms):
            for term in self:
                for name in rank(term):
                    if term not in found[key(name)]:
                        found[key(name)].append(term)
        return found

    def find(self, name: str, *kinds: TermKind) -> Term | None:
        """The first term of an id, name, label or synonym."""
        return next(iter(self.named(name, *kinds)), None)

    def named(self, name: str, *kinds: TermKind) -> list[Term]:
        """All terms of an id, name, label or synonym, of the kinds that are asked for; several domains may have one."""
        found = [self.terms[name]] if name in self.terms else self._named.get(key(name), [])
        return [each for each in found if not kinds or each.kind in kinds]

    def get(self, name: str) -> Term:
        """The same; NotFoundError with the nearest name where there is none."""
        if found := self.find(name):
            return found
        near = self.nearest(name)
        hint = f"did you mean {near.id}?" if near else "`memfolio ontology list` shows all"
        raise NotFoundError(f"there is no term {name[:80]!r}", hint=hint)

    def nearest(self, name: str, *kinds: TermKind) -> Term | None:
        """The term whose name is written most like this one, if any is."""
        close = self.close(name.rpartition(":")[2], share=2 * CLOSE)
        scored = [(apart, term.id, term) for apart, term in close if not kinds or term.kind in kinds]
        return min(scored, key=lambda each: each[:2])[2] if scored else None

    def close(self, name: str, share: float = CLOSE) -> Iterator[tuple[int, Term]]:
        """Terms with a name that differs from this one by a typing error or less, and by how many letters."""
        wanted = key(name)
        pairs = _pairs(wanted)
        for known, (others, terms) in self._written.items():
            most = int(max(len(wanted), len(known)) * share)
            if known == wanted:
                yield from ((0, term) for term in terms)
            elif (  # the cheapest first: that rules out nearly all
                (pairs ^ others).bit_count() <= 4 * most
                and abs(len(wanted) - len(known)) <= most
                and min(len(wanted), len(known)) >= LONG_ENOUGH
                and (apart := distance(wanted, known)) <= most
            ):
                yield from ((apart, term) for term in terms)

    @cached_property
    def _written(self) -> dict[str, tuple[int, list[Term]]]:
        """Terms by their names as these are compared, with the pairs of letters of each."""
        found: dict[str, tuple[int, list[Term]]] = {}
        for term in self:
            for name in dict.fromkeys(map(key, term.names)):
                found.setdefault(name, (_pairs(name), []))[1].append(term)
        return found

    def ancestors(self, id: str) -> list[str]:
        """All that is above a term, the nearest first; a cycle is gone round once."""
        found: dict[str, None] = {}
        waiting = list(self.terms[id].parents) if id in self.terms else []
        while waiting:
            above = waiting.pop(0)
            if above not in found:
                found[above] = None
                waiting += self.terms[above].parents if above in self.terms else ()
        return list(found)

    def is_a(self, id: str, other: str) -> bool:
        """Whether a term is another one, or stands below it."""
        return id == other or other == "owl:Thing" or other in self.ancestors(id)

    @cached_property
    def children(self) -> dict[str, list[Term]]:
        found: dict[str, list[Term]] = defaultdict(list)
        for term in self:
            for parent in term.parents:
                found[parent].append(term)
        return found


@lru_cache(maxsize=65536)
def key(name: str) -> str:
    """A name as it is compared: case, spaces, dashes and the humps of camel case do not matter."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _pairs(name: str) -> int:
    """A bit for each two letters that follow each other; one typing error changes four of them at most."""
    bits = 0
    for one, other in pairwise(name):
        bits |= 1 << ((ord(one) * 31 + ord(other)) & 1023)
    return bits
