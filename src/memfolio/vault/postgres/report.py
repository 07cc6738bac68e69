"""What holds and what does not in a home of a database: the chain, the files, and who may see what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, HomeError
from memfolio.text import counted
from memfolio.vault.past.report import Finding
from memfolio.vault.postgres.database import TABLES

if TYPE_CHECKING:
    from memfolio.vault.postgres.vault import PostgresVault


def verify(vault: PostgresVault) -> list[Finding]:
    """The trail's chain, and every file against the hash that it was left with."""
    vault.refresh()
    return [*_check_trail(vault), *_check_files(vault)]


def doctor(vault: PostgresVault) -> list[Finding]:
    """`verify`, and whether the database keeps homes apart."""
    return [*verify(vault), *_check_walls(vault), *_check_alerts(vault)]


def _check_trail(vault: PostgresVault) -> Iterator[Finding]:
    problems = vault.trail.problems()
    yield from (Finding("error", "trail", problem, "restore the database from a backup") for problem in problems[:20])
    head = vault.journal.head
    newest = next(vault.trail.newest_first(), None)
    if (newest.seq if newest else 0) != head.seq or (newest and newest.hash != head.hash):
        yield Finding("error", "trail", f"the home ends with change {head.seq}, its trail elsewhere", "see a backup")
    elif not problems:
        yield Finding("ok", "trail", f"{counted(head.seq, 'change')}, each sealed to the one before")


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


def _check_alerts(vault: PostgresVault) -> Iterator[Finding]:
    if alerts := vault.alerts():
        changes = counted(len(alerts), "change")
        yield Finding("warning", "alerts", f"{changes} of critical files to look at", "`memfolio alerts`")
