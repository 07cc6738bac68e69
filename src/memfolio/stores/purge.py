"""Purging memories that are named by an id or a description."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.index.purged import rebuilder
from memfolio.intake import one_id
from memfolio.recall.library import Library
from memfolio.types import ID_PATTERN, Attribution
from memfolio.vault.paths import SHARED
from memfolio.vault.purge.plan import Quotes
from memfolio.vault.purge.purge import Purged
from memfolio.vault.purge.purge import purge as destroy
from memfolio.vault.vault import Vault


def purge(
    vault: Vault,
    library: Library,
    what: Sequence[str],
    by: Attribution,
    *,
    dry_run: bool = False,
    quotes: Quotes | str = Quotes.REFUSE,
) -> Purged:
    """Destroy the memories that are meant, each with all that it corrected; those of other agents are out of reach."""
    ids = dict.fromkeys(each for one in what for each in meant(library, one))
    indexes = [index for index in library.indexes() if index.agent in (library.agent, SHARED)]
    agents = {index.agent for index in indexes}
    rebuild = rebuilder(vault, indexes, agents)
    return destroy(vault, list(ids), by=by, dry_run=dry_run, quotes=quotes, rebuild=rebuild, agents=agents)


def meant(library: Library, what: str) -> list[str]:
    """The ids of the memory that an id or a description means, and of what it corrected.

    An id that no file has is taken as it is: git may have it.
    """
    text = one_id(what)
    found = library.locate(text)
    if found is None and ID_PATTERN.fullmatch(text):
        return [text]
    described = [found] if found else library.described(text)
    if not described:
        raise NotFoundError(f"there is no memory {what[:80]!r}", hint="`recall` finds memories and shows their ids")
    if len(described) > 1:
        ids = ", ".join(each.item.id for _, each in described[:5])
        raise ConflictError(f"{len(described)} memories fit {what[:60]!r}: {ids}", hint="name those that are meant")
    index, one = described[0]
    if one.form in ("fact", "case"):
        return [one.item.id]
    if one.form != "memory":
        raise InputError(f"{one.item.id} is a part of {one.path}", hint="edit the page, or purge what it tells of")
    return [one.item.id, *(item.id for item in library.explain(index, one).supersedes)]
