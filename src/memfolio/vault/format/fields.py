"""An entry's fields as text: numbers, times, the meta line, and the JSON comment for what the meta line cannot hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any

from memfolio.errors import InputError
from memfolio.types import TOKEN_PATTERN

LEVELS = {"high": 0.9, "medium": 0.6, "low": 0.3}
META_KEYS = frozenset(
    "source session role confidence kind store tier user origin actor approval trigger at valid_from valid_until "
    "type importance tags".split()
)
MAX_DEPTH = 64
MAX_INT_BITS = 10_000
"""Python refuses to print or read integers of more than 4,300 digits; this stays below."""

SEPARATOR = " · "

# Compiled at their first use: whoever only writes does not need them.
_PART = r"([A-Za-z_][\w-]*):(?:\s+(.*))?"
_COMMENT = r"<!-- (\{.*\}) -->\s*"
_IMPORTANCE_COMMENT = r"(?i)[ \t]*<!--[ \t]*importance:[ \t]*([^\s<>]+)[ \t]*-->"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def number(value: float) -> str:
    """The shortest text that reads back as `value`: `1`, `0`, `0.8`."""
    return repr(float(value)).removesuffix(".0")


def local(moment: datetime, tz: tzinfo) -> datetime:
    """`moment` in `tz`, or unchanged at the very ends of the calendar where that cannot be expressed."""
    try:
        return moment.astimezone(tz)
    except (OverflowError, ValueError):
        return moment


def iso_of(moment: datetime) -> str:
    """`2026-11-15T14:30:05.123+01:00`: the time with its offset, as short as it can be without loss."""
    if moment.microsecond and not moment.microsecond % 1000:
        return moment.isoformat(timespec="milliseconds")
    return moment.isoformat()


def is_ambiguous(moment: datetime) -> bool:
    """Whether the clock shows this local time twice because it is set back."""
    return moment.replace(fold=1 - moment.fold).utcoffset() != moment.utcoffset()


def is_token(value: str) -> bool:
    """Whether `value` can stand in a meta line."""
    return TOKEN_PATTERN.fullmatch(value) is not None


def read_moment(raw: str, tz: tzinfo) -> datetime | None:
    """An ISO time in UTC, taken as local when it has no offset; None when it is not a time."""
    try:
        moment = datetime.fromisoformat(raw)
        return (moment if moment.tzinfo else moment.replace(tzinfo=tz)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_number(raw: str) -> float | None:
    """A finite decimal number, or None."""
    value = float(raw) if re.fullmatch(_NUMBER, raw) else math.nan
    return value if math.isfinite(value) else None


@lru_cache(maxsize=64)
def read_importance(raw: str) -> float | None:
    """0–1 as it is, more than 1 up to 10 as tenths, HIGH/MEDIUM/LOW by name; None for anything else."""
    value = LEVELS.get(raw.lower(), read_number(raw))
    if value is None or not 0 <= value <= 10:
        return None
    return value if value <= 1 else value / 10


@lru_cache(maxsize=64)
def read_confidence(raw: str) -> float | None:
    """0–1, or high/medium/low by name; None for anything else."""
    value = LEVELS.get(raw.lower(), read_number(raw))
    return value if value is not None and 0 <= value <= 1 else None


def read_tags(raw: str) -> tuple[str, ...]:
    """`[memory, architecture]`, with or without brackets and number signs."""
    return tuple(tag for part in raw.strip("[]").split(",") if (tag := part.strip().lstrip("#")))


def take_importance(line: str) -> tuple[str, float | None]:
    """`line` without a `<!-- importance: 7 -->` note, and what the note says.

    That note counts from 1 to 10, so a whole `1` in it is a tenth.
    """
    match = re.search(_IMPORTANCE_COMMENT, line) if "<!--" in line else None
    if match is None:
        return line, None
    value = 0.1 if match[1] == "1" else read_importance(match[1])
    return (line[: match.start()] + line[match.end() :], value) if value is not None else (line, None)


def read_meta(line: str) -> dict[str, str] | None:
    """The fields of a meta line, or None when it is content.

    Every part must be `word: value` and one of the words known; a lone part must also have a value without spaces,
    so that a sentence such as "source: a book about birds" stays a sentence.
    """
    parts = [re.fullmatch(_PART, part.strip()) for part in line.split("·")]
    found = {part[1].lower(): (part[2] or "").strip() for part in parts if part}
    if None in parts or META_KEYS.isdisjoint(found):
        return None
    if len(parts) == 1 and not all(map(is_token, found.values())):
        return None
    return {name: value for name, value in found.items() if value}


def render_comment(values: Mapping[str, Any]) -> str:
    """`values` as one comment line that nothing inside can close."""
    safe = _ENCODER.encode(values).replace("<", r"\u003c").replace(">", r"\u003e").replace("--", r"-\u002d")
    return f"<!-- {safe} -->"


def read_comment(line: str) -> dict[str, Any] | None:
    """The values of a comment line; None when it is not one, ValueError when it is one but broken."""
    match = re.fullmatch(_COMMENT, line)
    return None if match is None else read_object(match[1])


def read_object(text: str) -> dict[str, Any]:
    """A JSON object whose numbers are finite and whose strings can be stored; raises ValueError otherwise."""
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
    """`value` as JSON would read it back; raises InputError for what JSON cannot hold."""
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
    """`values` as JSON would read them back; raises InputError for what JSON cannot hold."""
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


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
