"""A home from a folder into a database and back, byte for byte: files, trail and secret; git's history stays behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memfolio.config import Config
from memfolio.errors import ConflictError, HomeMissingError, InputError, RefusedError
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.journal import read_line
from memfolio.vault.paths import INTERNAL, KEY, PURGES, is_home
from memfolio.vault.postgres.database import begin, store_errors
from memfolio.vault.postgres.vault import PostgresVault, database_of, find_home, name_of
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.vault.postgres.database import Conn

NOTES = ("tokens.json", PURGES)
"""What of a home's inside goes along."""
AT_ONCE = 2000
UNKNOWN = "has no history in the home, and stays in the folder"
T = TypeVar("T")
Tell = Callable[[int, int], None]


@frozen
class Carried:
    """What was carried over, and what could not be."""

    name: str
    files: int
    size: int
    changes: int
    head: str
    left_out: tuple[str, ...] = ()
    """Files without a history, such as links and very large ones, with why."""


def import_home(config: Config, name: str | None = None, tell: Tell = lambda done, total: None) -> Carried:
    """Copy the home of a folder into the database, under the folder's name or another.

    RefusedError where the trail does not hold, ConflictError where the database has a home of that name.
    """
    if not is_home(config.home):
        raise HomeMissingError(f"there is no home in {config.home}", hint="name the folder of a home")
    target = replace(config, home=config.home.parent / name) if name else config
    database, named = database_of(target), name_of(target)
    with Vault.open(config=replace(config, store="files")) as vault, vault.exclusive():
        if problems := vault.trail.problems():
            raise RefusedError(f"the trail does not hold: {problems[0]}", hint="`memfolio verify` says what is wrong")
        secret = vault.home.disk.read(vault.home.internal / KEY) or b""
        notes = {each: vault.home.disk.read(vault.home.internal / each) for each in NOTES}
        with database.lent() as conn, store_errors():
            begin(conn, None, {"memfolio.name": named})
            try:
                done = _write(conn, vault, named, secret, notes, tell)
                conn.execute("COMMIT")
            finally:
                if conn.info.transaction_status and not conn.closed:
                    conn.execute("ROLLBACK")
    return done


def _write(conn: Conn, vault: Vault, name: str, secret: bytes, notes: dict[str, bytes | None], tell: Tell) -> Carried:
    head = vault.newest
    sql = (
        "INSERT INTO memfolio.homes (name, secret, seq, head, part, size) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING home"
    )
    row = conn.execute(sql, [name, secret, *head]).fetchone()
    if row is None:
        raise ConflictError(f"the database has a home {name} already", hint="give another name with --name")
    home = row[0]
    conn.execute("SELECT set_config('memfolio.home', %s, true)", [str(home)])
    states, size = sorted(vault.files.items()), 0
    for done, (path, state) in enumerate(states):
        tell(done, len(states))
        data = vault.read(path) or b""
        size += len(data)
        conn.execute(
            "INSERT INTO memfolio.pieces (home, path, version, start, seq, data) VALUES (%s, %s, 1, 0, %s, %s)",
            [home, path, head.seq, data],
        )
        conn.execute(
            "INSERT INTO memfolio.files (home, path, version, seq, size, hash) VALUES (%s, %s, 1, %s, %s, %s)",
            [home, path, head.seq, len(data), state.hash],
        )
    for lines in _batches(_trail(vault), AT_ONCE):
        _put_lines(conn, home, lines)
    conn.execute("INSERT INTO memfolio.jobs (home, run_at) VALUES (%s, now())", [home])
    for each, note in notes.items():
        if note is not None:
            conn.execute("INSERT INTO memfolio.notes (home, name, data) VALUES (%s, %s, %s)", [home, each, note])
    left_out = tuple(f"{path}: {vault.problems.get(path, UNKNOWN)}" for path in _left_out(vault))
    return Carried(name=name, files=len(states), size=size, changes=head.seq, head=head.hash, left_out=left_out)


def _left_out(vault: Vault) -> list[str]:
    """The files of the folder that do not go along; git and the inside never do."""
    root, carried, found = vault.config.home, {*vault.files, *vault.trail.parts()}, list[Path]()
    for folder, folders, names in os.walk(root):
        at = Path(folder)
        folders[:] = [name for name in folders if at != root or name not in (".git", INTERNAL)]
        found += [at / name for name in (*names, *folders) if name in names or (at / name).is_symlink()]
    paths = (os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace") for path in found)
    return sorted(set(paths) - carried)


def _trail(vault: Vault) -> Iterator[tuple[int, bytes, str, str, str | None]]:
    """Every line with its number, its file, its time, and its key unless a later line has the same."""
    keys: dict[str, int] = {}
    for line in vault.trail.lines(containing=[b'"key":']):
        if line.key:
            keys[line.key] = line.seq
    for part in vault.trail.parts():
        for _, raw in vault.trail.raw_lines(part):
            line = read_line(raw)
            key = line.key if line.key and keys[line.key] == line.seq else None
            yield line.seq, raw + b"\n", part, line.at, key


def _put_lines(conn: Conn, home: int, lines: Sequence[tuple[Any, ...]]) -> None:
    columns = [list(column) for column in zip(*lines, strict=True)]
    conn.execute(
        "INSERT INTO memfolio.trail (home, seq, raw, part, at, key) SELECT %s, seq, raw, part, at::timestamptz, key"
        " FROM unnest(%s::bigint[], %s::bytea[], %s::text[], %s::text[], %s::text[]) AS t (seq, raw, part, at, key)",
        [home, *columns],
    )


def _batches(values: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(values, size)):
        yield batch


def export_home(config: Config, folder: Path, tell: Tell = lambda done, total: None) -> Carried:
    """Copy a home of the database into a folder, which must be empty or not there; it is a home from then on."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} has files in it", hint="name a folder that is empty or not there")
    database, name = database_of(config), name_of(config)
    found = find_home(database, name)
    if found is None:
        raise HomeMissingError(f"the database has no home {name}", hint="`--home NAME` names another")
    with PostgresVault.of(config) as vault, disk_errors(folder), vault.exclusive():
        return _lay_out(vault, folder, found[1], tell)


def _lay_out(vault: PostgresVault, folder: Path, secret: bytes, tell: Tell) -> Carried:
    disk, head = Disk(), vault.newest
    disk.private = folder / INTERNAL
    states, size = sorted(vault.files), 0
    for done, path in enumerate(states):
        tell(done, len(states))
        data = vault.journal.read(path) or b""
        size += len(data)
        disk.put(folder / path, data)
    for part in vault.trail.parts():
        disk.put(folder / part, b"".join(raw + b"\n" for _, raw in vault.trail.raw_lines(part)))
    for each in NOTES:
        if (note := vault.home.disk.read(vault.home.internal / each)) is not None:
            disk.put(folder / INTERNAL / each, note)
    # The secret last: with it, the folder is a home.
    disk.put(folder / INTERNAL / KEY, secret)
    return Carried(name=name_of(vault.config), files=len(states), size=size, changes=head.seq, head=head.hash)
