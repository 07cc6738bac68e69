"""Real processes under strace: killed at real system calls, and a power cut acted out from their real recording."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.disks import Call
from tests.vault.conftest import Tally
from tests.vault.power import Cache, Forgetful, moments
from tests.vault.proof import check_home

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: apt install strace"),
]

ROOT = Path(__file__).parent.parent.parent
KILLED_AT = ("write", "fsync", "rename", "renameat2", "link", "unlink", "ftruncate", "mkdir")
RECORDED = "openat,write,lseek,fsync,fdatasync,ftruncate,close,rename,renameat2,link,unlink,mkdir,rmdir"
WRITER = """
import os, sys
from pathlib import Path
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.vault.proof import BOT, configured, item

def say(ids, notes):
    os.write(1, "".join(f"{each}\\t{note}\\n" for each, note in zip(ids, notes, strict=True)).encode())

vault = Vault.open(config=configured(Path(sys.argv[1]), max_ledger_bytes=4096))
say(vault.add("main", [item("one")], BOT).ids, ["one"])
say(vault.add_lines(state_ledger("main"), [{"note": "two"}], BOT).ids, ['"two"'])
vault.commit()
vault.put_page("agents/main/MEMORY.md", b"a page", expects=None, by=BOT)
texts = [f"{number} " + "x" * 1500 for number in range(4)]
say(vault.add("main", [item(text) for text in texts], BOT).ids, texts)
page = vault.page("agents/main/MEMORY.md")
vault.put_page("agents/main/MEMORY.md", b"another page", expects=page.hash, by=BOT)
say(vault.add("main", [item("three")], BOT).ids, ["three"])
vault.commit()
"""


def run(home: Path, *strace: str) -> subprocess.CompletedProcess[str]:
    command = ["strace", "-f", "-qq", *strace, sys.executable, "-c", WRITER, str(home)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def acknowledged(output: str) -> dict[str, str]:
    """What the writer said before it died; a line that it did not finish was not said."""
    lines = output.split("\n")[:-1]
    return dict(line.split("\t") for line in lines)


@pytest.mark.parametrize("call", KILLED_AT)
def test_writer_killed_at_any_system_call_keeps_its_promises(call: str, quick_path: Path, tally: Tally) -> None:
    home = quick_path / "home"
    for k in count(1):
        shutil.rmtree(home, ignore_errors=True)
        done = run(home, "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={k}", "-o", os.devnull)
        if done.returncode == 0:
            break
        assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr
        check_home(home, acknowledged(done.stdout))
    tally("kill at a system call", k - 1)


def test_promises_outlive_a_power_cut_of_a_real_process(quick_path: Path, tally: Tally) -> None:
    folder = quick_path / "real"
    folder.mkdir()
    record = quick_path / "record"
    cache = Cache(folder)
    done = run(folder / "home", "-xx", "-s", "10000000", "-e", f"trace={RECORDED}", "-o", str(record))
    assert done.returncode == 0, done.stderr
    calls = list(recorded(record.read_text(), folder))
    promises = [number for number, call in enumerate(calls, 1) if call.fd == 1]
    wanted, chance, said, trials = set(moments(calls, promises)), random.Random(1), "", 0
    for number, call in enumerate(calls, 1):
        if call.fd == 1:
            said += call.data.decode()
        else:
            cache.take(call)
        for each in range(4 if number in wanted else 0):
            shutil.rmtree(quick_path / "lost", ignore_errors=True)
            cache.lose(quick_path / "lost", Forgetful() if each == 0 else chance)
            check_home(quick_path / "lost" / "home", acknowledged(said))
            trials += 1
    tally("state after a power cut of a real process", trials)


_LINE = re.compile(r"\d+ +(\w+)\((.*)\) += (-?\d+)(?: .*)?")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FLAGS = {"O_CREAT": os.O_CREAT, "O_APPEND": os.O_APPEND, "O_TRUNC": os.O_TRUNC}


def recorded(text: str, folder: Path) -> Iterator[Call]:
    """The steps below `folder` in what strace wrote, and what went to the standard output."""
    ours = {1}
    for name, arguments, result in joined(text):
        texts = [bytes.fromhex(each.replace("\\x", "")) for each in _TEXT.findall(arguments)]
        fd = int(arguments.split(",")[0]) if arguments[0].isdigit() else -1
        paths = [Path(os.fsdecode(each)) for each in texts] if fd < 0 else []
        if result < 0 or (fd >= 0 and fd not in ours) or not all(path.is_relative_to(folder) for path in paths):
            continue
        if name == "openat":
            ours.add(result)
            flags = sum(flag for word, flag in _FLAGS.items() if word in arguments)
            yield Call("open", paths[0], number=flags, result=result)
        elif name in ("write", "lseek", "ftruncate"):
            data = texts[0][:result] if texts else b""
            number = result if name == "lseek" else int(arguments.split(",")[1]) if name == "ftruncate" else 0
            yield Call(name.removeprefix("f"), fd=fd, data=data, number=number)
        elif fd >= 0:
            ours -= {fd} if name == "close" else set()
            yield Call("fsync" if name == "fdatasync" else name, fd=fd)
        else:
            kind = "exchange" if "RENAME_EXCHANGE" in arguments else name.replace("renameat2", "rename")
            yield Call(kind, paths[0], other=paths[1] if len(paths) > 1 else None)


def joined(text: str) -> Iterator[tuple[str, str, int]]:
    """Each finished call: its name, its arguments, and what it returned; what threads tore apart is put together."""
    begun: dict[str, str] = {}
    for line in text.split("\n"):
        pid, _, rest = line.partition(" ")
        if line.endswith("<unfinished ...>"):
            begun[pid] = line.removesuffix("<unfinished ...>").rstrip()
            continue
        if "resumed>" in rest:
            line = begun.pop(pid) + rest.partition("resumed>")[2]
        if match := _LINE.fullmatch(line):
            yield match[1], match[2], int(match[3])
