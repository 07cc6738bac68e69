"""The command `rule` with what is below it: what follows from facts, what must not be, and what is to be done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, read_text
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.knowledge.rule import Rule

Id = Annotated[str, typer.Argument(metavar="RULE", help="Its id or its name.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The rule; - reads standard input.", show_default=False)]
File = Annotated[str, typer.Argument(metavar="FILE", help="Rules; - reads standard input.", show_default=False)]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What it is called.")]
About = Annotated[str | None, typer.Option("--about", metavar="TEXT", help="What it is for.")]
Domain = Annotated[str | None, typer.Option(metavar="NAME", help="The part of the business that it is about.")]
Factor = Annotated[float | None, typer.Option(metavar="0..1", help="How much less sure its conclusions are.")]
OfType = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="inference, constraint or policy.")]
Enabled = Annotated[bool | None, typer.Option("--on/--off", help="Switched on, or off.", show_default=False)]


def create(
    options: Options,
    text: Text,
    name: Name = None,
    about: About = None,
    domain: Domain = None,
    factor: Factor = None,
    dry_run: DryRun = False,
) -> Answer:
    """Make a rule, from text or from a JSON object."""
    with options.memory() as memory:
        given = {"name": name, "description": about, "domain": domain, "factor": factor}
        made = memory.rules.create(read_text(text), **given, by=PERSON, dry_run=dry_run)
    return one(made, "Nothing was changed." if dry_run else f"This is {made.id}.")


def list_(options: Options, type: OfType = None, domain: Domain = None, enabled: Enabled = None) -> Answer:
    """List the rules, and which lines of their file make no sense."""
    with options.memory() as memory:
        shown = list(map(memory.rules.as_json, memory.rules.list(type, domain, enabled)))
        problems = list(memory.rules.problems())
    rows = [
        (each["id"], "on" if each["enabled"] else "off", "yes" if each.get("kept") else "", each["text"])
        for each in shown
    ]

    def draw(screen: Screen) -> None:
        if rows:
            screen.table(("id", "is", "kept", "rule"), rows, wide="rule")
        else:
            screen.say("There are no such rules.")
        for problem in problems:
            screen.say(problem, "yellow")

    return Answer({"rules": shown, "problems": problems}, draw)


def show(options: Options, rule: Id) -> Answer:
    """Show a rule with all that is known about it."""
    with options.memory() as memory:
        found = memory.rules.get(rule)
    return one(found, *explained(found))


def toggle(options: Options, rule: Id, enabled: Enabled = None, dry_run: DryRun = False) -> Answer:
    """Switch a rule on or off; without --on or --off, to what it is not."""
    with options.memory() as memory:
        found = memory.rules.toggle(rule, enabled, by=PERSON, dry_run=dry_run)
    would = "would be" if dry_run else "is"
    return one(found, f"{found.name or found.id} {would} {'on' if found.enabled else 'off'}.")


def delete(options: Options, rule: Id, dry_run: DryRun = False) -> Answer:
    """Delete a rule."""
    with options.memory() as memory:
        found = memory.rules.delete(rule, by=PERSON, dry_run=dry_run)
    return one(found, "Nothing was changed." if dry_run else "It is deleted.")


def import_(options: Options, file: File, dry_run: DryRun = False) -> Answer:
    """Make all rules of a file that are not there yet, or none where one cannot be."""
    try:
        text = read_text(file) if file == "-" else Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="name a file with rules, in UTF-8") from error
    with options.memory() as memory:
        made = list(map(memory.rules.as_json, memory.rules.import_(text, by=PERSON, dry_run=dry_run)))
    were = ("rule could be", "rules could be") if dry_run else ("rule was", "rules were")
    done = counted(len(made), *were)
    return Answer({"rules": made}, lambda screen: screen.say(f"{done} imported."))


def export(options: Options) -> Answer:
    """Print all rules as text, one a line, or with --json in JSON; `rule import` reads both."""
    with options.memory() as memory:
        text, rules = memory.rules.export(), json.loads(memory.rules.export("json"))
    return Answer({"rules": rules}, lambda screen: screen.page(text))


def check(options: Options, text: Text) -> Answer:
    """Read a rule and say what is understood, without storing it or opening a home."""
    from memfolio.knowledge.rule import check_rule
    from memfolio.knowledge.rules import as_rule

    rule = check_rule(as_rule(read_text(text)))
    return one(rule, *explained(rule))


def one(rule: Rule, *lines: str) -> Answer:
    """A rule as an answer: its text, and lines below it for people."""
    from memfolio.knowledge.rules import Rules

    shown = Rules.as_json(rule)
    return Answer(shown, lambda screen: screen.say("\n".join((shown["text"], *lines))))


def explained(rule: Rule) -> Iterator[str]:
    """What a person may want to know of a rule, part by part."""
    from memfolio.knowledge.rule import render_part

    parts = [("and" if number else "if", render_part(each)) for number, each in enumerate(rule.conditions)]
    if rule.conclusion:
        parts.append(("then", f"{render_part(rule.conclusion)} ({rule.factor} times as sure)"))
    elif rule.action:
        parts.append(("do", rule.action + ", and escalate" * rule.escalate))
    else:
        parts.append((rule.severity, rule.message or "this must not be"))
    if rule.created_at:
        parts.append(("made", f"{rule.created_at:%Y-%m-%d %H:%M} UTC, as {rule.id}"))
    parts.append(("is", ("on" if rule.enabled else "off") + ", and what it concludes is kept" * rule.kept))
    return (f"{name:<9} {value}" for name, value in parts)


list_.__name__, import_.__name__ = "list", "import"
RULE = (
    Command(create, 'rule create "?x hasRevenue ?y and ?y > 50000 => ?x isTaxable true" --name taxable'),
    Command(list_, "rule list --type constraint"),
    Command(show, "rule show taxable"),
    Command(toggle, "rule toggle taxable --off"),
    Command(delete, "rule delete taxable"),
    Command(import_, "rule import rules.txt", "rule import - < rules.json"),
    Command(export, "rule export"),
    Command(check, 'rule check "?x isA Employee and not ?x hasManager ?m => ERROR: ?x has no manager"'),
)
app = group("rule", RULE)
