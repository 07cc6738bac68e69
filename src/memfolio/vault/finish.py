"""Carrying out the files of an intent, from whatever point a crash or a person left them at."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.clock import to_ms
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.books import Books, Done
from memfolio.vault.disk import Stamp
from memfolio.vault.foreign import blocks_of
from memfolio.vault.paths import SHARED, agent_of, agent_root
from memfolio.vault.plan import Planned
from memfolio.vault.settle import Settler

DISPLACED = Attribution(actor="human", approval=Approval.NONE, trigger="conflict-copy")


class Finisher:
    """Brings each file of one change to its planned content, and can take that back while nothing is entered."""

    def __init__(self, books: Books, settler: Settler) -> None:
        self._books = books
        self._home = books.home
        self._settler = settler
        self._begun: list[Planned] = []
        self._displaced: list[tuple[str, bytes]] = []

    def finish(self, planned: Planned) -> Done:
        """Bring one file to where the intent wants it; a person's edit in between is kept."""
        content = self._books.read(planned.path)
        found = None if content is None else self._home.hash(content)
        if found == planned.now:
            return Done(planned, self._books.stamp(planned.path))
        if planned.start is not None:
            return self._finish_append(planned, content or b"", found)
        if found != planned.was:
            return self._stand_aside(planned)
        return Done(planned, self._replace(planned))

    def _finish_append(self, planned: Planned, content: bytes, found: str | None) -> Done:
        assert planned.start is not None
        if found != planned.was:
            if self._home.hash(content[: planned.start]) == (planned.was or self._home.hash(b"")):
                # Our own append, torn by the crash: begin it again.
                self._home.disk.cut(self._home.path(planned.path), planned.start)
            else:
                planned = self._moved(planned)
        if not planned.data:
            return Done(planned, self._books.stamp(planned.path))
        self._begun.append(planned)
        stamp = self._home.disk.append(self._home.path(planned.path), planned.data, sync=True)
        return Done(planned, stamp)

    def _moved(self, planned: Planned) -> Planned:
        """The append at the end of a file that somebody changed; without what is there already."""
        self._settler.settle(planned.path)
        tail = self._books.tail_of(planned.path)
        present = {each for each, _ in blocks_of(planned.path, self._books.read(planned.path) or b"")}
        blocks = blocks_of(planned.path, planned.data or b"")
        text = "".join(text for each, text in blocks if each is None or each not in present)
        missing = any(each and each not in present for each, _ in blocks)
        data = text.encode("utf-8", "surrogateescape") if missing else b""
        after = tail.then(data)
        return Planned(planned.path, tail.size, data, tail.hash, after.hash, after)

    def _stand_aside(self, planned: Planned) -> Done:
        """Leave a person's newer page in place and keep ours beside it."""
        self._settler.settle(planned.path)
        if planned.data is not None:
            self._displaced.append((planned.path, planned.data))
        known = self._books.known(planned.path)
        content = self._books.read(planned.path)
        now = known.hash if known else None
        return Done(Planned(planned.path, None, content, now, now), known.stamp if known else None)

    def _replace(self, planned: Planned) -> Stamp | None:
        """Put the new page in place; what it displaced stays beside it until the change is entered."""
        disk, path = self._home.disk, self._home.path(planned.path)
        self._begun.append(planned)
        if planned.data is None:
            disk.take(path)
            return None
        return disk.swap(path, planned.data)[1]

    def take_back(self) -> bool:
        """Restore the files touched so far; False when that fails too and the intent must stay."""
        try:
            for planned in reversed(self._begun):
                path = self._home.path(planned.path)
                if planned.start:
                    self._home.disk.cut(path, planned.start)
                elif planned.start == 0:
                    self._home.disk.remove(path)
                else:
                    self._put_back(planned)
        except OSError:
            return False
        return True

    def _put_back(self, planned: Planned) -> None:
        disk, path = self._home.disk, self._home.path(planned.path)
        content = disk.read(path)
        ours = content is None if planned.now is None else content is not None and self._is_ours(planned, content)
        for aside in disk.leftovers(path):
            if ours and not self._is_ours(planned, disk.read(aside) or b""):
                disk.rename(aside, path)
                ours = False
            else:
                disk.discard(aside)
        if ours:
            disk.remove(path)

    def _is_ours(self, planned: Planned, content: bytes) -> bool:
        """Whether this is what the change wanted to write, or the beginning of it."""
        return planned.data is not None and planned.data.startswith(content)

    def keep_displaced(self, files: Sequence[Planned]) -> None:
        """Write conflict copies of what two hands wanted in one place, then let go of what was displaced."""
        for planned in files:
            asides = self._home.disk.leftovers(self._home.path(planned.path)) if planned.start is None else []
            for aside in asides:
                content = self._home.disk.read(aside)
                if content and self._home.hash(content) != planned.was and not self._is_ours(planned, content):
                    self._displaced.append((planned.path, content))
            self._write_copies()
            for aside in asides:
                self._home.disk.discard(aside)

    def _write_copies(self) -> None:
        while self._displaced:
            path, content = self._displaced.pop()
            copy = self._conflict_path(path)
            stamp = self._home.disk.put(self._home.path(copy), content)
            planned = Planned(copy, None, content, None, self._home.hash(content))
            self._books.enter(Action.CREATE, DISPLACED, [Done(planned, stamp)])

    def _conflict_path(self, path: str) -> str:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        folder = f"{agent_root(agent_of(path) or SHARED)}/memory/conflicts"
        return f"{folder}/{stem or suffix}.{to_ms(self._home.now())}{dot}{suffix if stem else 'md'}"
