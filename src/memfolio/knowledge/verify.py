"""Fact verification by several methods, and hypotheses about further facts, which are never stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from memfolio.arguments import choose
from memfolio.errors import ConflictError, InputError
from memfolio.index.facts import VERIFY, Fact, in_words, linked
from memfolio.index.rows import from_us
from memfolio.index.search import Filter
from memfolio.knowledge.facts import ANY, Facts
from memfolio.knowledge.inference import abduce
from memfolio.knowledge.join import Atom, MemoryRelations, Triple, rule_label
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.rule import Condition, Rule, is_variable, variables
from memfolio.llm.model import Model
from memfolio.llm.prompt import are_words_of, is_grounded, occurs
from memfolio.recall.query import Query, check_number
from memfolio.recall.searcher import Searcher
from memfolio.text import counted, packaged_text, single_line, terms
from memfolio.types import Attribution, MemoryItem, Origin, frozen
from memfolio.vault.vault import Vault

# Whether a fact stands: asked of the person, of other sources, of the calendar, or of the other facts.
#
# A verification is noted with the fact. It never deletes one, and changes how sure it is only when asked to.

CONSISTENT = 0.9
"""How sure a fact is that nothing contradicts."""
FRESH = timedelta(days=180)
"""How long a fact stays fresh after it was stated or confirmed."""
SAMPLE = 1000
"""How many facts are looked at to see how a predicate is used."""
SINGLE = 3
"""So many other subjects with one object each show that a predicate has one object for each subject."""
RELATED = 20
"""How many memories a text brings to mind."""
_DENIAL = re.compile(r"\b(?:not|never|no longer|none|neither|nor|without|\w+n['’]t)\b")


class VerificationMethod(StrEnum):
    """How a fact is verified."""

    USER_CONFIRMATION = "user_confirmation"
    CROSS_REFERENCE = "cross_reference"
    TEMPORAL_CHECK = "temporal_check"
    CONSISTENCY_CHECK = "consistency_check"


TELLING = (VerificationMethod.USER_CONFIRMATION, VerificationMethod.CROSS_REFERENCE)
"""The methods that bring somebody's word; that nothing speaks against a fact does not speak for it."""


@frozen
class Evidence:
    """What a verification checks beside other facts."""

    memories: Callable[[str], Iterable[MemoryItem]] = lambda _: ()
    """The memories that a text brings to mind."""
    violations: Callable[[Fact], Iterable[str]] = lambda _: ()
    """Return violated constraints of a fact, each as a sentence."""
    functional: Collection[str] = ()
    """Predicates that have one object for each subject."""


@frozen
class Verification:
    """The result of a verification. `confidence` is that of the check, not the one stored with the fact."""

    verified: bool
    confidence: float
    reason: str
    method: VerificationMethod = VerificationMethod.USER_CONFIRMATION
    contradictions: tuple[Fact, ...] = ()
    supports: tuple[str, ...] = ()
    """The ids of the facts and memories that say the same."""


def verify(
    facts: Facts,
    id: str,
    method: VerificationMethod | str,
    *,
    now: datetime,
    by: Attribution,
    confirmed: bool | None = None,
    evidence: Evidence | None = None,
    adjust: bool = False,
) -> Verification:
    """Verify a fact and record the outcome; with `adjust`, the outcome changes the confidence of the fact.

    If the check fails, the fact becomes as uncertain as the check; only a person's word and other sources raise its
    confidence. `confirmed` is the person's answer, needed by `user_confirmation` only.
    """
    fact, chosen = facts.get(id), choose(VerificationMethod, "method", method)
    if fact.is_derived:
        raise ConflictError(
            f"{str(fact)[:80]!r} follows from other facts", hint="verify those; `fact explain` shows them"
        )
    evidence = evidence or Evidence()
    match chosen:
        case VerificationMethod.USER_CONFIRMATION:
            found = _confirm(fact, confirmed, by)
        case VerificationMethod.CROSS_REFERENCE:
            found = _cross_reference(fact, facts, evidence)
        case VerificationMethod.TEMPORAL_CHECK:
            found = _check_times(fact, _last_told(fact, facts), now)
        case VerificationMethod.CONSISTENCY_CHECK:
            found = _check_consistency(fact, facts, evidence)
    # That nothing contradicts a fact does not make it surer.
    surest = max(fact.confidence, found.confidence) if chosen in TELLING else fact.confidence
    adjusted = surest if found.verified else min(fact.confidence, found.confidence)
    facts.note_verification(fact, chosen.value, found.verified, adjusted if adjust else None, by)
    return replace(found, method=chosen)


