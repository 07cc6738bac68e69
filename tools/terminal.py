"""Make the picture of a terminal in README.md from what the program prints: `python -m tools.terminal [FILE]`."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.serve.calls import PROGRAM, coloured

FILE = Path(__file__).parent.parent / "docs" / "terminal.svg"
WIDTH = 96
NOTES = {
    "people.md": "# People\n\nKim keeps bees on the roof.\n\nPriya doesn't take calls before 10.\n",
    "atlas.md": "# Atlas\n\nThe launch of Atlas is on 3 March.\n",
}
SESSION = (
    "memfolio init --notes notes --owner Alex --yes",
    'memfolio recall "Which insects does Kim have?" --limit 1',
    'memfolio remember "Alex prefers tea to coffee" --type preference',
    'memfolio context "What shall I offer Alex to drink?"',
    'memfolio why "Alex drinks tea rather than coffee"',
)
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" \
aria-label="A session with memfolio">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font: bold 18px system-ui, sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""A window like that of rich, with fonts that a machine has: a picture on a page may load none."""


def printed(folder: Path) -> str:
    """What a person sees who types the commands of the session, in colour, in a folder of their own."""
    lines = list[str]()
    for command in SESSION:
        _, *args = shlex.split(command)
        said = coloured(WIDTH, *args).replace(str(folder), "~")
        # A progress line leaves signs that move the cursor, which are not colours.
        said = re.sub(r"\x1b\[[0-9;?]*[A-HJKhl]|\r[^\n]*\r", "", said)
        lines += [f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m", said.strip("\n"), ""]
    return "\n".join(lines[:-1])


def svg(text: str) -> str:
    """The picture of a terminal with this text in it."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text))
    picture = console.export_svg(title="memfolio", code_format=FORMAT, unique_id="terminal")
    return "\n".join(line.rstrip() for line in picture.splitlines() if line.strip()) + "\n"


def main(file: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="memfolio-terminal-") as place:
        folder = Path(place).resolve()
        for name in [name for name in os.environ if name.startswith("MEMFOLIO_")]:
            del os.environ[name]
        path = f"{PROGRAM.parent}:/usr/bin:/bin"
        os.environ |= {"HOME": str(folder), "MEMFOLIO_CACHE": f"{folder}/.cache/memfolio", "PATH": path}
        os.chdir(folder)
        (folder / "notes").mkdir()
        for name, content in NOTES.items():
            (folder / "notes" / name).write_text(content, encoding="utf-8")
        text = printed(folder)
        os.chdir(Path(folder.anchor))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(svg(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute() if sys.argv[1:] else FILE)
