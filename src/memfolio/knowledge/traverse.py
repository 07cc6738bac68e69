"""Questions to the graph that facts make: paths, impact, counts and outliers, across the agents that one may read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from memfolio.clock import iso
from memfolio.errors import InputError, NotFoundError, RuleError
from memfolio.graph.grow import Readable
from memfolio.index.database import Connection
from memfolio.index.fact_write import StoredRelations
from memfolio.index.facts import derived_named, fact_id, fact_of, is_told_of, read_moment, triple_named
from memfolio.index.rows import from_us, to_us
from memfolio.knowledge.facts import When
from memfolio.knowledge.join import BEGINNING, END, Atom, JoinSolution, Relations, solve
from memfolio.knowledge.model import EFFECTS, NODES, PATHS, PREDICATES, RELATIONS, ends, kind_named
from memfolio.knowledge.rule import Part, bound, check_rule, is_variable, parse
from memfolio.knowledge.tree import span_text
from memfolio.vault.vault import Vault

# Questions to the facts of all agents that one may read, answered from the index.

# Questions to the graph that facts make: where a path leads, what hangs on something, how many there are, what is
# odd.
#
# They are answered from the facts that hold at one moment. Of facts that say the same, the surest is cited. Pure.

T = TypeVar("T")
HOPS, MOST_HOPS = 6, 32
"""How often a step with `+` or `*` is repeated, unless somebody says so, and at most."""
SHOWN, WIDEST = 100, 10_000
"""How many paths are told, and how many are followed at once; the less sure ones are cut."""
MEMBERS = 100_000
"""How many solutions of a question to one agent are counted."""
MANY = 1_000
"""From how many nodes on it is quicker to ask for the kinds of all."""
AGENT, OTHER = "agent", "other"
_STEP = re.compile(r"(\()?(?P<choice>[^()+*\s]+)(?(1)\))(?P<times>[+*]?)")
_OUTCOME = " => INFO"
"""What makes a rule of conditions."""
_TIMES = {"": (1, False), "+": (1, True), "*": (0, True)}

Wish = tuple[str, str | None, str | None]
"""A predicate, a subject and an object that are looked for; None stands for anything."""


class Sources(Protocol):
    """The facts of all agents that may be read."""

    def each(self, question: Callable[[Relations], T]) -> Iterable[tuple[str, T]]:
        """What a question finds with each agent."""
        ...


class Cited(NamedTuple):
    """A fact of an agent."""

    agent: str
    atom: Atom


class PathStep(NamedTuple):
    """One of several predicates to follow so many times; `^` before one means from its object to its subject."""

    ways: tuple[str, ...]
    least: int
    most: int


class Hop(NamedTuple):
    """A fact by which one comes from a node to another."""

    cited: Cited
    backwards: bool

    @property
    def target(self) -> str:
        return self.cited.atom.subject if self.backwards else self.cited.atom.object


class Path(NamedTuple):
    """A way through facts; it is as sure as the least sure of them, and holds while all of them do."""

    nodes: tuple[str, ...]
    hops: tuple[Hop, ...]

    @property
    def confidence(self) -> float:
        return min((hop.cited.atom.confidence for hop in self.hops), default=1.0)

    @property
    def span(self) -> tuple[int, int]:
        """The first moment at which it holds, and the one before which it ends."""
        atoms = [hop.cited.atom for hop in self.hops]
        return max([BEGINNING, *(atom.start for atom in atoms)]), min([END, *(atom.end for atom in atoms)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Paths, the shortest first and of equally long ones the surest; `is_cut` where there are more."""

    paths: tuple[Path, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What hangs on a node or a fact, by kind, each with the shortest path to it."""

    subject: str
    kinds: Mapping[str, tuple[Path, ...]]
    conclusions: tuple[Cited, ...] = ()
    """What follows from the fact by rules that are kept, and falls with it."""
    is_cut: bool = False


class Member(NamedTuple):
    """Something that meets the conditions of a question by facts of one agent."""

    agent: str
    node: str
    confidence: float
    facts: tuple[Cited, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What was counted, the largest group first, and the comparisons that could not be made.

    `is_cut` where an agent has more solutions than are counted.
    """

    groups: Mapping[str, tuple[Member, ...]]
    problems: tuple[str, ...] = ()
    is_cut: bool = False


class Misfit(NamedTuple):
    """A fact of the base model of which an end is of the wrong kind."""

    cited: Cited
    node: str
    kinds: tuple[str, ...]
    expected: tuple[str, ...]

    def __str__(self) -> str:
        is_a = " and ".join(self.kinds) or "of no kind"
        wanted = " or ".join(self.expected) if len(self.expected) == 1 else "anything that can be owned"
        return f"{' '.join(self.cited.atom.triple)}: {self.node} is {is_a}, not {wanted}"


def read_path(path: str | Sequence[str], hops: int = HOPS) -> tuple[PathStep, ...]:
    """The steps of a path: the name of a ready one, or predicates such as `supports`, `^supports`, `a|b`, `(a|^b)+`."""
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"{hops} hops are not 1 to {MOST_HOPS}", hint="a step with + or * is repeated so often")
    given = (path,) if isinstance(path, str) else tuple(path)
    if not given:
        raise InputError("the path has no steps", hint=f"name predicates, or one of {', '.join(PATHS)}")
    return tuple(_read_step(each, hops) for each in (PATHS.get(given[0], given) if len(given) == 1 else given))


