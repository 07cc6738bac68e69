"""How a host starts memfolio."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memfolio.serve.service import tend_command

NAME = "memfolio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program, with the options that tell whose memory is meant."""

    path: str = NAME
    options: tuple[str, ...] = ()

    def args(self, *words: str) -> list[str]:
        return [*words, *self.options]

    def line(self, *words: str) -> str:
        """A command as the system's shell reads it."""
        command = [self.path, *self.args(*words)]
        return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def renewed(had: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What has to change in a command of ours for it to run what is wanted; what it is told beside that stays."""
    told, needed = ([*each.get("command", "").split(), *map(str, each.get("args", ()))] for each in (had, wanted))
    is_current = set(needed) <= set(told) and not {"--home", "--agent"} & {*told} - {*needed}
    return {} if is_current else {key: wanted[key] for key in ("command", "args") if key in wanted}


def installed() -> str:
    """The full path of this program: hosts that are started from a desktop do not have the path of a shell.

    A link on the path is taken as it is, because pipx, uv and package managers keep it where it is when they upgrade.
    """
    own, found = tend_command(Path())[0], shutil.which(NAME)
    return os.path.abspath(found) if found and os.path.realpath(found) == os.path.realpath(own) else own
