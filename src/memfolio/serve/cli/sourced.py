"""What `undo --source` shows and does."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.difference import for_people
from memfolio.serve.cli.mend import listed
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.govern.undo import Undone
    from memfolio.memory import Memory

MOST = 20
"""How many memories are listed one by one."""


def undo_source(options: Options, memory: Memory, source: str, *, dry_run: bool, yes: bool) -> Answer:
    """Take back what came from a source in the whole home, after a look at it where it is more than one memory."""
    from memfolio.govern.undo import undo_source as take_back
    from memfolio.tend.cited import without_citations

    def undone(*, dry_run: bool) -> Undone:
        vault, library = memory.vault, memory.library
        cut = without_citations
        return take_back(vault, library, source, PERSON, without_citations=cut, every_agent=True, dry_run=dry_run)

    zone, asked = memory.vault.home.zone, False
    if not dry_run and not yes:
        found = undone(dry_run=True)
        deed = f"take back {counted(len(found.memories), 'memory', 'memories')} of {source} in {len(found.paths)} files"
        asked = options.confirm(deed, lambda screen: _draw(screen, found, zone), yes=len(found.memories) == 1)
    return _answer(source, undone(dry_run=dry_run), zone, quiet=asked)


def _answer(source: str, found: Undone, zone: tzinfo, *, quiet: bool) -> Answer:
    ids, seqs = [each.id for each in found.memories], [each.seq for each in found.receipts]
    document = {
        "source": source,
        "undone": ids[: found.roots],
        "derived": ids[found.roots :],
        "kept": [each.id for each in found.kept],
        "lifted": found.lifted,
        "paths": found.paths,
        "diff": found.diff,
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
        "dry_run": not seqs,
    }

    def draw(screen: Screen) -> None:
        if not quiet:
            _draw(screen, found, zone)
        if seqs:
            words = " ".join(map(str, seqs))
            screen.say(f"{source} taken back, as change {words}; `memfolio undo {words}` brings it again", "bold")
        else:
            screen.say("Nothing was changed.", "bold")

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
    if found.lifted:
        screen.say(f"holding again, since what had replaced it goes: {', '.join(found.lifted)}", "bold")
