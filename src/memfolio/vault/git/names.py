"""Which names git can hold: not those that some system would take for git's own folder or for another path."""

from __future__ import annotations

import re

from memfolio.errors import PathError

Parts = tuple[str, ...]

_IGNORED_ON_MACS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT_FOLDER = re.compile(r"(?i)(\.git|git~\d+)[ .]*(:.*)?")


def can_hold(path: str) -> bool:
    """Whether a file of this name can be in the history."""
    try:
        parts_of(path)
    except PathError:
        return False
    return True


def parts_of(path: str) -> Parts:
    """The path's folders and name; raises PathError when git cannot hold it."""
    parts = tuple(path.split("/"))
    for part in parts:
        plain = _IGNORED_ON_MACS.sub("", part)
        if plain in ("", ".", "..") or _GIT_FOLDER.fullmatch(plain) or "\\" in part or "\0" in part:
            raise PathError(
                f"{path[:120]!r} cannot be in the history", hint="use a relative path with / and plain names"
            )
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise PathError(f"{path[:120]!r} is not a name in UTF-8", hint="rename the file") from error
    return parts
