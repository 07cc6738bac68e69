"""Commands that look after what is remembered: consolidate, tend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memfolio.serve.cli.brief import beginning
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.difference import for_people
from memfolio.serve.cli.output import Screen, as_document, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.tend.consolidate import Consolidated
    from memfolio.tend.tend import JobResult, Tending

SHOWN = 5
"""How many changes of a job are named."""


def consolidate(
    options: Options,
    min_importance: float | None = None,
    min_access_count: int | None = None,
    summarize: bool | None = None,
    dry_run: bool = False,
) -> Answer:
    with options.memory() as memory:
        found = memory.consolidate(
            dry_run=dry_run, min_importance=min_importance, min_access_count=min_access_count, summarize=summarize
        )
    document = {
        "groups": [[each.id for each in kin] for kin in found.groups],
        "promoted": [each.id for each in found.promoted],
        "summaries": [as_document(each) for each in found.summaries],
        "diff": found.diff,
        "dry_run": dry_run,
    }
    return Answer(document, lambda screen: _consolidated(screen, found, dry_run=dry_run))


def _consolidated(screen: Screen, found: Consolidated, *, dry_run: bool) -> None:
    if not found.groups and not found.promoted:
        screen.say("Nothing proved important since the last time.")
        return
    if dry_run:
        screen.diff(for_people(found.diff))
    for summary in found.summaries:
        screen.say(f"{summary.id}  {beginning(summary.content, 100)}")
    would = "would be " if dry_run else ""
    sources = sum(map(len, found.groups))
    screen.say(
        f"{counted(sources, 'memory', 'memories')} {would}summed up in {len(found.groups)}, "
        f"{len(found.promoted)} {would}promoted as {'it is' if len(found.promoted) == 1 else 'they are'}.",
        "bold",
    )


def tend(
    options: Options,
    job: list[str] | None = None,
    session: list[str] | None = None,
    everyone: bool = False,
    dry_run: bool = False,
) -> Answer:
    from memfolio.vault.home import agents_of

    config = options.config()
    agents = agents_of(config.home) if everyone else [config.agent]
    asked = [*(["sessions"] if session else []), *(job or [])]
    found = [_tend_one(replace(options, agent=agent), job or [], session or [], dry_run=dry_run) for agent in agents]
    failed = any(done.error for tending in found for done in tending.done)
    document = {"agents": [fields_of(each) for each in found], "dry_run": dry_run}
    return Answer(document, lambda screen: _tended(screen, found, asked), status=1 if failed else 0)


def _tend_one(options: Options, jobs: list[str], sessions: list[str], *, dry_run: bool) -> Tending:
    def told(job: str, done: int, total: int) -> None:
        things = "memories" if job == "embed" else "conversations"
        options.wait.step(things, f"Tending {options.agent}: {job}", done, total)

    with options.memory() as memory:
        return memory.tend(jobs=jobs, sessions=sessions, dry_run=dry_run, told=told)


def _tended(screen: Screen, found: list[Tending], asked: list[str]) -> None:
    for tending in found:
        telling = [done for done in tending.done if done.did or done.notes or done.error or asked]
        if len(found) > 1:
            screen.say(tending.agent, "bold")
        for done in telling:
            _done(screen, done, dry_run=tending.dry_run)
        if not telling:
            screen.say("Nothing is due." if not tending.done else "Nothing had to be done.")
        if tending.waiting:
            screen.say(f"The time is up; next time: {', '.join(tending.waiting)}", "yellow")


def _done(screen: Screen, done: JobResult, *, dry_run: bool) -> None:
    if dry_run and done.diff:
        screen.diff(for_people(done.diff))
    did = (done.error and f"failed: {done.error}") or done.did or "nothing to do"
    more = ", …" if len(done.changes) > SHOWN else ""
    seqs = f"  (change {', '.join(map(str, done.changes[:SHOWN]))}{more})" if done.changes else ""
    screen.say(f"{done.job}: {'would be ' if dry_run and done.did else ''}{did}{seqs}", "red" if done.error else "")
    for note in done.notes:
        screen.say(f"  {note}", "yellow")
