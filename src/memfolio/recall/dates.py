"""Times that a question or a filter names, in English, German, French, Spanish and Russian. Pure.

Weeks begin on Monday. A month or a day without a year is the last one that is not in the future."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from memfolio.learn.words import Lexicon

LEXICON = Lexicon(Path(__file__).parent / "data")
pattern, words = LEXICON.pattern, LEXICON.words

MAX_TEXT = 4096
"""Characters of a question that are read."""
MAX_MENTIONS = 16

_PIECE = re.compile(r"[^\W_]+")
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
# A day from either end of the calendar, so that every zone has them.
_OPEN_START = datetime(1, 1, 2)
_OPEN_END = datetime(9999, 12, 30)
_AGES = timedelta(days=36525)
# There is no such day, or a letter only looks like that of a known word, such as the long s.
_NO_TIME = (ValueError, OverflowError, KeyError)
_NEAR = 40
"""Characters before a time in which a word can bear on it."""
_HOW_LONG = re.compile(r"\d{1,3}(?!\d)")
"""How `7d` begins, as people write how far back to look; a commit may begin with more digits."""
_TIMED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d.*")
_LENGTHS = {unit: timedelta(**{f"{unit}s": 1}) for unit in ("second", "minute", "hour", "day", "week")}
_LENGTHS["weekend"] = timedelta(weeks=1)
_WITHIN_DAYS = ("second", "minute", "hour")
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}


@cache
def _units() -> dict[str, str]:
    """The unit that each word for one means."""
    rows = (*LEXICON.rows("short_units"), *LEXICON.rows("long_units"))
    return {word: row[0] for row in rows for word in row}


class Span(NamedTuple):
    """A time from its start until just before its end; both are aware."""

    start: datetime
    end: datetime


class TimeMention(NamedTuple):
    """A time that a text names."""

    span: Span
    recurs: bool = False
    """Whether no year is named, so that the same days of any year may be meant."""

    @property
    def months(self) -> frozenset[int]:
        """The months it touches, from 1 to 12; empty for a year or longer."""
        first, last = (moment.year * 12 + moment.month - 1 for moment in (self.span.start, self.span.end - _TICK))
        return frozenset(month % 12 + 1 for month in range(first, last + 1)) if last - first < 11 else frozenset()

    @property
    def years(self) -> frozenset[int]:
        """The years it touches; empty if any year may be meant, or one end is open."""
        start, end = self.span
        is_vague = self.recurs or end - start > _AGES
        return frozenset() if is_vague else frozenset(range(start.year, (end - _TICK).year + 1))

    def covers(self, moment: datetime) -> bool:
        """Whether an aware `moment` may be meant."""
        start, end = self.span
        if start <= moment < end or not self.recurs:
            return start <= moment < end
        try:
            first, day, last = (f"{each.astimezone(start.tzinfo):%m-%d}" for each in (start, moment, end - _TICK))
        except OverflowError:
            return False
        return first <= day <= last if first <= last else not last < day < first


class TimePlace(NamedTuple):
    """The position of a time in a text."""

    start: int
    end: int
    mention: TimeMention


Reader = Callable[[re.Match[str], datetime], TimeMention]


def span_of(text: str, now: datetime, zone: tzinfo) -> Span | None:
    """The time that the whole of a text names."""
    text = normalize("NFC", text.strip())
    found = _places(text, now, zone)
    is_whole = len(found) == 1 and found[0].end == len(text) and pattern("article").fullmatch(text[: found[0].start])
    return found[0].mention.span if is_whole else None


def mentions(text: str, now: datetime, zone: tzinfo) -> list[TimeMention]:
    """The times that are named inside a text, in its order."""
    return [place.mention for place in _places(text, now, zone)]


def outside_times(text: str, now: datetime, zone: tzinfo) -> str:
    """The text without the times that it names."""
    text, at, kept = normalize("NFC", text[:MAX_TEXT]), 0, []
    for place in _places(text, now, zone):
        kept.append(text[at : place.start])
        at = place.end
    return " ".join([*kept, text[at:]])


def without_times(text: str, now: datetime, zone: tzinfo, newest: datetime | None) -> str:
    """The text without what only tells a time: the day of a month, and `last week` where something is known of then."""
    text = normalize("NFC", text[:MAX_TEXT])
    kept, at = [], 0
    for place in _places(text, now, zone):
        is_known = newest is not None and newest >= place.mention.span.start
        said = _PIECE.findall(text[place.start : place.end])
        kept += [text[at : place.start], *(word for word in said if _is_worth_a_look(word, is_known))]
        at = place.end
    return " ".join([*kept, text[at:]])


def _is_worth_a_look(word: str, is_known: bool) -> bool:
    """Whether a word of a time may occur in memories of that time: a month or a year may."""
    if word.isdigit():
        return len(word) > 2
    return not is_known or word.lower() in LEXICON.numbers("months", 1)


def moment_of(text: str, now: datetime, zone: tzinfo, *, end: bool) -> datetime | None:
    """The moment that a text names: of a span its first one, or with `end` its last."""
    text = text.strip()[:100]
    try:
        if text.lower() == "now":
            return now
        if _TIMED.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=zone)
        match = pattern("before_ago").fullmatch(text) or pattern("ago").fullmatch(text)
        if match or (_HOW_LONG.match(text) and (match := pattern("ago").fullmatch(f"{text} ago"))):
            return _before(now.astimezone(zone), *_amount(match))
    except _NO_TIME:
        return None
    span = span_of(text, now, zone)
    return span and (span.end - _TICK if end else span.start)


def upcoming(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """The next moment that a text names: `by Friday` is the Friday to come; None where it names none ahead.

    Of `before Friday` that is the day before.
    """
    here, text = now.astimezone(zone), normalize("NFC", text[:MAX_TEXT])
    try:
        numbered = pattern("day_number")
        places = (
            each
            for each in _places(text, now, zone, is_opened=False)
            if not numbered.search(text, each.start, each.end)
        )
        named = (_waited_for(text, place, here) for place in places)
        ahead = min((day for day in (*_days_ahead(text, here), *named) if day is not None), default=None)
        if ahead is None or not (clock := pattern("clock").search(text)):
            return ahead
        part = {name: value for name, value in clock.groupdict().items() if value}
        hour = int(part.get("hour", 0)) % 24 + (12 if part.get("late") and int(part["hour"]) < 12 else 0)
        hour = hour or LEXICON.table("words")["hours"].get(part.get("word", "").lower(), 0)
        # What is for today comes at its hour, or at once where that is over.
        return max(ahead.replace(hour=hour, minute=int(part.get("minute", 0)), second=0, microsecond=0), here)
    except _NO_TIME:
        return None


def dated(text: str, said: datetime, zone: tzinfo, *, weekdays: bool = False) -> str:
    """A text in which days named from the day it was said on are dates: `tomorrow` is `on 8 September 2026`.

    With `weekdays`, `on Monday` is the coming one; otherwise it may be every Monday.
    """

    def as_date(match: re.Match[str]) -> str:
        at = upcoming(match["day"], said, zone)
        if at is None:
            return match[0]
        told = f"{at.day} {at:%B %Y}"
        if "weekend" in match["day"].lower():
            told = f"the weekend of {told}"
        return f"{match['before']} {told}" if match["before"] else f"on {told}"

    try:
        told = pattern("on_weekday").sub(as_date, text) if weekdays else text
        return pattern("relative_day").sub(as_date, told)
    except _NO_TIME:
        return text


def names_relative_day(text: str) -> bool:
    """Whether a text names a day that only those know who know when it was said."""
    return pattern("relative_day").search(text) is not None


def _days_ahead(text: str, here: datetime) -> Iterator[datetime]:
    """Yield days and moments that are named only by how far ahead they are, or by their number in a month."""
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    for match in pattern("in_time").finditer(text):
        count, unit = _amount(match)
        moment = _before(here, -count, unit)
        yield moment if unit in _WITHIN_DAYS else moment.replace(hour=0, minute=0, second=0, microsecond=0)
    for match in pattern("coming_day").finditer(text):
        yield midnight + _DAY * (LEXICON.numbers("days_ahead", 1)[match[0].lower()])
    for match in pattern("weekday_zh").finditer(text):
        yield midnight + _DAY * (("一二三四五六日天".index(match[1]) % 7 - here.weekday()) % 7 or 7)
    for match in pattern("day_number").finditer(text):
        day = int(match["day"])
        months = (_first_day(here.year * 12 + here.month - 1 + ahead) for ahead in range(12))
        found = (first + _DAY * (day - 1) for first in months if (first + _DAY * (day - 1)).month == first.month)
        if coming := next((each for each in found if each > here.date()), None):
            yield datetime.combine(coming, time(), here.tzinfo) - _DAY * bool(match["before"])


def _waited_for(text: str, place: TimePlace, here: datetime) -> datetime | None:
    """When something is to happen that is said to be on, before or after a time."""
    at = _ahead(place.mention, here)
    if at is not None and pattern("end_of").search(text, max(0, place.start - _NEAR), place.start):
        start, end = place.mention.span
        return (end.astimezone(here.tzinfo) if end > here else at + (end - start)) - _DAY
    word = pattern("open_end").search(text, max(0, place.start - _NEAR), place.start)
    if at is None or word is None or word["unit"]:
        return at
    if word["after"]:
        return at + (place.mention.span.end - place.mention.span.start)
    return max(at - _DAY, here) if word["before"] else at


def _ahead(mention: TimeMention, here: datetime) -> datetime | None:
    """The start of a time that is not over; a weekday or a day of the year is the next one of its name."""
    start, end = mention.span
    if end > here:
        return max(start.astimezone(here.tzinfo), here)
    if mention.recurs:
        return start.replace(year=start.year + 1)
    return start + _LENGTHS["week"] if here - start <= _LENGTHS["week"] + _DAY else None


@lru_cache(4)  # since several things are asked of one question
def _places(text: str, now: datetime, zone: tzinfo, *, is_opened: bool = True) -> Sequence[TimePlace]:
    """Return every time in the text, the longest if two overlap, with ranges joined."""
    text = normalize("NFC", text[:MAX_TEXT])
    if not _may_tell(text):
        return []
    try:
        local = now.astimezone(zone)
    except OverflowError:
        return []
    matches = [(match, read) for expression, read in _grammar() for match in expression.finditer(text)]
    found: list[TimePlace] = []
    for match, read in sorted(matches, key=lambda each: (each[0].start(), -each[0].end())):
        if len(found) < MAX_MENTIONS and (not found or match.start() >= found[-1].end):
            try:
                found.append(TimePlace(*match.span(), read(match, local)))
            except _NO_TIME:
                continue
    whole = _joined(text, _widened(text, found))
    return _opened(text, whole) if is_opened else whole


def _may_tell(text: str) -> bool:
    """Whether there is a number or a time word at all: much faster than the grammar."""
    return any(map(str.isdigit, text)) or not _telling().isdisjoint(_PIECE.findall(text.lower()))


@cache
def _telling() -> frozenset[str]:
    return _pieces("short_units", "long_units", "days", "weekdays", "months")


@cache
def calendar_words() -> frozenset[str]:
    """Words that only say when or how many: days and months, also in their short forms, units and small numbers."""
    named, others = _pieces("weekdays", "months"), ("long_units", "days", "numbers", "quarter_ordinals", "parts_of_day")
    return named | {name[:3] for name in named} | _pieces(*others)


def _pieces(*lists: str) -> frozenset[str]:
    return frozenset(piece for name in lists for word in LEXICON.listed(name) for piece in _PIECE.findall(word))


def _joined(text: str, found: list[TimePlace]) -> list[TimePlace]:
    """Two times with `to` in between, or with `between` and `and`, are one."""
    joined: list[TimePlace] = []
    for place in found:
        if joined and (joint := _join(text, joined[-1], place)):
            joined[-1] = joint
        else:
            joined.append(place)
    return joined


def _join(text: str, one: TimePlace, other: TimePlace) -> TimePlace | None:
    link = pattern("within_range").fullmatch(text[one.end : other.start])
    before = pattern("before_range").search(text, max(0, one.start - _NEAR), one.start)
    if not link or not (before or link[1]):
        return None
    try:
        start, end = _range(one.mention, other.mention)
    except _NO_TIME:
        return None
    mention = TimeMention(Span(start, end), one.mention.recurs and other.mention.recurs)
    return TimePlace(before.start() if before else one.start, other.end, mention) if start < end else None


def _range(one: TimeMention, other: TimeMention) -> Span:
    """Return the span from one time to another; a missing year is taken from the other."""
    start, end, years = one.span.start, other.span.end, other.span.start.year - one.span.start.year
    if one.recurs and (not other.recurs or start >= end):
        start = start.replace(year=start.year + years)
        return Span(start if start < end else start.replace(year=start.year - 1), end)
    if other.recurs and not one.recurs:
        end = end.replace(year=end.year - years)
        return Span(start, end if start < end else end.replace(year=end.year + 1))
    return Span(start, end)


def _widened(text: str, found: list[TimePlace]) -> list[TimePlace]:
    """`the week of March 9` is that week."""
    return [_week_of(text, place) for place in found]


def _week_of(text: str, place: TimePlace) -> TimePlace:
    start, end = place.mention.span
    if end - start > 2 * _DAY:  # "the second week of November" is in that month
        return place
    word = pattern("week_of").search(text, max(0, place.start - _NEAR), place.start)
    with suppress(*_NO_TIME):
        if word:
            return TimePlace(word.start(), place.end, _calendar("week", start.date(), 0, start.tzinfo))
    return place


def _opened(text: str, found: list[TimePlace]) -> list[TimePlace]:
    """`since`, `after`, `before` and `until` open one end; `the week before` takes that long."""
    opened: list[TimePlace] = []
    for place in found:
        word = pattern("open_end").search(text, max(0, place.start - _NEAR), place.start)
        while word and opened and opened[-1].end > word.start():
            opened.pop()
        opened.append(_open(place, word) if word else place)
    return opened


def _open(place: TimePlace, word: re.Match[str]) -> TimePlace:
    (start, end), zone = place.mention.span, place.mention.span.start.tzinfo
    first, last = _OPEN_START.replace(tzinfo=zone), _OPEN_END.replace(tzinfo=zone)
    spans = {"since": (start, last), "after": (end, last), "before": (first, start), "until": (first, end)}
    span = spans[next(name for name in spans if word[name])]
    with suppress(*_NO_TIME):
        if word["unit"] and (word["before"] or word["after"]):
            count, unit = _amount(word)
            span = (_before(start, count, unit), end) if word["before"] else (start, _before(end, -count, unit))
    return TimePlace(word.start(), place.end, TimeMention(Span(*span)) if span[0] < span[1] else place.mention)


def _days(first: date, last: date, zone: tzinfo | None) -> TimeMention:
    start = datetime.combine(first, time(), zone)
    end = datetime.combine(last + _DAY, time(), zone) if last < date.max else datetime.max.replace(tzinfo=zone)
    return TimeMention(Span(start, end))


def _calendar(unit: str, day: date, shift: int, zone: tzinfo | None) -> TimeMention:
    """Return the day, week, month … of `day`, shifted by a number of them."""
    if months := _MONTHS_IN.get(unit):
        number = (day.year * 12 + day.month - 1) // months + shift
        return _days(_first_day(number * months), _first_day((number + 1) * months) - _DAY, zone)
    monday = day - _DAY * day.weekday() + _DAY * 7 * shift
    if unit == "week":
        return _days(monday, monday + _DAY * 6, zone)
    if unit == "weekend":
        return _days(monday + _DAY * 5, monday + _DAY * 6, zone)
    return _days(day + _DAY * shift, day + _DAY * shift, zone)


def _first_day(month: int) -> date:
    return date(month // 12, month % 12 + 1, 1)


def _before(now: datetime, count: int, unit: str) -> datetime:
    if unit not in _MONTHS_IN:
        return (now.astimezone(UTC) - _LENGTHS[unit] * count).astimezone(now.tzinfo)
    first = _first_day(now.year * 12 + now.month - 1 - count * _MONTHS_IN[unit])
    last = _calendar("month", first, 0, None).span.end - _DAY
    return now.replace(year=first.year, month=first.month, day=min(now.day, last.day))


def _amount(match: re.Match[str]) -> tuple[int, str]:
    """How many of which unit."""
    count, unit = (match["count"] or "1").lower(), match["unit"].lower()
    return int(LEXICON.numbers("numbers", 1).get(count, count)), "week" if unit in LEXICON.numbers(
        "weekdays"
    ) else _units()[unit]


def _read_ago(match: re.Match[str], now: datetime) -> TimeMention:
    count, unit = _amount(match)
    moment = _before(now, count, unit)
    if unit in _WITHIN_DAYS:
        return TimeMention(Span(moment.astimezone(UTC), moment.astimezone(UTC) + _LENGTHS[unit]))
    return _calendar(unit, moment.date(), 0, now.tzinfo)


def _read_rolling(match: re.Match[str], now: datetime) -> TimeMention:
    """`last 7 days`: those and today."""
    count, unit = _amount(match)
    moment = _before(now, max(1, count), unit)
    if unit in _WITHIN_DAYS:
        return TimeMention(Span(moment.astimezone(UTC), now.astimezone(UTC)))
    return _days(moment.date(), now.date(), now.tzinfo)


def _read_relative(match: re.Match[str], now: datetime) -> TimeMention:
    """`last week`, `this Friday`, `next month`."""
    word, shift = match["word"].lower(), 0 if match["this"] else 1 if match["next"] else -1
    if word in _units():
        return _calendar(_units()[word], now.date(), shift, now.tzinfo)
    ahead = LEXICON.numbers("weekdays")[word] - now.weekday()
    days = {0: ahead, 1: ahead % 7 or 7, -1: ahead % 7 - 7}
    return _calendar("day", now.date(), days[shift], now.tzinfo)


def _read_end(match: re.Match[str], now: datetime) -> TimeMention:
    """`by the end of the month`: its last day."""
    last = (_calendar(match["unit"].lower(), now.date(), 0, None).span.end - _DAY).date()
    return _days(last, last, now.tzinfo)


def _read_day(match: re.Match[str], now: datetime) -> TimeMention:
    word = re.sub(r"[\s_]+", " ", match[0].lower()).replace("’", "'")
    if word == "hier" and len(match.string) > 4 and not pattern("french").search(match.string):
        raise ValueError
    days = LEXICON.numbers("days")
    back = days[word] if word in days else (now.weekday() - LEXICON.numbers("weekdays")[word]) % 7
    return _calendar("day", now.date(), -back, now.tzinfo)


def _read_month(match: re.Match[str], now: datetime) -> TimeMention:
    name, day, year, is_last = match["month"], match["day"] or match["day2"], match["year"], match["last"]
    month, today = LEXICON.numbers("months", 1)[name.lower()], now.date()
    if not (day or year or is_last) and _is_false_friend(match, name):
        raise ValueError
    is_ahead = (month, int(day or 1)) > (today.month, today.day) or (is_last and month == today.month)
    first = date(int(year or today.year - bool(is_ahead)), month, int(day or 1))
    recurs = not year and not is_last
    return _calendar("day" if day else "month", first, 0, now.tzinfo)._replace(recurs=recurs)


def _is_false_friend(match: re.Match[str], name: str) -> bool:
    """Whether a month's name alone is another word: the verbs may and march, Mars, mayo, somebody called Jan."""
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    if name.lower() not in words("risky_months") or len(match.string) == len(name):
        return False
    if pattern("before_month").search(before):
        return False
    return name not in ("May", "March") or not before.strip() or before.rstrip()[-1] in ".!?:\n"


