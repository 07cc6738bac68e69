"""People, projects, organizations, places and tools that are spoken of by name, and how they are related."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from memfolio.learn.learned import ENTITY_TYPES, CauseHypothesis, Mention, Relation, Statement, Turn
from memfolio.learn.words import LEXICON, Voice, lemma_of, names, pattern, words
from memfolio.types import Kind, Type

# People, projects, organizations, places and tools that are spoken of by name.

_SIGNS = str.maketrans(dict.fromkeys(',;:!?()"', " "))
_WORD = re.compile(r"\S+")
_TITLE = re.compile(r"[\"“][^\"“”\n]{2,80}[\"”]")
_TITLES = frozenset("herr frau mr mrs ms miss dr prof".split())
_TYPES_BEFORE = ("project", "organization", "tool", "person", "place")
_TYPES_AFTER = ("project", "organization", "person")
_BESIDE = re.compile(r"\bwith\s+$")


@cache
def _endings() -> Mapping[str, str]:
    """The types of names by their last words."""
    endings = LEXICON.table("rules")["endings"]
    return {word: type_ for type_, listed in endings.items() for word in listed.split()}


@dataclass(slots=True)
class _Seen:
    name: str
    types: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, None] = field(default_factory=dict)
    turns: dict[int, None] = field(default_factory=dict)


class Names:
    """The names of one conversation, gathered sentence by sentence."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def add(self, name: str, type_: str, turn: int, *, alias: str = "", weight: int = 3) -> None:
        """Note that somebody or something was spoken of."""
        seen = self._seen.setdefault(name.lower(), _Seen(name))
        seen.types[type_] = seen.types.get(type_, 0) + weight
        seen.turns[turn] = None
        if alias and alias.lower() != name.lower():
            seen.aliases[alias] = None

    def is_somebody(self, name: str) -> None:
        """Note that who goes by this name does what only people do."""
        seen = self._seen.get(name.lower())
        if seen is not None and seen.types.keys() == {"concept"}:
            seen.types = {"person": 3}

    def has_person(self, name: str) -> bool:
        """Whether somebody is called so beyond doubt, and nothing else is."""
        seen = self._seen.get(name.lower())
        return seen is not None and seen.types.keys() == {"person"} and seen.types["person"] > 1

    def read(self, sentence: str, turn: int) -> None:
        """Collect the names in a sentence."""
        if '"' in sentence or "“" in sentence:
            sentence = _TITLE.sub(" ", sentence)
        for found in pattern("capitals").finditer(sentence):
            if found[0].lower() in words("nameless"):
                continue
            for name, start, end in _parts(found):
                if name.lower().startswith("project ") and " " in name:
                    self.add(name.split(maxsplit=1)[1], "project", turn)
                elif named := _judge(sentence, name, start, end):
                    self.add(names("tools").get(name.lower(), name), named[0], turn, weight=named[1])
        tools, ambiguous = names("tools"), words("ambiguous_tools")
        for word in sentence.translate(_SIGNS).split():
            if word[0].islower() and (bare := word.rstrip(".").lower()) in tools and bare not in ambiguous:
                self.add(tools[bare], "tool", turn)
        if "(" in sentence or " or " in sentence or "known as" in sentence or "aka" in sentence or "call" in sentence:
            self._alias(sentence, turn)

    def _alias(self, sentence: str, turn: int) -> None:
        for found in pattern("alias").finditer(sentence):
            name = _without_opening(found["name"])
            other = found["a"] or found["b"] or found["c"] or found["d"]
            seen = self._seen.get(name.lower())
            if seen and other.lower() not in words("nameless") and other.lower() not in names("places"):
                seen.aliases[other] = None
                # What is an alias is no entity of its own.
                self._seen.pop(other.lower(), None)

    def mentions(self) -> tuple[Mention, ...]:
        """Everybody and everything that is named."""
        return tuple(
            Mention(
                name=seen.name,
                type=max(seen.types, key=lambda type_: seen.types[type_]),
                aliases=tuple(seen.aliases),
                turns=tuple(seen.turns),
            )
            for seen in self._seen.values()
        )


def _without_opening(name: str) -> str:
    parts = name.split()
    while parts and _is_no_name(parts[0]):
        parts.pop(0)
    return " ".join(parts)


