"""The command that sums up weeks, months and quarters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memfolio.errors import InputError
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen
from memfolio.serve.cli.times import read_moment
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.tend.digest import Built
    from memfolio.tend.hand import Hand

ALL = "all"
SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}


def digest(
    options: Options, scope: str = "all", /, since: str | None = None, current: bool = False, dry_run: bool = False
) -> Answer:
    if scope not in (*SCOPES, ALL):
        raise InputError(f"{scope[:40]!r} has no digests", hint=f"say {', '.join(SCOPES)} or {ALL}")
    with options.memory() as memory:
        built, hand = memory.digest(
            SCOPES.values() if scope == ALL else (SCOPES[scope],),
            since=read_moment(memory.vault.config, since),
            current=current,
            dry_run=dry_run,
        )
    return _answer(hand, built)


def _answer(hand: Hand, built: Built) -> Answer:
    seq = hand.receipts[-1].seq if hand.receipts else None
    document = {
        "digests": list(built.paths),
        "edited": list(built.edited),
        "fresh": built.fresh,
        "notes": hand.notes,
        "diff": hand.diff,
        "seq": seq,
        "dry_run": hand.dry_run,
    }

    def draw(screen: Screen) -> None:
        screen.diff(hand.diff)
        for path in built.paths:
            screen.say(path)
        for note in hand.notes:
            screen.say(note, "yellow")
        fresh = f"; {counted(built.fresh, 'other')} as fresh as their days" if built.fresh else ""
        if not built.paths:
            screen.say(f"Nothing to write{fresh}.", "bold")
        elif seq is None:
            screen.say(f"{counted(len(built.paths), 'digest')} would be written{fresh}. Nothing was changed.", "bold")
        else:
            screen.say(f"{counted(len(built.paths), 'digest')} written, as change {seq}{fresh}", "bold")

    return Answer(document, draw)
