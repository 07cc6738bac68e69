"""What a person asks for in a message: the phrases, where it belongs and what it is, and what is done then."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from memfolio.errors import ConflictError, ModelError, PolicyError, RefusedError
from memfolio.learn.learned import Statement, Turn, drafted
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.settings import Triggers
from memfolio.state import Op
from memfolio.stores.core import ACTIVE, CRITICAL, IDENTITY, Core
from memfolio.stores.flush import lines, resolved, stated
from memfolio.text import terms
from memfolio.types import OVERHEARD, Action, Attribution, Kind, MemoryItem, Store, Type, default_kind, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.fields import Draft, check_text, normalise_content
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

# Where something that is to be remembered belongs, and what it is, by its words. Pure.

_PHRASES = tomllib.loads((Path(__file__).parent / "data" / "phrases.toml").read_text("utf-8"))


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, in which a run of white space stands for one space."""
    return re.compile(rf"(?i)\b(?:{' '.join(pattern.split()).replace(' | ', '|')})\b")


_TYPES = {Type(name): _words(pattern) for name, pattern in _PHRASES["types"].items()}
_CUES = {name: _words(pattern) for name, pattern in _PHRASES["cues"].items()}


def type_of(text: str) -> Type:
    """What a text most likely is, by its words."""
    if _CUES["task"].match(text):
        return Type.TASK
    if _CUES["procedure"].search(text):
        return Type.LESSON
    return next((type_ for type_, pattern in _TYPES.items() if pattern.search(text)), Type.OBSERVATION)


CORE, EPISODIC, SEMANTIC, PROCEDURAL, VAULT = STORES = ("core", "episodic", "semantic", "procedural", "vault")
CONFIDENCE = {"high": 1.0, "medium": 0.7, "low": 0.4}
FEWEST_TAGS, MOST_TAGS = 2, 5
SUMMARY = 200
"""Characters."""

E = TypeVar("E", Kind, Type)

_BLOCKS = {CRITICAL: _CUES["critical"], ACTIVE: _CUES["active"], IDENTITY: _CUES["identity"]}
_TAG = re.compile(r"[^\w.+#-]+")


@frozen
class Routed:
    """Where something belongs, what it is, and how sure that is."""

    store: str
    type: Type
    kind: Kind
    summary: str
    tags: tuple[str, ...] = ()
    confidence: float = CONFIDENCE["high"]
    core_update: bool = False
    block: str = CRITICAL
    """The block of core memory that it would go to."""


@frozen
class Classified:
    """What a model says; each field counts for itself, and where it makes no sense the rules decide."""

    store: str = ""
    type: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    confidence: str = ""
    core_update: bool = False
    summary: str = ""


def route(text: str, speaker: str | None = None) -> Routed:
    """Where a text belongs that somebody said, by rules alone."""
    text = check_text(text)
    known = learn([Turn(content=text, speaker=speaker or "The user")])
    first = next(iter(known.statements), None)
    type_ = first.type if first else type_of(text)
    store, kind = _place(text, type_, first)
    names = [each.name for each in known.mentions]
    confidence = "low" if _CUES["doubtful"].search(text) else "medium" if _CUES["unsure"].search(text) else "high"
    block = next((block for block, cue in _BLOCKS.items() if cue.search(text)), None)
    return Routed(
        store=store,
        type=type_,
        kind=kind,
        summary=_shortened(first.text if first else text),
        tags=_tags([*(first.tags if first else ()), *names, *terms(text, limit=8)], type_, kind),
        confidence=CONFIDENCE[confidence],
        core_update=block is not None and confidence != "low",
        block=block or CRITICAL,
    )


def route_by_model(model: Model, text: str, speaker: str | None = None) -> Routed:
    """The same by a language model; where it does not answer sensibly, by the rules. Raises ModelError."""
    routed = route(text, speaker)
    said = model.ask(_PHRASES["classify"], text, Classified)
    kind, type_ = _member(Kind, said.kind, routed.kind), _member(Type, said.type, routed.type)
    store = said.store.strip().casefold()
    return replace(
        routed,
        store=store if store in STORES else routed.store,
        type=type_,
        kind=kind,
        tags=_tags(said.tags, type_, kind) if said.tags else routed.tags,
        confidence=CONFIDENCE.get(said.confidence.strip().casefold(), routed.confidence),
        core_update=said.core_update,
        summary=_shortened(said.summary) if said.summary.strip() else routed.summary,
    )


def draft(routed: Routed, statement: Statement, user: str | None = None) -> Draft:
    """The memory to be made of a routed statement, in the person's own words."""
    return drafted(statement, source="trigger", user=user)._replace(
        type=routed.type,
        kind=routed.kind,
        store=Store.VAULT if routed.store == VAULT else Store.LONG_TERM,
        importance=0.9 if routed.core_update or routed.store in (CORE, VAULT) else 0.6,
        confidence=routed.confidence,
        tags=routed.tags,
    )


