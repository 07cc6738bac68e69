"""A home to measure or to try something in: fresh, with an index of its own, and thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memfolio.config import load_config
from memfolio.memory import Memory
from memfolio.vault.vault import Vault


@contextmanager
def scratch(agent: str = "main", **settings: Any) -> Iterator[Memory]:
    """An empty memory without threads; other settings are the defaults and those of the environment."""
    with tempfile.TemporaryDirectory(prefix="memfolio-") as folder:
        own = {"agent": agent, "cache": Path(folder) / "cache", **settings}
        config = load_config(Path(folder) / "home", overrides=own)
        with Memory(Vault.open(config=config), config.agent, background=False) as memory:
            yield memory