def _read_step(text: str, hops: int) -> PathStep:
    match = _STEP.fullmatch(text.strip())
    ways = tuple(dict.fromkeys(match["choice"].split("|"))) if match else ()
    if match is None or not all(each.lstrip("^") and each.rfind("^") < 1 for each in ways):
        hint = "write supports, ^supports for the way back, a|b for either, (a|b)+ or a* to repeat"
        raise InputError(f"{text[:60]!r} is no step of a path", hint=hint)
    least, repeats = _TIMES[match["times"]]
    return PathStep(ways, least, hops if repeats else 1)


class _Walker(NamedTuple):
    path: Path
    at: int = 0
    times: int = 0


def traverse(
    sources: Sources, start: str | None, steps: Sequence[PathStep], moment: int, *, limit: int = SHOWN
) -> Paths:
    """Where steps lead from a node, or from any; no path meets a node twice."""
    nodes = [start] if start is not None else _starts(sources, steps, moment)
    return walk(sources, [Path((node,), ()) for node in nodes], steps, moment, limit=limit)


def walk(
    sources: Sources,
    begun: Iterable[Path],
    steps: Sequence[PathStep],
    moment: int,
    *,
    limit: int = SHOWN,
    once: bool = False,
) -> Paths:
    """Where steps lead from the ends of paths, whose hops count for the first step; with `once`, one way to each."""
    walkers = [_Walker(path, 0, len(path.hops)) for path in begun]
    seen = {(0, walker.path.nodes[-1]) for walker in walkers}
    found: dict[Path, None] = {}
    is_cut = False
    while walkers and len(found) <= limit:
        ready = [each for walker in walkers for each in _passed(walker, steps)]
        found |= dict.fromkeys(each.path for each in ready if each.at == len(steps) and each.path.hops)
        onward = sorted(_onward(sources, ready, steps, moment), key=lambda each: (-each.path.confidence, each))
        if once:
            onward = _first_arrivals(onward, seen)
        walkers, is_cut = onward[:WIDEST], is_cut or len(onward) > WIDEST
    return Paths(paths=tuple(islice(found, limit)), is_cut=is_cut or len(found) > limit)


def _first_arrivals(walkers: Iterable[_Walker], seen: set[tuple[int, str]]) -> list[_Walker]:
    """The first at each node where nobody was before at this step."""
    first: dict[tuple[int, str], _Walker] = {}
    for each in walkers:
        first.setdefault((each.at, each.path.nodes[-1]), each)
    found = [each for key, each in first.items() if key not in seen]
    seen.update(first)
    return found


def _starts(sources: Sources, steps: Sequence[PathStep], moment: int) -> list[str]:
    """Where the first step begins, and those behind it that come first where it is left out."""
    first = next((at for at, step in enumerate(steps) if step.least), len(steps))
    ways = [way for step in steps[: first + 1] for way in step.ways]
    answers = _ask(sources, [(way.lstrip("^"), None, None) for way in ways], moment)
    pairs = zip(ways, answers, strict=True)
    return sorted({e.atom.object if way[0] == "^" else e.atom.subject for way, found in pairs for e in found})


def _passed(walker: _Walker, steps: Sequence[PathStep]) -> Iterator[_Walker]:
    """A walker at its step, and at those behind it that it may go on to at once."""
    yield walker
    while walker.at < len(steps) and walker.times >= steps[walker.at].least:
        walker = _Walker(walker.path, walker.at + 1)
        yield walker


