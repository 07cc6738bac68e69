"""Graph queries over facts: paths, impact, counts and misfits, across the agents that may be read.

They are answered from the facts that hold at one moment. Of facts that say the same, the surest is cited.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from memfolio.clock import iso
from memfolio.errors import InputError, NotFoundError
from memfolio.graph.grow import Readable
from memfolio.index.database import Connection
from memfolio.index.facts import fact_id, read_moment
from memfolio.index.rows import from_us, to_us
from memfolio.knowledge.engine import StoredRelations
from memfolio.knowledge.facts import When, derived_named, fact_of, is_mentioned, triple_named
from memfolio.knowledge.join import BEGINNING, END, Atom, Call, JoinSolution, Relations, solve
from memfolio.knowledge.model import EFFECTS, NODES, PATHS, PREDICATES, RELATIONS, ends, kind_named
from memfolio.knowledge.rule import bound, is_variable, parse_conditions
from memfolio.knowledge.tree import span_text
from memfolio.types import frozen
from memfolio.vault.vault import Vault

T = TypeVar("T")
HOPS, MOST_HOPS = 6, 32
"""How often a step with `+` is repeated, unless somebody says so, and at most."""
SHOWN, WIDEST = 100, 10_000
"""How many paths are returned, and how many are followed at once; the least certain ones are dropped."""
MEMBERS = 100_000
"""How many solutions of a question to one agent are counted."""
MANY = 1_000
"""From how many nodes on it is quicker to ask for the kinds of all."""
AGENT, OTHER = "agent", "other"
_STEP = re.compile(r"(\^?[^\s()^|+*]+)(\+?)")


class Cited(NamedTuple):
    """A fact with the agent it belongs to."""

    agent: str
    atom: Atom


class PathStep(NamedTuple):
    """A predicate to follow once, or up to `most` times; `^` before it reverses the direction."""

    way: str
    most: int


class Hop(NamedTuple):
    """One edge of a path."""

    cited: Cited
    backwards: bool

    @property
    def target(self) -> str:
        return self.cited.atom.subject if self.backwards else self.cited.atom.object


class Path(NamedTuple):
    """A path through facts: as certain as its least certain fact, valid while all of them are."""

    nodes: tuple[str, ...]
    hops: tuple[Hop, ...] = ()

    @property
    def confidence(self) -> float:
        return min((hop.cited.atom.confidence for hop in self.hops), default=1.0)

    @property
    def span(self) -> tuple[int, int]:
        """The first moment at which it holds, and the one before which it ends."""
        atoms = [hop.cited.atom for hop in self.hops]
        return max([BEGINNING, *(atom.start for atom in atoms)]), min([END, *(atom.end for atom in atoms)])


@frozen
class Paths:
    """Paths, shortest first and, of equal length, the most certain first; `is_cut` if there are more."""

    paths: tuple[Path, ...]
    is_cut: bool = False


@frozen
class Impact:
    """Everything affected by a node or a fact, grouped by kind, each with the shortest path to it."""

    subject: str
    kinds: Mapping[str, tuple[Path, ...]]
    conclusions: tuple[Cited, ...] = ()
    """Conclusions of kept rules that follow from the fact and fall with it."""
    is_cut: bool = False


class Member(NamedTuple):
    """A match of the conditions by facts of one agent."""

    agent: str
    node: str
    confidence: float
    facts: tuple[Cited, ...]


@frozen
class Groups:
    """Counts by group, largest first, and the comparisons that could not be made.

    `is_cut` is set if an agent has more solutions than are counted.
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
        wanted = self.expected[0] if len(self.expected) == 1 else "anything that can be owned"
        return f"{' '.join(self.cited.atom.triple)}: {self.node} is {is_a}, not {wanted}"


def read_path(path: str | Sequence[str], hops: int = HOPS) -> list[PathStep]:
    """Parse the steps of a path: the name of a predefined one, or predicates such as `^supports` or `dependsOn+`."""
    _check_hops(hops)
    given = (path,) if isinstance(path, str) else tuple(path)
    if not given:
        raise InputError("the path has no steps", hint=f"name predicates, or one of {', '.join(PATHS)}")
    steps = []
    for text in PATHS.get(given[0], given) if len(given) == 1 else given:
        match = _STEP.fullmatch(text.strip())
        if match is None:
            hint = "write supports, ^supports for the way back, or dependsOn+ to repeat a step"
            raise InputError(f"{text[:60]!r} is no step of a path", hint=hint)
        steps.append(PathStep(match[1], hops if match[2] else 1))
    return steps


