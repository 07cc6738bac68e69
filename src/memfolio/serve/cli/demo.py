"""`memfolio demo`: a story in nine scenes on a home of its own. Everything in it really happens and is checked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import PERSON, Answer, Options, leave_logging_to_us
from memfolio.serve.cli.output import DIFF, PAGE, Line, Screen
from memfolio.serve.cli.recall import FURTHERED
from memfolio.text import terms
from memfolio.vault.disk import Disk
from memfolio.vault.paths import day_log

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory
    from memfolio.types import MemoryItem

WIDTH = 80
MARGIN = "   │ "
PAGE_BYTES = 4096
PATIENCE = 10.0
"""Seconds within which an edit must be noticed."""
ENOUGH = 60
"""After so many acknowledged memories the writer is killed."""

LAUNCH = "When is the launch?"
TALK = (
    ("user", "The launch is on Thursday, once the contract is signed."),
    ("assistant", "I will tell the printer to wait for it."),
    ("user", "If in doubt call Priya, her private number is 555 0142."),
)
DRINK = "Which hot beverage should I serve?"
NUMBER = "What is Priya's number?"
QUESTIONS = (LAUNCH, DRINK, NUMBER, "Why is there no SQL?", "note in a hurry")

WRITER = """
import sys
from memfolio import Memory
from memfolio.config import load_config
from memfolio.vault.vault import Vault

config = load_config(sys.argv[1], overrides={"agent": "main", "cache": sys.argv[2]})
memory = Memory(Vault.open(config=config), "main")
for number in range(100_000):
    print(memory.observe("user", f"Note {number}, said in a hurry.", session="night").id, flush=True)
"""


@dataclass(slots=True)
class Story:
    """The demo: its home, its screen (none with `--json`), and the checks that held so far."""

    config: Config
    screen: Screen | None
    memory: Memory = field(init=False)
    held: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the home, as every program does that starts."""
        from memfolio.memory import Memory
        from memfolio.vault.vault import Vault

        self.memory = Memory(Vault.open(config=self.config), self.config.agent)

    def say(self, text: str = "", style: str = "") -> None:
        if self.screen:
            self.screen.say(text, style)

    def quote(self, text: str) -> None:
        """Show text as in a file, wrapped as an editor would."""
        lines = text.strip("\n").splitlines()
        fitting = [part for line in lines for part in wrap(line, WIDTH - len(MARGIN), break_on_hyphens=False) or [""]]
        if self.screen:
            self.screen.lines("\n".join(fitting), DIFF | PAGE, margin=MARGIN)
        self.say()

    def check(self, holds: bool, words: str) -> None:
        """Go on only if it holds."""
        if not holds:
            raise MemfolioError(f"this does not hold: {words}", hint=f"look into {self.root}, and please report it")
        self.held.append(words)
        self.say(f"   ✓ {words}", "green")

    def ask(self, question: str) -> MemoryItem:
        """Recall, and show the best answer with how it was found."""
        hits = self.memory.recall(question, limit=3)
        if not hits:
            raise MemfolioError(f"nothing was found for {question!r}", hint=f"look into {self.root}")
        found = " and ".join(each.strategy for each in hits[0].why if each.score > 0 and each.strategy not in FURTHERED)
        self.say(f"   ? {question}", "bold cyan")
        self.say(f"     {hits[0].memory.content}")
        self.say(f"     found by {found}, in {hits.took_ms:.0f} ms", "dim")
        return hits[0].memory

    def answers(self) -> list[list[tuple[str, float]]]:
        """Return the answers to all questions, in order and with scores, once every memory is embedded."""
        self.memory.sync(embed=True)
        found = [self.memory.recall(question, limit=20) for question in QUESTIONS]
        return [[(hit.memory.id, round(hit.score, 4)) for hit in hits] for hits in found]

    def of_the_night(self) -> list[str]:
        """Return the ids of what the killed process wrote."""
        return [item.id for item in self.memory.vault.entries("main") if item.session == "night"]

    @property
    def root(self) -> Path:
        return self.config.home

    @property
    def day(self) -> Path:
        """Today's log, as a file."""
        home = self.memory.vault.home
        return self.root / day_log("main", home.now().astimezone(home.zone).date()).part(1)


