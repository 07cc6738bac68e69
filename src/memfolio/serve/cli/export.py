"""The command `export`: a memory as a file or folder for elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.serve.cli.call import Answer, Command, DryRun, Options
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.exchange.export import Exported

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
    from memfolio.exchange.export import export as write

    with options.memory() as memory:
        done = write(
            memory,
            target.expanduser(),
            as_,
            whole_home=whole_home,
            dry_run=dry_run,
            progress=lambda done, total: options.wait.step("files", f"Exporting to {target.name}", done, total),
        )
    document = {"path": done.target, "as": as_, "agents": done.agents, "files": done.files}
    more = {"dry_run": dry_run, "left_out": dict(done.left_out)}
    return Answer({**document, **more}, lambda screen: _show(screen, done, dry_run=dry_run))


def _show(screen: Screen, done: Exported, *, dry_run: bool) -> None:
    for path, why in done.left_out.items():
        screen.say(f"left out: {path} {why}", "yellow")
    what = f"{counted(done.files, 'file')} of {', '.join(done.agents)}"
    said = "would be exported to {}. Nothing was written." if dry_run else "exported to {}"
    screen.say(f"{what} {said.format(done.target)}", "bold")


COMMANDS = (Command(export, "export memory.tar.gz", "export notes --as obsidian --whole-home"),)
