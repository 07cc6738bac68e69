"""The command `rule` with what is below it: what follows from facts, what must not be, and what is to be done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.knowledge.rule import Rule


def rule_create(
    options: Options,
    text: str,
    name: str | None = None,
    about: str | None = None,
    domain: str | None = None,
    factor: float | None = None,
    dry_run: bool = False,
) -> Answer:
    with options.memory() as memory:
        given = {"name": name, "description": about, "domain": domain, "factor": factor}
        made = memory.rules.create(read_text(text), **given, by=PERSON, dry_run=dry_run)
    return one(made, "Nothing was changed." if dry_run else f"This is {made.id}.")


def rule_list(
    options: Options, type: str | None = None, domain: str | None = None, enabled: bool | None = None
) -> Answer:
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


def rule_show(options: Options, rule: str) -> Answer:
    with options.memory() as memory:
        found = memory.rules.get(rule)
    return one(found, *explained(found))


def rule_toggle(options: Options, rule: str, enabled: bool | None = None, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        found = memory.rules.toggle(rule, enabled, by=PERSON, dry_run=dry_run)
    would = "would be" if dry_run else "is"
    return one(found, f"{found.name or found.id} {would} {'on' if found.enabled else 'off'}.")


def rule_delete(options: Options, rule: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        found = memory.rules.delete(rule, by=PERSON, dry_run=dry_run)
    return one(found, "Nothing was changed." if dry_run else "It is deleted.")


def rule_import(options: Options, file: str, dry_run: bool = False) -> Answer:
    try:
        text = read_text(file) if file == "-" else Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="name a file with rules, in UTF-8") from error
    with options.memory() as memory:
        made = list(map(memory.rules.as_json, memory.rules.import_(text, by=PERSON, dry_run=dry_run)))
    were = ("rule could be", "rules could be") if dry_run else ("rule was", "rules were")
    done = counted(len(made), *were)
    return Answer({"rules": made}, lambda screen: screen.say(f"{done} imported."))


def rule_export(options: Options) -> Answer:
    with options.memory() as memory:
        text, rules = memory.rules.export(), json.loads(memory.rules.export("json"))
    return Answer({"rules": rules}, lambda screen: screen.page(text))


def rule_check(options: Options, text: str) -> Answer:
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
