"""Making an OpenClaw workspace the folder of an agent as it is: not a byte of it is copied or changed.

The folder gets its place in the home by one renaming, and a link where it was leads OpenClaw to it as before.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memfolio.errors import ConflictError, DiskError, InputError
from memfolio.exchange.sources.openclaw import SOURCE
from memfolio.vault.disk import Disk, full_error
from memfolio.vault.home import is_home
from memfolio.vault.paths import agent_root

AFTER = "run `openclaw doctor --fix` and confirm that the workspace moved: until then OpenClaw answers nothing"
"""What is left for the person to do: OpenClaw remembers where its workspace really was."""
_MOVING = ".memfolio-moving"
"""How the name of a note beside the workspace ends while it moves: it tells an interrupted move from a wrong path."""


def settle_in(workspace: Path, home: Path, agent: str) -> Path:
    """Where the workspace is then; what was interrupted half way is finished when it is tried again."""
    place, workspace, disk = home / agent_root(agent), Path(os.path.abspath(workspace)), Disk()
    if workspace.is_symlink() and workspace.resolve() == place.resolve():
        return place
    note = workspace.with_name(f"{workspace.name}{_MOVING}")
    try:
        if os.path.lexists(workspace) or disk.read(note) != os.fsencode(place):
            check_in_place(workspace, home, agent)
            _move(workspace, place, note, disk)
        workspace.symlink_to(place, target_is_directory=True)
    except OSError as error:
        if full := full_error(workspace, error):
            raise full from error
        raise DiskError(f"{workspace} cannot become {place}: {error.strerror}", hint=_hint(error)) from error
    disk.discard(note)
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


def _move(workspace: Path, place: Path, note: Path, disk: Disk) -> None:
    """Note where it goes, and move it; where that fails, the note goes again."""
    disk.put(note, os.fsencode(place))
    try:
        disk.make_dirs(place.parent)
        if not disk.rename_new(workspace, place):
            raise FileExistsError(errno.EEXIST, "there is one already")
    except OSError:
        if os.path.lexists(workspace):
            disk.discard(note)
        raise


def _hint(error: OSError) -> str:
    if error.errno == errno.EXDEV:
        return "both must be on one disk: import it without --in-place, or make the home beside it"
    return "make the folder around it writable for you, or import it without --in-place"
