"""Packing and checking a repository, with the git program where there is one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.vault.disk import Disk
from memfolio.vault.git.gitdir import common_dir

if TYPE_CHECKING:
    import subprocess

    import pygit2

MANY_PACKS = 50
KEPT = b"memfolio\n"
"""What a `.keep` of ours says: git leaves a pack alone that has such a file beside it."""
_WORKSHOP = "memfolio-pack"
_GIT_SECONDS = 900
_FOLDER = re.compile(r"[0-9a-f]{2}")
_OBJECT = re.compile(r"[0-9a-f]{38}")


def pack(disk: Disk, home: Path, repo: pygit2.Repository) -> None:
    """Bring loose objects into a pack with the git program, or without it when it is missing or unwilling.

    Packs are made along the history and not from a list of objects: only then does git see which files are versions of
    one another (measured: 30 times smaller). Small packs become larger ones; what nobody refers to is kept.
    """
    folder = common_dir(repo) / "objects" / "pack"
    for name in disk.names(folder):  # of a process that died while it committed
        if name.endswith(".keep") and disk.read(folder / name) == KEPT:
            disk.unlink(folder / name)
    for how in (["--geometric=2"], ["-a", "-k"]):  # the first needs git 2.32
        done = run_git(home, repo, "repack", "-d", "-q", *how)
        if done is None or done.returncode == 0:
            break
    if done is None or done.returncode != 0:
        _pack_all(disk, repo)
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
    import shutil
    import subprocess

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


def _pack_all(disk: Disk, repo: pygit2.Repository) -> None:
    """Bring all objects into one pack, in place of the files and packs in which they lay."""
    import pygit2

    folder = common_dir(repo) / "objects" / "pack"
    before, objects = disk.names(folder), list(repo.odb)
    if not objects:
        return
    builder = pygit2.PackBuilder(repo)
    for oid in objects:
        builder.add(oid)
    new = put_pack(disk, repo, builder)
    kept = {new, *(name.partition(".")[0] for name in before if name.endswith(".keep"))}
    # What names the pack first, so that a reader finds all of it or nothing.
    for name in sorted(before, key=lambda name: name.endswith(".pack")):
        if name.startswith("pack-") and name.partition(".")[0] not in kept:
            _delete(disk, folder / name)
    drop_loose(disk, repo, objects)


def put_pack(disk: Disk, repo: pygit2.Repository, builder: pygit2.PackBuilder, *, keep: bool = False) -> str:
    """Write a pack where nobody looks for one, make it durable, then give it its name among the others.

    With `keep`, git leaves it alone until its `.keep` is deleted.
    """
    common = common_dir(repo)
    workshop, folder = common / _WORKSHOP, common / "objects" / "pack"
    for name in disk.names(workshop):  # of an attempt that was cut short
        disk.unlink(workshop / name)
    disk.make_dirs(workshop)
    disk.make_dirs(folder)
    builder.write(str(workshop))
    names = sorted(disk.names(workshop), key=lambda name: name.endswith(".idx"))  # a pack counts once it has one
    new = names[0].partition(".")[0]
    if keep:
        disk.put(folder / f"{new}.keep", KEPT)
    for name in names:
        (workshop / name).chmod(0o644)  # what is read-only can neither be synced nor, on Windows, deleted
        disk.sync_file(workshop / name)
        disk.rename(workshop / name, folder / name)
    disk.sync_dir(folder)
    return new


@contextmanager
def kept(disk: Disk, repo: pygit2.Repository, objects: Iterable[pygit2.Oid]) -> Iterator[None]:
    """Have objects in a pack that no `git gc --prune=now` drops, until the caller has made them reachable.

    Git deletes an object in a file of its own if nothing referred to it when it began to look, even though something
    does by now; it does not delete from packs that it did not see, or that have a `.keep`.
    """
    import pygit2

    assert repo.config_snapshot  # what is wrong with it is said here: half a builder cannot be thrown away
    builder = pygit2.PackBuilder(repo)
    for oid in dict.fromkeys(objects):
        builder.add(oid)
    name = put_pack(disk, repo, builder, keep=True)
    try:
        yield
    finally:
        disk.discard(common_dir(repo) / "objects" / "pack" / f"{name}.keep")


def drop_loose(disk: Disk, repo: pygit2.Repository, objects: Iterable[pygit2.Oid]) -> None:
    """Delete the files of objects that are in a pack."""
    folder = common_dir(repo) / "objects"
    for name in map(str, objects):
        path = folder / name[:2] / name[2:]
        if path.exists():
            _delete(disk, path)


def _delete(disk: Disk, path: Path) -> None:
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