def remembering(story: Story) -> None:
    """An agent remembers, in plain Markdown"""
    memory = story.memory
    memory.remember("Alex prefers tea to coffee.", type="preference", importance=0.8, tags=["drinks"])
    memory.remember("Chose files over a database, so that people can read them.", type="decision", importance=0.9)
    memory.observe_many([{"role": role, "content": words, "session": "chat"} for role, words in TALK])
    story.say(f"   {story.day.relative_to(story.root).as_posix()} reads:\n")
    text = story.day.read_text("utf-8")
    story.quote(text)
    story.check(text.count("^M-") == 5, "five memories, each on disk when the call returned")


def recalling(story: Story) -> None:
    """It finds them again, also without a common word"""
    story.memory.sync(embed=True)
    story.check("Thursday" in story.ask(LAUNCH).content, "the right one of five comes first")
    tea = story.ask(DRINK).content
    common = {word.lower() for word in terms(DRINK)} & {word.lower() for word in terms(tea)}
    story.check("tea" in tea and not common, "question and answer share no word")
    status = story.memory.status()
    on_machine = status.embedder == "local" and not status.degraded
    story.check(on_machine, "answered on this machine, with no key and no server; nothing is degraded")


def editing(story: Story) -> None:
    """You edit the file, with any editor"""
    text = story.day.read_text("utf-8")
    story.day.write_text(text.replace("tea to coffee.", "tea, but never after four."), "utf-8")
    deadline = time.monotonic() + PATIENCE
    while (newest := story.memory.audit.log(limit=1)[0]).actor != "human" and time.monotonic() < deadline:
        time.sleep(0.05)
    story.memory.vault.commit()
    story.quote("\n".join(story.memory.audit.diff(newest.seq).splitlines()[2:]))
    story.check(newest.actor == "human", f"noticed by itself: change {newest.seq} is recorded as yours, and in git")
    answer = story.ask("May Alex have tea at five?")
    story.check("never after four" in answer.content, "the next question is answered with your words")


def correcting(story: Story) -> None:
    """A memory turns out to be wrong"""
    memory = story.memory
    old = memory.recall(LAUNCH)[0].memory
    new = memory.correct(old.id, "The launch is on Friday: the contract came late.")
    story.check(story.ask(LAUNCH).id == new.id, "the correction is the answer")
    story.check(memory.explain(new.id).supersedes[0].id == old.id, "it can explain where it comes from")
    known = memory.recall(LAUNCH, as_of=old.created_at)[0].memory
    story.check(known.id == old.id, "what was known before can still be asked")


