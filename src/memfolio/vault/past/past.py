"""The past of a home: what happened, what it looked like, and how to go back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, NotFoundError
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.past.rollback import is_rolled_back, restore
from memfolio.vault.past.undo import Reversal, as_change, choose, difference, take_back, with_archive
from memfolio.vault.past.versions import Versions
from memfolio.vault.past.view import Filter, LogEntry, View
from memfolio.vault.paths import archive_log, check_path

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

Files = dict[str, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What undo or rollback did, or would do: the difference, and the receipt when it was done."""

    diff: str
    paths: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    receipt: Receipt | None = None


class Past:
    """Looks back and goes back."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._versions = Versions(vault.trail, vault.history, lambda: list(vault.books.recent.pending))

    def log(self, wanted: Filter | None = None, *, limit: int = 50) -> list[LogEntry]:
        """The newest changes, newest first."""
        view = View(self._vault.trail, self._read, self._vault.commits_by_seq)
        return view.entries(wanted or Filter(), limit=limit)

    def diff(self, seq: int) -> str:
        """What a change did, as a unified diff."""
        versions = self._versions.of(self._versions.line(seq))
        return "".join(difference(version.path, version.before, version.after) for version in versions)

    def diff_since(self, path: str | None, to: datetime | str) -> str:
        """What changed in a page, or in everything, since a moment or commit."""
        tip = self._tip()
        with self._vault.writer.ready():
            wanted, current = self._then_and_now(path, to, tip)
        return "".join(difference(each, wanted[each], current[each]) for each in _different(wanted, current))

    def undo(
        self,
        seqs: Sequence[int] = (),
        *,
        actor: str | None = None,
        session: str | None = None,
        source: str | None = None,
        by: Attribution,
        dry_run: bool = False,
    ) -> Outcome:
        """Take back changes by number, or all of an actor, session or source, as one change."""
        self._vault.commit()
        with self._vault.writer.ready():
            lines = choose(self._vault.trail.lines(), seqs=seqs, actor=actor, session=session, source=source)
            reversal = Reversal()
            for line in lines:
                versions = self._versions.of(line)
                self._load(reversal, [version.path for version in versions])
                take_back(reversal, line, versions)
            with_archive(reversal, {archive_log(path): self._now(archive_log(path)) for path in reversal.changed()})
            paths = tuple(reversal.changed())
            if not paths:
                raise NotFoundError("there is nothing to undo", hint="the files do not contain these changes any more")
            receipt = None if dry_run else self._vault.apply(as_change(reversal, self._hashes(paths), by))
        return Outcome(diff=reversal.diff(), paths=paths, seqs=tuple(reversal.seqs), receipt=receipt)

    def rollback(
        self, path: str | None = None, *, to: datetime | str, by: Attribution, dry_run: bool = False
    ) -> Outcome:
        """Bring a page, or the whole home, back to a moment or commit; forgotten things stay forgotten."""
        tip = self._tip()
        with self._vault.writer.ready():
            wanted, current = self._then_and_now(path, to, tip)
            paths = _different(wanted, current)
            diff = "".join(difference(each, current[each], wanted[each]) for each in paths)
            receipt = None
            if paths and not dry_run:
                hashes = self._hashes(paths)
                pages = tuple(PutPage(each, wanted[each], hashes[each]) for each in paths)
                receipt = self._vault.apply(Change(operations=pages, by=by, action=Action.REVERT))
        return Outcome(diff=diff, paths=tuple(paths), receipt=receipt)

    def _then_and_now(self, path: str | None, to: datetime | str, tip: str) -> tuple[Files, Files]:
        """Files as they should become and as they are, for everything that differs between the two moments."""
        commit = self._commit_at(to)
        before, after = self._vault.history.files(commit), self._vault.history.files(tip)
        newest = {write.path for record in self._vault.books.recent.pending for write in record.writes}
        touched = [each for each in {*before, *after, *newest} if before.get(each) != after.get(each) or each in newest]
        touched = [each for each in touched if is_rolled_back(each)]
        if path is not None:
            path = check_path(path)
            if path not in before and path not in after:
                raise NotFoundError(f"there is no page {path}", hint="paths are relative to the home")
            touched = [each for each in touched if each == path]
        then = {each: self._vault.history.read(each, commit=commit) for each in touched}
        now = {each: self._now(each) for each in touched}
        wanted = restore(then, now)
        return wanted, {each: now[each] if each in now else self._now(each) for each in wanted}

    def _commit_at(self, to: datetime | str) -> str:
        if isinstance(to, str):
            return self._vault.history.resolve(to)
        commit = self._vault.history.at_time(to)
        if commit is None:
            raise NotFoundError(
                f"the home has no history before {to.isoformat()}", hint="`memfolio log` shows its beginning"
            )
        return commit

    def _tip(self) -> str:
        """The newest commit, with everything in it."""
        if self._vault.commit():
            raise HistoryError(
                f"git cannot take the newest changes: {self._vault.committer.obstacle}", hint="free git, then try again"
            )
        tip = self._vault.history.tip()
        if tip is None:
            raise NotFoundError("the home has no history yet", hint="remember something first")
        return tip

    def _load(self, reversal: Reversal, paths: Sequence[str]) -> None:
        for path in paths:
            if path not in reversal.current:
                reversal.current[path] = reversal.wanted[path] = self._now(path)

    def _now(self, path: str) -> bytes | None:
        """A file as it is, with what people did to it recorded first."""
        self._vault.writer.settle([path])
        return self._read(path)

    def _read(self, path: str) -> bytes | None:
        return self._vault.home.disk.read(self._vault.home.path(path))

    def _hashes(self, paths: Sequence[str]) -> dict[str, str | None]:
        known = {path: self._vault.books.known(path) for path in paths}
        return {path: state.hash if state else None for path, state in known.items()}


def _different(wanted: Files, current: Files) -> list[str]:
    return sorted(path for path in wanted if wanted[path] != current[path])
