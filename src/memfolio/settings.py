"""What can be set in a home: one table, from which validation, documentation and the default file are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memfolio import machine
from memfolio.duration import format_duration, parse_duration
from memfolio.tuning import (
    Backup,
    Consolidation,
    CoreTuning,
    Decay,
    Flush,
    Governing,
    KnowledgeTuning,
    Learning,
    Minding,
    Mirroring,
    Packing,
    Practising,
    Proposing,
    Ranking,
    Reasoning,
    Redaction,
    Reflecting,
    Retention,
    StoreTuning,
    TendTuning,
    Triggers,
    Watching,
)
from memfolio.types import AGENT_PATTERN, TOKEN_PATTERN

FORMAT = 1
"""The format of homes that this version reads and writes."""

MIB = 1024 * 1024


def _whole(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError
    return int(value)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    return float(value)


_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _flag(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _FLAGS:
        return _FLAGS[value.lower()]
    raise ValueError


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError
    return value


def _path(value: object) -> object:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError
    return str(value)


def _span(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError
    return parse_duration(value)


def _texts(value: object) -> object:
    if isinstance(value, str):  # as the environment has it
        return tuple(part.strip() for part in value.split(";") if part.strip())
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError
    return tuple(value)


_KINDS: Mapping[str, Callable[[object], object]] = {
    "a whole number": _whole,
    "a number": _number,
    "true or false": _flag,
    "text": _text,
    "a path": _path,
    "an ISO 8601 duration": _span,
    "a list of texts": _texts,
}


_NEVER_TEXT = ("a whole number", "a number", "true or false", "a list of texts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting: its dotted name, what it accepts, and one sentence on what it is for."""

    name: str
    kind: str
    default: Any
    doc: str
    low: Any = None
    high: Any = None
    wanted: str = ""
    """What is accepted, where kind and range do not say it."""
    accepts: Callable[[Any], object] = lambda _: True
    in_file: bool = True
    in_environment: bool = True
    is_secret: bool = False
    """Whether a wrong value must not be repeated in a message."""

    @property
    def field(self) -> str:
        """Its name as an argument and in `Config`."""
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return f"MEMFOLIO_{self.field.upper()}"

    @property
    def wants(self) -> str:
        """What a valid value is, in words."""
        if self.wanted or self.low is None:
            return self.wanted or self.kind
        return f"{self.kind} from {_plain(self.low)} to {_plain(self.high)}"

    def read(self, value: object, *, as_text: bool = False) -> object:
        """`value` as this setting's type; ValueError or OverflowError where it is not one.

        With `as_text`, text stands for numbers and flags too, as it does in the environment.
        """
        if isinstance(value, str) and not as_text and self.kind in _NEVER_TEXT:
            raise ValueError
        result: Any = _KINDS[self.kind](value)
        if (self.low is not None and not self.low <= result <= self.high) or not self.accepts(result):
            raise ValueError
        return result


def _is_zone(name: str) -> bool:
    return name == "local" or machine.find_zone(name) is not None


def _is_branch(name: str) -> bool:
    parts = name.split("/")
    good = all(part and part[0] not in ".-" and not part.endswith((".", ".lock")) for part in parts)
    return good and name.isascii() and ".." not in name and all(c.isalnum() or c in "._-/" for c in name)


PROVIDERS = ("auto", "local", "openai", "gemini", "voyage", "http", "hashed", "none")
"""What can turn texts into vectors; `auto` takes the best that is there."""

MODELS = ("none", "openai", "anthropic", "gemini")
"""The language models that can be asked; whatever speaks as OpenAI's do is `openai` with an address."""

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
"""Where people have the keys of providers that need one."""

MODEL_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}


def _is_address(text: str) -> bool:
    if not text:
        return True
    parts = urlsplit(text)
    plain = text.isascii() and text.isprintable() and not {" ", "?", "#", "@"} & set(text)
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


SECTIONS: Mapping[str, type[Any]] = {
    "recall": Ranking,
    "decay": Decay,
    "context": Packing,
    "stores": StoreTuning,
    "core": CoreTuning,
    "consolidate": Consolidation,
    "learn": Learning,
    "triggers": Triggers,
    "flush": Flush,
    "retention": Retention,
    "backup": Backup,
    "tend": TendTuning,
    "policy": Governing,
    "proposals": Proposing,
    "reflection": Reflecting,
    "redact": Redaction,
    "alerts": Watching,
    "knowledge": KnowledgeTuning,
    "mind": Minding,
    "procedures": Practising,
    "reason": Reasoning,
    "typedb": Mirroring,
}
"""Sections whose keys are the fields of a class."""