def _onward(sources: Sources, walkers: Iterable[_Walker], steps: Sequence[PathStep], moment: int) -> Iterator[_Walker]:
    """All walkers one fact further."""
    going = [each for each in walkers if each.at < len(steps) and each.times < steps[each.at].most]
    tries = [(each, way, _wish(way, each.path.nodes[-1])) for each in going for way in steps[each.at].ways]
    wishes = list({wish: None for _, _, wish in tries})
    answers = dict(zip(wishes, _ask(sources, wishes, moment), strict=True))
    for (path, at, times), way, wish in tries:
        for hop in (Hop(cited, way[0] == "^") for cited in answers[wish]):
            if hop.target not in path.nodes:
                yield _Walker(Path((*path.nodes, hop.target), (*path.hops, hop)), at, times + 1)


def _wish(way: str, node: str) -> Wish:
    return (way[1:], None, node) if way[0] == "^" else (way, node, None)


def _ask(sources: Sources, wishes: Sequence[Wish], moment: int) -> list[list[Cited]]:
    """What holds of each that is wished for; of facts that say the same, the surest."""
    best: list[dict[tuple[str, str, str], Cited]] = [{} for _ in wishes]
    for agent, answers in sources.each(lambda relations: [relations.match(*wish) for wish in wishes]) if wishes else ():
        for found, atoms in zip(best, answers, strict=True):
            for atom in atoms:
                known = found.get(atom.triple)
                if atom.holds_at(moment) and (known is None or known.atom.confidence < atom.confidence):
                    found[atom.triple] = Cited(agent, atom)
    return [list(found.values()) for found in best]


def impact(sources: Sources, subject: str, moment: int, *, facts: Sequence[Cited] = (), hops: int = HOPS) -> Impact:
    """What is in doubt when a node is, or when facts are: all that EFFECTS lead to, by kind, the nearest first."""
    begun = [_effect(each) for each in facts] or [Path((subject,), ())]
    found = walk(sources, begun, read_path([f"({'|'.join(EFFECTS)})+"], hops), moment, limit=WIDEST, once=True)
    kinds = _kinds(sources, [path.nodes[-1] for path in found.paths], moment)
    grouped: defaultdict[str, list[Path]] = defaultdict(list)
    for path in found.paths:
        told = sorted(kinds[path.nodes[-1]], key=lambda kind: (kind not in NODES, kind))
        grouped[told[0] if told else _kind_by_role(path.hops[-1])].append(path)
    order = sorted(grouped, key=lambda kind: (kind not in NODES, kind))
    kept = {kind: tuple(grouped[kind]) for kind in order}
    falling = tuple(each for each in facts if each.atom.triple != facts[0].atom.triple)
    return Impact(subject=subject, kinds=kept, conclusions=falling, is_cut=found.is_cut)


def _effect(cited: Cited) -> Path:
    """Where the doubt about a fact begins: along it where it has an effect, else with its subject."""
    subject, predicate, target = cited.atom.triple
    if predicate in EFFECTS:
        return Path((subject, target), (Hop(cited, backwards=False),))
    return (
        Path((target, subject), (Hop(cited, backwards=True),)) if f"^{predicate}" in EFFECTS else Path((subject,), ())
    )


def _kinds(sources: Sources, nodes: Iterable[str], moment: int) -> dict[str, set[str]]:
    """Of what kinds nodes are, with the wider kinds that facts put those under."""
    wanted = set(nodes)
    wishes: list[Wish] = [("isA", node, None) for node in wanted] if len(wanted) < MANY else [("isA", None, None)]
    pairs = [each.atom[1:4:2] for found in _ask(sources, wishes, moment) for each in found]
    begun = [Path((kind,), ()) for kind in sorted({kind for node, kind in pairs if node in wanted})]
    wider = {path.nodes[0]: {kind_named(path.nodes[0])} for path in begun}
    for path in walk(sources, begun, read_path(["subClassOf+"]), moment, limit=WIDEST).paths:
        wider[path.nodes[0]].add(kind_named(path.nodes[-1]))
    found: dict[str, set[str]] = {node: set() for node in wanted}
    for node, kind in pairs:
        if node in wanted:
            found[node] |= wider[kind]
    return found


def _kind_by_role(hop: Hop) -> str:
    """What the model says that a hop leads to."""
    predicate = hop.cited.atom.predicate
    relation = PREDICATES.get(predicate, predicate)
    subject, objects = ends(relation) if relation in RELATIONS else (OTHER, frozenset[str]())
    return subject if hop.backwards else min(objects) if len(objects) == 1 else OTHER


