"""Phrases with which a person asks for something to be remembered, forgotten or looked up, and what is done then."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from memfolio.errors import ConflictError, ModelError, PolicyError, RefusedError
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.settings import Triggers
from memfolio.state import Op
from memfolio.stores.core import Core
from memfolio.stores.flush import lines, resolved, stated
from memfolio.stores.route import Routed, draft, route, route_by_model
from memfolio.types import OVERHEARD, Action, Attribution, MemoryItem, Store
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.fields import Draft, check_text
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

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


@dataclass(frozen=True, slots=True, kw_only=True)
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
_ABBREVIATIONS = r"(?<!\b[A-Z])(?<!\b(?:Dr|Mr|Ms|St|No|vs))(?<!\b(?:Mrs|etc|e\.g|i\.e))(?<!\bProf)"
_STOP = re.compile(rf"{_ABBREVIATIONS}(?<![.!?…])(?:[.!?…]++[)\"”’]*+(?=\s|\Z)|[。！？]+)|\n")
_START = re.compile(r"[\s\-*•–—]*")
_LEAD = re.compile(
    r"""(?ix) (?: (?:hey|hi|hello|ok|okay|so|and|also|oh|btw|by\ the\ way|well|yes|no|actually|alright|great|thanks)\b
    (?:\ (?:there|claude|memfolio|assistant))? [\s,!.]+
    | (?-i:@?[A-Z]\w{0,30}) , \s+ | (?:please|pls|just|always|then|now) \b ,? \s+
    | (?P<polite>(?:can|could|would|will)\ you\s+) | (?:i\ (?:want|need)|i(?:['’]d|\ would)\ like)\ you\ to\s+
    | (?:make\ sure|be\ sure)\ (?:to|you)\s+ | (?:you\ (?:should|must)|let['’]s)\s+ ){0,4}"""
)
_CHEER = re.compile(
    r"(?i)\b(?:lol|lmao|rofl|jk|(?:ha){2,}h?|yourself|you(?:['’]ve)? got this|here (?:for you|if you need)"
    r"|have (?:some )?fun|breathe|smile|be kind|kidding|joking"
    r"|stay (?:positive|focused|patient|strong|safe)|worth it|every step)\b|[😂🤣😜]|;-?\)"
)
"""Jokes, and what people wish each other."""

_DONT_FORGET = r"(?:do\ not|don['’]?t|never)\ (?:ever\ )?forget"
_ENGLISH: dict[TriggerRequest, str] = {
    TriggerRequest.SEARCH: r"""what\ (?:do|can)\ you\ (?:still\ )?remember\ (?:about|of|from)
    | (?:tell|show)\ me\ (?:what|everything)\ you\ remember\ (?:about|of|from)""",
    TriggerRequest.REFLECT: r"""(?P<about>reflect\ on)
    | (?:consolidate|review|clean\ up|tidy(?:\ up)?|organi[sz]e|go\ through)
      \ (?:all\ )?(?:your\ memor(?:y|ies)|(?:(?:my|our|the)\ )?memories)
      (?=\s*(?:[.,!?;:]|\Z)|\ (?:please|now|about|of|on|from|for|since|and)\b)""",
    TriggerRequest.REMEMBER: rf"""(?:remember|memori[sz]e|{_DONT_FORGET}) \s*
      (?: (?:this|that)?\ ?(?:for\ (?:later|next\ time|the\ future))?\s*[:：]
      | (?:,\s*)?(?<=[\s,])(?:that|about|to|the\ fact\ that)\b | (?P<bare>(?<=\s)|(?=,)))
    | (?:keep|bear|have)\ in\ mind\b (?:\ that\b|\s*[:,])?
    | note\ (?:that\b|to\ self\s*[:,]?|[:：]) | (?:note|n\.?b\.?|important)\s*[:：]
    | (?:make|take)\ (?:a\ )?note\ (?:that\b|of\b|[:：]) | (?:make|take)\ (?:a\ )?note\s*[:：]
    | for\ (?:future\ reference|the\ record|later\ reference)\s*[:,]?
    | (?:save|store|note)\ (?:this|that|it)\s*[:：]
    | (?:save|store|write|note|add|put)\ (?:(?:this|that|it)\ )?(?:down|for\ later|(?:in|to)\ (?:your\ )?memory)\s*[:：]
    | (?:save|store|note)\ (?:for\ later|(?:in|to)\ (?:your\ )?memory)\ that\b
    | fyi,?\ for\ (?:later|the\ future)\s*[:,]?""",
    TriggerRequest.FORGET: r"""forget \s* (?: (?:about|that|what\ i\ (?:said|told\ you)\ about|everything\ about)\b
      | (?:this|that)?\s*[:：] | (?P<bare>(?<=\s)))
    | never\s?mind\ (?:about|what\ i\ (?:said|told\ you)\ about)\b
    | (?:disregard|ignore)\ (?:what\ i\ (?:said|told\ you)\ about|everything\ (?:i\ said\ )?about)\b
    | disregard(?=\ (?:my|our)\ (?!last|latest|previous|prior|earlier|messages?|questions?)\w)
    | scratch\ (?:that|what\ i\ said|the\ (?:bit|part|thing|idea))\ about\b
    | (?:that|this)(?:['’]s|\ is)\ no\ longer\ (?:relevant|true|valid)\s*[:：]
    | (?:remove|delete|erase)\ from\ (?:your\ )?memory\s*[:,]?
    | (?:remove|delete|erase|drop)\ (?:(?:any|all)\ )?(?:(?:the|your|my|that)\ )?memor(?:y|ies)\ (?:about|of|that)\b""",
}
_AROUND = re.compile(
    r"(?i)(?:(?:remove|delete|erase|drop) (?P<thing>[^\n]{1,300}?) from your memory"
    r"|(?:remove|delete|erase) (?P<own>(?:my|our|what|everything|anything)\b[^\n]{1,300}?) from memory"
    r"|(?!(?:this|that|these|those|it|they)\b)(?P<gone>[^\n]{1,300}?) (?:is|are) no longer relevant)\b"
    r"(?=\s*[.!]|\s*\Z| please| anymore)"
)
"""Forgetting with the object in front or in between."""
_STORY = re.compile(
    r"""(?ix) (?:when|whenever|how|what|who|where|why|which|if|whether|last|those|remember)\b
    | (?:me|him|her|them|us|you|back)\s*(?:[.!?…]|\Z)
    | (?:that|the|this|these)\ (?:one|first|last|good|old)?\s*(?:old\ )?
      (?:time|day|night|week|weekend|summer|winter|year|trip|guy|girl|song|movie|film|show|joke|party|feeling)s?
      (?:\s+(?:i|we|you|he|she|they|when|where|at|in|on|with|by|before|after|from)\b | \s*(?:[.!?…]|\Z))"""
)
"""How memories that are told begin, rather than those that are to be made."""
_EMPTY = re.compile(
    r"""(?ix) (?: (?:about|on|of|to|for|that|this|it|all|everything|them|those|these|him|her|me|you|us|now|then
    |please|thanks?|later|forever|always|again|ok|okay|too|as|well|anyway|what|i|said|just|the|a|an|and|one|not|last
    |thing|stuff|bit|part) \b [\s.,!?]* )+"""
)
_ASIDE = re.compile(r"(?i)\s*(?:it|that|this|them)?\s*[,;]|[^,;\n]{1,100}[,;] (?:let['’]s|just|use|i['’]m|we['’]re)\b")
"""What stands behind "forget" where somebody goes on to something else."""
_REQUEST = re.compile(r"(?i)\b(?:please|pls|can you|could you|would you) \w")
_SIGNS = " \t\n\r.,!?…;:。！？，、："
_COURTESY = re.compile(r"(?i)[\s,](?:please|pls|ok|okay|thanks|thank you)\Z")


def detect(text: str, phrases: Triggers) -> Trigger | None:
    """The first thing that a message asks for; None for most messages."""
    masked = _MASKED.sub(lambda match: "_" * len(match[0]), text)
    patterns = _patterns(phrases)
    for start, end in _sentences(masked):
        lead = _LEAD.match(masked, start, end)
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
    english = [(kind, re.compile(f"(?ix)(?:{pattern})")) for kind, pattern in _ENGLISH.items()]
    others = [(kind, re.compile(f"(?i)(?:{_literal(each)})")) for kind, each in further.items() if each]
    return (*others, *english)


def _literal(phrases: Iterable[str]) -> str:
    """The phrases as they are, the longest first; in scripts with spaces only as whole words."""
    longest = sorted((each.strip() for each in phrases), key=len, reverse=True)
    return "|".join(re.escape(each) + ("" if each[-1] >= "\u2e80" else r"(?!\w)") for each in longest)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where sentences begin, without signs of lists, and where they end."""
    start = 0
    for end in (*(stop.end() for stop in _STOP.finditer(text)), len(text)):
        begin = _START.match(text, start, end)
        if begin and begin.end() < end:
            yield begin.end(), end
        start = end


def _trigger(
    kind: TriggerRequest, text: str, masked: str, match: re.Match[str], end: int, *, is_polite: bool
) -> Trigger | None:
    """What a phrase asks for, unless it only looks like one."""
    rest = masked[match.end() : end]
    is_question = rest.rstrip().endswith(("?", "？"))
    if kind in (TriggerRequest.REMEMBER, TriggerRequest.FORGET) and (
        _CHEER.search(rest) or (is_question and not is_polite)
    ):
        return None
    if _is_story(match, rest.lstrip(" ,")) or _is_other(kind, match[0].casefold(), rest):
        return None
    found = _object(text, masked, match, end)
    is_named = bool(found) and not _EMPTY.fullmatch(found)
    may_be_empty = kind is TriggerRequest.REFLECT and not match.groupdict().get("about")
    if not is_named and not may_be_empty:
        return None
    return Trigger(kind=kind, object=found if is_named else "", phrase=text[match.start() : match.end()].strip())


def _is_other(kind: TriggerRequest, phrase: str, rest: str) -> bool:
    """Whether something else is asked for: to go on, to take something along, or to do something."""
    if kind is TriggerRequest.FORGET:
        return bool(_ASIDE.match(rest))
    if phrase.endswith("forget "):
        return rest.casefold().startswith("your ")
    return phrase.startswith(("note:", "important", "nb", "n.b")) and bool(_REQUEST.search(rest))


def _is_story(match: re.Match[str], rest: str) -> bool:
    """Whether somebody tells of a memory, such as "remember that day we met"."""
    if match.groupdict().get("bare") is not None:
        return bool(_STORY.match(rest)) or (match[0].casefold().startswith("forget") and rest.startswith("to "))
    return match[0].casefold().endswith(" that") and bool(_STORY.match(f"that {rest}"))


def _object(text: str, masked: str, match: re.Match[str], end: int) -> str:
    """What the phrase is about: the rest of the sentence; behind a colon that of the paragraph."""
    if match[0].rstrip().endswith((":", "：")):
        blank = re.compile(r"\n[ \t]*\n").search(masked, match.end())
        line = masked.find("\n", match.end())
        is_below = line >= 0 and not masked[match.end() : line].strip()
        end = blank.start() if blank and is_below else line if line >= 0 and not is_below else len(text)
    words = text[match.end() : end].rstrip(_SIGNS)
    courtesy = _COURTESY.search(words, max(0, len(words) - 12))
    return (words[: courtesy.start()] if courtesy else words).rstrip(_SIGNS).lstrip(" \t\n\r:,，、：-–—")


def _around(text: str, masked: str, at: int, end: int) -> Trigger | None:
    match = _AROUND.match(masked, at, end)
    if match is None or masked[at:end].rstrip().endswith("?") or _CHEER.search(masked, at, end):
        return None
    start, end = match.span(str(match.lastgroup))
    found = text[start:end].strip()
    if not found or _EMPTY.fullmatch(found):
        return None
    return Trigger(kind=TriggerRequest.FORGET, object=found, phrase=text[match.start() : match.end()].strip())


# Doing what a person asks for in a conversation: remember, forget, look for. Forgetting is only prepared.

BY = Attribution(actor="bot:trigger-remember", trigger="heed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heeded:
    """What a message asked for, and what came of it."""

    trigger: Trigger
    routed: Routed | None = None
    remembered: MemoryItem | None = None
    fits: tuple[MemoryItem, ...] = ()
    """What would be forgotten: for a person to agree to, and then to `forget` by its id."""
    notes: tuple[str, ...] = ()


def heed(
    vault: Vault,
    library: Library,
    core: Core,
    text: str,
    *,
    reflect: Callable[[], str],
    model: Model | None = None,
    session: str | None = None,
    user: str | None = None,
) -> Heeded | None:
    """Do what a message asks for, as far as it can be taken back; None where it asks for nothing of that kind."""
    trigger = detect(text, vault.config.triggers)
    if trigger is None:
        return None
    if trigger.kind is TriggerRequest.REFLECT:
        return Heeded(trigger=trigger, notes=(reflect() or "there is nothing to propose",))
    library.attend()
    if trigger.kind is TriggerRequest.FORGET:
        return _prepare_to_forget(library, trigger)
    if trigger.kind is not TriggerRequest.REMEMBER:
        return Heeded(trigger=trigger)
    return _remember(vault, library, core, trigger, model, session=session, user=user)


def _remember(
    vault: Vault,
    library: Library,
    core: Core,
    trigger: Trigger,
    model: Model | None,
    *,
    session: str | None,
    user: str | None,
) -> Heeded:
    """Keep the words of a person, in the place of what was only overheard; what they asked for before is kept once."""
    routed, notes = _routed(trigger.object, model, user)
    statement = stated(check_text(trigger.object), user, type=routed.type, kind=routed.kind)
    resolution = resolved(library.index, [(statement, vault.home.now())], vault.config.learn.conflicts, None)
    known = [found[1].item for ref, _ in resolution.repeated if (found := library.locate(str(ref)))]
    asked_for = next((each for each in known if each.source not in OVERHEARD), None)
    if asked_for is None:
        made = draft(routed, statement, user)._replace(session=session)
        overheard = ({"op": Op.SUPERSEDE.value, "memory": each.id, "by": NewId(0)} for each in known)
        records = (*lines(resolution), *overheard)
        try:
            remembered = _kept(vault, library.agent, made, records)
        except PolicyError:
            if made.store is not Store.VAULT:
                raise
            pinned = {"op": Op.PIN.value, "memory": NewId(0), "pinned": True}
            remembered = _kept(vault, library.agent, made._replace(store=Store.LONG_TERM), (*records, pinned))
            notes.append("pinned in long-term memory, since only its owner writes the vault")
    else:
        notes.append("this is remembered already")
    notes += [f"this contradicts {each.old.ref}: {each.old.text}" for each in resolution.contradicting]
    if routed.core_update:
        notes += _into_core(core, routed)
    return Heeded(trigger=trigger, routed=routed, remembered=asked_for or remembered, notes=tuple(notes))


def _kept(vault: Vault, agent: str, made: Draft, records: Sequence[Mapping[str, Any]]) -> MemoryItem:
    further = (AddLines(state_ledger(agent), tuple(records)),) if records else ()
    change = Change(operations=(AddEntries(agent, (made,)), *further), by=BY, action=Action.APPEND)
    return vault.apply(change).items[0]


def _routed(text: str, model: Model | None, user: str | None) -> tuple[Routed, list[str]]:
    try:
        return (route_by_model(model, text, user) if model else route(text, user)), []
    except ModelError as error:
        return route(text, user), [f"routed without the model: {error.message}"]


def _into_core(core: Core, routed: Routed) -> list[str]:
    try:
        core.add(routed.block, routed.summary)
    except (RefusedError, ConflictError) as error:  # it is remembered all the same
        return [f"not in core memory: {error.message}"]
    return []


def _prepare_to_forget(library: Library, trigger: Trigger) -> Heeded:
    try:
        found = library.described(trigger.object)
    except ConflictError as error:  # too many fit
        return Heeded(trigger=trigger, notes=(error.message,))
    return Heeded(trigger=trigger, fits=tuple(each.item for _, each in found))
