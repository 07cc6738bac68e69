"""Maximal marginal relevance."""

from __future__ import annotations

import pytest

from memfolio.recall.rank import diversify

CONTENTS = {1: "tea in the garden", 2: "tea in the garden today", 3: "rain over Bergen"}


def test_without_weight_the_order_stays() -> None:
    assert diversify([1, 2, 3], {1: 0.9, 2: 0.8, 3: 0.1}, CONTENTS, 0.0) == [1, 2, 3]


def test_what_is_like_a_better_one_comes_later() -> None:
    assert diversify([1, 2, 3], {1: 0.9, 2: 0.8, 3: 0.7}, CONTENTS, 0.5) == [1, 3, 2]


@pytest.mark.parametrize("scores", [{1: -0.1, 2: -0.2, 3: -0.9}, {1: 0.0, 2: -0.5, 3: -0.9}, {1: 0.5, 2: 0.2}])
def test_scores_of_any_sign_keep_their_order_where_nothing_is_alike(scores: dict[int, float]) -> None:
    contents = {1: "one", 2: "two", 3: "three"}
    assert diversify([1, 2, 3], scores, contents, 0.3) == sorted([1, 2, 3], key=lambda row: -scores.get(row, 0.0))


def test_every_row_comes_once() -> None:
    assert sorted(diversify([3, 1, 2], {1: 0.0, 2: 0.0, 3: 0.0}, CONTENTS, 1.0)) == [1, 2, 3]
