"""The fields of an entry as text: content, heading, meta line, checksum, and the draft they are made from. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, tzinfo
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.types import EMPTY, TOKEN_PATTERN, Approval, Kind, MemoryItem, Origin, Store, Type, check_actor

# The text of a memory: its normal form, its limits, and how it is kept from reading as an entry heading.

TIME = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
MARK = r" \^(M-([0-9]{1,15})-([0-9a-f]{8}))[ \t\r]*$"
AFTER_SIGNS = rf"(?= )(?:[^\n]*{MARK}| {TIME}(?=[ \t]|\r*$))"
HEADING = rf"##{AFTER_SIGNS}"
"""A line that starts an entry: anything that ends with a block id, or a clock time. Needs re.MULTILINE."""

# Patterns that are kept as text are compiled at their first use: many a start never needs them.
compiled = cache(re.compile)
_TO_ESCAPE = rf"(?m)^(?=\\*{HEADING})"
_ESCAPED = rf"(?m)^\\(?=\\*{HEADING})"
_LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_SURROGATES = "[\ud800-\udfff]"


def normalise_content(text: str) -> str:
    """`text` as it is stored: LF line ends, no blank lines before it, no white space after it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.rstrip()
    return _LEADING_BLANK_LINES.sub("", text) if text[:1].isspace() else text


def check_content(text: str, max_bytes: int) -> None:
    """Raise ContentError unless `text` can be remembered in at most `max_bytes` of UTF-8."""
    if not text.strip():
        raise ContentError("the content is empty", hint="say what is to be remembered")
    if "\0" in text:
        raise ContentError("the content has a NUL byte", hint="store binary data in a file and remember its path")
    size = len(text) if text.isascii() else len(encoded(text))
    if size > max_bytes:
        raise ContentError(
            f"the content has {size} bytes, more than {max_bytes}",
            hint="split it, or store it in a file and remember a summary with its path",
        )


def encoded(text: str) -> bytes:
    """`text` in UTF-8; raises ContentError for lone surrogates, which no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ContentError(
            f"character {error.start} is half of a surrogate pair and cannot be stored as UTF-8",
            hint="decode the text properly, or replace such characters before remembering it",
        ) from error


def without_surrogates(text: str) -> str:
    """`text` with each undecodable byte shown as U+FFFD, so that what is read can be stored anywhere."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub(_SURROGATES, "\ufffd", text)
    return text


def escape(content: str) -> str:
    """`content` with a backslash before each line that would read as an entry heading."""
    return re.sub(_TO_ESCAPE, r"\\", content) if "## " in content else content


def unescape(content: str) -> str:
    """The inverse of `escape`."""
    return re.sub(_ESCAPED, "", content) if "## " in content else content


def text_id(agent: str, content: str) -> str:
    """The id of text that carries none: the same words of the same agent are the same memory."""
    return "H-" + blake2b(f"{agent}\0{content}".encode()).hexdigest()[:16]


# An entry's fields as text: numbers, times, the meta line, and the JSON comment for what the meta line cannot hold.

LEVELS = {"high": 0.9, "medium": 0.6, "low": 0.3}
MAX_DEPTH = 64
MAX_INT_BITS = 10_000
"""Python refuses to print or read integers of more than 4,300 digits; this stays below."""

SEPARATOR = " · "
_AT = f"{SEPARATOR}at: "

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


# What a caller wants remembered, checked and brought into the form in which it can be written and read back.


class Draft(NamedTuple):
    """A memory that is yet to be made; all values are in their normal form, and whoever fills it in has checked them.

    A tuple, because a tenth of the time that a turn of a conversation takes would go into making anything else.
    """

    content: str
    type: Type = Type.OBSERVATION
    kind: Kind = Kind.EPISODIC
    store: Store = Store.LONG_TERM
    user: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    source: str = "conversation"
    role: str | None = None
    session: str | None = None
    origin: Origin = Origin.AGENT
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    decay_rate: float | None = None
    derived_from: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = EMPTY
    key: str | None = None


_TIMES = ("event_time", "valid_from", "valid_until")


