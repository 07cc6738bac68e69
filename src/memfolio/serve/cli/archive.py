"""Commands for what fades: archive it, look at what is weak, and back the home up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.brief import beginning
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.mend import changed, is_shared
from memfolio.serve.cli.output import Screen, as_document
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.index.maintenance import Below, Weak
    from memfolio.memory import Memory
    from memfolio.tend.backup import BackedUp, Copy
    from memfolio.tend.hand import Hand
    from memfolio.tend.retention import Retained

REASONS = {
    "age": "unused for longer than their kind is kept",
    "low importance": "of low importance, and unused for longer than that is kept",
    "high": "of high importance, and unused for longer than that is kept",
    "faded": "faded",
    "relevance": "of lower relevance",
    "importance": "of lower importance, as far as it has not faded",
    "access": "used too long ago or too rarely",
}
STRATEGIES = "relevance, age, importance or access"


def archive(
    options: Options, id: str | None = None, /, by: str | None = None, below: float | None = None, dry_run: bool = False
) -> Answer:
    chosen = _below(by, below)
    if id is not None and chosen:
        raise InputError("an id and a score are named", hint="name one of them")
    with options.memory() as memory:
        return _archive_one(memory, id, dry_run) if id is not None else _archive_due(memory, chosen, dry_run)


def _below(by: str | None, below: float | None) -> Below | None:
    from memfolio.index.maintenance import Below, By

    if (by is None) != (below is None):
        raise InputError("--by and --below belong together", hint="try --by relevance --below 0.2")
    if by is None or below is None:
        return None
    if by not in {each.value for each in By}:
        raise InputError(f"there is no score {by[:40]!r}", hint=f"it is {STRATEGIES}")
    return Below(by=By(by), limit=below)


def _archive_one(memory: Memory, id: str, dry_run: bool) -> Answer:
    from memfolio.tend.retention import archive_one

    located = memory.library.locate(id)
    if located is None:
        raise memory.library.not_found(id)
    index, found = located
    paths = memory.library.places(index, id)
    mended = archive_one(memory.vault, found, paths, PERSON, dry_run=dry_run)
    zone = memory.vault.home.zone
    return changed({"shared": is_shared(memory, mended)}, mended, zone, "archived", quiet=False)


def _archive_due(memory: Memory, below: Below | None, dry_run: bool) -> Answer:
    from memfolio.tend.hand import Hand
    from memfolio.tend.retention import retain

    vault = memory.vault
    hand = Hand(vault=vault, agent=memory.agent, now=vault.home.now(), dry_run=dry_run)
    found = retain(hand, memory.library.index, below, PERSON)
    reasons = [{"kind": kind, "reason": why, "memories": count} for (kind, why), count in sorted(found.reasons.items())]
    document = {
        "archived": found.memories,
        "reasons": reasons,
        "pages": found.pages,
        "compressed": found.compressed,
        "notes": hand.notes,
        "diff": hand.diff,
        "seqs": [receipt.seq for receipt in hand.receipts],
        "dry_run": dry_run,
    }
    return Answer(document, lambda screen: _show_due(screen, found, hand))


def _show_due(screen: Screen, found: Retained, hand: Hand) -> None:
    for (kind, why), count in sorted(found.reasons.items()):
        screen.say(f"{count:>7,}  {kind:<10}  {REASONS.get(why, why)}")
    for note in hand.notes:
        screen.say(note, "yellow")
    done = _done(found)
    if not done:
        screen.say("Nothing is due for the archive.", "bold")
    elif hand.dry_run:
        screen.say(f"It would be: {done}. Nothing was changed.", "bold")
    else:
        changes = ", ".join(str(receipt.seq) for receipt in hand.receipts)
        screen.say(f"{done}, as change {changes}; `memfolio undo` takes a change back", "bold")


def _done(found: Retained) -> str:
    """What was done, in one line; nothing where nothing was."""
    deeds = (
        (found.memories, "memory", "memories", "archived"),
        (len(found.pages), "page", "pages", "archived"),
        (len(found.compressed), "archived log", "archived logs", "compressed"),
    )
    return ", ".join(f"{counted(many, one, several)} {deed}" for many, one, several, deed in deeds if many)


def weak(options: Options, limit: int = 20) -> Answer:
    from memfolio.index.maintenance import weak as find_weak
    from memfolio.index.rows import to_us

    with options.memory() as memory:
        now, decay = to_us(memory.vault.home.now()), memory.vault.config.decay
        found = memory.library.index.read(lambda connection: find_weak(connection, now, decay, limit))
    facts = [_weak_document(each) for each in found]
    return Answer({"weak": facts, "below": decay.weak}, lambda screen: _show_weak(screen, found))


def _weak_document(fact: Weak) -> dict[str, Any]:
    more = {"certainty": fact.certainty, "dormant_in": fact.dormant_in, "archived_in": fact.archived_in}
    return as_document(fact.located.item, path=fact.located.path, **more)


def _show_weak(screen: Screen, found: list[Weak]) -> None:
    if not found:
        screen.say("No fact is weak.", "bold")
        return
    items = [(each, each.located.item) for each in found]
    rows = [(item.id, f"{each.certainty:.2f}", _ahead(each), beginning(item.content, 200)) for each, item in items]
    screen.table(("id", "certainty", "what comes", "memory"), rows, wide="memory")
    screen.say("`memfolio confirm ID` says that one is right: it does not fade then.", "dim")


def _ahead(fact: Weak) -> str:
    if fact.archived_in == 0:
        return "faded"
    if fact.dormant_in == 0:
        return "dormant" if fact.archived_in is None else f"faded in {fact.archived_in:.0f} d"
    return "stays" if fact.dormant_in is None else f"dormant in {fact.dormant_in:.0f} d"


def backup(
    options: Options,
    folder: Path | None = None,
    /,
    keep: int | None = None,
    listed: bool = False,
    dry_run: bool = False,
) -> Answer:
    from memfolio.tend.backup import back_up, backup_folder, backups

    with options.memory() as memory:
        vault = memory.vault
        place = backup_folder(vault, folder)
        if listed:
            return _listed(place, backups(vault, place))
        done = back_up(vault, place, keep or vault.config.backup.keep, vault.home.now(), dry_run=dry_run)
    document = {"path": done.path, "files": done.files, "bytes": done.bytes, "size": done.size, "dry_run": dry_run}
    return Answer(
        {**document, "removed": [str(each) for each in done.removed]}, lambda screen: _show_backup(screen, done)
    )


def _listed(folder: Path, found: list[Copy]) -> Answer:
    def draw(screen: Screen) -> None:
        for each in found:
            screen.say(f"{_size(each.size):>10}  {each.path}")
        if not found:
            screen.say(f"There is no backup of this home in {folder}.", "bold")

    return Answer({"folder": folder, "backups": [{"path": each.path, "size": each.size} for each in found]}, draw)


def _show_backup(screen: Screen, done: BackedUp) -> None:
    verb = "removed" if done.size is not None else "would be removed"
    for path in done.removed:
        screen.say(f"{path.name} {verb}", "dim")
    what = f"{counted(done.files, 'file')} of {_size(done.bytes)}"
    if done.size is None:
        screen.say(f"{what} would be copied to {done.path}. Nothing was written.", "bold")
    else:
        screen.say(f"{what} copied to {done.path}, {_size(done.size)}, and read back", "bold")


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} kB"
