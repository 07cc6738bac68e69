"""Fixtures of the embedders: a server to ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.embed.server import EmbeddingServer, running
from tests.vault.conftest import tally

__all__ = ["server", "tally"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running() as server:
        yield server
