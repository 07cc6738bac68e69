"""Which embedder a home gets, and that choosing one costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio.config import Config, load_config
from memfolio.embed.choose import open_embedder
from memfolio.errors import ConfigError, EmbedderError
from tests.embed.server import EmbeddingServer


def config(home: Path, **overrides: object) -> Config:
    return load_config(home, environ={}, overrides={f"embedding_{name}": value for name, value in overrides.items()})


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "LocalEmbedder"),
        ({"url": "http://localhost:1"}, "HttpEmbedder"),
        ({"provider": "local", "url": "http://localhost:1"}, "LocalEmbedder"),
        ({"provider": "http", "url": "http://localhost:1"}, "HttpEmbedder"),
        ({"provider": "hashed"}, "HashedEmbedder"),
        ({"provider": "none", "url": "http://localhost:1"}, "NoneType"),
    ],
)
def test_provider_decides_and_auto_prefers_a_server(home: Path, settings: dict[str, str], kind: str) -> None:
    assert type(open_embedder(config(home, **settings))).__name__ == kind


def test_server_gets_model_key_and_timeout_of_the_configuration(home: Path, server: EmbeddingServer) -> None:
    embedder = open_embedder(config(home, url=server.url, model="m", key="k", timeout=3))
    assert embedder
    assert server.questions == []
    assert embedder.identity.model == "m"
    assert server.keys == ["Bearer k"]


def test_server_without_address_is_a_mistake_in_the_configuration(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.url"):
        open_embedder(config(home, provider="http"))


def test_server_that_is_down_can_be_chosen_and_fails_on_use(home: Path) -> None:
    embedder = open_embedder(config(home, url="http://127.0.0.1:9"))
    assert embedder
    with pytest.raises(EmbedderError):
        _ = embedder.identity
