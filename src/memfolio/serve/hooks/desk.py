"""The desk behind the door: answers what hosts ask, and takes up what they said."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.config import FILE_NAME, load_config
from memfolio.errors import ConflictError, HomeMissingError, InputError, MemfolioError, RefusedError
from memfolio.recall.context.alerts import TITLE
from memfolio.serve.hooks.capture import take_up
from memfolio.serve.hooks.door import EMPTY, FOLDER, INSIDE, KEPT, note
from memfolio.serve.hooks.event import Event, read_event, read_parcel
from memfolio.serve.hooks.hosts import CUT, START, begins_again, shaped, tells
from memfolio.serve.hooks.inject import opening, remembered
from memfolio.vault.disk import Disk, Stamp

if TYPE_CHECKING:
    from memfolio.memory import Memory

LOCKED = 1.0
"""Seconds that a writer is waited for; what is kept can wait until the next time."""
TOGETHER = 10.0
"""Seconds within which a conversation that begins twice was reported by two hooks."""
FLUSHING = 3.0
"""Seconds for which a conversation that begins again after a cut waits for what was kept of it."""


class Desk:
    """Answers for one home. Threads may share it."""

    def __init__(self, home: Path) -> None:
        self._home, self._kept = home, home / FOLDER / KEPT
        self._disk = Disk()
        self._disk.root, self._disk.private = home, home / INSIDE
        self._memories: dict[str | None, Memory] = {}
        self._settings: Stamp | None = None
        self._opening, self._taking = threading.Lock(), threading.Lock()
        self._begun: dict[str | None, float] = {}
        self._told: dict[str | None, set[str]] = {}
        self._cut: set[str | None] = set()
        self.note = partial(note, str(home))

    def answer(self, words: tuple[str, ...], said: bytes) -> bytes:
        """What the host is told, in its own form."""
        event, text = read_event(words, said), None
        if event is None or not tells(event.host, event.act):
            return EMPTY
        try:
            text = self._begin(event) if event.act == START else self._remind(event)
        except MemfolioError as error:
            self.note(error.message)
        return json.dumps(shaped(event.host, event.name, text)).encode()

    def _begin(self, event: Event) -> str | None:
        now, is_cut = time.monotonic(), event.source == "compact"
        is_double = now - self._begun.get(event.session, -TOGETHER) < TOGETHER
        if event.session and is_double and not is_cut:
            return None
        self._begun[event.session] = now
        self._told.pop(event.session, None)
        if is_cut:
            self.take_up(patience=FLUSHING)
        return opening(self._memory(event.agent), event.session)

    def _remind(self, event: Event) -> str | None:
        include = ("core", "checkpoint") if event.session in self._cut else ()
        self._cut.discard(event.session)
        found = remembered(self._memory(event.agent), event.words, include) if event.words else None
        if found is None or found.text is None:
            return None
        known = self._told.setdefault(event.session, set())
        # What was told once in a conversation is still before the agent's eyes.
        if found.ids and known.issuperset(found.ids) and not include and TITLE not in found.text:
            return None
        known.update(found.ids)
        return found.text

    def take_up(self, patience: float = -1) -> None:
        """Take up what was kept, in its order; what the home is not ready for waits for the next time."""
        if not self._taking.acquire(timeout=patience):
            return
        try:
            for name in self._disk.names(self._kept):
                if not name.endswith(".part"):
                    self._take(name)
        except (MemfolioError, OSError) as error:
            self.note(f"what was said waits: {error}")
        finally:
            self._taking.release()

    def _take(self, name: str) -> None:
        _, words, said = read_parcel(self._disk.read(self._kept / name) or b"")
        event, trouble = read_event(words, said), "what the host said makes no sense"
        try:
            if event is not None:
                take_up(self._memory(event.agent), event, name)
                trouble = ""
        except (InputError, RefusedError, ConflictError) as error:
            trouble = error.message
        if trouble:
            self.note(f"{' '.join(words[:2])}: {trouble}")
        if event is not None and event.act == CUT and not begins_again(event.host):
            self._cut.add(event.session)
        self._disk.remove(self._kept / name)

    def _memory(self, agent: str | None) -> Memory:
        """The memory of an agent; opened again where the settings of the home have changed."""
        from memfolio.memory import Memory
        from memfolio.vault.vault import Vault

        if not (self._home / INSIDE).is_dir():
            raise HomeMissingError(f"{self._home} is gone", hint="bring the folder or disk back")
        with self._opening:
            stamp = self._disk.stamp(self._home / FILE_NAME)
            if stamp != self._settings:
                self._close()
            self._settings = stamp
            if agent not in self._memories:
                # Without vectors: a question must not wait for those that are missing.
                given = {"agent": agent, "embedding_provider": "none", "lock_timeout": LOCKED, "speaker": "agent"}
                config = load_config(self._home, overrides=given)
                self._memories[agent] = Memory(Vault.open(config=config), config.agent, background=False)
            return self._memories[agent]

    def close(self) -> None:
        """Let go of the home."""
        with self._opening:
            self._close()

    def _close(self) -> None:
        for memory in self._memories.values():
            with suppress(MemfolioError):
                memory.close()
        self._memories.clear()


def answer_once(home: str, parcel: bytes, seconds: float) -> bytes:
    """The answer where no process can be kept warm; nothing where it takes too long."""
    found = [EMPTY]

    def answer() -> None:
        found[0] = Desk(Path(home)).answer(*read_parcel(parcel)[1:])

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0]
