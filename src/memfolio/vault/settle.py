"""Settling a file before it is touched: whatever happened to it behind our back is understood and recorded.

A file that is not as it was last left is one of these:
- touched but equal: only its stamp is noted;
- longer by whole entries of our own that a crash kept out of the trail: their lines are written from them;
- longer by a torn entry that was never acknowledged: it is cut off;
- without its newest entries and nothing else of ours: a stale editor saved over them, they are appended again;
- anything else: a person's edit, recorded as `human` with its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memfolio.clock import to_ms
from memfolio.errors import FileNotHereError
from memfolio.types import HUMAN, Action, Approval, Attribution
from memfolio.vault.alerts import WATCHMAN, needs_alert
from memfolio.vault.books import Books, Done
from memfolio.vault.disk import Stamp
from memfolio.vault.foreign import Own, lost_run, own_end
from memfolio.vault.paths import Form, form_of
from memfolio.vault.plan import Planned, Tail
from memfolio.vault.recent import FileState, to_bytes

RESCUER = Attribution(actor="system:recover", approval=Approval.AUTO, trigger="stale-editor")
TORN = "torn"
LOOKS = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it is now."""

    path: str
    content: bytes
    hash: str
    stamp: Stamp


class Settler:
    """Brings the books and one file into agreement."""

    def __init__(self, books: Books, committed: Callable[[str], bytes | None]) -> None:
        self._books = books
        self._committed = committed

    def settle(self, path: str) -> bool:
        """Whether the file had been changed by somebody else; afterwards the books say what is in it."""
        books = self._books
        known, stamp = books.known(path), books.stamp(path)
        if (known is None and stamp is None) or (known is not None and stamp is not None and known.stamp == stamp):
            return False
        seen = self._look(path)
        if seen is None:
            return self._note_missing(path, known)
        if known and seen.hash == known.hash:
            books.recent.restamp(path, FileState(known.hash, known.size, seen.stamp))
            return False
        if not self._take_own(seen, known):
            self._take_human(seen, known)
        return True

    def _look(self, path: str) -> Seen | None:
        books = self._books
        stamp, content = books.stamp(path), books.read(path)
        for _ in range(LOOKS):
            if (again := books.stamp(path)) == stamp:
                break
            stamp, content = again, books.read(path)
        if content is None or stamp is None:
            return None
        if content and not content.strip(b"\0"):
            raise FileNotHereError(
                f"{path} is only a placeholder", hint="let your sync program fetch the file, then try again"
            )
        return Seen(path, content, books.home.hash(content), stamp)

    def _note_missing(self, path: str, known: FileState | None) -> bool:
        if known is None:
            return False
        self._enter_human(Action.DELETE, Planned(path, None, None, known.hash, None), None)
        return True

    def _enter_human(self, action: Action, planned: Planned, stamp: Stamp | None) -> None:
        first = self._books.recent.head.seq == 0
        line = self._books.enter(action, HUMAN, [Done(planned, stamp)])
        if needs_alert(line) and not first:
            self._books.enter(Action.ALERT, WATCHMAN, about=[line.seq])

    def _take_own(self, seen: Seen, known: FileState | None) -> bool:
        """Recognise what a crash kept out of the trail; False when somebody else wrote it."""
        size = known.size if known else 0
        if form_of(seen.path) is Form.PAGE or size > len(seen.content):
            return False
        if known and self._books.home.hash(seen.content[:size]) != known.hash:
            return False
        own = own_end(seen.path, seen.content, size, self._books.home.zone)
        if own is None:
            return False
        if own.whole < len(seen.content):
            self._cut_torn(seen, own.whole)
        self._enter_own(seen, own, self._books.tail_behind(seen.content[:size] if known else None))
        return True

    def _cut_torn(self, seen: Seen, whole: int) -> None:
        """Take an unacknowledged fragment out of the file; it is kept aside, should anybody miss it."""
        home = self._books.home
        name = f"{to_ms(home.now())}-{seen.path.rpartition('/')[2]}"
        home.disk.put(home.internal / TORN / name, seen.content[whole:])
        if whole:
            home.disk.cut(home.path(seen.path), whole)
        else:
            home.disk.remove(home.path(seen.path))

    def _enter_own(self, seen: Seen, own: Own, tail: Tail) -> None:
        home = self._books.home
        for piece in own.pieces:
            data = seen.content[piece.start : piece.end]
            before, tail = tail, tail.then(data)
            planned = Planned(seen.path, before.size, data, before.hash, tail.hash, tail)
            key = home.hash(piece.key.encode())[:16] if piece.key else None
            self._books.enter(Action.APPEND, piece.by, [Done(planned, None)], ids=[piece.id], key=key)
        if tail.hash:
            self._books.recent.restamp(seen.path, FileState(tail.hash, tail.size, self._books.stamp(seen.path)))

    def _take_human(self, seen: Seen, known: FileState | None) -> None:
        action = Action.EDIT if known else Action.CREATE
        before = self._before(seen.path) if known and form_of(seen.path) is not Form.PAGE else b""
        planned = Planned(seen.path, None, seen.content, known.hash if known else None, seen.hash)
        self._enter_human(action, planned, seen.stamp)
        self._rescue(seen, before)

    def _before(self, path: str) -> bytes:
        """The file's content as we last left it, from git and the changes that are not there yet."""
        content = self._committed(path) or b""
        for record in self._books.recent.pending:
            for write in record.writes:
                if write.path == path:
                    content = write.after(content) or b""
        return content

    def _rescue(self, seen: Seen, before: bytes) -> None:
        """Append again what a stale editor saved over."""
        lost = [(each, text) for each, text in lost_run(seen.path, before, seen.content) if self._is_young(each)]
        if not lost or self._was_rescued([each for each, _ in lost]):
            return
        home, form = self._books.home, form_of(seen.path)
        tail = self._books.tail_behind(seen.content)
        blocks = [text.rstrip("\n") + "\n" for _, text in lost]
        data = to_bytes(("\n" if form is Form.LOG else "").join(blocks))
        lead = b"" if tail.last == b"\n" else b"\n"
        after = tail.then(lead + (b"\n" if form is Form.LOG else b"") + data)
        data = lead + (b"\n" if form is Form.LOG else b"") + data
        stamp = home.disk.append(home.path(seen.path), data, sync=True)
        planned = Planned(seen.path, tail.size, data, tail.hash, after.hash, after)
        self._books.enter(Action.RESTORE, RESCUER, [Done(planned, stamp)], ids=[each for each, _ in lost])

    def _is_young(self, id: str) -> bool:
        home = self._books.home
        age = to_ms(home.now()) - int(id.split("-")[1])
        return age < home.config.stale_editor_window.total_seconds() * 1000

    def _was_rescued(self, ids: list[str]) -> bool:
        """An entry comes back once: a person who deletes it again means it."""
        lines = self._books.trail.lines(containing=[each.encode() for each in ids])
        return any(line.by.actor == RESCUER.actor for line in lines)
