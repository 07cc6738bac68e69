"""One entry of a daily log: the draft it is made of, its fields as text, how it is written, read and given an id."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from memfolio.clock import from_ms, is_ambiguous
from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.text import encoded, shown
from memfolio.types import (
    DEFAULT_KINDS,
    EMPTY,
    HUMAN,
    TOKEN_PATTERN,
    Approval,
    Attribution,
    Kind,
    MemoryItem,
    Origin,
    Store,
    Type,
    check_actor,
    frozen,
)
from memfolio.vault.lines import attribution, plain, plain_object, read_object

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
        hint = "split it, or store it in a file and remember a summary with its path"
        raise ContentError(f"the content has {size} bytes, more than {max_bytes}", hint=hint)


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
    return hashed_id("H", agent, content)


def hashed_id(prefix: str, *parts: str) -> str:
    """An id that follows from what it names."""
    return f"{prefix}-{blake2b(chr(0).join(parts).encode('utf-8', 'replace')).hexdigest()[:16]}"


# An entry's fields as text: numbers, times, the meta line, and the JSON comment for what the meta line cannot hold.

LEVELS = {"high": 0.9, "medium": 0.6, "low": 0.3}
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


def midnight(moment: datetime, tz: tzinfo) -> datetime:
    """When the day of a moment begins there."""
    return local(moment, tz).replace(hour=0, minute=0, second=0, microsecond=0)


def iso_of(moment: datetime) -> str:
    """`2026-11-15T14:30:05.123+01:00`: the time with its offset, as short as it can be without loss."""
    if moment.microsecond and not moment.microsecond % 1000:
        return moment.isoformat(timespec="milliseconds")
    return moment.isoformat()


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


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def render_comment(values: Mapping[str, Any]) -> str:
    """`values` as one comment line that nothing inside can close."""
    safe = _ENCODER.encode(values).replace("<", r"\u003c").replace(">", r"\u003e").replace("--", r"-\u002d")
    return f"<!-- {safe} -->"


def read_comment(line: str) -> dict[str, Any] | None:
    """The values of a comment line; None when it is not one, ValueError when it is one but broken."""
    match = re.fullmatch(_COMMENT, line)
    return None if match is None else read_object(match[1])


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
    project: str | None = None
    audience: str | None = None
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


def check_text(text: str) -> str:
    """`text` in its normal form; blank text is refused."""
    content = normalise_content(text)
    if not content:
        raise ContentError("the content is empty", hint="say what is to be remembered")
    return content


def check_fraction(name: str, value: object) -> float:
    """`value` as a float from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} {shown(value)!r} is not a number from 0 to 1", hint="1 is the most")
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


def _words_of(choices: Iterable[StrEnum]) -> Callable[[str], Any]:
    """Reads one of a few words; None for any other."""
    return {each.value: each for each in choices}.get


DEFAULT_ACTOR = "bot:auto-detect"
DEFAULT_TRIGGERS = {
    DEFAULT_ACTOR: "observe",
    "bot:trigger-remember": "remember",
    "bot:trigger-forget": "forget",
    "human": "edit",
}
LABEL_FIELDS = (
    Field("source", fits=_is_text),
    Field("session", fits=_is_text),
    Field("role", fits=_is_text),
    Field("confidence", read_confidence, number, 1.0),
    Field("kind", _words_of(Kind)),
    Field("store", _words_of(Store), default=Store.LONG_TERM),
    Field("user", fits=_is_text),
    Field("project", fits=_is_text),
    Field("audience", fits=_is_text),
    Field("origin", _words_of(Origin), default=Origin.AGENT),
)
"""What the meta line says of a memory; of its kind, if it is not that of its type."""
ATTRIBUTION_FIELDS = (
    Field("actor", _read_actor, default=DEFAULT_ACTOR),
    Field("approval", _words_of(Approval), default=Approval.AUTO),
    Field("trigger", lambda raw: raw if is_token(raw) else None),
)
"""Who made it; the trigger that an actor has as a rule is left out."""
TIME_FIELDS = (Field("at"), Field("valid_from"), Field("valid_until"))
"""Read by `read_moment`, in the time zone of the home."""
COMMENT_FIELDS = (
    Field("key", fits=_is_text),
    Field("derived_from", default=(), fits=_is_texts, load=tuple),
    Field("decay_rate", fits=_is_number, load=float),
)
_META = {each.name: each for each in (*HEADING_FIELDS, *LABEL_FIELDS, *ATTRIBUTION_FIELDS, *TIME_FIELDS)}
_META["tier"] = _META["store"]
META_KEYS = frozenset(_META) - {"project", "audience"}
"""One of these tells that a line is a meta line; people write the others into notes of their own."""
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
    before, has_time, rest = line.partition(_AT)
    at, more, behind = rest.partition(SEPARATOR)
    label = _label(before + more + behind, tz) if has_time and "·" not in at else None
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


