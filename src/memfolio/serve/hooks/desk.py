"""The desk behind the door: answers what hosts ask, and takes up what they said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.config import FILE_NAME, load_config
from memfolio.errors import ConflictError, HomeMissingError, InputError, MemfolioError, RefusedError
from memfolio.recall.context.fence import BULLET
from memfolio.serve.hooks.capture import take_up
from memfolio.serve.hooks.door import EMPTY, INSIDE
from memfolio.serve.hooks.event import Event
from memfolio.serve.hooks.health import disk_of, note
from memfolio.serve.hooks.hosts import CUT, END, START, TOLD, begins_again, shaped, text_of
from memfolio.serve.hooks.inject import opening, remembered
from memfolio.serve.hooks.kept import drop, read_kept, waiting
from memfolio.serve.hooks.told import marks_of, untold
from memfolio.vault.disk import Stamp

if TYPE_CHECKING:
    from memfolio.memory import Memory

LOCKED = 1.0
"""Seconds that a writer is waited for; what is kept can wait until the next time."""
FLUSHING = 3.0
"""Seconds for which a conversation that begins again after a cut waits for what was kept of it."""


def warned(answer: bytes, event: Event | None, trouble: str) -> bytes:
    """An answer that also tells of trouble, where the host can be told anything."""
    if event is None or not trouble or event.act not in TOLD:
        return answer
    told = f"memfolio could not keep what was said here: {trouble}. Tell the user."
    text = text_of(json.loads(answer))
    return json.dumps(shaped(event.host, event.name, f"{told}\n{text}" if text else told)).encode()


class Desk:
    """Answers for one home. Threads may share it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._memories: dict[str | None, Memory] = {}
        self._settings: Stamp | None = None
        self._opening, self._taking = threading.Lock(), threading.Lock()
        self._told: dict[str | None, set[str]] = {}
        self._cut: set[str | None] = set()
        self._over: str | None = None

    @property
    def is_in_conversation(self) -> bool:
        """Whether a conversation is not over, as far as we know."""
        return bool(self._told)

    def answer(self, event: Event) -> bytes:
        """What the host is told, in its own form."""
        text = None
        if event.act == END:
            self._told.pop(event.session, None)
        elif event.act == START or event.session not in self._told:
            self._told[event.session] = set()
        if event.act not in TOLD:
            return EMPTY
        try:
            text = self._begin(event) if event.act == START else self._remind(event)
        except MemfolioError as error:
            note(self._home, error.message)
        return json.dumps(shaped(event.host, event.name, text)).encode()

    def _begin(self, event: Event) -> str | None:
        if event.source == "compact":
            self.take_up(patience=FLUSHING)
        text = opening(self._memory(event.agent), event.session)
        self._told[event.session] |= marks_of(text)
        return text

    def _remind(self, event: Event) -> str | None:
        known, is_cut = self._told.setdefault(event.session, set()), event.session in self._cut
        if is_cut:
            self._cut.discard(event.session)
            known.clear()
        include = ("core", "checkpoint") if is_cut else ()
        found = remembered(self._memory(event.agent), event.words, frozenset(known), include) if event.words else None
        text = untold(found, known)  # what was told once in a conversation is still before the agent's eyes
        known |= marks_of(text)
        return text

    def told(self, session: str | None) -> list[str]:
        """The ids of what was told whole in a conversation."""
        return [mark for mark in self._told.get(session, ()) if not mark.startswith(BULLET)]

    def recollect(self) -> None:
        """Take note of what was told when a conversation began, and is not taken up yet."""
        with suppress(OSError):
            for event in filter(None, (read_kept(self._home, name) for name in waiting(self._home))):
                self._follow(event, ())

    def _follow(self, event: Event, ids: Iterable[str]) -> None:
        """Know what stands in a conversation: what its beginning told, and turns that were noted under these ids."""
        if event.act == START:
            self._told.setdefault(event.session, set()).update(event.words.split())
        elif event.act == END:
            self._told.pop(event.session, None)
        elif event.session in self._told:
            self._told[event.session].update(ids)

    def take_up(self, patience: float = -1) -> None:
        """Take up what was kept, in its order; what the home is not ready for waits for the next time."""
        if not self._taking.acquire(timeout=patience):
            return
        try:
            for name in waiting(self._home):
                self._take(name)
        except (MemfolioError, OSError) as error:
            note(self._home, f"what was said waits: {error}")
        finally:
            self._taking.release()

    def _take(self, name: str) -> None:
        event = read_kept(self._home, name)
        if event and (event.act, event.session) != (END, self._over):  # Gemini CLI says it up to three times
            try:
                self._follow(event, take_up(self._memory(event.agent), event, name))
            except (InputError, RefusedError, ConflictError) as error:
                note(self._home, f"{event.host} {event.name}: {error.message}")
            except (MemfolioError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the next is taken up
                note(self._home, f"{event.host} {event.name} waits: {type(error).__name__}: {error}")
                return
            if event.act == CUT and not begins_again(event.host):
                self._cut.add(event.session)
            self._over = event.session if event.act == END else None
        drop(self._home, name)

    def _memory(self, agent: str | None) -> Memory:
        """The memory of an agent; opened again where the settings of the home have changed."""
        from memfolio.memory import Memory
        from memfolio.vault.vault import Vault

        if not (self._home / INSIDE).is_dir():
            raise HomeMissingError(f"{self._home} is gone", hint="bring the folder or disk back")
        with self._opening:
            stamp = disk_of(self._home).stamp(self._home / FILE_NAME)
            if stamp != self._settings:
                self.close()
            self._settings = stamp
            if agent not in self._memories:
                # Without vectors: a question must not wait for those that are missing.
                given = {"agent": agent, "embedding_provider": "none", "lock_timeout": LOCKED, "speaker": "agent"}
                config = load_config(self._home, overrides=given)
                self._memories[agent] = Memory(Vault.open(config=config), config.agent, background=False)
            return self._memories[agent]

    def close(self) -> None:
        """Let go of the home."""
        for memory in self._memories.values():
            with suppress(MemfolioError):
                memory.close()
        self._memories.clear()
