"""What the schedulers of the systems want to be told so that they run a command every half hour."""

from __future__ import annotations

import plistlib
import re
import shlex
import subprocess
from collections.abc import Sequence
from xml.sax.saxutils import escape

from memfolio.errors import PathError
from memfolio.serve import text_of

MINUTES = 30
MARK = "Written by memfolio service install; memfolio service uninstall takes it away."
"""What tells our files from others of the same name."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def _filled(template: str, **values: str) -> str:
    return text_of(template).format(mark=MARK, minutes=MINUTES, **values) + "\n"


def systemd_service(name: str, command: Sequence[str]) -> str:
    """The unit that runs the command once."""
    if set(command[0]) & set("'\"\\"):
        raise PathError(f"systemd does not run {command[0]}", hint="install memfolio in a folder without quotes")
    program, *arguments = map(_systemd_word, _writable(command))
    # A dollar begins a variable in every word but the first, which systemd takes as it is.
    line = " ".join([program, *(word.replace("$", "$$") for word in arguments)])
    return _filled("systemd.service", name=name, command=line)


def systemd_timer(name: str) -> str:
    """The unit that starts the other one of the same name, also for what was missed while the machine was off."""
    return _filled("systemd.timer", name=name)


def launchd_agent(name: str, command: Sequence[str]) -> bytes:
    """The property list of an agent; what was missed while the machine slept is run once when it wakes up."""
    agent = {
        "Label": name,
        "ProgramArguments": _writable(command),
        "StartInterval": MINUTES * 60,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
    }
    head, plist, rest = plistlib.dumps(agent, sort_keys=False).partition(b"<plist")
    return head + f"<!-- {MARK} -->\n".encode() + plist + rest


def windows_task(command: Sequence[str]) -> bytes:
    """The description of a scheduled task, in the encoding that `schtasks` reads."""
    program, *arguments = _writable(command)
    line = escape(subprocess.list2cmdline(arguments))
    return _filled("windows-task.xml", program=escape(program), arguments=line).encode("utf-16")


def cron_line(name: str, command: Sequence[str]) -> str:
    """A line for a table of cron; it ends with a comment, by which it is found again."""
    line = shlex.join(_writable(command))
    if "\\" in line:
        raise PathError(f"cron cannot run {line}", hint="cron reads backslashes in several ways: rename the folder")
    escaped = line.replace("%", r"\%")
    return f"*/{MINUTES} * * * * {escaped} >/dev/null # {name}"


def _systemd_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _writable(command: Sequence[str]) -> list[str]:
    """The words of a command, none of which has a character that some format has no way to write."""
    for word in command:
        if _UNWRITABLE.search(word):
            raise PathError(f"{word!r} has characters that no scheduler reads", hint="rename the folder")
    return list(command)
