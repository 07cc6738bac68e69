"""Commands that change what is remembered: forget, restore, correct, confirm, pin, archive; and weak, what fades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, cast

from memfolio.errors import ConflictError, InputError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import (
    Line,
    as_document,
    beginning,
    diff,
    for_people,
    happened,
    picked,
    table,
    tagged,
    yellow,
)
from memfolio.text import counted
from memfolio.vault.paths import SHARED, agent_of

if TYPE_CHECKING:
    from memfolio.index.maintenance import Below, Weak
    from memfolio.memory import Memory
    from memfolio.stores.edit import Mended
    from memfolio.tend.retention import Retained
    from memfolio.types import MemoryItem

REASONS = {
    "age": "unused for longer than their kind is kept",
    "low importance": "of low importance, and unused for longer than that is kept",
    "high": "of high importance, and unused for longer than that is kept",
    "faded": "faded",
    "relevance": "of lower relevance",
    "importance": "of lower importance, as far as it has not faded",
    "access": "used too long ago or too rarely",
}


def forget(options: Options, what: str, every: bool = False, dry_run: bool = False, yes: bool = False) -> Answer:
    with options.memory() as memory:
        asked = False
        # Where a person is shown all that fit, that is what they agree to; without a look, one description means one.
        mended = memory.forget(what, every=every or dry_run or not yes, dry_run=True, by=PERSON)
        if not dry_run and not mended.hint:
            asked = _asked(options, memory, mended, yes=yes)
            mended = _forget_seen(memory, what, mended.memories)
        return _changed(memory, mended, "forgotten", quiet=asked, what=what)


def _asked(options: Options, memory: Memory, mended: Mended, *, yes: bool) -> bool:
    """Show what would go and go on if the person agrees; says whether they were asked."""
    count, whose = len(mended.memories), ", which all agents share" if _is_shared(memory, mended) else ""
    deed = f"forget {f'these {count} memories' if count > 1 else 'this memory'}{whose}"
    preview = [diff(for_people(mended.diff)), "", listed(mended.memories, memory.vault.home.zone)]
    return options.confirm(deed, preview, yes=yes)


def _forget_seen(memory: Memory, what: str, seen: Sequence[MemoryItem]) -> Mended:
    """Forget what a person looked at, and nothing that came to fit meanwhile."""
    if len(seen) == 1:
        return memory.forget(seen[0].id, by=PERSON)
    fits = memory.forget(what, every=True, dry_run=True).memories
    if {each.id for each in fits} != {each.id for each in seen}:
        raise ConflictError(f"other memories fit {what[:60]!r} than a moment ago", hint="look at them again")
    return memory.forget(what, every=True, by=PERSON)


def restore(memory: Memory, id: str, dry_run: bool = False) -> Answer:
    mended = memory.restore(id, dry_run=dry_run, by=PERSON)
    if not dry_run:
        mended = replace(mended, memories=tuple(memory.get(each.id) or each for each in mended.memories))
    return _changed(memory, mended, "restored")


def correct(memory: Memory, id: str, text: Text, base: str | None = None) -> Answer:
    done = memory.update(id, text, base=base, by=PERSON)
    found = memory.find(done.memory.id)
    old, path = done.superseded[0] if done.superseded else id, found.path if found else None
    notes = ["merged with what was changed meanwhile"] if done.merged else []
    against = [f"contradicts {each.id}, which holds all the same: {beginning(each.content)}" for each in done.conflicts]
    lines: list[Line] = [
        diff("".join(line for line in done.diff.splitlines(keepends=True)[2:] if line[0] in "+-")),
        (f"{done.memory.id} corrects {old}{'' if done.receipt else ' already'}", "bold"),
        *yellow(notes + against),
        (f"{path}", "dim"),
    ]
    further = {"supersedes": old, "merged": done.merged, "contradicts": [each.id for each in done.conflicts]}
    return Answer(as_document(done.memory, path=path, **further), lines)


def confirm(memory: Memory, id: str) -> Answer:
    return _noted(memory, memory.confirm(id, by=PERSON), "confirmed: it is certain and does not fade")


def pin(memory: Memory, id: str, off: bool = False) -> Answer:
    words = "not pinned: it may fade like any other" if off else "pinned: it neither fades nor is archived"
    return _noted(memory, memory.pin(id, pinned=not off, by=PERSON), words)


def _noted(memory: Memory, item: MemoryItem, words: str) -> Answer:
    found = memory.find(item.id)
    lines: list[Line] = [(f"{item.id} is {words}", "bold"), f"{beginning(item.content)}  {tagged(item)}".rstrip()]
    return Answer(as_document(item, path=found.path if found else None), lines)


def _is_shared(memory: Memory, mended: Mended) -> bool:
    """Whether the memories belong to all agents; those of one change belong together."""
    found = memory.find(mended.memories[0].id)
    return found is not None and agent_of(found.path) == SHARED != memory.agent


def _changed(memory: Memory, mended: Mended, deed: str, *, quiet: bool = False, **more: Any) -> Answer:
    """What forget, restore and archive did; `quiet` when the difference has been shown already."""
    is_shared, count, seq = _is_shared(memory, mended), len(mended.memories), None
    lines: list[Line] = []
    if not quiet:
        lines = [diff(for_people(mended.diff)), "", listed(mended.memories, memory.vault.home.zone)]
    subject = f"{count} memories" if count > 1 else mended.memories[0].id
    subject += ", shared by all agents," if is_shared else ""
    if mended.receipt:
        seq = mended.receipt.seq
        lines.append((f"{subject} {deed}, as change {seq}; `memfolio undo {seq}` takes that back", "bold"))
    else:
        lines.append((f"{subject} would be {deed}. Nothing was changed.", "bold"))
        lines += filter(None, [mended.hint])
    document = {
        **more,
        "shared": is_shared,
        deed: [each.id for each in mended.memories],
        "memories": [as_document(each) for each in mended.memories],
        "diff": mended.diff,
        "seq": seq,
        "dry_run": seq is None,
    }
    return Answer(document | ({"hint": mended.hint} if mended.hint else {}), lines)


def listed(memories: Sequence[MemoryItem], zone: tzinfo) -> Line:
    """Memories, one a line."""
    rows = [(each.id, happened(each, zone), each.type, beginning(each.content, 200)) for each in memories]
    return lambda screen: screen.table(("id", "when", "type", "memory"), rows, wide="memory", headed=False)


def archive(
    options: Options, id: str | None = None, /, by: str | None = None, below: float | None = None, dry_run: bool = False
) -> Answer:
    chosen = _below(by, below)
    if id is not None and chosen:
        raise InputError("an id and a score are named", hint="name one of them")
    with options.memory() as memory:
        if id is None:
            return _archive_due(memory, chosen, dry_run)
        return _changed(memory, cast("Mended", memory.archive(id, dry_run=dry_run, by=PERSON)), "archived")


def _below(by: str | None, below: float | None) -> Below | None:
    from memfolio.index.maintenance import Below, By

    if (by is None) != (below is None):
        raise InputError("--by and --below belong together", hint="try --by relevance --below 0.2")
    if by is None or below is None:
        return None
    if by not in {each.value for each in By}:
        raise InputError(f"there is no score {by[:40]!r}", hint="it is relevance, age, importance or access")
    return Below(by=By(by), limit=below)


def _archive_due(memory: Memory, below: Below | None, dry_run: bool) -> Answer:
    from memfolio.tend.hand import Hand
    from memfolio.tend.retention import retain

    vault = memory.vault
    hand = Hand(vault=vault, agent=memory.agent, now=vault.home.now(), dry_run=dry_run)
    found = retain(hand, memory.library.index, below, PERSON)
    seqs, reasons, done = [receipt.seq for receipt in hand.receipts], sorted(found.reasons.items()), _deeds(found)
    if not done:
        last = "Nothing is due for the archive."
    elif dry_run:
        last = f"It would be: {done}. Nothing was changed."
    else:
        last = f"{done}, as change {', '.join(map(str, seqs))}; `memfolio undo` takes a change back"
    lines: list[Line] = [f"{count:>7,}  {kind:<10}  {REASONS.get(why, why)}" for (kind, why), count in reasons]
    document = {
        "archived": found.memories,
        "reasons": [{"kind": kind, "reason": why, "memories": count} for (kind, why), count in reasons],
        "pages": found.pages,
        "compressed": found.compressed,
        "notes": hand.notes,
        "diff": hand.diff,
        "seqs": seqs,
        "dry_run": dry_run,
    }
    return Answer(document, [*lines, *yellow(hand.notes), (last, "bold")])


def _deeds(found: Retained) -> str:
    """What was done, in one line; nothing where nothing was."""
    deeds = (
        (found.memories, "memory", "memories", "archived"),
        (len(found.pages), "page", "pages", "archived"),
        (len(found.compressed), "archived log", "archived logs", "compressed"),
    )
    return ", ".join(f"{counted(many, one, several)} {deed}" for many, one, several, deed in deeds if many)


def weak(memory: Memory, limit: int = 20) -> Answer:
    found = memory.weak(limit)
    items = [(each, each.located.item) for each in found]
    rows = [(item.id, f"{each.certainty:.2f}", _ahead(each), beginning(item.content, 200)) for each, item in items]
    facts = [
        as_document(item, path=each.located.path, **picked(each, "certainty dormant_in archived_in"))
        for each, item in items
    ]
    lines: list[Line] = [
        table(("id", "certainty", "what comes", "memory"), rows, wide="memory"),
        ("`memfolio confirm ID` says that one is right: it does not fade then.", "dim"),
    ]
    document = {"weak": facts, "below": memory.vault.config.decay.weak}
    return Answer(document, lines if rows else ("No fact is weak.", "bold"))


def _ahead(fact: Weak) -> str:
    if fact.archived_in == 0:
        return "faded"
    if fact.dormant_in == 0:
        return "dormant" if fact.archived_in is None else f"faded in {fact.archived_in:.0f} d"
    return "stays" if fact.dormant_in is None else f"dormant in {fact.dormant_in:.0f} d"
