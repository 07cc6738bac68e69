"""The first command: init makes a home, connects hosts to it, and ends with a memory that is recalled."""

from __future__ import annotations

import getpass
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memfolio.config import load_config
from memfolio.errors import InputError, RefusedError
from memfolio.serve.cli.call import Answer, Options, anywhere, in_empty_folder, is_home
from memfolio.serve.cli.import_ import watch
from memfolio.serve.cli.output import Line, Screen, as_called
from memfolio.serve.cli.world import check_tools, command_for, connecting, consented, install, is_connected, taken_from
from memfolio.text import joined

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.serve.install.hosts import Host

QUESTION = "Whose memory is this?"
NONE, NOBODY = "none", ("none", "no", "n")
VAULTS = (
    "notes",
    "Notes",
    "Documents/notes",
    "Documents/Notes",
    "Documents/Obsidian",
    "Documents/Obsidian Vault",
    "Obsidian",
)
"""Folders of a person in which notes often lie."""
NEXT = 'Next: `memfolio remember "…"`, {}, `memfolio open` to look at it all.'
HAVE, ASK = "`memfolio watch FOLDER` for notes you have", '`memfolio recall "…"` to ask your notes'
READY = 'Next: start {} and ask it something that is in your notes, or ask here: `memfolio recall "…"`.'


@dataclass(slots=True, kw_only=True)
class Beginning:
    """What `init` will create: where, whose, with which notes, and for which hosts."""

    options: Options
    owner: str | None
    hosts: list[Host]
    notes: list[Path]
    """Folders whose notes are to be found where they are."""
    tools_only: bool
    yes: bool

    @property
    def config(self) -> Config:
        return self.options.config(create=anywhere)

    def lines(self) -> list[Line]:
        """Return what will be kept and where, before anything is."""
        home = self.config.home
        kept = "is already a home, and stays as it is" if is_home(self.config) else "will hold the memory"
        lines: list[Line] = [f"{home} {kept}: Markdown files, their history in git, nothing elsewhere but a cache."]
        lines += [f"The notes in {each} will be searched where they are; they are only read." for each in self.notes]
        if (
            there := []
            if self.notes
            else [each for each in map(Path.home().joinpath, VAULTS) if _has_notes(each, home)]
        ):
            watch = command_for(home, "watch", str(there[0]))
            lines.append(as_called(f"There are notes in {there[0]}: `{watch}` makes them searchable where they are."))
        for host in self.hosts:
            lines += [consented(host, home, connecting(host), tools_only=self.tools_only) + taken_from(host, home)]
        return lines

    def next_step(self) -> str:
        """What a person would do when all of it is made."""
        if self.hosts and self.notes:
            return as_called(READY.format(" or ".join(each.title for each in self.hosts)))
        return as_called(NEXT.format(ASK if self.notes else HAVE))


