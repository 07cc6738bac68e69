"""Readers of typed values: times and days, importance, named values, files, and short names of pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.clock import SystemClock
from memfolio.errors import InputError
from memfolio.serve.cli.call import read_file, read_text
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED, agent_root, day_log

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory
    from memfolio.vault.change import Page

HINT = "write it like 2026-11-15, 2026-11-15T14:30, yesterday, last_week or 7d"
SCALE = "0 to 1, where 1 is the most; or 2 to 10, of ten; or low, medium, high"
TOP = ("agents", SHARED, AUDIT)


def find_time(text: str, zone: tzinfo, now: datetime) -> datetime | None:
    """Return the time that `text` names, or None; days and weeks mean their beginning in the given zone."""
    from memfolio.recall.dates import moment_of

    return moment_of(text, now, zone, end=False)


def read_moment(config: Config, text: str | None) -> datetime | None:
    """Return the time that an option names, in the home's time zone; None if it is not given."""
    if text is None:
        return None
    moment = find_time(text, config.zone, SystemClock().now())
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint=HINT)
    return moment


def find_day(text: str, zone: tzinfo, now: datetime) -> date | None:
    """The day that a text names."""
    from memfolio.recall.dates import span_of

    span = span_of(text, now, zone)
    is_day = span and span.start.time() == time() and span.end.date() - span.start.date() == timedelta(days=1)
    return span.start.date() if span and is_day else None


def read_importance(text: str) -> float:
    """Read an importance as a number from 0 to 1, from a share, a grade of ten or a word."""
    from memfolio.vault.fields import read_importance, read_number

    value, number = read_importance(text), read_number(text)
    if value is None or (number is not None and number > 1 and not number.is_integer()):
        raise InputError(f"{text[:40]!r} is not an importance", hint=f"use {SCALE}")
    return value


def read_confidence(text: str) -> Any:
    from memfolio.govern.proposals import read_value

    return read_value("confidence", text)


def read_value(text: str) -> Any:
    """Return a value parsed as JSON if possible, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_pairs(texts: Iterable[str]) -> dict[str, str]:
    """The values of `key=value` texts."""
    pairs = [each.partition("=") for each in texts]
    if lost := next((each for each in pairs if not (each[0].strip() and each[1])), None):
        raise InputError(f"{''.join(lost)[:40]!r} is no value", hint="write it like urgent=yes, a name before the =")
    return {name.strip(): value for name, _, value in pairs}


def read_values(texts: Iterable[str]) -> dict[str, Any]:
    """The same, with JSON for values."""
    return {name: read_value(value) for name, value in read_pairs(texts).items()}


def read_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Settings of an agent: a switch is true or false, and `reads` is a list."""
    from memfolio.vault.agents import KEYS

    given = read_pairs(texts)
    if lost := [name for name in given if name not in KEYS]:
        raise InputError(f"{lost[0][:40]!r} is no setting", hint=f"there are {', '.join(KEYS)}")
    switches = {"true": True, "false": False}
    return {
        name: tuple(filter(None, value.split(","))) if name == "reads" else switches.get(value, value)
        for name, value in given.items()
    }


def read_triple(text: str) -> tuple[str, str, str]:
    """A fact as it is typed: `["acme", "isLate", "true"]`, or three words of which the last may have spaces."""
    from memfolio.knowledge.engine import as_triple

    given = read_value(text)
    words = given if isinstance(given, list) else text.split(maxsplit=2)
    return as_triple(words if len(words) == 3 else text)


CASE = ("situation", "solution", "outcome", "importance")


def read_case(text: str) -> dict[str, Any]:
    """The parts of a case that a JSON document has."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the case is no JSON: {str(error)[:80]}", hint="check it, or use the options") from error
    if not isinstance(given, dict) or not set(given) <= set(CASE):
        raise InputError("this is no object with the parts of a case", hint=f"use {', '.join(CASE)}")
    return given


def read_inputs(text: str) -> dict[str, Any]:
    """The inputs of a method of reasoning, given as JSON, in a file (`@name`) or on standard input."""
    try:
        found: dict[str, Any] = json.loads(Path(text[1:]).read_text("utf-8") if text[:1] == "@" else read_text(text))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the inputs cannot be read: {str(error)[:80]}", hint="give a JSON object") from error
    return found


def as_typed(given: Any) -> Any:
    return given


READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("", "stdin", "time"), as_typed),  # whoever opens the memory reads these
    "importance": read_importance,
    "confidence": read_confidence,
    "value": read_value,
    "values": read_values,
    "fields": lambda texts: {f"{name}_": value.strip() or None for name, value in read_pairs(texts).items()},
    "steps": lambda texts: read_text("-") if texts == ["-"] else texts,
    "inputs": read_inputs,
    "case": lambda text: read_case(read_text(text)),
    "settings": read_settings,
    "file": lambda name: read_file(name, "name a text file in UTF-8"),
    "words": lambda text: [each.strip() for each in text.split(",") if each.strip()],
    "phrase": lambda words: " ".join(words) or None,
    "triples": lambda texts: list(map(read_triple, texts)),
    "question": lambda words: words if len(words) == 3 else " ".join(words),
    "any": lambda name: None if name == "*" else name,
    "answers": lambda texts: read_pairs(texts) if all("=" in each[1:] for each in texts) else texts,
    "not": lambda given: not given,
}
"""How a command's row says that a typed text becomes the value that a method takes."""


def page_path(memory: Memory, name: str) -> str:
    """The path below the home of the page that `name` means, which may begin at the agent's folder."""
    if name.split("/")[0] in TOP or name in (CONFIG, GITIGNORE):
        return name
    return f"{agent_root(memory.agent)}/{name}"


def day_pages(memory: Memory, day: date) -> list[Page]:
    """The parts of a day's log."""
    ledger = day_log(memory.agent, day)
    pages: list[Page] = []
    for number in count(1):
        page = memory.vault.page(ledger.part(number))
        if page is None:
            break
        pages.append(page)
    return pages
