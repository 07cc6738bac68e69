"""Plain full-text search, with nothing of ours in it: the floor that recall is measured against."""

from __future__ import annotations

from collections.abc import Iterable

import apsw


class PlainSearch:
    """Texts in one FTS5 table in memory, with the tokenizer of the index."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            'CREATE VIRTUAL TABLE words USING fts5 (content, tokenize="porter unicode61 remove_diacritics 2")'
        )
        with self._connection:
            self._connection.executemany("INSERT INTO words (rowid, content) VALUES (?, ?)", enumerate(texts))

    def best(self, expression: str, limit: int) -> list[int]:
        """The numbers, from 0, of the texts that match best by BM25; of equal ones the earlier comes first."""
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?"
        return [number for (number,) in self._connection.execute(sql, (expression, limit))]
