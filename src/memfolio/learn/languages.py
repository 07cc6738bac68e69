"""Rules for languages other than English: frames kept as data, one file per language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from memfolio.learn.learned import SPEAKER, Statement
from memfolio.learn.words import Voice, tags_of
from memfolio.text import packaged_table
from memfolio.types import DEFAULT_KINDS, Type, frozen

CODES = ("zh", "de")
_PART = re.compile(r"\{([a-z]+)\}")
_LONGEST = 400
SINGLE = ("lives_in",)
"""What a clause must tell by itself, since it takes the place of what was known of it."""
_SIGNS = " \t,.;:!?…，。；：！？、"


@frozen
class Frame:
    """What a matching clause or sentence says; `told` is how a whole sentence is rephrased."""

    pattern: re.Pattern[str]
    predicate: str
    type: Type = Type.FACT
    importance: float = 0.6
    topic: str = ""
    told: str = ""
    own: bool = False
    """Whether the clause must name the speaker."""


class Language:
    """The rules of one language, read from its file."""

    def __init__(self, code: str) -> None:
        self._data = packaged_table(f"learn/data/{code}.toml")
        self.known_by, self.asks, self.made_up, self.breaks, self.self_ = map(
            self._compiled, ("known_by", "asks", "made_up", "breaks", "self")
        )
        self.opening, self.joins, self.subject = map(self._compiled, ("opening", "joins", "subject"))
        self.courtesy, self.sure = self._compiled("courtesy"), self._compiled("sure")
        self.sentences = [self._frame(each) for each in self._data["sentences"]]
        self.frames = [self._frame(each) for each in self._data["frames"]]
        self._cases: dict[str, str] = self._data.get("cases", {})
        self._retell = [(self._pattern(each), told) for each, told in self._data["retell"].items()]

    def fits(self, text: str) -> bool:
        """Whether a text is in this language."""
        return bool(self.sure.search(text)) or len(self.known_by.findall(text)) >= int(self._data["least"])

    def _compiled(self, name: str) -> re.Pattern[str]:
        return self._pattern(self._data.get(name, r"(?!)"))

    def _pattern(self, text: str) -> re.Pattern[str]:
        joined = "".join(line if line.endswith(" ") else line.strip() for line in text.split("\n"))
        while _PART.search(joined):
            joined = _PART.sub(lambda found: "".join(self._data["parts"][found[1]].split("\n")), joined)
        return re.compile(joined, re.IGNORECASE)

    def _frame(self, given: dict[str, Any]) -> Frame:
        rest = {name: value for name, value in given.items() if name not in ("pattern", "type")}
        return Frame(pattern=self._pattern(given["pattern"]), type=Type(given.get("type", "fact")), **rest)

    def speaker(self, voice: Voice) -> str:
        """Who speaks, as a sentence of this language names them."""
        return str(self._data["speaker"]) if voice.name == SPEAKER else voice.name

    def retell(self, clause: str, voice: Voice) -> str:
        """A clause of the speaker in the third person."""
        name = self.speaker(voice)
        inner = name[0].lower() + name[1:] if voice.name == SPEAKER else name
        for pattern, told in self._retell:
            clause = pattern.sub(lambda found, told=told: self._replaced(found, told, inner), clause)  # type: ignore[misc]
        return clause[:1].upper() + clause[1:]

    def _replaced(self, found: re.Match[str], told: str, inner: str) -> str:
        parts, is_named = found.groupdict(), inner.lower() != str(self._data["speaker"]).lower()
        verb = self._third(parts["verb"]) if "verb" in parts else ""
        cases = {name: inner + ("s" * (name == "whose")) if is_named else each for name, each in self._cases.items()}
        return told.format(inner=inner, verb=verb, **cases)

    def _third(self, verb: str) -> str:
        low = verb.lower()
        if low in self._data["verbs"]:
            return str(self._data["verbs"][low])
        # Past tenses such as `wollte` are the same in both persons.
        if not low.endswith("e") or low.endswith(("tte", "ßte", "chte", "lte", "nte", "rte", "gte", "ste")):
            return verb
        return verb[:-1] + ("et" if low[:-1].endswith(("t", "d")) else "t")


_language = cache(Language)


def language_of(text: str) -> Language | None:
    """Return the language of a text, if it has rules of its own."""
    return next((each for each in map(_language, CODES) if each.fits(text)), None)


def told_in(language: Language, sentence: str, voice: Voice, turn: int) -> Iterator[Statement]:
    """The statements of a sentence."""
    bare = language.opening.sub("", sentence.strip(), count=1) if language.opening.match(sentence.strip()) else sentence
    if len(bare) > _LONGEST or language.made_up.search(bare):
        return
    for frame in language.sentences:
        if found := frame.pattern.fullmatch(bare.strip(_SIGNS)):
            yield _asked(language, frame, found, voice, turn)
            return
    run: list[str] = []
    known: Statement | None = None
    for clause in filter(None, (each.strip(_SIGNS) for each in language.breaks.split(bare) if each)):
        is_question = bool(language.asks.search(clause)) or sentence.rstrip().endswith(f"{clause}?")
        found_here = None if is_question else _framed(language, clause, voice, turn, run)
        # A clause without a subject goes on with that of the clause before.
        if known and found_here and language.joins.match(clause):
            if found_here.predicate in SINGLE and known.subject:
                yield known
                known = replace(
                    found_here, text=f"{language.speaker(voice)}{clause}", subject=known.subject, is_single=True
                )
            else:
                known = _joined(known, clause, language, voice)
        else:
            if known:
                yield known
            known = found_here
        run = [] if is_question else [*run, clause]
    if known:
        yield known


def _framed(language: Language, clause: str, voice: Voice, turn: int, before: Sequence[str]) -> Statement | None:
    for frame in language.frames:
        found = frame.pattern.search(clause)
        if found is None or (frame.own and not language.self_.search("".join((*before[-1:], clause)))):
            continue
        value = next((each for each in found.groupdict().values() if each), clause)
        return _statement(language, frame, language.retell(clause, voice), value.strip(_SIGNS), voice, turn, clause)
    return None


def _joined(known: Statement, clause: str, language: Language, voice: Voice) -> Statement:
    told = language.retell(clause, voice)
    return replace(known, text=f"{known.text}，{told}", is_single=False)


def _asked(language: Language, frame: Frame, found: re.Match[str], voice: Voice, turn: int) -> Statement:
    what = language.retell(found["what"].strip(_SIGNS), voice)
    when = language.courtesy.sub("", found["when"]).rstrip(_SIGNS)
    text = frame.told.format(speaker=language.speaker(voice), what=what, when=when)
    return _statement(language, frame, text, f"{when.strip()}: {what}" if when.strip() else what, voice, turn)


def _statement(
    language: Language, frame: Frame, text: str, value: str, voice: Voice, turn: int, clause: str = ""
) -> Statement:
    # What is told of `my sister` is about her, and must not take the place of what is known of the speaker.
    is_own = bool(frame.told) or bool(language.subject.search(clause))
    return Statement(
        text=text,
        type=frame.type,
        kind=DEFAULT_KINDS[frame.type],
        turns=(turn,),
        subject=voice.name if is_own else "",
        predicate=frame.predicate.removeprefix("!"),
        object=value[:120],
        is_single=frame.predicate.startswith("!") and is_own,
        confidence=0.75,
        importance=frame.importance,
        tags=tags_of(frame.topic or frame.predicate, value),
    )
