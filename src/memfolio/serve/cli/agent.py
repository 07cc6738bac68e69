"""The command `agent` with what is below it: who remembers in this home, and what each may read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.output import Screen, fields_of

if TYPE_CHECKING:
    from memfolio.govern.agents import Agent as Known
    from memfolio.vault.past.past import UndoResult


def agent_list(options: Options) -> Answer:
    with options.memory() as memory:
        found = memory.agents.list()
    rows = [row(each) for each in found]
    names = ("id", "policy", "reads", "memories", "last", "role")
    return Answer({"agents": [document(each) for each in found]}, lambda screen: screen.table(names, rows, wide="role"))


def agent_show(options: Options, id: str | None = None, /) -> Answer:
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


def agent_create(options: Options, id: str, settings: list[str] | None = None, /, dry_run: bool = False) -> Answer:
    return change(options, f"There is {id}", "create", id, dry_run=dry_run, **read(settings or ()))


def agent_set(options: Options, id: str, settings: list[str] | None = None, /, dry_run: bool = False) -> Answer:
    return change(options, f"{id} is set", "update", id, dry_run=dry_run, **read(settings or ()))


def agent_instructions(options: Options, id: str | None = None, /) -> Answer:
    with options.memory() as memory:
        text = memory.agents.instructions(id)
    return Answer({"agent": id or memory.agent, "text": text}, lambda screen: screen.page(text))


def agent_rename(options: Options, id: str, new: str, dry_run: bool = False) -> Answer:
    return change(options, f"{id} is {new}", "rename", id, new, dry_run=dry_run)


def agent_move(options: Options, to: str, ids: list[str], dry_run: bool = False) -> Answer:
    return change(options, f"{to} has them", "move", ids, to, dry_run=dry_run)


def agent_retire(options: Options, id: str, dry_run: bool = False) -> Answer:
    return change(options, f"{id} is retired", "retire", id, dry_run=dry_run)


def agent_unretire(options: Options, id: str, dry_run: bool = False) -> Answer:
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
