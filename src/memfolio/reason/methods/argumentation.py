"""Which arguments can be accepted together, given which attack which (Dung 1995)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Effort, Finding, Texts, World, method, one_of, sized

Pair = tuple[str, str]


class Framework:
    """Arguments and the attacks between them; sets of arguments are bits of a number."""

    def __init__(self, names: Sequence[str], attacks: Sequence[Pair], effort: Effort) -> None:
        self.names, self.effort, self._numbers = names, effort, range(len(names))
        place = {name: number for number, name in enumerate(names)}
        self._hit_by = [0] * len(names)
        for one, other in attacks:
            self._hit_by[place[other]] |= 1 << place[one]

    def attacked(self, some: int) -> int:
        return sum(1 << number for number in self._numbers if self._hit_by[number] & some)

    def defended(self, some: int) -> int:
        """The arguments all of whose attackers are attacked by some."""
        self.effort.spend(len(self.names))
        beaten = self.attacked(some)
        return sum(1 << number for number in self._numbers if not self._hit_by[number] & ~beaten)

    def grounded(self) -> int:
        """What is defended, step by step, from nothing."""
        found = 0
        while (more := self.defended(found)) != found:
            found = more
        return found

    def complete(self, chosen: int, left_out: int) -> Iterator[int]:
        """All sets that attack none of their own and have just what they defend, between two bounds."""
        rest = (1 << len(self.names)) - 1 & ~(chosen | left_out)
        beatable = self.attacked(chosen | rest)
        is_defensible = all(not self._hit_by[each] & ~beatable for each in self._numbers if chosen >> each & 1)
        if self.attacked(chosen) & chosen or not is_defensible or self.defended(chosen) & left_out:
            return
        if rest:
            pick = rest & -rest
            clash = self.attacked(pick) | self._hit_by[pick.bit_length() - 1]
            if not clash & (chosen | pick):
                yield from self.complete(chosen | pick, left_out | clash)
            yield from self.complete(chosen, left_out | pick)
        elif self.defended(chosen) == chosen:
            yield chosen

    def largest(self, sets: Sequence[int]) -> list[int]:
        """Those of some sets that are part of no other."""
        found: list[int] = []
        for each in sorted(sets, key=lambda one: -one.bit_count()):
            self.effort.spend(len(found))
            found += [each] if all(each & ~larger for larger in found) else []
        return found

    def named(self, some: int) -> list[str]:
        return [name for number, name in enumerate(self.names) if some >> number & 1]


class Dispute(NamedTuple):
    arguments: Annotated[Texts, sized(1, 300)] | Annotated[Mapping[str, str], sized(1, 300)]
    attacks: Sequence[Texts] = ()
    question: str | None = None


@method
def argumentation(given: Dispute, world: World) -> Finding:
    """The grounded, complete, preferred and stable extensions, and how each argument stands."""
    says = {name: name for name in given.arguments} if not isinstance(given.arguments, Mapping) else given.arguments
    names, attacks, asked = list(says), _pairs(given.attacks, set(says)), given.question
    if asked:
        one_of("question", asked, names)
    framework = Framework(names, attacks, world.effort())
    grounded = framework.grounded()
    beaten = framework.attacked(grounded)
    complete = list(framework.complete(grounded, beaten))
    preferred = framework.largest(complete)
    stable = [one for one in complete if (one | framework.attacked(one)).bit_count() == len(names)]
    status = {name: _status(1 << number, grounded, preferred) for number, name in enumerate(names)}
    lines = {name: f"{name}{f' ({said})' if said != name else ''} is {status[name]}" for name, said in says.items()}
    standing = ", ".join(framework.named(grounded)) or "nothing"
    sets = {"complete": complete, "preferred": preferred, "stable": stable}
    answer: dict[str, Any] = {kind: [framework.named(each) for each in found] for kind, found in sets.items()}
    answer |= {"grounded": framework.named(grounded), "status": status}
    if asked:
        holds = True if asked in framework.named(grounded) else False if asked in framework.named(beaten) else None
        answer |= {"holds": holds, "claim": says[asked]}
    positions = [", ".join(framework.named(each)) or "to accept nothing" for each in preferred]
    return Finding(
        lines[asked] if asked else f"beyond dispute: {standing}",
        steps=[
            f"unattacked, or defended by what is, step by step: {standing}",
            *(f"a tenable position: {each}" for each in positions),
            *lines.values(),
        ],
        would_change=_changes(names, attacks, asked, framework),
        answer=answer,
        notes=["" if stable else "there is no stable extension: no position answers all that it leaves out"],
    )


def _status(argument: int, grounded: int, preferred: Sequence[int]) -> str:
    held = sum(bool(argument & each) for each in preferred)
    if argument & grounded:
        return "accepted beyond dispute"
    return "rejected" if not held else "accepted in every position" if held == len(preferred) else "tenable"


def _changes(names: Sequence[str], attacks: Sequence[Pair], asked: str | None, framework: Framework) -> Iterator[str]:
    """Which attack, left out, would change what is beyond dispute."""
    looked_at = 1 << names.index(asked) if asked else -1
    before = framework.grounded() & looked_at
    for gone in attacks:
        rest = Framework(names, [each for each in attacks if each != gone], framework.effort)
        after = rest.grounded() & looked_at
        ends = {"would stand": framework.named(after & ~before), "would fall": framework.named(before & ~after)}
        if after != before:
            what = "; ".join(f"{', '.join(some)} {verb}" for verb, some in ends.items() if some)
            yield f"if {gone[0]} did not attack {gone[1]}: {what}"
    if before and asked:
        yield f"if something that stands attacked {asked}"


def _pairs(attacks: Sequence[Texts], names: set[str]) -> list[Pair]:
    for at, each in enumerate(attacks):
        if len(each) != 2 or not names.issuperset(each):
            raise InputError(f"attacks[{at}] is {each!r:.60}", hint="give two names that are among the arguments")
    return list(dict.fromkeys((one, other) for one, other in attacks))
