"""What a file becomes once memories are purged from it: the same for a file of today and for any of its past. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from memfolio.errors import DiskError
from memfolio.vault.excerpt import cut_from_archive, excerpts
from memfolio.vault.format.lines import split_lines
from memfolio.vault.format.log import split_log
from memfolio.vault.format.packed import pack, plain_name, text_of
from memfolio.vault.past.rollback import is_state, record_of
from memfolio.vault.paths import AUDIT, CONFIG, Form, agent_of, form_of, ledger_of
from memfolio.vault.purge.needles import Needles
from memfolio.vault.recent import to_bytes, to_text

EDGE = "edge"
"""The operation of state lines that say something of their own about two memories; others have only ids and times."""

MARGIN = 64
"""Bytes behind an entry that must be the same too before it counts as ending where it did."""


def legible(path: str, data: bytes) -> tuple[str, bytes]:
    """A file's name and text, unpacked if it is a compressed one that can be."""
    try:
        return plain_name(path), text_of(path, data)
    except DiskError:
        return path, data


@dataclass(slots=True)
class Scrub:
    """Takes memories out of files: entries by their ids, lines that cite them, and their texts wherever they stand."""

    ids: frozenset[str]
    needles: Needles
    _marks: tuple[bytes, ...] = ()
    _seen: dict[str, tuple[bytes, list[tuple[int, int]], int]] = field(default_factory=dict)
    """For each log a content, the spans in it, and up to where another one must be the same to have the same spans."""

    def __post_init__(self) -> None:
        self._marks = tuple(each.encode() for each in self.ids)

    def __call__(self, path: str, data: bytes) -> bytes:
        """The file without the memories; the trail has no content and stays, and so does the configuration."""
        named, text = legible(path, data)
        after = self._plain(named, text)
        return data if after == text else pack(path, after)

    def _plain(self, path: str, data: bytes) -> bytes:
        if path.startswith(f"{AUDIT}/") or path == CONFIG or not self.touches(data):
            return data
        form = form_of(path)
        if form is Form.LINES:
            return b"".join(line for line in split_lines(data) if self._stays(path, line))
        data = self.without_entries(path, data) if form is Form.LOG else self._without_lines(path, data)
        return self.needles.cut(data) if self.needles.are_in(data) else data

    def touches(self, data: bytes) -> bool:
        """Whether the data has, or cites, any of the memories."""
        return self._cites(data) or self.needles.are_in(data)

    def _cites(self, data: bytes) -> bool:
        return any(mark in data for mark in self._marks)

    def without_entries(self, path: str, data: bytes) -> bytes:
        """A log without the memories' own entries."""
        if ledger_of(path) is None:
            text = to_text(data)
            return to_bytes(cut_from_archive(path, text, excerpts(path, text, self.ids)))
        for start, end in reversed(self.spans(path, data)):
            data = data[:start] + data[end:]
        return data

    def spans(self, path: str, data: bytes) -> list[tuple[int, int]]:
        """Where the memories' own entries lie in a log."""
        if known := self._known_spans(path, data):
            return known
        text = to_text(data)
        taken = excerpts(path, text, self.ids)
        found = [(len(to_bytes(text[: each.start])), len(to_bytes(text[: each.end]))) for each in taken]
        end = max((end for _, end in found), default=0) + MARGIN
        if found and len(data) >= end and all(each.startswith("M-") for each in self.ids):
            self._seen[path] = data, found, end
        return found

    def _known_spans(self, path: str, data: bytes) -> list[tuple[int, int]]:
        """The spans in a log that only grew since it was last looked at; reading it anew takes far longer."""
        before, spans, end = self._seen.get(path, (b"", [], 0))
        is_same = bool(spans) and len(data) >= end and data[:end] == before[:end]
        return spans if is_same and not any(mark in data[end:] for mark in self._marks) else []

    def _without_lines(self, path: str, data: bytes) -> bytes:
        """A page without lines that cite the memories; a copy of a log has whole entries, which go as such."""
        if any(b"^" + mark in data for mark in self._marks):
            blocks = split_log(to_text(data), agent_of(path) or "")
            data = to_bytes("".join(block.text for block in blocks if block.id not in self.ids))
        return b"".join(line for line in data.splitlines(keepends=True) if not self._cites(line))

    def _stays(self, path: str, line: bytes) -> bool:
        """Whether a line of JSON stays: one that has the text, or is about the memory, goes as a whole."""
        if not self.touches(line):
            return True
        return is_state(path) and not self.needles.are_in(line) and record_of(line).get("op") != EDGE
