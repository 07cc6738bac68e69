"""The goals of a business from a file, as facts: who wants what and why, by which plans, and how far it is."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.facts import ANY, MOST, Facts
from memfolio.types import Attribution

SEEDER = Attribution(actor="bot:goals", trigger="seed")
LEVELS = ("strategic", "tactical", "operational")
EXAMPLE = Path(__file__).parent / "data" / "goals-example.json"
"""A worked example of such a file."""
SHOWN = 20
_ABOUT = ("business", "description")


class Sort(NamedTuple):
    """What the members of a list are: their class, their values with predicates, and whom they lead to by which one."""

    kind: str
    values: Mapping[str, str]
    links: Mapping[str, tuple[str, str]]


def _plain(names: str) -> dict[str, str]:
    """Values whose predicates have their names in camel case."""
    return {name: name.split("_")[0] + "".join(map(str.title, name.split("_")[1:])) for name in names.split()}


SORTS = {
    "agents": Sort("Agent", {"role": "agentRole"} | _plain("name department"), {}),
    "desires": Sort("Desire", _plain("content priority urgency importance"), {"motivates": ("goals", "motivates")}),
    "beliefs": Sort("Belief", _plain("content certainty"), {"supports": ("goals", "supports")}),
    "goals": Sort(
        "Goal",
        {"level": "hierarchyLevel"}
        | _plain("name description status progress priority deadline target_value current_value unit success_criteria"),
        {"parent": ("goals", "contributesTo"), "plans": ("plans", "requires"), "owner": ("agents", "^owns")},
    ),
    "plans": Sort(
        "Plan", _plain("name description status estimated_cost estimated_hours"), {"steps": ("steps", "contains")}
    ),
    "steps": Sort(
        "PlanStep", _plain("name description status step_order action_name"), {"depends_on": ("steps", "dependsOn")}
    ),
}
"""The lists of a file; `steps` stand within their plans. A predicate with ^ leads from the other to this one."""
_SHARES = frozenset(("progress", "priority", "urgency", "importance", "certainty"))
_NUMBERS = frozenset(("target_value", "current_value", "estimated_cost", "estimated_hours", "step_order"))
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")

Triple = tuple[str, str, str]
Members = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What a file said, or would say: how many members each list has, the facts, and those that it says no longer."""

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
    """Assert what a file of goals says, and retract what an earlier one of the same business said beyond it.

    InputError names everything that is wrong with it; then nothing is written.
    """
    members = _members(given)
    if problems := list(_problems(given, members)):
        shown = "; ".join(problems[:SHOWN]) + (f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else "")
        raise InputError(f"the goals have {len(problems)} mistakes: {shown}", hint="correct them; nothing was written")
    source = f"goals:{given['business']}"
    triples = tuple(dict.fromkeys(_triples(members)))
    known = facts.query(source=source, agents=agent, valid_at=ANY, include_derived=False, limit=MOST)
    gone = [fact for fact in known if fact.triple not in set(triples)]
    if not dry_run:
        names = ("subject", "predicate", "object")
        facts.assert_many([dict(zip(names, each, strict=True)) | {"source": source} for each in triples], by=by)
        for fact in gone:
            facts.retract(id=fact.id, by=by)
    counts = {name: len(found) for name, found in members.items()}
    return Seeded(members=counts, facts=triples, retracted=tuple(fact.triple for fact in gone))


def _members(given: Mapping[str, Any]) -> Members:
    """The members of each list, the steps of plans in a list of their own with their places."""
    found = {name: _objects(given.get(name)) for name in SORTS}
    for plan in found["plans"]:
        steps = _objects(plan.get("steps"))
        found["steps"] += [{"step_order": place} | each for place, each in enumerate(steps, 1)]
        plan["steps"] = [each.get("id") for each in steps]
    return found


def _problems(given: Mapping[str, Any], members: Members) -> Iterator[str]:
    if not isinstance(given.get("business"), str) or not given["business"].strip():
        yield "business names nobody"
    yield from (f"{name} is no list of members" for name in sorted(set(given) - {*SORTS, *_ABOUT}))
    yield from (f"{name} is no list" for name in SORTS if not isinstance(given.get(name, []), list))
    ids = {name: {str(each.get("id")) for each in found} for name, found in members.items()}
    seen: set[object] = set()
    for name, found in members.items():
        for number, each in enumerate(found, 1):
            own = each.get("id")
            if not isinstance(own, str) or not own.strip():
                yield f"{name} {number} has no id"
                continue
            if own in seen:
                yield f"{name} {number} ({own}) has the id of another"
            seen.add(own)
            yield from (f"{own}: {problem}" for problem in _flaws(SORTS[name], each, ids))
    yield from _wrong_levels(members["goals"])
    for name, key in (("goals", "parent"), ("steps", "depends_on")):
        yield from _cycles(members[name], key)


def _flaws(sort: Sort, member: Mapping[str, Any], ids: Mapping[str, set[str]]) -> Iterator[str]:
    for key, value in member.items():
        if key in sort.links:
            target = sort.links[key][0]
            yield from (
                f"{key} {each!r} is none of the {target}" for each in _several(value) if each not in ids[target]
            )
        elif key in sort.values:
            if expected := _expected(key, value):
                yield f"{key} {value!r} is not {expected}"
        elif key != "id":
            yield f"there is no {key!r}"
    if sort.kind == "Goal" and not {"name", "level"} <= member.keys():
        yield "it has no name or no level"


def _expected(key: str, value: Any) -> str:
    """What a value should be; empty where it is."""
    if key == "level":
        return "" if value in LEVELS else f"one of {', '.join(LEVELS)}"
    if key == "deadline":
        return "" if _DAY.fullmatch(str(value)) else "a day such as 2027-03-31"
    if key in _SHARES | _NUMBERS:
        least, most = (0, 1) if key in _SHARES else (-math.inf, math.inf)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number and least <= value <= most else "a number" + (" from 0 to 1" if key in _SHARES else "")
    return "" if isinstance(value, str) and value.strip() else "text"


def _wrong_levels(goals: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    levels = {str(goal.get("id")): goal.get("level") for goal in goals}
    for goal in goals:
        above, own = levels.get(str(goal.get("parent"))), goal.get("level")
        if above in LEVELS and own in LEVELS and LEVELS.index(above) >= LEVELS.index(own):
            yield f"goal {goal.get('id')} is {own} and contributes to {goal.get('parent')}, which is {above}"


def _cycles(members: Iterable[Mapping[str, Any]], key: str) -> Iterator[str]:
    try:
        TopologicalSorter({str(each.get("id")): map(str, _several(each.get(key))) for each in members}).prepare()
    except CycleError as error:
        yield f"{key} leads in a circle: {' → '.join(error.args[1])}"


def _triples(members: Members) -> Iterator[Triple]:
    for name, found in members.items():
        sort = SORTS[name]
        for each in found:
            yield each["id"], "isA", sort.kind
            yield from ((each["id"], sort.values[key], str(each[key])) for key in sort.values if key in each)
            for key, (_, predicate) in sort.links.items():
                for other in _several(each.get(key)):
                    is_turned = predicate.startswith("^")
                    yield (other, predicate[1:], each["id"]) if is_turned else (each["id"], predicate, other)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [dict(each) for each in _several(value) if isinstance(each, Mapping)]


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
