"""An Obsidian vault: its notes with their links, tags and properties, daily notes as the memories of their days.

A canvas becomes a page with what is written on it; pictures and other attachments stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.exchange.files import Leaf, safe_path
from memfolio.exchange.incoming import Flaw, Incoming, Sheet
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import dated, objects
from memfolio.exchange.sources.json_source import text_in
from memfolio.exchange.sources.markdown import RULES


def canvas(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads the cards of a canvas as paragraphs: texts, links to notes, addresses and the names of groups."""
    found = list(objects(leaf, _card, "nodes"))
    yield from (each for each in found if isinstance(each, Flaw))
    if said := [each for each in found if isinstance(each, str) and each]:
        text = "\n\n".join((f"# {match['name'].rpartition('/')[2]}", *said))
        page = dated(leaf._replace(text=f"{text}\n"))
        yield Sheet(ref=leaf.ref, path=safe_path(f"memory/notes/{leaf.ref}.md"), text=page)


def _card(ref: str, name: str, card: Mapping[str, Any]) -> str:
    words, file = text_in(card.get("text") or card.get("url") or card.get("label")), text_in(card.get("file"))
    return words or (f"[[{file}]]" if file else "")


SOURCE = Layout(
    name="obsidian",
    rules=(*RULES, (r"(?P<name>.+)\.canvas", canvas)),
    marks=lambda path: (path / ".obsidian").is_dir(),
    tells_rest=True,
)
