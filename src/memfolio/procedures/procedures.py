"""The procedures of an agent: read from and written to its pages, learned from episodes, matched to what is said."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, time, timedelta
from functools import cache, lru_cache, partial
from itertools import chain, groupby, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.arguments import check_known, check_string, choose, nearest
from memfolio.errors import ConflictError, InputError, ModelError, NotFoundError, PathError
from memfolio.graph.entities import free_name, slug
from memfolio.index.lookup import Located, newest
from memfolio.index.search import QUARANTINED, Filter, PlainSearch
from memfolio.learn.clauses import is_secret, readable
from memfolio.learn.words import Lexicon, lemma_of
from memfolio.llm.model import Model
from memfolio.llm.prompt import is_grounded
from memfolio.procedures import page as trees
from memfolio.procedures.page import (
    Branch,
    Procedure,
    ProcedureForm,
    ProcedurePage,
    Refinement,
    Step,
    read,
    read_span,
    render,
)
from memfolio.recall.dates import names_relative_day
from memfolio.recall.query import check_number
from memfolio.recall.query import words as texts_of
from memfolio.recall.searcher import Searcher
from memfolio.stores.checkpoint import make
from memfolio.text import match_expression, searchable, sentences, terms
from memfolio.types import EMPTY, Action, Attribution, Kind, MemoryItem, Origin, Type, check_attribution, frozen
from memfolio.vault.change import Change, PutPage
from memfolio.vault.fields import without_surrogates
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import agent_root, check_path
from memfolio.vault.vault import Vault

# What episodes teach: what somebody asked for, how it was done, and whether that worked. By rules, and by a model.
#
# A skill that makes no sense is worse than none, so a conversation teaches only where somebody asked for something to
# be done, somebody else answered with steps of which each is something to do, and who asked says that it worked.

FEWEST, MOST = 3, 30
"""Steps that a lesson has; two are seldom worth a page."""
LONGEST = 200
"""Characters of a step or a title."""
MATERIAL = 20_000


LEXICON = Lexicon(Path(__file__).parent / "data")
pattern, words = LEXICON.pattern, LEXICON.words


@cache
def _verbs() -> Mapping[str, str]:
    """Verb forms that a step may begin with, each with its infinitive."""
    return {form: verb for verb in LEXICON.listed("verbs") for form in _forms(verb)}


def verb_of(form: str) -> str:
    """The verb that a form belongs to with which a step may begin; empty for any other word."""
    return _verbs().get(form) or _verbs().get(form.removesuffix("s"), "")


def _forms(verb: str) -> tuple[str, ...]:
    """A verb, and how its past may be written."""
    past = f"{verb[:-1]}ied" if re.search("[^aeiou]y$", verb) else f"{verb.removesuffix('e')}ed"
    return verb, past, f"{verb}{verb[-1]}ed"


@frozen
class SkillLesson:
    """How something was done; if it went badly, `trouble` says what happened."""

    title: str
    steps: tuple[str, ...]
    sources: tuple[str, ...]
    trigger: str = ""
    trouble: str = ""


@frozen
class Taught:
    """The answer expected from a model."""

    title: str
    trigger: str
    steps: list[str]


class SpokenSteps(NamedTuple):
    """Consecutive turns of one speaker, the steps in them, and the text before the steps."""

    turns: tuple[MemoryItem, ...]
    steps: tuple[str, ...]
    head: str


def episodes_of(found: Iterable[Located]) -> list[tuple[MemoryItem, ...]]:
    """Conversations in their order, and memories of how something is done by themselves."""
    ordered = sorted(found, key=lambda each: (each.item.event_time or each.item.created_at, each.path, each.row))
    episodes: dict[str, list[MemoryItem]] = {}
    for item in (each.item for each in ordered):
        # A memory of how something is done needs no conversation around it.
        is_alone = item.kind is Kind.PROCEDURAL
        if item.session or is_alone:
            episodes.setdefault(item.id if is_alone else f"session {item.session}", []).append(item)
    return [tuple(turns) for turns in episodes.values()]


def lessons(
    episodes: Iterable[Sequence[MemoryItem]], is_known: Callable[[str], bool], model: Model | None = None
) -> Iterator[SkillLesson]:
    """Yield what the episodes teach, except from memories that `is_known` reports as learned from.

    Untrusted turns teach nothing, nor do turns that repeat them, nor anything that contains a password.
    """
    for turns in episodes:
        trusted = [each for each in turns if each.origin is not Origin.UNTRUSTED]
        strange = "\n".join(each.content for each in turns if each.origin is Origin.UNTRUSTED).casefold()
        for lesson in _taught(trusted, is_known, model):
            is_strange = any(step.casefold() in strange for step in lesson.steps)
            if not (is_known(lesson.sources[0]) or is_strange or any(map(is_secret, (lesson.title, *lesson.steps)))):
                yield lesson


def _taught(turns: Sequence[MemoryItem], is_known: Callable[[str], bool], model: Model | None) -> list[SkillLesson]:
    """Return lessons by the rules, or by a model if the conversation ended well; it is asked once for each."""
    found = [*lessons_of(turns)]
    if model is None or not (verdicts := _verdicts(turns, "assistant")) or not verdicts[-1][0]:
        return found
    if any(is_known(each.id) for each in turns):
        return []
    # A model that finds nothing leaves it to the rules.
    asked = _asked(model, turns)
    return [asked] if asked else found


def lessons_of(turns: Sequence[MemoryItem]) -> Iterator[SkillLesson]:
    """Yield what one episode teaches according to the rules."""
    spoken = [_spoken(tuple(run)) for _, run in groupby(turns, key=lambda turn: turn.role)]
    for place, each in enumerate(spoken):
        title, trigger = _named(each, spoken[:place]) if each.steps else ("", "")
        if not title:
            continue
        # A verdict is about the steps before it, not about those that come later.
        after = [turn for one in takewhile(lambda one: not one.steps, spoken[place + 1 :]) for turn in one.turns]
        verdicts = _verdicts(after, each.turns[0].role)
        sources = tuple(turn.id for turn in each.turns)
        lesson = SkillLesson(title=title, trigger=trigger, steps=each.steps, sources=sources)
        if verdicts and not verdicts[-1][0]:
            _, turn, sentence = verdicts[-1]
            if pattern("trouble").fullmatch(sentence):
                yield replace(lesson, sources=(turn.id,), trouble=_short(sentence))
        elif verdicts or each.turns[0].kind is Kind.PROCEDURAL:
            yield lesson


def _spoken(turns: tuple[MemoryItem, ...]) -> SpokenSteps:
    given, head = _in_order("\n".join(turn.content for turn in turns))
    steps = tuple(map(_to_do, given))
    return SpokenSteps(turns, steps if all(steps) and FEWEST <= len(steps) <= MOST else (), head)


def _in_order(text: str) -> tuple[list[str], str]:
    """Return the items of a numbered list or of `first … then …`, and the text before them."""
    listed = [*pattern("listed").finditer(text)]
    if len(listed) >= FEWEST:
        # Two lists in one text would be mixed up.
        is_one = [int(match[1]) for match in listed] == [*range(1, len(listed) + 1)]
        return [match[2] for match in listed] if is_one else [], text[: listed[0].start()].strip()
    head, *parts = pattern("mark").split(text)
    bodies = ["".join(sentences(" ".join(body.split()))[:1]) for body in parts[1::2]]
    if parts and not parts[0].lower().startswith("first"):  # the first step stands before the first `then`
        bodies.insert(0, "".join(sentences(head)[-1:]))
    return bodies, head.strip()


def _to_do(clause: str) -> str:
    """Turn a past action into an instruction: `I ran the tests` becomes `Run the tests`; empty if it is not one."""
    bare = pattern("who").sub("", clause.replace("**", "").strip(), count=1)
    where = pattern("where").match(bare)
    lead = where[0] if where else ""
    verb, space, rest = bare[len(lead) :].partition(" ")
    low = verb.strip(".,:;!").lower()
    # The verb as it was written, else by its lemma: `ran` is run.
    base = _verbs().get(low) or _verbs().get(lemma_of(low), "")
    is_asked = clause.rstrip().endswith("?")
    return _short(f"{lead}{verb if base == low else base}{space}{rest}") if base and not is_asked else ""


def _named(told: SpokenSteps, before: Sequence[SpokenSteps]) -> tuple[str, str]:
    """Return title and trigger: the request of another speaker, or the beginning of a memory about how to do it."""
    asked = [
        request
        for one in before
        for turn in one.turns
        for sentence in sentences(turn.content)
        if turn.role != told.turns[0].role and (request := _request(sentence))
    ]
    if asked:
        return asked[-1], asked[-1]
    begun = pattern("head").fullmatch(told.head.rstrip(" :,")[-LONGEST:])
    if begun is None or told.turns[0].kind is not Kind.PROCEDURAL:
        return "", ""
    word, what = begun.groups()
    return _short(what), _short(what if word.lower().endswith("to") else f"{word} {what}")


def _request(sentence: str) -> str:
    asked = pattern("asked").fullmatch(sentence.rstrip(" ?.!:")[:LONGEST])
    return _short(asked[1] + asked[2]) if asked and asked[1].lower() not in words("talk") else ""


def _verdicts(turns: Iterable[MemoryItem], doer: str | None) -> list[tuple[bool, MemoryItem, str]]:
    """Return verdicts on how it went, in order, by anyone but the doer, or from memories of an outcome or error."""
    return [
        (verdict, turn, sentence)
        for turn in turns
        for sentence in sentences(turn.content)
        if (verdict := _verdict(sentence, turn, doer)) is not None
    ]


def _verdict(sentence: str, turn: MemoryItem, doer: str | None) -> bool | None:
    good, bad = ([*pattern(name).finditer(sentence)] for name in ("good", "bad"))
    # Whoever did it is no witness; what was said last in a sentence counts.
    if turn.role != doer and (good or bad) and not (good and pattern("unsure").search(sentence)):
        return not bad or (bool(good) and good[-1].start() >= bad[-1].end())
    return {Type.OUTCOME: True, Type.ERROR: False}.get(turn.type)


def _short(text: str) -> str:
    line = " ".join(text.split()).strip(" .,;:?!*")[:LONGEST].strip()
    return line[:1].upper() + line[1:]


def _asked(model: Model, turns: Sequence[MemoryItem]) -> SkillLesson | None:
    """Return the lesson that a model finds in a conversation; None if it is not grounded in what was said."""
    material = "\n".join(f"{each.role or 'note'}: {each.content}" for each in turns)[:MATERIAL]
    try:
        taught = model.ask(" ".join(LEXICON.table("words")["task"].split()), material, Taught)
    except ModelError:
        return None
    steps = [_short(each) for each in taught.steps if is_grounded(each, material)]
    title, trigger = (_short(each) if is_grounded(each, material) else "" for each in (taught.title, taught.trigger))
    if not FEWEST <= len(steps) <= MOST or not (title or trigger):
        return None
    sources = tuple(each.id for each in turns)[:MOST]
    return SkillLesson(title=title or trigger, trigger=trigger or title, steps=tuple(steps), sources=sources)


# Which procedures are meant by what somebody says, and which are due by the clock. Pure.

ENOUGH = 0.5
"""A trigger matches if more than this share of its content words, or of a part between commas, was said."""
_QUOTED = re.compile(r"[\"“„]([^\"“”„]+)[\"”“]")
_WORD = re.compile(r"[^\W_]+")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)\b")


@frozen
class ProcedureMatch:
    """A procedure that may be meant, with a score from 0 to 1 and the words that matched."""

    procedure: Procedure
    score: float
    why: tuple[str, ...]


@frozen
class DueProcedure:
    """A procedure that is due, and since when."""

    procedure: Procedure
    at: datetime


class StemmedText:
    """A text in which words are looked for as text search does, whatever their endings."""

    def __init__(self, text: str) -> None:
        self._plain = _spaced(text)
        self._search = PlainSearch([searchable(text)])
        self._known: dict[str, bool] = {}

    def has(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = bool(self._search.best(match_expression([word]), 1))
        return self._known[word]

    def says(self, phrase: str) -> bool:
        """Whether these words occur exactly, one after the other."""
        return _spaced(phrase).strip() != "" and _spaced(phrase) in self._plain

    def share(self, text: str) -> tuple[float, list[str]]:
        """Which share of the telling words of another text it has, and which these are."""
        # An identifier such as TestFlight is told once more in its parts, which no other text has.
        single = (word for word in terms(text) if " " not in word)
        telling = [word for word in single if word.casefold() not in words("empty")]
        found = [word for word in telling if self.has(word)]
        return len(found) / len(telling) if telling else 0.0, found


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def match(procedures: Iterable[Procedure], text: str, *, limit: int = 5) -> list[ProcedureMatch]:
    """The procedures that a text may call for, the likeliest first; those that were retired never."""
    heard, found = StemmedText(text), list[ProcedureMatch]()
    for each in procedures:
        ways = [] if each.is_retired else sorted(_ways(each, heard), reverse=True)
        if ways:
            why = tuple(dict.fromkeys(why for _, why in ways))
            found.append(ProcedureMatch(procedure=each, score=round(ways[0][0], 3), why=why))
    return sorted(found, key=lambda each: (-each.score, each.procedure.name))[:limit]


def _ways(procedure: Procedure, heard: StemmedText) -> Iterator[tuple[float, str]]:
    """How surely each trigger and the title was said; several words count for more than one."""
    for trigger in procedure.triggers:
        for phrase in _QUOTED.findall(trigger):
            if heard.says(phrase):
                yield 0.95, f'"{phrase}" was said'
        for part in pattern("ways").split(_QUOTED.sub(",", trigger)):
            share, found = heard.share(part)
            if share > ENOUGH:
                yield _surety(share, found), f"trigger: {', '.join(found)}"
    share, found = heard.share(procedure.title)
    if share > ENOUGH:
        yield 0.9 * _surety(share, found), f"title: {', '.join(found)}"


def _surety(share: float, found: list[str]) -> float:
    # One word alone can be chance.
    return share * len(found) / (len(found) + 0.5)


def times_of(trigger: str) -> tuple[time, frozenset[int]] | None:
    """Return the time of day and weekdays (0 is Monday) of a trigger; raises InputError for an impossible time."""
    clock, days = _CLOCK.search(trigger), [*pattern("weekday").finditer(trigger)]
    if clock is None or not (days or pattern("daily").search(trigger)):
        return None
    if int(clock[1]) > 23 or int(clock[2]) > 59:
        raise InputError(f"there is no time {clock[0]}", hint="write it like 03:00")
    named = {LEXICON.listed("days").index(day[1][:3].lower()) for day in days if day[1]}
    week = range(5) if any(not day[1] for day in days) else () if named else range(7)
    return time(int(clock[1]), int(clock[2])), frozenset({*named, *week})


def due(procedures: Iterable[Procedure], now: datetime, last: Mapping[str, datetime] = EMPTY) -> list[DueProcedure]:
    """Return procedures that became due since they were last done (`last`, by name), or else today.

    Times of day are in the zone of `now`.
    """
    found = []
    for procedure in procedures:
        at = None if procedure.is_retired else _latest(procedure, now)
        since = last.get(procedure.name, now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(seconds=1))
        if at and at > since:
            found.append(DueProcedure(procedure=procedure, at=at))
    return sorted(found, key=lambda each: (each.at, each.procedure.name))


def _latest(procedure: Procedure, now: datetime) -> datetime | None:
    """The last moment, up to now, at which it was to be done."""
    moments = []
    for trigger in procedure.triggers:
        try:
            schedule = times_of(trigger)
        except InputError:
            continue
        if schedule:
            days = (now.date() - timedelta(days=back) for back in range(8))
            moments += [datetime.combine(day, schedule[0], now.tzinfo) for day in days if day.weekday() in schedule[1]]
    return max((moment for moment in moments if moment <= now), default=None)


# What a lesson changes: a skill is made, or one that is like it gets what it lacks. Pure.

ALIKE = 0.6
"""Two texts are the same step if one has all content words of the other, which has this share of its own."""
SHARED = 0.5
"""Which share of the steps of the shorter one two procedures with the same title must have in common to be one."""


_DOER = re.compile(r" \([^()]+\)$")
"""Who does a step, which does not make it another one."""


@frozen
class ProcedureChange:
    """A change to make: `procedure` as it will be, replacing the one called `before`, if any."""

    procedure: Procedure
    before: str | None
    lesson: SkillLesson
    why: str


def intend(lesson: SkillLesson, procedures: Iterable[Procedure], day: str) -> ProcedureChange | None:
    """Return the change that a lesson calls for; None if it fits a retired skill, or went badly and fits none."""
    same = similar(lesson, procedures)
    if same:
        why = f"it went badly: {lesson.trouble}" if lesson.trouble else "it was done again"
        after = refined(same, lesson, day)
        return None if after == same else ProcedureChange(procedure=after, before=same.name, lesson=lesson, why=why)
    if lesson.trouble:
        return None
    made = Procedure(
        name="",
        path="",
        title=lesson.title,
        triggers=(lesson.trigger,),
        steps=tuple(Step(number=at, text=text) for at, text in enumerate(lesson.steps, 1)),
        learned_from=lesson.sources,
    )
    return ProcedureChange(procedure=made, before=None, lesson=lesson, why="it went well")


def similar(lesson: SkillLesson, procedures: Iterable[Procedure]) -> Procedure | None:
    """Return the procedure that a lesson is about: it shares all its steps, or its title and half of its steps."""
    for known in procedures:
        is_named = alike(lesson.title, known.title)
        if not known.steps or not (is_named or len(known.steps) == len(lesson.steps)):
            continue
        common = sum(any(alike(new, step.text) for step in known.steps) for new in lesson.steps)
        fewest = min(len(known.steps), len(lesson.steps))
        if common >= (SHARED * fewest if is_named else fewest) or (lesson.trouble and is_named):
            return known
    return None


def refined(procedure: Procedure, lesson: SkillLesson, day: str) -> Procedure:
    """Add a lesson to a skill; if it adds nothing, only its sources are added. A retired skill stays unchanged."""
    if procedure.is_retired:
        return procedure
    if lesson.trouble:
        name = lesson.trouble.replace(":", ",")
        told = {name: f"seen in {lesson.sources[0]}; look at this before going on"}
        return replace(procedure, errors={**told, **procedure.errors})
    steps = _merged(procedure.steps, lesson.steps)
    sources = tuple(dict.fromkeys((*procedure.learned_from, *lesson.sources)))
    if len(steps) == len(procedure.steps):
        return replace(procedure, learned_from=sources)
    known = {each.text for each in procedure.steps}
    added = "; ".join(step.text for step in steps if step.text not in known)
    version = bumped(procedure.version)
    line = Refinement(at=day, version=version, kind="learned", text=f"added: {added}"[:300])
    return replace(procedure, steps=steps, learned_from=sources, version=version, history=(*procedure.history, line))


def bumped(version: str) -> str:
    """The version after this one."""
    match = re.fullmatch(r"(.*\.)(\d+)", version)
    return f"{match[1]}{int(match[2]) + 1}" if match else f"{version}.1"


def alike(one: str, other: str) -> bool:
    """Whether two short texts say the same: one has all content words of the other, which has most of its own."""
    # In both directions: a short text is often a part of a long one about something else.
    one, other = (_DOER.sub("", each) for each in (one, other))
    shares = sorted((_heard(one).share(other)[0], _heard(other).share(one)[0]))
    return shares[0] >= ALIKE and shares[1] == 1


def _merged(steps: tuple[Step, ...], told: Iterable[str]) -> tuple[Step, ...]:
    """Insert the steps that only the lesson has, each after the step that it followed there."""
    merged, at = [*steps], 0
    for text in told:
        # Known steps anchor the new ones: these come behind the last anchor.
        same = next((place for place, step in enumerate(merged) if alike(text, step.text)), None)
        if same is None:
            merged.insert(at, Step(number=0, text=text))
        at = (at if same is None else same) + 1
    return tuple(replace(step, number=place) for place, step in enumerate(merged, 1))


_heard = lru_cache(maxsize=128)(StemmedText)


# What people tell in prose about how something is done: told in two conversations, it teaches a procedure. Pure.

TOLD_ALIKE = 0.34
"""The share of content words that makes another step the same step in other words."""
_SHORTEST, _LONGEST = 60, 4_000
"""Shortest and longest turn, in characters, that can describe a procedure."""
_SUBJECT = 4
"""How many words may come before the verb of a step."""


class Account(NamedTuple):
    """A turn that describes, in order, how something is done; `goal` is its purpose, if stated."""

    turn: MemoryItem
    steps: tuple[str, ...]
    goal: str


def lessons_told_twice(
    episodes: Iterable[Sequence[MemoryItem]], is_known: Callable[[str], bool]
) -> Iterator[SkillLesson]:
    """Yield what was described in at least two conversations, in the longest version, the latest if tied."""
    before: list[Account] = []
    for account in (found for turns in episodes for turn in turns if (found := account_of(turn))):
        same = [each for each in before if each.turn.session != account.turn.session and is_same(each, account)]
        before.append(account)
        goal = max((each.goal for each in (*same, account)), key=lambda goal: bool(goal) + (" " in goal), default="")
        if same and goal and not is_known(account.turn.id):
            sources = (account.turn.id, *(each.turn.id for each in same))
            fullest = max((*same, account), key=lambda each: (len(each.steps), each.turn.created_at))
            yield SkillLesson(title=goal, trigger=goal, steps=fullest.steps, sources=sources)


def account_of(turn: MemoryItem) -> Account | None:
    """Return the account in a person's turn; None if there is none."""
    is_told = turn.role in ("user", "human") and turn.origin is not Origin.UNTRUSTED and turn.session
    if not is_told or not _SHORTEST <= len(turn.content) <= _LONGEST:
        return None
    told = [each for line in readable(turn.content) for each in sentences(line) if not each.endswith("?")]
    steps = [step for sentence in told for part in pattern("parts").split(sentence) if (step := _step(part or ""))]
    if not FEWEST <= len(steps) <= MOST or is_secret(turn.content) or not pattern("ordered").search(turn.content):
        return None
    found = pattern("goal").search(turn.content)
    goal = next((each.strip() for each in found.groups() if each), "") if found else ""
    # `Do a release of Lantern` is what the steps are for, not one of them.
    is_goal = re.compile(rf"(?i)(?:(?:do|make) .*)?{re.escape(goal)}") if goal else None
    done = dict.fromkeys(step for step in steps if is_goal is None or not is_goal.match(step))
    what = re.search(rf"{re.escape(goal)} (?:of|for) (?:[A-Z]\w+ ?)+", turn.content) if goal else None
    goal = pattern("article").sub("", what[0].strip() if what else goal)
    return Account(turn, tuple(done), goal[:1].upper() + goal[1:])


