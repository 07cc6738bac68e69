"""A folder of Markdown files, or one of them: pages with their folders, and days as the memories that they tell of."""

from __future__ import annotations

from pathlib import Path

from memfolio.exchange.files import files_below
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, dated, log, page

RULES = (
    (rf"(?:.*/)?{DAY}\.(?:md|markdown)", log),
    (r"(?P<rest>.+)\.(?:md|markdown|txt)", page(r"memory/notes/\g<rest>.md", dated)),
)


def _has_some(path: Path) -> bool:
    return any(isinstance(ref, str) and ref.endswith((".md", ".markdown")) for ref in files_below(path))


SOURCE = Layout(name="markdown", rules=RULES, marks=_has_some, tells_rest=True, may_be_file=True)
