"""The commands `checkpoint` and `flush`: saving what an agent is at, before its context is cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.brief import beginning
from memfolio.serve.cli.call import (
    PERSON,
    Answer,
    Options,
    anywhere,
    in_empty_folder,
    is_home,
    read_text,
)
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.stores.flush import Flushed


def _listed(flag: str, help: str) -> Any:
    return typer.Option(flag, metavar="TEXT", help=f"{help} May be repeated.")


def checkpoint(
    options: Options,
    context: str,
    decision: list[str] | None = None,
    finding: list[str] | None = None,
    next_: list[str] | None = None,
    question: list[str] | None = None,
    session: str | None = None,
    dry_run: bool = False,
) -> Answer:
    from memfolio.stores.checkpoint import Checkpoint, write

    given = Checkpoint.from_args(
        read_text(context), decisions=decision, findings=finding, next_steps=next_, open_questions=question
    )
    with options.memory(create=in_empty_folder) as memory:
        now = memory.vault.home.now()
        written = write(
            memory.vault, memory.agent, given, now=now, by=replace(PERSON, session=session), dry_run=dry_run
        )
    seq = written.receipt.seq if written.receipt else None
    found = {"path": written.path, "seq": seq, "dry_run": dry_run, "checkpoint": fields_of(given), "diff": written.diff}

    def draw(screen: Screen) -> None:
        screen.say(written.path if seq is not None else written.diff.rstrip(), "bold" if seq is not None else "")

    return Answer(found, draw)


def flush(
    options: Options,
    file: str | None = None,
    /,
    session: str | None = None,
    user: str | None = None,
    compaction: int | None = None,
    check: bool = False,
    prompt: bool = False,
    tokens: int | None = None,
    window: int | None = None,
    dry_run: bool = False,
) -> Answer:
    from memfolio.stores.flush import flush_prompt, nothing_in

    if prompt:
        with options.memory() as memory:
            text = flush_prompt(memory.vault.home.now(), memory.vault.home.zone)
        return Answer({"prompt": text}, lambda screen: screen.say(text.rstrip()))
    if check:
        with options.memory() as memory:
            return due(memory, tokens, window, compaction, session)
    if file is None:
        raise InputError("no transcript is named", hint="name a file, or - for standard input")
    data = read_file(file)
    found = nothing_in(data)
    if found is None or is_home(options.config(create=anywhere)):
        with options.memory(create=in_empty_folder) as memory:
            found = memory.flush(data, session=session, user=user, compaction=compaction, dry_run=dry_run)
    return flushed(options, found, dry_run=dry_run)


def read_file(name: str) -> str:
    """A transcript from a file or from standard input."""
    if name == "-":
        return read_text(name)
    try:
        return Path(name).read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}", hint="name a file with a transcript") from error


def due(memory: Memory, tokens: int | None, window: int | None, compaction: int | None, session: str | None) -> Answer:
    if tokens is None or compaction is None:
        raise InputError(
            "--check needs --tokens and --compaction", hint="say how full the context is, and how often it was cut"
        )
    is_due = memory.should_flush(tokens, compaction=compaction, session=session, window=window)
    window = window or memory.vault.config.flush.window
    document = {"due": is_due, "tokens": tokens, "window": window, "compaction": compaction}
    return Answer(document, lambda screen: screen.say("due" if is_due else "not due"))


def flushed(options: Options, found: Flushed, *, dry_run: bool) -> Answer:
    receipt = found.receipt
    is_repeated = receipt is not None and receipt.repeated
    document = {
        "path": found.path,
        "checkpoint": fields_of(found.checkpoint) if found.checkpoint else None,
        "memories": [
            {"content": each.content, "type": each.type, "kind": each.kind, "confidence": each.confidence}
            for each in found.drafts
        ],
        "ids": [each.id for each in found.memories],
        "core": found.core,
        "problems": found.problems,
        "seq": receipt.seq if receipt else None,
        "repeated": is_repeated,
        "dry_run": dry_run,
        "diff": found.diff,
    }

    def draw(screen: Screen) -> None:
        options.tell(found.problems)
        if is_repeated and receipt:
            screen.say(f"The same was saved already, as change {receipt.seq}.", "bold")
            return
        for each in found.drafts:
            screen.say(f"{each.type}: {beginning(each.content, 200)}")
        for line in found.core:
            screen.say(f"core: {beginning(line, 200)}")
        saved = f"{counted(len(found.drafts), 'memory', 'memories')}{f' and {found.path}' if found.path else ''}"
        nothing = not (found.drafts or found.path or found.core)
        screen.say(
            "There was nothing to save." if nothing else f"{saved}{' would be saved' if dry_run else ' saved'}", "bold"
        )

    return Answer(document, draw)