def is_same(one: Account, other: Account) -> bool:
    """Whether two accounts describe the same: enough steps of the shorter one are in the other."""
    shorter, longer = sorted((one.steps, other.steps), key=len)
    heard = [StemmedText(step) for step in longer]
    common = sum(any(_share(step, each) for each in heard) for step in shorter)
    return common >= max(FEWEST, SHARED * len(shorter))


def _share(step: str, heard: StemmedText) -> bool:
    share, found = heard.share(step)
    return share >= TOLD_ALIKE and len(found) >= min(2, len(terms(step)))


def _step(part: str) -> str:
    """A part of a sentence as something to do: `Hamish runs the smoke test` as `Run the smoke test`."""
    bare = pattern("leading").sub("", part.strip(" .,;:!*-"), count=1)
    # What is done on one day is news, and no step.
    is_none = pattern("no_step").search(bare) or names_relative_day(bare)
    tokens = [] if is_none else bare.split()
    for place, token in enumerate(tokens[: _SUBJECT + 1]):
        low = re.sub(r"\W+$", "", token.lower())
        base = verb_of(low) or verb_of(lemma_of(low)) or ("do" if place and lemma_of(low) == "do" else "")
        if base and (not place or _may_do(tokens[:place], low)):
            rest = " ".join(tokens[place + 1 :])
            if len(rest) <= 1 or (base in words("talk") and pattern("to_somebody").match(rest)):
                return ""
            return f"{base.capitalize()} {rest}"[:LONGEST] + _doer(tokens[:place])
    return ""


