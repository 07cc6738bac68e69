"""People, projects, organizations, places and tools that are spoken of by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memfolio.learn.cues import BESIDE, LIVELY, PERSONAL, PLACED, USED, type_by_cues
from memfolio.learn.gazetteer import (
    AMBIGUOUS_TOOLS,
    LANGUAGES,
    NAMES,
    NO_NAMES,
    ORGANIZATIONS,
    PLACES,
    TIMES,
    TOOLS,
)
from memfolio.learn.learned import Mention
from memfolio.learn.verbs import ADVERBS, is_finite, lemma_of

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
    if PERSONAL.search(before):
        return ("person", 4)
    if first in NAMES and (low in PLACES or low in TOOLS) and not PLACED.search(before) and not USED.search(before):
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
    return bool(LIVELY.match(after)) or (_acts(after) and type_by_cues("", after) not in ("", "person"))


def _acts(after: str) -> bool:
    following = after.split()[:1]
    return bool(following) and is_finite(following[0].lower(), False)


def _by_cues(name: str, before: str, after: str) -> tuple[str, int] | None:
    if type_ := type_by_cues(before, after):
        return (type_, 2)
    if re.search(r"[a-z][A-Z]|\d", name):
        return ("tool", 1)
    if " " in name:
        return ("concept", 1)
    acts = (_acts(after) and not name.endswith("s") and "." not in name) or after.startswith((" and I ", " and my "))
    return ("person", 1) if acts or BESIDE.search(before) else None
