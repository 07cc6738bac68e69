"""The command `export`: a memory as a file or folder for elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.exchange.export import Exported


def export(
    options: Options, target: Path, as_: str = "archive", whole_home: bool = False, dry_run: bool = False
) -> Answer:
    from memfolio.exchange.export import export as write

    with options.memory() as memory:
        done = write(
            memory,
            target.expanduser(),
            as_,
            whole_home=whole_home,
            dry_run=dry_run,
            told=lambda done, total: options.wait.step("files", f"Exporting to {target.name}", done, total),
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
