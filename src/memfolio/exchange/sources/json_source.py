"""Sources in JSON, which may be large: read item by item from a file, a folder or a zip archive, within limits."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from memfolio.errors import InputError
from memfolio.exchange.incoming import Flaw, Incoming
from memfolio.types import TOKEN_PATTERN
from memfolio.vault.format.content import without_surrogates

CHUNK = 1 << 18
GLANCE = 1 << 16
LONGEST = 64 << 20
"""Characters that one item may have: only so much is held at a time."""
MOST_BYTES = 4 << 30
"""Of a file, or of what an archive says that is in it."""
MOST_PACKED = 250
"""How many times larger than packed a file of an archive may be; text is ten to twenty times."""
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_ZIP = b"PK\x03\x04"
_SPACE = re.compile(r"\s*")
_decode = json.JSONDecoder().raw_decode


def items(path: Path, names: re.Pattern[str]) -> Iterator[Any]:
    """The items of the lists at `path`, or the values in its lines; InputError where a file is broken or cut short.

    In a folder or an archive only the files with these names are read.
    """
    try:
        for stream in _streams(path, names):
            with io.TextIOWrapper(stream, "utf-8-sig") as text:
                yield from _values(path, text)
    except (*_UNREADABLE, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="fetch the export again") from error


def glance(path: Path, names: re.Pattern[str]) -> str:
    """How the first of the files begins; nothing for what cannot be read."""
    try:
        for stream in _streams(path, names):
            return stream.read(GLANCE).decode("utf-8", "replace")
    except (*_UNREADABLE, InputError, OSError):
        pass
    return ""


def unread(path: Path, names: re.Pattern[str]) -> list[str]:
    """The files in JSON of a folder or an archive that have other names."""
    found = [each.relative_to(path).as_posix() for each in _files(path)] if path.is_dir() else []
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            found = archive.namelist()
    return [each for each in found if re.search(r"(?:^|/)[^/.][^/]*\.json$", each) and not _is_named(each, names)]


def _files(folder: Path) -> list[Path]:
    """The files of a folder, and those in JSON of the folders in it."""
    return sorted(each for each in (*folder.iterdir(), *folder.glob("*/*.json")) if each.is_file())


def _is_named(place: str, names: re.Pattern[str]) -> bool:
    """Whether a file has one of these names; an archive may have all its files in one folder."""
    return bool(names.fullmatch(place) or names.fullmatch(place.partition("/")[2]))


def _streams(path: Path, names: re.Pattern[str]) -> Iterator[BinaryIO]:
    for each in _files(path) if path.is_dir() else [path]:
        if each != path and not names.fullmatch(each.relative_to(path).as_posix()):
            continue
        if not each.resolve().is_relative_to(path.resolve()):
            raise InputError(f"{each} is a link and is not followed", hint="copy the file to its place")
        _check_size(path, each.stat().st_size)
        with io.BufferedReader(io.FileIO(each), CHUNK) as file:
            if file.peek(4)[:4] != _ZIP:
                yield file
                continue
            with zipfile.ZipFile(file) as archive:
                for info in _members(path, archive, names):
                    with archive.open(info) as member:
                        yield cast(BinaryIO, member)


def _members(path: Path, archive: zipfile.ZipFile, names: re.Pattern[str]) -> list[zipfile.ZipInfo]:
    """The files of an archive with these names; one that leads out of it, or unpacks to far more, is refused."""
    found = [each for each in archive.infolist() if _is_named(each.filename, names)]
    if not found:
        raise InputError(f"{path} has no file that is called {names.pattern}", hint="name the export itself")
    for each in found:
        if ".." in each.filename.split("/") or each.filename.startswith("/"):
            raise InputError(f"{path} has a file that leads out of it", hint="do not trust this archive")
        if each.file_size > max(MOST_PACKED * each.compress_size, CHUNK):
            raise InputError(f"{path} unpacks to {each.file_size:,} bytes", hint="do not trust this archive")
    _check_size(path, sum(each.file_size for each in found))
    return sorted(found, key=lambda each: each.filename)


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise InputError(f"{path} has {size:,} bytes", hint=f"at most {MOST_BYTES:,} are read; take it in parts")


def _values(path: Path, stream: io.TextIOWrapper) -> Iterator[Any]:
    """The items of lists and the values beside them; of the text no more is held than the longest of them needs."""
    text, at, is_open = "", 0, False
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        mark, value, flaw = text[at : at + 1], None, None
        if (mark == "[" and not is_open) or (is_open and mark in (",", "]")):
            is_open, at = mark != "]", at + 1
            continue
        try:
            value, end = _decode(text, at)
        except (ValueError, RecursionError) as error:
            flaw, end = error, len(text)
        held = len(text) - at
        # A value near the end may go on, as 1 in `1e+9`; as much again is read, so that a long one is not tried often.
        if len(text) - end < 3 and held <= LONGEST and (more := stream.read(max(CHUNK, held))):
            text, at = text[at:] + more, 0
        elif not mark and not is_open:
            return
        elif flaw:
            raise InputError(f"{path} is cut short, or is not valid JSON", hint="fetch the export again") from flaw
        else:
            yield value
            at = end


class JsonSource(ABC):
    """A form that is kept as JSON, known by a `mark` near its beginning."""

    name: str
    files: str
    """The pattern of the places that its files have in a folder or an archive."""
    mark: str
    passed: str = ""
    """The same for files in which there is nothing to remember; of an export that has such, all others are told."""
    inside: tuple[str, ...] = ()
    """Lists that an object may have in place of the objects themselves."""

    @abstractmethod
    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterable[Incoming]:
        """What an object brings; `otherwise` names one that has no id."""

    def fits(self, path: Path) -> bool:
        """Whether the file, or one in the folder or archive, begins as this form does."""
        return re.search(self.mark, glance(path, re.compile(self.files))) is not None

    def count(self, path: Path) -> int:
        """How many things there are; everything is read, so that a cut file is noticed before anything comes in."""
        return sum(1 for _ in self.read(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """What each object brings, in their order."""
        number = 0
        for item in items(path, re.compile(self.files)):
            lists = [found for name in self.inside if (found := listed(item, name))]
            for each in (part for found in lists for part in found) if lists else [item]:
                number += 1
                found = list(self.incoming(each, f"item {number}")) if isinstance(each, Mapping) else []
                yield from found or [Flaw(ref=f"item {number}", why="there is nothing in it that can be read")]
        for name in unread(path, re.compile(f"{self.files}|{self.passed}")) if self.passed else ():
            yield Flaw(ref=name, why="is a part of the export that is not taken over")


def listed(of: object, name: str) -> list[Any]:
    """A list of somebody's JSON; an empty one for any other value."""
    value = of.get(name) if isinstance(of, Mapping) else None
    return value if isinstance(value, list) else []


def object_in(of: object, name: str) -> Mapping[str, Any]:
    """An object of somebody's JSON; an empty one for any other value."""
    value = of.get(name) if isinstance(of, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def text_in(value: object) -> str:
    """A text of somebody's JSON as it can be kept; nothing for any other value."""
    return without_surrogates(value).replace("\0", "").strip() if isinstance(value, str) else ""


def token_in(value: object) -> str | None:
    """An identifier; None for what is none."""
    return value if isinstance(value, str) and TOKEN_PATTERN.fullmatch(value) else None


def moment_in(value: object) -> datetime | None:
    """A time as ISO text or as seconds or milliseconds since 1970; None for what is none. Without a zone it is UTC."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