def as_draft(item: MemoryItem | Draft) -> Draft:
    """`item` without its id and what comes after a memory is made; raises InputError for bad values."""
    if isinstance(item, Draft):
        return item
    given = {name: getattr(item, name) for name in Draft._fields}
    checked = {
        "content": check_text(item.content),
        "importance": check_fraction("importance", item.importance),
        "confidence": check_fraction("confidence", item.confidence),
        "tags": tuple(item.tags),
        "decay_rate": None if item.decay_rate is None else plain(float(item.decay_rate), "decay_rate"),
        "derived_from": tuple(item.derived_from),
        "attributes": plain_object(item.attributes) if item.attributes else EMPTY,
    }
    times = {name: utc(name, given[name]) for name in _TIMES if given[name] is not None}
    return Draft(**given | checked | times)


def as_created(draft: Draft, id: str, created: datetime, event_time: datetime | None) -> MemoryItem:
    """`draft` as the memory that was made of it."""
    return MemoryItem(**{**draft._asdict(), "id": id, "created_at": created, "event_time": event_time})


def check_text(text: str) -> str:
    """`text` in its normal form; blank text is refused."""
    content = normalise_content(text)
    if not content:
        raise ContentError("the content is empty", hint="say what is to be remembered")
    return content


def check_fraction(name: str, value: float) -> float:
    """`value` as a float from 0 to 1."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} {str(value)[:40]!r} is not a number from 0 to 1", hint="1 is the most")
    return float(value) + 0.0  # -0.0 becomes 0.0


def utc(name: str, moment: datetime) -> datetime:
    """An aware `moment` in UTC."""
    if moment.utcoffset() is None:
        raise NaiveTimeError(f"{name} {moment} has no time zone", hint="pass an aware datetime")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{name} {moment} lies outside the calendar", hint="use the years 1 to 9999") from error


# The fields of a memory: how each of them is written and read.


class Field(NamedTuple):
    """One field of a memory, or of its attribution, in an entry.

    It stands in the heading or in the meta line as `write` has it, and `read` takes it from there: None is what cannot
    be read. The comment line has what these cannot hold, if it `fits`, for `load` to take.
    """

    name: str
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    default: Any = None
    """What is left out."""
    fits: Callable[[object], bool] = lambda value: False
    load: Callable[[Any], Any] = lambda value: value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: object) -> bool:
    is_small_int = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64
    return is_small_int or isinstance(value, float)


def _read_actor(raw: str) -> str | None:
    try:
        return check_actor(raw)
    except InputError:
        return None


TYPES: Mapping[str, Type] = {each.value: each for each in Type}
HEADING_FIELDS = (
    Field("type", lambda raw: TYPES.get(raw.lower(), raw)),
    Field("importance", read_importance, number, 0.5),
    Field("tags", read_tags, default=(), fits=_is_texts, load=tuple),
)
LABEL_FIELDS = (
    Field("source", fits=_is_text),
    Field("session", fits=_is_text),
    Field("role", fits=_is_text),
    Field("confidence", read_confidence, number, 1.0),
    Field("kind", {each.value: each for each in Kind}.get),
    Field("store", {each.value: each for each in Store}.get, default=Store.LONG_TERM),
    Field("user", fits=_is_text),
    Field("origin", {each.value: each for each in Origin}.get, default=Origin.AGENT),
)
"""What the meta line says of a memory; of its kind, if it is not that of its type."""
ATTRIBUTION_FIELDS = (
    Field("actor", _read_actor),
    Field("approval", {each.value: each for each in Approval}.get),
    Field("trigger", lambda raw: raw if is_token(raw) else None),
)
TIME_FIELDS = (Field("at"), Field("valid_from"), Field("valid_until"))
"""Read by `read_moment`, in the time zone of the home."""
COMMENT_FIELDS = (
    Field("key", fits=_is_text),
    Field("derived_from", default=(), fits=_is_texts, load=tuple),
    Field("decay_rate", fits=_is_number, load=float),
)
_META = {each.name: each for each in (*HEADING_FIELDS, *LABEL_FIELDS, *ATTRIBUTION_FIELDS, *TIME_FIELDS)}
_META["tier"] = _META["store"]
META_KEYS = frozenset(_META)
_COMMENT_VALUES = {each.name: each for each in (*HEADING_FIELDS, *LABEL_FIELDS, *COMMENT_FIELDS)}
_TIMES_IN_META = frozenset(each.name for each in TIME_FIELDS)


class FieldValues(NamedTuple):
    """What a part of an entry says: values of known fields, the rest as attributes, and what could not be read."""

    values: Mapping[str, Any]
    attributes: Mapping[str, Any] = EMPTY
    problems: tuple[str, ...] = ()


def read_values(fields: Mapping[str, str], tz: tzinfo) -> FieldValues:
    """The values of fields as a heading or a meta line has them; a word that is no type of ours stays a word."""
    values, attributes, problems = dict[str, Any](), dict[str, Any](), list[str]()
    for key, raw in fields.items():
        if (field := _META.get(key)) is None:
            attributes[key] = raw
            continue
        value = read_moment(raw, tz) if key in _TIMES_IN_META else field.read(raw)
        if value is None:
            problems.append(f"{field.name} {raw[:40]!r} cannot be read")
        else:
            values[field.name] = value
    return FieldValues(values, attributes, tuple(problems))


def read_label(line: str, tz: tzinfo) -> FieldValues | None:
    """What a meta line says; None when it is content.

    Entries side by side differ in their times at most, so what else they say is read once and remembered.
    """
    before, told, rest = line.partition(_AT)
    at, more, behind = rest.partition(SEPARATOR)
    label = _label(before + more + behind, tz) if told and "·" not in at else None
    moment = read_moment(at.strip(), tz) if label else None
    if label is None or moment is None:
        return _label(line, tz)
    return FieldValues({"at": moment, **label.values}, label.attributes, label.problems)


@lru_cache(maxsize=1024)
def _label(line: str, tz: tzinfo) -> FieldValues | None:
    fields = read_meta(line)
    return None if fields is None else read_values(fields, tz)


def read_aside(line: str) -> FieldValues | None:
    """What a comment line says; None when it is not one, ValueError when it is one but broken."""
    given = read_comment(line) if line.startswith("<!--") else None
    if given is None:
        return None
    attributes = given.pop("attributes", {})
    values, odd, problems = dict[str, Any](), dict[str, Any](), list[str]()
    for name, value in given.items():
        field = _COMMENT_VALUES.get(name)
        if field and field.fits(value):
            values[name] = field.load(value)
        else:
            problems.append(f"{name[:40]!r} in the comment line is not known; kept as an attribute")
            odd[name] = value
    named = attributes if isinstance(attributes, dict) else {"attributes": attributes}
    return FieldValues(values, odd | named, tuple(problems))


# The heading line of an entry, as memfolio writes it and as people do.

SAFE_TAG = re.compile(r"\w[\w/-]*")
MAX_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no id can name a later one."""

