"""What `agent.toml` says of an agent: what it is for, whether it writes or proposes, and whose memory it reads."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from memfolio.errors import ConfigError
from memfolio.types import AGENT_PATTERN
from memfolio.vault.paths import SHARED, agent_root

FILE = "agent.toml"
WRITES, PROPOSES = "writes", "proposes"
EVERYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent stands in its home; one without a file writes its own memory and reads the shared one."""

    agent: str
    role: str = ""
    """What it is for, in a few words."""
    policy: str = WRITES
    reads: tuple[str, ...] = (SHARED,)
    """Whose memory it reads beside its own; `*` is everybody's."""
    proposes_to: str = "main"
    """Whose memory its proposals are for."""
    trusted: bool = False
    """Whether its proposals may be committed automatically, where the home has that."""
    retired: bool = False
    """Whether it is kept to be read only."""
    commitment: str = "open-minded"
    """When it lets go of what it intends."""

    @property
    def writes(self) -> bool:
        return self.policy == WRITES and not self.retired


def agent_file(agent: str) -> str:
    """The path of an agent's settings."""
    return f"{agent_root(agent)}/{FILE}"


def read_agent(agent: str, content: bytes | None) -> AgentSettings:
    """The settings in a file's content; ConfigError where they make no sense."""
    where = agent_file(agent)
    if content is None:
        return AgentSettings(agent=agent)
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}", hint="correct that line") from error
    return AgentSettings(agent=agent, **{name: _valid(where, name, value) for name, value in table.items()})


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_agent(value: object) -> bool:
    return isinstance(value, str) and AGENT_PATTERN.fullmatch(value) is not None


def _are_scopes(value: object) -> bool:
    return isinstance(value, list) and all(each == EVERYBODY or _is_agent(each) for each in value)


COMMITMENTS = ("blind", "single-minded", "open-minded")
_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "role": (_is_text, "a few words"),
    "policy": (lambda value: value in (WRITES, PROPOSES), f"{WRITES} or {PROPOSES}"),
    "reads": (_are_scopes, "a list of agent ids, or of `*` for everybody"),
    "proposes_to": (_is_agent, "an agent id"),
    "trusted": (lambda value: isinstance(value, bool), "true or false"),
    "retired": (lambda value: isinstance(value, bool), "true or false"),
    "commitment": (lambda value: value in COMMITMENTS, f"one of {', '.join(COMMITMENTS)}"),
}


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
    """The text of a file of settings with these values; what else a person wrote there stays as it is."""
    for name, value in given.items():
        lines = text.splitlines(keepends=True)
        start, end = _assignment(lines, name)
        found = "".join(lines[start:end])
        before = "\n" if start == end and text and not text.endswith("\n") else ""
        remark = _remark(found) if end - start == 1 else "\n"
        text = "".join((*lines[:start], before, f"{name} = {_shown(value)}", remark, *lines[end:]))
    return text


def _assignment(lines: list[str], name: str) -> tuple[int, int]:
    """Which lines give a key its value; behind the last one where none does."""
    for start, line in enumerate(lines):
        if line.partition("=")[0].strip().strip("\"'") == name:
            ends = (end for end in range(start + 1, len(lines) + 1) if _is_toml("".join(lines[start:end])))
            return start, next(ends, start + 1)
    return len(lines), len(lines)


def _remark(line: str) -> str:
    """What stands behind a value on its line: a comment and the line's end."""
    marks = (at for at, sign in enumerate(line) if sign == "#" and _is_toml(line[:at]))
    at = next(marks, None)
    return "\n" if at is None else line[len(line[:at].rstrip()) :]


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except ValueError:
        return False


def _shown(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
