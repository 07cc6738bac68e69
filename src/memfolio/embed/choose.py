"""Which embedder a home uses."""

from __future__ import annotations

from memfolio.config import Config
from memfolio.embed import local
from memfolio.embed.embedder import Embedder
from memfolio.embed.hashed import HashedEmbedder
from memfolio.embed.http import HttpEmbedder
from memfolio.errors import ConfigError


def open_embedder(config: Config) -> Embedder | None:
    """The embedder that the configuration asks for; None where there is to be none, or `auto` finds none.

    Loads nothing and connects to nothing: what is missing or does not answer is an EmbedderError on first use.
    """
    match _provider(config):
        case "http":
            return _http(config)
        case "local":
            return local.LocalEmbedder()
        case "hashed":
            return HashedEmbedder()
        case _:
            return None


def _provider(config: Config) -> str:
    if config.embedding_provider != "auto":
        return config.embedding_provider
    if config.embedding_url:
        return "http"
    return "local" if local.is_installed() else "none"


def _http(config: Config) -> HttpEmbedder:
    if not config.embedding_url:
        raise ConfigError(
            'embedding.provider is "http", but there is no embedding.url',
            hint='set it to the address of the server, such as "http://localhost:11434/v1"',
        )
    return HttpEmbedder(
        config.embedding_url,
        model=config.embedding_model,
        key=config.embedding_key,
        timeout=config.embedding_timeout,
    )
