"""Game theory: which choices of two players hold each other in place, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb, lcm
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Effort, Finding, Matrix, Texts, World, betters, exact, method

Play = tuple[int, int]
Mix = tuple[Fraction, ...]
Pair = tuple[Mix, Mix]
PLAYERS = ("row", "column")
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """The choices of both players, and what each gets from every play."""

    choices: tuple[list[str], list[str]]
    payoffs: dict[Play, tuple[Fraction, Fraction]]

    def margin(self, play: Play, player: int) -> Fraction:
        """How much a player loses by the best other choice; below 0, what is gained."""
        others = [each for each in range(len(self.choices[player])) if each != play[player]]
        own = self.payoffs[play][player]
        return own - max((self.payoffs[_put(play, player, each)][player] for each in others), default=own)

    def named(self, play: Play) -> str:
        return f"({self.choices[0][play[0]]}, {self.choices[1][play[1]]})"

    def told(self, pair: Pair) -> str:
        sides = zip(self.choices, pair, strict=True)
        return " against ".join(
            " + ".join(f"{p} {a}" if p < 1 else a for a, p in zip(*each, strict=True) if p) for each in sides
        )

    def worth(self, pair: Pair) -> list[Fraction]:
        each = [(pair[0][r] * pair[1][c], gains) for (r, c), gains in self.payoffs.items() if pair[0][r] * pair[1][c]]
        return [sum((share * gains[player] for share, gains in each), Fraction(0)) for player in (0, 1)]


class Payoffs(NamedTuple):
    row_payoffs: Matrix
    column_payoffs: Matrix | None = None
    rows: Texts = ()
    columns: Texts = ()


@method
def game_theory(given: Payoffs, world: World) -> Finding:
    """All extreme equilibria, pure and mixed, and by how much they hold."""
    effort, game = world.effort(), _game(given)
    effort.spend(4 * len(game.payoffs) ** 2)
    pure = [play for play in game.payoffs if all(game.margin(play, player) >= 0 for player in (0, 1))]
    gains = game.payoffs.values()
    efficient = [game.named(play) for play, own in game.payoffs.items() if not any(betters(e, own) for e in gains)]
    pairs, degenerate = _equilibria(game, effort)
    found = [game.told(pair) for pair in pairs]
    value = str(game.worth(pairs[0])[0]) if len({sum(each) for each in gains}) == 1 else None
    worth = f", worth {value} to row" if value is not None else ""
    several = f"{len(found)} equilibria" if len(found) > 1 else "One equilibrium"
    return Finding(
        f"{several}: {'; '.join(found[:SHOWN])}{worth}.",
        confidence=1.0 if len(found) == 1 and not degenerate else None,
        steps=[
            f"Plays that nobody gains by leaving: {', '.join(map(game.named, pure[:SHOWN])) or 'none'}.",
            *(f"{game.told(each)} gives {' and '.join(map(str, game.worth(each)))}." for each in pairs[:SHOWN]),
            f"Plays that no other betters for somebody without loss to the other: {', '.join(efficient[:SHOWN])}.",
        ],
        would_change=_would_change(game, pairs[:SHOWN]),
        answer={
            "best": sorted({game.choices[0][play[0]] for play in pure}),
            "options": list(game.choices[0]),
            "pure": [game.named(play) for play in pure],
            "equilibria": [[list(map(str, mix)) for mix in pair] for pair in pairs],
            "payoffs": [list(map(str, game.worth(pair))) for pair in pairs],
            "value": value,
            "efficient": efficient,
        },
        notes=_notes(found, [game.named(each) for each in pure], efficient, degenerate),
    )


def _game(given: Payoffs) -> Game:
    row = given.row_payoffs
    column = given.column_payoffs or [[-each for each in line] for line in row]
    shape = len(row), len(row[0])
    if (len(column), len(column[0])) != shape:
        raise InputError("column_payoffs has another shape than row_payoffs", hint="give a number for each play")
    payoffs = {
        (r, c): (exact(f"row_payoffs[{r}][{c}]", row[r][c]), exact(f"column_payoffs[{r}][{c}]", column[r][c]))
        for r, c in product(*map(range, shape))
    }
    return Game(
        choices=(_names("rows", given.rows, shape[0]), _names("columns", given.columns, shape[1])), payoffs=payoffs
    )


def _names(side: str, given: Texts, size: int) -> list[str]:
    names = list(given or [f"{side[:-1]} {number + 1}" for number in range(size)])
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"{side} has {len(set(names))} different names", hint=f"give {size}")
    return names


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
    effort.spend(sum(comb(len(rows), size) * comb(len(columns), size) * (size + 1) ** 2 for size in sizes))
    scale = lcm(*(each.denominator for line in payoffs for each in line))
    whole = [[int(each * scale) for each in line] for line in payoffs]
    for size in sizes:
        for own, other in product(combinations(rows, size), combinations(columns, size)):
            alike = [[*(whole[i][j] for i in own), -1, 0] for j in other]
            solved = _solved([*alike, [*[1] * size, 0, 1]])
            if solved and min(solved[:size]) >= 0:
                worth = [sum(solved[k] * whole[i][j] for k, i in enumerate(own)) for j in columns]
                if max(worth) == solved[size]:
                    mix = tuple(solved[own.index(i)] if i in own else Fraction(0) for i in rows)
                    found[mix] = {j for j in columns if worth[j] == solved[size]}
    return found


def _solved(lines: list[list[int]]) -> list[Fraction] | None:
    """The one solution of linear equations in whole numbers, each with its right side last; None if there is not one.

    Every line is cleared by Bareiss' rule, by which all divisions come out even.
    """
    before = 1
    for at in range(len(lines)):
        pivot = next((each for each in range(at, len(lines)) if lines[each][at]), None)
        if pivot is None:
            return None
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lead, top = lines[at], lines[at][at]
        for other, line in enumerate(lines):
            if other != at:
                own = line[at]
                lines[other] = [(a * top - own * b) // before for a, b in zip(line, lead, strict=True)]
        before = top
    return [Fraction(line[-1], line[at]) for at, line in enumerate(lines)]


def _would_change(game: Game, pairs: list[Pair]) -> Iterator[str]:
    """By how much less for somebody a pure equilibrium breaks; a mixed one moves with the payoffs."""
    free = [player for player in (0, 1) if len(game.choices[player]) > 1]
    for pair in pairs:
        if any(len(_used(mix)) > 1 for mix in pair):
            yield f"In {game.told(pair)}, the mix of each side hangs on the payoffs of the other."
        elif free:
            play = pair[0].index(Fraction(1)), pair[1].index(Fraction(1))
            margin, player = min((game.margin(play, each), each) for each in free)
            yield f"{game.named(play)} breaks once {PLAYERS[player]} gets more than {margin} less there."


def _notes(found: list[str], pure: list[str], efficient: list[str], degenerate: bool) -> Iterator[str]:
    if degenerate:
        yield "The game is degenerate: mixes between the equilibria that are named may be equilibria too."
    if len(found) > 1:
        yield "There are several equilibria: the payoffs alone do not say which one is played."
    if bad := [each for each in pure if each not in efficient]:
        yield f"Another play is better for somebody and worse for nobody than {', '.join(bad[:SHOWN])}."


def _put(play: Play, player: int, choice: int) -> Play:
    return (choice, play[1]) if player == 0 else (play[0], choice)


def _used(mix: Mix) -> set[int]:
    return {place for place, share in enumerate(mix) if share}
