"""What installing and uninstalling would change in a host's files; nothing is written here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError
from memfolio.serve.install import files, json_text, toml_text
from memfolio.serve.install.files import Change, HostFileError
from memfolio.serve.install.hosts import Host
from memfolio.serve.install.program import NAME, Program, renewed

_MARK = "\ufeff"
"""What some editors put before a text in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One file of a host, and what memfolio wants to have in it."""

    host: Host
    path: Path
    wanted: dict[str, Any]

    @property
    def table(self) -> str:
        """The name of our server's table, in a file of tables; empty in others."""
        return ".".join(self.host.place) if self.path.suffix == ".toml" else ""

    def server(self, settings: Any) -> Any:
        """What stands under our name among the servers."""
        for key in self.host.place:
            settings = settings.get(key) if isinstance(settings, dict) else None
        return settings

    def with_ours(self, text: str) -> str:
        """The text with our parts as they should be; the same text where they are so already."""
        said = tomllib.loads(text) if self.table else json_text.scan(text).plain if text.strip() else {}
        server, wanted = self.server(said), self.server(self.wanted)
        if server is not None and not self.host.is_ours(self.host.place, server):
            hint = "rename or delete that server, then install again"
            raise ConflictError(f"{self.path} has a server {NAME} that runs something else", hint=hint)
        if not self.table:
            return json_text.merged(text, self.wanted, self.host.is_ours, renewed)
        if server is None:
            return toml_text.merged(text, self.table, wanted)
        return toml_text.renewed(text, self.table, renewed(server, wanted))

    def without_ours(self, text: str) -> str:
        """The text without our parts; the same text where there are none."""
        if not self.table:
            return json_text.without(text, self.host.is_ours) if text.strip() else text
        is_ours = self.host.is_ours(self.host.place, self.server(tomllib.loads(text)))
        return toml_text.without(text, self.table) if is_ours else text

    def installed(self, old: bytes | None, saved: bytes | None) -> Change:
        """The file with our parts; where it has some already, its backup stays."""
        mark, text = _decoded(old)
        new = (mark + self.with_ours(text)).encode()
        return Change(path=self.path, old=old, new=new, saved=old if self.without_ours(text) == text else saved)

    def uninstalled(self, old: bytes | None, saved: bytes | None) -> Change:
        """The file without our parts; where nothing else changed since they came, as it was before."""
        (mark, text), (_, first) = _decoded(old), _decoded(saved)
        bare = self.without_ours(text)
        if bare == text:
            return Change(path=self.path, old=old, new=old, saved=saved)
        if bare == self.without_ours(self.with_ours(first)):
            return Change(path=self.path, old=old, new=saved, saved=None)
        return Change(path=self.path, old=old, new=(mark + bare).encode(), saved=saved)


def changes(host: Host, scope: str, root: Path, program: Program | None, *, moved: Path | None = None) -> list[Change]:
    """What has to change so that the host runs this program, or nothing of memfolio; only what does change.

    `moved` is the folder in which the person has put what the host else keeps in a folder of its own below `root`.
    """
    found = []
    for name, wanted in host.wanted(scope, program or Program()).items():
        path = moved / name.rpartition("/")[2] if moved else root / name
        settings = Settings(host=host, path=path, wanted=wanted)
        old, saved = (files.read(each, moved or root) for each in (path, files.backup_of(path)))
        try:
            found.append(settings.installed(old, saved) if program else settings.uninstalled(old, saved))
        except (ValueError, RecursionError) as error:
            kind = "TOML" if settings.table else "JSON"
            hint = f"correct it as {host.title} wants it, then try again; nothing was changed"
            raise HostFileError(f"{path} cannot be edited as {kind}: {error}", hint=hint) from error
    return [each for each in found if each.old != each.new]


def _decoded(data: bytes | None) -> tuple[str, str]:
    """The mark with which a file begins, and its text."""
    text = (data or b"").decode()
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
