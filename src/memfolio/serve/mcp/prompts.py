"""Prompts that a person may choose in their host: what is remembered, and where work stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_types import Prompt, PromptArgument

from memfolio.errors import InputError, NotFoundError
from memfolio.intake import nearest

if TYPE_CHECKING:
    from memfolio.memory import Memory

RECALL, CHECKPOINT = "recall-before-answering", "checkpoint-before-compaction"
QUESTION = PromptArgument(name="question", description="What is to be answered.", required=True)
PROMPTS = [
    Prompt(name=RECALL, description="Answer a question with what is remembered about it.", arguments=[QUESTION]),
    Prompt(name=CHECKPOINT, description="Save where work stands before the conversation is cut."),
]
SAVE = (
    "The conversation is about to be cut. Call the tool `checkpoint` with the context of the current task, the "
    "decisions that were made, the findings, the next steps and the open questions, each complete in itself; then call "
    "`remember` for every fact, preference or lesson that will matter later. Say in one line what you saved."
)


def compose(memory: Memory, name: str, given: Mapping[str, str]) -> str:
    """The text of a prompt."""
    if name == CHECKPOINT:
        return SAVE
    if name != RECALL:
        raise NotFoundError(f"there is no prompt {name[:40]!r}", hint=nearest(name, [RECALL, CHECKPOINT]))
    question = given.get("question", "").strip()
    if not question:
        raise InputError(f"{name} lacks its question", hint="say what is to be answered")
    found = memory.context(question) or "Nothing that is remembered bears on it."
    return f"{found}\n\nAnswer with that in mind, and cite what you use by its id: {question}"
