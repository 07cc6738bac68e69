"""Changing what is remembered: forget, restore, correct, confirm, pin, purge. Each but purge can be undone."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from memfolio.arguments import one_id
from memfolio.errors import ConflictError, InputError, RefusedError
from memfolio.index.graph import made_of
from memfolio.index.index import Index, rebuilder
from memfolio.index.lookup import Located, by_ids, lines_of, replaced_by, working, written_pages
from memfolio.index.notes import NOTE, REFERS, words_id
from memfolio.recall.searcher import Searcher
from memfolio.settings import StoreTuning
from memfolio.state import Op
from memfolio.text import clip, single_line
from memfolio.types import (
    CORRECTION,
    ID_PATTERN,
    OVERHEARD,
    REFLECTION,
    SUMMED_UP,
    Action,
    Attribution,
    MemoryItem,
    Origin,
    Store,
    Type,
    frozen,
    sums_up,
)
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation, PutPage, Receipt
from memfolio.vault.fields import Draft, local
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import SHARED, agent_root, ledger_of, state_ledger
from memfolio.vault.sections import OURS, is_ours, renewed
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.vault.purge.purge import OnProgress, Purged

# What goes along when memories are forgotten or corrected: what was made of them would tell of them.

MADE = frozenset({*OVERHEARD, *SUMMED_UP, REFLECTION, CORRECTION})
"""The sources of what may be made of other memories; whatever else names them was said for its own sake."""


class Dependents(NamedTuple):
    """What goes along, and what was summed up together with it, which can be summed up again without it."""

    going: list[str]
    freed: list[str]


def dependents_of(index: Index, ids: Collection[str]) -> Dependents:
    """What was made of these memories and of no others that are left, and every summary that tells of one of them."""
    made = index.read(partial(made_of, ids=ids))
    items = _items(index, made)
    sources = _items(index, {each for item in items.values() for each in item.derived_from})
    left = {each for each, item in sources.items() if not item.forgotten_at}.difference(ids)
    going, parts = dict[str, None](), dict[str, None]()
    # From near to far: what was made of something that goes is decided on after that.
    for each in made:
        item = items.get(each)
        if item is None or not is_made(item) or item.pinned or item.forgotten_at:
            continue
        # A summary tells of all its parts, so it goes with any of them.
        if sums_up(item):
            parts |= dict.fromkeys(item.derived_from)
        if sums_up(item) or left.isdisjoint(item.derived_from):
            going[each] = None
            left.discard(each)
    lines = index.read(partial(lines_of, ids=parts, op=Op.STORE))
    summed_up = {line["memory"] for line in lines if line.get("into") in going}
    freed = [each for each in parts if each in summed_up and each not in (*going, *ids)]
    return Dependents([each for each in going if each not in ids], freed)


def _items(index: Index, ids: Collection[str]) -> dict[str, MemoryItem]:
    return {each.item.id: each.item for each in index.read(partial(by_ids, ids=ids))}


def is_made(item: MemoryItem) -> bool:
    """Whether it was made of other memories, and is not kept for ever."""
    return bool(item.derived_from) and item.source in MADE and item.store is not Store.VAULT


# The pages that memfolio writes, without the lines that cite memories which are forgotten.

_CITATION = re.compile(r"[(\[]((?:(?:, )?[A-Z]-[0-9a-f]+(?:-[0-9a-f]+)?)+)[)\]]")
"""The ids that a line cites, one or several in brackets."""
REPEATING = ("/MEMORY.md", "/evolution.md", "/log.md")
_POINT = re.compile(
    r"- (?:Learned: |No longer: )?|\*\*.*?: (?=Learned since|No longer so)(?:Learned since [\d-]+|No longer so): "
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SPAN = re.compile(r"(?m)^first: (\d{4}-\d\d-\d\d)\nlast: (\d{4}-\d\d-\d\d)$")
"""The days of a digest, in its front matter."""


def without_citations(vault: Vault, index: Index, ids: Collection[str]) -> Iterator[PutPage]:
    """The pages that cite one of these ids or repeat such a memory word for word, without the lines that do.

    Digests of the days of these memories also lose what they say of many memories together, until they are written
    anew.
    """
    items, named = _items(index, ids).values(), frozenset(ids)
    said = {_bare(item.content) for item in items}
    days = {local(item.event_time or item.created_at, vault.home.zone).date() for item in items}
    for path in index.read(lambda db: written_pages(db, agent_root(index.agent))):
        page = vault.page(path)
        old = text = to_text(page.content) if page else ""
        if is_ours(old) and (ours := OURS.search(old)):
            text = renewed(old, _without(ours[2], named, all_cited=_tells_of(old, days)))
        text = _without_words(_without(text, named), said) if path.endswith(REPEATING) else _without(text, named)
        if page is not None and text != old:
            yield PutPage(path, to_bytes(text), page.hash)


def _without(text: str, ids: frozenset[str], *, all_cited: bool = False) -> str:
    """The lines that cite none of these memories, or with `all_cited` only such that cite others, and headings."""
    lines = [(line, _cited_in(line)) for line in _LINE.findall(text)]
    kept = [(line, cited) for line, cited in lines if ids.isdisjoint(cited)]
    return "".join(line for line, cited in kept if cited or not all_cited or line.startswith("#") or not line.strip())


def _cited_in(line: str) -> list[str]:
    return [cited for together in _CITATION.findall(line) for cited in together.split(", ")]


def _without_words(text: str, said: Collection[str]) -> str:
    """Core memory and what reflections learned have no ids: there a line or a part of a list says what goes."""
    kept: list[str] = []
    for line in _LINE.findall(text):
        begin = _POINT.match(line)
        parts = line[begin.end() :].split("; ") if begin else [line]
        left = [part for part in parts if _bare(part) not in said]
        if begin and left:
            end = "" if left[-1] == parts[-1] else ".\n" if begin[0][0] != "-" else "\n"
            line = f"{begin[0]}{'; '.join(left)}{end}"
        kept += [line] if left else []
    return "".join(kept)


def _bare(text: str) -> str:
    return " ".join(text.split()).rstrip(" .").casefold()


def _tells_of(text: str, days: Collection[date]) -> bool:
    """Whether a page is the digest of one of these days, or compares its own with them."""
    if not (span := _SPAN.search(text)):
        return False
    first, last = map(date.fromisoformat, span.groups())
    # The period before may be a few days longer; at worst a count is missing until the digest is written anew.
    before = min(last - first + timedelta(days=4), first - date.min)
    return any(first - before <= day <= last for day in days)


# Changing what is remembered: forget, restore, correct, confirm, pin. Each is one change that can be undone.

REMEMBERER = Attribution(actor="bot:trigger-remember", trigger="remember")
FORGETTER = Attribution(actor="bot:trigger-forget", trigger="forget")
PURGER = replace(FORGETTER, trigger="purge")
ARCHIVER = replace(FORGETTER, trigger="archive")
SAYS = frozenset({"subject", "predicate", "object", "single", "negated"})
"""Attributes of a learned memory that repeat its text."""

BY_ID = "nothing is forgotten yet: call this again with the id of one that shall go"
ELSEWHERE = {
    "fact": "`memfolio fact retract {0}` takes a fact back, `memfolio fact assert` tells it anew",
    "case": "`memfolio case revise {0}` changes a case, `memfolio case delete {0}` takes it away",
    "mind": "`memfolio mind update {0}` tells it anew, `memfolio mind retire {0}` ends it",
}
"""How to change what is not a memory, by its form."""


@frozen
class EditResult:
    """What a change of memories did, or would do: which memories, the difference, and the receipt when it was done."""

    memories: tuple[MemoryItem, ...]
    diff: str
    receipt: Receipt | None = None
    hint: str = ""
    """What to do to have it done, where it was only shown to an agent."""


def forget_meant(
    vault: Vault,
    searcher: Searcher,
    what: str | Sequence[str],
    by: Attribution,
    *,
    is_agent: Callable[[], bool],
    every: bool,
    dry_run: bool,
) -> EditResult:
    """Cut the memory that an id or a description means out of its logs, and leave a tombstone, as one change.

    Its earlier versions go along, what was made of it, and the lines of pages that cite one of them. To an agent a
    description only shows what fits, and with `every` all of it is meant. Several are named by their ids. What lies in
    the archive already stays there.
    """
    from memfolio.vault.move import cut_out  # with all of the past behind it, which a plain start does not need

    if isinstance(what, str):
        named = searcher.locate(one_id(what))
        is_shown = named is None and is_agent()
        described = [named] if named else _described(searcher, what, every=every or is_shown)
    else:
        described, is_shown = [searcher.require(each) for each in what], False
    # One change belongs to one agent's state lines.
    if len({index.agent for index, _ in described}) != 1:
        raise InputError("these are not memories of one agent", hint="forget those of each agent by themselves")
    index = described[0][0]
    going = {
        each.item.id: (place, each) for found in described for place, each in _versions(searcher, found[0], found[1])
    }
    dependents = dependents_of(index, [*going])
    going |= {name: found for name in dependents.going if (found := searcher.locate(name))}
    # What one of them took the place of without being its correction holds again.
    newer = [each.item.id for _, each in going.values() if each.item.source != CORRECTION]
    lifted = [old for old in index.read(partial(replaced_by, ids=newer)) if old not in going]
    places: dict[str, list[str]] = {}
    for place, each in going.values():
        _check_is_entry(each, "forgotten")
        for path in filter(ledger_of, searcher.places(place, each.item.id)):
            places.setdefault(path, []).append(each.item.id)
    outcome = cut_out(
        vault,
        places,
        agent=index.agent,
        by=by,
        records=_with_words(
            leaving_lines(going, dependents.freed, dict.fromkeys(lifted)), [each for _, each in going.values()]
        ),
        beside=partial(without_citations, vault, index, [*going]),
        dry_run=dry_run or is_shown,
    )
    memories = tuple(each.item for _, each in going.values())
    hint = BY_ID if is_shown else ""
    return EditResult(memories=memories, diff=outcome.diff, receipt=outcome.receipt, hint=hint)


def _described(searcher: Searcher, what: str, *, every: bool) -> list[tuple[Index, Located]]:
    """The memories that a description means."""
    described = searcher.described(what)
    if not described:
        raise searcher.not_found(what)
    if len(described) > 1 and not every:
        named = "; ".join(f"{each.item.id} {clip(single_line(each.item.content), 60)}" for _, each in described[:5])
        named += "; …" * (len(described) > 5)
        raise ConflictError(f"{len(described)} memories fit {what[:60]!r}: {named}", hint="name one of them by its id")
    return described


def _versions(searcher: Searcher, index: Index, found: Located) -> Iterator[tuple[Index, Located]]:
    """A memory and all that it corrected: who forgets a thing does not want its old form back."""
    yield index, found
    if found.item.source != CORRECTION:
        return
    for item in searcher.explain(index, found).supersedes:
        earlier = searcher.locate(item.id)
        if earlier and earlier[1].item.forgotten_at is None:
            yield earlier
        # The first that is no correction is what was said originally.
        if item.source != CORRECTION:
            break


def _with_words(lines: Iterable[Mapping[str, Any]], found: Iterable[Located]) -> list[dict[str, Any]]:
    """These state lines; those about notes name their words, too, and hold for them in a note of another name."""
    words = {each.item.id: words_id(each.item.content) for each in found if each.form == NOTE}
    known = ((line, words.get(line.get("memory", ""))) for line in lines)
    return [{**line, "words": named} if named else dict(line) for line, named in known]


def leaving_lines(going: Iterable[str], freed: Iterable[str], lifted: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """The state lines that tell that memories go, which others are freed, and what has the place of which then."""
    return [
        *({"op": Op.TOMBSTONE, "memory": each} for each in going),
        *map(_back_to_short_term, freed),
        *({"op": Op.SUPERSEDE, "memory": each, "by": by} for each, by in lifted.items()),
    ]


def restore(vault: Vault, searcher: Searcher, id: str, by: Attribution, *, dry_run: bool) -> EditResult:
    """Restore a forgotten or archived memory to every log that it was in."""
    from memfolio.vault.move import put_back

    index, located = searcher.require(id)
    paths = searcher.places(index, located.item.id)
    if located.item.forgotten_at is None and not located.archived:
        raise ConflictError(f"{located.item.id} is not forgotten", hint="there is nothing to restore")
    records = _with_words([{"op": Op.RESTORE, "memory": located.item.id}], [located])
    if located.form == NOTE:
        lines = None if dry_run else vault.add_lines(state_ledger(located.agent), records, by, action=Action.RESTORE)
        return EditResult(memories=(located.item,), diff="", receipt=lines)
    outcome = put_back(vault, {path: [located.item.id] for path in paths}, by=by, records=records, dry_run=dry_run)
    return EditResult(memories=(located.item,), diff=outcome.diff, receipt=outcome.receipt)


def correct(
    vault: Vault,
    located: Located,
    text: str,
    by: Attribution,
    dependents: Dependents,
    beside: Sequence[Mapping[str, Any]],
    *,
    origin: Origin,
) -> Receipt:
    """Remember what is right beside what was wrong, which is superseded and stays where it stands.

    It is about the same thing at the same time. What was made of it is superseded, too. State lines that stand `beside`
    it may name it as `NewId(0)`. Whoever calls this holds the write lock since the memory was located.
    """
    old, agent = located.item, located.agent
    _check_is_entry(located, "corrected")
    if old.forgotten_at:
        raise ConflictError(f"{old.id} is forgotten", hint="restore it first, or remember the text anew")
    dropped = {*SAYS, "page", "line", REFERS} if located.form == NOTE else SAYS
    # Whatever is not said anew is as before: when it happened, whom it is about, how important it is.
    draft = replace(
        old,
        content=text,
        type=Type.CORRECTION if old.type is Type.OBSERVATION else old.type,
        source=CORRECTION,
        origin=origin,
        confidence=1.0,
        session=by.session,
        role=None,
        key=None,
        pinned=False,
        attributes={name: value for name, value in old.attributes.items() if name not in dropped},
    )
    wrong = [old.id, *dependents.going]
    superseded = ({"op": Op.SUPERSEDE, "memory": each, "by": NewId(0)} for each in wrong)
    records = _with_words(superseded, [located])
    records += [*map(_back_to_short_term, dependents.freed), *map(dict, beside)]
    if old.pinned:
        records.append({"op": Op.PIN, "memory": NewId(0), "pinned": True})
    operations = (AddEntries(agent, (draft,)), AddLines(state_ledger(agent), tuple(records)))
    return vault.apply(Change(operations=operations, by=by, action=Action.EDIT))


def _back_to_short_term(id: str | NewId) -> dict[str, Any]:
    return {"op": Op.STORE, "memory": id, "store": Store.SHORT_TERM.value}


def note(vault: Vault, searcher: Searcher, id: str, line: Mapping[str, Any], by: Attribution) -> MemoryItem:
    """Say something about a memory that is not forgotten; the memory as it is then."""
    return note_all(vault, searcher, [id], line, by)[0]


def note_all(
    vault: Vault, searcher: Searcher, ids: Sequence[str], line: Mapping[str, Any], by: Attribution
) -> list[MemoryItem]:
    """Say the same about memories of one agent, as one change; the memories as they are then."""
    searcher.prepare()
    found = [_notable(searcher, each) for each in ids]
    agents = {each.agent for each in found}
    if len(agents) != 1:
        raise InputError("these are not memories of one agent", hint="name those of each agent by themselves")
    vault.add_lines(state_ledger(agents.pop()), [{**line, "memory": each.item.id} for each in found], by)
    return [searcher.require(each)[1].item for each in ids]


def _notable(searcher: Searcher, id: str) -> Located:
    """A memory about which something can be said."""
    _, located = searcher.require(id)
    if located.form not in ("memory", NOTE):
        hint = ELSEWHERE.get(located.form, "edit the page itself").format(located.item.id)
        raise InputError(f"{located.item.id} is a part of {located.path}", hint=hint)
    if located.item.forgotten_at:
        raise ConflictError(f"{located.item.id} is forgotten", hint="restore it first")
    if located.item.superseded_by:
        raise ConflictError(f"{located.item.id} was corrected", hint=f"its place has {located.item.superseded_by}")
    return located


def _check_is_entry(located: Located, deed: str) -> None:
    if located.form not in ("memory", NOTE):
        raise InputError(
            f"{located.item.id} is a part of {located.path} and cannot be {deed} by itself",
            hint=ELSEWHERE.get(located.form, "edit the page, or delete the file").format(located.item.id),
        )
    if deed == "forgotten" and located.item.forgotten_at:
        raise ConflictError(f"{located.item.id} is forgotten already", hint="`restore` brings it back")


def made_before(searcher: Searcher, drafts: Sequence[Draft], receipt: Receipt, key: str | None) -> list[MemoryItem]:
    """The memories that an earlier change under the same key made; ConflictError where they are not these."""
    # The key stands in the trail; what it made may have gone since.
    found = [searcher.with_fate(each).item for made in receipt.ids if (each := searcher.find(made))]
    if len(found) < len(drafts):
        raise ConflictError(
            f"the key {key!r} was used in change {receipt.seq} for a memory that this agent has not",
            hint="use another key to remember it again",
        )
    if lost := next((memory for memory in found if memory.forgotten_at or memory.superseded_by), None):
        deed = "forgotten" if lost.forgotten_at else "corrected"
        raise ConflictError(f"the key {key!r} belongs to {lost.id}, which was {deed}", hint="use another key")
    if [memory.content for memory in found] != [draft.content for draft in drafts]:
        raise ConflictError(
            f"the key {key!r} belongs to {found[0].id}, which says something else",
            hint="use another key, or correct that memory",
        )
    return found


# Working memory: a few memories at hand. The next one sends one of them to short-term memory; none is dropped.


def make_room(index: Index, agent: str, drafts: Sequence[Draft], shelves: StoreTuning) -> tuple[Operation, ...]:
    """What goes with adding these memories, some to working memory: that it sends on what it has no room for then."""
    working_ids: list[str | NewId] = []
    working_ids += index.read(lambda connection: working(connection, least_used=shelves.least_used))
    working_ids += (NewId(place) for place, draft in enumerate(drafts) if draft.store is Store.WORKING)
    leaving = working_ids[: -shelves.working]
    return (AddLines(state_ledger(agent), tuple(map(_back_to_short_term, leaving))),) if leaving else ()


# Purging memories that are named by an id or a description.


def purge(
    vault: Vault,
    searcher: Searcher,
    what: Sequence[str],
    by: Attribution,
    *,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Purged:
    """Destroy the memories that are meant, each with all that it corrected; those of other agents are out of reach."""
    ids = dict.fromkeys(each for one in what for each in meant(searcher, one))
    indexes = [index for index in searcher.indexes() if index.agent in (searcher.agent, SHARED)]
    agents = {index.agent for index in indexes}
    rebuild = rebuilder(vault, indexes, agents)
    reach = {"rebuild": rebuild, "agents": agents}
    return vault.purge(list(ids), by=by, dry_run=dry_run, on_progress=on_progress, **reach)


def meant(searcher: Searcher, what: str) -> list[str]:
    """Return the ids of the memory that an id or a description means, and of those it corrected.

    An id that no file has is returned as is: git may have it.
    """
    text = one_id(what)
    found = searcher.locate(text)
    if found is None and ID_PATTERN.fullmatch(text):
        return [text]
    index, one = found or _described(searcher, text, every=False)[0]
    if one.form in ("fact", "case"):
        return [one.item.id]
    if one.form == NOTE:
        line = f"line {one.item.attributes['line']} of {one.path}"
        raise RefusedError(
            f"{one.item.id} is {line}, and notes are only read",
            hint=f"delete it there; `memfolio forget {one.item.id}` hides it meanwhile",
        )
    if one.form != "memory":
        raise InputError(f"{one.item.id} is a part of {one.path}", hint="edit the page, or purge what it tells of")
    earlier = searcher.explain(index, one).supersedes
    return [one.item.id, *(item.id for item in earlier if item.source != NOTE)]