def _read_numbers(match: re.Match[str], now: datetime) -> TimeMention:
    """Dates, weeks, months, quarters and years in figures."""
    return _by_numbers({name: int(text) for name, text in match.groupdict().items() if text}, now)


def _by_numbers(part: Mapping[str, int], now: datetime) -> TimeMention:
    """The time with this year `y`, quarter `q`, month `m`, week `w` or day `d`; without a year, the last one."""
    year, zone, recurs = part.get("y", now.year), now.tzinfo, "y" not in part
    if "w" in part:
        first = date.fromisocalendar(year, part["w"], 1)
        is_ahead = recurs and first > now.date()
        return _calendar("week", date.fromisocalendar(year - 1, part["w"], 1) if is_ahead else first, 0, zone)
    first = date(year, part.get("m", part.get("q", 1) * 3 - 2), part.get("d", 1))
    shift = -4 if recurs and first > now.date() else 0
    unit = "day" if "d" in part else "month" if "m" in part else "quarter" if "q" in part else "year"
    return _calendar(unit, first, shift, zone)._replace(recurs=recurs)


def _read_nth_quarter(match: re.Match[str], now: datetime) -> TimeMention:
    """`the first quarter`, `3. Quartal 2026`."""
    nth = int(match["q"] or LEXICON.numbers("quarter_ordinals", 1)[match["nth"].lower()])
    return _by_numbers({"q": nth} | ({"y": int(match["y"])} if match["y"] else {}), now)