def init(
    options: Options,
    folder: str = "",
    /,
    owner: str | None = None,
    host: list[str] | None = None,
    notes: list[str] | None = None,
    tools_only: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> Answer:
    asks = not (yes or dry_run or options.as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    options = options.further(folder or None, None, as_json=False)
    folders, hosts = list(map(_folder, notes or ())), _named(host or ())
    plan = Beginning(options=options, owner=owner, hosts=hosts, notes=folders, tools_only=tools_only, yes=yes)
    if asks:
        _ask(plan, where=not (folder or options.home), hosts=host is None)
    if plan.hosts:
        check_tools("--host none, and connect it later")
    existed = is_home(plan.config)
    _check_folder(plan.config.home, existed=existed, yes=plan.yes)
    if dry_run:
        return _shown(plan, existed=existed)
    return _make(plan, existed=existed, found=[] if host or asks else _unconnected(plan.options))


def _shown(plan: Beginning, *, existed: bool) -> Answer:
    """Preview what would be created: the home, and the files of hosts."""
    hosts = [install(plan.options, each.name, tools_only=plan.tools_only, dry_run=True).document for each in plan.hosts]
    files = [f"{file['path']} would be written" for each in hosts for file in each["files"]]
    return Answer(_document(plan, created=not existed, dry_run=True) | {"hosts": hosts}, [*plan.lines(), *files])


def _unconnected(options: Options) -> list[Host]:
    """The hosts that this user has and that do not use memfolio."""
    from memfolio.serve.install.hosts import found

    return [each for each in found(Path.home()) if not is_connected(options, each)]


def _ask(plan: Beginning, *, where: bool, hosts: bool) -> None:
    """Ask at most three questions, each also answered by an option; then say what will be kept, and where."""
    from memfolio.serve.install.hosts import found

    screen = Screen(errors=True)
    _ask_where(plan, where=where)
    if plan.owner is None and not is_home(plan.config):
        plan.owner = typer.prompt("Your name", default=getpass.getuser(), err=True)
    there = found(Path.home()) if hosts else []
    plan.hosts = there or plan.hosts
    screen.show(plan.lines())
    while there:
        usual = " ".join(each.name for each in there)
        said = typer.prompt(f"Which hosts are to be connected? Names, or {NONE}", default=usual, err=True)
        try:
            plan.hosts = _named(said.replace(",", " ").split())
        except InputError as error:
            screen.say(f"{error.message}; {error.hint}", "yellow")
        else:
            return


def _ask_where(plan: Beginning, *, where: bool) -> None:
    """Ask for a folder until it is empty, a home, or confirmed."""
    usual: str | None = str(plan.config.home)
    while True:
        if where:
            chosen = typer.prompt("Where is the memory to be kept?", default=usual, err=True)
            plan.options = plan.options.further(chosen, None, as_json=False)
        home = plan.config.home
        if is_home(plan.config) or in_empty_folder(home):
            return
        beside = f"{home} has other files in it. Keep memories beside them?"
        within = f"{home} is the git repository of something else. Keep memories in it, with a commit for every change?"
        if typer.confirm(within if (home / ".git").exists() else beside, err=True):
            plan.yes = True
            return
        where, usual = True, None


def _folder(name: str) -> Path:
    folder = Path(name).expanduser().absolute()
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", hint="--notes names the folder that holds your notes")
    return folder


def _has_notes(folder: Path, home: Path) -> bool:
    """Whether notes lie in a folder that is not in a home, at its top or one below it."""
    if not folder.is_dir() or home.is_relative_to(folder):
        return False
    return any(next(folder.glob(f"{below}*.md"), None) for below in ("", "*/"))


def _named(names: Sequence[str]) -> list[Host]:
    from memfolio.serve.install.hosts import host_of

    return [] if all(each.lower() in NOBODY for each in names) else [host_of(each) for each in names if each != NONE]


def _check_folder(home: Path, *, existed: bool, yes: bool) -> None:
    """Refuse to write among somebody's files without confirmation."""
    if existed or yes or in_empty_folder(home):
        return
    if (home / ".git").exists():
        hint = "take another folder with --home, or say --yes: then every change of the memory is a commit there"
        raise RefusedError(f"{home} is a git repository of something else", hint=hint)
    hint = "take another folder with --home, or say --yes: then memories are kept beside them"
    raise RefusedError(f"{home} has other files in it", hint=hint)


def _make(plan: Beginning, *, existed: bool, found: Sequence[Host]) -> Answer:
    """Make the home, connect the hosts, and ask the memory its first question; `found` could be connected, too."""
    with plan.options.memory(create=anywhere) as memory:
        home, agent, first = memory.vault.config.home, memory.agent, None
        if plan.owner:
            day = memory.vault.home.now().astimezone(memory.vault.home.zone)
            text = f"This memory belongs to {plan.owner}, who set it up on {day.day} {day:%B %Y}."
            memory.remember(text, type="fact", importance=0.7, key="init-owner")
            first = next((hit.memory for hit in memory.recall(QUESTION, limit=1)), None)
    lines: list[Line] = [f"{home} is already a home" if existed else f"created a home in {home}"]
    if found:
        names, command = joined([each.title for each in found]), command_for(home, "install", found[0].name)
        it = "it" if len(found) == 1 else found[0].title
        be = "is" if len(found) == 1 else "are"
        lines.append(as_called(f"{names} {be} installed but not connected. To connect {it}: `{command}`"))
    connected: list[dict[str, Any]] = []
    for host in plan.hosts:
        answer = install(plan.options, host.name, tools_only=plan.tools_only)
        connected.append(answer.document)
        lines += answer.lines if isinstance(answer.lines, list) else []
    watched = [watch(plan.options, each) for each in plan.notes]
    for answer in watched:
        lines += answer.lines if isinstance(answer.lines, list) else []
    if first:
        lines += ["", (f"You ask: {QUESTION}", "dim"), (f"  {first.content}", "bold"), (f"  {first.id}", "dim")]
    lines += ["", plan.next_step()] if first or plan.hosts else []
    if home != load_config().home:
        lines.append(f"Other commands find it with `export MEMFOLIO_HOME={shlex.quote(str(home))}` or --home.")
    told = {"id": first.id, "content": first.content} if first else None
    made = {"agent": agent, "hosts": connected, "notes": [each.document for each in watched], "first": told}
    return Answer(_document(plan, created=not existed) | made, lines)


def _document(plan: Beginning, *, created: bool, dry_run: bool = False) -> dict[str, Any]:
    document = {"home": plan.config.home, "agent": plan.config.agent, "created": created}
    named = {"owner": plan.owner, "hosts": [{"host": each.name} for each in plan.hosts], "first": None}
    named["notes"] = [{"path": str(each)} for each in plan.notes]
    return document | named | {"dry_run": dry_run}
