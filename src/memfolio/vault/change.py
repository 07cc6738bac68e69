"""Changes to a vault and their results; the access that a speaker has; redaction before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from memfolio.errors import InputError
from memfolio.redact.redactor import Redactor
from memfolio.types import Action, Attribution, MemoryItem, frozen
from memfolio.vault.fields import Draft
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import Ledger


@dataclass(frozen=True, slots=True)
class AddEntries:
    """Append memories to an agent's daily logs; ids and creation times are given by the writer."""

    agent: str
    items: tuple[MemoryItem | Draft, ...]


@dataclass(frozen=True, slots=True)
class NewId:
    """Stands in a record for the id of a memory that an earlier operation of the same change adds, counted from 0."""

    index: int


@dataclass(frozen=True, slots=True)
class AddLines:
    """Append records to a JSON-lines ledger; each gets an id with `prefix`, a time and its attribution.

    A field of a record, or a part of a list in it, may be a `NewId`.
    """

    ledger: Ledger
    records: tuple[Mapping[str, Any], ...]
    prefix: str = "S"


@dataclass(frozen=True, slots=True)
class AddBlocks:
    """Append blocks that have their ids already, such as entries found in a conflict copy."""

    ledger: Ledger
    blocks: tuple[bytes, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutPage:
    """Replace a whole file composed against content with hash `expects` (None: it must not exist yet).

    `content` None deletes the file.
    """

    path: str
    content: bytes | None
    expects: str | None

    @classmethod
    def over(cls, page: Page | None, path: str, content: bytes | None) -> PutPage:
        """Replace this page, or make it where there is none."""
        return cls(path, content, page.hash if page else None)


Operation = AddEntries | AddLines | AddBlocks | PutPage


@frozen
class Change:
    """Operations that happen together or not at all, by one actor."""

    operations: tuple[Operation, ...]
    by: Attribution
    action: Action
    about: tuple[int, ...] = ()
    key: str | None = None
    """The mark (`Home.key_mark`) under which the same change is made only once."""

    @classmethod
    def of_page(cls, put: PutPage, by: Attribution) -> Change:
        """Write one page, which is made where there is none."""
        return cls(operations=(put,), by=by, action=Action.EDIT if put.expects else Action.CREATE)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A change that an access has admitted, or that the vault makes itself; the writer accepts no other."""

    change: Change


@frozen
class Receipt:
    """An acknowledged change: it is on disk. `repeated` says that its key had been used and nothing was written."""

    seq: int
    at: str
    action: Action
    paths: tuple[str, ...]
    items: tuple[MemoryItem, ...] = ()
    ids: tuple[str, ...] = ()
    repeated: bool = False


@frozen
class UndoResult:
    """The effect of an undo or rollback, or its preview: the diff, and the receipt once it is done."""

    diff: str
    paths: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a file, and the hash that a change of it must name."""

    path: str
    content: bytes
    hash: str

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


# Who may make a change, and what is taken out of it before it is made.

Shows = Callable[[str], bool]
Read = Callable[[str], bytes | None]
Place = Callable[[Draft], Draft]
"""Says of a memory where it was said, and to whom."""
Hears = Callable[[str, bytes], bytes | None]
"""What somebody may hear of a file with this path and content; None where that is nothing."""
T = TypeVar("T")
ACTIONS = frozenset({Action.CREATE, Action.EDIT, Action.APPEND, Action.COMMIT, Action.PROPOSE})
"""Actions that add text; moving, restoring and undoing keep the bytes as they are."""
NAMES = ("session", "source", "user", "key", "role")
"""Fields by which memories are found again: they cannot be changed, so a secret in one is refused."""
BY_NAMES = ("actor", "trigger", "session", "source")
_named, _by_named = attrgetter(*NAMES), attrgetter(*BY_NAMES)
_KEPT = frozenset("id op at actor trigger approval memory by to session user until job path paths type".split())


def clean_change(change: Change, redactor: Redactor, current: Read, place: Place | None = None) -> Change:
    """Return the change with markers in place of the secrets found; the same object if there are none.

    `current` returns the present content of a file: of a page, only new lines are searched. `place` adds where a memory
    was said. Raises InputError if a name, such as that of a session, is a secret.
    """
    _check_names(_names(change), redactor)
    if change.action not in ACTIONS:
        return change
    operations = _each(change.operations, lambda operation: _operation(operation, redactor, current, place))
    return change if operations is change.operations else replace(change, operations=operations)


def _names(change: Change) -> Iterator[tuple[str, str | None]]:
    yield from zip(BY_NAMES, _by_named(change.by), strict=True)
    if change.action not in ACTIONS:
        return
    for operation in change.operations:
        if isinstance(operation, AddEntries):
            for values in {_named(item) for item in operation.items}:
                yield from zip(NAMES, values, strict=True)
        elif isinstance(operation, AddLines):
            yield from ((name, record.get(name)) for record in operation.records for name in ("session", "user"))
        elif isinstance(operation, PutPage) and operation.content is not None:
            yield "name of the page", operation.path


def _check_names(names: Iterable[tuple[str, str | None]], redactor: Redactor) -> None:
    for name, value in names:
        if value and (kind := redactor.secret_in(value)):
            raise InputError(
                f"the {name} looks like a secret ({kind})",
                hint="it would be written as it is: use another one, or put it into redact.allow",
            )


def _operation(operation: Operation, redactor: Redactor, current: Read, place: Place | None) -> Operation:
    match operation:
        case AddEntries(_, items):
            clean = _each(items, lambda item: _item(_placed(item, place), redactor))
            return operation if clean is items else replace(operation, items=clean)
        case AddLines(_, records):
            return replace(operation, records=_each(records, lambda record: _record(record, redactor)))
        case PutPage(path, bytes() as content, _):
            return replace(operation, content=_clean_page(content, redactor, current(path) or b""))
    return operation


def _each(values: tuple[T, ...], clean: Callable[[T], T]) -> tuple[T, ...]:
    """Clean every value; returns the same tuple if nothing changes."""
    cleaned = tuple(map(clean, values))
    return values if cleaned == values else cleaned


def _placed(item: MemoryItem | Draft, place: Place | None) -> MemoryItem | Draft:
    return item if place is None or not isinstance(item, Draft) else place(item)


def _item(item: MemoryItem | Draft, redactor: Redactor) -> MemoryItem | Draft:
    content = redactor.clean(item.content)
    tags = redactor.clean_value(item.tags) if item.tags else item.tags
    attributes = redactor.clean_value(item.attributes) if item.attributes else item.attributes
    if content is item.content and tags is item.tags and attributes is item.attributes:
        return item
    cleaned: dict[str, Any] = {"content": content, "tags": tags, "attributes": attributes}
    return item._replace(**cleaned) if isinstance(item, Draft) else replace(item, **cleaned)


def _record(record: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    texts = {name: value for name, value in record.items() if name not in _KEPT}
    return {**record, **redactor.clean_value(texts)}


def _clean_page(content: bytes, redactor: Redactor, current: bytes) -> bytes:
    """Redact the new lines of a page; adjacent lines are searched as one text."""
    before = set(current.split(b"\n")) - {b""}
    pieces: list[bytes] = []
    for is_known, lines in groupby(content.split(b"\n"), before.__contains__):
        text = b"\n".join(lines)
        pieces.append(text if is_known else to_bytes(redactor.clean(to_text(text))))
    return b"\n".join(pieces)


class Guard(Protocol):
    """The policy: it lets a change pass as it may be made, or refuses it."""

    def complete(self, change: Change) -> Change:
        """Return the change together with those that must accompany it."""

    def __call__(self, change: Change) -> AbstractContextManager[Change]:
        """The change as it may be made, while it is made."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of one speaker over a vault. It is immutable; several may share one vault.

    Without a guard everything may be written, without a scope everything may be seen, and without `hears` everything
    is read, as by the owner. Nobody writes what the redactor takes out.
    """

    redactor: Redactor
    speaker: str
    guard: Guard | None = None
    scope: Shows | None = None
    place: Place | None = None
    hears: Hears | None = None

    def clean(self, change: Change, current: Read) -> Change:
        """Return the change without secrets; `current` returns the present content of a file."""
        return clean_change(change, self.redactor, current, self.place)

    @contextmanager
    def allowing(self, change: Change, current: Read) -> Iterator[Allowed]:
        """Yield the change as it may be made, for as long as it is being made; raises PolicyError if it is refused."""
        if self.guard is None:
            yield Allowed(self.clean(change, current))
            return
        with self.guard(self.clean(self.guard.complete(change), current)) as allowed:
            yield Allowed(allowed)
