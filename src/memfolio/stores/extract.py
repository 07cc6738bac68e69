"""What a transcript leaves behind: a checkpoint to go on from, and memories to keep. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from memfolio.learn.learned import Learned, Statement, Turn
from memfolio.learn.sentences import sentences
from memfolio.stores.checkpoint import Checkpoint
from memfolio.stores.transcript import Said
from memfolio.types import Origin, Type
from memfolio.vault.format.draft import Draft

SOURCE = "extraction"
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
        open_questions=tuple(_open_questions(turns)),
    )


def draft_of_statement(statement: Statement, turns: Sequence[Said], session: str | None, user: str | None) -> Draft:
    """What was learned as a memory; it happened when it was said."""
    times = [turns[nth].at for nth in statement.turns if 0 <= nth < len(turns)]
    return Draft(
        content=statement.text,
        type=statement.type,
        kind=statement.kind,
        importance=statement.importance,
        confidence=statement.confidence,
        tags=statement.tags,
        source=SOURCE,
        session=session,
        user=user,
        origin=Origin.AGENT,
        event_time=max(filter(None, times), default=None),
    )


def _context(turns: Sequence[Said]) -> str:
    """What the conversation was at: the last turn of a person that asks for something, else their last one."""
    people = [turn.content for turn in turns if turn.is_person] or [turn.content for turn in turns[-1:]]
    asking = [content for content in people if _TASK_LIKE.search(content)]
    words = next(iter(asking[-1:] or people[-1:]), "")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def _told(statements: Iterable[Statement], types: Iterable[Type]) -> tuple[str, ...]:
    wanted = frozenset(types)
    return tuple(each.text for each in statements if each.type in wanted)[-MOST_ITEMS:]


def _open_questions(turns: Sequence[Said]) -> Iterator[str]:
    """The questions of the last turn, which nobody has answered."""
    asked = [
        sentence
        for turn in turns[-1:]
        for line in turn.content.splitlines()
        for sentence in sentences(line)
        if sentence.endswith(("?", "？"))
    ]
    yield from asked[-MOST_QUESTIONS:]
