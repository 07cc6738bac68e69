"""Everyday commands: init, remember, observe, context, show, status, cost; and reindex."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from memfolio.arguments import ANY_ID, draft_of, one_id, turn_of
from memfolio.errors import NotFoundError, SearchIndexError
from memfolio.serve.cli.call import Answer, Options, in_empty_folder, is_home
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import (
    Line,
    Lines,
    Screen,
    as_document,
    beginning,
    fields_of,
    happened,
    note,
    page,
    readable,
    safe,
    standing,
    tagged,
    yellow,
)
from memfolio.serve.cli.typed import day_pages, find_day, page_path, read_importance, read_moment
from memfolio.text import counted
from memfolio.vault.fields import Draft, check_content, local
from memfolio.vault.paths import agent_root

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory
    from memfolio.recall.context import Context
    from memfolio.status import Cost, DayTold, Status
    from memfolio.types import MemoryItem

MARGIN = 11
HIDDEN = ("superseded", "quarantined", "archived", "forgotten")
"""States in which a memory is hidden by default."""


def remember(
    options: Options,
    text: Text,
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
    project: str | None = None,
    audience: str | None = None,
) -> Answer:
    config = options.config(create=in_empty_folder)
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
        "project": project,
        "audience": audience,
    }
    made = _made_for(draft_of(content=text, **given), config)
    with options.memory(create=in_empty_folder) as memory:
        return _stored(memory, memory.remember(text, **given), made)


def observe(
    options: Options,
    role: str,
    text: Text,
    session: str | None = None,
    user: str | None = None,
    source: str | None = None,
    at: str | None = None,
    project: str | None = None,
    audience: str | None = None,
) -> Answer:
    config = options.config(create=in_empty_folder)
    given: dict[str, Any] = {"session": session, "user": user, "source": source, "at": read_moment(config, at)}
    given |= {"project": project, "audience": audience}
    made = _made_for(turn_of({"role": role, "content": text, **given}), config)
    with options.memory(create=in_empty_folder) as memory:
        return _stored(memory, memory.observe(role, text, **given), made)


def _made_for(draft: Draft, config: Config) -> dict[str, object]:
    """What has to be made for the first memory: a home, or the folder of an agent in one, whose name may be a slip.

    What is too long is refused before anything is made for it.
    """
    check_content(draft.content, config.max_content_bytes)
    if not is_home(config):
        return {"made_home": config.home}
    is_there = (config.home / agent_root(config.agent)).exists()
    others = not is_there and (config.home / "agents").exists()
    return {"made_agent": config.agent} if others else {}


def _stored(memory: Memory, item: MemoryItem, made: Mapping[str, object]) -> Answer:
    """Describe what was stored and where, and what was `made` for it."""
    path = _place(memory, item)
    words = {"made_home": "made a home in", "made_agent": "made the agent"}
    notes = [note(f"{words[name]} {value}") for name, value in made.items()]
    return Answer(as_document(item, path=path, policy=memory.gate.decided, **made), [*notes, f"{item.id}  {path}"])


def _place(memory: Memory, item: MemoryItem) -> str | None:
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


def context(found: Context) -> Lines:
    from memfolio.recall.context import STANDING

    crowded = [f"{STANDING[name]} has no room in {found.budget:,} tokens." for name in found.crowded]
    nothing = ["No relevant memory."] if not found.text and not crowded else []
    return [*map(note, (*found.degraded, *crowded, *nothing)), *([found.text] if found.text else [])]


def show(memory: Memory, what: str = "today", /) -> Answer:
    day = find_day(what.lower(), memory.vault.home.zone, memory.vault.home.now())
    if day is not None:
        return _day(memory, day, missing_ok=what == "today")
    if ANY_ID.search(what) and ANY_ID.fullmatch(one_id(what)):
        return _memory(memory, what.strip())
    return _page(memory, what)


def _day(memory: Memory, day: date, *, missing_ok: bool) -> Answer:
    pages = day_pages(memory, day)
    if not pages and not missing_ok:
        raise NotFoundError(f"agent {memory.agent} has no log of {day}", hint="`memfolio log` shows what happened when")
    items = [as_document(item) for item in memory.vault.entries(memory.agent, day)]
    text = "\n".join(page.text for page in pages)
    document = {"agent": memory.agent, "day": day, "paths": [page.path for page in pages], "memories": items}
    return Answer(document, page(text) if text else "No memories today.")


def _memory(memory: Memory, id: str) -> Answer:
    found = memory.find(id)
    if found is None:
        raise memory.searcher.not_found(id)
    item = found.item
    at = local(item.event_time or item.created_at, memory.vault.home.zone)
    marks = [*standing(item), *(["archived"] if found.archived else [])]
    where = f"{found.path} ({', '.join(marks)})" if marks else found.path
    head = f"{item.id}  {at:%Y-%m-%d %H:%M:%S}  {item.type} · {item.importance:g}  {tagged(item)}"
    fate = yellow([item.fate] if item.fate else [])
    lines: list[Line] = [(head.rstrip(), "bold"), (where, "dim"), *fate, f"\n{item.content}"]
    return Answer(as_document(item, path=found.path, archived=found.archived), lines)


def _page(memory: Memory, name: str) -> Answer:
    path = page_path(memory, name)
    found = memory.vault.page(path) if memory.vault.shows(path) else None
    if found is None:
        raise NotFoundError(f"there is no page {path}", hint="give its path below the home or the agent's folder")
    return Answer({"path": path, "hash": found.hash, "text": found.text}, page(found.text))


def status(found: Status, memory: Memory) -> Answer:
    from memfolio.serve.cli.world import paused
    from memfolio.serve.hooks.kept import Health, health

    zone = memory.vault.home.zone
    hooks = health(found.home) if memory.vault.scope is None else Health()
    waiting = [f"{counted(hooks.waiting, 'event')} of hosts not processed yet"] if hooks.waiting else []
    pauses = list(paused(memory.vault.config)) if memory.vault.scope is None else []
    notes = yellow([*_concerns(found), *waiting, *pauses, *(f"hook: {safe(line)}" for line in hooks.troubles)])
    document = {**fields_of(found), "hooks": hooks, "paused": pauses}
    return Answer(document, [lambda screen: _draw_status(screen, found, zone), *notes])


def cost(found: Cost, memory: Memory) -> Lines:
    budget = memory.vault.config.model.budget
    limit = f" of {budget:,} a day" if budget else ""
    lines: list[Line] = [("language models" + (f"{limit}, for all processes of the home" if limit else ""), "bold")]
    for each in found.models:
        dropped = "".join(f", {count:,} {why}" for why, count in each.dropped.items())
        waits = f", {each.reserved:,} reserved" if each.reserved else ""
        parts = f"{each.tokens_in:,} in ({each.overhead:,} of the host's own), {each.tokens_out:,} out{waits}{dropped}"
        lines.append(f"{each.day}  {counted(each.calls, 'call')}: {parts}")
        lines += yellow([f"stopped: {safe(each.stopped)}"] if each.stopped else [])
    lines += ["no calls"] * (not found.models)
    lines.append(("\nadded to prompts by hooks, counted when a conversation ends", "bold"))
    for day in found.told:
        lines.append(f"{day.day}  {_told(day)}")
    return lines + ["nothing was added"] * (not found.told)


def _told(day: DayTold) -> str:
    added = f"context added {counted(day.times, 'time')}: {counted(day.told, 'memory', 'memories')}"
    became = f"{day.cited:,} cited, {day.corrected:,} corrected"
    without = f"; none for {counted(day.silent, 'prompt')}" if day.silent else ""
    return f"{added}, {became}; {day.tokens:,} tokens, {day.tokens_each:,} a conversation{without}"


def _draw_status(screen: Screen, found: Status, zone: tzinfo) -> None:
    from rich.text import Text

    screen.say(f"{found.home}, agent {found.agent}\n", "bold")
    for name, value in (*_counts(found, zone), *_home(found)):
        screen.hang(Text(f"{name:{MARGIN}}", "cyan"), Text(safe(value)))
    if found.recent:
        screen.say("\nlatest\n", "bold")
        rows = [(happened(each, zone), each.role or each.type, beginning(each.content, 200)) for each in found.recent]
        screen.table(("", " ", "memory"), rows, wide="memory", headed=False)


def _counts(found: Status, zone: tzinfo) -> Iterator[tuple[str, str]]:
    yield "memories", f"{found.memories:,}"
    counts = found.counts
    if counts is None:
        return
    hidden = {name: number for name in HIDDEN if (number := getattr(counts, name))}
    if counts.stores:
        yield "  stores", " · ".join(f"{number:,} {name.replace('_', '-')}" for name, number in counts.stores.items())
    if hidden:
        yield "  hidden", _parts(hidden)
    if passages := counts.forms.get("passage"):
        yield "pages", counted(passages, "searchable passage")
    if blocks := counts.forms.get("note"):
        yield "notes", counted(blocks, "searchable block")
    if items := counts.forms.get("mind"):
        yield "mind", counted(items, "item")
    if known := {f"{form}s": counts.forms[form] for form in ("fact", "case") if form in counts.forms}:
        yield "knowledge", _parts(known)
    yield "entities", f"{counts.entities:,}"
    waiting = f", {counted(counts.waiting, 'vector')} missing" if counts.waiting else ""
    yield "embedder", f"{found.embedder}{waiting}"
    for job, at in counts.jobs.items():
        yield "job", f"{job}, last {local(datetime.fromisoformat(at), zone):%Y-%m-%d %H:%M}"


def _home(found: Status) -> Iterator[tuple[str, str]]:
    if found.told:
        yield "by hooks", f"today {_told(found.told)}; a conversation is counted when it ends"
    yield "changes", f"{found.changes:,}"
    waiting = counted(found.waiting, "change waits", "changes wait")
    yield "git", f"{waiting}: {found.obstacle}" if found.waiting else "up to date"
    yield "alerts", f"{found.alerts:,}, see `memfolio alerts`" if found.alerts else "none"
    if found.proposals:
        yield "proposals", f"{found.proposals:,} pending, see `memfolio proposals`"
    for each in found.due:
        yield "due", " ".join(each.split())
    if found.reflection:
        yield "reflection", "pending, see `memfolio approve`"
    sizes = " · ".join(f"{name} {readable(size)}" for name, size in found.bytes.items())
    yield "disk", f"{readable(sum(found.bytes.values()))}: {sizes}"


def _concerns(found: Status) -> Iterator[str]:
    """Yield what a person should look at."""
    if found.trouble:
        yield f"home: {found.trouble}"
    yield from (each for each in found.degraded if each != f"home: {found.trouble}")
    yield from (f"{path} {problem}" for path, problem in found.problems.items())
    if found.counts:
        yield from (f"{path}: {each}" for path, problems in found.counts.problems.items() for each in problems)


def _parts(numbers: Mapping[str, int]) -> str:
    return " · ".join(f"{name} {number:,}" for name, number in numbers.items())


def reindex(options: Options) -> Answer:
    started = time.monotonic()
    with options.memory() as memory:
        files = memory.reindex(options.wait)
        memories, degraded = memory.status().memories, memory.searcher.degraded()
    seconds = round(time.monotonic() - started, 1)
    return Answer({"files": files, "memories": memories, "seconds": seconds, "degraded": degraded})
