"""What `undo --source` shows and does."""

from __future__ import annotations

from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING

from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.mend import listed
from memfolio.serve.cli.output import Screen, for_people
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.govern.undo import Undone
    from memfolio.memory import Memory

MOST = 20
"""How many memories are listed one by one."""


def undo_source(options: Options, memory: Memory, source: str, *, dry_run: bool, yes: bool) -> Answer:
    """Take back what came from a source, after a look at it where it is more than one memory.

    For the owner that is in the whole home; an agent answers for nobody but itself.
    """
    undone = partial(memory.undo, source, every_agent=memory.vault.scope is None, by=PERSON)
    zone, asked = memory.vault.home.zone, False
    if not dry_run and not yes:
        seen = undone(dry_run=True)
        deed = f"take back {counted(len(seen.memories), 'memory', 'memories')} of {source} in {len(seen.paths)} files"
        asked = options.confirm(deed, lambda screen: _draw(screen, seen, zone), yes=len(seen.memories) == 1)
    found = undone(dry_run=dry_run)
    ids, seqs = [each.id for each in found.memories], [each.seq for each in found.receipts]

    def draw(screen: Screen) -> None:
        if not asked:
            _draw(screen, found, zone)
        words = " ".join(map(str, seqs))
        done = f"{source} taken back, as change {words}; `memfolio undo {words}` brings it again"
        screen.say(done if seqs else "Nothing was changed.", "bold")

    document = {
        "source": source,
        "undone": ids[: found.roots],
        "derived": ids[found.roots :],
        "kept": [each.id for each in found.kept],
        "lifted": found.lifted,
        "facts": found.facts,
        "paths": found.paths,
        "diff": found.diff,
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
        "dry_run": dry_run,
    }
    return Answer(document, draw)


def _draw(screen: Screen, found: Undone, zone: tzinfo) -> None:
    """The difference, what goes along with what came from the source, and what stays."""
    screen.diff(for_people(found.diff))
    screen.say(f"{counted(found.roots, 'memory', 'memories')} from there", "bold")
    for words, memories in (
        ("made of that, and going along:", found.memories[found.roots :]),
        ("staying, since a person confirmed, pinned or wrote it:", found.kept),
    ):
        if memories:
            screen.say(words, "bold")
            listed(screen, memories[:MOST], zone)
            if len(memories) > MOST:
                screen.say(f"and {len(memories) - MOST:,} more", "dim")
    if found.facts:
        screen.say(f"facts that are retracted: {'; '.join(found.facts[:MOST])}", "bold")
    if found.lifted:
        screen.say(f"holding again, since what had replaced it goes: {', '.join(found.lifted)}", "bold")
