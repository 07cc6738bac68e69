"""Intents: a change of several files is written down first, and carried out from any point a crash left."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from memfolio.errors import HomeBusyError, PageChangedError
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.change import Change, Plan, Planned
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.file_states import Books, WrittenFile
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import attribution
from memfolio.vault.reconcile import LOOKS, QUIET, Settler, blocks_of

# Intents: a change of several files, or of a page, is written down whole before the first file is touched.
#
# After a crash the intent is carried out to its end, so that such a change happens completely or not at all. A change
# of one ledger needs none: its own appended bytes say who wrote them and why.

FOLDER = "intents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is about to happen, with everything needed to finish it."""

    seq: int
    """The number of its line in the trail, if nothing else was entered before that."""
    action: Action
    by: Attribution
    files: tuple[Planned, ...]
    ids: tuple[str, ...] = ()
    about: tuple[int, ...] = ()
    key: str | None = None


class Intents:
    """The folder of intents; empty whenever nothing is under way."""

    def __init__(self, internal: Path, disk: Disk) -> None:
        self._folder = internal / FOLDER
        self._disk = disk

    def save(self, seq: int, change: Change, plan: Plan) -> Path:
        """Write the intent durably; when that fails, there is none."""
        path = self._folder / f"{seq:012d}.json"
        try:
            self._disk.put(path, json.dumps(_to_json(change, plan)).encode())
        except OSError:
            self._disk.discard(path)
            raise
        return path

    def waiting(self) -> list[Path]:
        """Intents that were not carried out to their end, oldest first."""
        return [self._folder / name for name in self._disk.names(self._folder) if name.endswith(".json")]

    def load(self, path: Path) -> Intent | None:
        """The intent in a file; None when it is not whole, which means that nothing was touched yet."""
        try:
            return _from_json(int(path.stem), json.loads(self._disk.read(path) or b""))
        except (ValueError, KeyError, TypeError):
            return None

    def drop(self, path: Path) -> None:
        self._disk.remove(path)


def _to_json(change: Change, plan: Plan) -> dict[str, Any]:
    return {
        "action": change.action,
        "by": astuple(change.by),
        "ids": plan.ids,
        "about": change.about,
        "key": change.key,
        "files": [_file_json(file) for file in plan.files],
    }


def _file_json(file: Planned) -> dict[str, Any]:
    text = None if file.data is None else to_text(file.data)
    return {"path": file.path, "from": file.start, "text": text, "was": file.was, "now": file.now}


def _from_json(seq: int, data: dict[str, Any]) -> Intent:
    return Intent(
        seq=seq,
        action=Action(data["action"]),
        by=attribution(*data["by"]),
        files=tuple(map(_read_file, data["files"])),
        ids=tuple(data["ids"]),
        about=tuple(data["about"]),
        key=data["key"],
    )


def _read_file(data: dict[str, Any]) -> Planned:
    content = None if data["text"] is None else to_bytes(data["text"])
    return Planned(data["path"], data["from"], content, data["was"], data["now"])


# Carrying out the files of an intent, from whatever point a crash or a person left them at.

DISPLACED = Attribution(actor="human", approval=Approval.NONE, trigger="conflict-copy")


