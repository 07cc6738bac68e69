"""The command `agent` with what is below it: who remembers in this home, and what each may read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli import complete
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group
from memfolio.serve.cli.output import Screen, fields_of

if TYPE_CHECKING:
    from memfolio.govern.agents import Agent as Known
    from memfolio.vault.past.past import UndoResult

Id = Annotated[str, typer.Argument(metavar="ID", help="The agent.", show_default=False, autocompletion=complete.agents)]
NewId = Annotated[
    str, typer.Argument(metavar="ID", help="1 to 64 of a-z, 0-9 and -, not starting with -.", show_default=False)
]
Whom = Annotated[str | None, typer.Argument(metavar="ID", help="The agent, else the one of --agent.")]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE...",
        help="role, policy (writes or proposes), reads (ids with commas between, * for all), proposes_to, trusted, …",
        show_default=False,
    ),
]


def list_(options: Options) -> Answer:
    """List the agents of this home."""
    with options.memory() as memory:
        found = memory.agents.list()
    rows = [row(each) for each in found]
    names = ("id", "policy", "reads", "memories", "last", "role")
    return Answer({"agents": [document(each) for each in found]}, lambda screen: screen.table(names, rows, wide="role"))


def show(options: Options, id: Whom = None) -> Answer:
    """Show how an agent stands in this home."""
    with options.memory() as memory:
        found = memory.agents.get(id or memory.agent)
    shown = document(found)

    def draw(screen: Screen) -> None:
        for name, value in shown.items():
            told = ", ".join(value) if isinstance(value, tuple) else value
            told = ("yes" if told else "no") if isinstance(told, bool) else told
            if told not in (None, ""):
                screen.say(f"{name.replace('_', ' '):<12} {told}")

    return Answer(shown, draw)


def create(options: Options, id: NewId, settings: Settings = None, dry_run: DryRun = False) -> Answer:
    """Make an agent, with a file of settings of its own."""
    return change(options, f"There is {id}", "create", id, dry_run=dry_run, **read(settings or ()))


def set_(options: Options, id: Id, settings: Settings = None, dry_run: DryRun = False) -> Answer:
    """Change settings of an agent; what else you wrote into its file stays."""
    return change(options, f"{id} is set", "update", id, dry_run=dry_run, **read(settings or ()))


def instructions(options: Options, id: Whom = None) -> Answer:
    """Print what to tell an agent about its memory, for AGENTS.md or a system prompt."""
    with options.memory() as memory:
        text = memory.agents.instructions(id)
    return Answer({"agent": id or memory.agent, "text": text}, lambda screen: screen.page(text))


def rename(options: Options, id: Id, new: NewId, dry_run: DryRun = False) -> Answer:
    """Give an agent another id: all its files, and the settings of others that name it, as one change."""
    return change(options, f"{id} is {new}", "rename", id, new, dry_run=dry_run)


def move(
    options: Options,
    to: Annotated[str, typer.Argument(metavar="TO", help="An agent, or shared.", show_default=False)],
    ids: Annotated[list[str], typer.Argument(metavar="MEMORY...", help="Ids of memories.", show_default=False)],
    dry_run: DryRun = False,
) -> Answer:
    """Give memories to another agent, or with `shared` to all."""
    return change(options, f"{to} has them", "move", ids, to, dry_run=dry_run)


def retire(options: Options, id: Id, dry_run: DryRun = False) -> Answer:
    """Keep an agent to be read only."""
    return change(options, f"{id} is retired", "retire", id, dry_run=dry_run)


def unretire(options: Options, id: Id, dry_run: DryRun = False) -> Answer:
    """Let a retired agent write again."""
    return change(options, f"{id} writes again", "unretire", id, dry_run=dry_run)


def read(settings: Iterable[str]) -> dict[str, Any]:
    """Settings as they are typed: a switch is true or false, and `reads` is a list."""
    from memfolio.vault.agents import KEYS

    pairs = [each.partition("=") for each in settings]
    if lost := next((name for name, sign, _ in pairs if not sign or name not in KEYS), None):
        hint = f"write it like policy=proposes; there are {', '.join(KEYS)}"
        raise InputError(f"{lost[:40]!r} is no setting", hint=hint)
    switches = {"true": True, "false": False}
    return {
        name: tuple(filter(None, value.split(","))) if name == "reads" else switches.get(value, value)
        for name, _, value in pairs
    }


def row(found: Known) -> tuple[str, ...]:
    settings, last = found.settings, f"{found.active_at:%Y-%m-%d}" if found.active_at else ""
    policy = "retired" if settings.retired else settings.policy
    memories = "no index" if found.memories is None else f"{found.memories:,}"
    return found.id, policy, ", ".join(settings.reads), memories, last, found.trouble or settings.role


def document(found: Known) -> dict[str, Any]:
    settings = {name: value for name, value in fields_of(found.settings).items() if name != "agent"}
    numbers = {"memories": found.memories, "active_at": found.active_at, "trouble": found.trouble}
    return {"id": found.id} | settings | numbers


def change(options: Options, done: str, verb: str, *what: object, dry_run: bool, **settings: object) -> Answer:
    """Do something to agents, by a verb of `Agents`, and tell what it did."""
    with options.memory() as memory:
        outcome: UndoResult = getattr(memory.agents, verb)(*what, by=PERSON, dry_run=dry_run, **settings)
    seq = outcome.receipt.seq if outcome.receipt else None

    def draw(screen: Screen) -> None:
        screen.diff(outcome.diff)
        undo = f"{done}, as change {seq}; `memfolio undo {seq}` takes that back"
        screen.say("Nothing was changed." if seq is None else undo, "bold")

    return Answer({"diff": outcome.diff, "seq": seq, "paths": list(outcome.paths)}, draw)


list_.__name__, set_.__name__ = "list", "set"
AGENT = (
    Command(list_, "agent list"),
    Command(show, "agent show researcher"),
    Command(create, 'agent create researcher policy=proposes reads=shared,main role="Looks things up"'),
    Command(set_, "agent set researcher reads=* trusted=true"),
    Command(instructions, "agent instructions researcher"),
    Command(rename, "agent rename researcher scout"),
    Command(move, "agent move shared M-1763217005123-5f2c91ab"),
    Command(retire, "agent retire researcher"),
    Command(unretire, "agent unretire researcher"),
)
app = group("agent", AGENT)
