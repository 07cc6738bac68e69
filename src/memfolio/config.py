"""The configuration of a home, built once and passed as values.

Arguments win over the environment, the environment over `memfolio.toml`, the file over the defaults.
Nothing else in memfolio reads the environment.

A value that makes no sense is refused. A key or variable that is no setting is not: it is left out, and the
configuration says so, for `status` and `doctor` to tell.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from memfolio import machine
from memfolio.errors import AgentIdError, ConfigError, HomeFormatError, InputError
from memfolio.machine import default_home, expand
from memfolio.settings import (
    FORMAT,
    KEY_VARIABLES,
    KEYS,
    MODEL_VARIABLES,
    RETIRED,
    SECTIONS,
    Config,
    Decay,
    Key,
    default_toml,
    toml,
    variable_of,
)

__all__ = ["FILE_NAME", "FORMAT", "KEYS", "Config", "Key", "default_home", "default_toml", "load_config"]

FILE_NAME = "memfolio.toml"

_LISTED = "docs/configuration.md lists what there is"

MOST = 20
"""How many unknown keys are told."""

_PROTECTING = ("redact", "policy")
"""Sections in which a slip would leave the home unprotected: an unknown key there is refused."""

_PLAIN = {key.name for key in KEYS if "." not in key.name}

_PLACE = ("store", "database_url", "database_user", "database_folder", "audience")
"""What says where a home is, as its folder does, and not how it is: arguments and `MEMFOLIO_…`, no settings."""

ASKED = "MEMFOLIO_ASKED"
"""Set for a host's program that memfolio itself asks: hooks keep silent inside it, and it is not asked again."""

# Made once for all homes that a process opens.
_DEFAULTS = {key.field: key.default for key in KEYS}
_IN_FILE = {key.name: key for key in KEYS if key.in_file}
_VARIABLES = {key.variable: key for key in KEYS if key.in_environment}
_ARGUMENTS = {key.field: key for key in KEYS if key.in_environment}
_OTHER_VARIABLES = {"MEMFOLIO_HOME", ASKED, *map(variable_of, _PLACE)}
_RETIRED_VARIABLES = frozenset(map(variable_of, RETIRED))
_SECTION_FIELDS = {
    section: {each.name: f"{section}_{each.name}" for each in fields(table)} for section, table in SECTIONS.items()
}

_MADE = frozenset(f"{door}_{name}" for door in ("embedding", "model") for name in ("key", "url_is_own"))
"""Settings that follow from others."""
_WHOLE = _DEFAULTS.keys() - {"machine", "cache"}.union(*(names.values() for names in _SECTION_FIELDS.values()))
"""Those in no section that are used as they are given."""
_default_sections: dict[str, Any] = {}
_understood: dict[str, _Given] = {}
"""What texts of `memfolio.toml` say: most homes that a process opens have the same."""
TEXTS = 64
"""How many texts are kept."""
_ALIKE = 0.9
"""How alike a variable must be to one of ours to be taken for a slip: others may begin with MEMFOLIO_ too."""


@dataclass(slots=True)
class _Given:
    """What the file and the environment say: values by the names of arguments, and what is left out."""

    values: dict[str, Any] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def named_folder(variable: str) -> Path | None:
    """The folder that a variable of another program names; None where it names none."""
    return expand(named, os.environ) if variable and (named := os.environ.get(variable)) else None


def pager() -> tuple[str | None, dict[str, str]]:
    """What a person reads long answers with, and the environment that it runs in.

    Without a word of theirs `less` keeps colours (-R), ends at once where all fits (-F), and leaves what was read (-X).
    """
    import shutil  # takes longer than all else here, and is rarely needed

    return os.environ.get("PAGER", shutil.which("less")), {"LESS": "-FRX", **os.environ}


def is_asked_by_us() -> bool:
    """Whether this process runs inside a question that memfolio asks a host's program."""
    return bool(os.environ.get(ASKED))


