"""Install memfolio for this user from the clone that this file is in: `python3 tools/install.py`.

It makes a virtual environment outside of the clone and a link to `memfolio` in a folder of programs. Run again, after
`git pull`, it brings memfolio up to date. It needs nothing but Python, and on one that is too old it says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
EXTRAS = "mcp,http"
NEEDED = (3, 11)
WINDOWS = sys.platform == "win32"


def data_folder() -> Path:
    """Where this user keeps what programs need."""
    usual = Path.home() / (r"AppData\Local" if WINDOWS else ".local/share")
    return Path(os.environ.get("LOCALAPPDATA" if WINDOWS else "XDG_DATA_HOME") or usual) / "memfolio"


def main(extras: str) -> str:
    """Install memfolio; return what to type next."""
    if sys.version_info < NEEDED:
        raise SystemExit(f"memfolio needs Python {NEEDED[0]}.{NEEDED[1]} or later; this is {sys.version.split()[0]}")
    if shutil.which("git") is None:
        raise SystemExit("memfolio needs git, which is not on the path")
    environment, link = data_folder() / "venv", Path.home() / ".local/bin/memfolio"
    program = environment / ("Scripts/memfolio.exe" if WINDOWS else "bin/memfolio")
    if not WINDOWS and os.path.lexists(link) and not (link.is_symlink() and Path(os.readlink(link)) == program):
        raise SystemExit(f"{link} is another program; move it away first")
    print(f"Installing memfolio into {environment} …", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", str(environment)], check=False).returncode:
        raise SystemExit("no virtual environment could be made; on Debian and Ubuntu: sudo apt install python3-venv")
    pip = [str(environment / ("Scripts" if WINDOWS else "bin") / "python"), "-m", "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "install", "--quiet", "--upgrade", f"{CLONE}[{extras}]"], check=False).returncode:
        raise SystemExit("pip could not install memfolio; what it says above is why")
    if WINDOWS:
        return f"It is {program}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    if str(link.parent) in os.environ.get("PATH", "").split(os.pathsep):
        return "Type `memfolio --help`"
    return f'It is {link}; `export PATH="{link.parent}:$PATH"` lets you type `memfolio` in this shell'


if __name__ == "__main__":
    print(main(sys.argv[1] if sys.argv[1:] else EXTRAS))
