"""The command `context`: what an agent should have before its eyes to answer a prompt, as one fenced block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memfolio.serve.cli.call import Answer, Options, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.recall.context import Context


def context(
    options: Options,
    prompt: str,
    budget: int | None = None,
    user: str | None = None,
    task: str | None = None,
    topic: list[str] | None = None,
    include: list[str] | None = None,
) -> Answer:
    asked = read_text(prompt)
    with options.memory() as memory:
        found = memory.compose(asked, budget=budget, user=user, task=task, topics=topic or (), include=include or ())
    document = {
        "prompt": asked,
        "budget": found.budget,
        "tokens": found.tokens,
        "text": found.text,
        "ids": found.ids,
        "degraded": found.degraded,
        "crowded": found.crowded,
    }
    return Answer(document, lambda screen: draw(screen, found))


def draw(screen: Screen, found: Context) -> None:
    from memfolio.recall.context import STANDING

    beside = Screen(errors=True)
    if found.degraded:
        beside.say(f"memfolio: {'; '.join(found.degraded)}", "yellow")
    for name in found.crowded:
        beside.say(f"{STANDING[name]} has no room in {found.budget:,} tokens.", "dim")
    if found.text is None and not found.crowded:
        beside.say("Nothing that is remembered is worth its tokens here.", "dim")
    elif found.text is not None:
        screen.say(found.text)
