"""Where a thing goes that comes in: what is written for it, checked one by one, so that a flaw stays with its thing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memfolio.errors import ConflictError, InputError
from memfolio.exchange.incoming import Lore, Note, Sheet, Thing
from memfolio.exchange.ledger import Known, mark_of
from memfolio.intake import draft_of, turn_of
from memfolio.knowledge.case import line_of, read_case
from memfolio.memory import Memory
from memfolio.types import EMPTY, Origin
from memfolio.vault.change import PutPage
from memfolio.vault.format.content import check_content, encoded
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import MAX_TRACKED_BYTES, Form, agent_root, check_path, form_of

Written = Draft | PutPage | Mapping[str, Any] | None
"""What is written for a thing: an entry, a page, or a line; nothing where a page stands there as it is."""
ASIDE = "memory/imported"
"""The folder for pages whose own place is taken, or is not for pages."""
KEPT = ("memory/meta/evolution.md", "memory/vault/", "memory/graph/entities/")
RESERVED = ("memory/meta/", "memory/graph/", "knowledge/", "sessions/index")
"""Where memfolio keeps its own account of things, with exceptions."""


class Placing:
    """Places the things of one source in the memory of an agent, as the word of `origin`."""

    def __init__(self, memory: Memory, source: str, origin: Origin, known: Known) -> None:
        self._vault, self._root = memory.vault, agent_root(memory.agent)
        self._name, self._source, self._origin, self._known = source, f"import:{source}", origin, known
        self._facts = memory.facts
        self._taken: set[str] = set()

    def written(self, thing: Thing) -> Written:
        """What is written for a thing; raises InputError or ConflictError where it cannot be taken over."""
        is_strange = self._origin is Origin.UNTRUSTED
        match thing:
            case Note():
                return self._draft(thing)
            case Sheet() if is_strange:  # only memories can be kept in quarantine
                return self._draft(Note(ref=thing.ref, content=thing.text, fields={"attributes": {"page": thing.path}}))
            case Sheet():
                return self._page(thing)
            case Lore(room="facts"):
                said = {name: value for name, value in thing.fields.items() if value is not None}
                line = {"source": self._source, **said, **({"origin": self._origin.value} if is_strange else {})}
                self._facts.check_many([line])
                return line
            case Lore(room="cases"):
                return self._case(thing.fields)
        if is_strange:
            raise InputError("is a rule of a stranger, and rules decide what is concluded")
        return thing.fields

    def _case(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        case = read_case({**fields, "origin": self._origin})
        was = {name: fields[name] for name in ("case_id", "stored_at") if fields.get(name)}
        return {"op": "store", **line_of(case), "origin": self._origin.value, **({"was": was} if was else {})}

    def _draft(self, note: Note) -> Draft:
        given = dict(note.fields)
        beside = {"ref": note.ref, "author": note.author, "source": given.pop("source", None)}
        attributes = {**given.pop("attributes", EMPTY), **{name: value for name, value in beside.items() if value}}
        # A source may say that a stranger wrote something, and nothing better than whoever imports it.
        at, is_strange = self._moment(note.at), Origin.UNTRUSTED in (given.pop("origin", None), self._origin)
        origin = Origin.UNTRUSTED if is_strange else self._origin
        if note.role is None:
            whose = {"origin": origin, "source": self._source, "attributes": attributes}
            draft = draft_of(content=note.content, at=at, session=note.session, **{**given, **whose})
        else:
            turn = self._turn(note, at, attributes, given)
            draft = turn._replace(origin=origin) if is_strange else turn
        check_content(draft.content, self._vault.config.max_content_bytes)
        return draft

    def _turn(self, note: Note, at: datetime | None, attributes: Mapping[str, Any], given: Mapping[str, Any]) -> Draft:
        """A turn of a conversation, with what else is known about it; it is no more trusted than when it is heard."""
        told = {"role": note.role, "content": note.content, "session": note.session, "user": given.get("user")}
        turn = turn_of({**told, "at": at, "attributes": attributes, "source": self._source})
        more = draft_of(content=note.content, **given) if given.keys() - {"user"} else None
        return turn._replace(**{name: getattr(more, name) for name in given}) if more else turn

    def _moment(self, at: datetime | None) -> datetime | None:
        return at.replace(tzinfo=self._vault.home.zone) if at is not None and at.utcoffset() is None else at

    def _page(self, sheet: Sheet) -> PutPage | None:
        """The page as it is written: at its place, else aside; None where it stands there as it is."""
        data = encoded(sheet.text)
        if len(data) > MAX_TRACKED_BYTES or "\0" in sheet.text:
            raise InputError("is not text" if "\0" in sheet.text else "is too large for a page")
        aside = f"{ASIDE}/{self._name}/{sheet.path}"
        for inside in (sheet.path, aside) if _is_free(sheet.path) else (aside,):
            path = check_path(f"{self._root}/{inside}")
            page = self._vault.page(path)
            if path.casefold() in self._taken:
                continue
            if page is None or page.content == data or mark_of(sheet.ref, page.text) in self._known.marks():
                self._taken.add(path.casefold())
                return None if page and page.content == data else PutPage(path, data, page.hash if page else None)
        raise ConflictError(f"{aside} is there already and says something else")


def _is_free(path: str) -> bool:
    """Whether a page may have this place: it is Markdown, no log, and nothing that memfolio writes by itself."""
    is_page = path.endswith(".md") and form_of(f"agents/x/{path}") is Form.PAGE
    return is_page and (path.startswith(KEPT) or not path.startswith(RESERVED))