def related_memories(vault: Vault, searcher: Searcher, text: str, form: str = "memory") -> list[MemoryItem]:
    """The memories, or with another form the facts or cases, that a text brings to mind, best first."""
    wanted, home = Filter(forms=(form,)), vault.home
    query = Query(text=text, limit=RELATED, depth=0, filter=wanted, now=home.now(), zone=home.zone)
    return [hit.memory for hit in searcher.recall(query)]


def exact_facts(facts: Facts, *triple: str | None, when: str | None = ANY) -> list[Fact]:
    """Return the facts with this subject, predicate and object, as far as given; wildcards are matched literally."""
    found = facts.query(*triple, valid_at=when, limit=SAMPLE)
    return [each for each in found if all(want in (None, own) for own, want in zip(each.triple, triple, strict=False))]


def contradicting(fact: Fact, facts: Facts, functional: Collection[str] = ()) -> list[Fact]:
    """The facts that cannot be true together with one, at times at which both are said to hold."""
    rivals = [
        each for each in exact_facts(facts, fact.subject, fact.predicate) if not _is_same(each.object, fact.object)
    ]
    # Somebody can like tea and coffee; only true and false exclude each other everywhere.
    if rivals and not _is_functional(fact, facts, functional):
        rivals = [each for each in rivals if {_kind(each.object), _kind(fact.object)} == {LiteralKind.BOOLEAN}]
    twins = [each for name in negations(fact.predicate) for each in exact_facts(facts, fact.subject, name, fact.object)]
    start, end = fact.span
    return [each for each in (*rivals, *twins) if each.span[0] < end and start < each.span[1]]


def _confirm(fact: Fact, confirmed: bool | None, by: Attribution) -> Verification:
    """Take the person's answer; who only passes it on makes the fact no surer, and no less sure."""
    if not isinstance(confirmed, bool):
        raise InputError(f"nobody has said whether {str(fact)[:80]!r} is so", hint="ask the person, and pass confirmed")
    answer = "confirmed it" if confirmed else "says that it is not so"
    if by.actor != "human":
        reason = f"{by.actor} reports that the person {answer}"
        return Verification(verified=confirmed, confidence=fact.confidence, reason=reason)
    return Verification(verified=confirmed, confidence=float(confirmed), reason=f"the person {answer}")


def _cross_reference(fact: Fact, facts: Facts, evidence: Evidence) -> Verification:
    """Look for independent sources that say the same; each counts once, and the fact's own sources do not count."""
    own, sources = frozenset(linked(fact)), dict[str, str]()
    for each in (
        *exact_facts(facts, fact.subject, fact.predicate),
        *exact_facts(facts, None, fact.predicate, fact.object),
    ):
        is_same = each.subject.casefold() == fact.subject.casefold() and _is_same(each.object, fact.object)
        if is_same and each.source != fact.source and not each.is_derived and each.origin != Origin.UNTRUSTED:
            sources.setdefault(each.source, each.id)
    for memory in evidence.memories(fact.sentence):
        # What the fact was made of, or what was made of the same, is no second source.
        if memory.id not in own and own.isdisjoint(memory.derived_from) and _tells(memory, fact):
            # A conversation counts once, however often it was said there.
            sources.setdefault(memory.session or memory.id, memory.id)
    return Verification(
        verified=bool(sources),
        # Each source that is independent halves the doubt.
        confidence=1 - 0.5 ** (len(sources) + 1),
        supports=tuple(sources.values()),
        reason=f"beside its own, {counted(len(sources), 'source')} told it" if sources else "no other source tells it",
    )


def _last_told(fact: Fact, facts: Facts) -> datetime:
    """Return when the fact was last stated or confirmed; a check that found nothing against it does not refresh it."""
    last_us = fact.created_us
    for entry in facts.history(fact.id):
        noted = json.loads(entry.said.more or "{}")
        if entry.op != VERIFY or (noted.get("verified") and noted.get("method") in TELLING):
            last_us = entry.known_us
    return from_us(last_us)


