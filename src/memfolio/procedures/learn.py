"""What episodes teach: what was done in which order, and whether it went well. By rules, and by a model.

Only what is trusted comes here. A sequence is a numbered list, `first … then … finally …`, or what somebody did one
after the other. What a model says counts only as far as its words were said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from memfolio.errors import ModelError
from memfolio.index.lookup import Located
from memfolio.learn.junk import is_secret
from memfolio.learn.sentences import sentences
from memfolio.learn.verbs import is_past, lemma_of
from memfolio.llm.grounded import is_grounded
from memfolio.llm.model import Model
from memfolio.types import Kind, MemoryItem, Origin, Type

FEWEST, MOST = 2, 30
"""Steps that a lesson has."""
LONGEST = 200
"""Characters of a step or a title."""
DONE = 3
"""How many things done one after the other make a sequence where nobody says so."""
MATERIAL = 20_000
TASK = """\
The material is a conversation. If it tells how something was done step by step, and it went well, say how it is done: \
a short title, when it is to be done, and its steps in order, each one short line in the imperative, in the words of \
the conversation. Leave the steps empty if nothing was done in steps, or if it did not go well."""
_LISTED = re.compile(r"^[ \t]*(?:step[ \t]+)?\d{1,2}[.):][ \t]+(\S.*)$", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(
    r"(?:^|(?<=[.;,!:])|\band)\s*\b(first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|afterwards|finally"
    r"|lastly)\b[,:]?\s+",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"(?:(?:and|so|I|we|you|they|he|she)\b(?:'ve)?\s+)+(?:(?:have|had|also|just|must|should)\s+)*", re.IGNORECASE
)
_DID = re.compile(r"(?:(?:so|and|ok|okay),?\s+)?(?:I|we)(?:'ve| have)?\s+(?:also\s+|just\s+)?([a-z]+)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:hi|hey|hello)?[,! ]*(?:please|(?:can|could|would|will) (?:you|we)(?: please)?|how to"
    r"|how (?:do|can|should) (?:I|we)|help me(?: to)?|(?:I|we) (?:want|need|have|would like) (?:you )?to|let's)\s+(.+)",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"(?:.*[.!?]\s+)?(?:(?:how )?to|when(?:ever)?(?: you| we| I)?(?: want to| need to)?|for)\s+(.+?)", re.I | re.S
)
_GOOD = re.compile(
    r"\b(?:thanks?|thank you|thx|work(?:s|ed)|succe\w+|perfect\w*|great|awesome|fixed|solved|went (?:well|fine)"
    r"|all good|passed|(?:no|without(?: any)?) (?:errors?|problems?|issues?))\b|[✅🎉👍]",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:fail\w*|(?:did|does|do)(?:n't| not) (?:work|help)|not working|broke\w*|crash\w*|wrong|timed out|badly"
    r"|(?<!no )(?<!without )(?<!any )errors?|roll(?:ed)? ?back|unsuccess\w*)\b|❌",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """A sentence, and the memory in which it stands."""

    item: MemoryItem
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """How something was done; where it went badly, `trouble` says what happened."""

    title: str
    steps: tuple[str, ...]
    sources: tuple[str, ...]
    trigger: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What a model is asked for."""

    title: str
    trigger: str
    steps: list[str]


def episodes_of(found: Iterable[Located]) -> list[tuple[MemoryItem, ...]]:
    """Conversations in their order, and memories of how something is done by themselves; strangers' words never."""
    held = [each for each in found if each.item.origin is not Origin.UNTRUSTED]
    held.sort(key=lambda each: (each.item.event_time or each.item.created_at, each.path, each.row))
    episodes: dict[str, list[MemoryItem]] = {}
    for item in (each.item for each in held):
        is_told = item.kind is Kind.PROCEDURAL
        if item.session or is_told:
            episodes.setdefault(item.id if is_told else f"session {item.session}", []).append(item)
    return [tuple(turns) for turns in episodes.values()]


def lessons(episodes: Iterable[Sequence[MemoryItem]], known: Set[str], model: Model | None = None) -> Iterator[Lesson]:
    """What the episodes teach, without what was learned before: `known` are the ids that lessons came from."""
    for turns in episodes:
        lesson = lesson_of(turns)
        is_open = model and not (lesson and lesson.trouble) and went_well(turns, ())
        if model and is_open and known.isdisjoint(each.id for each in turns):
            lesson = _asked(model, turns) or lesson
        if lesson and known.isdisjoint(lesson.sources) and not any(map(is_secret, (lesson.title, *lesson.steps))):
            yield lesson


def lesson_of(turns: Sequence[MemoryItem]) -> Lesson | None:
    """What one episode teaches by the rules."""
    steps, sources, head = _sequence(turns)
    if not FEWEST <= len(steps) <= MOST:
        return None
    is_good = went_well(turns, steps)
    if is_good is None and turns[0].kind is not Kind.PROCEDURAL:
        return None
    title, trigger = _title(turns, head, steps)
    tidy = tuple(_imperative(step) for step in steps)
    if is_good is not False:
        return Lesson(title=title, trigger=trigger, steps=tidy, sources=sources)
    bad = next(each for each in reversed([*_outcomes(turns, steps)]) if _verdict(each) is False)
    return Lesson(title=title, steps=tidy, sources=(bad.item.id,), trouble=_short(bad.text))


