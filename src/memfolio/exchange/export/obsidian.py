"""A vault for Obsidian: pages and days as they are, and facts, rules and cases as pages that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memfolio.exchange.export.contents import Contents
from memfolio.index.facts import Fact
from memfolio.index.pages import mentions
from memfolio.knowledge.case import Case
from memfolio.knowledge.rule_text import render

ENTITIES = "memory/graph/entities"
OURS = "memory/meta/"


def obsidian_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The files of the vault; of a whole home each agent has a folder."""
    yield ".obsidian/app.json", b"{}\n"
    for agent in contents.agents:
        folder = f"{agent}/" if contents.whole_home else ""
        for path, text in _pages(contents, agent):
            yield f"{folder}{path}", text.encode()


def _pages(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    linked, there = dict[str, None](), set[str]()
    for path, text in (*contents.pages(agent), *contents.days(agent)):
        if path.endswith(".md") and not path.startswith(OURS):
            there.add(path.rpartition("/")[2].removesuffix(".md"))
            linked |= dict.fromkeys(mentions(text))
            yield path, text
    for name in linked:  # every link leads somewhere
        if name not in there:
            title = name.partition("--")[2].replace("-", " ")
            yield f"{ENTITIES}/{name}.md", f"# {title}\n\nNothing is written about this yet.\n"
    yield from _knowledge(contents, agent)


def _knowledge(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    if facts := facts_table(contents.facts(agent)):
        yield "knowledge/Facts.md", f"# Facts\n\n{facts}"
    if rules := contents.rules(agent):
        listed = "".join(f"## {rule.name or rule.id}\n\n`{render(rule)}`\n\n" for rule in rules)
        yield "knowledge/Rules.md", f"# Rules\n\n{listed}"
    if cases := contents.cases(agent):
        yield "knowledge/Cases.md", "# Cases\n\n" + "".join(map(_case, cases))


def facts_table(facts: Iterable[Fact]) -> str:
    """Facts as a table; nothing where there are none."""
    rows = [(fact.subject, fact.predicate, fact.object, f"{fact.confidence:.2f}", fact.source) for fact in facts]
    head = "| subject | predicate | object | confidence | source |\n|---|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows) if rows else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _case(case: Case) -> str:
    outcome = "worked" if case.outcome.success else "did not work"
    done = "".join(f"- {each}\n" for each in case.solution.actions)
    lessons = f"\n{case.outcome.lessons}\n" if case.outcome.lessons else ""
    return f"## {case.id}\n\n{case.situation.context}\n\n{done}\nIt {outcome}.\n{lessons}\n"
