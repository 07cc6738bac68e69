"""Build the wheel and the source distribution: `python -m tools.dist FOLDER`; nothing is fetched for that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
BUILD = "import sys; from setuptools.build_meta import *; to = sys.argv[1]; build_sdist(to); build_wheel(to)"


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution, in a folder; made of a copy, in which nothing of an older build lies."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, place)
        shutil.copytree(ROOT / "src", Path(place) / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        made = subprocess.run(
            [sys.executable, "-c", BUILD, str(folder.resolve())], cwd=place, capture_output=True, text=True
        )
    if made.returncode:
        raise SystemExit(made.stderr)
    [wheel], [source] = folder.glob("memfolio-*.whl"), folder.glob("memfolio-*.tar.gz")
    return wheel, source


if __name__ == "__main__":
    for path in build(Path(sys.argv[1])):
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path}")