def _check_times(fact: Fact, seen: datetime, now: datetime) -> Verification:
    when = f"last told or confirmed on {seen:%Y-%m-%d}"
    if fact.valid_from and fact.valid_from > now:
        confidence, reason = 0.0, f"it holds only from {fact.valid_from:%Y-%m-%d} on"
    elif fact.valid_until and fact.valid_until <= now:
        confidence, reason = 0.0, f"it held only until {fact.valid_until:%Y-%m-%d}"
    elif now - seen > FRESH:
        confidence, reason = CONSISTENT * (FRESH / (now - seen)), f"it is stale: {when}"
    else:
        confidence, reason = CONSISTENT, f"it holds, and was {when}"
    return Verification(verified=confidence == CONSISTENT, confidence=confidence, reason=reason)


def _check_consistency(fact: Fact, facts: Facts, evidence: Evidence) -> Verification:
    against, broken = contradicting(fact, facts, evidence.functional), [*evidence.violations(fact)]
    count, summary = len(against) + len(broken), "; ".join([*map(str, against), *broken][:5])
    return Verification(
        verified=not count,
        confidence=1 / (1 + count) if count else CONSISTENT,
        contradictions=tuple(against),
        reason=f"against it: {summary}" if count else "nothing that is known contradicts it",
    )


def _is_functional(fact: Fact, facts: Facts, declared: Collection[str]) -> bool:
    """Whether a predicate has one object for each subject: declared so, or never used otherwise elsewhere."""
    pairs = {(each.subject, each.object) for each in exact_facts(facts, None, fact.predicate)}
    subjects = [subject for subject, _ in pairs if subject != fact.subject]
    return fact.predicate in declared or (len(subjects) >= SINGLE and len(set(subjects)) == len(subjects))


def negations(predicate: str) -> Iterator[str]:
    """How the opposite of a predicate may be written: that of `likes` is `not_likes`, `not-likes` or `notLikes`."""
    if bare := re.fullmatch(r"not[_-](.+)|not([A-Z].*)", predicate):
        yield bare[1] or bare[2][0].lower() + bare[2][1:]
    else:
        yield from (f"not_{predicate}", f"not-{predicate}", f"not{predicate[0].upper()}{predicate[1:]}")


def _is_same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold() or read_literal(one) == read_literal(other)


def _kind(value: str) -> LiteralKind:
    return read_literal(value).kind


def _tells(memory: MemoryItem, fact: Fact) -> bool:
    """Whether a memory states a fact: it has its subject, its object and a word of its predicate, and no denial."""
    text = memory.content.casefold()
    if memory.origin is Origin.UNTRUSTED or _DENIAL.search(text):
        return False
    predicate = terms(in_words(fact.predicate).casefold())
    is_related = not predicate or any(occurs(word, text) for word in predicate)
    return is_related and are_words_of(fact.subject, text) and are_words_of(fact.object, text)


# What might be so, given what is known: guesses for a person to look at, never facts.
#
# A language model is asked where there is one. What it answers is data: whatever is no triple, is known already, has
# nothing to do with what it was shown or names facts that do not exist is dropped. Without one, rules make the guesses.
# Nothing here is stored.

SURE = 0.5
"""How sure a guess is at most, compared with the facts it rests on."""
BARE = 0.1
"""How sure one is that rests on nothing."""
NEARBY = 100
"""How many facts a model is shown."""
MOST = 1000
"""From how many facts on no others are looked for."""
LONGEST = 200

TASK = packaged_text("knowledge/data/hypotheses.txt").strip()


@frozen
class Guess:
    """A hypothesis as a model gives it."""

    subject: str
    predicate: str
    object: str
    because: tuple[str, ...] = ()
    reason: str = ""


@frozen
class Guesses:
    """The answer expected from a model."""

    hypotheses: tuple[Guess, ...] = ()


@frozen
class GuessedFact:
    """A hypothetical fact, the facts it rests on, and who made it: `model:…` or `rule:…`."""

    subject: str
    predicate: str
    object: str
    confidence: float
    rests_on: tuple[str, ...]
    reason: str
    made_by: str
    source: str = "hypothesis"

    @property
    def triple(self) -> Triple:
        return self.subject, self.predicate, self.object


def relevant(facts: Facts, recalled: Iterable[str]) -> list[Fact]:
    """Return the valid facts about the terms of the recalled facts, and about their neighbours."""
    found, seen = dict[str, Fact](), set[str]()
    named = [facts.get(each) for each in recalled]
    # First what was recalled, then the neighbours of that.
    for _ in range(2):
        names = dict.fromkeys(name for each in named for name in (each.subject, each.object))
        for name in [each for each in names if each not in seen]:
            if len(found) >= MOST:
                break
            seen.add(name)
            about = (*exact_facts(facts, name, when=None), *exact_facts(facts, None, None, name, when=None))
            found |= {each.id: each for each in about}
        named = list(found.values())
    return named


