"""The base model of an agent's knowledge: kinds of nodes with their attributes, and the relations between them.

It gives facts such as `belief-1 isA Belief` and `belief-1 supports goal-7` their meaning, and the TypeDB mirror derives
its schema from it. The tables are in `data/model.toml`.

A file with the goals of a business is imported as facts of this model: who wants what and why, the plans, the progress.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from sys import float_info
from typing import Any

from memfolio.errors import InputError
from memfolio.knowledge.facts import ANY, MOST, Facts
from memfolio.knowledge.join import Triple
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.text import counted, packaged_table
from memfolio.types import Attribution, frozen

TABLES = packaged_table("knowledge/data/model.toml")
ATTRIBUTES: Mapping[str, str] = {name: value for value, names in TABLES["attributes"].items() for name in names.split()}
"""Attributes of nodes, each with the type of its values."""
NODES: Mapping[str, tuple[str, ...]] = {kind: ("uid", *names.split()) for kind, names in TABLES["nodes"].items()}
"""The kinds of nodes with the names of their attributes; each begins with its key, `uid`."""
PREDICATES: Mapping[str, str] = {short: relation[0] for short, relation in TABLES["relations"].items()}
"""The short predicates by which facts state a relation; its full name says the same."""
RELATIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    name: ((role, subject), *((other, kind) for kind in NODES if kind == target or (target == "*" and kind != subject)))
    for name, role, subject, other, target in TABLES["relations"].values()
}
"""Relations with their roles and the kinds that play them: the first is the subject of a fact, the others its object.

A role that several kinds can play is listed once for each.
"""
PATHS: Mapping[str, tuple[str, ...]] = {name: tuple(steps) for name, steps in TABLES["paths"].items()}
"""Ready questions: the predicates to follow, one after another."""
EFFECTS: tuple[str, ...] = tuple(TABLES["effects"])
"""Paths along which doubt spreads: from a belief to the goals it supports, from a step to those that depend on it."""


def kind_named(text: str) -> str:
    """The kind that a text names, as NODES spells it: `PlanStep` and `plan-step` are `plan_step`; others are kept."""
    kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", text.strip()).lower()
    return kind if kind in NODES else text


def ends(relation: str) -> tuple[str, frozenset[str]]:
    """The kind of a relation's subject, and the kinds that its object may have."""
    (_, subject), *objects = RELATIONS[relation]
    return subject, frozenset(kind for _, kind in objects)


# The goals of a business, from a file.

SEEDER = Attribution(actor="bot:goals", trigger="seed")
LEVELS = ("strategic", "tactical", "operational")
EXAMPLE = Path(__file__).parent / "data" / "goals-example.json"
"""A complete example of such a file."""
SHOWN = 50
SORTS: Mapping[str, Mapping[str, Any]] = TABLES["goals"]
"""The lists of a file, each with the kind of its members and their links to others; `steps` are within `plans`."""
_SHORT = {"role": "agent_role", "level": "hierarchy_level"}
_SHARES = frozenset("priority urgency importance certainty alignment confidence success_rate".split())

Members = dict[str, list[dict[str, Any]]]


@frozen
class Seeded:
    """The effect of importing a file: the size of each list, the facts it adds, and those it removes."""

    members: Mapping[str, int]
    facts: tuple[Triple, ...]
    retracted: tuple[Triple, ...]