def environment_for_asking(further: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a host's program is asked: without our own settings and keys, and marked."""
    around = {name: value for name, value in os.environ.items() if not name.startswith(("MEMFOLIO_", "CLAUDECODE"))}
    return {**around, **further, ASKED: "1"}


def load_config(
    home: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    text: str | None = None,
) -> Config:
    """The configuration of `home` (by default `default_home`); overrides that are None count as not given.

    `text` is what `memfolio.toml` says, where the home is no folder.

    Raises ConfigError where a setting is wrong, InputError where the home has no name, HomeFormatError where it was
    written by a newer version.
    """
    environ = os.environ if environ is None else environ
    if isinstance(home, str) and not home.strip():
        raise InputError("the home has an empty name", hint="name a folder, or leave it out to use the default")
    root = default_home(environ) if home is None else expand(home, environ)
    written, around = _from_file(root / FILE_NAME, text), _from_environment(environ)
    overrides = overrides or {}
    place = _place(environ, overrides)
    given = around.values | _from_arguments({name: overrides[name] for name in overrides if name not in _PLACE})
    values: dict[str, Any] = _DEFAULTS | written.values | given
    # A key that people have for a provider goes to no address but the provider's own.
    for door, variables in (("embedding", KEY_VARIABLES), ("model", MODEL_VARIABLES)):
        values[f"{door}_url_is_own"] = f"{door}_url" in given or not values[f"{door}_url"]
        values[f"{door}_key"] = values[f"{door}_key"] or _usual_key(environ, values, door, variables)
    if path := values["embedding_path"]:
        values["embedding_path"] = expand(path if path.startswith("~") else root / path, environ)
    # Resolved once: a machine that travels must not split a day while a process runs.
    if values["timezone"] == "local":
        values["timezone"] = machine.local_zone(environ).key
    changed = {*written.values, *given, *_MADE}
    sections = {section: _section(section, values, changed) for section in SECTIONS}
    _check_order(sections["decay"])
    return Config(
        home=root,
        cache=expand(values["cache"] or machine.user_cache(environ), environ) / _cache_name(root),
        machine=values["machine"] or machine.machine_id(),
        machine_name=values["machine"] or machine.host_name(),
        retired=(*written.retired, *around.retired),
        problems=(*written.problems, *around.problems),
        **sections,
        **{name: values[name] for name in _WHOLE},
        **place,
    )


def _place(environ: Mapping[str, str], overrides: Mapping[str, object]) -> dict[str, Any]:
    """Where the home is kept, in a folder or in which database, and who listens."""
    found: dict[str, Any] = {name: overrides.get(name) or environ.get(variable_of(name), "") for name in _PLACE}
    found["store"] = found["store"] or "files"
    if found["store"] not in ("files", "postgres"):
        raise ConfigError(f"the store is {_show(found['store'])}; wanted files or postgres", hint="docs/scale.md")
    folder = found["database_folder"] or machine.user_data(environ) / "postgres"
    return found | {"database_folder": expand(folder, environ)}


def again(config: Config, **given: str | None) -> Config:
    """The configuration of the same home, read anew for another agent, speaker or audience."""
    kept = {name: getattr(config, name) for name in _PLACE}
    return load_config(config.home, overrides=kept | {name: each for name, each in given.items() if each is not None})


def _section(name: str, values: Mapping[str, Any], changed: Set[str]) -> Any:
    """The settings of a section: one object for all homes that have no others than the defaults."""
    fields = _SECTION_FIELDS[name]
    if not changed.isdisjoint(fields.values()):
        return SECTIONS[name](**{own: values[each] for own, each in fields.items() if each in values})
    if name not in _default_sections:
        _default_sections[name] = _section(name, _DEFAULTS, {*fields.values()})
    return _default_sections[name]


def _check_order(decay: Decay) -> None:
    if not decay.active >= decay.dormant >= decay.archived:
        raise ConfigError(
            f"decay.active is {decay.active}, decay.dormant {decay.dormant} and decay.archived {decay.archived}; "
            "none may be above the one before it",
            hint="a memory fades from active to dormant to archived: put the three in that order",
        )


def _cache_name(home: Path) -> str:
    """A folder name for `home` that differs for every real path and can still be recognised."""
    # Two paths to one home must share its index.
    real = os.path.realpath(home)
    return f"{Path(real).name[:32] or 'home'}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"


def _from_file(path: Path, text: str | None) -> _Given:
    text = _read(path) if text is None else text
    if text in _understood:
        return _understood[text]
    table = _parse(text, path)
    # Looked at before the keys, which a newer version may have changed.
    version = table.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise HomeFormatError(
            f"{path.parent} was written by a newer memfolio: format {_show(version)}, this one reads up to {FORMAT}",
            hint="upgrade memfolio, or open the home where the newer one is installed",
        )
    found = _Given()
    for name, value in _flatten(table, path):
        if key := _IN_FILE.get(name):
            found.values[key.field] = _valid(key, value, f"{path}{_line_of(name, text)}: {name}")
        elif name in RETIRED:
            found.retired.append(name)
        # An unknown key elsewhere opens; here it might be a misspelt protection.
        elif name.partition(".")[0] in _PROTECTING:
            what = f"{path}{_line_of(name, text)}: unknown key {_show(name)}"
            raise ConfigError(what, hint=_instead(name, _IN_FILE))
        elif len(found.problems) < MOST:
            what = f"{path.name}{_line_of(name, text)}: unknown key {_show(name)}"
            found.problems.append((what, _instead(name, _IN_FILE)))
    if len(_understood) >= TEXTS:
        _understood.clear()
    _understood[text] = found
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


def _from_environment(environ: Mapping[str, str]) -> _Given:
    """Settings from `MEMFOLIO_…`; empty variables count as unset, and what is like none of ours is for others."""
    found = _Given()
    for name in sorted(name for name in environ if name.startswith("MEMFOLIO_") and environ[name]):
        if key := _VARIABLES.get(name):
            found.values[key.field] = _valid(key, environ[name], f"environment variable {name}", as_text=True)
        elif name in _RETIRED_VARIABLES:
            found.retired.append(name)
        elif name not in _OTHER_VARIABLES and (nearest := _nearest(name, _VARIABLES, _ALIKE)):
            found.problems.append((f"unknown environment variable {_show(name)}", f"did you mean {nearest}?"))
    return found


def _usual_key(environ: Mapping[str, str], values: Mapping[str, Any], door: str, variables: Mapping[str, str]) -> str:
    """The key that people have for the provider that is named; it goes to nobody but the provider itself."""
    variable = variables.get(values[f"{door}_provider"])
    if variable is None or values[f"{door}_url"]:
        return ""
    key = _ARGUMENTS[f"{door}_key"]
    return str(_valid(key, environ.get(variable, ""), f"environment variable {variable}"))


def _from_arguments(overrides: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in overrides.items():
        key = _ARGUMENTS.get(name)
        if key is None:
            raise ConfigError(f"unknown argument {_show(name)}", hint=_instead(name, _ARGUMENTS))
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
        hint = f"{why}correct it, or remove it to use the default{default}"
        is_private = key.is_secret or (key.name.endswith(".url") and "@" in str(value))  # which may hold a password
        shown = "not usable" if is_private else _show(value)
        raise error(f"{where} is {shown}; wanted {key.wants}", hint=hint) from cause


def _instead(name: str, known: Mapping[str, Key]) -> str:
    """What to do about a name that is no setting."""
    elsewhere = next((key for key in KEYS if key.name == name and not key.in_file), None)
    if elsewhere:
        return f"set {elsewhere.variable} in the environment instead"
    nearest = _nearest(name, known)
    return f"did you mean {nearest}?" if nearest else _LISTED


def _nearest(name: str, known: Mapping[str, Key] | list[str], alike: float = 0.6) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:80], known, 1, alike)), None)


def _flatten(table: Mapping[str, object], path: Path) -> Iterator[tuple[str, object]]:
    """Dotted names and values, one level deep."""
    for name, value in table.items():
        if isinstance(value, dict) and value and name not in _PLAIN:
            yield from ((f"{name}.{inner}", deep) for inner, deep in value.items())
        elif name in SECTIONS and not isinstance(value, dict):
            raise ConfigError(
                f"{path}: {name} is {_show(value)}; wanted a table", hint=f"write [{name}] above its keys"
            )
        elif name not in SECTIONS:
            yield name, value


def _parse(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        hint = "correct that line; text needs quotes, a key looks like: name = value, and a [heading] comes once"
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