class Questions:
    """Graph queries about what is valid now, or at `valid_at`; untrusted facts are left out."""

    def __init__(self, vault: Vault, searcher: Readable, *, refresh: Callable[[], object] = lambda: None) -> None:
        self._vault = vault
        self._searcher = searcher
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
        """Return the paths from a node, or from any, along predicates or a predefined path such as `belief-goal-plan`.

        No path visits a node twice.
        """
        steps, moment, limit = read_path(path, hops), self._moment(valid_at), max(limit, 1)
        paths = [Path((node,)) for node in ([start] if start is not None else self._starts(steps[0].way, moment))]
        # Where only the last step is repeated, each repetition finds longer paths, and not all of them are needed.
        enough = limit if all(step.most == 1 for step in steps[:-1]) else None
        is_cut = False
        for number, step in enumerate(steps, 1):
            paths, has_more = self._walk(paths, step, moment, enough if number == len(steps) else None)
            is_cut = is_cut or has_more
        paths.sort(key=lambda each: len(each.hops))
        return Paths(paths=tuple(paths[:limit]), is_cut=is_cut or len(paths) > limit)

    def _starts(self, way: str, moment: int) -> list[str]:
        """All nodes from which a predicate leads on."""
        (found,) = self._ask([(way.lstrip("^"), None, None)], moment)
        return sorted({each.atom.object if way[0] == "^" else each.atom.subject for each in found})

    def _walk(
        self, paths: Sequence[Path], step: PathStep, moment: int, enough: int | None = None
    ) -> tuple[list[Path], bool]:
        """The paths on which a step is taken once or more, and whether some were cut; stops beyond `enough`."""
        found, is_cut = list[Path](), False
        for _ in range(step.most):
            further = sorted(self._onward(paths, (step.way,), moment), key=_surest)
            paths, is_cut = further[:WIDEST], is_cut or len(further) > WIDEST
            found += paths
            if not paths or (enough is not None and len(found) > enough):
                break
        return found, is_cut

    def _onward(self, paths: Sequence[Path], ways: Sequence[str], moment: int) -> Iterator[Path]:
        """All paths one fact further."""
        tries = [(path, way[0] == "^", _call(way, path.nodes[-1])) for path in paths for way in ways]
        # Many paths end at the same node: each question is asked once, in one read per agent.
        calls = list(dict.fromkeys(call for _, _, call in tries))
        answers = dict(zip(calls, self._ask(calls, moment), strict=True))
        for path, backwards, call in tries:
            for hop in (Hop(cited, backwards) for cited in answers[call]):
                # A simple path meets no node twice, so that circles end.
                if hop.target not in path.nodes:
                    yield Path((*path.nodes, hop.target), (*path.hops, hop))

    def _ask(self, calls: Sequence[Call], moment: int) -> list[list[Cited]]:
        """Return the valid answers to each lookup; of equal facts, the most certain."""
        best: list[dict[tuple[str, str, str], Cited]] = [{} for _ in calls]
        for agent, answers in self.each(lambda known: [known.match(*call) for call in calls]) if calls else ():
            for found, atoms in zip(best, answers, strict=True):
                for atom in atoms:
                    known = found.get(atom.triple)
                    if atom.holds_at(moment) and (known is None or known.atom.confidence < atom.confidence):
                        found[atom.triple] = Cited(agent, atom)
        return [list(found.values()) for found in best]

    def impact(self, subject: str, *, valid_at: When = None, hops: int = HOPS) -> Impact:
        """Return the goals, plans, steps and other nodes that are in doubt with a node, or with the fact of this id.

        Raises NotFoundError if no fact has ever mentioned it.
        """
        _check_hops(hops)
        moment, facts = self._moment(valid_at), self._resting_on(subject)
        # The id of a fact leads to what rests on it; any other word is a node.
        ahead = [_effect(each) for each in facts] or [Path((subject,))]
        paths, seen = [path for path in ahead if path.hops], {path.nodes[-1] for path in ahead}
        while ahead and len(paths) < WIDEST:
            going, ahead = [path for path in ahead if len(path.hops) < hops], []
            for path in sorted(self._onward(going, EFFECTS, moment), key=_surest):
                if path.nodes[-1] not in seen:
                    seen.add(path.nodes[-1])
                    ahead.append(path)
            paths += ahead
        if not paths and not facts and not self._is_mentioned(subject):
            hint = "name a subject, an object or the id of a fact; `memfolio fact query` shows which there are"
            raise NotFoundError(f"no fact tells of {subject[:80]!r}", hint=hint)
        falling = tuple(each for each in facts if each.atom.triple != facts[0].atom.triple)
        kinds = self._by_kind(paths[:WIDEST], moment)
        return Impact(subject=subject, kinds=kinds, conclusions=falling, is_cut=len(paths) > WIDEST)

    def _by_kind(self, paths: Sequence[Path], moment: int) -> dict[str, tuple[Path, ...]]:
        """Group paths by the kind of their end: by what facts say, otherwise by what the last predicate implies."""
        kinds = self._kinds({path.nodes[-1] for path in paths}, moment)
        grouped: defaultdict[str, list[Path]] = defaultdict(list)
        for path in paths:
            grouped[min(kinds[path.nodes[-1]], key=_rank, default=_kind_by_role(path.hops[-1]))].append(path)
        return {kind: tuple(grouped[kind]) for kind in sorted(grouped, key=_rank)}

    def _kinds(self, nodes: set[str], moment: int) -> dict[str, set[str]]:
        """Return the kinds of nodes, including the wider kinds that facts put those under."""
        calls: list[Call] = [("isA", node, None) for node in nodes] if len(nodes) < MANY else [("isA", None, None)]
        facts = [each.atom for found in self._ask(calls, moment) for each in found if each.atom.subject in nodes]
        # Each kind with all that is above it, looked up once for all nodes of that kind.
        wider = {atom.object: {kind_named(atom.object)} for atom in facts}
        above, _ = self._walk([Path((kind,)) for kind in sorted(wider)], PathStep("subClassOf", HOPS), moment)
        for path in above:
            wider[path.nodes[0]].add(kind_named(path.nodes[-1]))
        found: dict[str, set[str]] = {node: set() for node in nodes}
        for atom in facts:
            found[atom.subject] |= wider[atom.object]
        return found

    def _is_mentioned(self, node: str) -> bool:
        return any(index.read(lambda db: is_mentioned(db, node)) for index in self._searcher.indexes())

    def aggregate(self, conditions: str, *, by: str = AGENT, valid_at: When = None) -> Groups:
        """Count the solutions of conditions, written as in rules, by agent or by a variable.

        The first variable is what is counted; all conditions must be met by facts of one agent.
        """
        parts, moment = parse_conditions(conditions), self._moment(valid_at)
        known = [term for part in parts for term in part.terms if is_variable(term) and term in bound(parts)]
        if not known or by not in (AGENT, *known):
            hint = "name `agent` or a variable of the conditions"
            raise InputError(f"there is no {by[:40]!r} to group by", hint=hint)
        problems: set[str] = set()
        is_cut = False
        grouped: defaultdict[str, dict[tuple[str, str], Member]] = defaultdict(dict)

        def solutions(relations: Relations) -> list[JoinSolution]:
            return list(islice(solve(parts, relations, span=(moment, moment + 1), problems=problems), MEMBERS + 1))

        for agent, solved in self.each(solutions):
            is_cut = is_cut or len(solved) > MEMBERS
            for found in solved[:MEMBERS]:
                cited = tuple(Cited(agent, atom) for atom in found.atoms)
                member = Member(agent, found.binding[known[0]], found.confidence, cited)
                # One node of one agent counts once, however many facts meet the conditions.
                grouped[agent if by == AGENT else found.binding[by]].setdefault(member[:2], member)
        order = sorted(grouped, key=lambda value: (-len(grouped[value]), value))
        groups = {value: tuple(sorted(grouped[value].values())) for value in order}
        return Groups(groups=groups, problems=tuple(sorted(problems)), is_cut=is_cut)

    def validate(self, *, strict: bool = False, valid_at: When = None) -> list[Misfit]:
        """Return the facts of the base model that join nodes of kinds that their relation does not allow.

        A short predicate such as `supports` belongs to the model only if one of its ends does. Nodes without a kind
        pass, unless `strict` is set.
        """
        moment = self._moment(valid_at)
        relations = {**PREDICATES, **{name: name for name in RELATIONS}}
        answers = self._ask([(name, None, None) for name in relations], moment)
        facts = sorted((each for found in answers for each in found), key=lambda each: each.atom.triple)
        kinds = self._kinds({node for _, atom in facts for node in (atom.subject, atom.object)}, moment)
        misfits = []
        for cited in facts:
            subject, name, target = cited.atom.triple
            # `supports` is an everyday word: it is the model's only where an end is of the model.
            if name in RELATIONS or (kinds[subject] | kinds[target]) & NODES.keys():
                first, others = ends(relations[name])
                for node, expected in ((subject, {first}), (target, others)):
                    if (kinds[node] or strict) and not kinds[node] & expected:
                        misfits.append(Misfit(cited, node, tuple(sorted(kinds[node])), tuple(sorted(expected))))
        return misfits

    def ids(self, cited: Iterable[Cited]) -> dict[Cited, str]:
        """Return the ids of facts; retracted facts have none."""
        wanted = list(dict.fromkeys(cited))
        found: dict[Cited, str] = {}
        for index in self._searcher.indexes():
            if mine := [each for each in wanted if each.agent == index.agent]:
                found |= index.read(partial(_ids, mine))
        return found

    def each(self, question: Callable[[Relations], T]) -> list[tuple[str, T]]:
        """Ask a question of each agent's facts, starting with the agent's own."""
        return [
            (index.agent, index.read(lambda db: question(StoredRelations(db)))) for index in self._searcher.indexes()
        ]

    def _moment(self, valid_at: When) -> int:
        self._refresh()
        home = self._vault.home
        return to_us(home.now()) if valid_at is None else read_moment("valid_at", valid_at, home.zone)

    def _resting_on(self, id: str) -> list[Cited]:
        """Return the fact with an id, even if retracted, and every conclusion that rests on it."""
        for index in self._searcher.indexes() if id[:2] in ("F-", "D-") else ():
            if found := index.read(partial(_with_dependents, id, index.agent)):
                return [Cited(index.agent, atom) for atom in found]
        return []