def heading_words(type: Type, importance: float, tags: tuple[str, ...]) -> str:
    """What a heading says between its time and its id; unsafe tags are left to the comment line."""
    words = f"{SEPARATOR}#{' #'.join(tags)}" if tags and tags_are_safe(tags) else ""
    return f"{type.value}{SEPARATOR}{number(importance)}{words}"


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
    return is_untouched(block.replace("\r\n", "\n").rstrip("\n") + "\n", agent)


def is_untouched(text: str, agent: str) -> bool:
    """Whether the heading of `text`, which ends with one line end, ends with its checksum, as we end it."""
    at = text.index("\n") - 8
    ms = text[text.rfind("-", 0, at - 1) + 1 : at - 1]
    blank = f"{agent}\0{ms}\0{text[:at]}{BLANK}{text[at + 8 :]}"
    return checksum(b"", blank.encode("utf-8", "surrogatepass")) == text[at : at + 8]


# An entry as text: its heading, its meta line, the comment for what that cannot hold, and its content.
#
# What depends on the moment (`Shown`) and what the memories of a conversation share (`Label`) are composed apart, so
# that many entries can be rendered for little.

_heading_values = attrgetter(*(field.name for field in HEADING_FIELDS))
_label_values = attrgetter(*(field.name for field in LABEL_FIELDS))


class Shown(NamedTuple):
    """A moment as an entry shows it: the day of its log, the clock in its heading, and a field of its meta line."""

    day: date
    clock: str
    meta: str


class Label(NamedTuple):
    """What an entry says about itself beside its time, content and attributes."""

    heading: str
    meta: str
    spare: Mapping[str, Any]


def show(moment: datetime, tz: tzinfo, *, in_full: bool) -> Shown:
    """`moment` in the home's zone; told in full if it must be, or if the clock shows that time twice."""
    here = local(moment, tz)
    meta = f"at: {iso_of(here)}" if in_full or is_ambiguous(here) else ""
    return Shown(here.date(), here.isoformat(timespec="seconds")[11:19], meta)


def label_of(item: MemoryItem | Draft, by: Attribution) -> Label:
    """What an entry says beside its time, content and attributes, as `by` makes it."""
    return _label_with(_heading_values(item), _label_values(item), by)


@lru_cache(maxsize=256)
def _label_with(heading: tuple[Any, ...], values: tuple[Any, ...], by: Attribution) -> Label:
    """What the meta line cannot hold is left to the comment; memories that differ in none of this share their label."""
    type_, _, tags = heading
    meta: list[str] = []
    spare: dict[str, Any] = {} if tags_are_safe(tags) else {"tags": tags}
    trigger = None if by.trigger == DEFAULT_TRIGGERS.get(by.actor) else by.trigger
    said = (*values, by.actor, by.approval, trigger)
    for field, value in zip((*LABEL_FIELDS, *ATTRIBUTION_FIELDS), said, strict=True):
        if value in (None, field.default) or value is DEFAULT_KINDS[type_]:
            continue
        if is_token(text := field.write(value)):
            meta.append(f"{field.name}: {text}")
        else:
            spare[field.name] = value
    return Label(heading_words(*heading), SEPARATOR.join(meta), spare)


def render(item: MemoryItem | Draft, id: str, label: Label, shown: Shown, tz: tzinfo) -> str:
    """The block of `item` under `id`: ends with a line end, has no blank lines around it."""
    heading = f"## {shown.clock} {label.heading} ^{id}"
    meta = SEPARATOR.join(filter(None, (label.meta, shown.meta, _validity(item, tz))))
    spare = _set_aside(item, label.spare)
    comment = render_comment(spare) if spare else ""
    return "\n".join((*filter(None, (heading, meta, comment)), "", escape(item.content), ""))


def _validity(item: MemoryItem | Draft, tz: tzinfo) -> str:
    if item.valid_from is None and item.valid_until is None:
        return ""
    bounds = (("valid_from", item.valid_from), ("valid_until", item.valid_until))
    return SEPARATOR.join(f"{name}: {iso_of(local(moment, tz))}" for name, moment in bounds if moment is not None)


