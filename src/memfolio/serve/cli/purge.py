"""The command that destroys: what would go is shown, and a word must be typed before it does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from memfolio.errors import RefusedError
from memfolio.serve.cli.brief import beginning
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.vault.purge.plan import PurgePlan
    from memfolio.vault.purge.purge import Purged

WORD = "purge"
MOST = 20
"""Files that are listed at most."""


def purge(
    options: Options, what: list[str], quotes: str = "refuse", dry_run: bool = False, yes: bool = False
) -> Answer:
    with options.memory() as memory:
        if not dry_run and not yes:
            seen = memory.purge(*what, dry_run=True, quotes=quotes, by=PERSON)
            asks(options, seen)
            what = [each.id for each in seen.plan.memories]
        done = memory.purge(*what, dry_run=dry_run, quotes=quotes, by=PERSON)
    return told(done)


def asks(options: Options, seen: Purged) -> None:
    """Go on if the person types the word; where nobody can be asked, only `--yes` counts."""
    if options.as_json or not sys.stdin.isatty():
        raise RefusedError("nobody can be asked whether to purge", hint="look with --dry-run, then say --yes")
    options.wait.stop()
    preview(Screen(errors=True), seen.plan)
    if typer.prompt(f'Type "{WORD}" to destroy this', err=True, default="", show_default=False).strip() != WORD:
        raise typer.Abort


def preview(screen: Screen, plan: PurgePlan) -> None:
    """What would go, where it stands, and what is out of reach."""
    from memfolio.vault.purge.plan import OUT_OF_REACH

    rows = [(each.id, each.why or "named", beginning(each.content, 120)) for each in plan.memories]
    screen.table(("id", "why", "memory"), rows, wide="memory", headed=False)
    screen.say()
    for path, size in sorted(plan.files.items())[:MOST]:
        screen.say(f"{path}: {counted(size, 'byte')} would go")
    if len(plan.files) > MOST:
        screen.say(f"and {len(plan.files) - MOST} more files")
    if plan.git:
        screen.say(f"History is not rewritten: {plan.git}")
    else:
        versions = sum(plan.history.values())
        screen.say(f"git: {counted(versions, 'version')} of {counted(len(plan.history), 'file')} would be rewritten")
    say_stays(screen, plan)
    screen.say(f"Out of reach: {'; '.join(OUT_OF_REACH)}")
    screen.say("This cannot be undone.", "bold")


def say_stays(screen: Screen, plan: PurgePlan) -> None:
    """Which memories stay though they may tell of it."""
    if plan.related:
        screen.say(f"Stays and may say the same, read it: {', '.join(plan.related)}")
    if plan.keepers:
        screen.say(f"Stays and has the text or a line of it: {', '.join(plan.keepers)}")


def told(done: Purged) -> Answer:
    """What was destroyed and what was searched afterwards; texts are not repeated once they are gone."""
    plan, proof = done.plan, done.proof
    document: dict[str, Any] = {
        "purged": [{"id": each.id, "why": each.why or "named"} for each in plan.memories],
        "files": plan.files,
        "history": plan.history,
        "git": plan.git or None,
        "related": plan.related,
        "keepers": plan.keepers,
        "seqs": done.seqs,
        "dry_run": proof is None,
        "searched": {"files": proof.files, "cached": proof.cached, "objects": proof.objects} if proof else None,
        "left": proof.left if proof else None,
        "unsought": proof.unsought if proof else None,
    }

    def draw(screen: Screen) -> None:
        if proof is None:
            preview(screen, plan)
            screen.say("Nothing was changed.", "bold")
            return
        seqs = f" as change {', '.join(map(str, done.seqs))}" if done.seqs else ""
        screen.say(f"{counted(len(plan.memories), 'memory', 'memories')} destroyed{seqs}", "bold")
        files = counted(proof.files + proof.cached, "file")
        screen.say(
            f"Searched {files} and {counted(proof.objects, 'git object')}. Found: {len(proof.left) or 'nothing'}"
        )
        for each in proof.unsought:
            screen.say(f"not looked for: {each}", "red")
        for place in proof.left:
            screen.say(f"left in {place}", "red")
        say_stays(screen, plan)
        if plan.git:
            screen.say(f"History was not rewritten: {plan.git}")

    return Answer(document, draw, status=1 if proof and not proof.is_clean else 0)
