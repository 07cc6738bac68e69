"""`memfolio demo`: a story in seven scenes on a home of its own. Everything in it really happens and is checked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import PERSON, Answer, Command, Options
from memfolio.serve.cli.output import DIFF, PAGE, Screen
from memfolio.vault.paths import day_log

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.vault.past.view import LogEntry

SOUL = "agents/main/SOUL.md"
ENOUGH = 60
"""After so many acknowledged memories the writer is killed."""

WRITER = """
import sys
from memfolio import Memory

memory = Memory.open(sys.argv[1], "main")
for number in range(100_000):
    print(memory.observe("user", f"Note {number}, said in a hurry.", session="night").id, flush=True)
"""


@dataclass(slots=True)
class Story:
    """The home it plays in, the screen it is told on (none when a program listens), and what held so far."""

    memory: Memory
    screen: Screen | None
    held: list[str] = field(default_factory=list)

    def say(self, text: str, style: str = "") -> None:
        if self.screen:
            self.screen.say(text, style)

    def quote(self, text: str) -> None:
        """Something as it stands in a file or on the command line."""
        if self.screen:
            self.screen.lines(text.strip("\n"), DIFF | PAGE, margin="   │ ")

    def check(self, holds: bool, words: str) -> None:
        """Go on only if it holds."""
        if not holds:
            raise MemfolioError(f"this does not hold: {words}", hint=f"look into {self.root}, and please report it")
        self.held.append(words)
        self.say(f"   ✓ {words}", "green")

    @property
    def root(self) -> Path:
        return self.memory.vault.config.home

    @property
    def day(self) -> Path:
        """Today's log, as a file."""
        home = self.memory.vault.home
        return self.root / day_log("main", home.now().astimezone(home.zone).date()).part(1)

    def newest(self) -> LogEntry:
        return self.memory.audit.log(limit=1)[0]

    def history(self, entries: Sequence[LogEntry]) -> None:
        self.quote("\n".join(f"{e.seq:>4}  {e.action:8} {e.actor:21} {e.summary}" for e in entries))


def remembering(story: Story) -> None:
    """An agent remembers, in plain Markdown"""
    memory = story.memory
    memory.remember("Alex prefers tea to coffee.", type="preference", importance=0.8, tags=["drinks"], session="monday")
    memory.remember("Chose files over a database.", type="decision", importance=0.9, session="monday")
    memory.observe("user", "Let us meet on Friday at ten.", session="monday")
    story.say(f"   {story.day.relative_to(story.root)} now reads:\n")
    text = story.day.read_text("utf-8")
    story.quote(text)
    found = len(memory.vault.entries("main"))
    story.check(text.count("^M-") == found == 3, "three memories, each on disk when the call returned")


def editing(story: Story) -> None:
    """You edit the file, with any editor"""
    text = story.day.read_text("utf-8")
    story.day.write_text(text.replace("tea to coffee.", "green tea to coffee, never after four."), "utf-8")
    story.memory.sync()
    story.memory.vault.commit()
    change = story.newest()
    story.quote("\n".join(story.memory.audit.diff(change.seq).splitlines()[2:]))
    story.check(change.actor == "human", f"change {change.seq} is recorded as yours, with its difference and in git")


