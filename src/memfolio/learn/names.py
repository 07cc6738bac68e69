"""People, projects, organizations, places and tools that are spoken of by name, and how they are related."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memfolio.learn.clauses import KIN, PETS
from memfolio.learn.learned import ENTITY_TYPES, CauseHypothesis, Mention, Relation, Statement, Turn
from memfolio.learn.words import (
    ADVERBS,
    AMBIGUOUS_TOOLS,
    LANGUAGES,
    NAMES,
    NO_NAMES,
    ORGANIZATIONS,
    PLACES,
    TIMES,
    TOOLS,
    Voice,
    is_finite,
    lemma_of,
)
from memfolio.types import Kind, Type

# People, projects, organizations, places and tools that are spoken of by name.

_PART = r"[A-ZÀ-ÖØ-ÞŁŚŽŠČ][\w&+#]*(?:[.'-](?=\w)[\w&+#]+)*"
_RUN = re.compile(
    rf"(?<![\w@/.$-])(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.\s+)?{_PART}(?:\s+(?:(?:of|de|van|von|der|la|du|&)\s+)?{_PART})*"
)
_LOW_TOOLS = frozenset(name for name in TOOLS if name not in AMBIGUOUS_TOOLS)
_SIGNS = str.maketrans(dict.fromkeys(',;:!?()"', " "))
_COLOURS = frozenset("blue green red black white yellow purple pink grey gray orange brown".split())
_NOTHING = NO_NAMES | ADVERBS | TIMES | LANGUAGES | _COLOURS
_OPENING = ADVERBS | {""}
_ENDINGS = {
    "organization": "inc gmbh ltd corp llc ag co corporation university institute bank foundation college school "
    "hospital group company labs partners consulting solutions clinic systems technologies agency society "
    "association club",
    "place": "street park lake mount river beach city island airport valley mountains mountain bay coast county square "
    "district avenue road forest falls library cafe café restaurant",
    "project": "project app api service platform dashboard website bot",
}
_SUFFIX = {word: type_ for type_, words in _ENDINGS.items() for word in words.split()}
_ALIAS = re.compile(
    rf"(?P<name>{_PART}(?:\s+{_PART})*)(?:\s*\((?:aka |a\.k\.a\. |or |short: )?(?P<a>{_PART}(?:\s+{_PART})?)\)"
    rf"|,?\s+or\s+(?:just\s+)?(?P<b>{_PART})\s+for short|,?\s+(?:aka|a\.k\.a\.|also known as|also called|nicknamed"
    rf"|short)\s+(?P<c>{_PART})|,?\s+(?:but\s+)?(?:everyone|everybody|we|people|I)\s+calls?\s+(?:him|her|it"
    rf"|them)\s+(?P<d>{_PART}))"
)
_WORD = re.compile(r"\S+")
_TITLE = re.compile(r"[\"“][^\"“”\n]{2,80}[\"”]")
# Words around a name that tell of what type it is.
_BEFORE = {
    "project": r"\bproject|codenamed?|working on|(?:launch(?:ed|ing)?|release)(?: of)?|repo(?:sitory)?"
    r"|(?:app|project) (?:called|named)|renamed? .{0,30}(?:from|to)|maintains?|develops?|builds?|built|building|ship",
    "organization": r"\b(?:at|band is|(?:band|company) (?:called|named))|\b(?:works?|working|worked|job|position|role"
    r"|intern(?:ship)?|career|engineer|manager|consultant|developer|nurse|teacher|analyst|designer|currently|employed"
    r"|start(?:ed|ing)?|offer|interview\w*|studie[sd]|study|studying|interned) (?:at|for|from|with|by)|joined|joining"
    r"|company|startup|client|employer|bank with|left|quit",
    "tool": r"\b(?:us(?:e|es|ed|ing)|via|tool|library|framework|editor|running|database is|install\w*"
    r"|(?:written|built|made|coded|implemented|hosted|deployed|stored|run|runs|running) (?:in|on|with|using)"
    r"|(?:switch\w*|migrat\w+) (?:over )?(?:from [\w ]{1,20} )?to)",
    "person": r"\b(?:named|friend|met|meet|meeting|told|asked|ask|tell|call|thanks|thank|hi|hey|dear|married|marry|miss"
    rf"|ping|email|contact|(?:{PETS})s?,?|name is|i'm|i am|this is)",
    "place": r"\b(?:lives?|living|lived|moved?|moving|relocat\w+|based|born|raised|grew up|located|stay(?:ed|ing)?"
    r"|office|apartment|flat|house|hotel|arriv\w+|work(?:s|ing)?|trip|fly|flying|flew|travel\w*|vacation|holiday|weekend"
    r"|from|drive|drove|go|going|went|visit\w*|been|back|road|train|town|city|village|people|conference|school|marathon"
    r"|headquarters|hike[ds]?|walk(?:ed|s)?)(?: (?:in|to|from|near|at|of|around|outside|through|called))?|near|outside",
}
_AFTER = {
    "project": r"\s+(?:project|app|service|repo|codebase|api|dashboard|website|release|deployment|backend|frontend"
    r"|launch|is licensed|runs on|depends on|talks to|stores|uses|is written|is built|deploys)\b",
    "organization": r"\s+(?:office|team|headquarters|employees|stock|contract|hired|acquired)\b",
    "person": r"(?:'s (?:birthday|wife|husband|mother|father|house|sister|brother|mom|dad|daughter|son|job|number|party"
    r"|wedding|email)|\s+(?:says?|said|works?|lives?|told|asked|loves?|likes?|hates?|prefers?|thinks?|wants?"
    r"|is (?:my|our|a|an|the|his|her|allergic|from|turning)|joined|moved|plays?|speaks?|handles?|called"
    r"|married|owns?|got|just|was born|studies|teaches|will|sent|has been|turned))\b",
}
_PRECEDING = {
    type_: re.compile(rf"(?:{words})\s+(?:the\s+)?[\"'(]?$", re.IGNORECASE) for type_, words in _BEFORE.items()
}
_FOLLOWING = {type_: re.compile(words) for type_, words in _AFTER.items()}
_BESIDE = re.compile(r"\bwith\s+$")
_LIVELY = re.compile(
    r"'s (?:birthday|wife|husband|mother|father|sister|brother|mom|dad|daughter|son)\b| (?:works (?:at|for|as|in|from)"
    r"|lives (?:in|with)|is (?:allergic|turning|\d)|was born|moved to|got married|married|joined|speaks|studies|teaches"
    rf"|is (?:my|our|the|an?) (?:\w+ )?(?:{'|'.join(sorted(KIN))}|CEO|CTO|CFO|lead|engineer|developer|designer)"
    r"|turned \d|(?:called|told) (?:me|us)|and I)\b"
)
"""What only people do."""
_USED = _PRECEDING["tool"]
_PLACED = re.compile(r"\b(?:in|to|from|near|at|around|visit\w*|of)\s+$")
_PERSONAL = re.compile(rf"\b(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?|(?i:{'|'.join(sorted(KIN))})s?,?)\s+$")
"""A title, or what somebody is to somebody."""


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

    def read(self, sentence: str, turn: int) -> None:
        """Gather what a sentence names."""
        if '"' in sentence or "“" in sentence:
            sentence = _TITLE.sub(" ", sentence)
        for found in _RUN.finditer(sentence):
            if found[0].lower() in _NOTHING:
                continue
            for name, start, end in _parts(found):
                if name.lower().startswith("project ") and " " in name:
                    self.add(name.split(maxsplit=1)[1], "project", turn)
                elif named := _judge(sentence, name, start, end):
                    self.add(TOOLS.get(name.lower(), name), named[0], turn, weight=named[1])
        for word in sentence.translate(_SIGNS).split():
            if word[:1].islower() and (bare := word.rstrip(".").lower()) in _LOW_TOOLS:
                self.add(TOOLS[bare], "tool", turn)
        if "(" in sentence or " or " in sentence or "known as" in sentence or "aka" in sentence or "call" in sentence:
            self._alias(sentence, turn)

    def _alias(self, sentence: str, turn: int) -> None:
        for found in _ALIAS.finditer(sentence):
            name = _without_opening(found["name"])
            other = found["a"] or found["b"] or found["c"] or found["d"]
            seen = self._seen.get(name.lower())
            if seen and other.lower() not in _NOTHING and other.lower() not in PLACES:
                seen.aliases[other] = None
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
    words = name.split()
    while words and (words[0].lower() in NO_NAMES or words[0].lower() in TIMES):
        words.pop(0)
    return " ".join(words)


def _parts(found: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """A run of capitals as the names in it, each with where it stands."""
    text = found[0]
    if text.lower() in PLACES or text.lower() in TOOLS or text.lower() in ORGANIZATIONS:
        yield text, found.start(), found.end()
        return
    words = [(each[0].removesuffix("'s"), each.start() + found.start(), each[0]) for each in _WORD.finditer(text)]
    held: list[tuple[str, int, str]] = []
    for word in [*words, None]:
        ends = word is None or _is_empty(word[0])
        if word is not None and not ends:
            held.append(word)
        if len(held) == 2 and held[1][0].lower() in NAMES and held[0][0].lower() not in NAMES and held[0][1] == 0:
            held.pop(0)
        if held and (ends or held[-1][2].endswith("'s")):
            start, end = held[0][1], held[-1][1] + len(held[-1][0])
            yield " ".join(each[0] for each in held), start, end
            held = []


def _is_empty(word: str) -> bool:
    low = word.lower().rstrip(".")
    return low in _NOTHING or "'" in low[-4:]


def _judge(sentence: str, name: str, start: int, end: int) -> tuple[str, int] | None:
    """The type of a name, and how sure that is; nothing for what is only written with a capital."""
    low = name.lower()
    first, last = low.split()[0], low.split()[-1]
    opens = sentence[:start].strip(" \"'(*,").lower() in _OPENING
    before, after = sentence[max(0, start - 60) : start], sentence[end : end + 40]
    if _PERSONAL.search(before):
        return ("person", 4)
    if first in NAMES and (low in PLACES or low in TOOLS) and not _PLACED.search(before) and not _USED.search(before):
        return ("person", 3)
    known = "place" if low in PLACES else "organization" if low in ORGANIZATIONS else ""
    if low in TOOLS and not (opens and low in AMBIGUOUS_TOOLS and not _acts(after)):
        known = known or "tool"
    if known:
        return (known, 3)
    if last in _SUFFIX and " " in low:
        return (_SUFFIX[last], 3)
    if first in NAMES:
        return ("person", 3)
    if len(name) < 3 or name.isupper() or (opens and not _opens_with_name(name, after)):
        return None
    return _by_cues(name, before, after)


def _opens_with_name(name: str, after: str) -> bool:
    low = name.lower()
    if " " in name:
        return lemma_of(low.split()[0]) == "" and low.split()[0] not in ADVERBS
    if lemma_of(low) or low in ADVERBS or low.endswith(("ing", "ly", "ed", "s")):
        return False
    return bool(_LIVELY.match(after)) or (_acts(after) and _type_by_cues("", after) not in ("", "person"))


def _acts(after: str) -> bool:
    following = after.split()[:1]
    return bool(following) and is_finite(following[0].lower(), False)


def _by_cues(name: str, before: str, after: str) -> tuple[str, int] | None:
    if type_ := _type_by_cues(before, after):
        return (type_, 2)
    if re.search(r"[a-z][A-Z]|\d", name):
        return ("tool", 1)
    if " " in name:
        return ("concept", 1)
    acts = (_acts(after) and not name.endswith("s") and "." not in name) or after.startswith((" and I ", " and my "))
    return ("person", 1) if acts or _BESIDE.search(before) else None


def _type_by_cues(before: str, after: str) -> str:
    """The type that the words around a name tell; empty if they tell none."""
    following = (type_ for type_, cue in _FOLLOWING.items() if cue.match(after))
    preceding = (type_ for type_, cue in _PRECEDING.items() if cue.search(before))
    return next(following, "") or next(preceding, "")


# How the mentioned are related, from what is stated of them and how they are introduced, and what caused what.

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


def caused(turns: Sequence[Turn]) -> Iterator[CauseHypothesis]:
    """Turns that point back to what caused them, and turns that give the cause of what was said before."""
    for place, turn in enumerate(turns):
        if not place or not turn.is_person:
            continue
        text = turn.content[:_READ].replace("’", "'").strip()
        before = next((back for back in range(place - 1, max(-1, place - _NEAR - 1), -1) if _tells(turns[back])), None)
        if before is None or text.endswith("?"):
            continue
        if _AHEAD.match(text):
            yield CauseHypothesis(cause=place, effect=before, confidence=0.6)
        elif _BACK.search(text, 0, 200):
            yield CauseHypothesis(
                cause=before, effect=place, confidence=0.6 if turns[before].speaker == turn.speaker else 0.5
            )


def _tells(turn: Turn) -> bool:
    text = turn.content[:_READ].strip()
    return turn.is_person and len(text) > 20 and not text.endswith("?")
