"""Folders of notes that an agent watches: begun, listed and ended. What lies in them is never written to."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from memfolio.errors import ConfigError, ConflictError, InputError, NotFoundError
from memfolio.index.lookup import count_notes
from memfolio.recall.searcher import Searcher
from memfolio.types import Attribution, check_attribution, frozen
from memfolio.vault.agents import agent_file, read_agent, written
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.folders import notes_below
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import is_home
from memfolio.vault.vault import Vault

WATCHER = Attribution(actor="bot:auto-detect", trigger="watch")


@frozen
class WatchedFolder:
    """A folder of notes: how many are found in it, and in how many blocks, and which cannot be read."""

    path: str
    notes: int = 0
    blocks: int = 0
    problems: dict[str, str]
    missing: str | None = None
    """Why none of its notes can be found at the moment."""
    receipt: Receipt | None = None
    """The change that began or ended it; None where nothing was changed."""


class WatchedFolders:
    """The folders of notes that one agent reads where they lie."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str) -> None:
        self._vault, self._searcher, self._agent = vault, searcher, agent

    def folders(self) -> list[WatchedFolder]:
        """Every folder that is watched, with what is found in it."""
        missing = self._searcher.index.notes.missing()
        return [self._counted(each, missing=missing.get(each)) for each in self._vault.settings(self._agent).watches]

    def watch(self, folder: str | Path, *, dry_run: bool = False, by: Attribution = WATCHER) -> WatchedFolder:
        """Find the notes of a folder from now on as they are there: Markdown files, as Obsidian and Logseq write them.

        The folder is only read. One that lies in a home or around it is refused, and so is one that lies in another
        that is watched, or around it.
        """
        path, watches = self._place(folder), self._vault.settings(self._agent).watches
        self._check_apart(path, watches)
        if path in watches:
            return self._counted(path)
        if dry_run:
            files = notes_below(path) or {}
            problems = {name: note.problem for name, note in sorted(files.items()) if note.problem}
            return WatchedFolder(path=path, notes=len(files) - len(problems), problems=problems)
        receipt = self._settle((*watches, path), check_attribution(by))
        return self._counted(path, receipt=receipt)

    def stop(self, folder: str | Path, *, dry_run: bool = False, by: Attribution = WATCHER) -> WatchedFolder:
        """Find the notes of a folder no more; what was forgotten or corrected of them is kept for when it is back."""
        watches = self._vault.settings(self._agent).watches
        given = str(folder)
        path = next(
            (each for each in (given, os.path.abspath(given), os.path.realpath(given)) if each in watches), None
        )
        if path is None:
            hint = f"watched are {', '.join(watches)}" if watches else "no folder is watched"
            raise NotFoundError(f"{self._agent} does not watch {folder}", hint=hint)
        found = self._counted(path)
        left = tuple(each for each in watches if each != path)
        receipt = None if dry_run else self._settle(left, check_attribution(by))
        return WatchedFolder(
            path=path, notes=found.notes, blocks=found.blocks, problems=found.problems, receipt=receipt
        )

    def _place(self, folder: str | Path) -> str:
        place = Path(folder).expanduser()
        if not place.is_dir():
            raise NotFoundError(f"there is no folder {place}", hint="name the folder that holds the notes")
        path = os.path.realpath(place)
        if not path.isprintable():
            raise InputError(f"{path!r} has a name that cannot be noted", hint="rename the folder")
        return path

    def _check_apart(self, path: str, watches: tuple[str, ...]) -> None:
        place = Path(path)
        if not self._vault.lies_apart(place):
            raise InputError(
                f"{path} and this home lie in one another",
                hint="watch a folder beside the home; the home is read anyway",
            )
        if inside := next((each for each in (place, *place.parents) if is_home(each)), None):
            raise InputError(f"{path} lies in the home {inside}", hint="open that home with --home instead")
        for other in map(Path, watches):
            if path != str(other) and (place.is_relative_to(other) or other.is_relative_to(place)):
                hint = (
                    "its notes are found already" if place.is_relative_to(other) else f"end that first: --stop {other}"
                )
                raise ConflictError(f"{path} and {other}, which is watched, lie in one another", hint=hint)

    def _settle(self, watches: tuple[str, ...], by: Attribution) -> Receipt:
        """Write the folders into the agent's settings."""
        path = agent_file(self._agent)
        with self._vault.exclusive():
            page = self._vault.page(path)
            after = to_bytes(written(to_text(page.content) if page else "", {"watches": watches}))
            if read_agent(self._agent, after).watches != watches:
                raise ConfigError(f"{path} cannot be changed line by line", hint="edit it by hand")
            put = PutPage.over(page, path, after)
            return self._vault.apply(Change.of_page(put, by))

    def _counted(self, path: str, *, missing: str | None = None, receipt: Receipt | None = None) -> WatchedFolder:
        found = self._searcher.index.read(partial(count_notes, root=path))
        return WatchedFolder(path=path, **found._asdict(), missing=missing, receipt=receipt)