_MARK = re.compile(MARK)

# Compiled at their first use: whoever only writes does not need them.
_HEADING = f"(?m){HEADING}"
_TIME = rf"{TIME}(?=\s|$)"
_TYPE_WORD = r"[^\W\d][\w-]*"
_FIELD = r"([A-Za-z_]+)\s*:\s*(.+)"


class BlockId(NamedTuple):
    """The block id at the end of a heading, and where its checksum stands in the line."""

    id: str
    ms: int
    start: int
    checksum_at: int


class Heading(NamedTuple):
    """What a heading says; what is left when everything known is taken out is an attribute."""

    time: time | None
    mark: BlockId | None
    words: FieldValues


def find_mark(line: str) -> BlockId | None:
    """The block id that ends `line`, if it is one that can be."""
    match = _MARK.search(line)
    return _block_id(match) if match else None


def _block_id(match: re.Match[str]) -> BlockId | None:
    ms = int(match[2])
    return BlockId(match[1], ms, match.start(1) - 2, match.start(3)) if ms <= MAX_MS else None


def heading_words(item: MemoryItem | Draft) -> str:
    """What a heading says between its time and its id; unsafe tags are left to the comment line."""
    tags = f"{SEPARATOR}#{' #'.join(item.tags)}" if item.tags and tags_are_safe(item.tags) else ""
    return f"{item.type.value}{SEPARATOR}{number(item.importance)}{tags}"


def tags_are_safe(tags: tuple[str, ...]) -> bool:
    """Whether all of `tags` can stand in a heading."""
    return all(map(SAFE_TAG.fullmatch, tags))


def read_heading(line: str, tz: tzinfo) -> Heading | None:
    """`line` taken apart, or None when it does not start an entry."""
    match = compiled(_HEADING).match(line)
    if match is None:
        return None
    mark = _block_id(match) if match[1] else None
    rest = line[3 : mark.start if mark else None].strip()
    clock = compiled(_TIME).match(rest)
    return Heading(read_clock(clock[0]) if clock else None, mark, _words(rest[clock.end() if clock else 0 :], tz))


