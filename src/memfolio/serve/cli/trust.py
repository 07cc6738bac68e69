"""Commands to look back, go back and check: log, diff, undo, rollback, verify, doctor, alerts, adopt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConfigError, InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.entries import draw_entries
from memfolio.serve.cli.output import Screen, for_people
from memfolio.serve.cli.sourced import undo_source
from memfolio.serve.cli.typed import find_time, page_path
from memfolio.text import counted
from memfolio.types import Action
from memfolio.vault.paths import CONFIG, GITIGNORE

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.vault.past.past import UndoResult
    from memfolio.vault.past.report import Finding
    from memfolio.vault.trail import TrailLine

ACTIONS = ", ".join(action.lower() for action in Action)
STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}


def log(
    options: Options,
    path: str | None = None,
    /,
    actor: str | None = None,
    action: str | None = None,
    session: str | None = None,
    source: str | None = None,
    about: str | None = None,
    limit: int = 20,
    digest: str | None = None,
) -> Answer:
    from memfolio.intake import choose
    from memfolio.vault.past.past import TRIGGER, write_digest
    from memfolio.vault.past.view import TrailFilter

    with options.memory() as memory:
        if digest is not None:
            text = write_digest(memory.vault, digest, replace(PERSON, trigger=TRIGGER))
            return Answer({"month": digest, "text": text}, lambda screen: screen.page(text))
        wanted = TrailFilter(
            path=path,
            actor=actor,
            action=choose(Action, "action", action.upper()) if action else None,
            session=session,
            source=source,
            about=about,
        )
        entries, zone = memory.audit.log(wanted, limit=limit), memory.vault.home.zone
    return Answer({"entries": list(map(asdict, entries))}, lambda screen: draw_entries(screen, entries, zone))


def diff(options: Options, what: str | None = None, /, since: str | None = None) -> Answer:
    with options.memory() as memory:
        number = int(what) if what and what.isdecimal() else None
        if number is not None and since is not None:
            raise InputError("a change has no --since", hint="name a page, or leave one of them out")
        page = page_path(memory, what) if what and number is None else None
        if since is not None:
            return differs({"since": since, "page": page}, memory.audit.diff_since(page, point(memory, since)))
        seq = newest(memory, page) if number is None else number
        return differs({"seq": seq}, memory.audit.diff(seq))


def undo(
    options: Options,
    seqs: list[int] | None = None,
    /,
    actor: str | None = None,
    source: str | None = None,
    session: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Answer:
    if bool(seqs) == bool(actor or source or session):
        raise InputError("name changes, or else an actor, source or session", hint="`memfolio log` shows them all")
    with options.memory() as memory:
        if source and not (actor or session):
            return undo_source(options, memory, source, dry_run=dry_run, yes=yes)
        asked = False
        outcome = memory.audit.undo(seqs or (), actor=actor, source=source, session=session, by=PERSON, dry_run=True)
        if not dry_run:
            deed = f"take back {counted(len(outcome.seqs), 'change')} of {names(outcome)}"
            asked = options.confirm(deed, show_diff(outcome), yes=yes or not is_grave(outcome))
            # What was looked at is what is taken back, whatever is added meanwhile.
            outcome = memory.audit.undo(outcome.seqs, by=PERSON)
    seen = sorted(outcome.seqs)
    words = f"change{'s' if len(seen) > 1 else ''} {', '.join(map(str, seen))} taken back"
    return went_back({"undone": seen}, outcome, words, quiet=asked)


def rollback(
    options: Options, page: str | None = None, /, *, to: str, dry_run: bool = False, yes: bool = False
) -> Answer:
    with options.memory() as memory:
        path, target = page_path(memory, page) if page else None, point(memory, to)
        asked, outcome = False, memory.audit.rollback(path, to=target, by=PERSON, dry_run=True)
        if outcome.paths and not dry_run:
            asked = options.confirm(f"bring {names(outcome)} back to {to}", show_diff(outcome), yes=yes)
            outcome = memory.audit.rollback(path, to=target, by=PERSON)
    return went_back({"to": to}, outcome, f"{names(outcome)} as at {to}", quiet=asked)


def verify(options: Options) -> Answer:
    with options.memory() as memory:
        return findings(memory.vault.verify())


def doctor(options: Options) -> Answer:
    from memfolio.serve.cli.doors import doors
    from memfolio.vault.past.report import Finding

    try:
        options.config()
    except ConfigError as error:
        # Nothing else can be looked at without it.
        return findings([Finding("error", "configuration", error.message, error.hint)])
    with options.memory() as memory:
        return findings([*memory.vault.doctor(), *search(memory), *doors(options, memory.vault.home.root)])


def alerts(options: Options, ack: list[int] | None = None, ack_all: bool = False) -> Answer:
    with options.memory() as memory:
        found = {line.seq: line for line in memory.vault.alerts()}
        seen = list(found) if ack_all else ack or []
        if unknown := [seq for seq in seen if seq not in found]:
            raise NotFoundError(f"there is no open alert {unknown[0]}", hint="`memfolio alerts` lists them")
        if seen:
            memory.acknowledge(seen, PERSON)
        rows = [alert(memory, line) for line in found.values() if line.seq not in seen]
    return Answer({"alerts": rows, "acknowledged": seen}, lambda screen: draw_alerts(screen, rows, len(seen)))


def adopt(options: Options, accept_missing: bool = False) -> Answer:
    from memfolio.vault.vault import Vault

    config = options.config()
    with Vault.open(config=config, accept_missing=accept_missing) as vault:
        vault.adopt(accept_missing=accept_missing)
    document = {"home": config.home, "machine": config.machine_name}
    return Answer(document, lambda screen: screen.say(f"{config.home} is written by {config.machine_name} now"))


def point(memory: Memory, text: str) -> datetime | str:
    """The time that `text` names, else the commit, which stays the same whatever is committed meanwhile."""
    home = memory.vault.home
    if moment := find_time(text, home.zone, home.now()):
        return moment
    memory.vault.commit()
    return memory.vault.history.resolve(text)


def newest(memory: Memory, page: str | None) -> int:
    """The newest change, of a page if there is one."""
    from memfolio.vault.past.view import TrailFilter

    entries = memory.audit.log(TrailFilter(path=page), limit=1)
    if not entries:
        raise NotFoundError(f"nothing ever happened to {page}", hint="`memfolio log` shows what did")
    return entries[0].seq


def differs(document: dict[str, Any], text: str) -> Answer:
    return Answer(
        document | {"diff": text}, lambda screen: screen.diff(text) if text else screen.say("No file is different.")
    )


def went_back(document: dict[str, Any], outcome: UndoResult, words: str, *, quiet: bool) -> Answer:
    """What undo and rollback did; `quiet` when the difference has been shown already."""
    receipt = outcome.receipt
    document |= {"paths": outcome.paths, "diff": outcome.diff, "seq": receipt.seq if receipt else None}

    def draw(screen: Screen) -> None:
        screen.diff("" if quiet else for_people(outcome.diff))
        if receipt:
            screen.say(f"{words}, as change {receipt.seq}", "bold")
        else:
            screen.say("Nothing was changed." if outcome.paths else "Nothing is different.", "bold")

    return Answer(document | {"dry_run": receipt is None}, draw)


def show_diff(outcome: UndoResult) -> Callable[[Screen], None]:
    return lambda screen: screen.diff(for_people(outcome.diff))


def is_grave(outcome: UndoResult) -> bool:
    """Whether somebody should have a look first: several changes, or the settings of the whole home."""
    return len(outcome.seqs) > 1 or CONFIG in outcome.paths or GITIGNORE in outcome.paths


def names(outcome: UndoResult) -> str:
    first, *rest = outcome.paths or ("nothing",)
    return f"{first} and {len(rest)} more" if rest else first


def findings(found: list[Finding]) -> Answer:
    failed = any(each.level == "error" for each in found)

    def draw(screen: Screen) -> None:
        for each in found:
            screen.say(f"{each.level:8}{each.where}: {each.message}", STYLES[each.level])
            if each.hint:
                screen.say(f"{'':8}{each.hint}")

    return Answer({"ok": not failed, "findings": list(map(asdict, found))}, draw, status=int(failed))


def search(memory: Memory) -> Iterator[Finding]:
    """What does not take part in a search as it should."""
    from memfolio.vault.past.report import Finding

    memory.recall("anything", limit=1)
    for index in memory.library.indexes():
        if index.trouble:
            yield Finding("warning", "index", index.trouble.message, index.trouble.hint)
    if trouble := memory.library.meaning.trouble:
        yield Finding("warning", "embedder", trouble.message, trouble.hint)


def alert(memory: Memory, line: TrailLine) -> dict[str, Any]:
    """An alert in words, with the change or the memories that it is about."""
    from memfolio.recall.context import describe

    about = memory.vault.trail.line(line.about[0]) if line.about else None
    what = {"change": about.seq, "action": about.action, "actor": about.by.actor, "paths": about.paths} if about else {}
    text = describe(memory.vault, memory.library, line)
    return {"seq": line.seq, "at": line.at, "trigger": line.by.trigger, "ids": line.ids, "text": text} | what


def draw_alerts(screen: Screen, rows: list[dict[str, Any]], seen: int) -> None:
    if seen:
        screen.say(f"{seen} acknowledged")
    if not rows:
        screen.say("No alerts.", "green")
        return
    for row in rows:
        first, *rest = row["text"].split("\n")
        screen.say(f"{row['seq']}  {first}", "bold red")
        for each in (*rest, f"`memfolio alerts --ack {row['seq']}` if it is as it should be"):
            screen.say(f"   {each}")
