"""Where something belongs that is to be remembered and what it is, and doing what a person asks for in a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from memfolio.errors import ConflictError, ModelError, PolicyError, RefusedError
from memfolio.graph.entities import words_of
from memfolio.index.notes import note_name
from memfolio.learn.learned import Statement, Turn, drafted
from memfolio.learn.rules import learn
from memfolio.learn.words import words
from memfolio.llm.model import Model
from memfolio.recall.context import speaks_of_self
from memfolio.recall.fence import bullet, fenced
from memfolio.recall.hit import Hit, Hits
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores.core import ACTIVE, CRITICAL, IDENTITY, Core
from memfolio.stores.flush import lines, resolved, stated
from memfolio.stores.requests import AROUND, PHRASES, Trigger, TriggerRequest, advice, detect, only_asks
from memfolio.text import clip, terms
from memfolio.types import (
    DEFAULT_KINDS,
    ID_PATTERN,
    OVERHEARD,
    Action,
    Attribution,
    Kind,
    MemoryItem,
    Store,
    Type,
    frozen,
)
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.fields import Draft, check_text
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

# Where something that is to be remembered belongs, and what it is, by its words. Pure.


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, in which a run of white space stands for one space."""
    return re.compile(rf"(?i)\b(?:{' '.join(pattern.split()).replace(' | ', '|')})\b")


_TYPES = {Type(name): _words(pattern) for name, pattern in PHRASES["types"].items()}
_CUES = {name: _words(pattern) for name, pattern in PHRASES["cues"].items()}


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
        tags=_tags([*(first.tags[:1] if first else ()), *map(_bare, names)], type_, kind),
        confidence=CONFIDENCE[confidence],
        core_update=block is not None and confidence != "low",
        block=block or CRITICAL,
    )


