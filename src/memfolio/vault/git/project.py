"""Which project a folder belongs to: the same for every clone and worktree of a repository, whatever it is called."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.types import frozen
from memfolio.vault.git.repository import common_dir

if TYPE_CHECKING:
    from pygit2 import Repository

_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER = re.compile(r"^[^/@]*@")
_SCP = re.compile(r"^([^/:]+):(?!//)")


@frozen
class Project:
    """A project, with its name and with keys that survive moving, renaming and cloning.

    The keys come from the first commit, the remote address and the folder, as far as there are any, the most stable
    first. A memory under any of them belongs to the project, since a first commit or a remote may be added later.
    """

    name: str
    keys: tuple[str, ...]

    @property
    def id(self) -> str:
        """How a memory names it: `memfolio-1a2b3c4d`."""
        return f"{self.name}-{self.keys[0]}"


def project_of(folder: Path | str, *, only_git: bool = False) -> Project | None:
    """The project that a folder belongs to; None for the user's own folder, the root, and a folder that is not there.

    With `only_git`, a folder outside of any repository belongs to none.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        return None
    return _of(path.resolve(), only_git)


@lru_cache(maxsize=256)
def _of(folder: Path, only_git: bool) -> Project | None:
    repository = _repository_around(folder)
    if repository is None:
        is_nobodys = only_git or folder in (Path.home(), Path(folder.anchor))
        return None if is_nobodys else Project(name=_named(folder.name), keys=(_key("folder", str(folder)),))
    common = common_dir(repository).resolve()
    root = common.parent if common.name == ".git" else common
    if (root / ".memfolio").is_dir():
        return None  # the home of a memory
    remote = _address(repository)
    first = _first_commit(repository, common)
    keys = (first and _key("commit", first), remote and _key("remote", remote), _key("folder", str(root)))
    name = remote.rpartition("/")[2] if remote else root.name.removesuffix(".git")
    return Project(name=_named(name), keys=tuple(filter(None, keys)))


def _repository_around(folder: Path) -> Repository | None:
    # Loading pygit2 takes a fifth of the time of a short command, and most folders show that they need none.
    if not any((each / name).exists() for each in (folder, *folder.parents) for name in (".git", "HEAD")):
        return None
    import pygit2

    try:
        found = pygit2.discover_repository(str(folder))
        return pygit2.Repository(found) if found else None
    except pygit2.GitError:  # broken, or of another user: a folder like any other
        return None


def _address(repository: Repository) -> str:
    """Return the remote address in one spelling for all protocols; empty without a remote."""
    remotes = {remote.name: remote.url for remote in repository.remotes}
    url = remotes.get("origin") or next(iter(remotes.values()), "")
    if not url or url.startswith(("/", ".", "file:")):
        return ""  # a clone of a folder nearby, whose first commit tells more
    scheme = _SCHEME.match(url)
    plain = _USER.sub("", url[scheme.end() :] if scheme else _SCP.sub(r"\1/", url))
    host, _, path = plain.rstrip("/").removesuffix(".git").partition("/")
    return f"{host.partition(':')[0].lower()}/{path}"


def _first_commit(repository: Repository, common: Path) -> str:
    """Return the first commit of the current branch; empty if there is none, or the history is shallow."""
    import pygit2

    if (common / "shallow").exists():
        return ""
    try:
        walker = repository.walk(repository.head.target, pygit2.enums.SortMode.TOPOLOGICAL)
        walker.simplify_first_parent()
        return str(list(walker)[-1].id)
    except (pygit2.GitError, KeyError, ValueError):
        return ""


def _named(name: str) -> str:
    return _NAME.sub("-", name)[:40].strip("-.") or "project"


def _key(kind: str, text: str) -> str:
    return blake2b(f"{kind}\0{text}".encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
