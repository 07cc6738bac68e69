"""The command `export`: a memory as a file or folder for elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.serve.cli.call import Answer, Command, DryRun, Options
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.exchange.export.export import Exported

Target = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|DIR", help="Where to; it must not be there, or be an empty folder.", show_default=False
    ),
]
As = Annotated[str, typer.Option("--as", metavar="FORM", help="archive or jsonl, a file; obsidian or mabos, a folder.")]
Whole = Annotated[bool, typer.Option("--whole-home", help="All agents, not only the one that is meant.")]


def export(
    options: Options, target: Target, as_: As = "archive", whole_home: Whole = False, dry_run: DryRun = False
) -> Answer:
    """Write a memory, as it is at this moment, into a file or folder for other programs or another machine."""
    from memfolio.exchange.export.export import export as write

    with options.memory() as memory:
        done = write(memory, target.expanduser(), as_, whole_home=whole_home, dry_run=dry_run)
    document = {"path": done.target, "as": done.form, "agents": done.agents, "files": done.files, "bytes": done.bytes}
    more = {"dry_run": dry_run, "left_out": dict(done.left_out)}
    return Answer({**document, **more}, lambda screen: _show(screen, done))


def _show(screen: Screen, done: Exported) -> None:
    for path, why in done.left_out.items():
        screen.say(f"left out: {path} {why}", "yellow")
    what = f"{counted(done.files, 'file')} of {', '.join(done.agents)}"
    if done.is_written:
        screen.say(f"{what} exported to {done.target}", "bold")
    else:
        screen.say(f"{what} would be exported to {done.target}. Nothing was written.", "bold")


COMMANDS = (Command(export, "export memory.tar.gz", "export notes --as obsidian --whole-home"),)
