"""A git directory: opened or made in one step, its files replaced under git's own locks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, InputError, MemfolioError
from memfolio.vault.disk import Disk, full_error

if TYPE_CHECKING:
    import pygit2

SETTINGS = {"core.autocrlf": "false", "core.fsync": "all"}
"""For people's own git: bytes stay as they are, commits survive power loss. libgit2 reads neither."""
NEW_REF, NEW_OWN_REF = "memfolio-ref.new", "memfolio-own.new"
OWN_REFS = "refs/memfolio/"
"""Where our newest commit of each branch is noted: no command that moves branches moves these."""
EXCLUDED = ".*.tmp"
"""Files that are being written: neither `git stash -u` nor `git clean -fd` takes what is excluded."""
NO_COMMIT = "0" * 40
FOLDER = b"40000"
"""The mode of a folder in a tree."""
ID_BYTES = 20
_BROKEN = "run `git fsck` in the home; the files themselves are not affected"
_opening = threading.Lock()


@contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Turn what libgit2, git and the system say into `HistoryError`, or `DiskFullError`, with the cause kept."""
    try:
        yield
    except MemfolioError:
        raise
    except _failures() as error:
        if full := full_error(home, error):
            raise full from error
        what = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise HistoryError(f"the git history of {home} cannot be used: {what}", hint=_BROKEN) from error


def open_repo(home: Path, ref: str) -> pygit2.Repository:
    """The home's own repository, never one that the home merely lies in."""
    import pygit2

    if not pygit2.reference_is_valid_name(ref):
        raise InputError(
            f"{ref.removeprefix('refs/heads/')!r} cannot be a branch name", hint="use a plain name like main"
        )
    settings = pygit2.settings
    # Ownership is checked to protect people from repositories they happen to stand in. A home is named by its caller,
    # is searched for nowhere, and libgit2 runs nothing it finds there; containers often see it owned by another user.
    with _opening:
        validated = settings.owner_validation
        settings.owner_validation = False
        try:
            repo = pygit2.Repository(str(home / ".git"), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        finally:
            settings.owner_validation = validated
    workdir: str | None = repo.workdir  # None for a bare one, whatever the stubs say
    if workdir is None or not os.path.samefile(workdir, home):
        raise HistoryError(
            f"the repository in {home} keeps its files elsewhere", hint="unset core.bare and core.worktree"
        )
    return repo


def create(disk: Disk, home: Path, branch: str) -> None:
    """Make `.git` appear whole or not at all."""
    import pygit2

    workshop = home / ".git-new"
    for file in all_files(workshop):  # of an attempt that was cut short
        disk.unlink(file)
    repo = pygit2.init_repository(str(workshop), bare=True, initial_head=branch)
    repo.config["core.bare"] = False
    repo.config["core.logAllRefUpdates"] = True
    configure(disk, repo)
    for file in all_files(workshop):
        disk.sync_file(file)
    for folder, _, _ in os.walk(workshop):
        disk.sync_dir(Path(folder))
    disk.rename(workshop, home / ".git")
    disk.sync_dir(home)


def configure(disk: Disk, repo: pygit2.Repository) -> None:
    """Add the settings that are missing; what a person has set for this repository stays."""
    import pygit2

    config = pygit2.Config(str(common_dir(repo) / "config"))
    for name, value in SETTINGS.items():
        if name not in config:
            config[name] = value
    exclude = common_dir(repo) / "info" / "exclude"
    excluded = exclude.read_text().splitlines() if exclude.exists() else []
    if EXCLUDED not in excluded:
        disk.put(exclude, "".join(f"{line}\n" for line in [*excluded, EXCLUDED]).encode())


def common_dir(repo: pygit2.Repository) -> Path:
    """Where objects and branches lie; a linked work tree shares those of its main repository."""
    gitdir = Path(repo.path)
    try:
        return gitdir / (gitdir / "commondir").read_text().strip()
    except FileNotFoundError:
        return gitdir


def commit_at(repo: pygit2.Repository, commit: str) -> pygit2.Commit:
    """The commit with this id."""
    import pygit2

    return repo[commit].peel(pygit2.Commit)


def tree_entries(tree: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Mode, name and id of all that is in a tree, as its bytes have them."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + ID_BYTES
        yield mode, name, tree[end + 1 : at]


def lost_tip(disk: Disk, repo: pygit2.Repository, ref: str) -> str | None:
    """The last commit of a branch that is missing although it had one; None when it never had."""
    common = common_dir(repo)
    lines = (disk.read(common / "logs" / ref) or b"").decode("utf-8", "replace").splitlines()
    # A first commit that was cut short has left its line and its scratch file.
    is_unborn = not lines or (lines[-1].startswith(NO_COMMIT) and disk.stamp(common / NEW_REF) is not None)
    return None if is_unborn else lines[-1][41:81]


def has_foreign_lock(target: Path, scratch: Path) -> bool:
    """Whether somebody other than a dead process of ours holds git's lock on `target`."""
    lock = _lock_of(target)
    return os.path.lexists(lock) and not _is_same(lock, scratch)


def stage(disk: Disk, target: Path, scratch: Path, data: bytes) -> None:
    """Put durable `data` into `scratch`, for `locked` to make it `target`; it is there until then, without a gap."""
    clear_lock(disk, target, scratch)
    for leftover in disk.leftovers(scratch):
        disk.discard(leftover)
    disk.put(scratch, data)


def clear_lock(disk: Disk, target: Path, scratch: Path) -> None:
    """Take away a lock that a process of ours left which died: no other program links it to our scratch file."""
    if _is_same(lock := _lock_of(target), scratch):
        disk.unlink(lock)


@contextmanager
def locked(disk: Disk, target: Path, scratch: Path) -> Iterator[None]:
    """Hold git's lock on `target`, then replace it by the durable file `scratch`; an exception leaves it as it was."""
    lock = _lock_of(target)
    try:
        _link(disk, scratch, lock)
    except FileExistsError as error:
        hint = f"wait for git to finish; if no git is running, delete {lock}"
        raise HistoryError(f"{lock} is held by another program", hint=hint) from error
    try:
        yield
        disk.rename(lock, target)
    except BaseException:
        disk.discard(lock)
        raise
    disk.sync_dir(target.parent)
    disk.discard(scratch)


def append_line(disk: Disk, path: Path, line: bytes) -> None:
    """Append to a log, on a line of its own even after a torn one."""
    is_torn = tail(disk, path, 1) not in (None, b"", b"\n")
    disk.append(path, b"\n" + line if is_torn else line, sync=False)


def _failures() -> tuple[type[Exception], ...]:
    import subprocess

    import pygit2

    return pygit2.GitError, KeyError, ValueError, OSError, subprocess.SubprocessError


def all_files(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]


def _lock_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.lock")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except FileNotFoundError:
        return False


def _link(disk: Disk, source: Path, target: Path) -> None:
    try:
        disk.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        handle = disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            disk.write_all(handle, source.read_bytes())
            disk.fsync(handle)
        finally:
            disk.close(handle)


def tail(disk: Disk, path: Path, size: int) -> bytes | None:
    """The last bytes of a file; None when there is none."""
    stamp = disk.stamp(path)
    return None if stamp is None else disk.read(path, max(stamp.size - size, 0))
