"""How the mentioned are related, from what is stated of them and how they are introduced, and what caused what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memfolio.learn.gazetteer import NO_NAMES, TIMES
from memfolio.learn.learned import ENTITY_TYPES, Cause, Mention, Relation, Statement, Turn
from memfolio.learn.voice import Voice
from memfolio.types import Kind, Type

_PREDICATES = {
    "lives_in": "lives-in", "works_at": "works-at", "job": "works-at", "uses": "uses", "married_to": "married-to",
    "owns": "owns", "develops": "develops", "manages": "develops", "likes": "prefers", "prefers": "prefers",
    "dislikes": "avoids", "avoids": "avoids", "depends_on": "depends-on", "runs_on": "uses", "belongs_to": "part-of",
    "is": "relates-to", "studies": "relates-to", "plays": "relates-to", "wants": "relates-to", "speaks": "relates-to",
    "is_from": "relates-to", "works": "develops", "lives_with": "knows",
    "located_in": "located-in", "switched": "uses", "is_a": "relates-to",
}  # fmt: skip
_KIN = {
    "wife": "married-to", "husband": "married-to", "spouse": "married-to", "son": "parent-of",
    "daughter": "parent-of", "child": "parent-of", "kid": "parent-of", "baby": "parent-of", "sister": "sibling-of",
    "brother": "sibling-of", "twin": "sibling-of", "friend": "friend-of", "dog": "owns", "cat": "owns",
    "puppy": "owns", "kitten": "owns", "horse": "owns",
}  # fmt: skip
_OBJECTS = {
    "lives-in": ("place",), "located-in": ("place",), "works-at": ("organization",), "married-to": ("person",),
    "develops": ("project", "tool"), "uses": ("tool", "project", "concept", "organization"), "knows": ("person",),
}  # fmt: skip
_PARENTS = frozenset("mother father mom mum dad".split())
_KNOWN = (
    "partner girlfriend boyfriend fiancé fiancée fiance fiancee uncle aunt cousin nephew niece grandmother "
    "grandfather grandma grandpa boss manager colleague coworker neighbour neighbor roommate flatmate teacher mentor "
    "doctor therapist landlord"
).split()
_WORDS = "|".join([*_KIN, *_PARENTS, *_KNOWN])
_MINE = re.compile(
    rf"\b[Mm]y (?:\w+ ){{0,2}}?(?P<kin>{_WORDS})"
    r"(?:(?P<comma>,)? (?:(?:is )?(?:called |named )|is |name is )?|'s name is )"
    r"(?P<name>[A-ZÀ-Þ][\w-]++)(?!,? and (?!I\b)[A-Z])"
    rf"|(?P<other>[A-ZÀ-Þ][\w-]++)(?: is my (?:\w+ ){{0,2}}?(?P<role>{_WORDS})\b(?!'s| and)"
    rf"|, my (?:\w+ ){{0,2}}?(?P<known>{_WORDS})(?=[,.!]|$))"
)
_RATHER = re.compile(r"(?<=\w) (?:to|over|than|rather than|instead of) ")
_BACK = re.compile(
    r"(?:\b(?:that|this|which)(?:'s| is| was)? (?:exactly |probably |also )?(?:why|the reason)|\bas a (?:result"
    r"|consequence)\b|\b(?:that|this|it) (?:broke|caused|fixed|led to|made|solved|crashed|resulted in|triggered"
    r"|meant)\b|\bbecause of (?:that|this)\b|\bdue to (?:that|this)\b|\bthanks to that\b|\btherefore\b"
    r"|\bconsequently\b)",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"(?:because|since|it was because|that was because|due to|the (?:cause|reason|culprit) (?:was|is))\b", re.I
)
_NEAR = 3
_READ = 2_000


def introduced(sentence: str, voice: Voice, turn: int) -> Iterator[tuple[str, str, Relation]]:
    """Whom the speaker calls their own: the name, what they are, and how they are related."""
    if "my " not in sentence and "My " not in sentence:
        return
    for found in _MINE.finditer(sentence):
        kin = found["kin"] or found["role"] or found["known"]
        name = found["name"] or found["other"]
        is_list = found["comma"] and sentence.startswith(" and I", found.end())
        if is_list or name.lower() in NO_NAMES or name.lower() in TIMES:
            continue
        subject, thing, predicate = voice.name, name, _KIN.get(kin, "knows")
        if kin in _PARENTS:
            subject, thing, predicate = name, voice.name, "parent-of"
        yield name, kin, Relation(subject=subject, predicate=predicate, object=thing, turns=(turn,))


def kinship(name: str, kin: str, relation: Relation, voice: Voice) -> Statement:
    """That somebody is somebody's wife, son or friend."""
    return Statement(
        text=f"{name} is {voice.inner}'s {kin}",
        type=Type.FACT,
        kind=Kind.SEMANTIC,
        turns=relation.turns,
        subject=voice.name,
        predicate=relation.predicate.replace("-", "_") if kin not in _PARENTS else "child_of",
        object=name,
        is_single=relation.predicate == "married-to",
        confidence=0.85,
        importance=0.8,
        tags=("family" if relation.predicate not in ("friend-of", "knows", "owns") else "people", kin),
    )


def related(statements: Iterable[Statement], mentions: Sequence[Mention]) -> Iterator[Relation]:
    """Relations between mentions that statements of fact and preference tell."""
    by_name = {name.lower(): each for each in mentions for name in (each.name, *each.aliases)}
    for statement in statements:
        predicate = _PREDICATES.get(statement.predicate)
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
    """The words of a statement that name what its subject is related to."""
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
    return predicate if thing.type in _OBJECTS.get(predicate, ENTITY_TYPES) else "relates-to"


def _mention(subject: str, by_name: dict[str, Mention]) -> Mention | None:
    low = subject.lower().removeprefix("the ")
    whole = by_name.get(subject.lower()) or by_name.get(low) or by_name.get(low.split("'s team")[0])
    return whole or next(
        (by_name[word] for word in reversed(low.split()) if word in by_name and "'s" not in word), None
    )


def _named(text: str, by_name: dict[str, Mention]) -> Iterator[Mention]:
    words = re.findall(r"[\w.+#'-]+", text.lower())[:12]
    held = 0
    for start in range(len(words)):
        for end in range(min(len(words), start + 3), start, -1):
            name = " ".join(words[start:end]).removesuffix("'s")
            if start >= held and name in by_name:
                yield by_name[name]
                held = end
                break


def caused(turns: Sequence[Turn]) -> Iterator[Cause]:
    """Turns that point back to what caused them, and turns that give the cause of what was said before."""
    for place, turn in enumerate(turns):
        if not place or not turn.is_person:
            continue
        text = turn.content[:_READ].replace("’", "'").strip()
        before = next((back for back in range(place - 1, max(-1, place - _NEAR - 1), -1) if _tells(turns[back])), None)
        if before is None or text.endswith("?"):
            continue
        if _AHEAD.match(text):
            yield Cause(cause=place, effect=before, confidence=0.6)
        elif _BACK.search(text, 0, 200):
            yield Cause(cause=before, effect=place, confidence=0.6 if turns[before].speaker == turn.speaker else 0.5)


def _tells(turn: Turn) -> bool:
    text = turn.content[:_READ].strip()
    return turn.is_person and len(text) > 20 and not text.endswith("?")