def _doer(subject: Sequence[str]) -> str:
    """Who does a step, behind it; nothing where that is the speaker or nobody in particular."""
    who = " ".join(subject)
    is_named = who and (who[0].isupper() or who.startswith(("the ", "our "))) and who.lower() not in words("anybody")
    return f" ({who})" if is_named else ""


def _may_do(subject: Sequence[str], verb: str) -> bool:
    """Whether these words can be who does something: I, we, a name, or something with an article before its verb."""
    first = subject[0]
    if first.lower() in words("doers"):
        return len(subject) <= 2
    is_named = first[:1].isupper() or first.lower() in ("the", "our", "my")
    return is_named and (verb != verb_of(verb) or verb in words("unchanged"))


# The procedures of one agent as a small object: the pages are the truth, and each verb is one change of one page.

BY = Attribution(actor="bot:procedures", trigger="procedure")
LEARNER = Attribution(actor="bot:procedures", trigger="learn")
KINDS = ("optimization", "bugfix", "adaptation")
LATELY = 2000
"""How many memories are looked at for something to learn, the latest."""
LONGEST_TITLE = 200
_LISTS = ("triggers", "preconditions", "postconditions", "notes", "learned_from")
_CHANGEABLE = ("title", "form", "description", "steps", "tree", "errors", "timeout", *_LISTS)
_STARTS = re.compile(r"^ {0,2}1[.)] ", re.MULTILINE)

