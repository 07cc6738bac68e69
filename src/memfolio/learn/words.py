"""Word lists and patterns that are kept as data; English verbs and their forms, and how a speaker is spoken of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

# Word lists, patterns and tables that a room keeps as data: read when they are first asked for, and compiled once.

_REFERENCE = re.compile(r"\{([a-z_]+)\}")


class Lexicon:
    """The TOML files in a folder: `words.toml` has lists of words, `patterns.toml` regular expressions.

    Words are separated by blanks, or by commas where they have blanks themselves; a list may have rows, and of a table
    the keys count. `{name}` stands for all words of another list, and in a pattern for any one of them, or for another
    pattern; a table of patterns, such as one by languages, for any one of these.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Bound here, so that what is cached goes with the lexicon.
        self.table = cache(self._table)
        self.rows = cache(self._rows)
        self.numbers = cache(self._numbers)
        self.words = cache(self._words)
        self.pattern = cache(self._pattern)

    def _table(self, file: str) -> dict[str, Any]:
        """A whole file."""
        return tomllib.loads((self._folder / f"{file}.toml").read_text("utf-8"))

    def listed(self, name: str) -> tuple[str, ...]:
        """The words of a list in their order."""
        return tuple(chain.from_iterable(self.rows(name)))

    def _rows(self, name: str) -> list[list[str]]:
        """The words of a list, row by row."""
        given = self.table("words")[name]
        if isinstance(given, dict):
            return [list(given)]
        return [list(self._split(row)) for row in ([given] if isinstance(given, str) else given)]

    def _split(self, text: str) -> Iterator[str]:
        for word in re.split(r"[,\n]", text) if "," in text else text.split():
            other = _REFERENCE.fullmatch(word)
            yield from self.listed(other[1]) if other else filter(None, (word.strip(),))

    def _numbers(self, name: str, first: int = 0) -> dict[str, int]:
        """The words of a list, each with the number of its row."""
        return {word: number for number, row in enumerate(self.rows(name), first) for word in row}

    def _words(self, name: str) -> frozenset[str]:
        """The words of a list, to be looked up."""
        return frozenset(self.listed(name))

    def _pattern(self, name: str) -> re.Pattern[str]:
        """A pattern by its name, compiled."""
        return re.compile(self._text(name))

    def _text(self, name: str) -> str:
        given = self.table("patterns").get(name)
        if given is None:
            return "|".join(map(_any_spelling, self.listed(name)))
        parts = [given] if isinstance(given, str) else given.values()
        lines = ("".join(map(str.strip, part.splitlines())) for part in parts)
        return _REFERENCE.sub(lambda found: self._text(found[1]), "|".join(lines))


def _any_spelling(word: str) -> str:
    """A word as a pattern: its parts may be set apart by blanks or low lines, and an apostrophe may be a curly one."""
    return re.escape(word).replace("\\ ", r"[\s_]{1,3}").replace("'", "['’]")


LEXICON = Lexicon(Path(__file__).parent / "data")
pattern, words = LEXICON.pattern, LEXICON.words


@cache
def names(list_name: str) -> Mapping[str, str]:
    """The names of a list as they are written, by their lower case."""
    return {name.lower(): name for name in LEXICON.listed(list_name)}


# English verbs as far as statements need them: what a form belongs to, and how others say what somebody says.

_THIRD = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "ain't": "isn't", "go": "goes",
}  # fmt: skip


@cache
def verb_forms() -> Mapping[str, str]:
    """The lemma of every form that is known."""
    forms: dict[str, str] = {}
    for group in (*LEXICON.listed("irregular_verbs"), *LEXICON.listed("regular_verbs")):
        lemma, *others = group.split()
        forms |= dict.fromkeys([*_inflected(lemma), *others], lemma)
    return forms


def _inflected(lemma: str) -> tuple[str, ...]:
    stem = lemma.removesuffix("e")
    past = lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else stem + "ed"
    return lemma, third(lemma), past, stem + "ing", lemma + "ing"


