"""The commands `typedb` and `goal`: the copy of what is known on a TypeDB server, and goals from a file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted


def typedb_status(options: Options) -> Answer:
    with options.memory() as memory:
        found = memory.typedb.status()

    there = "" if found.database in found.databases else ", not there yet"
    sent = "nothing" if found.synced is None else f"up to change {found.synced} of {found.head}"
    lines = [f"server     {found.url}, {found.version or 'which does not answer'}"]
    lines += [f"database   {found.database}{there}", f"sent       {sent}", *filter(None, [found.trouble])]
    said = "\n".join(lines) if found.url else "server     none: typedb.url is not set"
    is_down = found.url and not found.is_reachable
    return Answer(fields_of(found), lambda screen: screen.say(said), status=1 if is_down else 0)


def typedb_schema(options: Options) -> Answer:
    with options.memory() as memory:
        text = memory.typedb.schema()
    return Answer({"schema": text}, lambda screen: screen.page(text))


def typedb_sync_schema(options: Options) -> Answer:
    with options.memory() as memory:
        made = memory.typedb.sync_schema()
    said = "The database was made, and its schema is defined." if made else "The schema is defined."
    return Answer({"made": made}, lambda screen: screen.say(said, "bold"))


def typedb_sync(options: Options, dry_run: bool = False) -> Answer:
    step = partial(options.wait.step, "rows", "Sending")
    with options.memory() as memory:
        done = memory.typedb.sync_data(dry_run=dry_run, progress=step)
    rows = [(sort, f"{done.added[sort]:,}", f"{done.removed[sort]:,}") for sort in done.added]
    names = ("sort", "to add", "to remove") if dry_run else ("sort", "added", "removed")
    return Answer(fields_of(done) | {"dry_run": dry_run}, lambda screen: screen.table(names, rows))


def typedb_query(options: Options, typeql: str) -> Answer:
    with options.memory() as memory:
        found = memory.typedb.query(read_text(typeql))

    def draw(screen: Screen) -> None:
        for row in found.rows:
            screen.say(json.dumps(row, ensure_ascii=False))
        if found.cut:
            screen.say(f"{found.cut:,} further rows were cut off; ask for less, or raise typedb.bytes", "yellow")

    return Answer({"rows": list(found.rows), "cut": found.cut}, draw)


def goal_seed(options: Options, file: str | None = None, /, example: bool = False, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.goals import EXAMPLE, read_goals, seed_goals

    if example is (file is not None):
        raise InputError("name a file of goals, or say --example", hint="docs/typedb.md shows what stands in one")
    try:
        given = read_goals(read_text("-") if file == "-" else Path(file or EXAMPLE).read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="name a JSON or TOML file in UTF-8") from error
    with options.memory() as memory:
        done = seed_goals(memory.facts, given, agent=memory.agent, by=PERSON, dry_run=dry_run)
    counts = ", ".join(f"{count} {name}" for name, count in done.members.items() if count)

    def draw(screen: Screen) -> None:
        for triple in done.facts if dry_run else ():
            screen.say(" ".join(triple))
        verb = "would be" if dry_run else "are"
        gone = f"; {len(done.retracted)} {verb} retracted" if done.retracted else ""
        told = f"{counted(len(done.facts), 'fact')} {verb} asserted{gone}" if done.facts or gone else "nothing is new"
        screen.say(f"{counts}: {told}.", "bold")

    return Answer(fields_of(done) | {"dry_run": dry_run}, draw)
