"""Commands that change what is remembered: forget, restore, correct, confirm, pin. All of them can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError
from memfolio.serve.cli.brief import beginning, happened, tagged
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.difference import for_people
from memfolio.serve.cli.output import Screen, as_document
from memfolio.vault.paths import SHARED, agent_of

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.stores.edit import Mended
    from memfolio.types import MemoryItem


def forget(options: Options, what: str, every: bool = False, dry_run: bool = False, yes: bool = False) -> Answer:
    with options.memory() as memory:
        zone, asked = memory.vault.home.zone, False
        # Where a person is shown all that fit, that is what they agree to; without a look, one description means one.
        mended = memory.forget(what, every=every or dry_run or not yes, dry_run=True, by=PERSON)
        if not dry_run and not mended.hint:
            asked = ask(options, memory, mended, yes=yes)
            mended = forget_seen(memory, what, mended.memories)
        shared = is_shared(memory, mended)
    return changed({"what": what, "shared": shared}, mended, zone, "forgotten", quiet=asked)


def restore(options: Options, id: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        zone = memory.vault.home.zone
        mended = memory.restore(id, dry_run=dry_run, by=PERSON)
        if not dry_run:
            mended = replace(mended, memories=tuple(memory.get(each.id) or each for each in mended.memories))
        shared = is_shared(memory, mended)
    return changed({"shared": shared}, mended, zone, "restored", quiet=False)


def correct(options: Options, id: str, text: str, base: str | None = None) -> Answer:
    words = read_text(text)
    with options.memory() as memory:
        done = memory.update(id, words, base=base, by=PERSON)
        found = memory.find(done.memory.id)
    old, path = done.superseded[0] if done.superseded else id, found.path if found else None

    def draw(screen: Screen) -> None:
        screen.diff("".join(line for line in done.diff.splitlines(keepends=True)[2:] if line[0] in "+-"))
        screen.say(f"{done.memory.id} corrects {old}{'' if done.receipt else ' already'}", "bold")
        if done.merged:
            screen.say("merged with what was changed meanwhile", "yellow")
        for each in done.conflicts:
            screen.say(f"contradicts {each.id}, which holds all the same: {beginning(each.content)}", "yellow")
        screen.say(f"{path}", "dim")

    further = {"supersedes": old, "merged": done.merged, "contradicts": [each.id for each in done.conflicts]}
    return Answer(as_document(done.memory, path=path, **further), draw)


def confirm(options: Options, id: str) -> Answer:
    with options.memory() as memory:
        return noted(memory, memory.confirm(id, by=PERSON), "confirmed: it is certain and does not fade")


def pin(options: Options, id: str, off: bool = False) -> Answer:
    with options.memory() as memory:
        words = "not pinned: it may fade like any other" if off else "pinned: it neither fades nor is archived"
        return noted(memory, memory.pin(id, pinned=not off, by=PERSON), words)


def ask(options: Options, memory: Memory, mended: Mended, *, yes: bool) -> bool:
    """Show what would go and go on if the person agrees; says whether they were asked."""
    count, whose = len(mended.memories), ", which all agents share" if is_shared(memory, mended) else ""
    deed = f"forget {f'these {count} memories' if count > 1 else 'this memory'}{whose}"

    def preview(screen: Screen) -> None:
        screen.diff(for_people(mended.diff))
        screen.say()
        listed(screen, mended.memories, memory.vault.home.zone)

    return options.confirm(deed, preview, yes=yes)


def is_shared(memory: Memory, mended: Mended) -> bool:
    """Whether the memories belong to all agents; those of one change belong together."""
    found = memory.find(mended.memories[0].id)
    return found is not None and agent_of(found.path) == SHARED != memory.agent


def forget_seen(memory: Memory, what: str, seen: Sequence[MemoryItem]) -> Mended:
    """Forget what a person looked at, and nothing that came to fit meanwhile."""
    if len(seen) == 1:
        return memory.forget(seen[0].id, by=PERSON)
    fits = memory.forget(what, every=True, dry_run=True).memories
    if {each.id for each in fits} != {each.id for each in seen}:
        raise ConflictError(f"other memories fit {what[:60]!r} than a moment ago", hint="look at them again")
    return memory.forget(what, every=True, by=PERSON)


def changed(document: dict[str, Any], mended: Mended, zone: tzinfo, deed: str, *, quiet: bool) -> Answer:
    """What forget and restore did; `quiet` when the difference has been shown already."""
    receipt, count = mended.receipt, len(mended.memories)
    document |= {
        deed: [each.id for each in mended.memories],
        "memories": [as_document(each) for each in mended.memories],
        "diff": mended.diff,
        "seq": receipt.seq if receipt else None,
        "dry_run": receipt is None,
    } | ({"hint": mended.hint} if mended.hint else {})

    def draw(screen: Screen) -> None:
        if not quiet:
            screen.diff(for_people(mended.diff))
            screen.say()
            listed(screen, mended.memories, zone)
        shared = ", shared by all agents," if document.get("shared") else ""
        subject = (f"{count} memories" if count > 1 else mended.memories[0].id) + shared
        if receipt:
            screen.say(
                f"{subject} {deed}, as change {receipt.seq}; `memfolio undo {receipt.seq}` takes that back", "bold"
            )
        else:
            screen.say(f"{subject} would be {deed}. Nothing was changed.", "bold")
            if mended.hint:
                screen.say(mended.hint)

    return Answer(document, draw)


def listed(screen: Screen, memories: Sequence[MemoryItem], zone: tzinfo) -> None:
    """Memories, one a line."""
    rows = [(each.id, happened(each, zone), each.type, beginning(each.content, 200)) for each in memories]
    screen.table(("id", "when", "type", "memory"), rows, wide="memory", headed=False)


def noted(memory: Memory, item: MemoryItem, words: str) -> Answer:
    found = memory.find(item.id)
    document = as_document(item, path=found.path if found else None)

    def draw(screen: Screen) -> None:
        screen.say(f"{item.id} is {words}", "bold")
        screen.say(f"{beginning(item.content)}  {tagged(item)}".rstrip())

    return Answer(document, draw)
