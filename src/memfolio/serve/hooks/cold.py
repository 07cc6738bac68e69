"""What a hook does where no warm process answers: it keeps what was said, answers by itself, and starts one."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path

from memfolio.serve.hooks.detached import run
from memfolio.serve.hooks.door import EMPTY
from memfolio.serve.hooks.event import Event, read_parcel
from memfolio.serve.hooks.health import note
from memfolio.serve.hooks.hosts import START, TOLD
from memfolio.serve.hooks.kept import keep


def answer_cold(home: Path, parcel: bytes, seconds: float) -> bytes:
    """Keep an event, and answer it within so many seconds; empty where that is too soon."""
    logging.disable()  # a host may take what is said beside the answer for a failure
    answer = EMPTY
    try:
        _, name, event = read_parcel(parcel)
        trouble = keep(home, name, event)
        if event is None:
            return EMPTY
        if event.act in TOLD:
            answer, told = answer_here(home, event, seconds)
            if event.act == START:  # for those who answer what comes next
                trouble = keep(home, name, replace(event, words=told)) or trouble
            if trouble:
                from memfolio.serve.hooks.desk import warned

                answer = warned(answer, event, trouble)
        run(["-m", "memfolio.serve.hooks.warm", str(home)], str(home))
    except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the host must not suffer
        note(home, f"{type(error).__name__}: {error}")
    return answer


def answer_here(home: Path, event: Event, seconds: float) -> tuple[bytes, str]:
    """The answer of this very process, and the ids of what it tells; nothing where it takes too long."""
    from memfolio.serve.hooks.desk import Desk

    found = [(EMPTY, "")]

    def answer() -> None:
        desk = Desk(home)
        desk.recollect()
        found[0] = desk.answer(event), " ".join(desk.told(event.session))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(max(0, seconds))
    return found[0]
