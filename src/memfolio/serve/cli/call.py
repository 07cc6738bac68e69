"""What all commands share: common options, opening the memory, and the answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import ContentError, HomeMissingError, InputError, RefusedError
from memfolio.serve.cli import complete
from memfolio.serve.cli.output import Lines, Screen
from memfolio.serve.cli.wait import Wait
from memfolio.types import Approval, Attribution, frozen
from memfolio.vault.paths import SHARED

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory

EVERYWHERE = "For every command"
PERSON = Attribution(actor="human", approval=Approval.APPROVED, trigger="cli")

Home = Annotated[
    str | None,
    typer.Option(
        "--home", metavar="DIR", help="The home, else $MEMFOLIO_HOME or ~/memfolio.", rich_help_panel=EVERYWHERE
    ),
]
Agent = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        help="Whose memory, else $MEMFOLIO_AGENT or main.",
        rich_help_panel=EVERYWHERE,
        autocompletion=complete.agents,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", rich_help_panel=EVERYWHERE)
]
Place = Callable[[Path], bool]
"""Whether a home may be made in a folder."""


def nowhere(folder: Path) -> bool:
    """For commands that only read a home: never create one."""
    return False


def anywhere(folder: Path) -> bool:
    """For commands that create a home on request: create it anywhere."""
    return True


def in_empty_folder(folder: Path) -> bool:
    """For commands that write memories: create a home on the way, but not among somebody's files."""
    try:
        return next(folder.iterdir(), None) is None
    except OSError:  # not there, or nothing that could be a home, which whoever opens it says better
        return True


@dataclass(slots=True)
class Answer:
    """The answer of a command: a document for programs, lines for people, and the exit code.

    Without lines, people see the parts of the document that the command's row in `commands.toml` selects.
    """

    document: dict[str, Any]
    lines: Lines | None = None
    status: int = 0
    as_json: bool = False
    is_long: bool = False
    """Whether it may be longer than a screen and is then paged."""
    value: Any = None
    """What the method of a row returned, for the lines of that row."""

    def show(self, screen: Screen) -> None:
        with screen.paged(wanted=self.is_long):
            screen.show(self.lines or [])


@frozen
class Options:
    """The options that may come before or after the command's name."""

    home: str | None = None
    agent: str | None = None
    as_json: bool = False
    wait: Wait = field(default_factory=Wait)
    """The progress line of long operations."""

    def further(self, home: str | None, agent: str | None, *, as_json: bool) -> Options:
        """Return the options, overridden by those given after the command's name."""
        return Options(
            home=self.home if home is None else home,
            agent=self.agent if agent is None else agent,
            as_json=as_json or self.as_json,
        )

    def config(self, *, create: Place = nowhere, store: str | None = None, run_as: str | None = None) -> Config:
        """Return the configuration of the home; if there is none, `create` decides whether it may be created."""
        from memfolio.config import load_config

        config = load_config(self.home, overrides={"agent": self.agent, "store": store, "database_user": run_as})
        # Asked again at the end: another process may have made the home since, which then has files in it.
        if not is_home(config) and not create(config.home) and not is_home(config):
            raise no_home(config.home)
        return config

    @contextmanager
    def memory(self, *, create: Place = nowhere) -> Iterator[Memory]:
        """The memory that is meant, without threads; what was mended on the way is told when the command is done."""
        from memfolio.memory import Memory
        from memfolio.serve.finish import leave
        from memfolio.vault.git.project import project_of

        config = self.config(create=create)
        leave_logging_to_us()
        try:
            if not self.as_json:
                self.wait.start(f"Opening {config.home}")
            speaker = config.speaker or "owner"
            project = project_of(Path.cwd(), only_git=True)
            with Memory.open(config.home, config.agent, background=False, speaker=speaker, project=project) as memory:
                for index in memory.searcher.indexes():
                    index.progress = self.wait
                try:
                    yield memory
                    leave(memory)
                finally:
                    self.tell([*memory.searcher.notices(), *unknown_agent(config.home, self.agent)])
        finally:
            self.wait.stop()

    def tell(self, notices: Iterable[str]) -> None:
        """Say something beside the answer, on the stream for errors."""
        self.wait.stop()
        for notice in notices:
            Screen(errors=True).say(f"memfolio: {notice}", "yellow")

    @property
    def can_ask(self) -> bool:
        """Whether there is a person who can be asked."""
        return not self.as_json and sys.stdin.isatty()

    def confirm(self, deed: str, preview: Lines, *, yes: bool) -> bool:
        """Ask the person to confirm, and return whether they were asked; without a terminal, `--yes` is required."""
        if yes:
            return False
        if not self.can_ask:
            message = f"this would {deed}; there is no terminal to confirm in"
            raise RefusedError(message, hint="see it with --dry-run, then add --yes")
        self.wait.stop()
        Screen(errors=True).show(preview)
        typer.confirm(f"{deed[0].upper()}{deed[1:]}?", abort=True, err=True)
        return True


def no_home(folder: Path) -> HomeMissingError:
    if in_empty_folder(folder):
        return HomeMissingError(f"there is no home in {folder}", hint="`memfolio init` makes one")
    hint = "`--home` or MEMFOLIO_HOME names another folder; `memfolio init --yes` makes a home of this one, beside them"
    return HomeMissingError(f"{folder} has other files and is not a home", hint=hint)


def is_home(config: Config) -> bool:
    if config.store == "postgres":
        from memfolio.vault.postgres.vault import has_home

        return has_home(config)
    from memfolio.vault import paths

    return paths.is_home(config.home)


def unknown_agent(home: Path, agent: str | None) -> Iterator[str]:
    """Yield a note if the named agent has no memory although others do: often a typing error."""
    folder = home / "agents"
    others = sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    if agent and others and agent not in (*others, SHARED):
        yield f"the agent {agent} has nothing yet; there is {', '.join(others[:5])}{' …' if len(others) > 5 else ''}"


def leave_logging_to_us() -> None:
    """Keep the library's warnings off the terminal; notices and answers say what a person should know."""
    logger = logging.getLogger("memfolio")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def read_text(text: str) -> str:
    """Return the text of an argument; `-` reads standard input."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise ContentError("standard input is not UTF-8 text", hint="convert it first") from error


def read_bytes(name: str, hint: str) -> bytes:
    """Return the content of a file, or of standard input for `-`."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}", hint=hint) from error


def read_file(name: str, hint: str) -> str:
    """The text of a file, or of standard input for `-`."""
    try:
        return read_bytes(name, hint).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} cannot be read: {error}", hint=hint) from error
