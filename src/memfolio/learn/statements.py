"""Statements worth keeping, from clauses and whole sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from memfolio.learn.clauses import Clause, Who, uncapitalized
from memfolio.learn.learned import Statement
from memfolio.learn.words import LEXICON, Voice, as_third, lemma_of, names, pattern, tags_of, words
from memfolio.llm.prompt import gives_orders
from memfolio.types import DEFAULT_KINDS, Kind, Type, frozen

# The rules for what somebody does or is, as `data/rules.toml` has them.


@frozen
class Rule:
    """What it says that somebody does or is something; `starts` are words that may follow, an empty one anything."""

    predicate: str
    starts: tuple[str, ...] = ("",)
    who: str = ""
    """The values of `Who` that its subject may have."""
    type: Type = Type.FACT
    is_single: bool = False
    importance: float = 0.6
    tenses: str = ""
    """n: at present, p: past, g: under way, f: future."""
    topic: str = "fact"

    def start_of(self, tail: str) -> str | None:
        """The words of the rule with which `tail` begins; None if it begins otherwise."""
        low = tail.lower()
        for start in self.starts:
            # A word must end there; a price or a number may go on.
            if not start or (
                low.startswith(start) and (start[-1] in "$€£123456789" or not low[len(start) :][:1].isalnum())
            ):
                return start
        return None


Found = tuple[Rule, str]
"""The matching rule, and the words with which the rest of the clause begins."""


def _rule(starts: str, predicate: str, who: str, type_: str, tenses: str, weight: float, topic: str) -> Rule:
    return Rule(
        predicate=predicate.removeprefix("!"),
        starts=tuple(starts.split("|")),
        who=who,
        type=Type(type_),
        is_single=predicate.startswith("!"),
        importance=weight,
        tenses=tenses,
        topic=topic,
    )


@cache
def _rules_of_doing() -> Mapping[str, list[Rule]]:
    """By their verbs."""
    table: dict[str, list[Rule]] = {}
    for verbs, *row in LEXICON.table("rules")["doing"]:
        rule = _rule(*row)
        for verb in verbs.split():
            table.setdefault(verb, []).append(rule)
    return table


@cache
def _rules_of_being() -> list[Rule]:
    table = LEXICON.table("rules")["being"]
    return [_rule(starts, predicate, who, type_, "np", *rest) for starts, predicate, who, type_, *rest in table]


# What somebody or something is or has.

IDENTITY = Rule(predicate="is_a", importance=0.8, topic="identity")
AGE = Rule(predicate="age", importance=0.8, is_single=True, topic="age")


def being(said: Clause) -> Found | None:
    """Return the rule for what something is; None if that is not worth keeping."""
    if said.could or said.future:
        return None
    if favourite := pattern("favourite").search(said.subject):
        return None if pattern("judged").search(said.tail) else (_favourite(favourite), "")
    if attribute := pattern("attribute").search(said.subject):
        return _attribute(attribute), ""
    # The first rule that fits decides, so the order of the table counts.
    for rule in _rules_of_being():
        fits = said.who in rule.who and (rule.predicate != "member" or pattern("member").match(said.tail))
        if fits and (start := rule.start_of(said.tail)) is not None:
            return rule, start
    return _identity(said)


def _favourite(found: re.Match[str]) -> Rule:
    predicate = f"{'least_' if found['least'] else ''}favourite_{'_'.join(found['what'].lower().split())}"
    return Rule(predicate=predicate, is_single=True, type=Type.PREFERENCE, topic="preference")


def _attribute(found: re.Match[str]) -> Rule:
    predicate = "_".join(found["what"].lower().split())
    return Rule(predicate=predicate, importance=0.8, is_single=True, topic=predicate)


def _identity(said: Clause) -> Found | None:
    tail, is_thing = said.tail, said.who is Who.THING
    if is_thing and (said.past or said.resolved):
        return None
    if not is_thing and pattern("age").match(tail):
        return AGE, ""
    is_judged = pattern("judged").search(tail)
    if re.match(r"an? \w", tail):
        if pattern("no_thing").match(tail) or is_judged:
            return None
        if said.who in "sp" and pattern("stage_part").match(tail):
            return None
        return (IDENTITY if said.who in "sp" else Rule(predicate="is_a")), tail.split()[0]
    if said.who is Who.SELF and pattern("office").match(tail) and not is_judged:
        return IDENTITY, "the"
    # `I haven't been to Oslo`: no name.
    if said.who is Who.SELF and tail[:1].isupper() and not said.past and f" to {tail}" not in said.text:
        return _name_or_nation(tail)
    if said.who in "sw" or is_judged:
        return None
    return _identity_of_others(said, tail)


def _name_or_nation(tail: str) -> Found | None:
    first = re.split(r"[\s,]", tail, maxsplit=1)[0].lower()
    if first in words("languages"):
        return Rule(predicate="nationality", importance=0.8, is_single=True, topic="identity"), ""
    is_common = first in words("first_names")
    if not is_common and not re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:,.*)?", tail):
        return None
    return Rule(predicate="name", importance=0.8, is_single=is_common, topic="name"), ""


def _identity_of_others(said: Clause, tail: str) -> Found | None:
    if favourite := pattern("favourite_object").match(tail):
        return _favourite(favourite), ""
    if attribute := pattern("attribute").search(object_of(tail)):
        return _attribute(attribute), ""
    if re.match(r"(?:the|called|\S+'s) \w|the user's", tail) and not pattern("no_thing").match(tail[4:]):
        return Rule(predicate="is"), ""
    if pattern("house").search(said.subject) and pattern("located").match(tail):
        return Rule(predicate="located_in", is_single=True, topic="place"), tail.split()[0]
    if said.who is Who.PERSON and not said.resolved and pattern("somebody").fullmatch(tail):
        return Rule(predicate="is", importance=0.8, topic="name"), ""
    if said.who is Who.THING and (tail[:1].isupper() or tail[:1].isdigit() or pattern("when").match(tail)):
        return Rule(predicate="is", is_single=tail.split()[0].lower() not in words("times")), ""
    return None


def having(said: Clause) -> Found | None:
    """Return the rule for what somebody has."""
    tail = said.tail
    if said.verb != "have" or said.could or said.future or said.perfect or said.ongoing or said.past:
        return None
    if tail.startswith("to ") or not (pattern("counted").match(tail) or pattern("regular").search(tail)):
        return None
    if pattern("appointment").search(tail):
        return (Rule(predicate="plans", topic="plan"), "") if pattern("when").search(tail) else None
    if pattern("no_thing").match(tail) and not pattern("some_thing").match(tail):
        return None
    return Rule(predicate="has", topic="possession" if said.who is Who.SELF else "fact"), ""


# What somebody or something does, did, plans or has to do.


def doing(said: Clause) -> Found | None:
    """Return the rule for what is done; None if that is not worth keeping."""
    if said.verb == "stand" and said.negated and said.could:
        return Rule(predicate="dislikes", type=Type.PREFERENCE, topic="preference"), ""
    if said.verb == "mind":
        return None
    tense = _tense(said)
    # `we moved to Postgres` is no new home.
    to_tool = said.verb == "move" and any(word.lower() in names("tools") for word in said.tail.split())
    for rule in _rules_of_doing().get("migrate" if to_tool else said.verb, ()):
        if tense in rule.tenses and said.who in rule.who and (start := rule.start_of(said.tail)) is not None:
            return (rule, start) if _fits(rule, said) else None
    return None


def _tense(said: Clause) -> str:
    if said.ongoing or said.future:
        return "f" if said.future else "p" if said.past else "g"
    if said.perfect:
        is_lasting = " always " in said.text or " never " in said.text or pattern("lasting").search(said.tail)
        return "n" if is_lasting else "p"
    return "p" if said.past else "n"


def _fits(rule: Rule, said: Clause) -> bool:
    tail, predicate = said.tail, rule.predicate
    is_only_due = said.could and not said.negated and rule.type is not Type.PREFERENCE
    if is_only_due and not pattern("able").search(said.text):
        return False
    if not tail and predicate not in ("does", "graduated"):
        return False
    if (idle := LEXICON.table("rules")["idle"].get(predicate)) and not rule.starts[0] and said.who in "sp":
        return not pattern(idle).match(tail)
    if said.verb == "go" and predicate == "dislikes":
        return said.perfect and not pattern("left_for").match(tail[3:])
    if said.verb == "come" and predicate == "likes":
        return lemma_of(tail.split()[2]) != tail.split()[2]
    if said.verb == "do" and predicate == "responsible_for":
        return not pattern("chore").match(tail)
    if predicate == "lives_in" and tail.startswith("from "):
        return " to " in tail
    if predicate == "plans":
        # `I'll go alone then` says neither when nor where to.
        is_told = len(tail.split()) > 2 or said.verb in words("weighty_plans") or pattern("when").search(tail)
        return bool(is_told) and not (said.perfect or said.past) and not tail.endswith(" then")
    if predicate == "decided" and said.verb == "go" and pattern("with_somebody").match(tail):
        return False
    if predicate == "eats" and said.could:
        return False
    if predicate == "wants_to":
        return not pattern("asking").match(tail)
    if rule.type is Type.EVENT:
        is_planned = not (said.future or said.ongoing) or (not said.past and pattern("when").search(tail))
        return bool(is_planned) and not said.negated and len(tail) > 2 and not pattern("no_event").match(tail)
    if predicate in ("likes", "prefers") and said.could and not said.negated:
        return predicate == "prefers" and not tail.startswith("to ")
    return True


def task(said: Clause) -> Found | None:
    """The same of what the speaker has to do by some time."""
    if said.who not in "sw" or said.negated or said.hedged or not pattern("when").search(said.tail):
        return None
    must = said.verb in ("need", "have") and said.tail.startswith("to ")
    owes = pattern("owes").match(said.text)
    if must or owes or (said.future and not said.ongoing and said.verb != "be"):
        return Rule(predicate="has_to", type=Type.TASK, topic="task"), "to" if must else ""
    return None


@cache
def _anchors() -> list[tuple[re.Pattern[str], Rule]]:
    table = LEXICON.table("rules")["anchors"]
    return [(pattern(name), _rule("", predicate, who, *rest)) for name, predicate, who, *rest in table]


def anchored(said: Clause, *, settled: bool = False) -> Found | None:
    """The rule for what is worth keeping whatever its verb is: a change, an end, a date, a number."""
    if (
        said.hedged
        or said.verb == "say"  # whose word it is counts, and that is not known
        or (said.verb in words("attempts") and said.who in "sw")
        or (said.could and said.who is not Who.THING and not pattern("restricted").search(said.text))
    ):
        return None
    # What is added may be a mere comment: `… can't have cranberries and hates anything sour`.
    first, passing = said.text.partition(" and ")[0], pattern("passing")
    if pattern("judged").search(said.tail.partition(",")[0]) or passing.search(first):
        return None
    tense = _tense(said)
    for anchor, rule in _anchors():
        if said.who in rule.who and tense in rule.tenses and anchor.search(said.text):
            return rule, ""
    is_coming = (said.future or said.ongoing) and not said.past
    is_refused = said.negated and is_coming and (said.who in "sw" or pattern("when").search(said.text))
    if (is_refused or (settled and (is_coming or tense == "n"))) and len(said.tail.split()) > 1:
        return Rule(predicate="decided", type=Type.DECISION, importance=0.7, topic="decision"), ""
    return None


# What a clause says that is worth keeping, as a statement.

_VALUE = re.compile(r"(?:on (?=(?:the )?\d))?(?:an? |the )?(?!\S+'s )[A-Z\d+]|\S+@")


def stated(said: Clause, turn: int, importance: float = 0.0, *, settled: bool = False) -> Statement | None:
    """The statement that a clause makes; nothing if it is not worth keeping or does not stand by itself.

    `settled` is whether the sentence says that something is decided.
    """
    if _is_open(said.text) and (more := pattern("addition").search(said.tail)):
        said = replace(said, text=said.text[: more.start() - len(said.tail)], tail=said.tail[: more.start()])
    if said.text.endswith(":") or _is_open(said.text) or _is_unclear(said) or _is_idle(said):
        return None
    if said.who is not Who.THING and pattern("pointing").search(said.tail):
        return None
    if said.verb == "be" and (said.tail == said.subject or pattern("been_somewhere").match(said.tail)):
        return None  # `Mia has been twice since June` tells of no place
    whose = pattern("object_of_verb").search(said.tail) if said.who in "sw" else None
    if whose and not pattern("somebody_before").search(f"- {said.tail}", 0, whose.start() + 2):
        return None
    if pattern("fronted").search(said.subject) or pattern("unowned").fullmatch(said.subject):
        return None
    if said.who in "sw" and said.verb in words("beginning") | {"have"} and pattern("objectless").fullmatch(said.tail):
        return None
    if said.verb == "go" and pattern("no_place").fullmatch(said.tail):
        return None
    if said.who is Who.THING and (pattern("somebodys").match(said.subject) or said.subject.lower() in names("places")):
        return None
    found = None if said.is_bare else being(said) if said.verb == "be" else having(said) or doing(said)
    found = found or task(said) or anchored(said, settled=settled)
    if found is None and importance and not (said.could and said.verb == "be"):
        found = Rule(predicate="noted", importance=0.8), ""
    if found is None and is_specific(said):
        found = Rule(predicate="told", importance=0.4, type=Type.EVENT if said.past else Type.FACT), ""
    if found is None:
        return None
    rule, start = found
    rest = said.tail[len(start) :].strip()
    # What follows `decided` may be a whole clause, so pronouns in it are no harm.
    goes_on = rest.startswith(("and ", "but ", "because "))  # another thing that is told of the same subject
    if rest != said.tail and not goes_on and rule.type is not Type.DECISION and pattern("unclear").match(rest):
        return None
    return _statement(said, rule, start, turn, importance)


def _is_idle(said: Clause) -> bool:
    """Whether a clause tells nothing that lasts of anybody: boasts of others, disclaimers, what one would never do."""
    if said.who is not Who.SELF and said.who is not Who.WE and pattern("unproven").search(said.text):
        return True
    if said.who is Who.SELF and said.verb == "be" and said.negated and pattern("disclaimer").match(said.tail):
        return True
    if said.who in "sw" and said.could and re.search(r" would (?:never |not )|wouldn't ", said.text):
        return said.verb not in ("like", "mind", "want")
    return pattern("idle_thing").match(said.subject) is not None


def is_specific(said: Clause) -> bool:
    """Whether a clause that no rule reads is worth keeping as it is: a plain statement with a name, a number or a date.

    What somebody thinks, hopes or needs for the moment is not, nor what was said of no one in particular.
    """
    if said.hedged or said.could or said.opinion or said.is_bare or said.resolved or gives_orders(said.text):
        return False
    is_own = said.who is Who.THING and pattern("somebodys_own").match(said.subject)
    is_idle = (said.who in (Who.SELF, Who.PERSON) or is_own) and said.verb in words("idle_verbs")
    is_idle = is_idle or any(pattern(name).search(said.text) for name in ("asks_inside", "still_going"))
    # Where somebody is at the moment is soon over.
    is_idle = is_idle or (said.who in "sw" and said.verb == "be" and said.tail.startswith("at "))
    if is_idle or len(said.tail.split()) < 2 or len(said.text) > 200:
        return False
    if said.past and not said.perfect and said.who is not Who.THING and not pattern("lasting_past").search(said.text):
        return False
    if said.who is Who.THING and said.text.count(",") > 2:  # a list, of which the first word only looks like a verb
        return False
    if is_own and not said.ongoing and len(said.tail.split()) > 2:
        return pattern("judgement").match(said.tail) is None
    # The name of who speaks tells nothing of what they say.
    speaker = said.subject.removesuffix("'s team").removesuffix(" and others")
    tail = said.tail.replace(speaker, "") if said.who in "sw" else said.tail
    return bool(_SPECIFIC.search(tail) or (said.who is Who.THING and _SPECIFIC.search(said.subject[1:])))


def is_told_of(said: Clause) -> bool:
    """Whether a clause tells what somebody or something did, became or will do, and is no mood or scene."""
    if said.hedged or said.opinion or said.resolved or _is_idle(said) or pattern("passing").search(said.text):
        return False
    is_idle = said.verb in words("idle_verbs") and not (said.past and said.verb in words("encounters"))
    if is_idle or said.verb in words("moods") or pattern("judged").search(said.tail.partition(",")[0]):
        return False
    if said.who in "sw" and pattern("object_of_verb").search(said.tail):  # `I showed her the garden`
        return False
    if said.who is Who.THING and not said.is_bare and not said.ongoing and said.subject.lower().startswith(_DEFINITE):
        return True
    if len(said.tail.split()) < 2 or pattern("no_event").match(said.tail):
        return False
    if any(pattern(name).search(said.text) for name in ("ended", "changed", "deadline", "dated", "contact", "charge")):
        return True
    happened = (said.past or said.perfect) and not said.ongoing and not said.could
    if happened and (said.verb != "be" or " by " in said.tail or _SPECIFIC.search(said.tail)):
        return True
    return stated(said, 0) is not None


def told_plainly(clause: str, voice: Voice, turn: int) -> Statement | None:
    """A clause that cannot be taken apart, kept whole where it names something and says why that matters later."""
    if len(clause.split()) < 4 or len(clause) > 200 or not _SPECIFIC.search(clause[1:]):
        return None
    if any(pattern(name).search(clause) for name in ("asks_inside", "orders", "unnamed_one")):
        return None
    if gives_orders(clause) or not pattern("matters").search(clause):
        return None
    found = noted(clause, voice, turn)
    return replace(found, importance=0.4) if found else None


def noted(clause: str, voice: Voice, turn: int) -> Statement | None:
    """What somebody asked to remember, in words that no rule takes apart."""
    if len(clause.split()) < 3 or pattern("unclear").match(clause) or _is_open(clause):
        return None
    text = voice.retell(clause)
    return Statement(
        text=text, type=Type.FACT, kind=Kind.SEMANTIC, turns=(turn,), importance=0.8, tags=tags_of("fact", text)
    )


_DEFINITE = ("the ", "our ")
_SPECIFIC = re.compile(r"\d|(?<![.!?:]\s)(?<!^)\b(?!I\b|The\b|OK\b|Ok\b)[A-ZÀ-ÖØ-Þ][\w'’-]+")
"""A figure, or a word with a capital inside a sentence."""


def _is_open(text: str) -> bool:
    """Whether a text speaks to somebody, or points at what is not in it."""
    return bool(pattern("addressed").search(text) or pattern("open_end").search(text))


def _is_unclear(said: Clause) -> bool:
    likes = said.verb in ("hate", "love", "like", "prefer", "dislike")
    if likes and said.tail.startswith(said.subject):
        return True
    if said.verb == "want" or (likes and said.tail.startswith(("when ", "it when "))):
        return False
    if said.verb == "have" and said.tail.startswith("any "):
        return not said.negated
    return bool(pattern("unclear").match(said.tail)) and pattern("only_when").fullmatch(said.tail) is None


def object_of(tail: str) -> str:
    """What the verb is about: its words up to a comma, a time or a reason."""
    return pattern("object_end").sub("", tail, count=1).strip(" .!\"'")[:120]


def _statement(said: Clause, rule: Rule, start: str, turn: int, importance: float) -> Statement:
    type_ = rule.type
    if type_ is Type.EVENT and (said.future or said.ongoing):
        type_ = Type.FACT
    subject, thing = _roles(said, rule, _object(said, rule, start))
    return Statement(
        text=said.text,
        type=type_,
        kind=Kind.OPINION if said.opinion and type_ is Type.OBSERVATION else DEFAULT_KINDS[type_],
        turns=(turn,),
        subject=subject,
        predicate=rule.predicate,
        object=thing,
        is_single=rule.is_single and _is_lasting(said, rule, thing),
        negated=said.negated and not (said.could and rule.predicate in ("dislikes", "avoids")),
        confidence=_confidence(said),
        importance=max(importance, rule.importance),
        tags=tags_of(rule.topic or type_.value, thing),
    )


def _object(said: Clause, rule: Rule, start: str) -> str:
    if rule.predicate == "status":
        return start
    thing = object_of(said.tail if rule.predicate == "age" else said.tail[len(start) :].strip())
    if said.verb in ("move", "relocate") and rule.predicate == "lives_in":
        return re.sub(r"^.* to (?=[A-Z])", "", thing)
    return re.split(r"\s+(?:at|for|in)\s+", thing)[0] if rule.predicate == "job" else thing


def _roles(said: Clause, rule: Rule, thing: str) -> tuple[str, str]:
    """Whose attribute it is, and what it is: both `my favourite tea is X` and `X is my favourite tea` are about me."""
    owner, _, what = thing.rpartition("'s ")
    if owner and what.lower().replace(" ", "_").replace("favor", "favour").endswith(rule.predicate):
        return _short(owner), said.subject
    if "favourite_" in rule.predicate or pattern("attribute").search(said.subject):
        return _short(said.subject.rpartition("'s ")[0] or said.subject), re.sub("^(?:on|called|named) ", "", thing)
    return _short(said.subject), thing


def _short(subject: str) -> str:
    """Somebody by name alone where they have one, so that all that is said of them is found together."""
    called = pattern("called").search(subject)
    return called["name"] if called else subject


def _is_lasting(said: Clause, rule: Rule, thing: str) -> bool:
    """Whether it is so now and by itself, and can take the place of what was so before."""
    # `I moved to Rome` tells where somebody lives since then; `in 2010` only where they lived.
    is_over = said.past and (rule.predicate != "lives_in" or pattern("long_ago").search(said.tail))
    # A new boss takes the place of the one before, and a new laptop stands beside the old one.
    text = said.text.replace("'s new ", "'s ") if rule.predicate in words("single_roles") else said.text
    if said.negated or is_over or said.future or pattern("qualified").search(text):
        return False
    is_name = rule.predicate in ("married_to", "is") or pattern("attribute").search(said.subject)
    return not is_name or bool(_VALUE.match(thing))


def _confidence(said: Clause) -> float:
    sure = 0.85 if said.who is Who.SELF else 0.75
    return round(sure * (0.6 if said.hedged else 1.0) * (0.85 if said.resolved else 1.0), 2)


# A short answer, put together with the question that it answers.

_MOST_WORDS = 8
_TOO_PLAIN = ("one", "part", "thing")


def answered(question: str, answer: str) -> str:
    """What a short answer says, as a sentence of the one who answers; empty where that is not clear."""
    answer = re.split(r"(?<=[.!])\s", answer.strip(), maxsplit=1)[0]
    tokens = answer.split()
    if not tokens or len(tokens) > _MOST_WORDS or "?" in answer or "\n" in answer or " is " in answer:
        return ""
    last = re.split(r"(?<=[.!?])\s+", question[-400:].replace("’", "'").strip())[-1]
    if not last.endswith("?") or lemma_of(tokens[0].lower()) or pattern("no_answer").match(answer):
        return ""
    for asked, told in LEXICON.table("rules")["asked"]:
        if (found := re.search(asked, last, re.IGNORECASE)) and found.groupdict().get("x") not in _TOO_PLAIN:
            return _filled(told, found.groupdict(), re.sub(r",? please$", "", answer.strip(" .!")))
    return ""


def _filled(told: str, parts: dict[str, str | None], answer: str) -> str:
    bare = re.sub(r"^(?:in|at|as|from|probably|a bit of|to)\s+", "", answer, flags=re.IGNORECASE)
    what, other = parts.get("x"), parts.get("y")
    if what and other:
        return f"My {other} has {bare} {what}"
    return str(told.format(bare, x=(what or other or "").strip()))


# What whole sentences say: how things are to be done, what was decided, how something is done, what to remind of.


def wished(sentence: str, voice: Voice, turn: int, alone: bool) -> Statement | None:
    """The statement that a whole sentence makes. `alone` is whether its words can only be meant for the assistant."""
    if len(sentence) > 600:
        return None
    if alone and (asked := _reminder(sentence.rstrip(".!? "), voice, turn)):
        return asked
    if sentence.endswith("?"):
        bare = pattern("standing_question").sub("", sentence)
        sentence, is_standing = bare, bare != sentence
        if alone and (when := pattern("asked_when").fullmatch(sentence)):
            return _order(f"{when['what']} {when['when'][0].lower()}{when['when'][1:]}", voice, turn)
        found = pattern("asked_of_you").fullmatch(sentence) if alone else None
        is_lasting = found and (is_standing or pattern("lasting_order").search(found["what"]))
        return _order(found["what"], voice, turn, lasting=is_standing) if found and is_lasting else None
    bare = sentence.rstrip(".! ")
    return (_order(bare, voice, turn) if alone else None) or _told(bare, voice, turn)


def _reminder(text: str, voice: Voice, turn: int) -> Statement | None:
    """What somebody wants to be reminded of, with when."""
    found = pattern("reminder").match(text)
    if found is None or len(found["what"].split()) < 2 or pattern("once").fullmatch(found["what"]):
        return None
    when = (found["time"] or found["before"] or "").strip()
    what = pattern("ending").sub("", voice.retell(f"x {found['what']}")[2:])
    what = pattern("courtesy").sub("", pattern("once_more").sub("", what))
    how = f" {found['how']}" if found["how"] else ":"
    told = when[:1].lower() + when[1:] if when.lower().startswith(("on ", "in ", "next ", "by ")) else when
    return Statement(
        text=f"{voice.name} wants to be reminded{f' {told}' if told else ''}{how} {what}",
        type=Type.TASK,
        kind=Kind.EPISODIC,
        turns=(turn,),
        subject=voice.name,
        predicate="reminder",
        object=f"{when}: {what}" if when else what,
        confidence=0.85,
        importance=0.7,
        tags=tags_of("reminder", what),
    )


def _order(text: str, voice: Voice, turn: int, *, lasting: bool = False) -> Statement | None:
    """How somebody wants the assistant to do things; `lasting` is whether they said that they mean it for good."""
    found = next(
        filter(None, (pattern(name).match(text) for name in ("order", "wanted", "kept_order", "sparing"))), None
    )
    if found is None and (lasting or pattern("for_good").search(text)):
        found = pattern("instructed").match(text)
    if found is None:
        return None
    parts = found.groupdict("")
    how = parts.get("how", "").lower()
    what = next(filter(None, (parts.get(name) for name in ("what", "now", "then", "whenever", "style"))), "")
    what = pattern("courtesy").sub("", what)
    if found.re is pattern("wanted"):  # `I'd rather you asked`
        verb, _, rest = what.partition(" ")
        what = f"{lemma_of(verb.lower()) or verb} {rest}"
    is_once = how and not (lasting or parts["lasting"]) and pattern("once").match(what)
    if is_once or len(what) > 200 or pattern("dangling").search(what):
        return None
    first = what.split()[0].lower()
    is_thing = (found.re is pattern("sparing") or bool(parts.get("now"))) and not lemma_of(first)
    told_of = what if first in words("languages") else uncapitalized(what)
    wanted = f"wants {told_of}" if is_thing else _ordered(how, what)
    told = re.sub(r"\byou\b", "the assistant", voice.retell(wanted))
    told = re.sub(r"(?<=the assistant )\w+", lambda verb: _as_done(told, verb), told)
    told = re.sub(r"\byour\b", "its", told)
    return Statement(
        text=f"{voice.name} {told[0].lower()}{told[1:]}",
        type=Type.PREFERENCE,
        kind=Kind.SEMANTIC,
        turns=(turn,),
        subject=voice.name,
        predicate="wants",
        object=what,
        negated=how not in ("", "always"),
        confidence=0.8,
        importance=0.7,
        tags=tags_of("preference", what),
    )


def _as_done(told: str, verb: re.Match[str]) -> str:
    """What the assistant does when it is told of in a clause of its own: `when the assistant suggests`."""
    return as_third(verb[0]) if pattern("subordinate").search(told, 0, verb.start()) else verb[0]


def _ordered(how: str, what: str) -> str:
    if never := LEXICON.table("rules")["orders"].get(how):
        return f"wants the assistant {never} {what}"
    if when := pattern("order_when").match(what):
        what = f"{when['what']} {when['when'][0].lower()}{when['when'][1:]}"
    return f"wants the assistant to {'always ' if how else ''}{what[0].lower()}{what[1:]}"


def _told(text: str, voice: Voice, turn: int) -> Statement | None:
    for name, told, type_, kind, predicate, topic in LEXICON.table("rules")["sentences"]:
        if found := pattern(name).match(text):
            parts = found.groupdict("")
            what = (parts.get("what") or parts.get("goal", "")).strip()
            retold = voice.retell(f"x {what}")[2:]
            goal = uncapitalized(parts.get("goal", ""))
            return Statement(
                text=f"{voice.name} {told.format(verb=parts.get('verb', '').lower(), what=retold, goal=goal)}"
                if told
                else voice.retell(text),
                type=Type(type_),
                kind=Kind(kind),
                turns=(turn,),
                subject=voice.name,
                predicate=predicate,
                object=what,
                is_single=topic == "name",
                confidence=0.8,
                importance=0.8 if topic == "name" else 0.6,
                tags=tags_of(topic, what),
            )
    return None
