"""What a conversation tells, as a language model reads it; what it answers is checked, and kept only where it fits.

Nothing that the model says is taken on trust: whatever names no turn, says other things than its turns say, or has a
type that is not in the vocabulary is dropped. What is known is replaced only by what the rules read in them as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain

from memfolio.learn.clauses import is_question, is_small_talk
from memfolio.learn.learned import ENTITY_TYPES, CauseHypothesis, Learned, Mention, Relation, Statement, Turn
from memfolio.learn.resolve import plain_words
from memfolio.learn.rules import learn
from memfolio.learn.words import LEXICON
from memfolio.llm.model import Model
from memfolio.llm.prompt import are_words_of, is_grounded
from memfolio.text import estimate_tokens, terms
from memfolio.types import Type, default_kind, frozen

PORTION = 3_000
"""Tokens of conversation that are read at once: few enough for a small model on one's own machine."""
MAX_PER_TURN = 4
MAX_STATEMENT = 500
MAX_NAME = 100

_PRONOUNS = frozenset("i you he she it we they me him her us them this that".split())
_IMPORTANCE = {Type.DECISION: 0.7, Type.LESSON: 0.7, Type.CORRECTION: 0.7, Type.FACT: 0.6, Type.PREFERENCE: 0.6}
_TYPES = frozenset(Type)
_SMALL_TALK = 4
"""So many words may be small talk; a sentence that only begins so is none."""


@frozen
class ModelStatement:
    """A statement as a model gives it."""

    text: str
    type: str
    turns: tuple[int, ...]
    subject: str = ""
    predicate: str = ""
    object: str = ""
    negated: bool = False


@frozen
class ModelCause:
    """A cause as a model gives it."""

    cause: int
    effect: int


