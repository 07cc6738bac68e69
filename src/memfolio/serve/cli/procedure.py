"""The command `procedure` with what is below it: what an agent knows how to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, Options, in_empty_folder, read_text
from memfolio.serve.cli.output import Screen, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memfolio.procedures.procedure import Procedure


def procedure_list(options: Options, retired: bool = False) -> Answer:
    with options.memory() as memory:
        found, problems = memory.procedures.list(retired=retired), memory.procedures.problems()
    rows = [(each.name, each.form.value, each.version, "; ".join(each.triggers) or each.title) for each in found]

    def draw(screen: Screen) -> None:
        screen.table(("name", "type", "version", "when"), rows, wide="when")
        for problem in problems:
            screen.say(problem, "yellow")

    return Answer({"procedures": [*map(fields_of, found)], "problems": problems}, draw)


def procedure_show(options: Options, name: str) -> Answer:
    from memfolio.procedures.page import render

    with options.memory() as memory:
        found, forgotten = memory.procedures.get(name), memory.procedures.forgotten(name)
    told = [f"{each} was forgotten; its words stay here until the page is edited" for each in forgotten]
    return said({**fields_of(found), "forgotten": forgotten}, (render(found).rstrip("\n"), *found.problems, *told))


def procedure_add(
    options: Options,
    title: str,
    step: list[str] | None = None,
    tree: str | None = None,
    trigger: list[str] | None = None,
    type: str | None = None,
    dry_run: bool = False,
) -> Answer:
    given = parts(step, tree, trigger)
    form = type or ("decision" if tree else "skill")
    with options.memory(create=in_empty_folder) as memory:
        made = memory.procedures.add(title, **given, form=form, by=PERSON, dry_run=dry_run)
    return told(made, "made", dry_run=dry_run)


def procedure_update(
    options: Options,
    name: str,
    *,
    reason: str,
    kind: str = "adaptation",
    step: list[str] | None = None,
    tree: str | None = None,
    trigger: list[str] | None = None,
    dry_run: bool = False,
) -> Answer:
    given = parts(step, tree, trigger)
    with options.memory() as memory:
        made = memory.procedures.update(name, reason=reason, kind=kind, **given, by=PERSON, dry_run=dry_run)
    return told(made, f"changed to version {made.version}", dry_run=dry_run)


def procedure_match(options: Options, text: str, limit: int = 5) -> Answer:
    with options.memory() as memory:
        found = memory.procedures.match(read_text(text), limit)

    lines = [f"{each.score:.2f}  {each.procedure.name}  ({'; '.join(each.why)})" for each in found]
    hits = [{"name": each.procedure.name, "score": each.score, "why": each.why} for each in found]
    return said({"procedures": hits}, lines or ["No procedure is meant by this."])


def procedure_decide(options: Options, name: str, answers: list[str] | None = None, /) -> Answer:
    given = answers or []
    named = dict(each.split("=", 1) for each in given) if given and all("=" in each[1:] for each in given) else None
    with options.memory() as memory:
        found = memory.procedures.decide(name, given if named is None else named)

    lines = [f"{each.question} {each.answer}" for each in found.path]
    lines += [found.conclusion or f"{found.question} ({', '.join(found.answers)})", *filter(None, [found.unfit])]
    return said(fields_of(found), lines)


def procedure_retire(options: Options, name: str, *, reason: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        made = memory.procedures.retire(name, reason, by=PERSON, dry_run=dry_run)
    return told(made, "retired", dry_run=dry_run)


def procedure_restore(options: Options, name: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        made = memory.procedures.restore(name, by=PERSON, dry_run=dry_run)
    return told(made, "in use again", dry_run=dry_run)


def procedure_learn(options: Options, dry_run: bool = False) -> Answer:
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
