"""Ledgers in JSON lines: one record a line, read past whatever is broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memfolio.errors import InputError
from memfolio.vault.format.fields import plain, read_object

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A record and the bytes it takes up, line end included."""

    record: dict[str, Any]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesReading:
    """The records of a ledger, what could not be read, and how many bytes at the end have no line end.

    `tail` is the record in those last bytes when they are a whole one: only its line end is missing.
    """

    records: list[Line] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    torn: int = 0
    tail: Line | None = None


def render_line(record: Mapping[str, Any]) -> bytes:
    """`record` as one line; raises InputError for what JSON or UTF-8 cannot hold."""
    text = json.dumps(plain(record, "record"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InputError(
            "the record has half of a surrogate pair, which cannot be stored as UTF-8",
            hint="decode the text properly, or replace such characters",
        ) from error


def split_lines(data: bytes) -> list[bytes]:
    """`data` cut after each line feed; together the parts are exactly `data`."""
    *whole, last = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, last] if last else lines


def read_lines(data: bytes) -> LinesReading:
    """The records in `data`. A bad line is reported by its number and skipped; nothing raises."""
    records: list[Line] = []
    problems: list[str] = []
    end = 0
    for number, raw in enumerate(split_lines(data), start=1):
        start, end = end, end + len(raw)
        line = _read(raw, start, end, f"line {number}", problems if raw.endswith(b"\n") else [])
        if not raw.endswith(b"\n"):
            return LinesReading(records=records, problems=problems, torn=len(raw), tail=line)
        if line is not None:
            records.append(line)
    return LinesReading(records=records, problems=problems)


def _read(raw: bytes, start: int, end: int, where: str, problems: list[str]) -> Line | None:
    text = (raw.removeprefix(_BOM) if start == 0 else raw).strip()
    if not text:
        return None
    try:
        return Line(record=read_object(text.decode()), start=start, end=end)
    except ValueError as error:
        problems.append(f"{where}: {error}")
        return None