@frozen
class ModelReading:
    """What a model reads in a conversation."""

    statements: tuple[ModelStatement, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    causes: tuple[ModelCause, ...] = ()


def learn_by_model(model: Model, turns: Sequence[Turn]) -> Learned:
    """What a model learns from a conversation, in as many questions as its length needs; ModelError where one fails."""
    task = LEXICON.table("prompt")["task"].format(types=", ".join(Type), entity_types=", ".join(ENTITY_TYPES))
    found = [
        _checked(model.ask(task, _material(turns, places), ModelReading), turns, places) for places in _split(turns)
    ]
    statements = _confirmed((each for part in found for each in part.statements), turns)
    return Learned(
        statements=list({each.text.casefold(): each for each in statements}.values()),
        mentions=_merged(chain.from_iterable(part.mentions for part in found)),
        relations=[each for part in found for each in part.relations],
        causes=[each for part in found for each in part.causes],
    )


def _split(turns: Sequence[Turn]) -> Iterator[range]:
    """The places of turns that are read together; those without words are passed over where nothing else is there."""
    start, size = 0, 0
    for place, turn in enumerate(turns):
        cost = estimate_tokens(turn.content)
        if size and size + cost > PORTION:
            yield range(start, place)
            start, size = place, 0
        size += cost
    if size:
        yield range(start, len(turns))


def _material(turns: Sequence[Turn], places: range) -> str:
    return "\n".join(_numbered(place, turns[place]) for place in places if turns[place].content.strip())


def _numbered(place: int, turn: Turn) -> str:
    """A turn with its number; its further lines are marked, so that none of them can pass for a turn."""
    speaker = " ".join(turn.speaker.split()) + ("" if turn.is_person else " (a machine)")
    when = f", {turn.at:%Y-%m-%d}" if turn.at else ""
    first, *further = turn.content.strip().splitlines()
    return "\n".join([f"[{place}] {speaker}{when}: {first}", *(f"  | {line}" for line in further)])


def _checked(reading: ModelReading, turns: Sequence[Turn], places: range) -> Learned:
    """What of a reading holds."""
    mentions = [mention for each in reading.mentions if (mention := _mention(each, turns, places))]
    known = {name.casefold() for each in mentions for name in (each.name, *each.aliases)}
    return Learned(
        statements=list(_statements(reading.statements, turns, places)),
        mentions=mentions,
        relations=[relation for each in reading.relations if (relation := _relation(each, known, places))],
        causes=[
            CauseHypothesis(cause=each.cause, effect=each.effect)
            for each in dict.fromkeys(reading.causes)
            if each.cause in places and each.effect in places and each.cause != each.effect
        ],
    )


def _statements(said: Iterable[ModelStatement], turns: Sequence[Turn], places: range) -> Iterator[Statement]:
    count: Counter[int] = Counter()
    for each in said:
        statement = _statement(each, turns, places)
        if statement and count[statement.turns[0]] < MAX_PER_TURN:
            count[statement.turns[0]] += 1
            yield statement


def _statement(said: ModelStatement, turns: Sequence[Turn], places: range) -> Statement | None:
    text, places_told = _line(said.text), _sources(said.turns, places)
    sources, type_name = [turns[place] for place in places_told], said.type.strip().lower()
    if not (text and sources and len(text) <= MAX_STATEMENT and type_name in _TYPES) or _is_idle(text):
        return None
    if not _is_grounded(text, sources):
        return None
    type_ = Type(type_name)
    subject, predicate, object_ = _about(said, sources)
    return Statement(
        text=text,
        type=type_,
        kind=default_kind(type_),
        turns=places_told,
        subject=subject,
        predicate=predicate,
        object=object_,
        negated=said.negated,
        importance=_IMPORTANCE.get(type_, 0.5),
    )


def _about(said: ModelStatement, sources: Sequence[Turn]) -> tuple[str, str, str]:
    """Subject, predicate and object, if all are there and the turns or their speakers have the names."""
    subject, object_ = _line(said.subject), _line(said.object)
    about = subject, "_".join(re.findall(r"\w+", said.predicate.casefold())), object_
    if not all(about) or max(map(len, about)) > MAX_NAME or subject.casefold() in _PRONOUNS:
        return "", "", ""
    content = "\n".join(turn.content for turn in sources)
    speakers = "\n".join(turn.speaker for turn in sources)
    is_told = are_words_of(object_, content) and are_words_of(subject, f"{speakers}\n{content}")
    return about if is_told else ("", "", "")


def _confirmed(statements: Iterable[Statement], turns: Sequence[Turn]) -> Iterator[Statement]:
    """The statements, of which only those that the rules read in the turns as well can contradict what is known.

    Others are never the only ones that can be true, and what they deny is told by their text alone.
    """
    read = {_key(each): each for each in learn(turns).statements if each.object}
    for each in statements:
        if same := read.get(_key(each)):
            yield replace(each, text=_sound(each, same, turns), is_single=same.is_single)
        else:
            yield replace(each, subject="", predicate="", object="") if each.negated else each


def _key(statement: Statement) -> tuple[str, str, str, bool]:
    subject, predicate, object_ = map(plain_words, (statement.subject, statement.predicate, statement.object))
    return subject, predicate, object_, statement.negated


def _sound(statement: Statement, same: Statement, turns: Sequence[Turn]) -> str:
    """The text of a statement, if it adds no word to what its turns and the rules say; else what the rules say."""
    sources = (f"{turns[place].speaker}\n{turns[place].content}" for place in statement.turns)
    said = "\n".join([same.text, same.predicate.replace("_", " "), *sources])
    return statement.text if are_words_of(statement.text, said) else same.text


def _is_idle(text: str) -> bool:
    """Whether a text asks or greets in place of telling something."""
    return (
        text.endswith(("?", "？", "؟"))
        or is_question(text)
        or (len(text.split()) <= _SMALL_TALK and is_small_talk(text))
    )


def _is_grounded(text: str, sources: Sequence[Turn]) -> bool:
    """Whether a text says what its turns say; who says it does not count, nor does the date of what is told."""
    names = {word for turn in sources for word in terms(turn.speaker.casefold())}
    days = frozenset[str]().union(*(_days_around(turn.at.date()) for turn in sources if turn.at))
    return is_grounded(text, "\n".join(turn.content for turn in sources), names | days)


@lru_cache(maxsize=64)
def _days_around(day: date) -> frozenset[str]:
    """The words of the dates of which people speak as yesterday or in two weeks."""
    dates = [day + timedelta(days=number) for number in range(-31, 32)]
    return frozenset(word for each in dates for word in f"{each:%Y %m %d %B %b %A} {each.day}".casefold().split())


def _mention(named: Mention, turns: Sequence[Turn], places: range) -> Mention | None:
    name, type_, sources = _line(named.name), named.type.strip().lower(), _sources(named.turns, places)
    said = "\n".join(f"{turns[place].speaker}\n{turns[place].content}" for place in sources).casefold()
    if not name or len(name) > MAX_NAME or type_ not in ENTITY_TYPES or name.casefold() not in said:
        return None
    others = dict.fromkeys(line for each in named.aliases if (line := _line(each)) and line.casefold() in said)
    return Mention(name=name, type=type_, turns=sources, aliases=tuple(each for each in others if each != name))


def _relation(tie: Relation, known: set[str], places: range) -> Relation | None:
    subject, object_ = _line(tie.subject), _line(tie.object)
    predicate = "-".join(re.findall(r"[^\W_]+", tie.predicate.casefold()))
    named = {subject.casefold(), object_.casefold()}
    if not predicate or len(predicate) > MAX_NAME or len(named) < 2 or not named <= known:
        return None
    return Relation(subject=subject, predicate=predicate, object=object_, turns=_sources(tie.turns, places))


def _merged(mentions: Iterable[Mention]) -> list[Mention]:
    """Each name once, with all turns in which it is mentioned."""
    found: dict[tuple[str, str], Mention] = {}
    for each in mentions:
        key = (each.name.casefold(), each.type)
        before = found.get(key, each)
        aliases, turns = (*before.aliases, *each.aliases), (*before.turns, *each.turns)
        found[key] = replace(before, aliases=tuple(dict.fromkeys(aliases)), turns=tuple(dict.fromkeys(turns)))
    return list(found.values())


def _sources(numbers: Iterable[int], places: range) -> tuple[int, ...]:
    return tuple(number for number in dict.fromkeys(numbers) if number in places)


def _line(text: str) -> str:
    return " ".join(text.split())
