"""What a person asks their memory for in a message: the phrases, and about what. Pure.

Hooks look at every prompt with it, so it imports next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache

from memfolio.settings import Triggers
from memfolio.text import packaged_table
from memfolio.types import frozen

PHRASES = packaged_table("stores/data/phrases.toml")

# Phrases with which a person asks for something to be remembered, forgotten, looked through or looked up. Pure.
#
# They count at the beginning of a message or of a sentence, never inside one, in quotes or in code. What is to be
# remembered or forgotten must be said as well: "forget it" asks for nothing that could be found.


class TriggerRequest(StrEnum):
    """What is asked for."""

    REMEMBER = "remember"
    FORGET = "forget"
    REFLECT = "reflect"
    SEARCH = "search"


@frozen
class Trigger:
    """What is asked for, with which phrase, and about what; only reflection may be about nothing in particular."""

    kind: TriggerRequest
    object: str
    phrase: str


_MASKED = re.compile(
    r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[^\n]*$|\Z)|^[ \t]*>[^\n]*$|^(?: {4}|\t)[^\n]*$"
    r"|``?[^`\n]{1,500}``?|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|„[^“”\n]{0,500}[“”]|«[^»\n]{0,500}»|「[^」\n]{0,500}」"
)
"""Code, quoted lines and quotations."""
_START = re.compile(r"[\s\-*•–—]*")
COURTESY = 2
"""Words of a sentence that only thanks or greets."""
ASKING = frozenset(TriggerRequest) - {TriggerRequest.REMEMBER}
_SIGNS = " \t\n\r.,!?…;:。！？，、："
_REQUESTS = {TriggerRequest(name): re.compile(f"(?ix)(?:{pattern})") for name, pattern in PHRASES["requests"].items()}
AROUND = {name: re.compile(pattern) for name, pattern in PHRASES["around"].items()}


def detect(text: str, phrases: Triggers) -> Trigger | None:
    """The first thing that a message asks for; None for most messages."""
    # Of the same length, so that places in the one are places in the other.
    masked = _MASKED.sub(lambda match: "_" * len(match[0]), text)
    patterns = _patterns(phrases)
    for start, end in _sentences(masked):
        lead = AROUND["lead"].match(masked, start, end)
        at = lead.end() if lead else start
        for kind, pattern in patterns:
            match = pattern.match(masked, at, end)
            found = match and _trigger(kind, text, masked, match, end, is_polite=bool(lead and lead["polite"]))
            if found:
                return found
        if found := _around(text, masked, at, end):
            return found
    return None


@lru_cache(maxsize=16)
def _patterns(phrases: Triggers) -> tuple[tuple[TriggerRequest, re.Pattern[str]], ...]:
    further = {
        TriggerRequest.REMEMBER: phrases.remember,
        TriggerRequest.FORGET: phrases.forget,
        TriggerRequest.REFLECT: phrases.reflect,
    }
    others = [(kind, re.compile(f"(?i)(?:{_literal(each)})")) for kind, each in further.items() if each]
    return (*others, *_REQUESTS.items())


def _literal(phrases: Iterable[str]) -> str:
    """The phrases as they are, the longest first; in scripts with spaces only as whole words."""
    longest = sorted((each.strip() for each in phrases), key=len, reverse=True)
    return "|".join(re.escape(each) + ("" if each[-1] >= "\u2e80" else r"(?!\w)") for each in longest)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where sentences begin, without signs of lists, and where they end."""
    start = 0
    for end in (*(stop.end() for stop in AROUND["stop"].finditer(text)), len(text)):
        begin = _START.match(text, start, end)
        if begin and begin.end() < end:
            yield begin.end(), end
        start = end


def only_asks(text: str, phrases: Triggers, kinds: Iterable[TriggerRequest] = ASKING) -> bool:
    """Whether a message only asks the memory for something: to forget, to reflect or to look something up."""
    parts = [part for start, end in _sentences(text) if len((part := text[start:end]).split()) > COURTESY]
    asked = [detect(part, phrases) for part in parts]
    return bool(asked) and all(each is not None and each.kind in kinds for each in asked)


