"""Every tool, by its name."""

from __future__ import annotations

from memfolio.serve.tools import doing, knowing, remembering
from memfolio.serve.tools.tool import table

TOOLS = table((*remembering.TOOLS, *knowing.TOOLS, *doing.TOOLS))