def _check_hops(hops: int) -> None:
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"{hops} hops are not 1 to {MOST_HOPS}", hint="a step with + is repeated so often")


def _surest(path: Path) -> tuple[float, Path]:
    return -path.confidence, path


def _rank(kind: str) -> tuple[bool, str]:
    """Kinds of the base model come first."""
    return kind not in NODES, kind


def _call(way: str, node: str) -> Call:
    return (way[1:], None, node) if way[0] == "^" else (way, node, None)


def _effect(cited: Cited) -> Path:
    """Return where doubt about a fact begins: along the fact if it has an effect, otherwise at its subject."""
    subject, predicate, target = cited.atom.triple
    if predicate in EFFECTS:
        return Path((subject, target), (Hop(cited, backwards=False),))
    return Path((target, subject), (Hop(cited, backwards=True),)) if f"^{predicate}" in EFFECTS else Path((subject,))


def _kind_by_role(hop: Hop) -> str:
    """Return the kind that a hop leads to according to the model."""
    predicate = hop.cited.atom.predicate
    relation = PREDICATES.get(predicate, predicate)
    subject, objects = ends(relation) if relation in RELATIONS else (OTHER, frozenset[str]())
    return subject if hop.backwards else min(objects) if len(objects) == 1 else OTHER


def _ids(cited: Iterable[Cited], db: Connection) -> dict[Cited, str]:
    known = ((each, each.atom.key < 0, fact_of(db, each.atom.triple)) for each in cited)
    return {
        each: fact_id(each.agent, each.atom.triple, "D") if is_derived else fact.id if fact else ""
        for each, is_derived, fact in known
    }


def _with_dependents(id: str, agent: str, db: Connection) -> list[Atom]:
    """Return the fact or conclusion with an id and everything that rests on it, even if it was retracted."""
    concluded = derived_named(db, id, agent) if id.startswith("D-") else None
    triple = concluded.triple if concluded else triple_named(db, id)
    if triple is None:
        return []
    stored, (subject, predicate, target) = StoredRelations(db), triple
    # What was retracted stands for itself: its effects are asked for as if it held.
    found = {atom.key: atom for atom in stored.match(predicate, subject, target)} or {0: Atom(0, *triple)}
    waiting = list(found)
    while waiting:
        further = {atom.key: atom for atom in stored.dependents(waiting.pop()) if atom.key not in found}
        found |= further
        waiting += further
    return list(found.values())


def as_text(path: Path, cite: Callable[[Cited], str]) -> str:
    """Render a path on one line, with its confidence, validity and sources."""
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
    start, end = (None if at in (BEGINNING, END) else iso(from_us(at)) for at in path.span)
    times = {"valid_from": start, "valid_until": end}
    return {"nodes": list(path.nodes), "confidence": path.confidence, **times, "facts": facts}
