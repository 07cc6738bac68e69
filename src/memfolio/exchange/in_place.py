"""Making an OpenClaw workspace the folder of an agent as it is: not a byte of it is copied or changed.

The folder gets its place in the home by one renaming, and a link where it was leads OpenClaw to it as before.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memfolio.errors import ConflictError, DiskError, InputError
from memfolio.exchange.sources.openclaw import SOURCE
from memfolio.vault.disk import Disk
from memfolio.vault.home import is_home
from memfolio.vault.paths import agent_root


def settle_in(workspace: Path, home: Path, agent: str) -> Path:
    """Where the workspace is then; what was interrupted half way is finished when it is tried again."""
    place, disk = home / agent_root(agent), Disk()
    if workspace.is_symlink() and workspace.resolve() == place.resolve():
        return place
    if not os.path.lexists(workspace) and SOURCE.fits(place):
        workspace.symlink_to(place, target_is_directory=True)
        return place
    check_in_place(workspace, home, agent)
    try:
        disk.make_dirs(place.parent)
        if not disk.rename_new(workspace, place):
            raise FileExistsError(errno.EEXIST, "there is one already")
    except OSError as error:
        hint = "both must be on one disk: import it without --in-place, or make the home beside it"
        raise DiskError(f"{workspace} cannot become {place}: {error.strerror}", hint=hint) from error
    workspace.symlink_to(place, target_is_directory=True)
    return place


def check_in_place(workspace: Path, home: Path, agent: str) -> None:
    """Refuse what cannot be an agent's folder, or where there is one already."""
    place = home / agent_root(agent)
    if workspace.is_symlink() or not SOURCE.fits(workspace):
        raise InputError(f"{workspace} is not an OpenClaw workspace", hint="import it without --in-place")
    if is_home(workspace) or home.resolve().is_relative_to(workspace.resolve()):
        raise InputError(f"{workspace} holds a home", hint="choose a home outside of it with --home")
    if os.path.lexists(place):
        raise ConflictError(f"{agent} has a folder already", hint="name another agent with --agent, or import into it")
