"""The words for how entities are related, and which types of entities there are: `graph/relations.md`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from memfolio.index.read_files import predicate_key
from memfolio.learn.learned import ENTITY_TYPES
from memfolio.text import packaged_text
from memfolio.types import frozen
from memfolio.vault.sections import PageText

ANY = "relates-to"
_NAMES = re.compile(r"[-*+][ \t]+`([^`]{1,64})`(?:[ \t]*/[ \t]*`([^`]{1,64})`)?(.*)")
_TYPES = re.compile(r"([\w/-]{1,64})\s{0,4}[→↔]\s{0,4}([\w/-]{1,64})")
_TYPE = re.compile(r"[-*+][ \t]+`?(\w+(?:-\w+)*)`?(?![\w-])")


class Predicate(NamedTuple):
    """How two entities are related, in the words of the vocabulary.

    Where `is_turned`, they change places; `note` is the word that was said where there is none for it.
    """

    name: str
    is_turned: bool = False
    note: str = ""


@frozen
class RelationVocabulary:
    """What `relations.md` says."""

    predicates: Mapping[str, Predicate]
    mutual: frozenset[str]
    """Predicates that hold both ways."""
    ends: Mapping[str, tuple[str, str]]
    """The types of what a predicate relates, as far as it says so."""
    types: frozenset[str]

    def find(self, words: str) -> Predicate | None:
        """The predicate that these words name."""
        return self.predicates.get(predicate_key(words))

    def name(self, words: str) -> Predicate:
        """The predicate for these words; they are kept as a note of the general one where there is none."""
        return self.find(words) or Predicate(ANY, note=predicate_key(words)[:64])


@cache
def default_page() -> str:
    """What `relations.md` says in a new home."""
    return packaged_text("graph/data/relations.md")


def read_vocabulary(text: str, types: Iterable[str] = ()) -> RelationVocabulary:
    """The vocabulary of a page, whatever a person made of it; lines that make no sense are passed over.

    `types` are further types of entities.
    """
    # The general relation is always there: what has no word of its own becomes a note of it.
    predicates: dict[str, Predicate] = {ANY: Predicate(ANY)}
    mutual, ends = {ANY}, {}
    for match in filter(None, map(_NAMES.match, text.splitlines())):
        name, inverse = predicate_key(match[1]), predicate_key(match[2] or "")
        if not name:
            continue
        predicates[name] = Predicate(name)
        # The word for the other direction; a predicate of its own that comes later keeps its meaning.
        if inverse:
            predicates.setdefault(inverse, Predicate(name, is_turned=True))
        elif "↔" in match[3]:
            mutual.add(name)
        # Of `person/organization` the first is what an unknown name is taken for.
        if related := _TYPES.search(match[3]):
            ends[name] = (related[1].split("/")[0].lower(), related[2].split("/")[0].lower())
    known = frozenset((*ENTITY_TYPES, *types, *_types(text)))
    return RelationVocabulary(predicates=predicates, mutual=frozenset(mutual), ends=ends, types=known)


def _types(text: str) -> Iterator[str]:
    """The entity types that a page declares below the heading for them."""
    page = PageText(text)
    for heading, end in page.sections(deepest=6):
        if heading.title.strip(" \t#").casefold() == "entity types":
            yield from (match[1].lower() for match in map(_TYPE.match, page.lines[heading.line : end]) if match)
