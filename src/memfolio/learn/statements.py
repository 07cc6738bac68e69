"""What a clause or a whole sentence says that is worth keeping, as a statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from memfolio.learn.clauses import Clause, Who
from memfolio.learn.learned import Statement
from memfolio.learn.words import LEXICON, Voice, lemma_of, names, pattern, tags_of, words
from memfolio.types import Kind, Type, default_kind, frozen

# The rules for what somebody does or is, as `data/rules.toml` has them.


@frozen
class Rule:
    """What it says that somebody does or is something; `starts` are words that may follow, an empty one anything."""

    predicate: str
    starts: tuple[str, ...] = ("",)
    who: str = ""
    """The values of `Who` of whom it may be told."""
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
"""The rule that fits a clause, and the words of it with which the tail of the clause begins."""


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
    """The rule for what something is; nothing if that is not worth keeping."""
    if said.could or said.future:
        return None
    if favourite := pattern("favourite").search(said.subject):
        return None if pattern("judged").search(said.tail) else (_favourite(favourite), "")
    attribute = pattern("attribute").search(said.subject)
    if attribute and not _is_loose(said):
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


def _is_loose(said: Clause) -> bool:
    """Whether what is said of an attribute judges it rather than tells it."""
    if said.resolved:
        return not re.match(r"[A-Z\d]", said.tail)
    return bool(pattern("judged").search(said.tail) or pattern("loose").match(said.tail))


def _identity(said: Clause) -> Found | None:
    tail, is_thing = said.tail, said.who is Who.THING
    if is_thing and (said.past or said.resolved):
        return None
    if not is_thing and pattern("age").match(tail):
        return AGE, ""
    if pattern("size").match(tail):
        return Rule(predicate="size", is_single=True, topic="body"), ""
    is_judged = pattern("judged").search(tail)
    if re.match(r"an? \w", tail):
        is_story = said.past and said.who is Who.SELF and "when" in tail
        if pattern("no_thing").match(tail) or is_judged or is_story:
            return None
        return (IDENTITY if said.who in "sp" else Rule(predicate="is_a")), tail.split()[0]
    if said.who is Who.SELF and tail[:1].isupper() and not said.past:
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
    if attribute := pattern("attribute").search(tail):
        return _attribute(attribute), ""
    if re.match(r"(?:the|called|\S+'s) \w|the user's", tail) and not pattern("no_thing").match(tail[4:]):
        return Rule(predicate="is"), ""
    if pattern("house").search(said.subject) and pattern("located").match(tail):
        return Rule(predicate="located_in", is_single=True, topic="place"), tail.split()[0]
    if said.who is Who.PERSON and re.match(r"\d{1,2} and \d", tail):
        return Rule(predicate="age", topic="age"), ""
    if said.who is Who.THING and (tail[:1].isupper() or tail[:1].isdigit() or pattern("when").match(tail)):
        return Rule(predicate="is", is_single=tail.split()[0].lower() not in words("times")), ""
    return None


def having(said: Clause) -> Found | None:
    """The same of what somebody has."""
    tail = said.tail
    if said.verb != "have" or said.could or said.future or said.perfect or said.ongoing or said.past:
        return None
    if tail.startswith("to ") or not (pattern("counted").match(tail) or pattern("regular").search(tail)):
        return None
    if pattern("bare_number").fullmatch(tail) or (said.negated and not pattern("lacked").search(tail)):
        return None
    if pattern("appointment").search(tail):
        return (Rule(predicate="plans", topic="plan"), "") if pattern("when").search(tail) else None
    if pattern("no_thing").match(tail) and not pattern("some_thing").match(tail):
        return None
    return Rule(predicate="has", topic="possession" if said.who is Who.SELF else "fact"), ""


# What somebody or something does, did, plans or has to do.

_IDLE = dict.fromkeys(("does", "plays", "uses", "wears", "learns"), "idle") | {"speaks": "spoken_to"}
"""The patterns of what says nothing after a verb of anything."""


def doing(said: Clause) -> Found | None:
    """The rule for what is done; nothing if that is not worth keeping."""
    if said.verb == "have" and said.negated and " can't " in said.text and pattern("food").fullmatch(said.tail):
        return Rule(predicate="avoids", type=Type.PREFERENCE, topic="food"), ""
    if said.verb == "stand" and said.negated and said.could:
        return Rule(predicate="dislikes", type=Type.PREFERENCE, topic="preference"), ""
    if said.verb == "mind" or (said.could and not _may(said)):
        return None
    tense = _tense(said)
    # `we moved to Postgres` is no new home.
    to_tool = said.verb == "move" and any(word.lower() in names("tools") for word in said.tail.split())
    for rule in _rules_of_doing().get("migrate" if to_tool else said.verb, ()):
        if tense in rule.tenses and said.who in rule.who and (start := rule.start_of(said.tail)) is not None:
            return (rule, start) if _fits(rule, said) else None
    return None


def _may(said: Clause) -> bool:
    # What somebody can do is told; what they would do is not.
    if said.verb in words("abilities") and " would " not in said.text:
        return True
    if said.verb in ("eat", "drink") and said.negated:
        return True
    return said.verb in ("prefer", "like", "love") and not said.past


def _tense(said: Clause) -> str:
    if said.ongoing or said.future:
        return "f" if said.future else "p" if said.past else "g"
    if said.perfect:
        is_lasting = " always " in said.text or " never " in said.text or pattern("lasting").search(said.tail)
        return "n" if is_lasting else "p"
    return "p" if said.past else "n"


def _fits(rule: Rule, said: Clause) -> bool:
    tail, predicate = said.tail, rule.predicate
    if not tail and predicate not in ("does", "graduated"):
        return False
    if predicate in _IDLE and not rule.starts[0] and said.who in "sp":
        return not pattern(_IDLE[predicate]).match(tail)
    if predicate == "lives_in" and tail.startswith("from "):
        return " to " in tail
    if predicate == "goes_to":
        is_regular = pattern("school").match(tail) or pattern("often").search(said.text)
        return bool(is_regular) and not pattern("to_do").match(tail)
    if predicate == "plans":
        return _is_plan(said)
    if predicate == "wants_to":
        return not said.could and not pattern("errand").match(tail)
    if rule.type is Type.EVENT:
        is_planned = not (said.future or said.ongoing) or (not said.past and pattern("when").search(tail))
        return bool(is_planned) and not said.negated and len(tail) > 2
    if predicate in ("likes", "prefers") and said.could and not said.negated:
        return predicate == "prefers" and not tail.startswith("to ")
    return predicate != "studies" or not pattern("effort").match(tail)


def _is_plan(said: Clause) -> bool:
    if said.perfect or said.past or pattern("planless").match(said.tail):
        return False
    named = said.ongoing and any(word[:1].isupper() for word in said.tail.split())
    return named or bool(pattern("when").search(said.tail))


def task(said: Clause) -> Found | None:
    """The same of what the speaker has to do by some time."""
    if said.who not in "sw" or said.negated or said.hedged or not pattern("when").search(said.tail):
        return None
    must = said.verb in ("need", "have") and said.tail.startswith("to ")
    if must or (said.future and not said.ongoing):
        return Rule(predicate="has_to", type=Type.TASK, topic="task"), "to" if must else ""
    return None


# What a clause says that is worth keeping, as a statement.

_VALUE = re.compile(r"(?:an? |the )?(?!\S+'s )[A-Z\d+]|\S+@")


def stated(said: Clause, turn: int, importance: float = 0.0) -> Statement | None:
    """The statement that a clause makes; nothing if it is not worth keeping or does not stand by itself."""
    if said.text.endswith(":") or _is_open(said.text) or _is_unclear(said):
        return None
    if said.who is Who.THING and not _is_definite(said.subject):
        return None
    found = being(said) if said.verb == "be" else having(said) or doing(said)
    found = found or task(said)
    if found is None and importance and not (said.could and said.verb == "be"):
        found = Rule(predicate="noted", importance=0.8), ""
    if found is None:
        return None
    rule, start = found
    rest = said.tail[len(start) :].strip()
    # What follows `decided` may be a whole clause, so pronouns in it are no harm.
    unclear = rest != said.tail and rule.type is not Type.DECISION and pattern("unclear").match(rest)
    if unclear or re.match(rf"{re.escape(said.subject)}\b(?!')", rest):
        return None
    return _statement(said, rule, start, turn, importance)


def noted(clause: str, voice: Voice, turn: int) -> Statement | None:
    """What somebody asked to remember, in words that no rule takes apart."""
    if len(clause.split()) < 3 or pattern("unclear").match(clause) or _is_open(clause):
        return None
    text = voice.retell(clause)
    return Statement(
        text=text, type=Type.FACT, kind=Kind.SEMANTIC, turns=(turn,), importance=0.8, tags=tags_of("fact", text)
    )


def _is_open(text: str) -> bool:
    """Whether a text speaks to somebody, or points at what is not in it."""
    return bool(pattern("addressed").search(text) or pattern("open_end").search(text))


def _is_unclear(said: Clause) -> bool:
    likes = said.verb in ("hate", "love", "like", "prefer", "dislike")
    if said.verb == "want" or (likes and said.tail.startswith(("when ", "it when "))):
        return False
    if said.verb == "have" and said.tail.startswith("any "):
        return not said.negated
    return bool(pattern("unclear").match(said.tail))


def _is_definite(subject: str) -> bool:
    first, *others = subject.split(" ")
    if "'s " in subject:
        return True
    if first.lower() in ("the", "all", "every", "each", "most", "both"):
        has_name = any(word[:1].isupper() or word[:1] == "`" for word in others)
        return has_name or bool(pattern("plain_thing").match(subject))
    return first.lower() not in ("this", "his", "her", "their") and subject.lower() not in names("places")


def object_of(tail: str) -> str:
    """What the verb is about: its words up to a comma, a time or a reason."""
    return pattern("object_end").sub("", tail, count=1).strip(" .!\"'")[:120]


def _statement(said: Clause, rule: Rule, start: str, turn: int, importance: float) -> Statement:
    type_ = rule.type
    if type_ is Type.PREFERENCE and said.verb in ("like", "love") and said.could and not said.negated:
        type_ = Type.OBSERVATION
    if type_ is Type.EVENT and (said.future or said.ongoing):
        type_ = Type.FACT
    subject, thing = _roles(said, rule, _object(said, rule, start))
    return Statement(
        text=said.text,
        type=type_,
        kind=Kind.OPINION if said.opinion and type_ is Type.OBSERVATION else default_kind(type_),
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
    thing = object_of(said.tail if start[:1].isdigit() else said.tail[len(start) :].strip())
    if said.verb in ("move", "relocate") and rule.predicate == "lives_in":
        return re.sub(r"^.* to (?=[A-Z])", "", thing)
    return re.split(r"\s+(?:at|for|in)\s+", thing)[0] if rule.predicate == "job" else thing


def _roles(said: Clause, rule: Rule, thing: str) -> tuple[str, str]:
    """Whose attribute it is, and what it is: both `my favourite tea is X` and `X is my favourite tea` are about me."""
    owner, _, what = thing.rpartition("'s ")
    if owner and what.lower().replace(" ", "_").replace("favor", "favour").endswith(rule.predicate):
        return _short(owner), said.subject
    if "favourite_" in rule.predicate or pattern("attribute").search(said.subject):
        return _short(said.subject.rpartition("'s ")[0] or said.subject), thing.removeprefix("on ")
    return _short(said.subject), thing


def _short(subject: str) -> str:
    """Somebody by name alone where they have one, so that all that is said of them is found together."""
    called = pattern("called").search(subject)
    return called["name"] if called else subject


def _is_lasting(said: Clause, rule: Rule, thing: str) -> bool:
    """Whether it is so now and by itself, and can take the place of what was so before."""
    # `I moved to Rome` tells where somebody lives since then; `in 2010` only where they lived.
    is_over = said.past and (rule.predicate != "lives_in" or pattern("long_ago").search(said.tail))
    if said.negated or is_over or said.future or pattern("qualified").search(said.text):
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

_FORMS: tuple[tuple[str, str, Type, Kind, str, str], ...] = (
    # the pattern, as it is told of the speaker, type, kind, predicate, topic
    ("steps", "", Type.LESSON, Kind.PROCEDURAL, "how_to", "procedure"),
    ("decided", "decided to {verb} {what}", Type.DECISION, Kind.EPISODIC, "decided", "decision"),
    ("remind", "wants to be reminded {what}", Type.TASK, Kind.EPISODIC, "has_to", "task"),
    ("opinion", "thinks that {what}", Type.OBSERVATION, Kind.OPINION, "thinks", "opinion"),
    ("call_me", "wants to be called {what}", Type.FACT, Kind.SEMANTIC, "called", "name"),
)
_NEVER = {
    "don't": "not to", "do not": "not to", "stop": "to stop", "avoid": "to avoid",
    "never": "never to", "don't ever": "never to", "do not ever": "never to",
}  # fmt: skip


def wished(sentence: str, voice: Voice, turn: int, alone: bool) -> Statement | None:
    """The statement that a whole sentence makes. `alone` is whether its words can only be meant for the assistant."""
    if len(sentence) > 600 or sentence.endswith("?"):
        return None
    bare = sentence.rstrip(".! ")
    return (_order(bare, voice, turn) if alone else None) or _told(bare, voice, turn)


def _order(text: str, voice: Voice, turn: int) -> Statement | None:
    """How somebody wants the assistant to do things."""
    found = next(filter(None, (pattern(name).match(text) for name in ("order", "wanted", "kept_order"))), None)
    if found is None:
        return None
    parts = found.groupdict("")
    how = parts.get("how", "").lower()
    what = next(filter(None, (parts.get(name) for name in ("what", "now", "then", "whenever", "style"))), "")
    if (how and not parts["lasting"] and pattern("once").match(what)) or len(what) > 200:
        return None
    told = re.sub(r"\byou\b", "the assistant", voice.retell(_ordered(how, what)))
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


def _ordered(how: str, what: str) -> str:
    if how in _NEVER:
        return f"wants the assistant {_NEVER[how]} {what}"
    if when := pattern("order_when").match(what):
        what = f"{when['what']} {when['when'][0].lower()}{when['when'][1:]}"
    return f"wants the assistant to {'always ' if how else ''}{what[0].lower()}{what[1:]}"


def _told(text: str, voice: Voice, turn: int) -> Statement | None:
    for name, told, type_, kind, predicate, topic in _FORMS:
        if found := pattern(name).match(text):
            parts = found.groupdict("")
            what = (parts.get("what") or parts.get("goal", "")).strip()
            retold = voice.retell(f"x {what}")[2:]
            return Statement(
                text=f"{voice.name} {told.format(verb=parts.get('verb', '').lower(), what=retold)}"
                if told
                else voice.retell(text),
                type=type_,
                kind=kind,
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
