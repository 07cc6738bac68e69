"""Commands that look after a home: consolidate, tend, digest, checkpoint, flush, backup, purge, and `core`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from memfolio.errors import InputError, RefusedError
from memfolio.serve.cli.call import PERSON, Answer, Options, anywhere, in_empty_folder, is_home, read_bytes
from memfolio.serve.cli.output import (
    Line,
    Lines,
    Screen,
    beginning,
    diff,
    fields_of,
    for_people,
    note,
    picked,
    seq_of,
    yellow,
)
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.stores.core import CoreMemory
    from memfolio.stores.flush import Flushed
    from memfolio.tend.tend import JobResult, Tending
    from memfolio.vault.purge.purge import Purged, PurgePlan

SHOWN = 5
"""How many changes of a job are named."""
SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}
WORD = "purge"
MOST = 20
"""How many files that a purge changes are listed at most."""


def tend(
    options: Options,
    job: list[str] | None = None,
    session: list[str] | None = None,
    everyone: bool = False,
    dry_run: bool = False,
) -> Answer:
    from memfolio.vault.vault import Vault

    config = options.config()
    agents = [config.agent]
    if everyone:
        with Vault.open(config=config) as vault:
            agents = vault.agents()
    found = [_tend_one(replace(options, agent=agent), job or [], session or [], dry_run=dry_run) for agent in agents]
    lines = [line for each in found for line in _tended(each, is_asked=bool(job or session), is_one=len(found) == 1)]
    failed = any(done.error for tending in found for done in tending.done)
    document = {"agents": [fields_of(each) for each in found], "dry_run": dry_run}
    return Answer(document, lines, status=1 if failed else 0)


def _tend_one(options: Options, jobs: list[str], sessions: list[str], *, dry_run: bool) -> Tending:
    def progress(job: str, done: int, total: int) -> None:
        things = "memories" if job == "embed" else "conversations"
        options.wait.step(things, f"Tending {options.agent}: {job}", done, total)

    with options.memory() as memory:
        return memory.tend(jobs=jobs, sessions=sessions, dry_run=dry_run, on_progress=progress)


def _tended(tending: Tending, *, is_asked: bool, is_one: bool) -> Iterator[Line]:
    telling = [done for done in tending.done if done.did or done.notes or done.error or is_asked]
    if not is_one:
        yield tending.agent, "bold"
    for done in telling:
        yield from _job(done, dry_run=tending.dry_run)
    if not telling:
        yield "Nothing is due." if not tending.done else "Nothing to do."
    if tending.waiting:
        yield f"Out of time; left for the next run: {', '.join(tending.waiting)}", "yellow"


def _job(done: JobResult, *, dry_run: bool) -> Iterator[Line]:
    if dry_run and done.diff:
        yield diff(for_people(done.diff))
    did = (done.error and f"failed: {done.error}") or done.did or "nothing to do"
    more = ", …" if len(done.changes) > SHOWN else ""
    seqs = f"  (change {', '.join(map(str, done.changes[:SHOWN]))}{more})" if done.changes else ""
    yield f"{done.job}{' (dry run)' if dry_run and done.did else ''}: {did}{seqs}", "red" if done.error else ""
    yield from yellow(f"  {each}" for each in done.notes)


def digest(
    memory: Memory,
    scope: str = "all",
    /,
    since: datetime | None = None,
    current: bool = False,
    dry_run: bool = False,
) -> Answer:
    if scope not in (*SCOPES, "all"):
        raise InputError(f"{scope[:40]!r} has no digests", hint=f"say {', '.join(SCOPES)} or all")
    levels = list(SCOPES.values()) if scope == "all" else [SCOPES[scope]]
    built, changes = memory.digest(levels, since=since, current=current, dry_run=dry_run)
    seq = changes.receipts[-1].seq if changes.receipts else None
    document = {"digests": list(built.paths), "edited": list(built.edited), "fresh": built.fresh, "seq": seq}
    return Answer(document | picked(changes, "notes diff dry_run"))


def flush(
    options: Options,
    file: str | None = None,
    /,
    session: str | None = None,
    user: str | None = None,
    compaction: int | None = None,
    prompt: bool = False,
    dry_run: bool = False,
) -> Answer:
    from memfolio.stores.flush import flush_prompt, nothing_in

    if prompt:
        with options.memory() as memory:
            text = flush_prompt(memory.vault.home.now(), memory.vault.home.zone)
        return Answer({"prompt": text}, text.rstrip())
    if file is None:
        raise InputError("no transcript is named", hint="name a file, or - for standard input")
    # What is no UTF-8 in a transcript does not matter.
    data = read_bytes(file, "name a file with a transcript").decode("utf-8-sig", "replace")
    found = nothing_in(data)
    # A conversation in which nothing is to be kept makes no home.
    if found is None or is_home(options.config(create=anywhere)):
        with options.memory(create=in_empty_folder) as memory:
            found = memory.flush(data, session=session, user=user, compaction=compaction, dry_run=dry_run)
    return _flushed(found, dry_run=dry_run)


def _flushed(found: Flushed, *, dry_run: bool) -> Answer:
    document = {
        **picked(found, "path core problems diff"),
        "checkpoint": fields_of(found.checkpoint) if found.checkpoint else None,
        "memories": [picked(each, "content type kind confidence") for each in found.drafts],
        "ids": [each.id for each in found.memories],
        "seq": seq_of(found),
        "repeated": found.receipt is not None and found.receipt.repeated,
        "dry_run": dry_run,
    }
    lines: list[Line] = list(map(note, found.problems))
    saved = f"{counted(len(found.drafts), 'memory', 'memories')}{f' and {found.path}' if found.path else ''}"
    if document["repeated"]:
        done = f"The same was saved already, (change {document['seq']})."
    elif not (found.drafts or found.path or found.core):
        done = "Nothing to save."
    else:
        lines += [f"{each.type}: {beginning(each.content, 200)}" for each in found.drafts]
        lines += [f"core: {beginning(line, 200)}" for line in found.core]
        done = f"{saved} {'would be ' if dry_run else ''}saved"
    return Answer(document, [*lines, (done, "bold")])


def purge(options: Options, what: list[str], dry_run: bool = False, yes: bool = False) -> Answer:
    with options.memory() as memory:
        if not dry_run and not yes:
            seen = memory.purge(*what, dry_run=True, by=PERSON)
            _ask_for_word(options, seen)
            what = [each.id for each in seen.plan.memories]
        options.wait.start("Purging")
        options.wait.say("Looking through files and history")
        done = memory.purge(*what, dry_run=dry_run, by=PERSON, on_progress=partial(_show_purge, options))
    plan, proof = done.plan, done.proof
    document: dict[str, Any] = {
        "purged": [{"id": each.id, "why": each.why or "named"} for each in plan.memories],
        **picked(plan, "files history related"),
        "git": plan.git or None,
        "seqs": done.seqs,
        "dry_run": proof is None,
        "searched": picked(proof, "files cached objects") if proof else None,
        **(picked(proof, "left unsought") if proof else {"left": None, "unsought": None}),
    }
    return Answer(document, list(_purged(done)), status=1 if proof and not proof.is_clean else 0)


def _show_purge(options: Options, job: str, done: int, total: int) -> None:
    """The bar of a purge: what is counted in this part of it, and how much of that is done."""
    options.wait.step(job, "Purging:", done, total)


def _ask_for_word(options: Options, seen: Purged) -> None:
    """Ask the person to type a word; without a terminal, only `--yes` counts."""
    if options.as_json or not sys.stdin.isatty():
        count = counted(len(seen.plan.memories), "memory", "memories")
        message = f"this would destroy {count} for good; there is no terminal to confirm in"
        raise RefusedError(message, hint="see it with --dry-run, then add --yes")
    options.wait.stop()
    Screen(errors=True).show(list(_preview(seen.plan)))
    if typer.prompt(f'Type "{WORD}" to destroy this', err=True, default="", show_default=False).strip() != WORD:
        raise typer.Abort


def _preview(plan: PurgePlan) -> Iterator[Line]:
    """Yield what would be purged, where it is, and what is out of reach."""
    from memfolio.vault.purge.purge import OUT_OF_REACH

    rows = [(each.id, each.why or "named", beginning(each.content, 120)) for each in plan.memories]
    yield lambda screen: screen.table(("id", "why", "memory"), rows, wide="memory", headed=False)
    yield ""
    for path, size in sorted(plan.files.items())[:MOST]:
        yield f"{path}: {counted(size, 'byte')} would be removed"
    if len(plan.files) > MOST:
        yield f"and {len(plan.files) - MOST} more files"
    versions = f"{counted(sum(plan.history.values()), 'version')} of {counted(len(plan.history), 'file')}"
    yield f"History is not rewritten: {plan.git}" if plan.git else f"git: {versions} would be rewritten"
    yield from _staying(plan)
    yield f"Out of reach: {'; '.join(OUT_OF_REACH)}"
    yield "This cannot be undone.", "bold"


def _staying(plan: PurgePlan) -> Iterator[str]:
    """Yield memories that stay although they may mention it."""
    if plan.related:
        yield f"Kept, but may say the same, check: {', '.join(plan.related)}"


def _purged(done: Purged) -> Iterator[Line]:
    """Yield what was purged and what was searched afterwards; purged texts are not repeated."""
    plan, proof = done.plan, done.proof
    if proof is None:
        yield from _preview(plan)
        yield "Nothing was changed.", "bold"
        return
    seqs = f" (change {', '.join(map(str, done.seqs))})" if done.seqs else ""
    yield f"{counted(len(plan.memories), 'memory', 'memories')} destroyed{seqs}", "bold"
    searched = f"{counted(proof.files + proof.cached, 'file')} and {counted(proof.objects, 'git object')}"
    yield f"Searched {searched}. Found: {len(proof.left) or 'nothing'}"
    yield from ((f"not looked for: {each}", "red") for each in proof.unsought)
    yield from ((f"left in {place}", "red") for place in proof.left)
    yield from _staying(plan)
    if plan.git:
        yield f"History was not rewritten: {plan.git}"


def core_show(found: CoreMemory) -> Lines:
    lines: list[Line] = [note(found.notice)] if found.notice else []
    for block in found.blocks:
        share = found.share(block)
        lines.append((f"{block.name}  ({block.tokens:,}{f' of {share:,}' if share else ''} tokens)", "bold"))
        lines += [f"  {item.text}" for item in block.items]
    if not found.text:
        lines.append(("Core memory is empty.", "dim"))
    lines.append((f"{found.tokens:,} of {found.cap:,} tokens, {found.path}", "dim"))
    return lines
