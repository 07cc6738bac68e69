"""What a change would write, without its secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from memfolio.redact.redactor import Redactor
from memfolio.types import Action, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.format.draft import Draft

T = TypeVar("T")
ACTIONS = frozenset({Action.CREATE, Action.EDIT, Action.APPEND, Action.COMMIT, Action.PROPOSE})
"""What brings texts in; what moves, restores or undoes keeps its bytes."""

_KEPT = frozenset("id op at actor trigger approval memory by to session until job path paths type".split())
"""Fields of records by which things are found again."""


def clean_change(change: Change, redactor: Redactor, current: Callable[[str], bytes | None]) -> Change:
    """The change with markers in place of what the redactor finds; the same object where it finds nothing.

    `current` gives a file's content as it is: of a page only lines that are not there yet are looked at.
    """
    if change.action not in ACTIONS:
        return change
    operations = _each(change.operations, lambda operation: _operation(operation, redactor, current))
    return change if operations is change.operations else replace(change, operations=operations)


def _operation(operation: Operation, redactor: Redactor, current: Callable[[str], bytes | None]) -> Operation:
    match operation:
        case AddEntries(_, items):
            cleaned = _each(items, lambda item: _item(item, redactor))
            return operation if cleaned is items else replace(operation, items=cleaned)
        case AddLines(_, records):
            lines = _each(records, lambda record: _record(record, redactor))
            return operation if lines is records else replace(operation, records=lines)
        case PutPage(path, bytes() as content, _):
            page = _page(content, redactor, current(path) or b"")
            return operation if page == content else replace(operation, content=page)
    return operation


def _each(values: tuple[T, ...], clean: Callable[[T], T]) -> tuple[T, ...]:
    """Every value clean; the same tuple where that changes none."""
    cleaned = tuple(map(clean, values))
    return values if all(one is other for one, other in zip(cleaned, values, strict=True)) else cleaned


def _item(item: MemoryItem | Draft, redactor: Redactor) -> MemoryItem | Draft:
    content, tags = redactor.clean(item.content), redactor.clean_value(item.tags)
    attributes = redactor.clean_value(item.attributes)
    if content is item.content and tags is item.tags and attributes is item.attributes:
        return item
    if isinstance(item, Draft):
        return item._replace(content=content, tags=tags, attributes=attributes)
    return replace(item, content=content, tags=tags, attributes=attributes)


def _record(record: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    found = {name: value for name, value in record.items() if name not in _KEPT}
    cleaned = redactor.clean_value(found)
    return record if cleaned is found else {**record, **cleaned}


def _page(content: bytes, redactor: Redactor, current: bytes) -> bytes:
    """A page whose lines that come in are clean; lines side by side are looked at as one text."""
    before = set(current.split(b"\n")) - {b""}
    groups = groupby(content.split(b"\n"), before.__contains__)
    return b"\n".join(_lines(b"\n".join(lines), redactor, known=known) for known, lines in groups)


def _lines(lines: bytes, redactor: Redactor, *, known: bool) -> bytes:
    if known:
        return lines
    return redactor.clean(lines.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
