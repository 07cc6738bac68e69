"""What was concluded from a memory beside that memory: it speaks for it, and is not shown twice. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.recall.ranking.weigh import Weighing


def give_way(weighing: Weighing, order: Sequence[int], made_of: Mapping[int, Sequence[int]]) -> list[int]:
    """The rows without those of whose sources one is there as well; it has the better score of both from then on."""
    scores, there, lifted, gone = weighing.scores, set(order), dict[int, float](), set[int]()
    for row in order:
        sources = [each for each in made_of.get(row, ()) if each in there]
        if sources:
            gone.add(row)
            nearest = max(sources, key=lambda each: scores[each])
            lifted[nearest] = max(lifted.get(nearest, scores[nearest]), scores[row])
    weighing.scale("concluded", {row: best / scores[row] for row, best in lifted.items() if best > scores[row] > 0})
    kept = [row for row in order if row not in gone]
    return weighing.best(len(kept), kept)
