"""Taking the lines about memories that were forgotten out of the pages that memfolio writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import PurePosixPath

from memfolio.index.days import local_day
from memfolio.index.index import Index
from memfolio.index.sourced import by_ids
from memfolio.index.written import written_pages
from memfolio.tend.digest.period import LEVELS, Period, period_named
from memfolio.tend.ours import is_ours, renewed, within
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.paths import agent_root
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

_CITED = re.compile(r"[(\[]([A-Z]-[0-9a-f]+(?:-[0-9a-f]+)?)[)\]]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def without_citations(vault: Vault, index: Index, ids: Collection[str], by: Attribution) -> Change | None:
    """The change that cuts every line that cites one of these ids; None where no page has one.

    Digests of the days of these memories also lose what they say of many memories together, until they are written
    anew.
    """
    found = index.read(lambda db: by_ids(db, [*ids]))
    days = {local_day(each.item.event_time or each.item.created_at, vault.home.zone) for each in found}
    pages = tuple(_cut(vault, index, frozenset(ids), days))
    return Change(operations=pages, by=by, action=Action.EDIT) if pages else None


def _cut(vault: Vault, index: Index, ids: frozenset[str], days: Collection[date]) -> Iterator[PutPage]:
    for path in index.read(lambda db: written_pages(db, agent_root(index.agent))):
        page = vault.page(path)
        old = to_text(page.content) if page else ""
        text = old
        if is_ours(old):
            text = renewed(old, _without(within(old), ids, all_cited=_tells_of(path, days)))
        text = _without(text, ids)
        if page is not None and text != old:
            yield PutPage(path, to_bytes(text), page.hash)


def _without(text: str, ids: frozenset[str], *, all_cited: bool = False) -> str:
    """The lines that cite none of these memories, or with `all_cited` only such that cite others, and headings."""
    lines = [(line, _CITED.findall(line)) for line in _LINE.findall(text)]
    kept = [(line, cited) for line, cited in lines if ids.isdisjoint(cited)]
    return "".join(line for line, cited in kept if cited or not all_cited or line.startswith("#") or not line.strip())


def _tells_of(path: str, days: Collection[date]) -> bool:
    """Whether a page is the digest of one of these days, or compares its own with them."""
    named = PurePosixPath(path)
    period = period_named(named.parent.name, named.stem) if named.parent.name in LEVELS else None
    return period is not None and any(_has(period, day) or _has(period.before, day) for day in days)


def _has(period: Period | None, day: date) -> bool:
    return period is not None and period.has(day)