def _is_no_name(word: str) -> bool:
    return word.lower() in words("no_names") or word.lower() in words("times")


def _parts(found: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the names in a run of capitalized words, with their positions."""
    text = found[0]
    if any(text.lower() in names(known) for known in ("places", "tools", "organizations")):
        yield text, found.start(), found.end()
        return
    begun: list[tuple[str, int]] = []
    for each in (*_WORD.finditer(text), None):
        word = each[0].removesuffix("'s") if each else ""
        ends = each is None or _is_empty(word)
        if each and not ends:
            begun.append((word, each.start() + found.start()))
        if begun and (ends or (each and each[0].endswith("'s"))):
            yield " ".join(one for one, _ in begun), begun[0][1], begun[-1][1] + len(begun[-1][0])
            begun = []


def _is_empty(word: str) -> bool:
    low = word.lower().rstrip(".")
    return low in words("nameless") or "'" in low[-4:]


def _judge(sentence: str, name: str, start: int, end: int) -> tuple[str, int] | None:
    """Return the type of a name, and how certain that is; None for a mere capital."""
    low = name.lower()
    first = low.split()[0]
    opening = sentence[:start].strip(" \"'(*,").lower()
    opens = not opening or opening in words("adverbs")
    before, after = sentence[max(0, start - 60) : start], sentence[end : end + 40]
    if pattern("personal").search(before):
        return ("person", 4)
    if pattern("before_animal").search(before):
        return ("animal", 4)
    is_titled = " " in low and first.rstrip(".") in _TITLES
    is_person, is_place, is_tool = (
        is_titled or first in words("first_names"),
        low in names("places"),
        low in names("tools"),
    )
    if (
        is_person
        and (is_place or is_tool)
        and not any(pattern(cue).search(before) for cue in ("placed", "before_tool"))
    ):
        return ("person", 3)
    known = "place" if is_place else "organization" if low in names("organizations") else ""
    if is_tool and not (opens and low in words("ambiguous_tools")):
        known = known or "tool"
    if not known and " " in low:
        known = _endings().get(low.split()[-1], "")
    if known or is_person:
        return (known or "person", 3)
    # Short words and capitals throughout are more often abbreviations than names.
    if len(name) < 3 or name.isupper() or (opens and not _opens_with_name(name, after)):
        return None
    return _by_cues(name, before, after)


def _opens_with_name(name: str, after: str) -> bool:
    low = name.lower()
    if " " in name:
        return lemma_of(low.split()[0]) == "" and low.split()[0] not in words("adverbs")
    if lemma_of(low) or low in words("adverbs") or low.endswith(("ing", "ly", "ed", "s")):
        return False
    return bool(pattern("lively").match(after))


def _by_cues(name: str, before: str, after: str) -> tuple[str, int] | None:
    if type_ := _type_by_cues(before, after):
        # `Ines at Hallam Rail is the contact` tells what Ines is.
        return ("organization" if type_ == "person" and before.endswith(" at ") else type_, 2)
    if " " in name:
        return ("concept", 1)
    is_with = _BESIDE.search(before) or after.startswith((" and I ", " and my "))
    return ("person", 1) if is_with else None


def _type_by_cues(before: str, after: str) -> str:
    """Return the type that the words around a name indicate; empty if none."""
    following = (type_ for type_ in _TYPES_AFTER if pattern(f"after_{type_}").match(after))
    preceding = (type_ for type_ in _TYPES_BEFORE if pattern(f"before_{type_}").search(before))
    return next(following, "") or next(preceding, "")


# How the mentioned are related, from what is stated of them and how they are introduced, and what caused what.

_RATHER = re.compile(r"(?<=\w) (?:to|over|than|rather than|instead of) ")
_NEAR = 3
_READ = 2_000


def introduced(sentence: str, voice: Voice, turn: int) -> Iterator[tuple[str, str, Relation]]:
    """Yield people whom the speaker introduces: the name, their role, and the relation."""
    for found in pattern("mine").finditer(sentence):
        relative = found["kin"] or found["role"] or found["known"]
        name = found["name"] or found["other"]
        # `my brother, Tom and I`: Tom is somebody else.
        is_list = found["comma"] and sentence.startswith(" and I", found.end())
        if is_list or _is_no_name(name):
            continue
        relatives = LEXICON.table("words")["relatives"]
        subject, thing, predicate = voice.name, name, relatives.get(relative, "knows")
        if relative in words("pets"):
            predicate = "owns"
        if relative in words("parents"):
            subject, thing, predicate = name, voice.name, "parent-of"
        yield name, relative, Relation(subject=subject, predicate=predicate, object=thing, turns=(turn,))


def kinship(name: str, relative: str, relation: Relation, voice: Voice) -> Statement:
    """That somebody is somebody's wife, son or friend."""
    is_single_role = relative in words("single_roles")
    predicate = "child_of" if relative in words("parents") else relation.predicate.replace("-", "_")
    predicate = relative if is_single_role else predicate
    return Statement(
        text=f"{name} is {voice.inner}'s {relative}",
        type=Type.FACT,
        kind=Kind.SEMANTIC,
        turns=relation.turns,
        subject=voice.name,
        predicate=predicate,
        object=name,
        is_single=is_single_role or relation.predicate == "married-to",
        confidence=0.85,
        importance=0.8,
        tags=("family" if relation.predicate not in ("friend-of", "knows", "owns") else "people", relative),
    )


def related(statements: Iterable[Statement], mentions: Sequence[Mention]) -> Iterator[Relation]:
    """Yield relations between mentions that statements express."""
    by_name = {name.lower(): each for each in mentions for name in (each.name, *each.aliases)}
    relations = LEXICON.table("rules")["relations"]
    for statement in statements:
        predicate = relations.get(statement.predicate)
        subject = _mention(statement.subject, by_name)
        if predicate is None or subject is None:
            continue
        for each in _named(_told(statement), by_name):
            if each.name == subject.name:
                continue
            wielded = statement.predicate == "works" and each.type == "tool"
            name = _fitting("uses" if wielded else predicate, statement.negated, each)
            yield Relation(subject=subject.name, predicate=name, object=each.name, turns=statement.turns)


def _told(statement: Statement) -> str:
    """Return the words of a statement that name what its subject is related to."""
    match statement.predicate:
        case "job":
            return statement.text[len(statement.subject) :]
        case "prefers":
            return _RATHER.split(statement.object)[0]
        case "switched":
            return statement.text.partition(" to ")[2]
    return statement.object


def _fitting(predicate: str, negated: bool, thing: Mention) -> str:
    if negated:
        return {"prefers": "avoids", "uses": "avoids"}.get(predicate, "relates-to")
    objects = LEXICON.table("rules")["objects"].get(predicate)
    return predicate if thing.type in (objects.split() if objects else ENTITY_TYPES) else "relates-to"


def _mention(subject: str, by_name: dict[str, Mention]) -> Mention | None:
    low = subject.lower().removeprefix("the ")
    whole = by_name.get(subject.lower()) or by_name.get(low) or by_name.get(low.split("'s team")[0])
    return whole or next(
        (by_name[word] for word in reversed(low.split()) if word in by_name and "'s" not in word), None
    )


def _named(text: str, by_name: dict[str, Mention]) -> Iterator[Mention]:
    tokens = re.findall(r"[\w.+#'-]+", text.lower())[:12]
    read = 0
    for start in range(len(tokens)):
        for end in range(min(len(tokens), start + 3), start, -1):
            name = " ".join(tokens[start:end]).removesuffix("'s")
            if start >= read and name in by_name:
                yield by_name[name]
                read = end
                break


def caused(turns: Sequence[Turn]) -> Iterator[CauseHypothesis]:
    """Yield turns that refer back to their cause, and turns that explain what was said before."""
    for place, turn in enumerate(turns):
        if not place or not turn.is_person:
            continue
        text = turn.content[:_READ].replace("’", "'").strip()
        before = next((back for back in range(place - 1, max(-1, place - _NEAR - 1), -1) if _tells(turns[back])), None)
        if before is None or text.endswith("?"):
            continue
        if pattern("cause_ahead").match(text):
            yield CauseHypothesis(cause=place, effect=before, confidence=0.6)
        elif pattern("cause_before").search(text, 0, 200):
            yield CauseHypothesis(
                cause=before, effect=place, confidence=0.6 if turns[before].speaker == turn.speaker else 0.5
            )


def _tells(turn: Turn) -> bool:
    text = turn.content[:_READ].strip()
    return turn.is_person and len(text) > 20 and not text.endswith("?")
