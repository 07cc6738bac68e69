"""Which embedder a home uses."""

from __future__ import annotations

import os
from pathlib import Path

from memfolio.config import Config
from memfolio.embed import local
from memfolio.embed.embedder import Embedder, HashedEmbedder
from memfolio.embed.http import DIALECTS, HttpEmbedder
from memfolio.embed.local import FolderEmbedder
from memfolio.embed.post import may_have_key
from memfolio.errors import ConfigError
from memfolio.redact.redactor import Redactor

_Stamp = tuple[int, int, int] | None
"""Inode, size and time of a file; None where there is none."""


def open_embedder(config: Config) -> Embedder | None:
    """The embedder that the configuration asks for; None where there is to be none, or `auto` finds none.

    Loads nothing and connects to nothing: what is missing or does not answer is an EmbedderError on first use.
    """
    match _provider(config):
        case "local":
            return _local(config.embedding.path)
        case "hashed":
            return HashedEmbedder()
        case "none":
            return None
        case server:
            return _http(server, config)


_loaded: dict[tuple[int, Path | None, tuple[_Stamp, ...]], local.LocalEmbedder] = {}
"""By process, folder and the state of its files."""


def _local(folder: Path | None) -> local.LocalEmbedder:
    """The embedder with the weights in a folder, else in the package: one per process, which all memories share.

    Files that were replaced since are another model, and get another embedder. So does a forked process, whose parent
    may have been loading the model, under a lock that nobody releases in the child.
    """
    made = FolderEmbedder(folder) if folder else local.LocalEmbedder()
    key = os.getpid(), folder, tuple(map(_stamp, made.files()))
    shared = _loaded.setdefault(key, made)  # atomic, so that there is no lock which a fork could leave taken
    for other in list(_loaded):
        if other[1] == folder and other != key:
            _loaded.pop(other, None)
    return shared


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _provider(config: Config) -> str:
    if config.embedding.provider != "auto":
        return config.embedding.provider
    if config.embedding.url:
        return "http"
    return "local" if config.embedding.path or local.is_installed() else "none"


def _http(provider: str, config: Config) -> HttpEmbedder:
    if provider == "http" and not config.embedding.url:
        raise ConfigError(
            'embedding.provider is "http", but there is no embedding.url',
            hint='set it to the address of the server, such as "http://localhost:11434/v1"',
        )
    asked, dialect = config.embedding, DIALECTS[provider]
    return HttpEmbedder(
        asked.url,
        dialect=dialect,
        model=asked.model,
        key=asked.key,
        dimensions=asked.dimensions,
        batch=asked.batch,
        budget=asked.budget,
        timeout=asked.timeout,
        may_have_key=may_have_key(asked.url, dialect.address, is_own=asked.url_is_own),
        clean=Redactor(config.redact).clean,
    )
