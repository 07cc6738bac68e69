"""Everyday commands: init, remember, observe, show."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from memfolio.errors import NotFoundError, RefusedError, SearchIndexError
from memfolio.serve.cli.brief import standing, tagged
from memfolio.serve.cli.call import Answer, Options, anywhere, in_empty_folder, is_home, read_text
from memfolio.serve.cli.importance import read_importance
from memfolio.serve.cli.output import Screen, as_document
from memfolio.serve.cli.pages import day_pages, page_path
from memfolio.serve.cli.times import find_day, read_moment
from memfolio.vault.fields import local
from memfolio.vault.paths import agent_root

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.index.lookup import Located
    from memfolio.memory import Memory
    from memfolio.types import MemoryItem
    from memfolio.vault.fields import Draft

FROM = "Where it comes from; everything of a source can be undone."


def init(options: Options, yes: bool = False) -> Answer:
    config = options.config(create=anywhere)
    existed = is_home(config)
    if not existed and not yes and (config.home / ".git").exists():
        hint = "take another folder with --home, or say --yes: then every change of the memory is a commit there"
        raise RefusedError(f"{config.home} is a git repository of something else", hint=hint)
    with options.memory(create=anywhere) as memory:
        home, agent = memory.vault.config.home, memory.agent
    word = "was a home already" if existed else "is a home now"
    return Answer({"home": home, "agent": agent, "created": not existed}, lambda screen: screen.say(f"{home} {word}"))


def remember(
    options: Options,
    text: str,
    type: str = "observation",
    importance: str = "0.5",
    tag: list[str] | None = None,
    kind: str | None = None,
    store: str = "long_term",
    source: str = "manual",
    origin: str | None = None,
    key: str | None = None,
    session: str | None = None,
    user: str | None = None,
    at: str | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
) -> Answer:
    from memfolio.intake import draft_of

    words, config = read_text(text), options.config(create=in_empty_folder)
    given: dict[str, Any] = {
        "type": type,
        "importance": read_importance(importance),
        "tags": tag or (),
        "kind": kind,
        "store": store,
        "source": source,
        "origin": origin,
        "key": key,
        "session": session,
        "user": user,
        "at": read_moment(config, at),
        "valid_from": read_moment(config, valid_from),
        "valid_until": read_moment(config, valid_until),
    }
    check_size(draft_of(content=words, **given), config)
    made = what_is_made(config)
    with options.memory(create=in_empty_folder) as memory:
        return stored(options, memory, memory.remember(words, **given), made)


def observe(
    options: Options,
    role: str,
    text: str,
    session: str | None = None,
    user: str | None = None,
    source: str | None = None,
    at: str | None = None,
) -> Answer:
    from memfolio.intake import turn_of

    words, config = read_text(text), options.config(create=in_empty_folder)
    given: dict[str, Any] = {"session": session, "user": user, "source": source, "at": read_moment(config, at)}
    check_size(turn_of({"role": role, "content": words, **given}), config)
    made = what_is_made(config)
    with options.memory(create=in_empty_folder) as memory:
        return stored(options, memory, memory.observe(role, words, **given), made)


def show(options: Options, what: str = "today", /) -> Answer:
    from memfolio.intake import ANY_ID, one_id

    with options.memory() as memory:
        day = find_day(what.lower(), memory.vault.home.zone, memory.vault.home.now())
        if day is not None:
            return show_day(memory, day, missing_ok=what == "today")
        if ANY_ID.search(what) and ANY_ID.fullmatch(one_id(what)):
            return show_memory(memory, what.strip())
        return show_page(memory, what)


def check_size(draft: Draft, config: Config) -> None:
    """Refuse what is too long before a home is made for it."""
    from memfolio.vault.fields import check_content

    check_content(draft.content, config.max_content_bytes)


def what_is_made(config: Config) -> dict[str, object]:
    """What has to be made for the first memory: a home, or the folder of an agent in one, whose name may be a slip."""
    if not is_home(config):
        return {"made_home": config.home}
    is_there = (config.home / agent_root(config.agent)).exists()
    others = not is_there and (config.home / "agents").exists()
    return {"made_agent": config.agent} if others else {}


def stored(options: Options, memory: Memory, item: MemoryItem, made: dict[str, object]) -> Answer:
    """What was written and where, and what was `made` for it."""
    path = place_of(memory, item)

    def draw(screen: Screen) -> None:
        words = {"made_home": "made a home in", "made_agent": "made the agent"}
        options.tell([f"{words[name]} {value}" for name, value in made.items()])
        screen.say(f"{item.id}  {path}")

    return Answer(as_document(item, path=path, policy=memory.gate.decided, **made), draw)


def place_of(memory: Memory, item: MemoryItem) -> str | None:
    """The file in which a memory was written, read from the files: it is there whatever state the index is in."""
    day = local(item.event_time or item.created_at, memory.vault.home.zone).date()
    paths = [page.path for page in day_pages(memory, day) if item.id in page.text]
    if paths:
        return paths[0]
    try:
        found = memory.find(item.id)
    except SearchIndexError:
        return None
    return found.path if found else None


def located(memory: Memory, id: str) -> Located:
    found = memory.find(id)
    if found is None:
        raise memory.library.not_found(id)
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
    at = local(item.event_time or item.created_at, memory.vault.home.zone)
    marks = [*standing(item), *(["archived"] if found.archived else [])]
    where = f"{found.path} ({', '.join(marks)})" if marks else found.path
    head = f"{item.id}  {at:%Y-%m-%d %H:%M:%S}  {item.type} · {item.importance:g}  {tagged(item)}"

    def draw(screen: Screen) -> None:
        screen.say(head.rstrip(), "bold")
        screen.say(where, "dim")
        if item.fate:
            screen.say(item.fate, "yellow")
        screen.say(f"\n{item.content}")

    return Answer(as_document(item, path=found.path, archived=found.archived), draw)


def show_page(memory: Memory, name: str) -> Answer:
    path = page_path(memory, name)
    page = memory.vault.page(path) if memory.vault.shows(path) else None
    if page is None:
        raise NotFoundError(f"there is no page {path}", hint="name it as it lies below the home or the agent's folder")
    return Answer({"path": path, "hash": page.hash, "text": page.text}, lambda screen: screen.page(page.text))
