"""Looking over a whole home: which files are there, which cannot be read, which vanished."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from memfolio.errors import HomeMissingError
from memfolio.vault.disk import Stamp
from memfolio.vault.git.repository import can_hold
from memfolio.vault.journal import FileState
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, MAX_TRACKED_BYTES, SHARED, is_junk, ledger_of

TOP = ("agents", SHARED, AUDIT)
FEW = 3
LINKED = "is a link and is not followed: put the file or folder itself here"
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp")
_NAME = attrgetter("name")


@dataclass(slots=True)
class Survey:
    """The tracked files of a home, and the problems of others."""

    files: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    altered: dict[str, Stamp | None] = field(default_factory=dict)
    """Those of the files that are not as they were last left, with their stamps; None where it was not looked at."""
    leftovers: list[tuple[str, str]] = field(default_factory=list)
    """Temporary files that killed processes of ours left, each with the file beside which it was made."""


def look_over(root: Path, known: Mapping[str, FileState] | None = None) -> Survey:
    """Every file that has a history; links are not followed, and one unreadable folder does not hide the rest.

    Of the files that `known` tells about, those that still have the stamp they had there are not altered.
    """
    survey = Survey()
    for name in (CONFIG, GITIGNORE):
        if os.path.isfile(os.path.join(root, name)):
            survey.files.append(name)
            survey.altered[name] = None
    for top in TOP:
        if os.path.islink(os.path.join(root, top)):
            survey.problems[top] = LINKED
        else:
            _look_into(root, top, known or {}, survey, is_plain=True)
    _find_collisions(survey)
    return survey


def _look_into(root: Path, folder: str, known: Mapping[str, FileState], survey: Survey, *, is_plain: bool) -> None:
    for entry in _entries(root, folder, survey):
        name = entry.name
        path = f"{folder}/{name}"
        state = known.get(path)
        # Most files of a large home are as they were: they are told by one look, before anything else is asked.
        if state is not None and is_plain and _is_plain(name) and _is_as_left(entry, state):
            survey.files.append(path)
        elif is_junk(name):
            _note_leftover(folder, entry, survey)
        elif _is_folder(entry):
            _look_into(root, path, known, survey, is_plain=is_plain and _is_plain(name))
        else:
            _look_at(path, entry, state, survey)


def _entries(root: Path, folder: str, survey: Survey) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            return sorted(entries, key=_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        survey.problems[folder] = f"cannot be opened: {error.strerror}"
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # it cannot be looked at, which is noted where that is tried again


def _is_plain(name: str) -> bool:
    """Whether git certainly holds a known file with this name in its path; the others are looked at more closely."""
    return name.isascii() and name[:3].lower() != "git"


def _is_as_left(entry: os.DirEntry[str], state: FileState) -> bool:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    stamp = info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino
    return stamp == state.stamp and info.st_size <= MAX_TRACKED_BYTES


def _note_leftover(folder: str, entry: os.DirEntry[str], survey: Survey) -> None:
    match = _LEFTOVER.fullmatch(entry.name)
    if match and entry.is_file(follow_symlinks=False):
        survey.leftovers.append((f"{folder}/{entry.name}", f"{folder}/{match['name']}"))


def _look_at(path: str, entry: os.DirEntry[str], state: FileState | None, survey: Survey) -> None:
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        survey.problems[path] = f"cannot be looked at: {error.strerror}"
        return
    if _is_tracked(path, info, survey):
        survey.files.append(path)
        stamp = Stamp.of(info)
        if state is None or state.stamp != stamp:
            survey.altered[path] = stamp


def _is_tracked(path: str, info: os.stat_result, survey: Survey) -> bool:
    """Whether the file has a history; what speaks against it is noted."""
    if path.startswith(f"{AUDIT}/") and path.endswith(".jsonl"):
        if ledger_of(path) is None:
            survey.problems[path] = "is not a part of the trail: compare it with its neighbours, then move it away"
        return False
    if not _is_utf8(path):
        survey.problems[path.encode("utf-8", "replace").decode()] = "has a name that is not UTF-8: rename it"
    elif stat.S_ISLNK(info.st_mode):
        survey.problems[path] = LINKED
    elif not stat.S_ISREG(info.st_mode):
        survey.problems[path] = "is not a regular file: move it away"
    elif not can_hold(path):
        survey.problems[path] = "has a name that git cannot hold: rename it"
    elif info.st_size > MAX_TRACKED_BYTES:
        survey.problems[path] = f"is larger than {MAX_TRACKED_BYTES >> 20} MiB and has no history"
    else:
        return True
    return False


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _find_collisions(survey: Survey) -> None:
    """Names that are one file on another system."""
    # Folded all at once, and compared one by one only where two are the same; no name contains a NUL.
    folded = unicodedata.normalize("NFC", "\0".join(survey.files)).casefold().split("\0")
    if len(set(folded)) == len(folded):
        return
    seen: dict[str, str] = {}
    for path, name in zip(survey.files, folded, strict=True):
        if name in seen:
            survey.problems[path] = f"has the same name as {seen[name]} on other systems: rename one"
        seen[name] = path


def check_not_emptied(root: Path, known: set[str], found: set[str]) -> None:
    """Stop when most of a home is suddenly gone: rather a sync program or a missing disk than a person's wish."""
    if len(known - found) < FEW:
        return
    memory = {path for path in known if path.startswith(("agents/", f"{SHARED}/"))}
    missing = memory - found
    if len(missing) >= FEW and len(missing) * 2 > len(memory):
        raise HomeMissingError(
            f"{len(missing)} of {len(memory)} files of {root} are gone",
            hint="bring them back with your sync program or `git checkout .`; "
            "if they are meant to be gone: `memfolio adopt --accept-missing`",
        )