def killing(story: Story) -> None:
    """A writing process is killed with kill -9"""
    command = [sys.executable, "-c", WRITER, str(story.root), str(story.config.cache.parent)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    with writer.stdout as acknowledgements:
        try:
            lines = [acknowledgements.readline() for _ in range(ENOUGH)]
        finally:
            writer.kill()
        lines += acknowledgements.readlines()
    story.say(f"   process {writer.pid} was writing as fast as it could, and is dead (exit {writer.wait()})")
    acknowledged = [line.strip() for line in lines if line.endswith("\n")]
    story.memory.sync()
    story.check(len(acknowledged) >= ENOUGH, f"it had acknowledged {len(acknowledged)} memories")
    there = story.of_the_night()
    story.check(there[: len(acknowledged)] == acknowledged, "all of them are in the file, whole, once and in order")
    last = story.memory.recall(f"Note {len(acknowledged) - 1}", limit=1)[0].memory.id
    story.check(last == acknowledged[-1], "and the last of them is found")


def losing(story: Story) -> None:
    """The search index is overwritten, then deleted"""
    before = story.answers()
    story.memory.close()
    index = max(story.config.cache.glob("main.*.db"))
    data = index.read_bytes()
    Disk().put(index, data[:PAGE_BYTES] + bytes(range(256)) * (len(data[PAGE_BYTES:]) // 256))
    story.say(f"   all of {index.name} but its first page is noise")
    story.open()
    same = story.answers() == before and all(before)
    story.quote("\n".join(story.memory.searcher.notices()) or "nothing was noticed")
    story.check(same, f"rebuilt by itself: {len(QUESTIONS)} questions, the same answers in the same order")
    story.memory.close()
    shutil.rmtree(story.config.cache)
    story.say("\n   the folder of the index is deleted, with everything in it")
    story.open()
    story.check(story.answers() == before, "the same answers again: it held nothing that the files do not")


def undoing(story: Story) -> None:
    """Everything the killed process did is taken back"""
    outcome = story.memory.audit.undo(session="night", by=PERSON)
    story.say(f"   undo of session night: {len(outcome.seqs)} changes")
    found = story.memory.recall("note said in a hurry", session="night")
    story.check(not story.of_the_night() and not found, "none is left to be found")
    story.check("never after four" in story.day.read_text("utf-8"), "your edit and everything else are still there")


def forgetting(story: Story) -> None:
    """A person wants something forgotten"""
    memory = story.memory
    story.ask(NUMBER)
    forgotten = memory.forget("Priya's private number", by=PERSON)
    story.say("\n   forgotten by its description: what goes\n")
    cut = forgotten.diff.partition("\n--- ")[0].splitlines()[2:]
    story.quote("\n".join(line for line in cut if line.startswith("-")).removesuffix("\n-"))
    story.check("555 0142" not in story.day.read_text("utf-8"), "it is cut out of the log")
    story.check(not finds(story, "555 0142"), "no question finds it, not even one for what is archived")
    memory.reindex()
    story.check(not finds(story, "555 0142"), "nor after the index is built anew: the files say it is forgotten")
    story.say("     (Until it is restored its text lies in memory/archive/, and in git.)", "dim")


def finds(story: Story, words: str) -> bool:
    """Whether any question brings up a memory with these words."""
    asked = ("555 0142", "private telephone", *QUESTIONS)
    hits = (hit for question in asked for hit in story.memory.recall(question, limit=100, include="archived"))
    return any(words in hit.memory.content for hit in hits)


def verifying(story: Story) -> None:
    """Everything that happened, checked"""
    waiting = story.memory.vault.commit()
    for each in story.memory.audit.log(limit=200):
        if each.session != "night":
            summary = shorten(each.summary, 42, placeholder=" …")
            story.say(f"{MARGIN}{each.seq:>3}  {each.action:7} {each.actor:20} {summary}")
    findings = story.memory.vault.verify()
    story.quote("\n".join(f"{each.level:4}{each.where}: {each.message}" for each in findings))
    story.check(not waiting, "every change is in git")
    story.check(all(each.level == "ok" for each in findings), "trail, git and files agree")


SCENES: tuple[Callable[[Story], None], ...] = (
    *(remembering, recalling, editing, correcting, killing),
    *(losing, undoing, forgetting, verifying),
)


def demo(options: Options, keep: bool = False, open: bool = False) -> Answer:
    leave_logging_to_us()
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="memfolio-demo-"))
    story = Story(stage(folder), None if options.as_json else Screen())
    try:
        play(story)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        raise
    seconds = round(time.monotonic() - start, 1)
    if not keep and not open:
        shutil.rmtree(folder)
    kept = f"\nLook around: export MEMFOLIO_HOME={story.root} MEMFOLIO_CACHE={story.config.cache.parent}"
    gone = "\nThe home and its index are gone again. `memfolio demo --open` keeps them\nand shows them in the browser."
    words = f"\n{len(story.held)} checks, all held, in {seconds} s.{kept if keep or open else gone}"
    document: dict[str, Any] = {"home": story.root if keep or open else None, "seconds": seconds, "held": story.held}
    lines: list[Line] = [(words, "bold green")]
    if open:
        from memfolio.serve.cli.page import opened

        page = opened(options, story.config)
        document["page"] = page.document
        lines += ["", page.show]
    return Answer(document, lines)


def stage(folder: Path) -> Config:
    """The settings of a home in this folder, whatever the environment says about the user's own."""
    from memfolio.config import load_config

    own = {"agent": "main", "cache": folder / "cache", "embedding_provider": "local"}
    return load_config(folder / "home", overrides={**own, "git_enabled": True, "watch": True})


def play(story: Story) -> None:
    story.say(f"A home for agents' memories, in {story.root}")
    try:
        for number, scene in enumerate(SCENES, 1):
            story.say(f"\n{number}  {scene.__doc__}\n", "bold")
            scene(story)
    finally:
        story.memory.close()
