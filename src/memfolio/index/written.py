"""The pages that memfolio writes about memories, and that cite them line by line."""

from __future__ import annotations

import apsw

FOLDERS = (
    "sessions",
    "memory/weekly",
    "memory/monthly",
    "memory/quarterly",
    "memory/conflicts",
    "memory/graph/entities",
)


def written_pages(connection: apsw.Connection, root: str) -> list[str]:
    """Where an agent's folder has such pages."""
    found = [f"{root}/MEMORY.md"]
    for folder in FOLDERS:
        sql = "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path"
        found += [path for (path,) in connection.execute(sql, (f"{root}/{folder}/", f"{root}/{folder}0"))]
    return found
