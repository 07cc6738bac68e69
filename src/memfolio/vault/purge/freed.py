"""The sources of a summary that is purged: what is left of them can be summed up again. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping

from memfolio.state import Op
from memfolio.vault.format.lines import read_lines
from memfolio.vault.past.rollback import is_state
from memfolio.vault.paths import agent_of, place_of


def freed_by(files: Mapping[str, bytes], ids: Container[str]) -> dict[str, str]:
    """The memories whose newest store line says that they went into one of these, each with its agent."""
    went: dict[str, tuple[object, str]] = {}
    for path in sorted(filter(is_state, files), key=place_of):
        if b'"into"' not in files[path] and not went:
            continue
        for line in read_lines(files[path]).records:
            if line.record.get("op") == Op.STORE.value:
                went[str(line.record.get("memory"))] = line.record.get("into"), agent_of(path) or ""
    return {each: agent for each, (into, agent) in went.items() if into in ids and each not in ids}