def _place(text: str, type_: Type, first: Statement | None) -> tuple[str, Kind]:
    """The store and the kind of a text."""
    if _CUES["procedure"].search(text):
        return VAULT if _CUES["vault"].search(text) else PROCEDURAL, Kind.PROCEDURAL
    kind = first.kind if first else default_kind(type_)
    if _CUES["vault"].search(text):
        return VAULT, kind
    if _CUES["identity"].search(text) or _CUES["critical"].search(text):
        return CORE, kind
    stores = {Kind.SEMANTIC: SEMANTIC, Kind.OPINION: SEMANTIC, Kind.PROCEDURAL: PROCEDURAL}
    return stores.get(kind, EPISODIC), kind


def _tags(found: Iterable[str], type_: Type, kind: Kind) -> tuple[str, ...]:
    """Two to five tags: those that were found, and where they are too few what it is."""
    tags = [tag for each in found if len(tag := _TAG.sub("-", each.strip().lstrip("#").casefold()).strip("-")) > 1]
    unique = list(dict.fromkeys(tags))[:MOST_TAGS]
    return tuple(dict.fromkeys([*unique, type_.value, kind.value]))[: max(FEWEST_TAGS, len(unique))]


def _member(choices: type[E], value: str, default: E) -> E:
    known = {each.value: each for each in choices}
    return known.get(value.strip().casefold(), default)


def _shortened(text: str) -> str:
    line = " ".join(normalise_content(text).split())
    return line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1].rstrip()}…"


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
_SIGNS = " \t\n\r.,!?…;:。！？，、："
_REQUESTS = {TriggerRequest(name): re.compile(f"(?ix)(?:{pattern})") for name, pattern in _PHRASES["requests"].items()}
_AROUND = {name: re.compile(pattern) for name, pattern in _PHRASES["around"].items()}


def detect(text: str, phrases: Triggers) -> Trigger | None:
    """The first thing that a message asks for; None for most messages."""
    # Of the same length, so that places in the one are places in the other.
    masked = _MASKED.sub(lambda match: "_" * len(match[0]), text)
    patterns = _patterns(phrases)
    for start, end in _sentences(masked):
        lead = _AROUND["lead"].match(masked, start, end)
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
    for end in (*(stop.end() for stop in _AROUND["stop"].finditer(text)), len(text)):
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
        _AROUND["cheer"].search(rest) or (is_question and not is_polite)
    ):
        return None
    if _is_story(match, rest.lstrip(" ,")) or _is_other(kind, match[0].casefold(), rest):
        return None
    found = _object(text, masked, match, end)
    is_named = bool(found) and not _AROUND["empty"].fullmatch(found)
    may_be_empty = kind is TriggerRequest.REFLECT and not match.groupdict().get("about")
    if not is_named and not may_be_empty:
        return None
    return Trigger(kind=kind, object=found if is_named else "", phrase=text[match.start() : match.end()].strip())


def _is_other(kind: TriggerRequest, phrase: str, rest: str) -> bool:
    """Whether something else is asked for: to go on, to take something along, or to do something."""
    if kind is TriggerRequest.FORGET:
        return bool(_AROUND["aside"].match(rest))
    if phrase.endswith("forget "):
        return rest.casefold().startswith("your ")
    return phrase.startswith(("note:", "important", "nb", "n.b")) and bool(_AROUND["request"].search(rest))


def _is_story(match: re.Match[str], rest: str) -> bool:
    """Whether somebody tells of a memory, such as "remember that day we met"."""
    if match.groupdict().get("bare") is not None:
        return bool(_AROUND["story"].match(rest)) or (
            match[0].casefold().startswith("forget") and rest.startswith("to ")
        )
    return match[0].casefold().endswith(" that") and bool(_AROUND["story"].match(f"that {rest}"))


def _object(text: str, masked: str, match: re.Match[str], end: int) -> str:
    """What the phrase is about: the rest of the sentence; behind a colon that of the paragraph."""
    if match[0].rstrip().endswith((":", "：")):
        blank = re.compile(r"\n[ \t]*\n").search(masked, match.end())
        line = masked.find("\n", match.end())
        is_below = line >= 0 and not masked[match.end() : line].strip()
        end = blank.start() if blank and is_below else line if line >= 0 and not is_below else len(text)
    words = text[match.end() : end].rstrip(_SIGNS)
    courtesy = _AROUND["courtesy"].search(words, max(0, len(words) - 12))
    return (words[: courtesy.start()] if courtesy else words).rstrip(_SIGNS).lstrip(" \t\n\r:,，、：-–—")


def _around(text: str, masked: str, at: int, end: int) -> Trigger | None:
    match = _AROUND["forget"].match(masked, at, end)
    if match is None or masked[at:end].rstrip().endswith("?") or _AROUND["cheer"].search(masked, at, end):
        return None
    start, end = match.span(str(match.lastgroup))
    found = text[start:end].strip()
    if not found or _AROUND["empty"].fullmatch(found):
        return None
    return Trigger(kind=TriggerRequest.FORGET, object=found, phrase=text[match.start() : match.end()].strip())


# Doing what a person asks for in a conversation: remember, forget, look for. Forgetting is only prepared.

BY = Attribution(actor="bot:trigger-remember", trigger="heed")


@frozen
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
        # An agent may not write the vault; the person's wish is kept as far as it may.
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
