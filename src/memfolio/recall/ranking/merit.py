"""What a memory is worth apart from the question: how important, certain, trusted and awake it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memfolio.decay import Phase, phase, relevance
from memfolio.index.looks import Look
from memfolio.recall.ranking.weigh import Weighing
from memfolio.tuning import Decay, Ranking
from memfolio.types import Origin

TRUSTED = frozenset({Origin.OWNER.value, Origin.AGENT.value})
SUMMARIES = frozenset({"digest", "session", "summary", "consolidation"})
"""The sources of what only sums up other memories."""
ASLEEP = frozenset({Phase.DORMANT, Phase.ARCHIVED})


def add_merit(
    weighing: Weighing, looks: Mapping[int, Look], now: int, at: int, ranking: Ranking, decay: Decay
) -> dict[int, Phase]:
    """Let what memories are worth count in their scores; returns how far each has faded.

    `at` is the time for which they should be true.
    """
    phases = {row: phase(relevance(look.life, now, decay), decay) for row, look in looks.items()}
    weighing.scale("importance", {row: 1 + ranking.importance * (2 * x.importance - 1) for row, x in looks.items()})
    weighing.scale("confidence", {row: 1 - ranking.confidence * (1 - x.confidence) for row, x in looks.items()})
    summaries = [row for row, look in looks.items() if look.source in SUMMARIES]
    weighing.scale("summary", dict.fromkeys(summaries, 1 - ranking.summaries))
    strange = [row for row, look in looks.items() if look.origin not in TRUSTED]
    weighing.scale("trust", dict.fromkeys(strange, 1 - ranking.trust))
    untrue = [row for row, look in looks.items() if not _is_true(look, at)]
    weighing.scale("expired", dict.fromkeys(untrue, 1 - ranking.expired))
    faded = [row for row, each in phases.items() if each is not Phase.ACTIVE]
    weighing.scale("fading", dict.fromkeys(faded, 1 - ranking.fading))
    return phases


def _is_true(look: Look, at: int) -> bool:
    return (look.valid_from is None or look.valid_from <= at) and (look.valid_until is None or look.valid_until > at)


def awake(order: list[int], scores: Mapping[int, float], phases: Mapping[int, Phase], bar: float) -> list[int]:
    """The rows without dormant ones, but for those that no awake one comes near: none reaches `bar` of their score."""
    up = [scores.get(row, 0.0) for row in order if phases.get(row) not in ASLEEP]
    return [row for row in order if phases.get(row) not in ASLEEP or not up or max(up) < bar * scores.get(row, 0.0)]
