"""A vault for Obsidian: pages, days and attachments as they are, and facts, rules and cases as pages to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from memfolio.exchange.export.contents import Contents
from memfolio.index.facts import Fact
from memfolio.index.pages import mentions
from memfolio.knowledge.case import Case
from memfolio.knowledge.rule_text import render

ENTITIES = "memory/graph/entities"
COLUMNS = ("subject", "predicate", "object", "from", "until", "confidence", "source")


def obsidian_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The files of the vault; of a whole home each agent has a folder."""
    yield ".obsidian/app.json", b"{}\n"
    for agent in contents.agents:
        folder = f"{agent}/" if contents.whole_home else ""
        yield from ((f"{folder}{path}", data) for path, data in _pages(contents, agent))
        yield from ((f"{folder}knowledge/{name}.md", text.encode()) for name, text in _knowledge(contents, agent))


def _pages(contents: Contents, agent: str) -> Iterator[tuple[str, bytes]]:
    linked, there = dict[str, None](), set[str]()
    for path, data in contents.pages(agent):
        if path.endswith(".md"):
            there.add(path.rpartition("/")[2].removesuffix(".md"))
            linked |= dict.fromkeys(mentions(data.decode("utf-8", "replace")))
        yield path, data
    for name in linked:  # every link to an entity leads somewhere
        if name not in there:
            title = name.partition("--")[2].replace("-", " ")
            yield f"{ENTITIES}/{name}.md", f"# {title}\n\nNothing is written about this yet.\n".encode()


def _knowledge(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    if rows := "".join(map(_row, contents.facts(agent))):
        yield "Facts", f"# Facts\n\n{_line(COLUMNS)}{_line('---' for _ in COLUMNS)}{rows}"
    if rules := contents.rules(agent):
        listed = "".join(f"## {rule.name or rule.id}\n\n`{render(rule)}`\n\n" for rule in rules)
        yield "Rules", f"# Rules\n\n{listed}"
    if cases := contents.cases(agent):
        yield "Cases", "# Cases\n\n" + "".join(map(_case, cases))


def _row(fact: Fact) -> str:
    held = (_day(fact.valid_from), _day(fact.valid_until), f"{fact.confidence:.2f}")
    return _line((*fact.triple, *held, fact.source))


def _day(at: datetime | None) -> str:
    return at.date().isoformat() if at else ""


def _line(cells: Iterable[str]) -> str:
    escaped = (" ".join(each.replace("|", "\\|").split()) for each in cells)
    return f"| {' | '.join(escaped)} |\n"


def _case(case: Case) -> str:
    outcome = "worked" if case.outcome.success else "did not work"
    done = "".join(f"- {each}\n" for each in case.solution.actions)
    lessons = f"\n{case.outcome.lessons}\n" if case.outcome.lessons else ""
    return f"## {case.id}\n\n{case.situation.context}\n\n{done}\nIt {outcome}.\n{lessons}\n"
