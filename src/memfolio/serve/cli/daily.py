"""Everyday commands: init, remember, observe, show, status."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import Answer, Command, Options, is_home, read_text
from memfolio.serve.cli.output import Screen, as_document
from memfolio.serve.cli.pages import day_pages, page_path
from memfolio.serve.cli.times import find_day, read_time
from memfolio.types import ID_PATTERN, Store, Type

if TYPE_CHECKING:
    from datetime import datetime

    from memfolio.index.lookup import Located
    from memfolio.memory import Memory
    from memfolio.status import Status
    from memfolio.types import MemoryItem

TYPES = ", ".join(Type)
STORES = ", ".join(Store)
Words = Annotated[str, typer.Argument(help="The text, or - to read it from standard input.", show_default=False)]
At = Annotated[str | None, typer.Option(help="When it happened: 2026-11-15, 2026-11-15T14:30, yesterday, 2h ago.")]
Session = Annotated[str | None, typer.Option(help="The session it belongs to; a session can be undone as a whole.")]
User = Annotated[str | None, typer.Option(help="The person it is about.")]


def init(options: Options) -> Answer:
    """Make a home: a folder with its settings, its trail and its git history."""
    existed = is_home(options.config(create=True))
    with options.memory(create=True) as memory:
        home, agent = memory.vault.config.home, memory.agent
    word = "was a home already" if existed else "is a home now"
    return Answer({"home": home, "agent": agent, "created": not existed}, lambda screen: screen.say(f"{home} {word}"))


def remember(
    options: Options,
    text: Words,
    type: Annotated[str, typer.Option(help=f"What it is: {TYPES}.")] = "observation",
    importance: Annotated[str, typer.Option(help="0 to 1, or up to 10, or low, medium, high.")] = "0.5",
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be given several times.")] = None,
    store: Annotated[str, typer.Option("--store", "--tier", help=f"Where it is kept: {STORES}.")] = "long_term",
    source: Annotated[str, typer.Option(help="Where it comes from; everything of a source can be undone.")] = "manual",
    key: Annotated[str | None, typer.Option(help="Remembering the same key twice makes one memory.")] = None,
    at: At = None,
    session: Session = None,
    user: User = None,
) -> Answer:
    """Keep something on purpose."""
    words = read_text(text)
    with options.memory(create=True) as memory:
        item = memory.remember(
            words,
            type=type,
            importance=read_importance(importance),
            tags=tag or (),
            store=store,
            source=source,
            key=key,
            at=moment(memory, at),
            session=session,
            user=user,
        )
        return stored(memory, item)


def observe(
    options: Options,
    role: Annotated[str, typer.Argument(help="Who spoke: user, assistant, system, tool.", show_default=False)],
    text: Words,
    session: Session = None,
    user: User = None,
    at: At = None,
) -> Answer:
    """Note one turn of a conversation."""
    words = read_text(text)
    with options.memory(create=True) as memory:
        item = memory.observe(role, words, session=session, user=user, at=moment(memory, at))
        return stored(memory, item)


def show(
    options: Options,
    what: Annotated[str, typer.Argument(help="The id of a memory, a day, or a page.")] = "today",
) -> Answer:
    """Show a memory, the log of a day, or a page."""
    with options.memory() as memory:
        day = find_day(what.lower(), memory.vault.home.zone, memory.vault.home.now())
        if day is not None:
            return show_day(memory, day, missing_ok=what == "today")
        if ID_PATTERN.fullmatch(what) or what.startswith("H-"):
            return show_memory(memory, what)
        return show_page(memory, what)


def status(options: Options) -> Answer:
    """Show how the home is doing."""
    with options.memory() as memory:
        found = memory.status()
    return Answer(asdict(found), lambda screen: draw_status(screen, found))


def read_importance(text: str) -> float:
    from memfolio.vault.format.fields import read_importance

    value = read_importance(text)
    if value is None:
        raise InputError(f"{text[:40]!r} is not an importance", hint="use 0 to 1, or up to 10, or low, medium, high")
    return value


def moment(memory: Memory, text: str | None) -> datetime | None:
    home = memory.vault.home
    return None if text is None else read_time(text, home.zone, home.now())


def stored(memory: Memory, item: MemoryItem) -> Answer:
    path = located(memory, item.id).path
    return Answer(as_document(item, path=path), lambda screen: screen.say(f"{item.id}  {path}"))


def located(memory: Memory, id: str) -> Located:
    found = memory.find(id)
    if found is None:
        raise NotFoundError(f"agent {memory.agent} has no memory {id[:80]}", hint="`memfolio show DAY` shows their ids")
    return found


def show_day(memory: Memory, day: date, *, missing_ok: bool) -> Answer:
    pages = day_pages(memory, day)
    if not pages and not missing_ok:
        raise NotFoundError(f"agent {memory.agent} has no log of {day}", hint="`memfolio log` shows what happened when")
    items = [as_document(item) for item in memory.vault.entries(memory.agent, day)]
    text = "\n".join(page.text for page in pages)
    return Answer(
        {"agent": memory.agent, "day": day, "paths": [page.path for page in pages], "memories": items},
        lambda screen: screen.page(text) if text else screen.say("Nothing is remembered of today."),
    )


def show_memory(memory: Memory, id: str) -> Answer:
    found = located(memory, id)
    item = found.item
    at = (item.event_time or item.created_at).astimezone(memory.vault.home.zone)
    where = f"{found.path} (archived)" if found.archived else found.path
    head = (
        f"{item.id}  {at:%Y-%m-%d %H:%M:%S}  {item.type} · {item.importance:g}  {' '.join(f'#{t}' for t in item.tags)}"
    )

    def draw(screen: Screen) -> None:
        screen.say(head.rstrip(), "bold")
        screen.say(where, "dim")
        screen.say(f"\n{item.content}")

    return Answer(as_document(item, path=found.path, archived=found.archived), draw)


def show_page(memory: Memory, name: str) -> Answer:
    path = page_path(memory, name)
    page = memory.vault.page(path)
    if page is None:
        raise NotFoundError(f"there is no page {path}", hint="name it as it lies below the home or the agent's folder")
    return Answer({"path": path, "hash": page.hash, "text": page.text}, lambda screen: screen.page(page.text))


def draw_status(screen: Screen, found: Status) -> None:
    waiting = f"{found.waiting} changes wait: {found.obstacle}" if found.waiting else "has everything"
    rows = [("home", found.home), ("agent", found.agent), ("memories", found.memories), ("changes", found.changes)]
    rows += [("git", waiting), ("alerts", f"{found.alerts}, see `memfolio alerts`" if found.alerts else "none")]
    rows += [("trouble", found.trouble)] if found.trouble else []
    screen.table(("", ""), rows)
    for path, problem in found.problems.items():
        screen.say(f"{path} {problem}", "yellow")


COMMANDS = (
    Command(init, "init --home ~/memfolio"),
    Command(remember, 'remember "Alex prefers tea" --type preference --tag drinks'),
    Command(observe, 'observe user "Let us meet on Friday" --session s-42'),
    Command(show, "show yesterday"),
    Command(status, "status"),
)