def _set_aside(item: MemoryItem | Draft, spare: Mapping[str, Any]) -> Mapping[str, Any]:
    """What goes into the comment: what the meta line could not hold, and what it never does."""
    values = {**spare, "attributes": dict(item.attributes)} if item.attributes else dict(spare)
    for field in COMMENT_FIELDS:
        if (value := getattr(item, field.name)) not in (None, field.default):
            values[field.name] = value
    return values


# One entry of a daily log: written exactly, read with tolerance.
#
#     ## 14:30:05 decision · 0.8 · #memory #architecture ^M-1794753005123-a3f2c91d
#     source: conversation · session: s-42 · role: user · confidence: 0.9
#
#     Chose the hybrid approach: one store of files, one disposable index.
#
# The heading's time is the event's, in the home's time zone; the id's milliseconds are when it was remembered, in
# UTC.

FOREIGN_TYPES = {
    "learning": (Type.LESSON, False),
    "system_event": (Type.EVENT, True),
    "user_interaction": (Type.EVENT, True),
}
"""Types of other systems: what they are here, and whether the word is kept as `attributes.episode_type`."""


@frozen
class Entry:
    """A memory as it was when it was made, and who made it."""

    item: MemoryItem
    by: Attribution


@lru_cache(maxsize=512)
def attributed(session: str | None, source: str, actor: str, approval: Approval, trigger: str) -> Attribution:
    """Who made a memory, in its session and from its source where they are identifiers."""
    within = session if session and is_token(session) else None
    return attribution(actor, approval, trigger, within, source if is_token(source) else None)


@frozen
class ParsedEntry:
    """An entry as it was read, and which of its values could not be."""

    entry: Entry
    problems: tuple[str, ...] = ()


def parse_entry(block: str, *, day: date, tz: tzinfo, agent: str, marked: bool = True) -> ParsedEntry | None:
    """The entry in `block`, or None when it does not start with an entry heading.

    `day` is the file's. Values that cannot be read are reported and replaced by their defaults; nothing raises.
    With `marked=False` the block id is overlooked and the entry read as if a person had written it.
    """
    first, _, rest = without_surrogates(block).partition("\n")
    heading = read_heading(first, tz)
    if heading is None:
        return None
    mark = heading.mark if marked else None
    values, attributes, problems = dict(heading.words.values), dict(heading.words.attributes), [*heading.words.problems]
    rest = _take_header(rest, tz, values, attributes, problems)
    content = unescape(normalise_content(rest))
    if mark is None:
        content = _content_by_hand(content, values, attributes)
    elif not content:
        problems.append("the entry has no content")
    values["type"] = type_ = _type(values.get("type", Type.OBSERVATION), attributes, problems if mark else [])
    values.setdefault("kind", DEFAULT_KINDS[type_])
    source = values.setdefault("source", "conversation" if mark else "file")
    actor = values.pop("actor", DEFAULT_ACTOR if mark else HUMAN.actor)
    approval = values.pop("approval", Approval.AUTO if mark else Approval.NONE)
    trigger = values.pop("trigger", DEFAULT_TRIGGERS.get(actor, "observe"))
    at = values.pop("at", None)
    created, event_time = _times(heading.time, mark, at, day, tz)
    if event_time and at is None and is_whole(block, agent):
        event_time = None  # nobody touched the entry, so its clock is as it was written: the home's zone has changed
    item = MemoryItem(
        id=mark.id if mark else text_id(agent, content),
        content=content,
        created_at=created,
        event_time=event_time,
        attributes=attributes or EMPTY,
        **values,
    )
    by = attributed(item.session, source, actor, approval, trigger)
    return ParsedEntry(entry=Entry(item=item, by=by), problems=tuple(problems))


def _take_header(rest: str, tz: tzinfo, values: dict[str, Any], attributes: dict[str, Any], problems: list[str]) -> str:
    """Add what the meta line and the comment line say to what the heading does; returns the text behind them."""
    line, _, behind = rest.partition("\n")
    if (label := read_label(line, tz)) is not None:
        tags = values["tags"]
        values |= label.values
        values["tags"] = tags + label.values.get("tags", ())
        attributes |= label.attributes
        problems += label.problems
        rest = behind
        line, _, behind = rest.partition("\n")
    try:
        aside = read_aside(line)
    except ValueError as error:
        problems.append(f"the comment line cannot be read: {error}")
        return rest
    if aside is None:
        return rest
    values |= aside.values
    attributes |= aside.attributes
    problems += aside.problems
    return behind


