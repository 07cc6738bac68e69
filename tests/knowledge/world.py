"""Small worlds for the tests of reasoning: facts and rules as a person writes them."""

from __future__ import annotations

from dataclasses import replace

from memfolio.knowledge.join import Atom
from memfolio.knowledge.rule import Rule, parse


def atoms_of(*lines: str) -> list[Atom]:
    """`acme hasRevenue $60,000 0.9` and the like; without a number a fact is certain."""
    words = [line.split() for line in lines]
    return [
        Atom(number + 1, each[0], each[1], each[2], float(each[3]) if each[3:] else 1.0)
        for number, each in enumerate(words)
    ]


def rules_of(text: str) -> list[Rule]:
    """One rule on each line, with ids R-0, R-1, …"""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [replace(parse(line), id=f"R-{number}") for number, line in enumerate(lines)]
