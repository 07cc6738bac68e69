"""Export: a read of one state of a home into a file or folder that is there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.exchange.export.archive import write_archive
from memfolio.exchange.export.contents import Contents
from memfolio.exchange.export.folder import write_folder
from memfolio.exchange.export.jsonl import write_jsonl
from memfolio.exchange.export.mabos import mabos_files
from memfolio.exchange.export.obsidian import obsidian_files
from memfolio.index.index import Index
from memfolio.intake import nearest
from memfolio.memory import Memory
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.home import agents_of
from memfolio.vault.paths import agent_of
from memfolio.vault.vault import Vault

Told = Callable[[int, int], None]
Write = Callable[[Contents, Path, Disk], None]
FORMS: Mapping[str, Write] = {
    "archive": write_archive,
    "jsonl": write_jsonl,
    "obsidian": lambda contents, target, disk: write_folder(obsidian_files(contents), target, disk, contents.check),
    "mabos": lambda contents, target, disk: write_folder(mabos_files(contents), target, disk, contents.check),
}
FOLDERS = ("obsidian", "mabos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was exported, or would be: where to, whose, how many files of the home, and why some could not be."""

    target: Path
    agents: tuple[str, ...]
    files: int
    left_out: Mapping[str, str]


def export(
    memory: Memory,
    target: Path,
    form: str,
    *,
    whole_home: bool = False,
    dry_run: bool = False,
    told: Told = lambda done, total: None,
) -> Exported:
    """Export one agent, or all whose memory whoever speaks may read; the target must not be there, or be empty."""
    if form not in FORMS:
        raise InputError(f"{form[:40]!r} is no form of export", hint=nearest(form, [*FORMS]))
    vault, target = memory.vault, Path(os.path.abspath(target))
    _check_target(vault, target, is_folder=form in FOLDERS)
    if vault.can_write:  # what takes long is done before nobody may write
        vault.try_survey()  # a home on a full disk is exported as it is
    if vault.can_write and form != "archive":
        memory.sync()
    with _still(vault) as check:
        contents = _contents(memory, check, told, whole_home=whole_home)
        if not dry_run:
            disk = Disk()
            disk.private = target.parent  # a memory is its owner's alone
            with disk_errors(target.parent):
                disk.sweep(target)
                FORMS[form](contents, target, disk)
    files = sum(path not in contents.left_out for path in contents.files)
    return Exported(target=target, agents=contents.agents, files=files, left_out=contents.left_out)


def _check_target(vault: Vault, target: Path, *, is_folder: bool) -> None:
    root = vault.home.root.resolve()
    if target.resolve().is_relative_to(root) or root.is_relative_to(target.resolve()):
        raise InputError(f"{target} and the home lie in one another", hint="export to a place outside of the home")
    if is_folder and target.is_dir() and not target.is_symlink() and next(target.iterdir(), None) is None:
        return
    if os.path.lexists(target):
        hint = "name a folder that is empty or not there" if is_folder else "name a file that is not there"
        raise InputError(f"{target} is there already", hint=hint)


@contextmanager
def _still(vault: Vault) -> Iterator[Callable[[], None]]:
    """Let nobody write meanwhile; where only reading is possible, the check tells whether somebody did."""
    if vault.can_write or vault.is_full:
        with vault.writer.holding() if vault.is_full else vault.writer.ready():
            yield lambda: None
        return
    vault.refresh()
    before = vault.head, vault.epoch

    def check() -> None:
        vault.refresh()
        if (vault.head, vault.epoch) != before:
            raise ConflictError("the home was changed during the export", hint="export it again")

    yield check


def _contents(memory: Memory, check: Callable[[], None], told: Told, *, whole_home: bool) -> Contents:
    """What whoever speaks may see of what is asked for: the owner everything, an agent what it reads."""
    vault = memory.vault
    indexes = {index.agent: index for index in memory.library.indexes()}
    if whole_home and vault.scope is None:
        indexes = {name: indexes.get(name) or Index(vault, name) for name in agents_of(vault.home.root)}
    chosen = dict(sorted(indexes.items())) if whole_home else {memory.agent: memory.library.index}
    owners = {*chosen, *([None] if whole_home else [])}
    files = [path for path in sorted(vault.states()) if agent_of(path) in owners and vault.shows(path)]
    done = count(1)
    if not files:
        raise NotFoundError(f"the agent {memory.agent} has nothing to export", hint="`memfolio agent list` names all")
    return Contents(
        vault=vault,
        indexes=chosen,
        files=tuple(files),
        whole_home=whole_home,
        now=vault.home.now(),
        check=check,
        left_out={path: why for path, why in vault.problems.items() if agent_of(path) in owners and path not in files},
        step=lambda: told(next(done), len(files)),
    )
