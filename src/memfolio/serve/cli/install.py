"""The commands `install` and `uninstall`: telling a host of memfolio, and taking that back."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memfolio.errors import RefusedError
from memfolio.serve.cli.call import Answer, Options, anywhere, in_empty_folder, is_home
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.serve.install.files import FileChange
    from memfolio.serve.install.hosts import Host, Program


def install(
    options: Options,
    host: str,
    scope: Literal["user", "project"] = "user",
    dry_run: bool = False,
    without_mcp: bool = False,
) -> Answer:
    program = program_of(options, scope)
    told, changes = changes_of(host, scope, program)
    if find_spec("mcp") is None and not without_mcp:
        hint = "`pip install 'memfolio[mcp]'`, or go on with --without-mcp: tools work once it is installed"
        raise RefusedError("the tools need a library that is not installed", hint=hint)
    config = options.config(create=anywhere if dry_run else in_empty_folder)
    made = "" if dry_run or is_home(config) else f"made a home in {config.home}\n"
    if made:  # hooks keep silent where there is no home
        with options.memory(create=in_empty_folder):
            pass
    words = f"{told.title} uses memfolio: {told.after}" if changes else f"{told.title} uses memfolio already"
    if scope == "project" and shutil.which(program.path) is None:
        words += f"\n{program.path} is not on the path, on which {told.title} looks for it"
    return answer(host, scope, changes, made + words, dry_run=dry_run)


def uninstall(options: Options, host: str, scope: Literal["user", "project"] = "user", dry_run: bool = False) -> Answer:
    told, changes = changes_of(host, scope, None)
    words = "does not use memfolio any more; the memory is as it was" if changes else "has nothing of memfolio"
    return answer(host, scope, changes, f"{told.title} {words}", dry_run=dry_run)


def changes_of(name: str, scope: str, program: Program | None) -> tuple[Host, list[FileChange]]:
    """The host, and what has to change in its files."""
    from memfolio.config import named_folder
    from memfolio.serve.install import hosts

    host, is_own = hosts.host_of(name), scope == "user"
    root, moved = (Path.home(), named_folder(host.variable)) if is_own else (Path.cwd(), None)
    return host, hosts.changes(host, scope, root, program, moved=moved)


def program_of(options: Options, scope: str) -> Program:
    """What the host runs; a project's files are shared by people who have memfolio and their homes elsewhere."""
    from memfolio.serve.install.hosts import Program, installed

    config, is_own = options.config(create=anywhere), scope == "user"
    home, agent = (str(config.home), config.agent) if is_own else (options.home, options.agent)
    told = (*(("--home", home) if home else ()), *(("--agent", agent) if agent else ()))
    return Program(path=installed(), options=told) if is_own else Program(options=told)


def answer(host: str, scope: str, changes: list[FileChange], words: str, *, dry_run: bool) -> Answer:
    """Make the changes, or show them."""
    from memfolio.serve.install import files

    if not dry_run:
        files.apply(changes, is_private=scope == "user")

    def draw(screen: Screen) -> None:
        for each in changes:
            kept = f", what was there is in {files.backup_of(each.path).name}" if each.saved is not None else ""
            if dry_run:
                screen.diff(each.diff)
            else:
                screen.say(f"{each.path} {'deleted' if each.new is None else 'written'}{kept}", "dim")
        if not (changes and dry_run):
            screen.say(words, "bold")

    shown = [{"path": str(each.path), "deleted": each.new is None, "diff": each.diff} for each in changes]
    return Answer({"host": host, "changed": bool(changes) and not dry_run, "dry_run": dry_run, "files": shown}, draw)