class Finisher:
    """Brings each file of one change to its planned content, and can take that back while nothing is entered."""

    def __init__(self, books: Books, settler: Settler) -> None:
        self._books = books
        self._home = books.home
        self._settler = settler
        self._begun: list[Planned] = []
        self._displaced: list[tuple[str, bytes]] = []

    def finish(self, planned: Planned, *, gives_way: bool = True) -> WrittenFile:
        """Bring one file to where the intent wants it; a person's edit in between is kept.

        A page that somebody else changed meanwhile stays, and ours goes beside it; unless `gives_way`, that is a
        PageChangedError, because there is still a caller to tell.
        """
        if planned.start is not None:
            return self._finish_append(planned)
        content = self._books.read(planned.path)
        found = None if content is None else self._home.hash(content)
        if found == planned.now:
            return WrittenFile(planned, self._books.stamp(planned.path))
        if found != planned.was and not gives_way:
            raise PageChangedError(planned.path, current=content, current_hash=found)
        if found != planned.was:
            return self._stand_aside(planned)
        if planned.was is None and planned.data is not None:
            return self._create(planned, planned.data, gives_way=gives_way)
        return WrittenFile(planned, self._replace(planned), content)

    def _finish_append(self, planned: Planned) -> WrittenFile:
        disk, path = self._home.disk, self._home.path(planned.path)
        for _ in range(LOOKS):
            stamp, content = self._books.stamp(planned.path), self._books.read(planned.path)
            found = None if content is None else self._home.hash(content)
            if found == planned.now:
                return WrittenFile(planned, stamp)
            if found != planned.was:
                if self._is_begun(planned, content or b""):
                    disk.cut(path, planned.start or 0)
                else:
                    planned = self._moved(planned)
                continue
            self._begun.append(planned)
            if stamp := disk.append_if(path, planned.data or b"", stamp):
                return WrittenFile(planned, stamp)
        raise HomeBusyError(f"{planned.path} is being changed all the time", hint="close its editor and try again")

    def _is_begun(self, planned: Planned, content: bytes) -> bool:
        """Whether the file ends in our own append, torn by the crash: then it is begun again."""
        head, rest = content[: planned.start], content[planned.start :]
        return self._home.hash(head) == (planned.was or self._home.hash(b"")) and self._is_ours(planned, rest)

    def _moved(self, planned: Planned) -> Planned:
        """The append at the end of a file that somebody changed; without what is there already."""
        self._books.look_again([planned.path])
        tail = self._settler.tail(planned.path, takes_own=False)
        present = {each for each, _ in blocks_of(planned.path, self._books.read(planned.path) or b"")}
        blocks = blocks_of(planned.path, planned.data or b"")
        text = "".join(text for each, text in blocks if each is None or each not in present)
        missing = any(each and each not in present for each, _ in blocks)
        data = text.encode("utf-8", "surrogateescape") if missing else b""
        after = tail.then(data)
        return Planned(planned.path, tail.size, data, tail.hash, after.hash, after)

    def _stand_aside(self, planned: Planned) -> WrittenFile:
        """Leave a person's newer page in place and keep ours beside it."""
        self._settler.settle(planned.path)
        if planned.data is not None:
            self._displaced.append((planned.path, planned.data))
        known = self._books.known(planned.path)
        content = self._books.read(planned.path)
        now = known.hash if known else None
        return WrittenFile(Planned(planned.path, None, content, now, now), known.stamp if known else None)

    def _create(self, planned: Planned, data: bytes, *, gives_way: bool) -> WrittenFile:
        """Put a page where there is none; one that somebody makes in this very moment is theirs, and is found there."""
        self._begun.append(planned)
        path = self._home.path(planned.path)
        if stamp := self._home.disk.create(path, data):
            return WrittenFile(planned, stamp)
        if self._books.stamp(planned.path) is None:
            raise FileExistsError(errno.EEXIST, "is in the way and is not a file", str(path))
        return self.finish(planned, gives_way=gives_way)

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
            return all(self._put_back(planned) for planned in reversed(self._begun))
        except OSError:
            return False

    def _put_back(self, planned: Planned) -> bool:
        if planned.start is None:
            self._put_back_page(planned)
            return True
        path, content = self._home.path(planned.path), self._books.read(planned.path)
        if content is None or self._home.hash(content) == planned.was:
            return True
        if not self._is_begun(planned, content):
            return False
        if planned.was is None:
            self._home.disk.remove(path)
        else:
            self._home.disk.cut(path, planned.start)
        return True

    def _put_back_page(self, planned: Planned) -> None:
        disk, path = self._home.disk, self._home.path(planned.path)
        content = disk.read(path)
        ours = (None if content is None else self._home.hash(content)) == planned.now
        for aside in disk.leftovers(path):
            displaced = disk.read(aside) or b""
            if ours and (self._home.hash(displaced) == planned.was or not self._is_ours(planned, displaced)):
                disk.rename(aside, path)
                ours = False
            else:
                disk.discard(aside)
        if ours:
            disk.remove(path)

    def _is_ours(self, planned: Planned, content: bytes) -> bool:
        """Whether this is what the change wanted to write, or what a crash left of that: the beginning, or zeros."""
        wanted = planned.data or b""
        return len(content) <= len(wanted) and all(a in (0, b) for a, b in zip(content, wanted, strict=False))

    def keep_displaced(self, files: Sequence[Planned]) -> None:
        """Write conflict copies of what two hands wanted in one place, then let go of what was displaced."""
        for planned in files:
            asides = self._home.disk.leftovers(self._home.path(planned.path)) if planned.start is None else []
            for aside in asides:
                if content := self._words_in(aside, planned):
                    self._displaced.append((planned.path, content))
            while self._displaced:
                self._settler.set_aside(*self._displaced.pop(), DISPLACED)
            if asides:
                # Durably: what comes back after a power cut would look like another person's work.
                self._home.disk.sweep(self._home.path(planned.path))

    def _words_in(self, aside: Path, planned: Planned) -> bytes | None:
        """Somebody's words that were displaced, once they are all there: the editor may still be writing to them."""
        disk, stamp = self._home.disk, None
        content = disk.read(aside) or b""
        if content == planned.data or self._home.hash(content) == planned.was:
            return None
        for _ in range(LOOKS):
            if stamp == (stamp := disk.stamp(aside)):
                break
            time.sleep(QUIET)
        content = disk.read(aside) or b""
        return None if self._is_ours(planned, content) else content
