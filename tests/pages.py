"""Reading and running documentation pages.

A page runs from top to bottom in a folder and a home of its own:

- a `python` block is executed; the blocks of one page share their names;
- in a `console` block each line that starts with `$ ` is run by bash, with memfolio on the path; in pages of `docs`,
  plain calls of memfolio after the first are made in this process, which is quicker. It must exit with 0, or with N
  where the line ends in `# exit N`. A command goes on in the next line after a backslash. The lines below it must occur
  in its output, whole and in this order; `…` stands for anything, blanks count as one;
- in the README, which is read first, nothing may be left out either: every line of the output is shown, and `…` by
  itself stands for any number of lines;
- every other block (`sh`, `markdown`, `text`, `toml`, …) is only shown.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memfolio.serve.cli.app import run as cli

ROOT = Path(__file__).parent.parent
EXIT = re.compile(r"\s+# exit (\d+)\s*$")
TIMEOUT = 120
PLAIN = re.compile(r"memfolio (?!(?:demo|hook|mcp|serve|service|install)\b)[^|&;<>$`*?~#\\(){}!\n]*$")
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\!]*\"""")
"""Words that bash passes on as they are."""
SUBSTITUTED = re.compile(r"\$\(cat ([\w.-]+)\)")
"""The content of a file in the folder, as an argument."""
Run = Callable[[str], tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, its text, and the line of the page on which the text begins."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a console block and what it should show."""

    command: str
    status: int = 0
    shown: list[str] = field(default_factory=list)


def pages() -> list[Path]:
    """The pages that promise to be runnable: README and everything under docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    for token in tokens(page):
        if token.type == "fence":
            language = token.info.split()[0] if token.info.strip() else ""
            yield Block(language=language, text=token.content, line=(token.map or [0])[0] + 2)


def links(page: Path) -> Iterator[str]:
    """Targets of links and images, without those in code."""
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrGet("href") if child.type == "link_open" else child.attrGet("src")
            if target:
                yield str(target)


def anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be linked to."""
    found = tokens(page)
    titles = [after.content for token, after in pairwise(found) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def steps(text: str) -> list[Step]:
    """The commands of a console block, each with the output shown below it."""
    found: list[Step] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            status = EXIT.search(line)
            found.append(Step(command=EXIT.sub("", line[2:]), status=int(status[1]) if status else 0))
        elif line.strip():
            assert found, f"output before any command: {line}"
            found[-1].shown.append(line)
    return found


def matches(shown: str, real: str) -> bool:
    """Whether a real line is what the page shows."""
    parts = (re.escape(part) for part in " ".join(shown.split()).split("…"))
    return re.fullmatch(".*".join(parts), " ".join(real.split())) is not None


def missing(shown: list[str], output: str) -> str | None:
    """The first shown line that does not come up in the output after those before it."""
    rest = iter(output.splitlines())
    for line in shown:
        if line.strip() != "…" and not any(matches(line, real) for real in rest):
            return line
    return None


def unshown(shown: list[str], output: str) -> str | None:
    """The first line that is not both shown and real, at the same place; `…` by itself stands for any lines."""
    real, wanted = [line for line in output.splitlines() if line.strip()], [line for line in shown if line.strip()]
    while wanted and wanted[0].strip() != "…":
        if not real or not matches(wanted[0], real[0]):
            return wanted[0]
        del wanted[0], real[0]
    if not wanted:
        return next(iter(real), None)
    rest = wanted[1:]
    return None if any(unshown(rest, "\n".join(real[at:])) is None for at in range(len(real) + 1)) else rest[0]


def surroundings(folder: Path) -> dict[str, str]:
    """The environment in which a page runs: its own user, home and cache, plain output, UTC."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MEMFOLIO_", "GIT_"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "MEMFOLIO_HOME": str(folder / "home"),
        "MEMFOLIO_CACHE": str(folder / "cache"),
        "MEMFOLIO_PROJECTS": "false",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "120",
    }


def run_step(step: Step, run: Run, lacking: Callable[[list[str], str], str | None] = missing) -> None:
    status, output = run(step.command)
    assert status == step.status, f"$ {step.command}\nexit {status}\n{output}"
    lost = lacking(step.shown, output)
    assert lost is None, f"$ {step.command}\ndoes not show: {lost}\nbut:\n{output}"


def by_bash(command: str) -> tuple[int, str]:
    """Run a command as a person does; returns its exit code and its output."""
    run = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT,
    )
    return run.returncode, run.stdout


def here(command: str) -> tuple[int, str]:
    """Run a command in this process, which takes a tenth of the time, where bash would do nothing but start it."""
    command = SUBSTITUTED.sub(lambda match: Path(match[1]).read_text(encoding="utf-8").strip(), command)
    if not PLAIN.match(QUOTED.sub("word", command)):
        return by_bash(command)
    output = io.BytesIO()
    with io.TextIOWrapper(output, encoding="utf-8") as stream, redirect_stdout(stream), redirect_stderr(stream):
        status = cli(shlex.split(command)[1:])
        stream.flush()
        return status, output.getvalue().decode()


def run_page(page: Path) -> None:
    """Run every block of a page in order; the caller has made the folder and the environment this process's own."""
    names: dict[str, object] = {"__name__": "__main__"}
    run: Run = by_bash
    for block in blocks(page):
        if block.language == "python":
            # Blank lines in front make the line numbers of a traceback those of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
        elif block.language == "console":
            for step in steps(block.text):
                run_step(step, run, unshown if page.name == "README.md" else missing)
                run = here if page.parent.name == "docs" else by_bash  # README and the first of each page: as a person
