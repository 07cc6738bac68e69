"""What `doctor` says of the doors: hosts that were told of memfolio, the library they need, and their hooks."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import ConflictError, MemfolioError
from memfolio.serve.cli.install import changes_of, program_of
from memfolio.serve.hooks.door import FOLDER, LOG
from memfolio.serve.hooks.kept import health
from memfolio.serve.install.hosts import HOSTS
from memfolio.text import counted
from memfolio.vault.past.report import Finding

if TYPE_CHECKING:
    from memfolio.serve.cli.call import Options
    from memfolio.serve.install.hosts import Host

LIBRARY = "install it with `pip install 'memfolio[mcp]'`; without it, hosts have no tools"
WAITING = "the next event of any host takes them up"


def doors(options: Options, home: Path) -> Iterator[Finding]:
    """The hosts of this user that were told of memfolio, and the hooks of this home."""
    told = [found for host in HOSTS.values() for found in _host(options, host)]
    yield from told
    if told and find_spec("mcp") is None:
        yield Finding("error", "mcp", "the library of the protocol is not installed", LIBRARY)
    yield from _hooks(home)


def _host(options: Options, host: Host) -> Iterator[Finding]:
    command = f"memfolio install {host.name}"
    try:
        if not changes_of(host.name, "user", None)[1]:
            return
        changes = changes_of(host.name, "user", program_of(options, "user"))[1]
    except ConflictError as error:
        yield Finding("note", host.title, error.message, error.hint)
    except MemfolioError as error:
        yield Finding("warning", host.title, error.message, error.hint)
    else:
        files = ", ".join(str(each.path) for each in changes)
        hint = f"`{command}` renews it, if the host is to use this memory; `{command} --dry-run` shows the difference"
        if files:
            yield Finding("note", host.title, f"runs another program, home or agent: {files}", hint)
        else:
            yield Finding("ok", host.title, "uses this memory")


def _hooks(home: Path) -> Iterator[Finding]:
    found = health(home)
    hint = f"the host went on without; once you know why, delete {home / FOLDER / LOG}"
    yield from (Finding("warning", "hooks", line, hint) for line in dict.fromkeys(found.troubles))
    if found.waiting:
        yield Finding("note", "hooks", f"{counted(found.waiting, 'event')} of hosts wait to be taken up", WAITING)
