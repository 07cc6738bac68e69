"""Looking over a whole home: which files are there, which cannot be read, which vanished."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memfolio.errors import HomeMissingError
from memfolio.vault.git.names import can_hold
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, MAX_TRACKED_BYTES, SHARED, is_junk, ledger_of

TOP = ("agents", SHARED, AUDIT)
FEW = 3
LINKED = "is a link and is not followed: put the file or folder itself here"
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp")


@dataclass(slots=True)
class Survey:
    """The tracked files of a home, and what stands in the way of others."""

    files: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


def look_over(root: Path) -> Survey:
    """Every file that has a history; links are not followed, and one unreadable folder does not hide the rest."""
    survey = Survey()
    for name in (CONFIG, GITIGNORE):
        if (root / name).is_file():
            survey.files.append(name)
    for top in TOP:
        if (root / top).is_symlink():
            survey.problems[top] = LINKED
            continue
        for path, info in _walk(root, top, survey):
            _sort_in(path, info, survey)
    _find_collisions(survey)
    return survey


def _walk(root: Path, relative: str, survey: Survey) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(root / relative) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        survey.problems[relative] = f"cannot be opened: {error.strerror}"
        return
    for entry in found:
        path = f"{relative}/{entry.name}"
        if is_junk(entry.name):
            continue
        try:
            is_folder, info = entry.is_dir(follow_symlinks=False), entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            survey.problems[path] = f"cannot be looked at: {error.strerror}"
            continue
        if is_folder:
            yield from _walk(root, path, survey)
        else:
            yield path, info


def _sort_in(path: str, info: os.stat_result, survey: Survey) -> None:
    if path.startswith(f"{AUDIT}/") and path.endswith(".jsonl"):
        if ledger_of(path) is None:
            survey.problems[path] = "is not a part of the trail: compare it with its neighbours, then move it away"
        return
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
        survey.files.append(path)


def leftovers(root: Path) -> Iterator[tuple[str, str]]:
    """Temporary files that killed processes of ours left, each with the file beside which it was made."""
    for top in TOP:
        for folder, _, names in () if (root / top).is_symlink() else os.walk(root / top):
            for match in filter(None, map(_LEFTOVER.fullmatch, names)):
                relative = Path(folder).relative_to(root).as_posix()
                yield f"{relative}/{match[0]}", f"{relative}/{match['name']}"


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _find_collisions(survey: Survey) -> None:
    """Names that are one file on another system."""
    seen: dict[str, str] = {}
    for path in survey.files:
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in seen:
            survey.problems[path] = f"has the same name as {seen[folded]} on other systems: rename one"
        seen[folded] = path


def check_not_emptied(root: Path, known: set[str], found: set[str]) -> None:
    """Stop when most of a home is suddenly gone: rather a sync program or a missing disk than a person's wish."""
    memory = {path for path in known if path.startswith(("agents/", f"{SHARED}/"))}
    missing = memory - found
    if len(missing) >= FEW and len(missing) * 2 > len(memory):
        raise HomeMissingError(
            f"{len(missing)} of {len(memory)} files of {root} are gone",
            hint="bring them back with your sync program or `git checkout .`; "
            "if they are meant to be gone: `memfolio adopt --accept-missing`",
        )
