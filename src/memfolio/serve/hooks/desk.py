"""Answering hosts and taking up what they said: context for prompts, turns, checkpoints."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.arguments import ANY_ID, turn_of
from memfolio.config import FILE_NAME, load_config
from memfolio.embed.choose import open_embedder
from memfolio.errors import ConflictError, HomeMissingError, InputError, MemfolioError, RefusedError
from memfolio.index.search import frequencies
from memfolio.recall.dates import mentions
from memfolio.recall.fence import BULLET, with_note
from memfolio.serve.hooks.door import (
    ANSWER,
    CUT,
    EMPTY,
    END,
    INSIDE,
    MOST_CHARACTERS,
    MOST_TOKENS,
    PROMPT,
    START,
    begins_again,
    shaped,
    text_of,
)
from memfolio.serve.hooks.event import HookEvent, marks_of, turns_of, untold
from memfolio.serve.hooks.kept import drop, note, read_kept, run, waiting
from memfolio.serve.hooks.pause import KEEPING, PAUSED, disk_of, is_paused, said_unpaused
from memfolio.stores.requests import Trigger, TriggerRequest, advice, detect, only_asks
from memfolio.tend.retention import Tally, note_told, told_before
from memfolio.text import estimate_tokens, terms
from memfolio.types import Attribution
from memfolio.vault.disk import Stamp
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.vault.git.project import Project


# What an agent is told: where things stand when a conversation begins, and what is remembered about a prompt.

BUDGETS = tuple(MOST_TOKENS >> halved for halved in range(4))
"""Tokens, tried one after the other until the characters are few enough."""
LONGEST_PROMPT = 4_000
"""Characters of a prompt that are looked at: first and last, since people paste what they ask about in between."""
COUNTED = 1_000
"""Up to how many memories a word's frequency is counted."""
WORDS_ONLY = "Semantic search is not ready for all memories yet; some were compared by their words only."
WEIGHED = 2_000
"""How many memories the words of a prompt may bring together, before the most common ones are left out."""


def opening(memory: Memory, session: str | None) -> str | None:
    """Core memory, where work was left, what is due and what is known; None where there is nothing of it."""
    found = memory.load_context(session=session)
    known = (found.core.blocks, found.recent, found.facts, found.checkpoint, found.task, found.user_profile)
    if not any((*known, found.alerts, found.proposals, found.reminders)):
        return None
    return next((text for each in BUDGETS if len(text := found.to_prompt(each)) <= MOST_CHARACTERS), None)


def remembered(memory: Memory, prompt: str, known: Set[str], include: tuple[str, ...] = ()) -> str | None:
    """What is remembered about a prompt, by words and meaning; None where nothing is worth telling.

    Where not everything could be compared by meaning, the text says so.
    """
    half = LONGEST_PROMPT // 2
    asked = _telling(memory, prompt if len(prompt) <= LONGEST_PROMPT else f"{prompt[:half]}\n{prompt[-half:]}")
    usual = memory.vault.config.context.simple
    for most in BUDGETS:
        budget = most if include else min(usual, most)
        found = memory.compose(asked, budget=budget, include=include, known=known)
        if found.text is None:
            return None
        unready = [each for each in found.degraded if each.startswith("vectors:")]
        text = with_note(found.text, WORDS_ONLY) if unready else found.text
        if len(text) <= MOST_CHARACTERS:
            return text
    return None


def _telling(memory: Memory, prompt: str) -> str:
    """The prompt without its most common words, where they alone would bring so much that weighing it takes long.

    What names a time is left whole: it narrows the search by itself.
    """
    words, home = terms(prompt), memory.vault.home
    counts = memory.searcher.index.read(lambda connection: frequencies(connection, words, COUNTED))
    known = sorted(filter(counts.__getitem__, words), key=counts.__getitem__)
    rare = (counts[word] for word in known if counts[word] < COUNTED)
    common = set(known[max(1, sum(total <= WEIGHED for total in accumulate(rare))) :])
    if not common or mentions(prompt, home.now(), home.zone):
        return prompt
    return " ".join(word for word in prompt.split() if not common.intersection(terms(word)))


def asked_for(memory: Memory, event: HookEvent) -> Trigger | None:
    """What a prompt asks the memory for; a long one is pasted, and what is pasted asks for nothing."""
    is_said = event.act == PROMPT and event.is_heard and len(event.words) <= LONGEST_PROMPT
    return detect(event.words, memory.vault.config.triggers) if is_said else None


