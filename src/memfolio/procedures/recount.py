"""What people tell in prose about how something is done: told in two conversations, it teaches a procedure. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memfolio.learn.clauses import is_secret, readable
from memfolio.learn.words import lemma_of
from memfolio.procedures.learn import FEWEST, LONGEST, MOST, Lesson, StemmedText, pattern, verb_of, words
from memfolio.text import sentences, terms
from memfolio.types import MemoryItem, Origin

ALIKE = 0.34
"""Which share of the telling words of a step another must have to be the same step, told in other words."""
SHARED = 0.5
"""Which share of the steps of the shorter account the other must have."""
_SHORTEST, _LONGEST = 60, 4_000
"""Characters of a turn that can tell how something is done."""
_SUBJECT = 4
"""Words that may stand before the verb of a step."""


class Account(NamedTuple):
    """A turn that tells, in order, how something is done; `goal` is what, where it says so."""

    turn: MemoryItem
    steps: tuple[str, ...]
    goal: str


def recounted(episodes: Iterable[Sequence[MemoryItem]], is_known: Callable[[str], bool]) -> Iterator[Lesson]:
    """What was told at least twice, in different conversations, as the longest account tells it, of these the last."""
    before: list[Account] = []
    for account in (found for turns in episodes for turn in turns if (found := account_of(turn))):
        same = [each for each in before if each.turn.session != account.turn.session and is_same(each, account)]
        before.append(account)
        goal = max((each.goal for each in (*same, account)), key=lambda goal: bool(goal) + (" " in goal), default="")
        if same and goal and not is_known(account.turn.id):
            sources = (account.turn.id, *(each.turn.id for each in same))
            fullest = max((*same, account), key=lambda each: (len(each.steps), each.turn.created_at))
            yield Lesson(title=goal, trigger=goal, steps=fullest.steps, sources=sources)


def account_of(turn: MemoryItem) -> Account | None:
    """The account that a turn of a person is; None for whatever else is said."""
    is_told = turn.role in ("user", "human") and turn.origin is not Origin.UNTRUSTED and turn.session
    if not is_told or not _SHORTEST <= len(turn.content) <= _LONGEST:
        return None
    told = [each for line in readable(turn.content) for each in sentences(line) if not each.endswith("?")]
    steps = [step for sentence in told for part in pattern("parts").split(sentence) if (step := _step(part or ""))]
    if not FEWEST <= len(steps) <= MOST or is_secret(turn.content) or not pattern("ordered").search(turn.content):
        return None
    found = pattern("goal").search(turn.content)
    goal = next((each.strip() for each in found.groups() if each), "") if found else ""
    done = dict.fromkeys(step for step in steps if not goal or not step.lower().startswith(goal.lower()))
    return Account(turn, tuple(done), goal[:1].upper() + goal[1:])


def is_same(one: Account, other: Account) -> bool:
    """Whether two accounts tell of the same: enough of the steps of the shorter one are in the other."""
    shorter, longer = sorted((one.steps, other.steps), key=len)
    heard = [StemmedText(step) for step in longer]
    common = sum(any(_share(step, each) for each in heard) for step in shorter)
    return common >= max(FEWEST, SHARED * len(shorter))


def _share(step: str, heard: StemmedText) -> bool:
    share, found = heard.share(step)
    return share >= ALIKE and len(found) >= min(2, len(terms(step)))


def _step(part: str) -> str:
    """A part of a sentence as something to do: `Hamish runs the smoke test` as `Run the smoke test`."""
    bare = pattern("leading").sub("", part.strip(" .,;:!*-"), count=1)
    tokens = [] if pattern("no_step").search(bare) else bare.split()
    for place, token in enumerate(tokens[: _SUBJECT + 1]):
        low = re.sub(r"\W+$", "", token.lower())
        base = verb_of(low) or verb_of(lemma_of(low)) or ("do" if place and lemma_of(low) == "do" else "")
        if base and (not place or _may_do(tokens[:place], low)):
            rest = " ".join(tokens[place + 1 :])
            return f"{base.capitalize()} {rest}"[:LONGEST] if len(rest) > 1 else ""
    return ""


def _may_do(subject: Sequence[str], verb: str) -> bool:
    """Whether these words can be who does something: I, we, a name, or something with an article before its verb."""
    first = subject[0]
    if first.lower() in words("doers"):
        return len(subject) <= 2
    is_named = first[:1].isupper() or first.lower() in ("the", "our", "my")
    return is_named and (verb != verb_of(verb) or verb in words("unchanged"))
