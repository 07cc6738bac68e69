"""What holds and what does not in a home of a database: the chain, the files, and who may see what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.clock import iso
from memfolio.errors import HistoryError, HomeError
from memfolio.text import counted
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.past.report import Finding, check_alerts
from memfolio.vault.postgres.database import TABLES

if TYPE_CHECKING:
    from memfolio.vault.postgres.vault import PostgresVault


def verify(vault: PostgresVault) -> list[Finding]:
    """The trail's chain, and every file against the hash that it was left with."""
    vault.refresh()
    return [*_check_trail(vault), *_check_files(vault)]


def doctor(vault: PostgresVault) -> list[Finding]:
    """`verify`, and whether the database keeps homes apart."""
    return [*verify(vault), *_check_walls(vault), *_check_jobs(vault), *check_alerts(vault)]


def _check_trail(vault: PostgresVault) -> Iterator[Finding]:
    problems = vault.trail.problems()
    yield from (Finding("error", "trail", problem, "restore the database from a backup") for problem in problems[:20])
    head = vault.journal.head
    newest = next(vault.trail.newest_first(), None)
    if (newest.seq if newest else 0) != head.seq or (newest and newest.hash != head.hash):
        yield Finding("error", "trail", f"the home ends with change {head.seq}, its trail elsewhere", "see a backup")
    elif not problems:
        yield Finding("ok", "trail", f"{counted(head.seq, 'change')}, each sealed to the one before")


def note_head(vault: PostgresVault, file: Path) -> None:
    """Note outside of the database where the trail of a home ends, so that rewriting all of it can be noticed."""
    name, head = vault.config.home.name, vault.newest
    line = {"at": iso(vault.home.now()), "home": name, "seq": head.seq, "hash": head.hash}
    with disk_errors(file.parent):
        Disk().append(file, json.dumps(line, ensure_ascii=False).encode() + b"\n", sync=True)


def check_heads(vault: PostgresVault, file: Path) -> Iterator[Finding]:
    """Whether the trail has every change that was noted in a file of its heads."""
    name, noted = vault.config.home.name, dict[tuple[int, str], str]()
    for raw in file.read_bytes().splitlines():
        with suppress(ValueError):  # the line that a crash cut off
            each = json.loads(raw)
            if each["home"] == name:
                noted[each["seq"], each["hash"]] = each["at"]
    lines = {seq: line.hash for seq, _ in noted if (line := vault.trail.line(seq))}
    lost = sorted((seq, at) for (seq, mark), at in noted.items() if seq and lines.get(seq) != mark)
    for seq, at in lost[:20]:
        problem = f"change {seq} is not the one that was noted on {at[:10]}"
        yield Finding("error", "trail", problem, "the trail was rewritten: restore the database from a backup")
    if not lost:
        yield Finding("ok", "trail", f"has the {counted(len(noted), 'change')} that {file.name} names")


def _check_files(vault: PostgresVault) -> Iterator[Finding]:
    wrong = 0
    for path, state in sorted(vault.journal.files.items()):
        try:
            content = vault.journal.read(path)
        except (HomeError, HistoryError) as error:
            content, message = None, error.message
        else:
            message = f"{path} is not what its last change left"
        if content is None or vault.home.hash(content) != state.hash:
            wrong += 1
            yield Finding("error", path, message, "restore the database from a backup")
    if not wrong:
        yield Finding("ok", "files", f"{counted(len(vault.journal.files), 'file')} as the trail says")


def _check_walls(vault: PostgresVault) -> Iterator[Finding]:
    sql = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'memfolio'::regnamespace AND relname = ANY(%s)"
        " AND relrowsecurity AND relforcerowsecurity"
    )
    held = {name for (name,) in vault.rows.ask(sql, [list(TABLES)])}
    if open_ := sorted(set(TABLES) - held):
        yield Finding("error", "row security", f"is not forced for {', '.join(open_)}", "run `memfolio db migrate`")
    else:
        yield Finding("ok", "row security", f"is forced for {counted(len(TABLES), 'table')}")


def _check_jobs(vault: PostgresVault) -> Iterator[Finding]:
    sql = (
        "SELECT kind, agent, attempts, error FROM memfolio.jobs WHERE home = %s AND gave_up_at IS NOT NULL"
        " ORDER BY gave_up_at LIMIT 20"
    )
    for kind, agent, attempts, error in vault.rows.ask(sql, [vault.rows.home]):
        job = f"{kind} of {agent}" if agent else kind
        problem = f"{job} was given up after {counted(attempts, 'attempt')}: {error}"
        yield Finding("warning", "jobs", problem, "`memfolio db retry` has it tried again")
