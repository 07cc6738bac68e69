"""The command `procedure` with what is below it: what an agent knows how to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, in_empty_folder, read_text
from memfolio.serve.cli.output import Screen, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memfolio.procedures.procedure import Procedure

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name or its title.", show_default=False)]
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What it is called.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What somebody says.", show_default=False)]
Given = Annotated[list[str] | None, typer.Argument(metavar="ANSWER...", help="In order, or as QUESTION=ANSWER.")]
Steps = Annotated[
    list[str] | None, typer.Option("--step", metavar="TEXT", help="May be repeated; - reads all from standard input.")
]
Tree = Annotated[str | None, typer.Option("--tree", metavar="TEXT", help="A decision tree; - reads standard input.")]
Triggers = Annotated[list[str] | None, typer.Option("--trigger", metavar="TEXT", help="When it is done; repeatable.")]
OfType = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="skill, workflow or decision.")]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the history.")]
Kind = Annotated[str, typer.Option("--kind", metavar="KIND", help="optimization, bugfix or adaptation.")]
Retired = Annotated[bool, typer.Option("--retired", help="Those too that are not in use.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]


def list_(options: Options, retired: Retired = False) -> Answer:
    """List what the agent knows how to do, and what on the pages makes no sense."""
    with options.memory() as memory:
        found, problems = memory.procedures.list(retired=retired), memory.procedures.problems()
    rows = [(each.name, each.form.value, each.version, "; ".join(each.triggers) or each.title) for each in found]

    def draw(screen: Screen) -> None:
        screen.table(("name", "type", "version", "when"), rows, wide="when")
        for problem in problems:
            screen.say(problem, "yellow")

    return Answer({"procedures": [*map(fields_of, found)], "problems": problems}, draw)


def show(options: Options, name: Name) -> Answer:
    """Show the page of a procedure as it is read."""
    from memfolio.procedures.page import render

    with options.memory() as memory:
        found, forgotten = memory.procedures.get(name), memory.procedures.forgotten(name)
    told = [f"{each} was forgotten; its words stay here until the page is edited" for each in forgotten]
    return said({**fields_of(found), "forgotten": forgotten}, (render(found).rstrip("\n"), *found.problems, *told))


def add(
    options: Options,
    title: Title,
    step: Steps = None,
    tree: Tree = None,
    trigger: Triggers = None,
    type: OfType = None,
    dry_run: DryRun = False,
) -> Answer:
    """Make a procedure of steps, or a decision tree."""
    given = parts(step, tree, trigger)
    form = type or ("decision" if tree else "skill")
    with options.memory(create=in_empty_folder) as memory:
        made = memory.procedures.add(title, **given, form=form, by=PERSON, dry_run=dry_run)
    return told(made, "made", dry_run=dry_run)


def update(
    options: Options,
    name: Name,
    reason: Why,
    kind: Kind = "adaptation",
    step: Steps = None,
    tree: Tree = None,
    trigger: Triggers = None,
    dry_run: DryRun = False,
) -> Answer:
    """Change parts of a procedure; what is given takes the place of what was there."""
    given = parts(step, tree, trigger)
    with options.memory() as memory:
        made = memory.procedures.update(name, reason=reason, kind=kind, **given, by=PERSON, dry_run=dry_run)
    return told(made, f"changed to version {made.version}", dry_run=dry_run)


def match(options: Options, text: Text, limit: Limit = 5) -> Answer:
    """Find the procedures that what somebody says may call for."""
    with options.memory() as memory:
        found = memory.procedures.match(read_text(text), limit)

    lines = [f"{each.score:.2f}  {each.procedure.name}  ({'; '.join(each.why)})" for each in found]
    hits = [{"name": each.procedure.name, "score": each.score, "why": each.why} for each in found]
    return said({"procedures": hits}, lines or ["No procedure is meant by this."])


def decide(options: Options, name: Name, answers: Given = None) -> Answer:
    """Follow a decision tree as far as the answers lead."""
    given = answers or []
    named = dict(each.split("=", 1) for each in given) if given and all("=" in each[1:] for each in given) else None
    with options.memory() as memory:
        found = memory.procedures.decide(name, given if named is None else named)

    lines = [f"{each.question} {each.answer}" for each in found.path]
    lines += [found.conclusion or f"{found.question} ({', '.join(found.answers)})", *filter(None, [found.unfit])]
    return said(fields_of(found), lines)


def retire(options: Options, name: Name, reason: Why, dry_run: DryRun = False) -> Answer:
    """Take a procedure out of use; its page stays."""
    with options.memory() as memory:
        made = memory.procedures.retire(name, reason, by=PERSON, dry_run=dry_run)
    return told(made, "retired", dry_run=dry_run)


def restore(options: Options, name: Name, dry_run: DryRun = False) -> Answer:
    """Take a retired procedure into use again."""
    with options.memory() as memory:
        made = memory.procedures.restore(name, by=PERSON, dry_run=dry_run)
    return told(made, "in use again", dry_run=dry_run)


def learn(options: Options, dry_run: DryRun = False) -> Answer:
    """Learn from what was done lately and went well, and from what went badly."""
    with options.memory() as memory:
        found = memory.procedures.learn(by=PERSON, dry_run=dry_run)

    done = "would be " if dry_run else ""
    lines = [f"{each.procedure.name}: {done}{'refined' if each.before else 'learned'}, {each.why}" for each in found]
    lessons = [{"name": each.procedure.name, "refined": each.before is not None, "why": each.why} for each in found]
    return said({"learned": lessons}, lines or ["There is nothing to learn."])


def parts(step: list[str] | None, tree: str | None, trigger: list[str] | None) -> dict[str, Any]:
    """What was given of a procedure."""
    steps = read_text("-") if step == ["-"] else step
    return {"steps": steps, "tree": read_text(tree) if tree else None, "triggers": trigger}


def told(made: Procedure, done: str, *, dry_run: bool) -> Answer:
    return said(fields_of(made), [f"{made.name} {'would be' if dry_run else 'is'} {done}."])


def said(document: dict[str, Any], lines: Iterable[str]) -> Answer:
    return Answer(document, lambda screen: screen.say("\n".join(lines)))


list_.__name__ = "list"
PROCEDURE = (
    Command(list_, "procedure list --retired"),
    Command(show, "procedure show deploy"),
    Command(add, 'procedure add Deploy --step "Run the tests" --step "Tag the release" --trigger "deploy, ship"'),
    Command(match, 'procedure match "please ship it"'),
    Command(decide, "procedure decide which-database yes 15"),
    Command(update, 'procedure update deploy --step "Tag" --step "Push" --reason "CI runs the tests" --kind bugfix'),
    Command(retire, 'procedure retire deploy --reason "we have a pipeline"'),
    Command(restore, "procedure restore deploy"),
    Command(learn, "procedure learn --dry-run"),
)
app = group("procedure", PROCEDURE)