def _read_day_of_month(match: re.Match[str], now: datetime) -> TimeMention:
    """The last day with that number, and in that month if one is named, that is not in the future."""
    if match["m"]:
        month, day = int(match["m"]), int(match["d3"])
        return _calendar("day", date(now.year - ((month, day) > (now.month, now.day)), month, day), 0, now.tzinfo)
    day, month = int(match["d"] or match["d2"]), now.year * 12 + now.month - 1
    first = _first_day(month - (day > now.day))
    return _calendar("day", first.replace(day=day), 0, now.tzinfo)


def _read_slashes(match: re.Match[str], now: datetime) -> TimeMention:
    """Read `22/10/2026` and `10/22/2026`; if both numbers may be the month, it is ambiguous."""
    one, two, year = map(int, match.groups())
    if one <= 12 and two <= 12 and one != two:
        raise ValueError
    return _calendar("day", date(year, min(one, two), max(one, two)), 0, now.tzinfo)


_WORDED: dict[str, Reader] = {
    "week_number": _read_numbers,
    "nth_week": _read_numbers,
    "nth_quarter": _read_nth_quarter,
    "day_of_month": _read_day_of_month,
    "before_ago": _read_ago,
    "ago": _read_ago,
    "rolling": _read_rolling,
    "rolling_after": _read_rolling,
    "rolling_one": _read_rolling,
    "end_of_unit": _read_end,
    "relative": _read_relative,
    "relative_after": _read_relative,
    "day": _read_day,
    "month": _read_month,
}
_FIGURES = (
    r"(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d)(?:[T ]\d\d:\d\d[\d:.Z+]*)?)?",
    r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4})",
    r"(?P<y>\d{4})-?W(?P<w>\d\d)",
    r"(?P<y>\d{4})[\s-]?Q(?P<q>[1-4])",
    r"[QT](?P<q>[1-4])[\s/-]?(?P<y>\d{4})",
    r"Q(?P<q>[1-4])",
    r"(?P<y>(?:19|20)\d\d)",
)


@cache
def _grammar() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """The patterns and their readers, compiled on first use."""
    worded = ((pattern(name), read) for name, read in _WORDED.items())
    figures = (re.compile(rf"(?<![\w/$€£-])(?<!\d[.,]){text}(?![\w/-]|[.,]\d)") for text in _FIGURES)
    slashes = re.compile(r"(?<![\w/])(\d\d?)/(\d\d?)/(\d{4})(?![\w/])")
    return *worded, *((each, _read_numbers) for each in figures), (slashes, _read_slashes)