_KIND_OF = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "timedelta": "an ISO 8601 duration",
    "tuple[str, ...]": "a list of texts",
}


def _keys_of(section: str, tuned: type[Any]) -> tuple[Key, ...]:
    return tuple(
        Key(name=f"{section}.{each.name}", kind=_KIND_OF[str(each.type)], default=each.default, **each.metadata)
        for each in fields(tuned)
    )


KEYS: tuple[Key, ...] = (
    Key(
        name="format",
        kind="a whole number",
        default=FORMAT,
        doc="The version of the folder's layout; a home of a newer version is not opened.",
        low=1,
        high=FORMAT,
        wanted=" or ".join(map(str, range(1, FORMAT + 1))),
        in_environment=False,
    ),
    Key(
        name="timezone",
        kind="text",
        default="local",
        doc="The zone in which days begin and times are written; `local` is the zone of this machine.",
        wanted='an IANA time zone such as "Europe/Berlin", or "local"',
        accepts=_is_zone,
    ),
    Key(
        name="max_content_bytes",
        kind="a whole number",
        default=MIB,
        doc="The longest memory that is accepted, in bytes of UTF-8.",
        low=1,
        high=16 * MIB,
    ),
    Key(
        name="max_ledger_bytes",
        kind="a whole number",
        default=128 * 1024,
        doc="The size in bytes at which a log or ledger goes on in its next part.",
        low=4096,
        high=16 * MIB,
    ),
    Key(
        name="lock_timeout",
        kind="a number",
        default=10.0,
        doc="How many seconds a write waits for another process before it gives up as busy.",
        low=0,
        high=3600,
    ),
    Key(
        name="commit_delay",
        kind="a number",
        default=0.5,
        doc="How many seconds appended memories wait for company before they are committed to git.",
        low=0,
        high=60,
    ),
    Key(
        name="stale_editor_window",
        kind="an ISO 8601 duration",
        default=timedelta(minutes=10),
        doc="How long memories that an editor overwrote with an older copy of the file are put back by themselves.",
        low=timedelta(0),
        high=timedelta(days=7),
    ),
    Key(
        name="watch",
        kind="true or false",
        default=True,
        doc="Whether a process that has the home open notices edits of its files by itself.",
    ),
    Key(
        name="git.enabled",
        kind="true or false",
        default=True,
        doc="Whether every change is also committed to git.",
    ),
    Key(
        name="git.branch",
        kind="text",
        default="main",
        doc="The branch that is committed to; on any other branch commits wait.",
        wanted="the name of a git branch, in plain letters",
        accepts=_is_branch,
    ),
    Key(
        name="embedding.provider",
        kind="text",
        default="auto",
        doc="What turns texts into vectors; `auto` is the server at `embedding.url` if there is one, else `local`.",
        wanted=f"one of {', '.join(PROVIDERS[:-1])} or {PROVIDERS[-1]}",
        accepts=PROVIDERS.__contains__,
    ),
    Key(
        name="embedding.url",
        kind="text",
        default="",
        doc="The address of a server, up to and without `/embeddings` or `/models`; empty is the provider's own.",
        wanted='an address such as "http://localhost:11434/v1", without user name, query or fragment',
        accepts=_is_address,
    ),
    Key(
        name="embedding.model",
        kind="text",
        default="",
        doc="The name of the model that the server is asked for; empty is the provider's default.",
        wanted="a name of at most 200 printable characters",
        accepts=lambda text: len(text) <= 200 and text.isprintable(),
    ),
    Key(
        name="embedding.path",
        kind="text",
        default="",
        doc="The folder of a static model for `local`; empty is the model that comes with the installation.",
        wanted="a path, from the home on where it is relative",
        accepts=lambda text: "\0" not in text,
    ),
    Key(
        name="embedding.dimensions",
        kind="a whole number",
        default=0,
        doc="How many numbers a server's vectors have, where its model lets one choose; 0 is the model's own.",
        low=0,
        high=16_384,
    ),
    Key(
        name="embedding.batch",
        kind="a whole number",
        default=100,
        doc="How many texts are sent to a server at once.",
        low=1,
        high=100,
    ),
    Key(
        name="embedding.budget",
        kind="a whole number",
        default=0,
        doc="How many tokens, by an estimate, one process sends to a server in a day; 0 is no limit.",
        wanted="0, or a whole number from 10000 on",
        accepts=lambda number: number == 0 or number >= 10_000,
    ),
    Key(
        name="embedding.timeout",
        kind="a number",
        default=10.0,
        doc="How many seconds the server has for one answer.",
        low=0.1,
        high=600,
    ),
    Key(
        name="embedding.key",
        kind="text",
        default="",
        doc="The key that the server asks for; it is sent nowhere else and never shown.",
        wanted="a key of plain letters, digits and signs, without spaces",
        accepts=_is_sendable,
        in_file=False,
        is_secret=True,
    ),
    Key(
        name="model.provider",
        kind="text",
        default="none",
        doc="The language model that sums up and learns; without one, rules do.",
        wanted=f"one of {', '.join(MODELS[:-1])} or {MODELS[-1]}",
        accepts=MODELS.__contains__,
    ),
    Key(
        name="model.name",
        kind="text",
        default="",
        doc="The name of the model that the provider is asked for.",
        wanted="a name of at most 200 printable characters",
        accepts=lambda text: len(text) <= 200 and text.isprintable(),
    ),
    Key(
        name="model.url",
        kind="text",
        default="",
        doc="The address of a server that speaks as OpenAI's does, such as Ollama; empty is the provider's own.",
        wanted='an address such as "http://localhost:11434/v1", without user name, query or fragment',
        accepts=_is_address,
    ),
    Key(
        name="model.timeout",
        kind="a number",
        default=60.0,
        doc="How many seconds the model has for one answer.",
        low=0.1,
        high=3600,
    ),
    Key(
        name="model.budget",
        kind="a whole number",
        default=200_000,
        doc="How many tokens, by an estimate, one process sends to the model in a day; 0 is no limit.",
        low=0,
        high=10**12,
    ),
    Key(
        name="model.key",
        kind="text",
        default="",
        doc="The key that the provider asks for; it is sent nowhere else and never shown.",
        wanted="a key of plain letters, digits and signs, without spaces",
        accepts=_is_sendable,
        in_file=False,
        is_secret=True,
    ),
    *(key for section, tuned in SECTIONS.items() for key in _keys_of(section, tuned)),
    Key(
        name="agent",
        kind="text",
        default="main",
        doc="The agent whose memory is meant when none is named.",
        wanted="an agent id: a-z, 0-9 and dashes, at most 64, not starting with a dash",
        accepts=AGENT_PATTERN.fullmatch,
        in_file=False,
    ),
    Key(
        name="speaker",
        kind="text",
        default="",
        doc="Who speaks through this process; by default a person at the command line, and the agent in a program.",
        wanted="owner or agent",
        accepts=("", "owner", "agent").__contains__,
        in_file=False,
    ),
    Key(
        name="cache",
        kind="a path",
        default=None,
        doc="The folder for what can be rebuilt; by default the user's cache folder.",
        in_file=False,
    ),
    Key(
        name="machine",
        kind="text",
        default=None,
        doc="The name under which this machine owns a home; by default derived from the machine's own id.",
        wanted="1 to 128 characters without spaces",
        accepts=TOKEN_PATTERN.fullmatch,
        in_file=False,
    ),
)


def default_toml() -> str:
    """The text of a new home's `memfolio.toml`: every key with its default, commented out.

    Keys have their full names, so that sections can be written below them.
    """
    lines = ["# Configuration of this home. Every key is optional; remove the # to change one.", ""]
    lines.append(f"format = {FORMAT}")
    for key in (key for key in KEYS if key.in_file and key.name != "format"):
        wants = f"{key.wants[0].upper()}{key.wants[1:]}"
        lines += ["", f"# {key.doc}", f"# {wants}.", f"# {key.name} = {toml(key.default)}"]
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """A default as it is written in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{_plain(value)}"' if isinstance(value, str | timedelta) else str(value)


def _plain(value: object) -> str:
    return format_duration(value) if isinstance(value, timedelta) else str(value)
