"""What is said as statements, and what they leave behind: a checkpoint to go on from, and what is to be kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast

from memfolio.index.conversations import About, known_about
from memfolio.index.index import Index
from memfolio.learn.learned import Learned, Statement, Turn
from memfolio.learn.resolve import Knowledge, Known, Reference, Resolution, Way, about, resolve
from memfolio.learn.sentences import sentences
from memfolio.state import Op
from memfolio.stores.checkpoint import Checkpoint
from memfolio.stores.transcript import Said
from memfolio.types import Type

LONGEST = 600
"""Characters of the turn that tells the task."""
MOST_ITEMS = 12
"""How many lines of each kind a checkpoint has: the last ones."""
MOST_QUESTIONS = 5
FINDINGS = frozenset({Type.FACT, Type.PREFERENCE, Type.LESSON, Type.OUTCOME, Type.CORRECTION, Type.ERROR})
_TASK_LIKE = re.compile(
    r"(?i)(?:^|[.!?\n]\s*)(?:please|let['’]s|now|next|can you|could you|would you|help me|i want|i need|we need"
    r"|we should|i['’]d like|add|build|change|check|create|debug|deploy|design|draft|explain|find|fix|implement"
    r"|improve|investigate|make|migrate|move|plan|refactor|remove|rename|review|run|set up|test|update|write)\b"
)

Learn = Callable[[Sequence[Turn]], Learned]


def summed_up(turns: Sequence[Said], learned: Iterable[Statement]) -> Checkpoint:
    """The checkpoint at the end of a conversation from which these statements were learned."""
    statements = list({each.text.casefold(): each for each in learned}.values())
    return Checkpoint(
        context=_context(turns),
        decisions=_told(statements, {Type.DECISION}),
        findings=_told(statements, FINDINGS),
        next_steps=_told(statements, {Type.TASK}),
        open_questions=_open_questions(turns),
    )


def stated(text: str, speaker: str | None, **further: Any) -> Statement:
    """A text as one statement in its own words, about what the rules take it to be about where it says one thing."""
    return Statement(text=text, turns=(), confidence=1.0, **about(text[:LONGEST], speaker), **further)


def resolved(
    index: Index, said: Sequence[tuple[Statement, datetime]], way: str, since: datetime | None = None
) -> Resolution:
    """What to keep of what was said, beside what is known; whatever was forgotten counts as forgotten `since`."""
    asked = [About(each.text, each.subject, each.predicate, each.object, each.is_single) for each, _ in said]
    found = index.read(partial(known_about, said=asked)) if asked else []
    known = [Known.of(each.item, is_archived=each.archived) for each in found]
    if since is not None:
        known = [replace(each, forgotten_at=since if each.forgotten_at else None) for each in known]
    return resolve(said, Knowledge(known), cast(Way, way))


def lines(resolution: Resolution) -> Iterator[dict[str, Any]]:
    """What is replaced and what is contradicted, as state lines."""
    for old, new in resolution.replaced:
        yield {"op": Op.SUPERSEDE.value, "memory": old, "by": new}
    for clash in resolution.contradicting:
        yield {"op": Op.EDGE.value, "memory": clash.new.ref, "to": clash.old.ref, "type": "contradicts"}


def said_again(known: Reference, sources: Iterable[str]) -> Iterator[dict[str, Any]]:
    """That something known was said again in these places, as state lines."""
    yield {"op": Op.ACCESS.value, "memory": known, "count": 1}
    for each in sources:
        yield {"op": Op.EDGE.value, "memory": known, "to": each, "type": "derived_from"}


def _context(turns: Sequence[Said]) -> str:
    """What the conversation was at: the last turn of a person that asks for something, else their last one."""
    people = [turn.content for turn in turns if turn.is_person] or [turn.content for turn in turns[-1:]]
    asking = [content for content in people if _TASK_LIKE.search(content)]
    words = next(iter(asking[-1:] or people[-1:]), "")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def _told(statements: Iterable[Statement], types: Collection[Type]) -> tuple[str, ...]:
    return tuple(each.text for each in statements if each.type in types)[-MOST_ITEMS:]


def _open_questions(turns: Sequence[Said]) -> tuple[str, ...]:
    """The questions of the last turn, which nobody has answered."""
    said = (each for turn in turns[-1:] for line in turn.content.splitlines() for each in sentences(line))
    return tuple(each for each in said if each.endswith(("?", "？")))[-MOST_QUESTIONS:]