def went_well(turns: Sequence[MemoryItem], steps: Collection[str]) -> bool | None:
    """What the last word about it was; None where nobody says."""
    verdicts = [verdict for each in _outcomes(turns, steps) if (verdict := _verdict(each)) is not None]
    return verdicts[-1] if verdicts else None


def _outcomes(turns: Sequence[MemoryItem], steps: Collection[str]) -> Iterator[Sentence]:
    """The sentences that are not themselves a step."""
    return (each for each in _sentences(turns) if not any(step in each.text or each.text in step for step in steps))


def _verdict(sentence: Sentence) -> bool | None:
    good, bad = ([*pattern.finditer(sentence.text)] for pattern in (_GOOD, _BAD))
    if good or bad:
        return not bad or (bool(good) and good[-1].start() > bad[-1].start())
    return {Type.OUTCOME: True, Type.ERROR: False}.get(sentence.item.type)


def _sequence(turns: Sequence[MemoryItem]) -> tuple[list[str], tuple[str, ...], str]:
    """The steps, where they stand, and what stands before them."""
    best: tuple[list[str], tuple[str, ...], str] = ([], (), "")
    for turn in turns:
        steps, head = _in_order(turn.content)
        if len(steps) > len(best[0]):
            best = steps, (turn.id,), head
    if len(best[0]) < FEWEST:
        run: list[Sentence] = max(_done(turns), key=len, default=[])
        if len(run) >= DONE:
            best = [each.text for each in run], tuple(dict.fromkeys(each.item.id for each in run)), ""
    return best


def _in_order(content: str) -> tuple[list[str], str]:
    listed = [*_LISTED.finditer(content)]
    if len(listed) >= FEWEST:
        return [match[1].strip() for match in listed], content[: listed[0].start()].strip()
    head, *parts = _MARK.split(content)
    if len(parts) < 2 * FEWEST - 2 or not parts:
        return [], ""
    bodies = [next(sentences(" ".join(body.split())), "").strip(" .,;") for body in parts[1::2]]
    if not parts[0].lower().startswith("first"):  # the first step stands before the first `then`
        bodies.insert(0, [*sentences(head.strip())][-1].strip(" .,;") if head.strip() else "")
    return [body for body in bodies if body], head.strip()


def _done(turns: Sequence[MemoryItem]) -> Iterator[list[Sentence]]:
    """What one speaker did, sentence after sentence."""
    told = [each for each in _sentences(turns) if _verdict(each) is None or _DID.match(each.text)]
    for (_, is_deed), run in groupby(told, key=lambda each: (each.item.role, _is_deed(each.text))):
        if is_deed:
            yield [*run]


def _is_deed(sentence: str) -> bool:
    match = _DID.match(sentence)
    return bool(match and is_past(match[1].lower())) and not sentence.endswith("?")


def _sentences(turns: Iterable[MemoryItem]) -> Iterator[Sentence]:
    for turn in turns:
        for line in turn.content.splitlines():
            yield from (Sentence(turn, each.strip()) for each in sentences(line.strip()) if each.strip())


def _title(turns: Sequence[MemoryItem], head: str, steps: Sequence[str]) -> tuple[str, str]:
    """What it is called, and when it is done: as somebody asked for it, as it begins, or as it ends."""
    for each in _sentences(turns):
        asked = _ASKED.fullmatch(each.text.rstrip(" ?.!:"))
        if asked and each.text not in steps:
            return _short(asked[1]), _short(asked[1])
    begun = _HEAD.fullmatch(head[-LONGEST:].rstrip(" :,"))
    found = _short(begun[1]) if begun else _imperative(steps[-1])
    return found, (_short(head.rstrip(" :,")) if begun and head.lower().startswith("when") else found)


def _imperative(clause: str) -> str:
    """What was done as what is to be done: `I ran the tests` as `Run the tests`."""
    bare = _WHO.sub("", clause.strip(), count=1) if _WHO.match(clause.strip()) else clause.strip()
    verb, space, rest = bare.partition(" ")
    low = verb.lower()
    if bare != clause.strip() and is_past(low):
        verb = lemma_of(low) or _without_ed(low)
    return _short(f"{verb}{space}{rest}")


def _without_ed(word: str) -> str:
    stem = word.removesuffix("ed")
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    return f"{stem}e" if stem.endswith(("at", "iz", "as", "us", "ov", "iv", "uc", "ar", "ut")) else stem


def _short(text: str) -> str:
    line = " ".join(text.split()).strip(" .,;:?!*")[:LONGEST].strip()
    return line[:1].upper() + line[1:]


def _asked(model: Model, turns: Sequence[MemoryItem]) -> Lesson | None:
    """What a model makes of a conversation; None where it says nothing that was said there."""
    material = "\n".join(f"{each.role or 'note'}: {each.content}" for each in turns)[:MATERIAL]
    try:
        taught = model.ask(TASK, material, Taught)
    except ModelError:
        return None
    steps = [_short(each) for each in taught.steps if is_grounded(each, material)]
    title, trigger = (_short(each) if is_grounded(each, material) else "" for each in (taught.title, taught.trigger))
    if not FEWEST <= len(steps) <= MOST or not (title or trigger):
        return None
    sources = tuple(each.id for each in turns)[:MOST]
    return Lesson(title=title or trigger, trigger=trigger or title, steps=tuple(steps), sources=sources)