def read_conditions(text: str) -> tuple[Part, ...]:
    """The conditions of a question, as in a rule: `?goal isA Goal and ?goal progress ?p and ?p < 50%`."""
    if not text.strip():
        raise RuleError("there are no conditions", hint="write some such as: ?g isA Goal and ?g status behind")
    try:
        return check_rule(parse(f"{text}{_OUTCOME}")).conditions
    except RuleError as error:
        told = error.message.replace(_OUTCOME, "").replace("`and` or `=>`", "`and` or the end")
        message = told if "=>" in text else told.replace("not '=>'", "not the end")
        raise RuleError(message, hint=error.hint) from error


def aggregate(sources: Sources, conditions: Sequence[Part], moment: int, *, by: str = AGENT) -> Groups:
    """What the first variable stands for where all conditions are met by facts of one agent, by agent or variable."""
    known = [term for part in conditions for term in part.terms if is_variable(term) and term in bound(conditions)]
    if not known or by not in (AGENT, *known):
        raise InputError(f"there is no {by[:40]!r} to group by", hint="name `agent` or a variable of the conditions")
    problems: set[str] = set()
    is_cut = False
    grouped: defaultdict[str, dict[tuple[str, str], Member]] = defaultdict(dict)

    def solutions(relations: Relations) -> list[JoinSolution]:
        return list(islice(solve(conditions, relations, span=(moment, moment + 1), problems=problems), MEMBERS + 1))

    for agent, solved in sources.each(solutions):
        is_cut = is_cut or len(solved) > MEMBERS
        for found in solved[:MEMBERS]:
            cited = tuple(Cited(agent, atom) for atom in found.atoms)
            member = Member(agent, found.binding[known[0]], found.confidence, cited)
            grouped[agent if by == AGENT else found.binding[by]].setdefault(member[:2], member)
    groups = {value: tuple(sorted(members.values())) for value, members in grouped.items()}
    order = sorted(groups, key=lambda value: (-len(groups[value]), value))
    told = {value: groups[value] for value in order}
    return Groups(groups=told, problems=tuple(sorted(problems)), is_cut=is_cut)


def validate(sources: Sources, moment: int, *, strict: bool = False) -> list[Misfit]:
    """The facts of the base model whose ends are of other kinds than their relation joins.

    A short predicate such as `supports` belongs to the model only if one of its ends does. What has no kind is let
    pass, unless `strict`.
    """
    relations = {**PREDICATES, **{name: name for name in RELATIONS}}
    answers = _ask(sources, [(name, None, None) for name in relations], moment)
    facts = sorted((each for found in answers for each in found), key=lambda each: each.atom.triple)
    kinds = _kinds(sources, (node for _, atom in facts for node in (atom.subject, atom.object)), moment)
    misfits = []
    for cited in facts:
        subject, name, target = cited.atom.triple
        if name in RELATIONS or (kinds[subject] | kinds[target]) & NODES.keys():
            first, others = ends(relations[name])
            for node, expected in ((subject, {first}), (target, others)):
                if (kinds[node] or strict) and not kinds[node] & expected:
                    misfits.append(Misfit(cited, node, tuple(sorted(kinds[node])), tuple(sorted(expected))))
    return misfits


def as_text(path: Path, cite: Callable[[Cited], str]) -> str:
    """A path in one line, with how sure it is, when it holds and what it rests on."""
    line = path.nodes[0]
    for hop in path.hops:
        predicate = hop.cited.atom.predicate
        line += f" <-{predicate}- {hop.target}" if hop.backwards else f" -{predicate}-> {hop.target}"
    remarks = filter(None, (f"{path.confidence:.2f}", span_text(*path.span), *(cite(hop.cited) for hop in path.hops)))
    return f"{line} ({', '.join(remarks)})"


def as_document(path: Path, cite: Callable[[Cited], str]) -> dict[str, Any]:
    """A path for programs."""
    facts = [
        {"id": cite(each), "agent": each.agent, "triple": list(each.atom.triple), "confidence": each.atom.confidence}
        for each, _ in path.hops
    ]
    times = [None if at in (BEGINNING, END) else iso(from_us(at)) for at in path.span]
    ends_at = dict(zip(("valid_from", "valid_until"), times, strict=True))
    return {"nodes": list(path.nodes), "confidence": path.confidence, **ends_at, "facts": facts}


def as_mermaid(paths: Iterable[Path]) -> str:
    """Paths as one Mermaid graph; an arrow points as its fact does."""
    atoms = {hop.cited.atom.triple: hop.cited.atom for path in paths for hop in path.hops}
    names = {node: f"n{at}" for at, node in enumerate(dict.fromkeys(n for s, _, o in atoms for n in (s, o)))}
    lines = [f'  {name}["{_escaped(node)}"]' for node, name in names.items()]
    for (subject, predicate, target), atom in atoms.items():
        lines.append(f'  {names[subject]} -->|"{_escaped(predicate)} {atom.confidence:.2f}"| {names[target]}')
    return "\n".join(["graph LR", *lines])


