"""Search indexes after a purge: built anew from the files, so that no page of them remembers what is gone."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import ExitStack

import apsw

from memfolio.index.database import agents_in, discard_others, newest
from memfolio.index.index import Index
from memfolio.index.pending import text_hash
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault


def rebuilder(
    vault: Vault, opened: Sequence[Index], agents: Container[str] | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """What `purge` calls to build the indexes of these agents anew, else all, whether they are open here or not.

    Vectors that were paid for are carried over as far as their texts are still in the files. Those of other agents
    build themselves when they are next opened.
    """

    def rebuild(texts: Sequence[str]) -> list[str]:
        folder, ours = vault.config.cache, {index.agent: index for index in opened}
        left, unbuilt = list[str](), set[str]()
        with ExitStack() as others:
            for agent in agents_in(folder):
                is_meant = agents is None or agent in agents
                if not is_meant or not (vault.config.home / agent_root(agent)).is_dir():
                    continue
                index = ours.get(agent) or Index(vault, agent)
                if agent not in ours:
                    others.callback(index.close)
                index.rebuild()
                unbuilt |= {agent} if index.trouble else set()  # on a full disk: then the old one must go all the same
                left += index.read(lambda connection, agent=agent: _vectors(connection, agent, texts))  # type: ignore[misc]
        kept = (newest(folder, agent) for agent in agents_in(folder) if agent not in unbuilt)
        discard_others(folder, {path for path in kept if path})
        return left

    return rebuild


def _vectors(connection: apsw.Connection, agent: str, texts: Iterable[str]) -> list[str]:
    """Where the vector of a text is still kept."""
    sql = "SELECT count(*) FROM embeddings WHERE hash = ?"
    kept = [text for text in texts if connection.execute(sql, (text_hash(text),)).get]
    return [f"a vector of the index of {agent}"] if kept else []