@lru_cache(maxsize=4096)
def read_clock(text: str) -> time:
    """`6:05`, `06:05` or `06:05:30` as a time of day."""
    return time.fromisoformat(text if text[2] == ":" else f"0{text}")


@lru_cache(maxsize=2048)
def _words(text: str, tz: tzinfo) -> FieldValues:
    """What a heading says beside its time and id; few say what no other one does."""
    fields: dict[str, str] = {}
    tags: list[str] = []
    title: list[str] = []
    for part in text.replace("|", "·").split("·"):
        _read_part(part.strip(), fields, tags, title)
    named = read_tags(fields.pop("tags", ""))
    found = read_values(fields, tz)
    attributes = {"heading": SEPARATOR.join(title)} if title else EMPTY
    return FieldValues({**found.values, "tags": (*tags, *named)}, attributes, found.problems)


def _read_part(part: str, fields: dict[str, str], tags: list[str], title: list[str]) -> None:
    if "#" in part:
        words = part.split()
        tags += [word[1:] for word in words if _is_tag(word)]
        part = " ".join(word for word in words if not _is_tag(word))
    if not part:
        return
    field = re.fullmatch(_FIELD, part)
    if field and field[1].lower() in META_KEYS:
        fields[field[1].lower()] = field[2]
    elif "importance" not in fields and (
        read_importance(part) is not None or (fields.get("type") in TYPES and read_number(part) is not None)
    ):
        fields["importance"] = part
    elif "type" not in fields and not title and re.fullmatch(_TYPE_WORD, part):
        fields["type"] = part
    elif words_of_title := part.lstrip("-–—: "):
        title.append(words_of_title)


def _is_tag(word: str) -> bool:
    return word.startswith("#") and SAFE_TAG.fullmatch(word, 1) is not None


# The checksum that ends an entry's id: by it an entry that was torn or edited is told from one as it was written.

BLANK = "00000000"
"""What stands in the place of the checksum while it is made."""


def checksum(salt: bytes, block: bytes) -> str:
    """The 8 hex digits that end an id, over the block with `BLANK` in their place."""
    return blake2b(salt + block).hexdigest()[:8]


def salt_of(agent: str, ms: int) -> bytes:
    """What an entry's checksum begins with, so that no block is another agent's or of another time."""
    return f"{agent}\0{ms}\0".encode()


def is_whole(block: str, agent: str) -> bool:
    """Whether `block` is, byte for byte, what was written; a torn or edited one is not.

    Blank lines after it, CRLF line ends and a missing last line end make no difference: git and editors change those,
    and nothing of the memory is lost with them.
    """
    return _is_untouched(block.replace("\r\n", "\n").rstrip("\n") + "\n", agent)


def _is_untouched(text: str, agent: str) -> bool:
    """Whether the heading of `text`, which ends with one line end, ends with its checksum, as we end it."""
    at = text.index("\n") - 8
    ms = text[text.rfind("-", 0, at - 1) + 1 : at - 1]
    blank = f"{agent}\0{ms}\0{text[:at]}{BLANK}{text[at + 8 :]}"
    return checksum(b"", blank.encode("utf-8", "surrogatepass")) == text[at : at + 8]


def whole_length(block: str, agent: str) -> int:
    """How much of `block` is, byte for byte, an entry as it was written; 0 when it does not begin with one."""
    lines = block.split("\n")[:-1]
    mark = find_mark(lines[0]) if lines else None
    if mark is None:
        return 0
    at, length = mark.checksum_at, 0
    digest = blake2b(salt_of(agent, mark.ms))
    for line in lines:
        blank = line if length else f"{line[:at]}{BLANK}{line[at + 8 :]}"
        digest.update(f"{blank}\n".encode("utf-8", "surrogatepass"))
        length += len(line) + 1
        if digest.copy().hexdigest()[:8] == lines[0][at : at + 8]:
            return length
    return 0


def own_length(block: str, agent: str) -> int:
    """How much of `block`, which begins with an entry, belongs to that: what follows an untouched one does not.

    Of an entry that was edited nobody can tell where it ends, so it has all of the block.
    """
    body = block.rstrip("\n")
    if "\n" not in body[body.find("\n\n") + 2 :] or _is_untouched(f"{body}\n", agent):
        return len(block)
    length = whole_length(block, agent)
    return length if length and length < len(body) else len(block)
