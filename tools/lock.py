"""Pin the dependencies for every supported Python and platform; run by `make lock`."""

from __future__ import annotations

import subprocess
import sys

COMPILE = (
    *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--upgrade"),
    *("--universal", "--python-version", "3.11", "--group", "build"),
    *("--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "make lock"),
)
TARGETS = {"requirements.lock": (), "requirements-dev.lock": ("--extra", "dev")}


def main() -> None:
    for path, extras in TARGETS.items():
        subprocess.run([*COMPILE, *extras, "--quiet", "--output-file", path], check=True)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
