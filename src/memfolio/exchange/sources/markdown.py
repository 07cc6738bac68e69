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


class Markdown(Layout):
    """Fits a single file, too."""

    __slots__ = ()

    def fits(self, path: Path) -> bool:
        return path.suffix in (".md", ".markdown", ".txt") if path.is_file() else super().fits(path)


def _has_some(path: Path) -> bool:
    return any(isinstance(each, str) for each in files_below(path, lambda ref: ref.endswith((".md", ".markdown"))))


SOURCE = Markdown(name="markdown", rules=RULES, marks=_has_some, tells_rest=True)