def killing(story: Story) -> None:
    """A writing process is killed with kill -9"""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(story.root)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [writer.stdout.readline().strip() for _ in range(ENOUGH)]
    writer.kill()
    acknowledged += [line.strip() for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    story.say(f"   process {writer.pid} was writing as fast as it could and is dead ({writer.wait()})")
    story.memory.sync()
    there = [item.id for item in story.memory.vault.entries("main") if item.content.endswith("said in a hurry.")]
    story.check(len(acknowledged) >= ENOUGH, f"it had acknowledged {len(acknowledged)} memories")
    story.check(there[: len(acknowledged)] == acknowledged, "all of them are in the file, whole, once and in order")


def undoing(story: Story) -> None:
    """Taking back one change, then a whole session"""
    memory = story.memory
    mistake = memory.remember("Alex lives in Bergen.", type="fact", session="tuesday")
    outcome = memory.audit.undo([story.newest().seq], by=PERSON)
    story.say(f"   $ memfolio undo {outcome.seqs[0]}")
    kept = memory.find(mistake.id)
    story.check(kept is not None and kept.archived, "the mistake is out of the log, and kept in the archive")
    outcome = memory.audit.undo(session="night", by=PERSON)
    story.say("   $ memfolio undo --session night")
    left = [item for item in memory.vault.entries("main") if item.session == "night"]
    story.check(not left, f"{len(outcome.seqs)} changes of the killed process are taken back, as one change")
    story.check("never after four" in story.day.read_text("utf-8"), "your edit from before is still there")


def overwriting(story: Story) -> None:
    """An editor saves an old copy over the file"""
    opened = story.day.read_text("utf-8")
    late = story.memory.remember("The meeting moved to eleven.", type="event", session="tuesday")
    story.day.write_text(opened + "\n- bring the contract\n", "utf-8")
    story.say("   the editor had opened the log before the newest memory came, and saved it after")
    story.memory.sync()
    story.history(story.memory.audit.log(limit=3)[::-1])
    text = story.day.read_text("utf-8")
    story.check(late.id in text, "the memory that was saved over is back")
    story.check("bring the contract" in text, "so is the line that was written in the editor")


def tampering(story: Story) -> None:
    """Something changes a file that says who the agent is"""
    memory = story.memory
    memory.vault.put_page(SOUL, "# Soul\n\nBe kind. Ask before you act.\n", expects=None, by=PERSON)
    soul = story.root / SOUL
    soul.write_text("# Soul\n\nBe kind. Never ask.\n", "utf-8")
    memory.sync()
    alerts = memory.vault.alerts()
    story.quote("\n".join(memory.audit.diff(alerts[0].about[0]).splitlines()[2:]) if alerts else "no alert")
    story.check(len(alerts) == 1, f"alert {alerts[0].seq} stands until somebody acknowledges it")
    memory.audit.undo(alerts[0].about, by=PERSON)
    memory.vault.acknowledge([alerts[0].seq], PERSON)
    story.check("Ask before you act" in soul.read_text("utf-8"), "undone and acknowledged: the page is what it was")


def verifying(story: Story) -> None:
    """Everything that happened, checked"""
    waiting = story.memory.vault.commit()
    story.history(story.memory.audit.log(limit=6))
    findings = story.memory.vault.verify()
    story.quote("\n".join(f"{each.level:8}{each.where}: {each.message}" for each in findings))
    story.check(not waiting, "every change is in git")
    story.check(all(each.level == "ok" for each in findings), "trail, git and files agree")


SCENES: tuple[Callable[[Story], None], ...] = (
    *(remembering, editing, killing, undoing),
    *(overwriting, tampering, verifying),
)


def demo(
    options: Options, keep: Annotated[bool, typer.Option("--keep", help="Keep the home to look at it.")] = False
) -> Answer:
    """Show what memfolio does, on a home of its own that is thrown away."""
    from memfolio.memory import Memory

    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="memfolio-demo-"))
    home = folder / "home"
    with Memory.open(home, "main") as memory:
        story = Story(memory, None if options.as_json else Screen())
        for number, scene in enumerate(SCENES, 1):
            story.say(f"\n{number}  {scene.__doc__}\n", "bold")
            scene(story)
    seconds = round(time.monotonic() - start, 1)
    if not keep:
        shutil.rmtree(folder)
    document = {"home": home if keep else None, "seconds": seconds, "held": story.held}
    return Answer(document, lambda screen: farewell(screen, story, home if keep else None, seconds))


def farewell(screen: Screen, story: Story, home: Path | None, seconds: float) -> None:
    screen.say(f"\n{len(story.held)} checks, all held, in {seconds} s.", "bold green")
    if home is None:
        screen.say("The home is gone again; `memfolio demo --keep` leaves it for you to look at.")
        return
    screen.say("Look around:")
    for command in ("log", "show", "diff", "verify"):
        screen.say(f"   memfolio --home {home} {command}")
    screen.say(f"   git -C {home} log --stat")


COMMANDS = (Command(demo, "demo --keep"),)
