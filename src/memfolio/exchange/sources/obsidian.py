"""An Obsidian vault: its notes with their links, tags and properties, daily notes as the memories of their days."""

from __future__ import annotations

from memfolio.exchange.layout import Layout
from memfolio.exchange.sources.markdown import RULES

SOURCE = Layout(name="obsidian", rules=RULES, marks=lambda path: (path / ".obsidian").is_dir())
