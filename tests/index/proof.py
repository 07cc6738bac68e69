"""What the tests of the index share: the index that is in use against one that is built from the same files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memfolio import Memory
from memfolio.clock import Clock
from memfolio.embed.embedder import Embedder, HashedEmbedder
from memfolio.embed.vectorizer import Vectorizer
from memfolio.index.index import Index
from memfolio.index.lookup import count_memories
from memfolio.recall.hit import Hit
from memfolio.recall.query import Query
from memfolio.recall.recall import Search
from memfolio.vault.vault import Vault
from tests.disks import QuickDisk
from tests.index.dump import Dump, are_near, differences, dump, vectors_by_id
from tests.vault.proof import configured

QUESTIONS = ("tea", "coffee in the morning", "Alex walks the dog", "rain", "deploy")
SHOWN = 5


def opened(
    home: Path,
    agent: str = "main",
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    background: bool = False,
    **overrides: object,
) -> Memory:
    """A memory whose cache is beside its home, and which does nothing behind a test's back."""
    config = configured(home, **overrides)
    vault = Vault.open(config=config, clock=clock, disk=QuickDisk(), accept_missing=True)
    return Memory(vault, agent, embedder=embedder or HashedEmbedder(16), background=background)


class Answer(NamedTuple):
    """A hit without what may differ between two indexes of the same files: the ranks of equal ones."""

    id: str
    content: str
    score: float
    path: str


def answers(hits: Sequence[Hit]) -> list[Answer]:
    return [Answer(hit.memory.id, hit.memory.content, hit.score, hit.path) for hit in hits]


@contextmanager
def rebuilt(vault: Vault, agent: str) -> Iterator[Index]:
    """An index of an agent, built from nothing but the files, in a cache folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-rebuilt-"))
    elsewhere = copy(vault)
    elsewhere.config = replace(vault.config, cache=folder)
    index = Index(elsewhere, agent)
    try:
        index.rebuild()
        yield index
    finally:
        index.close()
        shutil.rmtree(folder, ignore_errors=True)


def followed(vault: Vault, agent: str = "main") -> Index:
    """An index of the files as they are, which follows what is written from here on."""
    index = Index(vault, agent)
    index.catch_up()
    vault.subscribe(index.follow)
    return index


def dump_of(index: Index) -> Dump:
    return index.read(dump)


def assert_index_equals_rebuilt(memory: Memory, questions: Sequence[str] = QUESTIONS) -> None:
    """The index in use holds and answers what one does that is built from the same files, vectors included."""
    for index in memory.searcher.indexes():
        held = dump_of(index)  # first: an index that is damaged where nobody looked before is built again by this
        memory.searcher.vectorizer.fill(index)
        with rebuilt(memory.vault, index.agent) as other:
            Vectorizer(memory.searcher.vectorizer.embedder).fill(other)
            found = differences(held, dump_of(other))
            assert not found, "the index in use and the rebuilt one differ:\n" + "\n".join(found[:SHOWN])
            assert are_near(index.read(vectors_by_id), other.read(vectors_by_id)), "the vectors differ"
            counted = partial(count_memories, short_term=memory.searcher.short_term(memory.vault.home.now()))
            assert index.read(counted) == other.read(counted)
            for question in questions:
                query = Query.from_args(question, now=memory.vault.home.now(), zone=memory.vault.home.zone)
                here, there = (_found(memory, each, query) for each in (index, other))
                assert here == there, f"{question!r} is answered differently"


def _found(memory: Memory, index: Index, query: Query) -> list[Answer]:
    config = memory.vault.config
    search = Search(indexes=[index], query=query, ranking=config.recall, decay=config.decay)
    question = search.understand(search.survey())
    return answers(search.answer(question, search.query_vector(question, memory.searcher.vectorizer)))
