"""Taking the lines about memories that were forgotten out of the pages that memfolio writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from memfolio.index.index import Index
from memfolio.index.written import written_pages
from memfolio.tend.ours import is_ours, renewed, within
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.paths import agent_root
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault


def without_citations(vault: Vault, index: Index, ids: Collection[str], by: Attribution) -> Change | None:
    """The change that cuts every line that ends with one of these ids; None where no page has one."""
    pages = tuple(
        _cut(vault, index, re.compile(rf"^.*[(\[](?:{'|'.join(map(re.escape, ids))})[)\]][ \t]*\r?\n?", re.M))
    )
    return Change(operations=pages, by=by, action=Action.EDIT) if pages else None


def _cut(vault: Vault, index: Index, cited: re.Pattern[str]) -> Iterator[PutPage]:
    for path in index.read(lambda db: written_pages(db, agent_root(index.agent))):
        page = vault.page(path)
        text = to_text(page.content) if page else ""
        if page is None or not cited.search(text):
            continue
        body = within(text) if is_ours(text) else None
        rest = renewed(text, cited.sub("", body)) if body is not None else text
        yield PutPage(path, to_bytes(cited.sub("", rest)), page.hash)
