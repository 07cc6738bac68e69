"""The settings in `agent.toml`: an agent's role, whether it writes or proposes, and whose memory it reads."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from memfolio.errors import ConfigError
from memfolio.types import AGENT_PATTERN, frozen
from memfolio.vault.paths import SHARED, agent_root

FILE = "agent.toml"
WRITES, PROPOSES = "writes", "proposes"
EVERYBODY = "*"
MOST_BYTES = 1 << 16
_TEXT = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_VALUE = rf"""(?:{_TEXT}|\[(?:{_TEXT}|[^\]"'])*\]|\w+)"""


@frozen
class AgentSettings:
    """The settings of an agent; without a file, it writes its own memory and reads the shared one."""

    agent: str
    role: str = ""
    """Its purpose, in a few words."""
    policy: str = WRITES
    reads: tuple[str, ...] = (SHARED,)
    """The agents whose memory it reads beside its own; `*` means all."""
    proposes_to: str = "main"
    """The agent that decides on its proposals."""
    trusted: bool = False
    """Whether its proposals may be committed automatically, if the home allows that."""
    retired: bool = False
    """Whether it is kept to be read only."""
    commitment: str = "open-minded"
    """When it gives up an intention."""
    watches: tuple[str, ...] = ()
    """Folders of notes outside of the home that are read in place, by absolute path."""


def agent_file(agent: str) -> str:
    """The path of an agent's settings."""
    return f"{agent_root(agent)}/{FILE}"


def read_agent(agent: str, content: bytes | None) -> AgentSettings:
    """Parse a settings file; raises ConfigError if it is invalid."""
    where = agent_file(agent)
    if content is not None and len(content) > MOST_BYTES:
        raise ConfigError(f"{where} has {len(content):,} bytes", hint=f"it has room in {MOST_BYTES:,}")
    try:
        table = tomllib.loads((content or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not valid TOML: {error}", hint="correct that line") from error
    return AgentSettings(agent=agent, **{name: _valid(where, name, value) for name, value in table.items()})


def _is_agent(value: object) -> bool:
    return isinstance(value, str) and AGENT_PATTERN.fullmatch(value) is not None


def _are_scopes(value: object) -> bool:
    return isinstance(value, list) and all(each == EVERYBODY or _is_agent(each) for each in value)


def _are_folders(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and os.path.isabs(each) for each in value)


COMMITMENTS = ("single-minded", "open-minded", "cautious")
_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "role": (lambda value: isinstance(value, str) and value.isprintable(), "a few words"),
    "policy": (lambda value: value in (WRITES, PROPOSES), f"{WRITES} or {PROPOSES}"),
    "reads": (_are_scopes, "a list of agent ids, or of `*` for everybody"),
    "proposes_to": (_is_agent, "an agent id"),
    "trusted": (lambda value: isinstance(value, bool), "true or false"),
    "retired": (lambda value: isinstance(value, bool), "true or false"),
    "commitment": (lambda value: value in COMMITMENTS, f"one of {', '.join(COMMITMENTS)}"),
    "watches": (_are_folders, "a list of whole paths of folders"),
}
KEYS = tuple(_CHECKS)


def _valid(where: str, name: str, value: Any) -> Any:
    if name not in _CHECKS:
        close = get_close_matches(name, _CHECKS, 1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(_CHECKS)}"
        raise ConfigError(f"{where}: unknown key {name[:40]!r}", hint=hint)
    accepts, wanted = _CHECKS[name]
    if not accepts(value):
        raise ConfigError(f"{where}: {name} is {str(value)[:60]!r}; wanted {wanted}", hint="correct it, or remove it")
    return tuple(value) if isinstance(value, list) else value


def written(text: str, given: Mapping[str, object]) -> str:
    """Return the text of a settings file with these values; everything else in it stays as it is."""
    for name, value in given.items():
        line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        found = re.search(rf"(?m)^{re.escape(name)}[ \t]*=[ \t]*{_VALUE}", text)
        if found:
            text = f"{text[: found.start()]}{line}{text[found.end() :]}"
        else:
            text += f"{line}\n" if not text or text.endswith("\n") else f"\n{line}\n"
    return text
