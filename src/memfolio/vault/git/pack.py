"""Packing and checking a repository, with the git program where there is one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.vault.disk import Disk
from memfolio.vault.git.gitdir import common_dir

if TYPE_CHECKING:
    import subprocess

    import pygit2

MANY_PACKS = 8
_GIT_SECONDS = 900
_FOLDER = re.compile(r"[0-9a-f]{2}")
_OBJECT = re.compile(r"[0-9a-f]{38}")


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
