"""The command `core`: what core memory says, and edits of it within its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.stores.core import CoreEdit, CoreMemory


def core_show(options: Options) -> Answer:
    with options.memory() as memory:
        found = memory.core.read()

    def draw(screen: Screen) -> None:
        options.tell([found.notice] if found.notice else [])
        draw_core(screen, found)

    return Answer(document(found), draw)


def core_add(options: Options, block: str, text: str, dry_run: bool = False) -> Answer:
    words = read_text(text)
    with options.memory() as memory:
        return edited(memory.core.add(block, words, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def core_remove(options: Options, block: str, text: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        return edited(memory.core.remove(block, text, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def core_replace(options: Options, block: str, old: str, new: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        return edited(memory.core.replace(block, old, new, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def core_pin(options: Options, what: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        return edited(memory.core.pin(what, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def core_unpin(options: Options, what: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        return edited(memory.core.unpin(what, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def document(found: CoreMemory) -> dict[str, Any]:
    """Core memory for programs."""
    blocks = [
        {
            "name": each.name,
            "tokens": each.tokens,
            "share": found.share(each),
            "lines": [item.text for item in each.items],
        }
        for each in found.blocks
    ]
    return {
        "path": found.path,
        "tokens": found.tokens,
        "cap": found.cap,
        "over_cap": found.over_cap,
        "blocks": blocks,
        "text": found.text,
    }


def draw_core(screen: Screen, found: CoreMemory) -> None:
    for block in found.blocks:
        share = found.share(block)
        screen.say(f"{block.name}  ({block.tokens:,}{f' of {share:,}' if share else ''} tokens)", "bold")
        for item in block.items:
            screen.say(f"  {item.text}")
    if not found.text:
        screen.say("Core memory is empty.", "dim")
    screen.say(f"{found.tokens:,} of {found.cap:,} tokens, {found.path}", "dim")


def edited(edit: CoreEdit, *, dry_run: bool) -> Answer:
    """What an edit did."""
    receipt, found = edit.receipt, edit.memory
    seq = receipt.seq if receipt else None

    def draw(screen: Screen) -> None:
        screen.diff(edit.diff)
        room = f"core memory has {found.tokens:,} of {found.cap:,} tokens"
        if seq is not None:
            screen.say(f"Change {seq}: {room}; `memfolio undo {seq}` takes that back", "bold")
        else:
            screen.say(f"{'' if edit.diff else 'It says so already. '}Nothing was changed.", "bold")

    return Answer(document(found) | {"diff": edit.diff, "seq": seq, "dry_run": dry_run}, draw)