def hypothesise(
    premise: str, known: Sequence[Fact], model: Model | None, *, rules: Iterable[Rule] = (), limit: int = 10
) -> list[GuessedFact]:
    """Return facts that might hold if a premise does, given related facts, the most certain first.

    Raises ModelError if a model is asked and gives no valid answer.
    """
    if not premise.strip():
        raise InputError("the premise is empty", hint="say what is supposed, such as: Acme moves to Berlin")
    check_number("limit", limit, 1, NEARBY)
    trusted = [each for each in known if each.origin != Origin.UNTRUSTED]
    if model is not None:
        found = list(_by_model(premise, trusted[:NEARBY], model, limit))
    else:
        found = list(_by_rules(premise, trusted, rules))
    there, once = {fact.triple for fact in trusted}, dict[Triple, GuessedFact]()
    for each in sorted(found, key=lambda each: (-each.confidence, each.triple)):
        if each.triple not in there:
            once.setdefault(each.triple, each)
    return list(once.values())[:limit]


def _by_model(premise: str, known: Sequence[Fact], model: Model, limit: int) -> Iterator[GuessedFact]:
    material = "\n".join(
        [f"premise: {single_line(premise)}", *(f"[{each.id}] {single_line(str(each))}" for each in known)]
    )
    answer = model.ask(TASK.format(limit=limit), material, Guesses)
    by_id = {each.id: each for each in known}
    for guess in answer.hypotheses:
        triple = single_line(guess.subject), guess.predicate.strip(), single_line(guess.object)
        # A model may make up names: both ends must occur in what it was shown.
        if _is_sound(triple) and is_grounded(f"{triple[0]} {triple[2]}", material):
            supports = [by_id[name] for name in dict.fromkeys(guess.because) if name in by_id]
            reason = single_line(guess.reason)[:LONGEST]
            yield _guess(triple, supports, reason if is_grounded(reason, material) else "", f"model:{model.name}")


def _by_rules(premise: str, known: Sequence[Fact], rules: Iterable[Rule]) -> Iterator[GuessedFact]:
    """Guess the one missing condition of a rule whose conclusion and other conditions are known.

    Either the guess or its conclusion must be about something that the premise names, and the guess about that or
    one of its neighbours. All facts about those are known, so that no known fact is guessed.
    """
    named = {
        name
        for fact in known
        for name in _ends(fact)
        if _kind(name) is LiteralKind.TEXT and are_words_of(name, premise)
    }
    near = {name for fact in known for name in _ends(fact) if not named.isdisjoint(_ends(fact))}
    held = MemoryRelations(Atom(place, *fact.triple, fact.confidence) for place, fact in enumerate(known))
    usable = [each for each in rules if each.enabled and each.conclusion is not None]
    for fact in known if named else ():
        for found in abduce(Condition(*fact.triple), held, usable, depth=1):
            missing = found.assumptions[0] if len(found.assumptions) == 1 else None
            if not isinstance(missing, Condition) or missing.negated or variables(missing.terms):
                continue
            ends = {missing.subject, missing.object}
            if len(ends) == 2 and ends & near and named & {*ends, *_ends(fact)}:
                supports = [fact, *(known[atom.key] for atom in found.supports)]
                reason = f"by the rule {rule_label(found.rule)} it would explain that {fact}"
                triple = missing.subject, missing.predicate, missing.object
                yield _guess(triple, supports, reason, f"rule:{found.rule.id}", found.rule.factor)


def _guess(triple: Triple, supports: Sequence[Fact], reason: str, made_by: str, share: float = 1.0) -> GuessedFact:
    subject, predicate, object_ = triple
    return GuessedFact(
        subject=subject,
        predicate=predicate,
        object=object_,
        confidence=SURE * share * min(each.confidence for each in supports) if supports else BARE,
        rests_on=tuple(each.id for each in supports),
        reason=reason,
        made_by=made_by,
    )


def _ends(fact: Fact) -> tuple[str, str]:
    return fact.subject, fact.object


def _is_sound(triple: Triple) -> bool:
    is_short = all(0 < len(each) <= LONGEST and not is_variable(each) for each in triple)
    return is_short and len(triple[1].split()) == 1