def promised(memory: Memory, event: HookEvent) -> tuple[str, bool]:
    """What an agent is told about what a prompt asks for, and whether that is all that there is to be told.

    What changes anything is done once the prompt is answered.
    """
    trigger = asked_for(memory, event)
    if trigger is None:
        return "", False
    if trigger.kind in KEEPING:
        told = PAUSED if is_paused(memory.vault.config.home, event.folder) else advice(trigger.kind, is_empty=True)
        return told, False
    found = memory.act_on(event.words)
    if found is None:
        return "", False
    is_done = trigger.kind is TriggerRequest.FORGET or not found.lines
    return found.prompt, is_done and only_asks(event.words, memory.vault.config.triggers)


# What is learned from an agent: its turns as they are said, and what a conversation held before it is cut.

LISTENER = Attribution(actor="bot:auto-detect", trigger="hook")
ROLES = {PROMPT: "user", ANSWER: "assistant"}


def take_up(memory: Memory, event: HookEvent, name: str) -> tuple[str, ...]:
    """Do what is to be done about an event that was kept under this name; the ids of the turn that it is, if any.

    Doing it twice changes nothing.
    """
    if event.act in ROLES:
        if event.act == PROMPT and only_asks(event.words, memory.vault.config.triggers, (TriggerRequest.FORGET,)):
            return ()  # who wants something forgotten does not want to read of it in what was said
        noted = _note(memory, event, name)
        if (trigger := asked_for(memory, event)) and trigger.kind in KEEPING:
            # What is kept on purpose is no turn, so it is given no conversation to belong to.
            memory.act_on(event.words)
        return noted
    home = memory.vault.config.home
    if event.act == CUT and (turns := said_unpaused(home, event.folder, turns_of(event.transcript))):
        memory.flush(turns, session=event.session)
    elif event.act == END and event.session:
        run(["-m", "memfolio.serve.hooks.learn", str(home), memory.agent, event.session], str(home))
    return ()


def _note(memory: Memory, event: HookEvent, name: str) -> tuple[str, ...]:
    """Note a turn; the same turn that two hooks report is one."""
    role, most = ROLES[event.act], memory.vault.config.max_content_bytes
    words = event.words.encode()[:most].decode("utf-8", "ignore").rstrip()
    if not words or (not event.turn and _is_last(memory, event.session, role, words)):
        return ()
    at = datetime.fromtimestamp(int(name.partition("-")[0]) / 1e9, UTC)
    turn = turn_of({"role": role, "content": words, "session": event.session, "at": at})
    whose = "\0".join((event.session or "", event.turn or name, role, words))
    memory.searcher.prepare()
    by = replace(LISTENER, session=event.session)
    key = f"hook-{blake2b(whose.encode(), digest_size=16).hexdigest()}"
    return memory.vault.add(memory.agent, [turn], by, key=key).ids


def _is_last(memory: Memory, session: str | None, role: str, words: str) -> bool:
    """Whether these words are what was said last in a conversation whose host does not number its turns."""
    last = memory.recall("", session=session, limit=1) if session else []
    return any((hit.memory.role, hit.memory.content) == (role, words) for hit in last)


# The desk behind the door: answers what hosts ask, and takes up what they said.

LOCKED = 1.0
"""Seconds that a writer is waited for; what is kept can wait until the next time."""
FLUSHING = 3.0
"""Seconds for which a conversation that begins again after a cut waits for what was kept of it."""
TALLIED = 25
"""Prompts after which it is noted what a conversation was told, and not only when it ends."""
ASKING = "claude-code"
"""The host whose agent goes on where a hook says why it should not stop yet."""
ASK = "Before you stop: call the tool `learn` of memfolio, say what the turns it hands you tell, then stop."
UNREAD = "unread"
"""Stands among what a conversation was told until it was looked up what was noted of that."""


def warned(answer: bytes, event: HookEvent | None, trouble: str) -> bytes:
    """An answer that also tells of trouble, where the host can be told anything."""
    if event is None or not trouble or not event.can_be_told:
        return answer
    told = f"memfolio could not keep what was said here: {trouble}. Tell the user."
    text = text_of(json.loads(answer))
    return json.dumps(shaped(event.host, event.name, f"{told}\n{text}" if text else told)).encode()