def _content_by_hand(content: str, values: dict[str, Any], attributes: dict[str, Any]) -> str:
    """A hand-written entry may note its importance in a comment, or be nothing but its heading."""
    content, importance = take_importance(content)
    if importance is not None:
        values.setdefault("importance", importance)
    if content := normalise_content(content):
        return content
    word = values.get("type", "")
    title: str = attributes.pop("heading", "")
    return title or ("" if word in TYPES or word.lower() in FOREIGN_TYPES else values.pop("type", ""))


def _type(word: Type | str, attributes: dict[str, Any], problems: list[str]) -> Type:
    if isinstance(word, Type):
        return word
    if word.lower() not in FOREIGN_TYPES:
        problems.append(f"type {word[:40]!r} is not known; taken as an observation")
    type_, keep = FOREIGN_TYPES.get(word.lower(), (Type.OBSERVATION, True))
    if keep:
        attributes.setdefault("episode_type", word)
    return type_


def _times(
    clock: time | None, mark: BlockId | None, at: datetime | None, day: date, tz: tzinfo
) -> tuple[datetime, datetime | None]:
    """When it was remembered, and when it happened if that is another time."""
    if mark is None:
        return at or moment_of(day, clock, tz), None
    created = from_ms(mark.ms)
    if at is None and clock and datetime.combine(day, clock) != local(created, tz).replace(tzinfo=None, microsecond=0):
        at = moment_of(day, clock, tz)
    return created, None if at == created else at


def moment_of(day: date, clock: time | None, tz: tzinfo) -> datetime:
    """A day's time of the clock (its start when there is none) in UTC."""
    naive = datetime.combine(day, clock or time())
    try:
        return naive.replace(tzinfo=tz).astimezone(UTC)
    except OverflowError:
        return naive.replace(tzinfo=UTC)


# From drafts to entries: each gets an id that nothing else has, and its block.


class Minted(NamedTuple):
    """A memory as it was made, the block that says it, and the day of the log where the block belongs."""

    item: MemoryItem
    block: bytes
    day: date


class Instant(NamedTuple):
    """A millisecond in which entries are made."""

    mark: str
    """What ids given in it begin with."""
    created: datetime
    shown: Shown
    salt: bytes


class Mint:
    """Makes the entries of one change; what many of them have in common is composed once."""

    def __init__(self, by: Attribution, *, agent: str, tz: tzinfo, created_ms: int, taken: Container[str]) -> None:
        self._by = by
        self._agent = agent
        self._tz = tz
        self._created_ms = created_ms
        self._taken = taken
        self._made: set[str] = set()
        self._instants: dict[int, Instant] = {}

    def make(self, item: MemoryItem | Draft) -> Minted:
        """`item` with an id of its own; milliseconds move on until there is one.

        An id and a time that it has are replaced, its times become UTC, and what can change later (access, pin,
        supersession, tombstone) is left out, because that is written elsewhere. Raises InputError for bad values.
        """
        draft = as_draft(item)
        label = label_of(draft, self._by)
        for ms in count(self._created_ms):
            if minted := self._try(draft, label, self._instants.get(ms) or self._instant(ms)):
                return minted
        raise AssertionError("count() does not end")

    def _try(self, draft: Draft, label: Label, now: Instant) -> Minted | None:
        """The entry as made in this millisecond; None when its id is taken."""
        event_time = None if draft.event_time == now.created else draft.event_time
        shown = show(event_time, self._tz, in_full=True) if event_time else now.shown
        blank = encoded(render(draft, now.mark + BLANK, label, shown, self._tz))
        digits = checksum(now.salt, blank)
        fresh = now.mark + digits
        if fresh in self._made or fresh in self._taken:
            return None
        self._made.add(fresh)
        end = blank.index(b"\n")
        block = blank[: end - len(BLANK)] + digits.encode() + blank[end:]
        values = {**draft._asdict(), "id": fresh, "created_at": now.created, "event_time": event_time}
        return Minted(MemoryItem(**values), block, shown.day)

    def _instant(self, ms: int) -> Instant:
        if not 0 <= ms <= MAX_MS:
            raise InputError(f"{ms} is not a time an id can carry", hint="set the clock between 1970 and 9999")
        created = from_ms(ms)
        shown = show(created, self._tz, in_full=False)
        self._instants[ms] = instant = Instant(f"M-{ms}-", created, shown, salt_of(self._agent, ms))
        return instant
