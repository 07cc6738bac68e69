"""The command `context`: what an agent should have before its eyes to answer a prompt, as one fenced block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.serve.cli import complete
from memfolio.serve.cli.call import Answer, Command, Options, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.recall.context import Context

Prompt = Annotated[
    str,
    typer.Argument(metavar="PROMPT", help="The prompt, or - to read it from standard input.", show_default=False),
]
Budget = Annotated[
    int | None, typer.Option("--budget", metavar="N", help="Tokens at most, else by what the prompt asks for.")
]
User = Annotated[str | None, typer.Option(metavar="NAME", help="Whom the agent talks with.")]
Task = Annotated[str | None, typer.Option(metavar="TEXT", help="What the agent works on.")]
Topics = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="What is talked about. May be repeated.")]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        help="What comes first: core memory, the latest checkpoint. May be repeated.",
        autocompletion=complete.among(("core", "checkpoint")),
    ),
]


def context(
    options: Options,
    prompt: Prompt,
    budget: Budget = None,
    user: User = None,
    task: Task = None,
    topic: Topics = None,
    include: Include = None,
) -> Answer:
    """Show what is remembered about a prompt, packed into a budget and fenced for an agent."""
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


COMMANDS = (
    Command(
        context,
        'context "What should we serve Alex?" --budget 500',
        "context - --user alex --task release --topic deadlines --include core",
    ),
)
