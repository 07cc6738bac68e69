"""The mind of an agent: its nine pages as one object, with a verb for each, and reminders that come up when due."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partialmethod
from pathlib import Path
from typing import Any

from memfolio.arguments import check_known, text_of
from memfolio.errors import HomeError, InputError, NotFoundError, PolicyError
from memfolio.index.mind_pages import (
    KINDS,
    LIVE,
    NAME,
    ItemStatus,
    MindItem,
    MindItemKind,
    MindPage,
    Value,
    cues,
    kind_of,
    pick,
    read_value,
    show_value,
)
from memfolio.index.search import PlainSearch
from memfolio.knowledge.facts import Facts, origin_of, triple_named
from memfolio.learn.words import Lexicon
from memfolio.recall.searcher import Searcher
from memfolio.redact.redactor import Redactor
from memfolio.stores.checkpoint import make
from memfolio.text import match_expression, searchable, terms
from memfolio.types import Attribution, Origin, frozen
from memfolio.vault.change import Change, PutPage
from memfolio.vault.fields import check_content, local, midnight, normalise_content, read_moment, utc
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import new_id
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

# Prospective memory: what comes up by itself when its time or its topic has come. Pure, and without a model.

AHEAD = timedelta(days=1)
END_OF_DAY = (23, 59)
"""Hour and minute of a deadline that names a day."""
LEXICON = Lexicon(Path(__file__).parent / "data")
"""What each list of words and each pattern is for stands beside it there."""
_BESIDE = " qzx"
"""Beside another word, function words are never searched for."""


@frozen
class Reminder:
    """An item that comes up, and why."""

    item: MindItem
    why: str
    at: datetime
    """When it is or was due; the present if its topic came up."""


def reminders(
    items: Iterable[MindItem], now: datetime, *, about: str = "", ahead: timedelta = AHEAD, most: int | None = None
) -> list[Reminder]:
    """Return due reminders: those whose topic came up, then the earliest due, then by priority.

    `about` is the current topic or task; times without a zone are in the zone of `now`.
    """
    # Made when an item first asks for it: in most homes none comes up with a topic.
    said = cache(lambda: PlainSearch([searchable(about)]) if about else None)
    found = list[Reminder]()
    for item in items:
        reasons = sorted(_reasons(item, now, said, ahead)) if item.status is ItemStatus.ACTIVE else []
        if reasons:
            at = now if any(at == now for at, _ in reasons) else reasons[0][0]
            found.append(Reminder(item=item, why="; ".join(why for _, why in reasons), at=at))
    return sorted(found, key=lambda each: (each.at != now, each.at, -each.item.priority, each.item.id))[:most]


def _reasons(
    item: MindItem, now: datetime, said: Callable[[], PlainSearch | None], ahead: timedelta
) -> Iterator[tuple[datetime, str]]:
    deadline = item.deadline
    if deadline and deadline < now:
        yield deadline, f"overdue since {_shown(deadline, now)}"
    elif deadline and now >= _opening(deadline, now, ahead):
        yield deadline, f"due {_shown(deadline, now)}"
    for cue in cues(item.fields.get("when", "")):
        if at := read_moment(cue, now.tzinfo or UTC):
            if at <= now:
                yield at, f"its time came {_shown(at, now)}"
        elif (words := topic_words(cue)) and (text := said()) and text.best(match_expression(words, all_of=True), 1):
            yield now, f"when: {cue}"


@lru_cache(maxsize=1 << 14)
def topic_words(cue: str) -> tuple[str, ...]:
    """Return the content words of a topic."""
    # Alone, function words would be kept for want of others.
    words = terms(LEXICON.pattern("coming").sub(" ", cue) + _BESIDE)
    return tuple(word for word in words if word != _BESIDE.strip() and not re.search(r"\w\W+\w", word.replace(" ", "")))


def _opening(deadline: datetime, now: datetime, ahead: timedelta) -> datetime:
    """From when on a deadline comes up; one at the end of a day does so from the beginning of a day on."""
    here = local(deadline, now.tzinfo or UTC) - ahead
    return here.replace(hour=0, minute=0) if (here.hour, here.minute) == END_OF_DAY else here


def _shown(moment: datetime, now: datetime) -> str:
    here = local(moment, now.tzinfo or UTC)
    return f"{here:%H:%M}" if here.date() == now.date() else here.date().isoformat()


# The mind of an agent: its nine pages as one object, with a verb for each, and what its items rest on.

Fields = Mapping[str, Any]
MINDER = Attribution(actor="bot:mind", trigger="mind")
RAISED = "any that raises an origin: refuse"
TITLE = 72
"""Characters of a title that is made from a text."""
MOST = 1 << 20
"""Bytes that an item may have."""


@frozen
class Link:
    """A reference in a field of an item."""

    field: str
    id: str
    says: str = ""
    why_not: str = ""
    """Why it does not hold: forgotten, superseded, retracted, missing, or how it ended."""

    @property
    def holds(self) -> bool:
        return not self.why_not


class Mind:
    """An agent's identity, abilities, beliefs, desires and commitments; its pages are the truth."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str) -> None:
        self._vault, self._searcher, self._agent = vault, searcher, agent
        self._facts = Facts(vault, searcher, agent)
        self._clean = Redactor(vault.config.redact, vault.home.hash).clean
        self._pages: dict[str, tuple[str | None, MindPage]] = {}

    def path(self, kind: MindItemKind | str) -> str:
        """The file of a page."""
        return f"{agent_root(self._agent)}/mind/{kind_of(kind).page}.md"

    def page(self, kind: MindItemKind | str) -> MindPage:
        """Return a page; one that is missing or unreadable is empty."""
        try:
            return self._read(kind_of(kind))[1]
        except HomeError:
            return self._page(kind_of(kind), "")

    def _read(self, kind: MindItemKind) -> tuple[str | None, MindPage]:
        # Most homes have few of these pages, and to look whether one is there is quicker than to open it.
        found = self._vault.page(self.path(kind)) if self._vault.glance(self.path(kind)) else None
        # Parsing is dear and pages change seldom: one is kept as long as its hash stays.
        mark, known = found.hash if found else None, self._pages.get(kind.page)
        if known is None or known[0] != mark:
            text = to_text(found.content) if found else f"# {kind.page}\n"
            known = self._pages[kind.page] = mark, self._page(kind, text)
        return known

    def _page(self, kind: MindItemKind, text: str) -> MindPage:
        return MindPage(kind, text, agent=self._agent, zone=self._vault.home.zone)

    def items(self, kind: MindItemKind | str | None = None, *, live: bool = True) -> list[MindItem]:
        """The items of a page, or of all, who the agent is first; with `live`, only those that still count."""
        pages = [self.page(each) for each in (KINDS if kind is None else [kind])]
        found = [page.head for page in pages if page.kind.verb == "be" and page.head.fields]
        found += [item for page in pages for item in page.items]
        return [item for item in found if item.is_live or not live]

    def get(self, name: str) -> MindItem:
        """Return the item with this id, title or part of a title; active items come first."""
        try:
            return pick(name, self.items(), "the mind")
        except NotFoundError:
            return pick(name, [*self.items(live=False), self.page("persona").head], "the mind")

    def add(
        self,
        kind: MindItemKind | str,
        text: str,
        *,
        title: str | None = None,
        by: Attribution = MINDER,
        dry_run: bool = False,
        **fields: Any,
    ) -> MindItem:
        """Add an item to a page; without a title, the first words of the text are the title.

        A field whose name is a Python keyword takes a trailing underscore, as in `from_`.
        """
        kind, now = kind_of(kind), self._vault.home.now()
        title, text = self._told(title, text)
        values = {"created": self._today()} | self._checked(kind, fields, by)
        ordered = {name: values[name] for name in kind.fields if values.get(name) is not None}

        def compose(page: MindPage) -> tuple[str, str]:
            own = new_id(kind.prefix, now, {item.id for item in page.items})
            return own, page.adding(own, title, text, ordered)

        return self._write(kind, compose, by, dry_run=dry_run)

    can = partialmethod(add, "capability")
    believe = partialmethod(add, "belief")
    want = partialmethod(add, "desire")
    aim = partialmethod(add, "goal")
    intend = partialmethod(add, "intention")
    plan = partialmethod(add, "plan")
    commit = partialmethod(add, "commitment")
    learn = partialmethod(add, "learning")

    def be(self, *, by: Attribution = MINDER, dry_run: bool = False, **fields: Any) -> MindItem:
        """Say who the agent is: `role`, `title`, `department` and `autonomy`, at the head of Persona.md."""
        if not fields:
            raise InputError("nothing says who the agent is", hint="give its role, department or autonomy")
        return self._edit(self.page("persona").head, fields, by, dry_run=dry_run)

    def update(
        self,
        name: str,
        *,
        text: str | None = None,
        title: str | None = None,
        by: Attribution = MINDER,
        dry_run: bool = False,
        **fields: Any,
    ) -> MindItem:
        """Change an item; None removes a field, and fields that are not given stay.

        If an item consists of its title alone, a new text becomes its title.
        """
        if text is title is None and not fields:
            raise InputError("nothing says what to change", hint="give a text, a title, or fields")
        item = self.get(name)
        if text is None and title is None:
            return self._edit(item, fields, by, dry_run=dry_run)
        values = {"updated": self._today()} | self._checked(item.kind, fields, by)

        def compose(page: MindPage) -> tuple[str, str]:
            was = page.find(item.id).item
            is_title = text is not None and (not was.text or self._told(None, was.text)[0] == was.title)
            told = self._told(title or (None if is_title else was.title), was.text if text is None else text)
            return item.id, page.rewriting(item.id, *told, values)

        return self._write(item.kind, compose, by, dry_run=dry_run)

    def _edit(self, item: MindItem, fields: Fields, by: Attribution, *, dry_run: bool) -> MindItem:
        values = {"updated": self._today()} | self._checked(item.kind, fields, by)
        edits = {item.id: values}
        return self._write(item.kind, lambda page: (item.id, page.editing(edits)), by, dry_run=dry_run)

    def retire(
        self, name: str, status: ItemStatus | str = ItemStatus.RETIRED, *, reason: str | None = None, **how: Any
    ) -> MindItem:
        """End an item as retired, done, dropped …; `how` takes the other arguments of `update`."""
        why: dict[str, Any] = {} if reason is None else {"reason": reason}
        return self.update(name, status=status, **why, **how)

    def problems(self) -> list[str]:
        """Return what could not be understood on the pages, with file and line."""
        return [f"{self.path(kind)}: {problem}" for kind in KINDS for problem in self._problems(kind)]

    def _problems(self, kind: MindItemKind) -> list[str]:
        try:
            page = self._read(kind)[1]
        except HomeError as error:
            return [f"it cannot be read: {error.message}"]
        return list(page.problems)

    def due(self, about: str = "", now: datetime | None = None) -> list[Reminder]:
        """Return the reminders that are due, by time or because `about` mentions their topic."""
        config, home = self._vault.config.mind, self._vault.home
        here = utc("now", now or home.now()).astimezone(home.zone)
        timed = [item for kind in KINDS if "deadline" in kind.fields for item in self.items(kind)]
        return reminders(timed, here, about=about, ahead=config.ahead, most=config.reminders)

    def links(self, item: MindItem) -> list[Link]:
        """Return what an item refers to, each with whether it still holds."""
        known = _by_name(self.items(live=False))
        named = [(field, name) for field in item.kind.links for name in item.links(field)]
        return [self._link(field, name, known.get(name.casefold())) for field, name in named]

    def _link(self, field: str, name: str, item: MindItem | None) -> Link:
        if item:
            why_not = "" if item.status in (*LIVE, ItemStatus.DONE) else item.status.value
            return Link(field=field, id=item.id, says=item.title, why_not=why_not)
        if found := self._searcher.locate(name):
            memory = found[1].item
            superseded = f"superseded by {memory.superseded_by}" if memory.superseded_by else ""
            ended = "ended" if memory.valid_until and memory.valid_until <= self._vault.home.now() else ""
            says = "" if memory.forgotten_at else textwrap.shorten(memory.content, 200, placeholder="…")
            why_not = "forgotten" if memory.forgotten_at else superseded or ended
            return Link(field=field, id=name, says=says, why_not=why_not)
        try:
            fact = self._facts.get(name)
            return Link(field=field, id=fact.id, says=" ".join(fact.triple))
        except NotFoundError:
            known = (index.read(lambda db: triple_named(db, name)) for index in self._searcher.indexes())
            triple: Iterable[str] = next(filter(None, known), ())
            return Link(field=field, id=name, says=" ".join(triple), why_not="retracted" if triple else "missing")

    def _write(
        self, kind: MindItemKind, compose: Callable[[MindPage], tuple[str, str]], by: Attribution, *, dry_run: bool
    ) -> MindItem:
        """Write the page that `compose` makes of the one that is there; the item is the one whose id it returns."""

        def composed() -> tuple[MindItem, Change | None]:
            mark, page = self._read(kind)
            own, text = compose(page)
            after = self._page(kind, text)
            item = pick(own, (after.head, *after.items), kind.page)
            put = PutPage(self.path(kind), to_bytes(text), mark)
            return item, Change.of_page(put, by) if text != page.text else None

        with nullcontext() if dry_run else self._vault.exclusive():  # of several writers, each finds the one before
            item = make(self._vault, composed, dry_run=dry_run)[0]
        page = self.page(kind)  # where secrets are taken out
        return item if dry_run else pick(item.id, (page.head, *page.items), kind.page)

    def _told(self, title: str | None, text: str) -> tuple[str, str]:
        """Check and redact title and text; the title is taken from redacted text, so it cannot cut a secret in two."""
        text = normalise_content(text_of(text)).strip()
        check_content(text, MOST)
        text = self._clean(text)
        short = " ".join(text.split())
        first = textwrap.shorten(short, TITLE, placeholder="…")
        head = " ".join((title or (first if first != "…" else short[:TITLE])).split())
        check_content(head, MOST)
        return head, "" if head == short and "\n" not in text else text

    def _today(self) -> datetime:
        return midnight(self._vault.home.now(), self._vault.home.zone)

    def _checked(self, kind: MindItemKind, fields: Fields, by: Attribution) -> dict[str, Any]:
        """Check the given fields; InputError says what belongs there."""
        given = {name.removesuffix("_"): value for name, value in fields.items()}
        check_known(f"a {kind.name} has no", given, kind.fields)
        values = {name: value if value is None else self._value(kind, name, value) for name, value in given.items()}
        links = [each for name in kind.links for each in values.get(name) or ()]
        for each in links if origin_of(self._vault, by) is not Origin.OWNER else ():
            if (found := self._searcher.locate(each)) and found[1].item.origin is Origin.UNTRUSTED:
                hint = "let the owner do it, or name something else"
                raise PolicyError(f"{each} is a stranger's word, and supports nothing", row=RAISED, hint=hint)
        return values

    def _value(self, kind: MindItemKind, name: str, value: Any) -> Any:
        wanted, zone = kind.fields[name], self._vault.home.zone
        if wanted is Value.NAMES and isinstance(value, list | tuple | set | frozenset):
            return tuple(dict.fromkeys(self._known(str(each)) for each in value)) or None
        shown = " ".join(show_value(utc(name, value) if isinstance(value, datetime) else value, zone, name).split())
        try:
            found = read_value(name, wanted, shown, zone)
        except ValueError as error:
            raise InputError(f"{name} is {shown[:40]!r}", hint=f"it should be {error}") from error
        if wanted is Value.TEXT:
            check_content(shown, MOST)
        if name == "when" and not any(read_moment(cue, zone) or topic_words(cue) for cue in cues(shown)):
            raise InputError(f"when is {shown[:40]!r}", hint="give a time, or words that name a topic")
        return tuple(map(self._known, found)) if wanted is Value.NAMES else found

    def _known(self, name: str) -> str:
        """The id of what is named: a memory, a fact, or an item of the mind, which may be named by its title."""
        # What does not look like an id is a title; only items of the mind have titles.
        if not NAME.fullmatch(name) or any(name == item.id for item in self.items(live=False)):
            return self.get(name).id
        link = self._link("", name, None)
        if not link.holds:
            raise NotFoundError(
                f"{name} is {link.why_not}", hint="name a memory, a fact or an item of the mind that holds"
            )
        return link.id


def _by_name(items: Iterable[MindItem]) -> dict[str, MindItem]:
    """Items by their titles and their ids, both in small letters."""
    found = list(items)
    # Ids last: they win over a title that looks like one.
    return {item.title.casefold(): item for item in found} | {item.id.casefold(): item for item in found}
