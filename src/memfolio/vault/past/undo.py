"""Undo: taking changes back as a change of its own, on top of whatever happened since.

Ledgers are merged block by block (an entry, a line), pages line by line. What later edits overlap is refused with
the difference. Entries that leave a daily log go to the archive, so that nothing is only in git.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memfolio.errors import InputError, NotFoundError, RefusedError, UndoConflictError
from memfolio.types import Action, Attribution
from memfolio.vault.audit import TrailLine
from memfolio.vault.change import Change, PutPage
from memfolio.vault.foreign import blocks_of
from memfolio.vault.format.log import title_line
from memfolio.vault.past.merge import merge_blocks, merge_text, unified
from memfolio.vault.past.versions import Version
from memfolio.vault.paths import Form, archive_log, day_of, form_of, ledger_of
from memfolio.vault.recent import to_bytes, to_text

FINAL = frozenset({Action.ALERT, Action.ACK, Action.PURGE})


@dataclass(slots=True)
class Reversal:
    """Files as they are and as they will be once the chosen changes are taken back."""

    current: dict[str, bytes | None] = field(default_factory=dict)
    wanted: dict[str, bytes | None] = field(default_factory=dict)
    seqs: list[int] = field(default_factory=list)

    def changed(self) -> list[str]:
        return [path for path, content in self.wanted.items() if content != self.current[path]]

    def diff(self) -> str:
        return "".join(difference(path, self.current[path], self.wanted[path]) for path in self.changed())


def difference(path: str, before: bytes | None, after: bytes | None) -> str:
    """A unified diff of two states of a file; bytes that are no text are shown as replacements."""
    return unified(path, (before or b"").decode("utf-8", "replace"), (after or b"").decode("utf-8", "replace"))


def choose(
    lines: Iterable[TrailLine],
    *,
    seqs: Sequence[int] = (),
    actor: str | None = None,
    session: str | None = None,
    source: str | None = None,
) -> list[TrailLine]:
    """The changes to take back, newest first: the numbered ones, or all of an actor, session or source."""
    if not seqs and actor is session is source is None:
        raise InputError("nothing is named that could be undone", hint="name changes, an actor, a session or a source")
    reverts: list[TrailLine] = []
    found: list[TrailLine] = []
    for line in lines:
        if line.action is Action.REVERT:
            reverts.append(line)
        if line.seq in seqs or (not seqs and _matches(line, actor, session, source)):
            found.append(line)
    if missing := set(seqs) - {line.seq for line in found}:
        raise NotFoundError(f"there is no change {min(missing)}", hint="`memfolio log` lists the changes")
    if final := [line.seq for line in found if line.action in FINAL]:
        raise RefusedError(f"change {final[0]} cannot be undone", hint="alerts, acknowledgements and purges are final")
    undone = undone_by(reverts)
    chosen = [line for line in found if line.seq not in undone and line.files]
    if not chosen:
        raise NotFoundError("there is nothing to undo", hint="what you named is undone already or changed no file")
    return sorted(chosen, key=lambda line: -line.seq)


def undone_by(reverts: Sequence[TrailLine]) -> set[int]:
    """The changes that are undone: a revert that was itself reverted does not count."""
    undone: set[int] = set()
    for line in sorted(reverts, key=lambda line: -line.seq):
        if line.seq not in undone:
            undone.update(line.about)
    return undone


def _matches(line: TrailLine, actor: str | None, session: str | None, source: str | None) -> bool:
    if line.action in FINAL or line.action is Action.REVERT:
        return False
    wanted = ((actor, line.by.actor), (session, line.by.session), (source, line.by.source))
    return all(want is None or want == got for want, got in wanted)


def take_back(reversal: Reversal, line: TrailLine, versions: Iterable[Version]) -> None:
    """Merge the reverse of one change into what is wanted; raises UndoConflictError where later edits overlap."""
    for version in versions:
        reversal.wanted[version.path] = _reverse(version, reversal.wanted[version.path])
    reversal.seqs.append(line.seq)


def _reverse(version: Version, ours: bytes | None) -> bytes | None:
    """`ours` without the change; None where no file is left."""
    if ours == version.after:
        return version.before
    if form_of(version.path) is Form.PAGE:
        return _reverse_page(version, ours)
    base, theirs = (ledger_blocks(version.path, content) for content in (version.after, version.before))
    # A log's title belongs to the log, not to the change that happened to create it.
    base = base or _title_of(theirs)
    theirs = theirs or _title_of(base)
    blocks = merge_blocks(base, ledger_blocks(version.path, ours), theirs, lambda block: _order(version.path, block))
    if blocks is None:
        raise UndoConflictError(version.path, diff=difference(version.path, version.after, ours))
    content = to_bytes("".join(blocks))
    return None if _is_bare(version.path, content) and version.before is None else content


def _reverse_page(version: Version, ours: bytes | None) -> bytes:
    merged = None
    if ours is not None and version.after is not None and version.before is not None:
        merged = merge_text(to_text(version.after), to_text(ours), to_text(version.before))
    if merged is None:
        raise UndoConflictError(version.path, diff=difference(version.path, version.after, ours))
    return to_bytes(merged)


def ledger_blocks(path: str, content: bytes | None) -> list[str]:
    """A ledger in pieces such that an appended entry is a piece of its own, with the blank line before it."""
    pieces: list[str] = []
    carried = ""
    for _, text in blocks_of(path, content or b""):
        body = text.rstrip("\n")
        pieces.append(carried + body + text[len(body) : len(body) + 1])
        carried = text[len(body) + 1 :]
    if carried and pieces:
        pieces[-1] += carried
    return pieces


def _title_of(blocks: list[str]) -> list[str]:
    return [block for block in blocks[:1] if block.startswith("# ")]


def _order(path: str, block: str) -> tuple[int, str]:
    """Where a block belongs among others at the same place: by the time in its id, titles first."""
    marked = next((each for each, _ in blocks_of(path, to_bytes(block)) if each), None)
    return (int(marked.split("-")[1]), marked) if marked and marked.count("-") == 2 else (0, "")


def _is_bare(path: str, content: bytes) -> bool:
    """Whether nothing but our own title is left of a log."""
    named, day = ledger_of(path), day_of(path)
    if named is None or day is None:
        return not content.strip()
    return content.strip() in (b"", title_line(day, named[1]).encode())


def with_archive(reversal: Reversal, read: dict[str, bytes | None]) -> None:
    """Keep the entries that leave a daily log in the archive."""
    for path in reversal.changed():
        day = day_of(path)
        if form_of(path) is not Form.LOG or day is None or ledger_of(path) is None:
            continue
        kept = {each for each, _ in blocks_of(path, reversal.wanted[path] or b"")}
        gone = [text for each, text in blocks_of(path, reversal.current[path] or b"") if each and each not in kept]
        target = archive_log(path)
        if not gone or target in reversal.wanted:
            continue
        before = reversal.current.setdefault(target, read.get(target))
        head = before or f"{title_line(day)}\n".encode()
        added = "".join("\n" + text.rstrip("\n") + "\n" for text in gone)
        reversal.wanted[target] = head + to_bytes(added)


def as_change(reversal: Reversal, hashes: dict[str, str | None], by: Attribution) -> Change:
    """The reversal as one change, composed against the files as they are."""
    pages = tuple(PutPage(path, reversal.wanted[path], hashes[path]) for path in reversal.changed())
    return Change(operations=pages, by=by, action=Action.REVERT, about=tuple(reversal.seqs))
