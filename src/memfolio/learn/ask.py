"""What a conversation tells, as a language model or the agent itself reads it; what they say is checked.

Nothing is taken on trust: whatever names no turn, says other things than its turns say, or has a type that is not in
the vocabulary is dropped and counted. A turn that gives orders to whoever reads it is read by the rules alone.
What is known is replaced only by what people said in their own turns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any

from memfolio.learn.clauses import is_question, is_small_talk
from memfolio.learn.contradict import has_denial
from memfolio.learn.learned import ENTITY_TYPES, CauseHypothesis, Learned, Mention, Relation, Statement, Turn
from memfolio.learn.resolve import about, plain_words
from memfolio.learn.rules import learn
from memfolio.learn.words import LEXICON, words
from memfolio.llm.model import MAX_MATERIAL, Model
from memfolio.llm.prompt import are_words_of, gives_orders, is_grounded, occurs
from memfolio.text import clip, estimate_tokens, terms
from memfolio.types import DEFAULT_KINDS, Type, frozen

PORTION = 3_000
"""Tokens of conversation that are read at once: few enough for a small model on one's own machine."""
KNOWN = 200
"""Characters of what is known that are shown."""
MAX_PER_TURN = 4
MAX_STATEMENT = 500
MAX_NAME = 100
VITAL = frozenset({"name", "allergic_to"})
"""Predicates of what the rules read that count where a model says nothing."""

_PRONOUNS = frozenset("i you he she it we they me him her us them this that".split())
_IMPORTANCE = {Type.DECISION: 0.7, Type.LESSON: 0.7, Type.CORRECTION: 0.7, Type.FACT: 0.6, Type.PREFERENCE: 0.6}
_TYPES = frozenset(Type)
MOST_LACKING = 6
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
    corrects: tuple[int, ...] = ()


@frozen
class Beside:
    """What an account of some turns may take its words from besides them."""

    around: str = ""
    """Other turns of the conversation, and what the account takes the place of."""
    names: frozenset[str] = frozenset()
    """Words of names that are known."""
    share: float = 1 / 2
    """How many of its words must come from there."""


@frozen
class ModelCause:
    """A cause as a model gives it."""

    cause: int
    effect: int


