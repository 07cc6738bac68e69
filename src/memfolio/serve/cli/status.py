"""The commands `status` and `reindex`: how the home and its index are doing, and building the index anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING

from memfolio.serve.cli.brief import beginning, happened
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen, fields_of, safe
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.index.lookup import Counts
    from memfolio.status import Status

Row = tuple[str, str]
MARGIN = 11
UNITS = ("B", "kB", "MB", "GB", "TB")


def status(options: Options) -> Answer:
    from memfolio.serve.hooks.kept import Health, health

    with options.memory() as memory:
        found, zone = memory.status(), memory.vault.home.zone
        hooks = health(found.home) if memory.vault.scope is None else Health()

    def draw(screen: Screen) -> None:
        draw_status(screen, found, zone)
        if hooks.waiting:
            screen.say(f"{counted(hooks.waiting, 'event')} of hosts wait to be taken up", "yellow")
        for line in hooks.troubles:
            screen.say(f"hook: {safe(line)}", "yellow")

    return Answer({**fields_of(found), "hooks": hooks}, draw)


def reindex(options: Options) -> Answer:
    started = time.monotonic()
    with options.memory() as memory:
        files = memory.reindex(options.wait)
        memories, degraded = memory.status().memories, memory.library.degraded()
    seconds = round(time.monotonic() - started, 1)
    document = {"files": files, "memories": memories, "seconds": seconds, "degraded": degraded}
    words = f"{counted(files, 'file')} with {counted(memories, 'memory', 'memories')} indexed in {seconds} s"

    def draw(screen: Screen) -> None:
        options.tell(degraded)
        screen.say(words)

    return Answer(document, draw)


def draw_status(screen: Screen, found: Status, zone: tzinfo) -> None:
    from rich.text import Text

    screen.say(f"{found.home}, agent {found.agent}\n", "bold")
    for name, value in (*rows_of_counts(found), *rows_of_home(found)):
        screen.hang(Text(f"{name:{MARGIN}}", "cyan"), Text(safe(value)))
    if found.recent:
        screen.say("\nlatest\n", "bold")
        rows = [(happened(each, zone), each.role or each.type, beginning(each.content, 200)) for each in found.recent]
        screen.table(("", " ", "memory"), rows, wide="memory", headed=False)
    for line in concerns(found):
        screen.say(line, "yellow")


def rows_of_counts(found: Status) -> Iterator[Row]:
    yield "memories", f"{found.memories:,}"
    counts = found.counts
    if counts is None:
        return
    for name, numbers in (("stores", counts.stores), ("kinds", counts.kinds), ("aside", asides(counts))):
        if numbers:
            yield f"  {name}", parts(numbers)
    if passages := counts.forms.get("passage"):
        yield "pages", f"{counted(passages, 'passage')} that can be found"
    if items := counts.forms.get("mind"):
        yield "mind", counted(items, "item")
    if known := {f"{form}s": counts.forms[form] for form in ("fact", "case") if form in counts.forms}:
        yield "knowledge", parts(known)
    yield "ties", parts(counts.edges) or "none"
    yield "entities", f"{counts.entities:,}"
    waiting = f", {counted(counts.waiting, 'vector')} to be made" if counts.waiting else ""
    yield "embedder", f"{found.embedder}{waiting}"
    for job, at in counts.jobs.items():
        yield "job", f"{job}, last {at}"


def rows_of_home(found: Status) -> Iterator[Row]:
    yield "changes", f"{found.changes:,}"
    waiting = counted(found.waiting, "change waits", "changes wait")
    yield "git", f"{waiting}: {found.obstacle}" if found.waiting else "has everything"
    yield "alerts", f"{found.alerts:,}, see `memfolio alerts`" if found.alerts else "none"
    if found.proposals:
        yield "proposals", f"{counted(found.proposals, 'waits', 'wait')}, see `memfolio proposals`"
    for each in found.due:
        yield "due", " ".join(each.split())
    if found.reflection:
        yield "reflection", "one waits, see `memfolio approve`"
    sizes = " · ".join(f"{name} {readable(size)}" for name, size in found.bytes.items())
    yield "disk", f"{readable(sum(found.bytes.values()))}: {sizes}"


def asides(counts: Counts) -> Mapping[str, int]:
    """What is not in plain sight, as far as there is any."""
    names = ("superseded", "quarantined", "archived", "forgotten")
    return {name: number for name in names if (number := getattr(counts, name))}


def concerns(found: Status) -> Iterator[str]:
    """What a person should look at."""
    if found.trouble:
        yield f"home: {found.trouble}"
    yield from (each for each in found.degraded if each != f"home: {found.trouble}")
    yield from (f"{path} {problem}" for path, problem in found.problems.items())
    if found.counts:
        yield from (f"{path}: {each}" for path, problems in found.counts.problems.items() for each in problems)


def parts(numbers: Mapping[str, int]) -> str:
    return " · ".join(f"{name} {number:,}" for name, number in numbers.items())


def readable(size: int) -> str:
    """Bytes as a person says them."""
    power = min(len(UNITS) - 1, max(0, len(str(size)) - 1) // 3)
    value = size / 1000**power
    return f"{value:.1f} {UNITS[power]}" if power and value < 10 else f"{value:.0f} {UNITS[power]}"
