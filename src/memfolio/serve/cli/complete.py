"""Shell completion: known words, and the agents and days of the home."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from memfolio.errors import MemfolioError
from memfolio.types import AGENT_PATTERN, Action, Kind, Origin, Store, Type

if TYPE_CHECKING:
    from memfolio.config import Config

MOST_DAYS = 60


def among(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Offers those of `words` that begin as typed."""
    known = list(map(str, words))

    def offer(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return offer


WORDS = {
    name: ", ".join(words)
    for name, words in (
        ("types", list(map(str, Type))),
        ("kinds", list(map(str, Kind))),
        ("stores", list(map(str, Store))),
        ("origins", list(map(str, Origin))),
        ("actions", [action.lower() for action in Action]),
    )
}
"""Lists that help texts refer to by a name in braces."""
types, kinds, stores, origins, actions = (among(words.split(", ")) for words in WORDS.values())
roles = among(("user", "assistant", "system", "tool"))


def with_words(text: str) -> str:
    """A text of help with the words that it lists."""
    for name, words in WORDS.items():
        text = text.replace(f"{{{name}}}", words)
    return text


def offering(words: list[str] | str) -> Callable[..., list[str]] | None:
    """Return a completion function for words, a function of this module, or a list such as "index.search:LEVELS"."""
    if isinstance(words, list):
        return among(words) if words else None
    module, _, name = words.rpartition(":")
    if not module:
        return cast(Callable[..., list[str]], globals()[name])
    # Loaded when somebody presses tab.
    return lambda incomplete: among(getattr(import_module(f"memfolio.{module}"), name))(incomplete)


def agents(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete agents of the home named so far; an agent sees those that it may read."""
    config = _config(ctx)
    names = _names(config.home / "agents") if config else []
    if config and config.speaker == "agent":
        reads = _reads(config)
        names = [name for name in names if name in reads or "*" in reads]
    return sorted(name for name in names if name.startswith(incomplete) and AGENT_PATTERN.fullmatch(name))


def _reads(config: Config) -> tuple[str, ...]:
    from memfolio.vault.agents import agent_file, read_agent

    file = config.home / agent_file(config.agent)
    try:
        return config.agent, *read_agent(config.agent, file.read_bytes() if file.is_file() else None).reads
    except (OSError, MemfolioError):
        return (config.agent,)


def days(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete days that have a log, latest first."""
    config = _config(ctx)
    names = _names(config.home / "agents" / config.agent / "memory") if config else []
    found = sorted({name[:10] for name in names if name[:4].isdecimal()}, reverse=True)
    return among(("today", "yesterday", *found[:MOST_DAYS]))(incomplete)


def _config(ctx: typer.Context) -> Config | None:
    """Return the configuration of the home named so far, before or after the command."""
    from memfolio.config import load_config

    given = {**(ctx.parent.params if ctx.parent else {}), **{k: v for k, v in ctx.params.items() if v}}
    try:
        return load_config(given.get("home"), overrides={"agent": given.get("agent")})
    except MemfolioError:
        return None


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