class Desk:
    """Answers for one home; one that `stays` open notices edits of its files and notes. Threads may share it."""

    def __init__(self, home: Path, *, stays: bool = False) -> None:
        self._home, self._stays = home, stays
        self._memories: dict[tuple[str | None, Project | None], Memory] = {}
        self._settings: Stamp | None = None
        self._opening, self._taking = threading.Lock(), threading.Lock()
        self._told: dict[str | None, set[str]] = {}
        self._tallies: dict[str | None, tuple[HookEvent, Tally]] = {}
        self._cut: set[str | None] = set()
        self._unasked: Counter[str | None] = Counter()
        self._over: str | None = None

    @property
    def is_in_conversation(self) -> bool:
        """Whether a conversation is not over, as far as we know."""
        return bool(self._told)

    def answer(self, event: HookEvent) -> bytes:
        """What the host is told, in its own form."""
        text, asked, is_all = None, "", False
        if event.act == START and event.source != "resume":
            self._told[event.session] = set()
        elif event.act != END:
            self._told.setdefault(event.session, {UNREAD})
        if not event.can_be_told:
            return json.dumps({"decision": "block", "reason": ASK}).encode() if self._asks(event) else EMPTY
        try:
            self._catch_up(event)
            asked, is_all = promised(self._memory(event), event)
            if event.act == START:
                text = self._begin(event)
            elif not is_all:
                text = self._remind(event)
        except MemfolioError as error:
            note(self._home, error.message)
        if text or (event.act == PROMPT and event.words):
            # What was asked for does not count: the cost of what is told unasked is what people weigh.
            self._count(event, set(ANY_ID.findall(text or "")), estimate_tokens(text or ""))
        return json.dumps(shaped(event.host, event.name, "\n".join(filter(None, (asked, text))) or None)).encode()

    def _asks(self, event: HookEvent) -> bool:
        """Whether the agent is to learn before it stops: once for so many turns, where the person wants that."""
        if event.act != ANSWER or event.host != ASKING or not event.is_heard or is_paused(self._home, event.folder):
            return False
        self._unasked[event.session] += 2  # a prompt and its answer
        # Nothing is opened for that: who has just been asked about a prompt has the home open.
        settings = [memory.vault.config.model for memory in list(self._memories.values())[:1]]
        if settings and settings[0].provider == "agent" and self._unasked[event.session] >= settings[0].turns:
            self._unasked[event.session] = 0
            return True
        return False

    def _begin(self, event: HookEvent) -> str | None:
        if event.source == "compact":
            self.take_up(patience=FLUSHING)
        known = self._known(event)
        text = untold(opening(self._memory(event), event.session), known)
        known |= marks_of(text)
        return text

    def _catch_up(self, event: HookEvent) -> None:
        """Take up what was said before a request to forget or to look for something: it may be about just that."""
        trigger = asked_for(self._memory(event), event)
        if trigger is None or trigger.kind in KEEPING or not self._taking.acquire(timeout=LOCKED):
            return
        try:
            for name in waiting(self._home):
                if read_kept(self._home, name) == event:
                    break
                self._take(name)
        finally:
            self._taking.release()

    def _known(self, event: HookEvent) -> set[str]:
        """What a conversation was told; one that another process knew began with what is noted of it."""
        known = self._told.setdefault(event.session, {UNREAD})
        if UNREAD in known:
            known |= told_before(self._memory(event).searcher, event.session)
            known.discard(UNREAD)
        return known

    def _remind(self, event: HookEvent) -> str | None:
        known, is_cut = self._known(event), event.session in self._cut
        if is_cut:
            self._cut.discard(event.session)
            known.clear()
        include = ("core", "checkpoint") if is_cut else ()
        found = remembered(self._memory(event), event.words, frozenset(known), include) if event.words else None
        text = untold(found, known)  # what was told once in a conversation is still before the agent's eyes
        known |= marks_of(text)
        return text

    def told(self, session: str | None) -> list[str]:
        """The ids of what was told whole in a conversation."""
        return [mark for mark in self._told.get(session, ()) if not mark.startswith(BULLET) and mark != UNREAD]

    def recollect(self) -> None:
        """Take note of what was told when a conversation began, and is not taken up yet."""
        with suppress(OSError):
            for event in filter(None, (read_kept(self._home, name) for name in waiting(self._home))):
                self._follow(event, ())

    def _follow(self, event: HookEvent, ids: Iterable[str]) -> None:
        """Know what stands in a conversation: what another process told, and turns that were noted under these ids."""
        if event.act == START:
            self._told.setdefault(event.session, {UNREAD}).update(event.words.split())
            self._count(event, event.words.split(), event.tokens)
        elif event.session in self._told:
            self._told[event.session].update(ids)
        if event.act == ANSWER and event.session in self._tallies:
            tally = self._tallies[event.session][1]
            tally.cited.update({*ANY_ID.findall(event.words)} & tally.told.keys())

    def _count(self, event: HookEvent, ids: Iterable[str], tokens: int) -> None:
        """Count what was told, or that nothing was."""
        _, tally = self._tallies.setdefault(event.session, (event, Tally()))
        if tokens:
            tally.add((each for each in ids if not each.startswith(BULLET)), tokens)
        elif event.name != "SessionStart":
            tally.silent += 1

    def note_told(self, least: int = 1, only: str | None = None) -> None:
        """Note what conversations were told, or one of them, where there is enough of it."""
        if not (self._home / INSIDE).is_dir():
            return  # the home is gone since
        for session, (event, tally) in list(self._tallies.items()):
            if tally.count < least or only not in (None, session):
                continue
            self._tallies.pop(session)
            try:
                memory = self._memory(event)
                note_told(memory.searcher, memory.vault, session, tally, self.told(session))
            except MemfolioError as error:
                note(self._home, f"what was told is not counted: {error.message}")

    def take_up(self, patience: float = -1) -> None:
        """Take up what was kept, in its order; what the home is not ready for waits for the next time."""
        if not self._taking.acquire(timeout=patience):
            return
        try:
            for name in waiting(self._home):
                self._take(name)
            self.note_told(TALLIED)
        except (MemfolioError, OSError) as error:
            note(self._home, f"what was said waits: {error}")
        finally:
            self._taking.release()

    def _take(self, name: str) -> None:
        event = read_kept(self._home, name)
        if event and (event.act, event.session) != (END, self._over):  # Gemini CLI says it up to three times
            try:
                self._follow(event, take_up(self._memory(event), event, name))
            except (InputError, RefusedError, ConflictError) as error:
                note(self._home, f"{event.host} {event.name}: {error.message}")
            except (MemfolioError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the next is taken up
                note(self._home, f"{event.host} {event.name} waits: {type(error).__name__}: {error}")
                return
            if event.act == CUT and not begins_again(event.host):
                self._cut.add(event.session)
            if event.act == END:
                self.note_told(only=event.session)
                self._told.pop(event.session, None)
            self._over = event.session if event.act == END else None
        drop(self._home, name)

    def _memory(self, event: HookEvent) -> Memory:
        """The memory of an agent for the project it works on; opened again where the settings of the home changed."""
        from memfolio.memory import Memory
        from memfolio.vault.git.project import project_of

        if not (self._home / INSIDE).is_dir():
            raise HomeMissingError(f"{self._home} is gone", hint="bring the folder or disk back")
        with self._opening:
            stamp = disk_of(self._home).stamp(self._home / FILE_NAME)
            if stamp != self._settings:
                self.close()
            self._settings = stamp
            project = project_of(event.folder) if event.folder else None
            asked = event.agent, project
            if asked not in self._memories:
                given = {"agent": event.agent, "lock_timeout": LOCKED, "speaker": "agent"}
                config = load_config(self._home, overrides=given)
                embedder = open_embedder(config)
                if embedder is not None and embedder.is_costly:  # a prompt must not wait for somebody else's server
                    config = load_config(self._home, overrides=given | {"embedding_provider": "none"})
                vault = Vault.open(config=config)
                self._memories[asked] = Memory(vault, config.agent, background=False, project=project)
            if self._stays:
                self._memories[asked].searcher.keep_up()
            return self._memories[asked]

    def embed(self, enough: Callable[[], bool]) -> None:
        """Make the vectors that are missing, until there is `enough` else to do."""
        for memory in list(self._memories.values()):
            with suppress(MemfolioError):
                if memory.searcher.vectorizer.embedder is not None:
                    memory.searcher.embed(enough=enough)

    def close(self) -> None:
        """Let go of the home."""
        for memory in self._memories.values():
            with suppress(MemfolioError):
                memory.close()
        self._memories.clear()
