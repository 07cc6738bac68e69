"""The configuration of a home, built once and passed as values.

Arguments win over the environment, the environment over `memfolio.toml`, the file over the defaults.
Nothing else in memfolio reads the environment.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memfolio import machine, tuning
from memfolio.errors import AgentIdError, ConfigError, HomeFormatError, InputError
from memfolio.machine import default_home, expand
from memfolio.settings import FORMAT, KEY_VARIABLES, KEYS, MODEL_VARIABLES, SECTIONS, Key, default_toml, toml

__all__ = ["FILE_NAME", "FORMAT", "KEYS", "Config", "Key", "default_home", "default_toml", "load_config"]

FILE_NAME = "memfolio.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of one home, valid and complete."""

    home: Path
    agent: str
    cache: Path
    machine: str
    machine_name: str
    """What a person would call the machine, for messages."""
    format: int
    timezone: str
    """An IANA name; `local` has become the machine's own."""
    max_content_bytes: int
    max_ledger_bytes: int
    lock_timeout: float
    commit_delay: float
    stale_editor_window: timedelta
    git_enabled: bool
    git_branch: str
    watch: bool
    embedding_provider: str
    embedding_url: str
    embedding_url_is_own: bool
    """Whether the address is the user's word, in the environment or as an argument, or there is none but a default."""
    embedding_model: str
    embedding_path: Path | None
    embedding_dimensions: int
    embedding_batch: int
    embedding_budget: int
    embedding_timeout: float
    embedding_key: str = field(repr=False)
    model_provider: str
    model_name: str
    model_url: str
    model_url_is_own: bool
    """Whether the address is the user's word, as that of the embedding server."""
    model_timeout: float
    model_budget: int
    model_key: str = field(repr=False)
    recall: tuning.Ranking
    decay: tuning.Decay
    context: tuning.Packing
    stores: tuning.StoreTuning
    core: tuning.CoreTuning
    consolidate: tuning.Consolidation
    learn: tuning.Learning
    triggers: tuning.Triggers
    flush: tuning.Flush
    retention: tuning.Retention
    backup: tuning.Backup
    tend: tuning.TendTuning
    policy: tuning.Governing
    proposals: tuning.Proposing
    reflection: tuning.Reflecting
    redact: tuning.Redaction
    alerts: tuning.Watching
    knowledge: tuning.KnowledgeTuning
    mind: tuning.Minding
    procedures: tuning.Practising
    reason: tuning.Reasoning
    typedb: tuning.Mirroring
    speaker: str
    """`owner` or `agent`; empty where nobody said."""

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


def named_folder(variable: str) -> Path | None:
    """The folder that a variable of another program names; None where it names none."""
    return expand(named, os.environ) if variable and (named := os.environ.get(variable)) else None


