"""Every tool, by its name."""

from __future__ import annotations

from memfolio.serve.tools.sets import tools_of

TOOLS = tools_of("all")
