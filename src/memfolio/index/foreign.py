"""Databases of other programs, which are only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from memfolio.errors import InputError

LONGEST = 64 << 20
"""Bytes of one value."""


class Foreign:
    """A database that is open to be read; nothing of it is trusted to run."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path, self._connection = path, connection

    def columns(self, table: str) -> set[str]:
        """The names of a table's columns; none where there is no such table."""
        found = self.rows("SELECT name FROM pragma_table_info(?)", table)
        return {row["name"] for row in found}

    def rows(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        """The rows of an answer, by the names of their columns."""
        with _errors(self._path):
            cursor = self._connection.execute(sql, values)
            for row in cursor:
                yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


@contextmanager
def reading(path: Path) -> Iterator[Foreign]:
    """Open a database; InputError where it cannot be read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with _errors(path):
        connection = apsw.Connection(f"file:{quote(str(path.resolve()))}?mode=ro", flags=flags)
    with closing(connection):
        with _errors(path):
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST)
            connection.set_busy_timeout(2000)
            connection.execute("BEGIN")  # all answers are of one moment
        yield Foreign(path, connection)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a database: {error}", hint="copy it again, or repair it") from error