def load_config(
    home: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Config:
    """The configuration of `home` (by default `default_home`); overrides that are None count as not given.

    Raises ConfigError where a setting is wrong, InputError where the home has no name, HomeFormatError where it was
    written by a newer version.
    """
    environ = os.environ if environ is None else environ
    if isinstance(home, str) and not home.strip():
        raise InputError("the home has an empty name", hint="name a folder, or leave it out to use the default")
    root = default_home(environ) if home is None else expand(home, environ)
    values: dict[str, Any] = {key.field: key.default for key in KEYS}
    values |= _from_file(root / FILE_NAME)
    given = _from_environment(environ) | _from_arguments(overrides or {})
    values |= given
    for door, variables in (("embedding", KEY_VARIABLES), ("model", MODEL_VARIABLES)):
        values[f"{door}_url_is_own"] = f"{door}_url" in given or not values[f"{door}_url"]
        values[f"{door}_key"] = values[f"{door}_key"] or _usual_key(environ, values, door, variables)
    path = values.pop("embedding_path")
    if values["timezone"] == "local":
        values["timezone"] = machine.local_zone(environ).key
    named, cache = values.pop("machine"), values.pop("cache")
    sections = {section: tuned(**_taken(values, f"{section}_")) for section, tuned in SECTIONS.items()}
    _check_order(sections["decay"])
    return Config(
        home=root,
        cache=expand(cache or machine.user_cache(environ), environ) / _cache_name(root),
        machine=named or machine.machine_id(),
        machine_name=named or machine.host_name(),
        embedding_path=expand(path if path.startswith("~") else root / path, environ) if path else None,
        **sections,
        **values,
    )


def _taken(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The values of one section by their own names, taken out of all values."""
    names = [name for name in values if name.startswith(prefix)]
    return {name.removeprefix(prefix): values.pop(name) for name in names}


def _check_order(decay: tuning.Decay) -> None:
    if not decay.active >= decay.dormant >= decay.archived:
        raise ConfigError(
            f"decay.active is {decay.active}, decay.dormant {decay.dormant} and decay.archived {decay.archived}; "
            "none may be above the one before it",
            hint="a memory fades from active to dormant to archived: put the three in that order",
        )


def _cache_name(home: Path) -> str:
    """A folder name for `home` that differs for every real path and can still be recognised."""
    real = os.path.realpath(home)
    return f"{Path(real).name[:32] or 'home'}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"


def _from_file(path: Path) -> dict[str, object]:
    text = _read(path)
    table = _parse(text, path)
    written = table.get("format")
    if isinstance(written, int) and written > FORMAT:
        raise HomeFormatError(
            f"{path.parent} was written by a newer memfolio: format {_show(written)}, this one reads up to {FORMAT}",
            hint="upgrade memfolio, or open the home where the newer one is installed",
        )
    known = {key.name: key for key in KEYS if key.in_file}
    found: dict[str, object] = {}
    for name, value in _flatten(table, {n.partition(".")[0] for n in known if "." in n}, path):
        where = f"{path}{_line_of(name, text)}"
        key = known.get(name) or _unknown(f"{where}: unknown key", name, known)
        found[key.field] = _valid(key, value, f"{where}: {name}")
    return found


def _line_of(name: str, text: str) -> str:
    """`, line 3` for a message, where the key of this dotted name can be found by looking for it."""
    section, _, last = name.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([^][]+?)\s*\]", line):
            current = header[1]
            if current == name:
                return f", line {number}"
        word = re.match(r"""\s*["']?([\w.-]+)["']?\s*=""", line)
        if word and (current, word[1]) in ((section, last), ("", name)):
            return f", line {number}"
    return ""


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Settings from `MEMFOLIO_…`; empty variables count as unset, unknown ones may be meant for others."""
    return {
        key.field: _valid(key, text, f"environment variable {key.variable}", as_text=True)
        for key in KEYS
        if key.in_environment and (text := environ.get(key.variable))
    }


def _usual_key(environ: Mapping[str, str], values: Mapping[str, Any], door: str, variables: Mapping[str, str]) -> str:
    """The key that people have for the provider that is named; it goes to nobody but the provider itself."""
    variable = variables.get(values[f"{door}_provider"])
    if variable is None or values[f"{door}_url"]:
        return ""
    key = next(key for key in KEYS if key.name == f"{door}.key")
    return str(_valid(key, environ.get(variable, ""), f"environment variable {variable}"))


def _from_arguments(overrides: Mapping[str, object]) -> dict[str, object]:
    known = {key.field: key for key in KEYS if key.in_environment}
    found: dict[str, object] = {}
    for name, value in overrides.items():
        key = known.get(name) or _unknown("unknown argument", name, known)
        if value is not None:
            error = AgentIdError if name == "agent" else ConfigError
            found[name] = _valid(key, value, f"argument {name}", error=error)
    return found


def _valid(
    key: Key,
    value: object,
    where: str,
    *,
    as_text: bool = False,
    error: type[ConfigError] | type[AgentIdError] = ConfigError,
) -> object:
    try:
        return key.read(value, as_text=as_text)
    except (ValueError, OverflowError) as cause:
        default = "" if key.default is None else f" ({toml(key.default)})"
        why = f"{cause}; " if key.name == "policy.rows" and str(cause) else ""
        hint = f"{why}correct it, or remove it to use the default{default}{_nearest_zone(key, value)}"
        is_private = key.is_secret or (key.name.endswith(".url") and "@" in str(value))  # which may hold a password
        shown = "not usable" if is_private else _show(value)
        raise error(f"{where} is {shown}; wanted {key.wants}", hint=hint) from cause


def _unknown(what: str, name: str, known: Mapping[str, Key]) -> Key:
    elsewhere = next((key for key in KEYS if key.name == name and not key.in_file), None)
    if elsewhere:
        raise ConfigError(f"{what} {_show(name)}", hint=f"set {elsewhere.variable} in the environment instead")
    nearest = _nearest(name, known)
    hint = f"did you mean {nearest}?" if nearest else f"known are {', '.join(known)}"
    raise ConfigError(f"{what} {_show(name)}", hint=hint)


def _nearest_zone(key: Key, value: object) -> str:
    if key.name != "timezone" or not isinstance(value, str):
        return ""
    from zoneinfo import available_timezones

    nearest = _nearest(value, sorted(available_timezones()))
    return f"; did you mean {nearest}?" if nearest else ""


def _nearest(name: str, known: Mapping[str, Key] | list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:80], known, 1)), None)


def _flatten(table: Mapping[str, object], sections: set[str], path: Path) -> Iterator[tuple[str, object]]:
    """Dotted names and values; only the known sections are looked into."""
    for name, value in table.items():
        if name not in sections:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{inner}", deep) for inner, deep in value.items())
        else:
            raise ConfigError(
                f"{path}: {name} is {_show(value)}; wanted a table", hint=f"write [{name}] above its keys"
            )


def _parse(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        reason = reason.replace("at end of document", f"at line {text.count(chr(10)) + 1}, the end of the file")
        hint = "correct that line; text needs quotes, and a key looks like: name = value"
        if twice := re.match(r"Cannot declare \('([\w-]+)',\) twice", reason):
            hint = f"the file has [{twice[1]}] or a key of it already: write yours there, without the heading"
        raise ConfigError(f"{path} is not valid TOML: {reason}", hint=hint) from error


def _read(path: Path) -> str:
    """The file's text; empty where there is none, which the home itself may have more to say about."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path} is not a file", hint="move it away; memfolio.toml is a text file, and optional")
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} is not UTF-8 text (at line {line})", hint="save it as UTF-8") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path!s:.200} cannot be read: {error}", hint="check its name and permissions") from error


def _show(value: object) -> str:
    """`value` for a message: short, on one line, and never failing, however odd it is."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    try:
        text = repr(value)
    except ValueError:
        return "a huge number"
    return text if len(text) <= 60 else f"{text[:57]}…"
