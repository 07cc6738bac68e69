"""The goals of a business from a file, as facts: who wants what and why, by which plans, and how far it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from sys import float_info
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.facts import ANY, MOST, Facts
from memfolio.knowledge.relations import Triple
from memfolio.text import counted
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

    Both are one change. InputError names everything that is wrong with the file; then nothing is written.
    """
    members, problems = _members(given)
    if problems := [*problems, *_problems(given, members)]:
        shown = "; ".join(problems[:SHOWN]) + (f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else "")
        told = counted(len(problems), "mistake")
        raise InputError(f"the goals have {told}: {shown}", hint="correct them; nothing was written")
    source = f"goals:{given['business'].strip()}"
    records = [
        {"subject": one, "predicate": two, "object": three, "source": source} for one, two, three in _triples(members)
    ]
    triples = tuple(dict.fromkeys(said.triple for said, _ in facts.check_many(records)))
    known = facts.query(source=source, agents=agent, valid_at=ANY, include_derived=False, limit=MOST)
    gone = [fact for fact in known if fact.triple not in set(triples)]
    if not dry_run:
        facts.assert_many(records, retracting=gone, by=by)
    counts = {name: len(found) for name, found in members.items()}
    return Seeded(members=counts, facts=triples, retracted=tuple(fact.triple for fact in gone))


def _members(given: Mapping[str, Any]) -> tuple[Members, list[str]]:
    """The members of each list, the steps of plans in a list of their own with their places; and what is no list."""
    if not isinstance(given, Mapping):
        raise InputError(f"the goals are a {type(given).__name__}", hint="pass an object with business and goals")
    problems: list[str] = []

    def objects(name: str, value: Any) -> list[dict[str, Any]]:
        if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
            return [dict(each) for each in value]
        problems.append(f"{name} is no list of objects")
        return []

    found = {name: objects(name, given.get(name, [])) for name in SORTS}
    for plan in found["plans"]:
        steps = objects(f"steps of {plan.get('id')}", plan.get("steps", []))
        found["steps"] += [{"step_order": place} | each for place, each in enumerate(steps, 1)]
        plan["steps"] = [each.get("id") for each in steps]
    return found, problems


def _problems(given: Mapping[str, Any], members: Members) -> Iterator[str]:
    if not isinstance(given.get("business"), str) or not given["business"].strip():
        yield "business names nobody"
    yield from (f"{name} is no list of members" for name in sorted(map(str, set(given) - {*SORTS, *_ABOUT})))
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
            yield from (f"{own}: {problem}" for problem in _flaws(SORTS[name], each, ids))
    yield from _wrong_levels(members["goals"])
    for name, key in (("goals", "parent"), ("steps", "depends_on")):
        yield from _cycles(members[name], key)


def _flaws(sort: Sort, member: Mapping[str, Any], ids: Mapping[str, set[str]]) -> Iterator[str]:
    for key, value in member.items():
        if key in sort.links:
            target = sort.links[key][0]
            strange = [each for each in _several(value) if not isinstance(each, str) or each not in ids[target]]
            yield from (f"{key} {each!r:.60} is none of the {target}" for each in strange)
        elif key in sort.values:
            if expected := _expected(key, value):
                yield f"{key} {value!r:.60} is not {expected}"
        elif key != "id":
            yield f"there is no {key!r:.60}"
    if sort.kind == "Goal" and not {"name", "level"} <= member.keys():
        yield "it has no name or no level"


def _expected(key: str, value: Any) -> str:
    """What a value should be; empty where it is."""
    if key == "level":
        return "" if value in LEVELS else f"one of {', '.join(LEVELS)}"
    if key == "deadline":
        return "" if _is_day(str(value)) else "a day such as 2027-03-31"
    if key in _SHARES | _NUMBERS:
        least, most = (0, 1) if key in _SHARES else (-float_info.max, float_info.max)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number and least <= value <= most else "a number" + (" from 0 to 1" if key in _SHARES else "")
    return "" if isinstance(value, str) and value.strip() else "text"


def _wrong_levels(goals: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    levels = {str(goal.get("id")): goal.get("level") for goal in goals}
    for goal in goals:
        for parent in map(str, _several(goal.get("parent"))):
            above, own = levels.get(parent), goal.get("level")
            if above in LEVELS and own in LEVELS and LEVELS.index(above) >= LEVELS.index(own):
                yield f"goal {goal.get('id')} is {own} and contributes to {parent}, which is {above}"


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


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