def _trigger(
    kind: TriggerRequest, text: str, masked: str, match: re.Match[str], end: int, *, is_polite: bool
) -> Trigger | None:
    """What a phrase asks for, unless it only looks like one."""
    rest = masked[match.end() : end]
    is_question = rest.rstrip().endswith(("?", "？"))
    if kind in (TriggerRequest.REMEMBER, TriggerRequest.FORGET) and (
        AROUND["cheer"].search(rest) or (is_question and not is_polite)
    ):
        return None
    if _is_story(match, rest.lstrip(" ,")) or _is_other(kind, match[0].casefold(), rest):
        return None
    found = _object(text, masked, match, end)
    about_self = kind is TriggerRequest.SEARCH and AROUND["self"].fullmatch(found)
    is_named = bool(found) and bool(about_self or not AROUND["empty"].fullmatch(found))
    may_be_empty = kind is TriggerRequest.REFLECT and not match.groupdict().get("about")
    if not is_named and not may_be_empty:
        return None
    if is_named and kind is TriggerRequest.REMEMBER:
        found = _sentence(match[0].lstrip(), found)
    return Trigger(kind=kind, object=found if is_named else "", phrase=text[match.start() : match.end()].strip())


def _sentence(phrase: str, words: str) -> str:
    """What is to be remembered as a sentence that stands by itself; the whole request where only that does."""
    if not AROUND["conjunction"].search(phrase):
        return words
    found = AROUND["verb_last"].match(words)
    made = f"{found['subject']} {found['verb']} {found['rest']}" if found else f"{phrase.rstrip()} {words}"
    return made[:1].upper() + made[1:]


def _is_other(kind: TriggerRequest, phrase: str, rest: str) -> bool:
    """Whether something else is asked for: to go on, to take something along, or to do something."""
    if kind is TriggerRequest.FORGET:
        return bool(AROUND["aside"].match(rest))
    if phrase.endswith("forget "):
        return rest.casefold().startswith("your ")
    return phrase.startswith(("note:", "important", "nb", "n.b")) and bool(AROUND["request"].search(rest))


def _is_story(match: re.Match[str], rest: str) -> bool:
    """Whether somebody tells of a memory, such as "remember that day we met"."""
    if match.groupdict().get("bare") is not None:
        return bool(AROUND["story"].match(rest)) or (
            match[0].casefold().startswith("forget") and rest.startswith("to ")
        )
    return match[0].casefold().endswith(" that") and bool(AROUND["story"].match(f"that {rest}"))


def _object(text: str, masked: str, match: re.Match[str], end: int) -> str:
    """What the phrase is about: the rest of the sentence; behind a colon that of the paragraph."""
    if match[0].rstrip().endswith((":", "：")):
        blank = re.compile(r"\n[ \t]*\n").search(masked, match.end())
        line = masked.find("\n", match.end())
        is_below = line >= 0 and not masked[match.end() : line].strip()
        end = blank.start() if blank and is_below else line if line >= 0 and not is_below else len(text)
    words = text[match.end() : end].rstrip(_SIGNS)
    courtesy = AROUND["courtesy"].search(words, max(0, len(words) - 12))
    return (words[: courtesy.start()] if courtesy else words).rstrip(_SIGNS).lstrip(" \t\n\r:,，、：-–—")


def _around(text: str, masked: str, at: int, end: int) -> Trigger | None:
    match = AROUND["forget"].match(masked, at, end)
    if match is None or masked[at:end].rstrip().endswith("?") or AROUND["cheer"].search(masked, at, end):
        return None
    found = text[slice(*match.span(str(match.lastgroup)))].strip()
    if more := AROUND["more"].match(masked, match.end(), end):
        found = f"{found}, {text[more.end() : end].strip(_SIGNS)}"
    if not found or AROUND["empty"].fullmatch(found):
        return None
    return Trigger(kind=TriggerRequest.FORGET, object=found, phrase=text[match.start() : match.end()].strip())


def advice(kind: TriggerRequest, *, is_empty: bool, phrase: str = "") -> str:
    """What is said of what a request brought, which may be nothing so far."""
    is_all = kind is TriggerRequest.FORGET and AROUND["all"].search(phrase)
    return str(PHRASES["answers"][f"no_{kind}" if is_empty else f"{kind}_all" if is_all else kind.value])