def _escaped(text: str) -> str:
    return re.sub(r"[^\w\s.,:?!$€£%+/*=-]", lambda match: f"#{ord(match[0])};", " ".join(text.split()))


class Questions:
    """Asks about what holds now, or at `valid_at`; what strangers said is left out."""

    def __init__(self, vault: Vault, library: Readable, *, refresh: Callable[[], object] = lambda: None) -> None:
        self._vault = vault
        self._library = library
        self._refresh = refresh

    def traverse(
        self,
        start: str | None,
        path: str | Sequence[str],
        *,
        valid_at: When = None,
        limit: int = SHOWN,
        hops: int = HOPS,
    ) -> Paths:
        """The paths from a node, or from any, along predicates or a ready path such as `belief-goal-plan`."""
        steps = read_path(path, hops)
        return traverse(self, start, steps, self._moment(valid_at), limit=max(limit, 1))

    def impact(self, subject: str, *, valid_at: When = None, hops: int = HOPS) -> Impact:
        """The goals, plans, steps and whatever else is in doubt with a node, or with the fact that has this id.

        NotFoundError where no fact has ever told of it.
        """
        moment, facts = self._moment(valid_at), self._resting_on(subject)
        found = impact(self, subject, moment, facts=facts, hops=hops)
        if not found.kinds and not facts and not self._is_told_of(subject):
            hint = "name a subject, an object or the id of a fact; `memfolio fact query` shows which there are"
            raise NotFoundError(f"no fact tells of {subject[:80]!r}", hint=hint)
        return found

    def _is_told_of(self, node: str) -> bool:
        return any(index.read(lambda db: is_told_of(db, node)) for index in self._library.indexes())

    def aggregate(self, conditions: str, *, by: str = AGENT, valid_at: When = None) -> Groups:
        """What meets conditions in the text form of rules, counted by agent or by a variable."""
        return aggregate(self, read_conditions(conditions), self._moment(valid_at), by=by)

    def validate(self, *, strict: bool = False, valid_at: When = None) -> list[Misfit]:
        """The facts of the base model that join what they cannot."""
        return validate(self, self._moment(valid_at), strict=strict)

    def ids(self, cited: Iterable[Cited]) -> dict[Cited, str]:
        """The ids of facts; what was retracted has none."""
        wanted = list(dict.fromkeys(cited))
        found: dict[Cited, str] = {}
        for index in self._library.indexes():
            if mine := [each for each in wanted if each.agent == index.agent]:
                found |= index.read(partial(_ids, mine))
        return found

    def each(self, question: Callable[[Relations], T]) -> list[tuple[str, T]]:
        """What a question finds with each agent, the own one first."""
        return [
            (index.agent, index.read(lambda db: question(StoredRelations(db)))) for index in self._library.indexes()
        ]

    def _moment(self, valid_at: When) -> int:
        self._refresh()
        home = self._vault.home
        return to_us(home.now()) if valid_at is None else read_moment("valid_at", valid_at, home.zone)

    def _resting_on(self, id: str) -> list[Cited]:
        """The fact with an id, also one that was retracted, and all conclusions that rest on it."""
        for index in self._library.indexes() if id[:2] in ("F-", "D-") else ():
            if found := index.read(partial(_with_dependents, id, index.agent)):
                return [Cited(index.agent, atom) for atom in found]
        return []


def _ids(cited: Iterable[Cited], db: Connection) -> dict[Cited, str]:
    known = ((each, each.atom.key < 0, fact_of(db, each.atom.triple)) for each in cited)
    return {
        each: fact_id(each.agent, each.atom.triple, "D") if is_derived else fact.id if fact else ""
        for each, is_derived, fact in known
    }


def _with_dependents(id: str, agent: str, db: Connection) -> list[Atom]:
    """The fact or conclusion with an id and all that rests on it; as if it held where it does not."""
    concluded = derived_named(db, id, agent) if id.startswith("D-") else None
    triple = concluded.triple if concluded else triple_named(db, id)
    if triple is None:
        return []
    stored, (subject, predicate, target) = StoredRelations(db), triple
    found = {atom.key: atom for atom in stored.match(predicate, subject, target)} or {0: Atom(0, *triple)}
    waiting = list(found)
    while waiting:
        further = {atom.key: atom for atom in stored.dependents(waiting.pop()) if atom.key not in found}
        found |= further
        waiting += further
    return list(found.values())