Edit = Callable[[Procedure], Procedure]


class Procedures:
    """The procedures of one agent. `actions` are the functions that steps may name, by their names."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str, *, model: Model | None = None) -> None:
        self._vault = vault
        self._searcher = searcher
        self._model = model
        self._agent = agent
        self._folder = f"{agent_root(agent)}/memory/procedures"
        self._read: dict[str, Procedure] = {}
        self.actions: dict[str, Callable[..., Any]] = {}

    def register(self, action: str, function: Callable[..., Any]) -> None:
        """Let steps name a function; only functions that are registered are ever called."""
        if not re.fullmatch(r"[\w.-]+", check_string("action", action)):
            raise InputError(f"{action[:40]!r} is no name of an action", hint="use letters, digits, ., _ and -")
        if not callable(function):
            raise InputError(f"{action} is a {type(function).__name__}, no function", hint="pass a function")
        self.actions[action] = function

    def list(self, *, retired: bool = False) -> builtins.list[Procedure]:
        """All that are in use, by name; with `retired` those too that are not."""
        # A page that was just saved in an editor counts.
        self._vault.refresh()
        paths = sorted(path for path in self._vault.states() if re.fullmatch(rf"{self._folder}/[^/]+\.md", path))
        found = [each for path in paths if (each := self._at(path))]
        return [each for each in found if retired or not each.is_retired]

    def get(self, name: str) -> Procedure:
        """A procedure, by the name of its page or by its title."""
        wanted = check_string("name", name).strip().removesuffix(".md").casefold()
        known = self.list(retired=True)
        # The name of a page is unique, a title need not be.
        for key in ("name", "title"):
            for each in known:
                if getattr(each, key).casefold() == wanted:
                    return each
        hint = nearest(wanted, [each.name for each in known]) if known else "`memfolio procedure add` makes one"
        raise NotFoundError(f"there is no procedure {name[:60]!r}", hint=hint)

    def match(self, text: str, limit: int = 5) -> builtins.list[ProcedureMatch]:
        """Return procedures that match what somebody says, the most likely first."""
        return match(self.list(), text, limit=check_number("limit", limit, 1, 100))

    def due(self, now: datetime | None = None, last: Mapping[str, datetime] = EMPTY) -> builtins.list[DueProcedure]:
        """Return procedures that became due since they were last done (`last`, by name), or else today."""
        return due(self.list(), (now or self._vault.home.now()).astimezone(self._vault.home.zone), last)

    def decide(self, name: str, answers: Mapping[str, Any] | Sequence[Any] = ()) -> trees.TreeDecision:
        """Follow a decision tree with the given answers."""
        procedure = self.get(name)
        if procedure.tree is None:
            raise InputError(f"{procedure.name} has no decision tree", hint="`memfolio procedure list` says which have")
        return trees.decide(procedure.tree, answers)

    def problems(self) -> builtins.list[str]:
        """Return the problems of all pages; unknown actions count only once functions are registered."""
        return [f"{each.path}: {problem}" for each in self.list(retired=True) for problem in self._problems(each)]

    def forgotten(self, name: str) -> builtins.list[str]:
        """The memories that a procedure was learned from and that were forgotten since; its page keeps their words."""
        known = self._searcher.known(set(self.get(name).learned_from))
        return sorted(each for each, item in known.items() if item.forgotten_at)

    def add(self, title: str, *, by: Attribution = BY, dry_run: bool = False, **parts: Any) -> Procedure:
        """Create a page. `parts` are steps or a tree, form, triggers and the other fields of a procedure.

        A step is a text; lines such as `- action: notify(channel=dev)` below the first are its fields.
        """
        given = _checked({"title": title, "form": "decision" if parts.get("tree") else "skill", **parts})
        if not (given.get("steps") or given.get("tree")):
            raise InputError("there are no steps, and no tree", hint="say how it is done, step by step")
        return self._made(given, by, dry_run=dry_run)

    def update(
        self,
        name: str,
        *,
        reason: str,
        kind: str = "adaptation",
        by: Attribution = BY,
        dry_run: bool = False,
        **changes: Any,
    ) -> Procedure:
        """Change parts of a procedure: its version goes up, and its history says why (optimization, bugfix, …)."""
        given = _checked(changes)
        check_known("unknown kind of change", [kind], KINDS)
        if not given or not check_string("reason", reason).strip():
            raise InputError("nothing is to be changed, or no reason is given", hint=f"change {', '.join(_CHANGEABLE)}")
        return self._edit(name, partial(self._noted, given, kind, _line("reason", reason)), by, dry_run=dry_run)

    def retire(self, name: str, reason: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a procedure out of use; its page stays."""
        told = _line("reason", reason) or "retired"
        return self._edit(name, partial(self._noted, {"is_retired": True}, "retired", told), by, dry_run=dry_run)

    def restore(self, name: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a retired procedure into use again."""
        change = partial(self._noted, {"is_retired": False}, "restored", "in use again")
        return self._edit(name, change, by, dry_run=dry_run)

    def learn(
        self, *, since: datetime | None = None, by: Attribution = LEARNER, dry_run: bool = False
    ) -> builtins.list[ProcedureChange]:
        """Learn from recent episodes, or from conversations that continued since a moment.

        Each lesson is one change. The audit trail shows what was learned from, so that no lesson is learned twice,
        even if its page was deleted.
        """
        wanted = Filter(forms=("memory",), include=(QUARANTINED,))
        told = self._searcher.index.read(lambda connection: newest(connection, wanted, LATELY))
        episodes = episodes_of(told)
        recent = [turns for turns in episodes if since is None or turns[-1].created_at >= since]
        known = {each.name: each for each in self.list(retired=True)}
        done: builtins.list[ProcedureChange] = []
        # What was told twice may have been told first long before.
        for lesson in chain(
            lessons(recent, self._is_learned, self._model), lessons_told_twice(episodes, self._is_learned)
        ):
            intent = intend(lesson, known.values(), self._today())
            if intent is None:
                continue
            # Words that no page can hold teach nothing; what somebody else learned or deleted meanwhile is theirs.
            with suppress(InputError, ConflictError, NotFoundError):
                made = self._learned(intent, by, dry_run=dry_run)
                known[made.name] = made
                done.append(replace(intent, procedure=made))
        return done

    def _learned(self, intent: ProcedureChange, by: Attribution, *, dry_run: bool) -> Procedure:
        lesson, mark = intent.lesson, self._mark(intent.lesson.sources[0])
        if intent.before is None:
            names = ("title", "steps", "triggers", "learned_from")
            given = _checked({name: getattr(intent.procedure, name) for name in names})
            return self._made(given, by, dry_run=dry_run, mark=mark)
        if dry_run:  # it may be one that only this dry run knows
            return intent.procedure

        def change(before: Procedure) -> Procedure:
            # Judged by the page as it is under the lock, not by that of which the lesson was compared.
            if (after := refined(before, lesson, self._today())) == before:
                raise ConflictError(f"{before.name} says this already", hint="there is nothing to learn")
            return after

        return self._edit(intent.before, change, by, dry_run=dry_run, mark=mark)

    def _is_learned(self, source: str) -> bool:
        return self._vault.was_made(self._mark(source)) is not None

    def _mark(self, source: str) -> str:
        """Return the idempotency key under which a memory's lesson is learned once."""
        return self._vault.home.key_mark(self._agent, f"procedure {source}")

    def _noted(self, given: Mapping[str, Any], kind: str, reason: str, before: Procedure) -> Procedure:
        """A procedure with other parts, and a line in its history."""
        after = replace(before, **given)
        # To retire or restore changes nothing of how it is done.
        version = bumped(before.version) if kind in KINDS else before.version
        line = Refinement(at=self._today(), version=version, kind=kind, text=reason)
        return before if after == before else replace(after, version=version, history=(*before.history, line))

    def _made(self, given: Mapping[str, Any], by: Attribution, *, dry_run: bool, mark: str | None = None) -> Procedure:
        def compose() -> tuple[Procedure, Change]:
            path = self._free(given["title"])
            made = Procedure(**given, name=path.rpartition("/")[2].removesuffix(".md"), path=path)
            put = PutPage(path, to_bytes(_sound(made, render(made))), None)
            return made, Change(operations=(put,), by=check_attribution(by), action=Action.CREATE, key=mark)

        return self._done(compose, dry_run=dry_run)

    def _edit(self, name: str, change: Edit, by: Attribution, *, dry_run: bool, mark: str | None = None) -> Procedure:
        path = self.get(name).path

        def compose() -> tuple[Procedure, Change | None]:
            found = self._vault.page(path)
            if found is None:
                raise NotFoundError(f"{path} is gone", hint="`memfolio procedure list` shows those that are there")
            page = ProcedurePage(path, to_text(found.content))
            after = change(page.procedure)
            if after == page.procedure:
                return after, None
            put = PutPage(path, to_bytes(_sound(after, page.editing(after))), found.hash)
            return after, Change(operations=(put,), by=check_attribution(by), action=Action.EDIT, key=mark)

        return self._done(compose, dry_run=dry_run)

    def _done(self, compose: Callable[[], tuple[Procedure, Change | None]], *, dry_run: bool) -> Procedure:
        made, _, receipt = make(self._vault, compose, dry_run=dry_run)
        if receipt and receipt.repeated:
            raise ConflictError("this was learned before", hint="`memfolio procedure list` shows what was learned")
        return (self._at(made.path) or made) if receipt else made

    def _today(self) -> str:
        return self._vault.home.now().astimezone(self._vault.home.zone).date().isoformat()

    def _at(self, path: str) -> Procedure | None:
        """Return the procedure on a page; the page is parsed again when it has changed."""
        page = self._vault.page(path)
        if page is None:
            return None
        known = self._read.get(path)
        if known is None or known.hash != page.hash:
            known = replace(read(path, without_surrogates(to_text(page.content))), hash=page.hash)
            self._read[path] = known
        return known

    def _free(self, title: str) -> str:
        """The path of a page that is not there yet."""
        base = slug(title)
        try:
            check_path(f"{self._folder}/{base}.md")
        except PathError:
            # Some names, such as con or aux, cannot be files on every system.
            base = f"to-{base}"
        name = free_name(base, lambda name: self._vault.page(f"{self._folder}/{name}.md") is None)
        return f"{self._folder}/{name}.md"

    def _problems(self, procedure: Procedure) -> Iterable[str]:
        yield from procedure.problems
        for step in procedure.steps if self.actions else ():
            if step.action and step.action not in self.actions:
                yield f"step {step.number} names the action {step.action[:60]!r}, which nobody registered"
        for trigger in procedure.triggers:
            try:
                times_of(trigger)
            except InputError as error:
                yield f"the trigger {trigger[:60]!r}: {error.message}"


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the given parts of a procedure to its field types; None counts as not given."""
    check_known("a procedure has no", given, _CHANGEABLE)
    return {name: _part(name, value) for name, value in given.items() if value is not None}


def _part(name: str, value: Any) -> Any:
    if name == "form":
        return choose(ProcedureForm, name, value)
    if name == "steps":
        return _steps(value)
    if name == "tree":
        return value if isinstance(value, Branch) else _read_back(f"## Tree\n{check_string(name, value)}").tree
    if name == "timeout":
        return value if isinstance(value, timedelta) else read_span(check_string(name, value))
    if name == "errors":
        return {_line(name, key): _line(name, each) for key, each in dict(value).items()}
    if name in _LISTS:
        return tuple(filter(None, (_line(name, each) for each in texts_of(name, value))))
    line = _line(name, value)
    if name == "title" and not 0 < len(line) <= LONGEST_TITLE:
        raise InputError("a procedure needs a title", hint=f"give one of at most {LONGEST_TITLE} characters")
    return line


def _line(name: str, value: object) -> str:
    return " ".join(without_surrogates(check_string(name, value)).split())


def _steps(given: str | Iterable[Step | str]) -> tuple[Step, ...]:
    """Parse steps, given as the text of a page, numbered or one per line, or as a list."""
    if isinstance(given, str) and _STARTS.search(given):
        return _read_back(f"## Steps\n{given}").steps
    listed = [line for line in given.splitlines() if line.strip()] if isinstance(given, str) else given
    return tuple(replace(_one_step(each), number=at) for at, each in enumerate(listed, 1))


def _one_step(given: Step | str) -> Step:
    if isinstance(given, Step):  # whether a page can say it is seen when the page is made
        return given
    lines = check_string("a step", given).strip().splitlines()
    [step] = _read_back("\n   ".join(["## Steps\n1. " + "".join(lines[:1]), *lines[1:]])).steps
    return step


def _read_back(section: str) -> Procedure:
    found = read("given.md", f"# given\n\n{section}\n")
    if found.problems:
        raise InputError(f"this makes no sense: {found.problems[0].partition(': ')[2]}", hint="see docs/procedures.md")
    return found


def _sound(procedure: Procedure, page: str) -> str:
    """Return the page if reading it back gives the same procedure."""
    again = read(procedure.path, page)
    names = (each.name for each in fields(again) if each.compare and each.name != "problems")
    wrong = next((name for name in names if getattr(again, name) != getattr(procedure, name)), None)
    if wrong:
        hint = again.problems[0] if again.problems else "use plain lines without Markdown marks"
        raise InputError(f"the {wrong} cannot be written like this", hint=hint)
    return page