def third(base: str) -> str:
    """What he or she does, from what I do: `goes`, `tries`, `lives`."""
    if base in _THIRD:
        return _THIRD[base]
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def lemma_of(word: str) -> str:
    """The verb that a form belongs to, or an empty string for what is no verb that is known."""
    return verb_forms().get(word, "")


@lru_cache(maxsize=4096)
def is_past(word: str) -> bool:
    """Whether a form tells of the past: `went`, `moved`."""
    if word in words("past_forms") or (word.endswith("ed") and word not in words("no_past_endings")):
        return True
    lemma = lemma_of(word)
    is_regular = not lemma or word in _inflected(lemma) or word.endswith("ing")
    return not is_regular and word not in words("no_past_forms")


@lru_cache(maxsize=4096)
def as_third(word: str) -> str:
    """The word after `I`, as it is after a name."""
    low = word.lower()
    if low in _THIRD:
        return _THIRD[low]
    is_fixed = low in words("auxiliaries") or low in words("no_verbs") or not low.isalpha()
    if is_fixed or is_past(low) or (low.endswith("ing") and lemma_of(low) != low):
        return word
    return third(low if word.isupper() else word)


@lru_cache(maxsize=4096)
def is_finite(word: str, plural: bool) -> bool:
    """Whether a word can be what somebody does, rather than a part of who does it."""
    if word in words("auxiliaries"):
        return word not in ("to", "no", "being")
    lemma = lemma_of(word)
    if not lemma or word.endswith("ing"):
        return False
    return is_past(word) or word == (lemma if plural else third(lemma))


# What somebody says of themselves, as others would say it: `I love my job` is `Alex loves Alex's job`.

_SHORT = {"'m": " is", "'ve": " has", "'ll": " will", "'re": " are"}


class Voice:
    """How one speaker is spoken of."""

    __slots__ = ("inner", "name")

    def __init__(self, speaker: str) -> None:
        self.name = " ".join(speaker.split()) or "The user"
        self.inner = "the user" if self.name == "The user" else self.name

    def retell(self, clause: str) -> str:
        """`clause` in the third person."""
        told = pattern("first_person").sub(self._verb, clause)
        told = pattern("of_us").sub(lambda found: self._other(found[0].lower(), clause), told)
        if told.startswith(self.inner):
            return self.name + told[len(self.inner) :]
        return told if "@" in told.split(" ")[0] else told[:1].upper() + told[1:]

    def _verb(self, found: re.Match[str]) -> str:
        verb, short = found["verb"] or "", found["short"] or ""
        if not verb and not short and not found["pair"]:
            return found[0]
        adverbs = found["adverbs"] or ""
        if short == "'d":
            short = " had" if verb == "better" or (verb and is_past(verb)) or verb == "been" else " would"
        else:
            changes = not short and not found["pair"]
            if changes and not pattern("asked_of_me").search(found.string, 0, found.start()):
                verb = as_third(verb)
            short = _SHORT.get(short, "")
        return f"{found['pair'] or ''}{self.inner}{short}{adverbs}{f' {verb}' if verb else ''}"

    def _we(self, clause: str) -> str:
        return f"{self.inner}'s team" if pattern("at_work").search(clause) else f"{self.inner} and others"

    def _other(self, word: str, clause: str) -> str:
        if word.startswith("we"):
            return self._we(clause) + (_SHORT | {"'d": " would", "'ve": " have"}).get(word[2:], "")
        if word in ("myself", "ourselves"):
            return "themselves"
        if word == "us":
            return self._we(clause)
        return self.inner if word == "me" else f"{self.inner}'s"


# What a statement is about, in one to four words.

_WORD = re.compile(r"[^\W\d_]{4,24}")


def tags_of(topic: str, text: str) -> tuple[str, ...]:
    """The topic and up to three words of `text` that tell something."""
    found = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return (topic, *[word for word in found if word not in words("empty_words") and word != topic][:3])
