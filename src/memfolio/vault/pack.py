"""The files of a git directory: made in one step, replaced under git's own locks, packed and checked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, InputError, MemfolioError
from memfolio.vault.disk import Disk

if TYPE_CHECKING:
    import pygit2

IndexName = tuple[bytes, int, bytes]
"""Path, mode and blob of an entry of the index."""

SETTINGS = {"core.autocrlf": "false", "core.fsync": "all"}
"""For people's own git: bytes stay as they are, commits survive power loss. libgit2 reads neither."""

MARKER = "memfolio-index"
MANY_PACKS = 8
NEW_REF = "memfolio-ref.new"
NO_COMMIT = "0" * 40
_BROKEN = "run `git fsck` in the home; the files themselves are not affected"
_ENTRY = struct.Struct(">10I20sH")
_SETTLED_NS = 100_000_000
_GIT_SECONDS = 900
_HASH = 20
_FOLDER = re.compile(r"[0-9a-f]{2}")
_OBJECT = re.compile(r"[0-9a-f]{38}")
_opening = threading.Lock()


@contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Turn what libgit2, git and the system say into one `HistoryError`, with the cause kept."""
    try:
        yield
    except MemfolioError:
        raise
    except _failures() as error:
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
    settings.enable_fsync_gitdir(True)
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
    for file in _all_files(workshop):  # of an attempt that was cut short
        disk.unlink(file)
    repo = pygit2.init_repository(str(workshop), bare=True, initial_head=branch)
    repo.config["core.bare"] = False
    repo.config["core.logAllRefUpdates"] = True
    configure(repo)
    for file in _all_files(workshop):
        disk.sync_file(file)
    for folder, _, _ in os.walk(workshop):
        disk.sync_dir(Path(folder))
    disk.rename(workshop, home / ".git")
    disk.sync_dir(home)


def configure(repo: pygit2.Repository) -> None:
    """Add the settings that are missing; what a person has set for this repository stays."""
    import pygit2

    config = pygit2.Config(str(common_dir(repo) / "config"))
    for name, value in SETTINGS.items():
        if name not in config:
            config[name] = value


def common_dir(repo: pygit2.Repository) -> Path:
    """Where objects and branches lie; a linked work tree shares those of its main repository."""
    gitdir = Path(repo.path)
    try:
        return gitdir / (gitdir / "commondir").read_text().strip()
    except FileNotFoundError:
        return gitdir


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
    lock = _lock_of(target)
    # A lock that is the same file as our scratch was linked by a process of ours that died: no other program does that.
    if _is_same(lock, scratch):
        disk.unlink(lock)
    for leftover in disk.leftovers(scratch):
        disk.discard(leftover)
    disk.put(scratch, data)


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
    is_torn = _tail(disk, path, 1) not in (None, b"", b"\n")
    disk.append(path, b"\n" + line if is_torn else line, sync=False)


def checksum(disk: Disk, index: Path) -> str | None:
    """What tells two states of an index file apart, from its last bytes; None when there is no file."""
    tail, stamp = _tail(disk, index, _HASH), disk.stamp(index)
    if tail is None or stamp is None:
        return None
    # git writes zeros under index.skipHash.
    return tail.hex() if any(tail) else f"{stamp.size}-{stamp.inode}-{stamp.mtime_ns}"


def marks(disk: Disk, marker: Path) -> list[tuple[str, str]]:
    """The commits the index was brought up to, each with the checksum it then had."""
    lines = (disk.read(marker) or b"").decode("ascii", "replace").splitlines()
    return [(commit, state) for commit, _, state in (line.partition(" ") for line in lines) if len(commit) == 2 * _HASH]


def put_marks(disk: Disk, marker: Path, entries: list[tuple[str, str]]) -> None:
    disk.put(marker, "".join(f"{commit} {state}\n" for commit, state in entries).encode("ascii"))


def index_files(repo: pygit2.Repository) -> tuple[Path, Path]:
    """The index, and where its successor is prepared."""
    return Path(repo.path, "index"), Path(repo.path, f"{MARKER}.new")


def index_origin(repo: pygit2.Repository, commits: Iterable[str]) -> str | None:
    """The first of the commits whose files the index lists, neither more nor less; None when it is none of them."""
    entries = repo.index
    entries.read()
    if entries.conflicts is not None:
        return None
    return next((one for one in commits if not len(commit_at(repo, one).tree.diff_to_index(entries))), None)


def is_empty_index(disk: Disk, index: Path) -> bool:
    """Whether the index lists nothing, as that of a repository nobody has used."""
    return (disk.read(index) or b"")[8:12] == bytes(4)


def commit_at(repo: pygit2.Repository, commit: str) -> pygit2.Commit:
    """The commit with this id."""
    import pygit2

    return repo[commit].peel(pygit2.Commit)


def build_index(disk: Disk, repo: pygit2.Repository, index: Path, tree: pygit2.Tree) -> bytes | None:
    """The bytes of an index of `tree`, with the times of files that are as the tree has them.

    None where the present index holds more than names (a sparse checkout's does) and must be left alone.
    """
    known = _known_entries(disk, index)
    if known is None:
        return None
    home, names = Path(repo.workdir), sorted(_index_names(tree, b""))
    entries = [known.get(name) or _index_entry(home, *name) for name in names]
    content = b"DIRC" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


def _index_names(tree: pygit2.Tree, prefix: bytes) -> Iterator[IndexName]:
    import pygit2

    for entry in tree:
        path = prefix + (entry.raw_name or b"")
        if isinstance(entry, pygit2.Tree):
            yield from _index_names(entry, path + b"/")
        else:
            yield path, int(entry.filemode), entry.id.raw


def _known_entries(disk: Disk, index: Path) -> dict[IndexName, bytes] | None:
    """Entries whose times can be taken over; None when the index must be left alone."""
    stamp, content = disk.stamp(index), disk.read(index)
    if stamp is None or content is None:
        return {}
    version, count = struct.unpack_from(">II", content, 4)
    if version != 2:  # 3 has flags that only their owner understands; 4 is the same as 2, written shorter
        return None if version == 3 else {}
    found: dict[IndexName, bytes] = {}
    start = 12
    for _ in range(count):
        end = content.index(b"\0", start + _ENTRY.size)
        following = start + (end - start + 8) // 8 * 8
        seconds, fraction, mode = struct.unpack_from(">II8xI", content, start + 8)
        # A file changed while its index was being written can have changed again at the same time.
        if 0 < seconds * 10**9 + fraction < stamp.mtime_ns:
            name = (content[start + _ENTRY.size : end], mode, content[start + 40 : start + 60])
            found[name] = content[start:following]
        start = following
    return found


def _index_entry(home: Path, path: bytes, mode: int, oid: bytes) -> bytes:
    times = _times(home / os.fsdecode(path), oid) if stat.S_ISREG(mode) else None
    before, after = (times[:6], times[6:]) if times else ((0,) * 6, (0,) * 3)
    entry = _ENTRY.pack(*before, mode, *after, oid, min(len(path), 0xFFF)) + path
    return entry + b"\0" * (8 - len(entry) % 8)


def _times(path: Path, oid: bytes) -> tuple[int, ...] | None:
    """What git compares before it reads a file, if the file has this content."""
    try:
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode) or time.time_ns() - info.st_mtime_ns < _SETTLED_NS:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest() != oid:
        return None
    times = (*divmod(info.st_ctime_ns, 10**9), *divmod(info.st_mtime_ns, 10**9))
    return tuple(n & 0xFFFFFFFF for n in (*times, info.st_dev, info.st_ino, info.st_uid, info.st_gid, info.st_size))


def pack(disk: Disk, home: Path, repo: pygit2.Repository) -> None:
    """Bring loose objects into a pack with the git program, or without it when it is missing or unwilling.

    Packs are made along the history and not from a list of objects: only then does git see which files are versions of
    one another (measured: 30 times smaller). Many packs become one; what nobody refers to is kept.
    """
    many = len(list((common_dir(repo) / "objects" / "pack").glob("*.pack"))) >= MANY_PACKS
    done = run_git(home, repo, "repack", "-d", "-q", *(["-a", "-k"] if many else []))
    if done is None or done.returncode != 0:
        _pack_loose(disk, repo)
        return
    run_git(home, repo, "commit-graph", "write", "--reachable", "--changed-paths", "--no-progress")


def check(home: Path, repo: pygit2.Repository, tip: str | None) -> list[str]:
    """What git, or a walk through everything the tip needs, finds wrong."""
    done = run_git(home, repo, "fsck", "--no-dangling", "--no-progress")
    if done is None:
        return [] if tip is None else list(_unreadable(repo, tip))
    if done.returncode == 0:
        return []
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("notice:")]
    return lines or [f"git fsck ended with {done.returncode}"]


def run_git(home: Path, repo: pygit2.Repository, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run the git program on this very repository; None when there is none or it distrusts the folder's owner."""
    program = shutil.which("git")
    if program is None:
        return None
    options = ["-c", "core.fsync=all", "-c", "core.fsmonitor=false", f"--git-dir={repo.path}", f"--work-tree={home}"]
    done = subprocess.run(
        [program, *options, *arguments],
        cwd=home,
        env={"LC_ALL": "C"},  # neither GIT_DIR and the like nor a person's own settings play a part
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_GIT_SECONDS,
    )
    return None if done.returncode == 128 and "safe.directory" in done.stderr else done


def loose_objects(repo: pygit2.Repository) -> list[str]:
    """The ids of all objects in files of their own."""
    objects = common_dir(repo) / "objects"
    folders = [name for name in os.listdir(objects) if _FOLDER.fullmatch(name)]
    return [folder + name for folder in folders for name in os.listdir(objects / folder) if _OBJECT.fullmatch(name)]


def _pack_loose(disk: Disk, repo: pygit2.Repository) -> None:
    import pygit2

    loose = [pygit2.Oid(hex=name) for name in loose_objects(repo)]
    if not loose:
        return
    builder = pygit2.PackBuilder(repo)
    for oid in loose:
        builder.add(oid)
    builder.write()
    objects = common_dir(repo) / "objects"
    packed = pygit2.Odb()
    packed.add_backend(pygit2.OdbBackendPack(str(objects)), 1)
    for oid in loose:
        if oid in packed:
            path = objects / str(oid)[:2] / str(oid)[2:]
            path.chmod(0o644)  # Windows deletes no read-only file
            disk.unlink(path)


def _unreadable(repo: pygit2.Repository, tip: str) -> Iterator[str]:
    import pygit2

    seen: set[pygit2.Oid] = set()
    waiting = [pygit2.Oid(hex=tip)]
    while waiting:
        oid = waiting.pop()
        if oid in seen:
            continue
        seen.add(oid)
        try:
            waiting.extend(_needed_by(repo[oid]))
        except (KeyError, ValueError, pygit2.GitError) as error:
            yield f"object {oid} cannot be read: {error}"


def _needed_by(thing: pygit2.Object) -> list[pygit2.Oid]:
    import pygit2

    if thing.type == pygit2.enums.ObjectType.COMMIT:
        commit = thing.peel(pygit2.Commit)
        return [commit.tree_id, *commit.parent_ids]
    if isinstance(thing, pygit2.Tree):
        return [entry.id for entry in thing if entry.type_str != "commit"]
    thing.read_raw()
    return []


def _failures() -> tuple[type[Exception], ...]:
    import pygit2

    return pygit2.GitError, KeyError, ValueError, OSError, subprocess.SubprocessError


def _all_files(folder: Path) -> list[Path]:
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


def _tail(disk: Disk, path: Path, size: int) -> bytes | None:
    stamp = disk.stamp(path)
    return None if stamp is None else disk.read(path, max(stamp.size - size, 0))
