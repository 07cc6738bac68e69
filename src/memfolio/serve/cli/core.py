"""The command `core`: what core memory says, and edits of it within its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.serve.cli.call import PERSON, Agent, Answer, Command, DryRun, Home, Json, Options, read_text, register
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.stores.core import CoreEdit, CoreMemory

In = Annotated[
    str,
    typer.Argument(
        metavar="BLOCK", help="Identity, Active Context, Persona, Critical Facts, or one of yours.", show_default=False
    ),
]
Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="The text, or - to read it from standard input.", show_default=False)
]
Which = Annotated[str, typer.Argument(metavar="TEXT", help="The line, or a part of it.", show_default=False)]
What = Annotated[str, typer.Argument(metavar="TEXT|ID", help="A text, or the id of a memory.", show_default=False)]


def show(options: Options) -> Answer:
    """Show what core memory says, and how much room it has."""
    with options.memory() as memory:
        found = memory.core.read()

    def draw(screen: Screen) -> None:
        options.tell([found.notice] if found.notice else [])
        draw_core(screen, found)

    return Answer(document(found), draw)


def add(options: Options, block: In, text: Text, dry_run: DryRun = False) -> Answer:
    """Put a line into a block."""
    words = read_text(text)
    with options.memory() as memory:
        return edited(memory.core.add(block, words, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def remove(options: Options, block: In, text: Which, dry_run: DryRun = False) -> Answer:
    """Take a line out of a block."""
    with options.memory() as memory:
        return edited(memory.core.remove(block, text, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def replace(
    options: Options,
    block: In,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The line, or a part of it.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What it should say.", show_default=False)],
    dry_run: DryRun = False,
) -> Answer:
    """Put other words in the place of a line."""
    with options.memory() as memory:
        return edited(memory.core.replace(block, old, new, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def pin(options: Options, what: What, dry_run: DryRun = False) -> Answer:
    """Put a text or a memory among the critical facts."""
    with options.memory() as memory:
        return edited(memory.core.pin(what, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def unpin(options: Options, what: What, dry_run: DryRun = False) -> Answer:
    """Take a critical fact out again."""
    with options.memory() as memory:
        return edited(memory.core.unpin(what, by=PERSON, dry_run=dry_run), dry_run=dry_run)


def document(found: CoreMemory) -> dict[str, Any]:
    """Core memory for programs."""
    blocks = [
        {
            "name": each.name,
            "tokens": each.tokens,
            "share": found.share(each),
            "lines": [item.text for item in each.items],
        }
        for each in found.blocks
    ]
    return {
        "path": found.path,
        "tokens": found.tokens,
        "cap": found.cap,
        "over_cap": found.over_cap,
        "blocks": blocks,
        "text": found.text,
    }


def draw_core(screen: Screen, found: CoreMemory) -> None:
    for block in found.blocks:
        share = found.share(block)
        screen.say(f"{block.name}  ({block.tokens:,}{f' of {share:,}' if share else ''} tokens)", "bold")
        for item in block.items:
            screen.say(f"  {item.text}")
    if not found.text:
        screen.say("Core memory is empty.", "dim")
    screen.say(f"{found.tokens:,} of {found.cap:,} tokens, {found.path}", "dim")


def edited(edit: CoreEdit, *, dry_run: bool) -> Answer:
    """What an edit did."""
    receipt, found = edit.receipt, edit.memory
    seq = receipt.seq if receipt else None

    def draw(screen: Screen) -> None:
        screen.diff(edit.diff)
        room = f"core memory has {found.tokens:,} of {found.cap:,} tokens"
        if seq is not None:
            screen.say(f"Change {seq}: {room}; `memfolio undo {seq}` takes that back", "bold")
        else:
            screen.say(f"{'' if edit.diff else 'It says so already. '}Nothing was changed.", "bold")

    return Answer(document(found) | {"diff": edit.diff, "seq": seq, "dry_run": dry_run}, draw)


COMMANDS = (
    Command(show, "core show"),
    Command(add, 'core add "Active Context" "Working on the launch"'),
    Command(remove, 'core remove "Active Context" launch'),
    Command(replace, 'core replace Identity Vim "Prefers Helix"'),
    Command(pin, 'core pin "Alex is allergic to nuts"', "core pin M-1763217005123-5f2c91ab"),
    Command(unpin, "core unpin nuts"),
)
app = typer.Typer(
    name="core",
    context_settings={"help_option_names": ["--help", "-h"]},
)
register(app, "Commands", COMMANDS)


@app.callback(invoke_without_command=True)
def core(ctx: typer.Context, home: Home = None, agent: Agent = None, as_json: Json = False) -> Answer | None:
    """Show and edit core memory, MEMORY.md, which an agent always has before its eyes."""
    before: Options = ctx.obj
    options = ctx.obj = before.further(home, agent, as_json=as_json)
    if ctx.invoked_subcommand is not None:
        return None
    answer = show(options)
    answer.as_json = options.as_json
    return answer
