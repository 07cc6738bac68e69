"""What the schedulers of the systems want to be told so that they run a command every half hour."""

from __future__ import annotations

import plistlib
import re
import shlex
import subprocess
from collections.abc import Sequence
from xml.sax.saxutils import escape

from memfolio.errors import PathError

MINUTES = 30
MARK = "Written by memfolio service install; memfolio service uninstall takes it away."
"""What tells our files from others of the same name."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_SERVICE = """\
# {mark}
[Unit]
Description=memfolio: tend {name}

[Service]
Type=oneshot
ExecStart={command}
Nice=10
TimeoutStartSec={timeout}min
"""

_TIMER = """\
# {mark}
[Unit]
Description=memfolio: tend {name} every {minutes} minutes

[Timer]
OnCalendar=*:0/{minutes}
Persistent=true
RandomizedDelaySec=60

[Install]
WantedBy=timers.target
"""

_TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>{mark}</Description>
  </RegistrationInfo>
  <Triggers>
    <TimeTrigger>
      <Repetition>
        <Interval>PT{minutes}M</Interval>
      </Repetition>
      <StartBoundary>2026-01-01T00:00:00</StartBoundary>
    </TimeTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT{timeout}M</ExecutionTimeLimit>
    <Priority>7</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def systemd_service(name: str, command: Sequence[str]) -> str:
    """The unit that runs the command once."""
    if set(command[0]) & set("'\"\\"):
        raise PathError(f"systemd does not run {command[0]}", hint="install memfolio in a folder without quotes")
    program, *arguments = map(_systemd_word, _writable(command))
    # A dollar begins a variable in every word but the first, which systemd takes as it is.
    line = " ".join([program, *(word.replace("$", "$$") for word in arguments)])
    return _SERVICE.format(mark=MARK, name=name, command=line, timeout=MINUTES)


def systemd_timer(name: str) -> str:
    """The unit that starts the other one of the same name, also for what was missed while the machine was off."""
    return _TIMER.format(mark=MARK, name=name, minutes=MINUTES)


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
    return _TASK.format(
        mark=MARK,
        minutes=MINUTES,
        timeout=MINUTES,
        program=escape(program),
        arguments=escape(subprocess.list2cmdline(arguments)),
    ).encode("utf-16")


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
