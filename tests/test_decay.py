"""How memories fade."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.decay import DAY, Life, Phase, phase, relevance
from memfolio.tuning import Decay

NOW = 1_000 * DAY
TOLD = Life("semantic", "memory", "long_term", None, NOW, None, 0, None, 0, 0)


def aged(days: float, life: Life = TOLD) -> float:
    return relevance(life, NOW + int(days * DAY), Decay())


def test_each_kind_has_its_half_life() -> None:
    for kind, rate in (("episodic", 0.0375), ("semantic", 0.025), ("procedural", 0.03), ("opinion", 0.03)):
        assert aged(math.log(2) / rate, TOLD._replace(kind=kind)) == pytest.approx(0.5)


def test_what_is_overheard_or_concluded_begins_lower() -> None:
    assert [aged(0, each) for each in (TOLD, TOLD._replace(role="user"), TOLD._replace(derived=1))] == [1.0, 0.7, 0.5]


def test_use_keeps_awake_and_counts_from_the_last_time() -> None:
    used = TOLD._replace(accessed_at=NOW + 20 * DAY, access_count=3)
    assert aged(30, used) == pytest.approx(math.exp(-0.025 * 10) * 1.2)
    assert aged(20, used) == 1.0


@pytest.mark.parametrize("kept", [{"pinned": 1}, {"store": "vault"}, {"form": "passage"}, {"decay_rate": 0.0}])
def test_some_things_never_fade(kept: dict[str, Any]) -> None:
    assert aged(10_000, TOLD._replace(**kept)) == 1.0


@pytest.mark.parametrize(
    ("rate", "expected"), [(-100.0, 1.0), (math.inf, aged(30)), (-math.inf, aged(30)), (1e308, 0.0)]
)
def test_odd_rate_gives_a_relevance_all_the_same(rate: float, expected: float) -> None:
    assert aged(30, TOLD._replace(decay_rate=rate)) == expected
    assert aged(30, TOLD._replace(decay_rate=math.nan)) == aged(30)


def test_phases_begin_where_they_should() -> None:
    assert [phase(each, Decay()) for each in (1.0, 0.5, 0.49, 0.2, 0.19, 0.05, 0.04)] == [
        *(Phase.ACTIVE, Phase.ACTIVE, Phase.FADING, Phase.FADING, Phase.DORMANT, Phase.DORMANT, Phase.ARCHIVED)
    ]


@given(st.floats(-100, 100_000), st.floats(0, 1000), st.integers(0, 2**31))
def test_relevance_lies_between_0_and_1_and_only_falls(days: float, more: float, uses: int) -> None:
    life = TOLD._replace(access_count=uses)
    assert 0 <= aged(days + more, life) <= aged(days, life) <= 1