def read_goals(text: str) -> dict[str, Any]:
    """The text of a JSON or TOML file as values."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the goals cannot be read: {error}", hint="write them as JSON or TOML") from error
    return dict(found)


def seed_goals(
    facts: Facts, given: Mapping[str, Any], *, agent: str, by: Attribution = SEEDER, dry_run: bool = False
) -> Seeded:
    """Assert the facts in a file of goals, and retract those that only an earlier file of the same business had.

    Both are one change. InputError lists every mistake in the file; nothing is written then.
    """
    members, problems = _members(given)
    if problems := [*problems, *_problems(given, members)]:
        shown = "; ".join(problems[:SHOWN]) + (f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else "")
        count = counted(len(problems), "mistake")
        raise InputError(f"the goals have {count}: {shown}", hint="correct them; nothing was written")
    source = f"goals:{given['business'].strip()}"
    records = [
        {"subject": one, "predicate": two, "object": three, "source": source} for one, two, three in _triples(members)
    ]
    stated = dict.fromkeys(each.triple for each, _ in facts.check_many(records))
    # The source names the business, so only what an earlier file of it said is compared.
    known = facts.query(source=source, agents=agent, valid_at=ANY, include_derived=False, limit=MOST)
    before = {fact.triple for fact in known}
    gone = [fact for fact in known if fact.triple not in stated]
    if not dry_run:
        facts.assert_many(records, retracting=gone, by=by)
    counts = {name: len(found) for name, found in members.items()}
    asserted = tuple(triple for triple in stated if triple not in before)
    return Seeded(members=counts, facts=asserted, retracted=tuple(fact.triple for fact in gone))


def _members(given: Mapping[str, Any]) -> tuple[Members, list[str]]:
    """Return the members of each list, with the steps of plans as a list of their own, and the problems found."""
    if not isinstance(given, Mapping):
        raise InputError(f"the goals are a {type(given).__name__}", hint="pass an object with business and goals")
    problems: list[str] = []

    def objects(name: str, value: Any) -> list[dict[str, Any]]:
        found = [dict(each) for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(found) < len(value):
            problems.append(f"{name} is no list of objects")
        return found

    found = {name: objects(name, given.get(name, [])) for name in SORTS}
    for plan in found["plans"]:
        steps = objects(f"steps of {plan.get('id')}", plan.get("steps", []))
        # A step that says its own order keeps it.
        found["steps"] += [{"step_order": place} | each for place, each in enumerate(steps, 1)]
        plan["steps"] = [each.get("id") for each in steps]
    return found, problems


def _problems(given: Mapping[str, Any], members: Members) -> Iterator[str]:
    if not isinstance(given.get("business"), str) or not given["business"].strip():
        yield "business names nobody"
    if not members["goals"]:
        yield "there are no goals"
    unknown = sorted(map(str, given.keys() - SORTS.keys() - {"business", "description"}))
    yield from (f"{name} is no list of members" for name in unknown)
    ids = {name: {str(each.get("id")) for each in found} for name, found in members.items()}
    seen: set[str] = set()
    for name, found in members.items():
        for number, each in enumerate(found, 1):
            own = each.get("id")
            if not isinstance(own, str) or not own.strip():
                yield f"{name} {number} has no id"
                continue
            if own in seen:
                yield f"{name} {number} ({own}) has the id of another"
            seen.add(own)
            yield from (f"{own}: {problem}" for problem in _flaws(name, each, ids))
    yield from _wrong_levels(members["goals"])
    try:
        needs = {str(each.get("id")): map(str, _several(each.get("depends_on"))) for each in members["steps"]}
        # Only for its check for circles; the order is not needed.
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        yield f"depends_on leads in a circle: {' → '.join(error.args[1])}"


def _flaws(sort: str, member: Mapping[str, Any], ids: Mapping[str, set[str]]) -> Iterator[str]:
    kind, links = SORTS[sort]["kind"], SORTS[sort]["links"]
    for key, value in member.items():
        attribute = _SHORT.get(key, key)
        if key in links:
            target = links[key][0]
            strange = [each for each in _several(value) if not isinstance(each, str) or each not in ids[target]]
            yield from (f"{key} {each!r:.60} is none of the {target}" for each in strange)
        elif attribute in NODES[kind_named(kind)][1:]:
            if expected := _expected(attribute, value):
                yield f"{key} {value!r:.60} is not {expected}"
        elif key != "id":
            yield f"there is no {key!r:.60}"
    if sort == "goals" and not {"name", "level"} <= member.keys():
        yield "it has no name or no level"


def _expected(attribute: str, value: Any) -> str:
    """Describe the expected value of an attribute; empty if the value is valid."""
    if attribute == _SHORT["level"]:
        return "" if value in LEVELS else f"one of {', '.join(LEVELS)}"
    match ATTRIBUTES[attribute]:
        case "string":
            return "" if isinstance(value, str) and value.strip() else "text"
        case "datetime":
            return "" if read_literal(str(value)).kind is LiteralKind.DATE else "a day such as 2027-03-31"
    if attribute == "progress":
        return "" if _percent(value) else "a number from 0 to 1 or a percentage such as 25%"
    least, most = (0, 1) if attribute in _SHARES else (-float_info.max, float_info.max)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    return "" if is_number else "a number" + (" from 0 to 1" if attribute in _SHARES else "")


def _wrong_levels(goals: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    levels = {str(goal.get("id")): goal.get("level") for goal in goals}
    for goal in goals:
        for parent in map(str, _several(goal.get("parent"))):
            above, own = levels.get(parent), goal.get("level")
            if above in LEVELS and own in LEVELS and LEVELS.index(above) >= LEVELS.index(own):
                yield f"goal {goal.get('id')} is {own} and contributes to {parent}, which is {above}"


def _triples(members: Members) -> Iterator[Triple]:
    for sort, each in ((SORTS[name], each) for name, found in members.items() for each in found):
        own = each["id"]
        yield own, "isA", sort["kind"]
        for key, value in each.items():
            if key in sort["links"]:
                predicate = sort["links"][key][1]
                for other in _several(value):
                    yield (other, predicate[1:], own) if predicate[0] == "^" else (own, predicate, other)
            elif key != "id":
                # An attribute's predicate is its name in camel case.
                first, *others = _SHORT.get(key, key).split("_")
                predicate = first + "".join(map(str.title, others))
                yield own, predicate, _percent(value) if key == "progress" else str(value)


def _percent(value: Any) -> str:
    """Return progress as a percentage, such as `25%` for 0.25 or `25 percent`; empty if the value is neither."""
    found = read_literal(str(value))
    wanted = LiteralKind.PERCENT if isinstance(value, str) else LiteralKind.NUMBER
    if found.kind is not wanted or not isinstance(found.value, Decimal):
        return ""
    amount = found.value if isinstance(value, str) else 100 * found.value
    return f"{amount.normalize():f}%" if 0 <= amount <= 100 else ""


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
