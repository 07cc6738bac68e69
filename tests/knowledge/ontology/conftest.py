"""Fixtures for tests of the ontology."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.embed.hashed import HashedEmbedder
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.recall.library import Library
from memfolio.vault.vault import Vault


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    made = Vault.open(config=load_config(home, overrides={"git_enabled": False}), clock=clock)
    yield made
    made.close()


@pytest.fixture
def library(vault: Vault) -> Iterator[Library]:
    made = Library(vault, "main", embedder=HashedEmbedder(), background=False)
    yield made
    made.close()


@pytest.fixture
def ontology(vault: Vault, library: Library) -> Ontology:
    return Ontology(vault, library, "main")