@frozen
class ModelReading:
    """A model's reading of a conversation."""

    statements: tuple[ModelStatement, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    causes: tuple[ModelCause, ...] = ()


def learn_by_model(model: Model, turns: Sequence[Turn]) -> Learned:
    """What a model learns from a conversation, in as many questions as it may be asked; ModelError where one fails.

    What it is not shown is read by the rules.
    """
    return read_by_model(model, turns, len(turns))[0]


def read_by_model(
    model: Model, turns: Sequence[Turn], counted: int, known: Sequence[str] = ()
) -> tuple[Learned, set[int]]:
    """The same, with the places of the turns that the model was shown; so many turns count for what it may be asked.

    It is shown what is `known` about them too, and says what of that no longer holds.
    """
    task = LEXICON.table("prompt")["task"].format(types=", ".join(Type), entity_types=", ".join(ENTITY_TYPES))
    by_rules = learn(turns)
    shown = [place for place, turn in enumerate(turns) if turn.content.strip() and not gives_orders(turn.content)]
    wanted = sum(1 for _ in _split(turns, shown, len(shown)))
    portions = list(_split(turns, shown, model.questions(counted, wanted))) if shown else []
    read = {place for places in portions for place in places}
    found = [
        _checked(model.ask(task, _material(turns, places, known), ModelReading), turns, places, known, model)
        for places in portions
    ]
    said = list(_understood((each for part in found for each in part.statements), turns, by_rules.statements))
    # Who somebody is, and what their life may depend on, counts even if the model passes it over.
    told = {place for each in said for place in each.turns}
    silent = (each for each in by_rules.statements if told.isdisjoint(each.turns))
    statements = [*said, *(each for each in silent if each.predicate in VITAL or not read.intersection(each.turns))]
    unread = [each for each in by_rules.mentions if not read.intersection(each.turns)]
    learned = Learned(
        statements=list({each.text.casefold(): each for each in statements}.values()),
        mentions=_merged(chain(chain.from_iterable(part.mentions for part in found), unread)),
        relations=[
            *(each for part in found for each in part.relations),
            *(each for each in by_rules.relations if not read.intersection(each.turns)),
        ],
        causes=[each for part in found for each in part.causes],
    )
    return learned, read


def learn_from(
    said: Sequence[ModelStatement], turns: Sequence[Turn], beside: Sequence[Beside]
) -> tuple[Learned, list[Statement | str]]:
    """What somebody who took part in a conversation learned from it, and for each thing said what became of it.

    That is a statement, or why it is refused. Who is mentioned, how they are related, and what turns say that give
    orders or were misread, is read by the rules.
    """
    by_rules = learn(turns)
    judged = [_judged(each, turns, range(len(turns)), around) for each, around in zip(said, beside, strict=True)]
    good = list(_understood((each for each in judged if isinstance(each, Statement)), turns, by_rules.statements))
    good = [_about_speaker(each, turns) for each in good]
    left = iter(good)
    misread = {
        place for each, found in zip(said, judged, strict=True) if isinstance(found, str) for place in each.turns
    }
    ordering = {place for place, turn in enumerate(turns) if gives_orders(turn.content)}
    by_rules_alone = (misread | ordering) - {place for each in good for place in each.turns}
    kept = [each for each in by_rules.statements if by_rules_alone.issuperset(each.turns)]
    found = [each if isinstance(each, str) else next(left) for each in judged]
    return replace(by_rules, statements=[*good, *kept]), found


def _about_speaker(statement: Statement, turns: Sequence[Turn]) -> Statement:
    """A statement with its speaker as what it is about, where its type and words say so and the rules read nothing.

    What somebody wants is a preference because it is called so, in whatever words.
    """
    speaker = next((turns[at].speaker for at in statement.turns if turns[at].is_person), "")
    if not speaker or not statement.may_replace:
        return statement
    name = re.escape(speaker)
    if statement.type is Type.PREFERENCE and re.search(rf"\b{name} (?:\w+ )?wants?\b", statement.text):
        return replace(statement, subject=speaker, predicate="wants", is_single=False)
    is_theirs = not statement.subject and re.search(rf"\b{name}\b", statement.text)
    return replace(statement, subject=speaker) if is_theirs else statement


def _split(turns: Sequence[Turn], shown: Sequence[int], questions: int) -> Iterator[list[int]]:
    """The places of turns that are read together, in at most so many portions of about the same size.

    Of a conversation too long for that, the end is left out.
    """
    costs = {place: estimate_tokens(turns[place].content) for place in shown}
    most = min(max(PORTION, sum(costs.values()) // max(1, questions) + 1), MAX_MATERIAL)
    portion, size = list[int](), 0
    for place, cost in costs.items():
        if portion and size + cost > most:
            if questions > 0:
                yield portion
            questions, portion, size = questions - 1, [], 0
        portion.append(place)
        size += cost
    if portion and questions > 0:
        yield portion


def _material(turns: Sequence[Turn], places: Iterable[int], known: Iterable[str]) -> str:
    """The turns with their numbers, and behind the last of these what is known, with numbers that go on."""
    before = (f"[{number}] known before: {clip(_line(text), KNOWN)}" for number, text in enumerate(known, len(turns)))
    return "\n".join([*(_numbered(place, turns[place]) for place in places), *before])


def _numbered(place: int, turn: Turn) -> str:
    """Return a turn with its number; further lines are marked, so that none can pass for a turn."""
    speaker = " ".join(turn.speaker.split()) + ("" if turn.is_person else " (a machine)")
    when = f", {turn.at:%Y-%m-%d}" if turn.at else ""
    first, *further = turn.content.strip().splitlines()
    return "\n".join([f"[{place}] {speaker}{when}: {first}", *(f"  | {line}" for line in further)])


def _checked(
    reading: ModelReading, turns: Sequence[Turn], places: Collection[int], known: Sequence[str], model: Model
) -> Learned:
    """Return the valid part of a reading; the rest is counted."""
    statements = list(_statements(reading.statements, turns, places, known))
    model.drop("ungrounded", len(reading.statements) - len(statements))
    mentions = [mention for each in reading.mentions if (mention := _mention(each, turns, places))]
    names = {name.casefold() for each in mentions for name in (each.name, *each.aliases)}
    return Learned(
        statements=statements,
        mentions=mentions,
        relations=[relation for each in reading.relations if (relation := _relation(each, names, places))],
        causes=[
            CauseHypothesis(cause=each.cause, effect=each.effect)
            for each in dict.fromkeys(reading.causes)
            if each.cause in places and each.effect in places and each.cause != each.effect
        ],
    )


def _statements(
    said: Iterable[ModelStatement], turns: Sequence[Turn], places: Collection[int], known: Sequence[str]
) -> Iterator[Statement]:
    count: Counter[int] = Counter()
    for each in said:
        corrects = tuple(n - len(turns) for n in dict.fromkeys(each.corrects) if 0 <= n - len(turns) < len(known))
        # What it corrects says what it is about, which its turns need not repeat.
        statement = _judged(each, turns, places, Beside(around="\n".join(known[n] for n in corrects)))
        if isinstance(statement, Statement) and count[statement.turns[0]] < MAX_PER_TURN:
            count[statement.turns[0]] += 1
            yield replace(statement, corrects=corrects)


def _judged(said: ModelStatement, turns: Sequence[Turn], places: Collection[int], beside: Beside) -> Statement | str:
    """A statement that holds, or why it does not."""
    text, told = _line(said.text), _sources(said.turns, places)
    sources, type_name = [turns[place] for place in told], said.type.strip().lower()
    if not text or len(text) > MAX_STATEMENT:
        return f"it has no words, or more than {MAX_STATEMENT} characters"
    if not sources:
        return "it names no turn that is there"
    if type_name not in _TYPES:
        return f"its type is not one of {', '.join(Type)}"
    if _is_idle(text):
        return "it asks or greets, and tells nothing"
    if gives_orders(text) or any(gives_orders(each.content) for each in sources):
        return "it, or a turn that it names, gives orders to whoever reads it"
    if missing := _ungrounded(text, sources, beside):
        return f"its turns do not say {missing}: use their words, or name also the turns that say it"
    type_ = Type(type_name)
    subject, predicate, object_ = _about(said, sources)
    return Statement(
        text=text,
        type=type_,
        kind=DEFAULT_KINDS[type_],
        turns=told,
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


def _understood(
    statements: Iterable[Statement], turns: Sequence[Turn], by_rules: Iterable[Statement]
) -> Iterator[Statement]:
    """The statements as far as they may take effect on what is known.

    What one is about is as the rules read its own words, else as they or the model read its turns. Which attributes
    have one value is data, not the model's to say. What the rules read otherwise, and a denial that no turn makes,
    replaces nothing; nor does what a machine or a stranger says: that stands beside what is known until a person
    decides.
    """
    read = {_key(each): each for each in by_rules if each.object}
    slots = {key[:2] for key in read}
    for each in statements:
        claimed, own = _key(each), _read_alone(each, turns)
        if own and each.object and not (own["is_single"] or own["negated"]):
            own = {}  # a vague reading of its words takes nothing from what the model says
        agrees = own.get("negated", each.negated) == each.negated
        if own and agrees:
            each = replace(each, **own)
        if same := read.get(_key(each)):
            text = _sound(each, same, turns) if _key(each) == claimed else each.text
            each = replace(each, text=text, is_single=same.is_single)
        elif each.negated and not any(has_denial(turns[place].content) for place in each.turns):
            each = replace(each, subject="", predicate="", object="", is_single=False)
        else:
            has_one_value = own["is_single"] if own else each.predicate in words("single_valued")
            is_free = agrees and not each.negated and _key(each)[:2] not in slots
            each = replace(each, is_single=has_one_value and is_free)
        yield replace(each, may_replace=all(turns[place].is_person for place in each.turns))


def _read_alone(statement: Statement, turns: Sequence[Turn]) -> dict[str, Any]:
    """Return what a statement is about, if a person said all of that in its turns."""
    sources = [turns[place] for place in statement.turns if turns[place].is_person]
    found = about(statement.text, sources[0].speaker) if sources else {}
    content = "\n".join(turn.content for turn in sources)
    return found if found.get("object") and are_words_of(found["object"], content) else {}


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


def _ungrounded(text: str, sources: Sequence[Turn], beside: Beside) -> str:
    """What a text says that its turns do not, in words; nothing where it is an account of them.

    It is one where enough of its words are in its turns or beside them, and one at least in its turns. Names that are
    known, those of speakers, and the dates around the turns need not be there.
    """
    said = "\n".join(turn.content for turn in sources).casefold()
    around, words = f"{said}\n{beside.around}".casefold(), terms(text.casefold())
    names = {word for turn in sources for word in terms(turn.speaker.casefold())}
    names.update(word for word in beside.names if not occurs(word, around))
    besides = names.union(*(_days_around(turn.at.date()) for turn in sources if turn.at))
    if any(occurs(word, said) for word in words) and is_grounded(text, around, besides, beside.share):
        return ""
    lacking = [word for word in words if word not in besides and not occurs(word, said)]
    return ", ".join(map(repr, lacking[:MOST_LACKING])) or "that"


@lru_cache(maxsize=64)
def _days_around(day: date) -> frozenset[str]:
    """The words of the dates of which people speak as yesterday or in two weeks."""
    dates = [day + timedelta(days=number) for number in range(-31, 32)]
    return frozenset(word for each in dates for word in f"{each:%Y %m %d %B %b %A} {each.day}".casefold().split())


def _mention(named: Mention, turns: Sequence[Turn], places: Collection[int]) -> Mention | None:
    name, type_, sources = _line(named.name), named.type.strip().lower(), _sources(named.turns, places)
    said = "\n".join(f"{turns[place].speaker}\n{turns[place].content}" for place in sources).casefold()
    if not name or len(name) > MAX_NAME or type_ not in ENTITY_TYPES or name.casefold() not in said:
        return None
    others = dict.fromkeys(line for each in named.aliases if (line := _line(each)) and line.casefold() in said)
    return Mention(name=name, type=type_, turns=sources, aliases=tuple(each for each in others if each != name))


def _relation(tie: Relation, known: set[str], places: Collection[int]) -> Relation | None:
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


def _sources(numbers: Iterable[int], places: Collection[int]) -> tuple[int, ...]:
    return tuple(number for number in dict.fromkeys(numbers) if number in places)


def _line(text: str) -> str:
    return " ".join(text.split())
