"""The base model of what agents hold: kinds of nodes with their attributes, and the relations between them.

Facts are read by it (`belief-1 isA Belief`, `belief-1 supports goal-7`), and the TypeDB mirror makes its schema of it.
The tables themselves are in `data/model.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

TABLES = tomllib.loads((Path(__file__).parent / "data" / "model.toml").read_text("utf-8"))

ATTRIBUTES: Mapping[str, str] = {name: value for value, names in TABLES["attributes"].items() for name in names.split()}
"""What can be said of nodes, each with the type of its values."""
NODES: Mapping[str, tuple[str, ...]] = {kind: ("uid", *names.split()) for kind, names in TABLES["nodes"].items()}
"""The kinds of nodes with the names of their attributes; each begins with its key, `uid`."""
PREDICATES: Mapping[str, str] = {short: relation[0] for short, relation in TABLES["relations"].items()}
"""The short predicates by which facts state a relation; its full name says the same."""
RELATIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    name: ((role, subject), *((other, kind) for kind in NODES if kind == target or (target == "*" and kind != subject)))
    for name, role, subject, other, target in TABLES["relations"].values()
}
"""The relations, each with its roles and who plays them: the first is the subject of a fact, all others its object.

A role that several kinds play stands there once for each.
"""
PATHS: Mapping[str, tuple[str, ...]] = {name: tuple(steps) for name, steps in TABLES["paths"].items()}
"""Ready questions: the predicates to follow, one after another."""
EFFECTS: tuple[str, ...] = tuple(TABLES["effects"])
"""Where doubt spreads to: from a belief to the goals that it supports, from a step to those that depend on it."""


def kind_named(text: str) -> str:
    """The kind that a text names, as NODES spells it: `PlanStep` and `plan-step` are `plan_step`; others are kept."""
    kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", text.strip()).lower()
    return kind if kind in NODES else text


def ends(relation: str) -> tuple[str, frozenset[str]]:
    """The kind of a relation's subject, and the kinds that its object may have."""
    (_, subject), *objects = RELATIONS[relation]
    return subject, frozenset(kind for _, kind in objects)
