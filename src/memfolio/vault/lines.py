"""Ledgers in JSON lines: one record a line, signed, read past whatever is broken; and compressed archives."""

from __future__ import annotations

import json
import math
import secrets
import zlib
from collections.abc import Container, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from memfolio.clock import iso, to_ms
from memfolio.errors import DiskError, InputError
from memfolio.text import encoded
from memfolio.types import Approval, Attribution, frozen

# Values that JSON can carry: what is written is what is read back.

MAX_DEPTH = 64
MAX_INT_BITS = 10_000
"""Python refuses to print or read integers of more than 4,300 digits; this stays below."""


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def read_object(text: str) -> dict[str, Any]:
    """Parse a JSON object with finite numbers and storable strings; raises ValueError otherwise."""
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def plain(value: Any, where: str = "attributes", depth: int = 0) -> Any:
    """Return `value` as JSON would read it back; raises InputError for what JSON cannot represent."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and value.bit_length() <= MAX_INT_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return [plain(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(value)]
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return plain_object(value, where, depth)
    raise _unfit(value, where)


def plain_object(values: Mapping[str, Any], where: str = "attributes", depth: int = 0) -> dict[str, Any]:
    """Return `values` as JSON would read them back; raises InputError for what JSON cannot represent."""
    found = {}
    for name, part in values.items():
        if not isinstance(name, str):
            raise _unfit(values, where)
        found[name] = part if isinstance(part, str) else plain(part, f"{where}.{name}", depth + 1)
    return found


def _unfit(value: object, where: str) -> InputError:
    return InputError(
        f"{where[:80]} is a {type(value).__name__} that JSON cannot hold",
        hint=f"use text keys, finite numbers, and at most {MAX_DEPTH} levels",
    )


# The signature on a JSON-lines record: its id, its time, and who wrote it with whose leave.

_SIGNED = frozenset({"id", "at", "actor", "trigger", "approval", "session", "source"})


def new_id(prefix: str, moment: datetime, *taken: Container[str]) -> str:
    """`S-<milliseconds>-<8 hex>`, in none of those that are `taken`."""
    fresh = f"{prefix}-{to_ms(moment)}-{secrets.token_hex(4)}"
    return new_id(prefix, moment, *taken) if any(fresh in each for each in taken) else fresh


def sign(record: Mapping[str, Any], id: str, moment: datetime, by: Attribution) -> dict[str, Any]:
    """Return the record with id, time and actor in front; a record must not have these fields itself."""
    if clash := _SIGNED & record.keys():
        raise InputError(f"a record cannot set {', '.join(sorted(clash))}", hint="these fields are the writer's")
    signed: dict[str, Any] = {"id": id, "at": iso(moment), "actor": by.actor, "trigger": by.trigger}
    if by.approval is not Approval.AUTO:
        signed["approval"] = by.approval.value
    signed |= {name: value for name, value in (("session", by.session), ("source", by.source)) if value is not None}
    return signed | dict(record)


def attribution_of(record: Mapping[str, Any]) -> Attribution | None:
    """Who signed the record; None when it is not signed."""
    try:
        given = record["actor"], record.get("approval", "auto"), record["trigger"]
        return attribution(*given, record.get("session"), record.get("source"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


@lru_cache(maxsize=512)
def attribution(actor: str, approval: str, trigger: str, session: str | None, source: str | None) -> Attribution:
    """Few actors make most of the changes; finding one is cheaper than checking it anew."""
    return Attribution(actor=actor, approval=Approval(approval), trigger=trigger, session=session, source=source)


# Ledgers in JSON lines: one record a line, read past whatever is broken.

_BOM = b"\xef\xbb\xbf"


@frozen
class LinesReading:
    """The records of a ledger, the unreadable lines, and the number of trailing bytes without a line end.

    `tail` is the record in those bytes if it is complete and only its line end is missing.
    """

    records: list[dict[str, Any]]
    problems: list[str]
    torn: int
    tail: dict[str, Any] | None


def render_line(record: Mapping[str, Any]) -> bytes:
    """Render `record` as one line; raises InputError for what JSON or UTF-8 cannot represent."""
    text = json.dumps(plain(record, "record"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return encoded(text) + b"\n"


def split_lines(data: bytes) -> list[bytes]:
    """`data` cut after each line feed; together the parts are exactly `data`."""
    *whole, last = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, last] if last else lines


def read_lines(data: bytes) -> LinesReading:
    """The records in `data`. A bad line is reported by its number and skipped; nothing raises."""
    records, problems, torn, tail = list[dict[str, Any]](), list[str](), 0, None
    for number, raw in enumerate(split_lines(data.removeprefix(_BOM)), start=1):
        record, text, is_whole = None, raw.strip(), raw.endswith(b"\n")
        try:
            record = read_object(text.decode()) if text else None
        except ValueError as error:
            problems += [f"line {number}: {error}"] if is_whole else []
        if not is_whole:  # only the last one: a crash, or an editor that ends no line
            torn, tail = len(raw), record
        elif record is not None:
            records.append(record)
    return LinesReading(records=records, problems=problems, torn=torn, tail=tail)


def record_of(raw: bytes) -> dict[str, Any]:
    """The record of one line; empty when it cannot be read."""
    try:
        return read_object(raw.removeprefix(_BOM).strip().decode())
    except ValueError:
        return {}


# Compressed files of the archive, `….md.gz`: the same text always becomes the same bytes. Pure.

SUFFIX = ".gz"
MOST = 16 * 1024 * 1024
"""Bytes to which a file may unpack: as many as any file of a home may have."""
_GZIP = 16 + zlib.MAX_WBITS


def is_packed(path: str) -> bool:
    return path.endswith(f".md{SUFFIX}")


def plain_name(path: str) -> str:
    """The name that a compressed file has once it is unpacked; of any other file its own."""
    return path.removesuffix(SUFFIX) if is_packed(path) else path


def text_of(path: str, data: bytes) -> bytes:
    """Return the text of a file, decompressed if needed; raises DiskError if it is damaged."""
    return _unpacked(path, data) if is_packed(path) else data


def pack(path: str, text: bytes) -> bytes:
    """Return the bytes to write into the file at `path` so that `text_of` gives the text."""
    if not is_packed(path):
        return text
    import gzip

    return gzip.compress(text, mtime=0)


def _unpacked(path: str, data: bytes) -> bytes:
    """Unpacks no further than allowed, and what was packed at once: a small file may claim to hold anything."""
    stream = zlib.decompressobj(_GZIP)
    try:
        text = stream.decompress(data, MOST + 1)
    except zlib.error as error:
        raise _damaged(path, "is not a whole gzip file") from error
    if len(text) > MOST:
        raise _damaged(path, f"unpacks to more than {MOST >> 20} MiB")
    if not stream.eof:
        raise _damaged(path, "is cut off")
    if stream.unused_data:
        raise _damaged(path, "has more in it than one packed text")
    return text


def _damaged(path: str, what: str) -> DiskError:
    return DiskError(f"{path} {what}", hint="`memfolio log` shows what changed it, `memfolio undo` undoes it")
