"""Prompts that a person may choose in their host: what is remembered, and where work stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import InputError, NotFoundError
from memfolio.intake import nearest

if TYPE_CHECKING:
    from memfolio.memory import Memory


class Argument(NamedTuple):
    name: str
    description: str
    required: bool = True


class Prompt(NamedTuple):
    """A prompt and what it asks for."""

    name: str
    description: str
    arguments: tuple[Argument, ...] = ()


PROMPTS = (
    Prompt(
        "recall-before-answering",
        "Answer a question with what is remembered about it.",
        (Argument("question", "What is to be answered."),),
    ),
    Prompt("checkpoint-before-compaction", "Save where work stands before the conversation is cut."),
)
SAVE = (
    "The conversation is about to be cut. Call the tool `checkpoint` with the context of the current task, the "
    "decisions that were made, the findings, the next steps and the open questions, each complete in itself; then call "
    "`remember` for every fact, preference or lesson that will matter later. Say in one line what you saved."
)


def compose(memory: Memory, name: str, given: Mapping[str, str]) -> str:
    """The text of a prompt."""
    known = {each.name: each for each in PROMPTS}
    if name not in known:
        raise NotFoundError(f"there is no prompt {name[:40]!r}", hint=nearest(name, list(known)))
    for argument in known[name].arguments:
        if argument.required and not given.get(argument.name, "").strip():
            raise InputError(f"{name} lacks its {argument.name}", hint=argument.description)
    if name == "checkpoint-before-compaction":
        return SAVE
    found = memory.context(given["question"]) or "Nothing that is remembered bears on it."
    return f"{found}\n\nAnswer with that in mind, and cite what you use by its id: {given['question']}"
