"""Git's index, brought up to a commit without touching what a person has staged."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.vault.disk import Disk
from memfolio.vault.git.gitdir import OWN_REFS, commit_at, tail

if TYPE_CHECKING:
    import pygit2

IndexName = tuple[bytes, int, bytes]
"""Path, mode and blob of an entry of the index."""
MARKER = "memfolio-index"
STAGED = "staged changes"
"""Why commits wait while the index has a person's work."""
_ENTRY = struct.Struct(">10I20sH")
_SETTLED_NS = 100_000_000
_HASH = 20


def checksum(disk: Disk, index: Path) -> str | None:
    """What tells two states of an index file apart, from its last bytes; None when there is no file."""
    last, stamp = tail(disk, index, _HASH), disk.stamp(index)
    if last is None or stamp is None:
        return None
    # git writes zeros under index.skipHash.
    return last.hex() if any(last) else f"{stamp.size}-{stamp.inode}-{stamp.mtime_ns}"


def marks(disk: Disk, marker: Path) -> list[tuple[str, str]]:
    """The commits the index was brought up to, each with the checksum it then had."""
    lines = (disk.read(marker) or b"").decode("ascii", "replace").splitlines()
    return [(commit, state) for commit, _, state in (line.partition(" ") for line in lines) if len(commit) == 2 * _HASH]


def put_marks(disk: Disk, marker: Path, entries: list[tuple[str, str]]) -> None:
    disk.put(marker, "".join(f"{commit} {state}\n" for commit, state in entries).encode("ascii"))


def is_current(disk: Disk, gitdir: Path, branch: str) -> bool:
    """Whether the index was brought up to the branch, by what git's files say; False where only libgit2 can tell."""
    tip = _target(disk, gitdir, f"refs/heads/{branch}")
    return (tip, checksum(disk, gitdir / "index")) in marks(disk, gitdir / MARKER)


def is_led_by_us(disk: Disk, gitdir: Path, branch: str) -> bool:
    """Whether the branch is at our newest commit, by what git's files say, or has none of ours yet."""
    own = _target(disk, gitdir, f"{OWN_REFS}{branch}")
    return not own or own == _target(disk, gitdir, f"refs/heads/{branch}")


def _target(disk: Disk, gitdir: Path, ref: str) -> str:
    """The commit that a reference names; empty when there is none."""
    if found := disk.read(gitdir / ref):
        return found.decode("ascii", "replace").strip()
    lines = (disk.read(gitdir / "packed-refs") or b"").decode("utf-8", "replace").splitlines()
    return next((line[: 2 * _HASH] for line in lines if line.endswith(f" {ref}")), "")


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
