"""Game theory: which choices of several players hold each other in place, in exact fractions.

row_payoffs: rows of numbers, what the row player gets
column_payoffs: rows of numbers, what the column player gets; without it, the opposite (a zero-sum game)
rows: names of the row player's choices
columns: names of the column player's choices
players: instead of these four, an object, each player with a list of choices
outcomes: with players, a list of objects: `play` (the choice of each player) and `payoffs` (a number for each)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

Play = tuple[int, ...]
Mix = tuple[Fraction, ...]
Pair = tuple[Mix, Mix]
Payoffs = dict[Play, tuple[Fraction, ...]]
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """The players, the choices of each, and what each gets from every play."""

    players: list[str]
    choices: list[list[str]]
    payoffs: Payoffs

    def margin(self, play: Play, player: int) -> Fraction:
        """How much a player loses by the best other choice; below 0, what is gained."""
        others = [each for each in range(len(self.choices[player])) if each != play[player]]
        best = max((self.payoffs[_put(play, player, each)][player] for each in others), default=Fraction(0))
        return self.payoffs[play][player] - best if others else Fraction(0)

    def named(self, play: Play) -> str:
        return f"({', '.join(names[choice] for names, choice in zip(self.choices, play, strict=True))})"

    def told(self, pair: Pair) -> str:
        sides = zip(self.choices, pair, strict=True)
        return " against ".join(
            " + ".join(f"{p} {a}" if p < 1 else a for a, p in zip(*each, strict=True) if p) for each in sides
        )

    def worth(self, pair: Pair) -> list[Fraction]:
        each = [(pair[0][r] * pair[1][c], gains) for (r, c), gains in self.payoffs.items()]
        return [sum((share * gains[player] for share, gains in each), Fraction(0)) for player in (0, 1)]


def reason(given: Given, world: World) -> Result:
    """All equilibria of two players, the pure ones of more, and by how much they hold."""
    given.only("row_payoffs", "column_payoffs", "rows", "columns", "players", "outcomes")
    effort = Effort(world.settings.work)
    game = _table(given) if "players" in given else _bimatrix(given)
    effort.spend(len(game.payoffs) * sum(map(len, game.choices)))
    pure = [play for play in game.payoffs if all(game.margin(play, p) >= 0 for p in range(len(game.players)))]
    left, struck = _struck(game, effort)
    pairs, degenerate = _equilibria(game, effort) if len(game.players) == 2 else ([], False)
    constant = len({sum(each) for each in game.payoffs.values()}) == 1
    value = str(game.worth(pairs[0])[0]) if pairs and constant else None
    found = [game.told(pair) for pair in pairs] or [game.named(play) for play in pure]
    efficient = [game.named(play) for play in game.payoffs if not _improvable(game, play, effort)]
    worth = f", worth {value} to {game.players[0]}" if value is not None else ""
    return Result(
        method="game-theory",
        conclusion=(f"{len(found)} equilibria: " if len(found) != 1 else "One equilibrium: ")
        + ("; ".join(found[:SHOWN]) or "none in pure choices")
        + f"{worth}.",
        confidence=1.0 if len(found) == 1 and not degenerate else None,
        steps=(
            *struck,
            f"Plays that nobody gains by leaving: {', '.join(map(game.named, pure)) or 'none'}.",
            *(f"{game.told(each)} gives {' and '.join(map(str, game.worth(each)))}." for each in pairs[:SHOWN]),
            f"Plays that no other play betters for all: {', '.join(efficient[:SHOWN])}.",
        ),
        would_change=tuple(_would_change(game, pure, pairs)),
        inputs=given.used,
        answer={
            "pure": [game.named(play) for play in pure],
            "equilibria": [[list(map(str, mix)) for mix in pair] for pair in pairs],
            "payoffs": [list(map(str, game.worth(pair))) for pair in pairs],
            "value": value,
            "left": left,
            "efficient": efficient,
        },
        notes=tuple(_notes(game, pure, found, efficient, degenerate)),
    )


def _bimatrix(given: Given) -> Game:
    row = given.matrix("row_payoffs")
    column = given.matrix("column_payoffs", [[-each for each in line] for line in row])
    if [len(line) for line in column] != [len(line) for line in row]:
        raise InputError("column_payoffs has another shape than row_payoffs", hint="give a number for each play")
    sizes = {"rows": len(row), "columns": len(row[0])}
    choices = [given.texts(side, [f"{side[:-1]} {n + 1}" for n in range(size)]) for side, size in sizes.items()]
    for names, (side, size) in zip(choices, sizes.items(), strict=True):
        if len(names) != size or len(set(names)) != size:
            raise InputError(f"{side} has {len(set(names))} different names", hint=f"give {size}")
    plays = product(*map(range, sizes.values()))
    payoffs: Payoffs = {(r, c): (_exact(row[r][c]), _exact(column[r][c])) for r, c in plays}
    return Game(players=["row", "column"], choices=choices, payoffs=payoffs)


def _table(given: Given) -> Game:
    part, payoffs = given.part("players"), Payoffs()
    choices = [part.texts(name, least=1) for name in part.names()]
    for number, each in enumerate(given.parts("outcomes", least=1)):
        play, gains = each.texts("play"), each.numbers("payoffs")
        fits = len(play) == len(gains) == len(choices) > 1
        if not fits or any(a not in names for a, names in zip(play, choices, strict=True)):
            raise InputError(f"outcomes[{number}] does not fit players", hint="give a choice and a number for each")
        payoffs[tuple(names.index(a) for a, names in zip(play, choices, strict=True))] = tuple(map(_exact, gains))
    if len(payoffs) != prod(map(len, choices)):
        raise InputError(f"outcomes has {len(payoffs)} different plays", hint="give every combination of choices once")
    return Game(players=part.names(), choices=choices, payoffs=dict(sorted(payoffs.items())))


def _struck(game: Game, effort: Effort) -> tuple[dict[str, list[str]], list[str]]:
    """What is left when choices that another one beats against everything are struck out, again and again."""
    left, steps = [list(range(len(names))) for names in game.choices], list[str]()

    def beats(player: int, better: int, worse: int) -> bool:
        effort.spend(prod(map(len, left)))
        plays = [play for play in product(*left) if play[player] == worse]
        return all(game.payoffs[_put(play, player, better)][player] > game.payoffs[play][player] for play in plays)

    def strikes() -> Iterator[tuple[int, int, int]]:
        for player, own in enumerate(left):
            yield from ((player, a, b) for a in own for b in own if a != b and beats(player, a, b))

    while found := next(strikes(), None):
        player, better, worse = found
        left[player].remove(worse)
        names = game.choices[player]
        steps.append(f"For {game.players[player]}, {names[better]} always beats {names[worse]}: it is struck out.")
    sides = zip(game.players, game.choices, left, strict=True)
    return {player: [names[each] for each in own] for player, names, own in sides}, steps


def _equilibria(game: Game, effort: Effort) -> tuple[list[Pair], bool]:
    """All extreme equilibria, and whether the game is degenerate, so that there may be more between them."""
    rows, columns = (range(len(names)) for names in game.choices)
    mine = _vertices([[game.payoffs[r, c][1] for c in columns] for r in rows], effort)
    theirs = _vertices([[game.payoffs[r, c][0] for r in rows] for c in columns], effort)
    effort.spend(len(mine) * len(theirs))
    found = [(x, y) for x, best in mine.items() for y, back in theirs.items() if _used(x) <= back and _used(y) <= best]
    return found, any(len(best) > len(_used(mix)) for mix, best in (*mine.items(), *theirs.items()))


def _vertices(payoffs: list[list[Fraction]], effort: Effort) -> dict[Mix, set[int]]:
    """A player's extreme mixes, each with the other's best answers; `payoffs` are the other's, a row an own choice."""
    found: dict[Mix, set[int]] = {}
    rows, columns = range(len(payoffs)), range(len(payoffs[0]))
    sizes = range(1, min(len(rows), len(columns)) + 1)
    effort.spend(sum(comb(len(rows), size) * comb(len(columns), size) * (size + 1) ** 3 // 2 for size in sizes))
    for size in sizes:
        for own, other in product(combinations(rows, size), combinations(columns, size)):
            alike = [[*(payoffs[i][j] for i in own), Fraction(-1), Fraction(0)] for j in other]
            solved = _solved([*alike, [*[Fraction(1)] * size, Fraction(0), Fraction(1)]])
            if solved and min(solved[:size]) >= 0:
                worth = [sum((solved[k] * payoffs[i][j] for k, i in enumerate(own)), Fraction(0)) for j in columns]
                if max(worth) == solved[size]:
                    mix = tuple(solved[own.index(i)] if i in own else Fraction(0) for i in rows)
                    found[mix] = {j for j in columns if worth[j] == solved[size]}
    return found


def _solved(lines: list[list[Fraction]]) -> list[Fraction] | None:
    """The one solution of linear equations, each with its right side last; None where there is not just one."""
    for at in range(len(lines)):
        pivot = next((each for each in range(at, len(lines)) if lines[each][at]), None)
        if pivot is None:
            return None
        line = lines.pop(pivot)
        lines.insert(at, [each / line[at] for each in line])
        for other, line in enumerate(lines):
            if other != at and line[at]:
                lines[other] = [a - line[at] * b for a, b in zip(line, lines[at], strict=True)]
    return [line[-1] for line in lines]


def _improvable(game: Game, play: Play, effort: Effort) -> bool:
    effort.spend(len(game.payoffs))
    own = game.payoffs[play]
    return any(gains != own and all(a >= b for a, b in zip(gains, own, strict=True)) for gains in game.payoffs.values())


def _would_change(game: Game, pure: list[Play], pairs: list[Pair]) -> Iterator[str]:
    """By how much less in a pure equilibrium, or more for a choice that a mixed one leaves out, it breaks."""
    for play in pure[:SHOWN]:
        margin, player = min((game.margin(play, each), each) for each in range(len(game.players)))
        yield f"{game.named(play)} breaks once {game.players[player]} gets more than {margin} less there."
    for pair in [pair for pair in pairs[:SHOWN] if any(len(_used(mix)) > 1 for mix in pair)]:
        yield f"In {game.told(pair)}, any change of one side's payoffs moves the other side's mix."
        for player, choice in ((p, c) for p, mix in enumerate(pair) for c in range(len(mix)) if not mix[c]):
            alone = tuple(Fraction(each == choice) for each in range(len(pair[player])))
            gap = game.worth(pair)[player] - game.worth((alone, pair[1]) if player == 0 else (pair[0], alone))[player]
            yield f"It breaks once {game.choices[player][choice]} gives {game.players[player]} over {gap} more."


def _notes(game: Game, pure: list[Play], found: list[str], efficient: list[str], degenerate: bool) -> Iterator[str]:
    if len(game.players) > 2:
        yield "With more than two players only pure equilibria are looked for."
    if degenerate:
        yield "The game is degenerate: mixes between the equilibria that are named may be equilibria too."
    if len(found) > 1:
        yield "There are several equilibria: the payoffs alone do not say which one is played."
    if bad := [game.named(play) for play in pure if game.named(play) not in efficient]:
        yield f"All could do better than in {', '.join(bad)}."


def _put(play: Play, player: int, choice: int) -> Play:
    return (*play[:player], choice, *play[player + 1 :])


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _used(mix: Mix) -> set[int]:
    return {place for place, share in enumerate(mix) if share}