def route_by_model(model: Model, text: str, speaker: str | None = None) -> Routed:
    """The same by a language model; where it does not answer sensibly, by the rules. Raises ModelError."""
    routed = route(text, speaker)
    answer = model.ask(PHRASES["classify"], text, Classified)
    kind, type_ = _member(Kind, answer.kind, routed.kind), _member(Type, answer.type, routed.type)
    store = answer.store.strip().casefold()
    return replace(
        routed,
        store=store if store in STORES else routed.store,
        type=type_,
        kind=kind,
        tags=_tags(answer.tags, type_, kind) if answer.tags else routed.tags,
        confidence=CONFIDENCE.get(answer.confidence.strip().casefold(), routed.confidence),
        core_update=answer.core_update,
        summary=_shortened(answer.summary) if answer.summary.strip() else routed.summary,
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
    kind = first.kind if first else DEFAULT_KINDS[type_]
    if _CUES["vault"].search(text):
        return VAULT, kind
    if _CUES["identity"].search(text) or _CUES["critical"].search(text):
        return CORE, kind
    stores = {Kind.SEMANTIC: SEMANTIC, Kind.OPINION: SEMANTIC, Kind.PROCEDURAL: PROCEDURAL}
    return stores.get(kind, EPISODIC), kind


def _bare(name: str) -> str:
    """A name without articles and the like."""
    return " ".join(word for word in name.split() if terms(word, weak=False))


def _tags(found: Iterable[str], type_: Type, kind: Kind) -> tuple[str, ...]:
    """Two to five tags: those that were found, and where they are too few what it is."""
    tags = [tag for each in found if len(tag := _TAG.sub("-", each.strip().lstrip("#").casefold()).strip("-")) > 1]
    unique = list(dict.fromkeys(tags))[:MOST_TAGS]
    return tuple(dict.fromkeys([*unique, type_.value, kind.value]))[: max(FEWEST_TAGS, len(unique))]


def _member(choices: type[E], value: str, default: E) -> E:
    known = {each.value: each for each in choices}
    return known.get(value.strip().casefold(), default)


def _shortened(text: str) -> str:
    return clip(" ".join(text.split()), SUMMARY)


# Doing what a person asks for in a conversation: remember, forget, look for. Forgetting is only prepared.

BY = Attribution(actor="bot:trigger-remember", trigger="act_on")
TIED = frozenset(("text", "entity", "time"))
"""How something is found that is about a subject for sure, however little it answers."""
_FULL_NAME = re.compile(r"([A-ZÀ-ÖØ-Þ][\w’'-]+) (?:[A-ZÀ-ÖØ-Þ][\w’'-]+ )*([A-ZÀ-ÖØ-Þ][\w’'-]+)")
KNOWN, FEW = 12, 3
"""How many memories answer a question about what is known, and how many may be meant that lack a word of it."""


@frozen
class ActedOn:
    """What a message asked for, and what came of it."""

    trigger: Trigger
    routed: Routed | None = None
    remembered: MemoryItem | None = None
    core: tuple[str, ...] = ()
    """Lines of core memory: the one that what was remembered became, or those that answer a question."""
    fits: tuple[MemoryItem, ...] = ()
    """What would be forgotten: for a person to agree to, and then to `forget` by its id."""
    found: tuple[MemoryItem, ...] = ()
    """What is known about what was asked."""
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """What came of it, as a text for whoever speaks with the person."""
        return "\n".join([self.advice, *(f"- {line}" for line in self.lines), *self.notes])

    @property
    def prompt(self) -> str:
        """The same for a model, which must not take what is remembered for an instruction."""
        listed = [fenced(bullet("", line) for line in self.lines)] if self.lines else []
        return "\n".join([self.advice, *listed, *self.notes])

    @property
    def advice(self) -> str:
        """What came of it in our own words, without any of what is remembered."""
        return advice(self.trigger.kind, is_empty=not self.lines, phrase=self.trigger.phrase)

    @property
    def lines(self) -> tuple[str, ...]:
        """What was remembered, would be forgotten or is known, each with its id."""
        made = (self.remembered,) if self.remembered else ()
        items = (*made, *self.fits, *self.found)
        known = self.core if self.trigger.kind is TriggerRequest.SEARCH else ()
        return (*known, *(f"{_title(each)}{_shortened(each.content)} [{each.id}]" for each in items))


def _title(item: MemoryItem) -> str:
    """The name of the note that it is a part of, which may be all that says whom it is about."""
    page = item.attributes.get("page")
    return f"{note_name(page)}: " if isinstance(page, str) else ""


def act_on(
    vault: Vault,
    searcher: Searcher,
    core: Core,
    text: str,
    *,
    recall: Callable[..., Hits],
    reflect: Callable[[], str],
    model: Model | None = None,
    session: str | None = None,
    user: str | None = None,
) -> ActedOn | None:
    """Do what a message asks for, as far as it can be taken back; None where it asks for nothing of that kind."""
    trigger = detect(text, vault.config.triggers)
    if trigger is None:
        return None
    if trigger.kind is TriggerRequest.REFLECT:
        return ActedOn(trigger=trigger, notes=(reflect() or "there is nothing to propose",))
    searcher.prepare()
    if trigger.kind is TriggerRequest.FORGET:
        return _prepare_to_forget(searcher, trigger, recall)
    if trigger.kind is TriggerRequest.SEARCH:
        return _look_up(vault, searcher, core, text, trigger, recall)
    return _remember(vault, searcher, core, trigger, model, session=session, user=user)


def _look_up(
    vault: Vault, searcher: Searcher, core: Core, text: str, trigger: Trigger, recall: Callable[..., Hits]
) -> ActedOn:
    """What is known: of the person what is newest, with core memory; of anything else what is about it for sure."""
    if not AROUND["self"].fullmatch(trigger.object):
        asked, fit, phrases = trigger.object, vault.config.recall.fits, vault.config.triggers
        least = searcher.ease(text) * fit
        hits = [hit for hit in recall(asked, limit=2 * KNOWN) if is_about(hit, asked, fit, least)]
        hits = [hit for hit in hits if not only_asks(hit.memory.content, phrases)]
        is_known = any(hit.fit >= least for hit in hits)
        return ActedOn(trigger=trigger, found=tuple(hit.memory for hit in hits[:KNOWN]) if is_known else ())
    blocks = core.memory_of(searcher.audible(core.read().text)).blocks
    newest = [hit.memory for hit in recall("", types=(Type.FACT, Type.PREFERENCE), limit=KNOWN)]
    cited = {item.id for block in blocks for item in block.items}
    found = (each for each in newest if each.id not in cited and ID_PATTERN.fullmatch(each.id))
    return ActedOn(
        trigger=trigger, core=tuple(item.says for block in blocks for item in block.items), found=tuple(found)
    )


def is_about(hit: Hit, asked: str, fit: float, least: float) -> bool:
    """Whether a hit is about what was asked for, and not about somebody else: it has a word of it, or fits well.

    What people say of themselves where they ask about themselves needs to fit less: no more than `least`.
    """
    text = " ".join((*hit.heading, hit.memory.content))
    is_own, is_told = speaks_of_self(asked), speaks_of_self(text)
    is_tied = not TIED.isdisjoint(each.strategy for each in hit.why)
    if hit.only_asks or hit.is_question or not (is_tied or hit.fit >= (least if is_own and is_told else fit)):
        return False
    if any(_is_a_namesake(found[1], found[2], text) for found in _FULL_NAME.finditer(asked)):
        return False
    return is_told or not is_own or not _is_somebody_elses(hit, asked)


def _is_a_namesake(first: str, last: str, text: str) -> bool:
    """Whether a text is about somebody else of the same family name."""
    if AROUND["titles"].fullmatch(first) or re.search(rf"\b{re.escape(first)}", text):
        return False
    others = rf"\b(?!(?:{AROUND['titles'].pattern})\b)[A-ZÀ-ÖØ-Þ][\w’'-]+ {re.escape(last)}\b"
    return re.search(others, text) is not None


def _is_somebody_elses(hit: Hit, asked: str) -> bool:
    """Whether it stands on the page of a person, and something of one's own was asked for that is no person."""
    if not {*words("kin"), *words("offices")}.isdisjoint(words_of(asked)):
        return False
    named = (name for name in hit.heading if name.istitle() and words_of(name)[0] in words("first_names"))
    page = str(hit.memory.attributes.get("page", hit.path))
    return next(named, None) is not None or AROUND["people"].search(page) is not None


def _remember(
    vault: Vault,
    searcher: Searcher,
    core: Core,
    trigger: Trigger,
    model: Model | None,
    *,
    session: str | None,
    user: str | None,
) -> ActedOn:
    """Keep the words of a person, in the place of what was only overheard; what they asked for before is kept once."""
    routed, notes = _routed(trigger.object, model, user)
    statement = stated(check_text(trigger.object), user, type=routed.type, kind=routed.kind)
    resolution = resolved(searcher.index, [(statement, vault.home.now())], vault.config.learn.conflicts, None)
    known = [found[1].item for ref, _ in resolution.repeated if (found := searcher.locate(str(ref)))]
    asked_for = next((each for each in known if each.source not in OVERHEARD), None)
    if asked_for is None:
        made = draft(routed, statement, user)._replace(session=session)
        overheard = ({"op": Op.SUPERSEDE.value, "memory": each.id, "by": NewId(0)} for each in known)
        records = (*lines(resolution), *overheard)
        try:
            remembered = _kept(vault, searcher.agent, made, records)
        # An agent may not write the vault; the person's wish is kept as far as it may.
        except PolicyError:
            if made.store is not Store.VAULT:
                raise
            pinned = {"op": Op.PIN.value, "memory": NewId(0), "pinned": True}
            remembered = _kept(vault, searcher.agent, made._replace(store=Store.LONG_TERM), (*records, pinned))
            notes.append("pinned in long-term memory, since only its owner writes the vault")
    else:
        notes.append("this is remembered already")
    notes += [f"this contradicts {each.old.ref}: {each.old.text}" for each in resolution.contradicting]
    kept = asked_for or remembered
    line, trouble = _into_core(core, routed, kept) if routed.core_update else ((), ())
    return ActedOn(trigger=trigger, routed=routed, remembered=kept, core=line, notes=(*notes, *trouble))


def _kept(vault: Vault, agent: str, made: Draft, records: Sequence[Mapping[str, Any]]) -> MemoryItem:
    further = (AddLines(state_ledger(agent), tuple(records)),) if records else ()
    change = Change(operations=(AddEntries(agent, (made,)), *further), by=BY, action=Action.APPEND)
    return vault.apply(change).items[0]


def _routed(text: str, model: Model | None, user: str | None) -> tuple[Routed, list[str]]:
    try:
        return (route_by_model(model, text, user) if model else route(text, user)), []
    except ModelError as error:
        return route(text, user), [f"routed without the model: {error.message}"]


def _into_core(core: Core, routed: Routed, kept: MemoryItem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The line that core memory has of it, and why it has none. It cites the memory, so that both are forgotten."""
    try:
        core.add(routed.block, f"{routed.summary} [{kept.id}]")
    except (RefusedError, ConflictError) as error:  # it is remembered all the same
        return (), (f"not in core memory: {error.message}",)
    return (routed.summary,), ()


def _prepare_to_forget(searcher: Searcher, trigger: Trigger, recall: Callable[..., Hits]) -> ActedOn:
    """What has all words of the description, or else what answers it best."""
    try:
        found = [each.item for _, each in searcher.described(trigger.object)]
    except ConflictError as error:  # too many fit
        return ActedOn(trigger=trigger, notes=(error.message,))
    if not found and (hits := recall(trigger.object, limit=FEW)).fits:
        found = [hit.memory for hit in hits]
    return ActedOn(trigger=trigger, fits=tuple(found))
