"""Calibration, against published answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.experience import calibration, score
from tests.reason.asking import ask


def forecasts(pairs: Any) -> list[dict[str, Any]]:
    return [{"probability": chance, "outcome": came} for chance, came in pairs]


def test_brier_1950_rain_in_ten_cases() -> None:
    """G. W. Brier, Verification of forecasts expressed in terms of probability, Mon. Weather Rev. 78 (1950), table 1.

    Brier adds up the classes rain and no rain, which doubles the score of one: P = 0.19.
    """
    rain = [0.7, 0.9, 0.8, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0, 0.1]
    came = [False, True, True, True, False, False, False, False, False, False]
    found = ask(calibration, forecasts=forecasts(zip(rain, came, strict=True))).answer
    assert 2 * found["brier"] == pytest.approx(0.19)
    assert found["within"] == pytest.approx(0)


def test_wilks_1995_probability_of_precipitation() -> None:
    """D. S. Wilks, Statistical Methods in the Atmospheric Sciences (1995), table 7.3, p. 246: base rate 0.162."""
    said = [0, 0.05, *(step / 10 for step in range(1, 11))]
    share = [0.4112, 0.0671, 0.1833, 0.0986, 0.0616, 0.0366, 0.0303, 0.0275, 0.0245, 0.022, 0.017, 0.0203]
    came = [0.006, 0.019, 0.059, 0.15, 0.277, 0.377, 0.511, 0.587, 0.723, 0.779, 0.934, 0.933]
    pairs = [
        (chance, place < round(true * round(10_000 * part)))
        for chance, part, true in zip(said, share, came, strict=True)
        for place in range(round(10_000 * part))
    ]
    found = score(pairs, bins=12)
    assert found["uncertainty"] == pytest.approx(0.162 * 0.838, abs=0.0006)
    assert found["reliability"] < 0.002
    assert found["brier"] == pytest.approx(found["reliability"] - found["resolution"] + found["uncertainty"])


def test_scikit_learn_brier_score() -> None:
    """Example in the documentation of scikit-learn: brier_score_loss gives 0.0375."""
    assert score([(0.1, 0), (0.9, 1), (0.8, 1), (0.3, 0)])["brier"] == pytest.approx(0.0375)


@given(st.lists(st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=50))
def test_murphys_partition_adds_up_where_every_probability_is_a_group(pairs: list[tuple[float, float]]) -> None:
    """A. H. Murphy, A new vector partition of the probability score, J. Appl. Meteor. 12 (1973), equation 7."""
    found = score(pairs, bins=100)
    assert found["within"] == pytest.approx(0, abs=1e-12)
    assert found["reliability"] >= 0 <= found["resolution"]


def test_confidence_is_drawn_to_what_came_true_of_its_like() -> None:
    found = ask(calibration, forecasts=forecasts([(0.9, place < 12) for place in range(20)]), confidence=0.9)
    assert found.answer["calibrated"] == pytest.approx((12 + 2 * 0.9) / 22)
    assert found.conclusion.startswith("The 20 forecasts were too sure (+0.30)")
    near, far = (ask(calibration, forecasts=forecasts([(0.9, False)]), confidence=sure) for sure in (0.86, 0.2))
    assert near.answer["calibrated"] == pytest.approx(2 * 0.86 / 3)
    assert far.answer["calibrated"] == 0.2


@pytest.mark.parametrize(
    "bad", [[], [{"probability": 1.2, "outcome": True}], [{"probability": 0.5, "outcome": 3}], "x"]
)
def test_forecasts_that_make_no_sense_are_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        ask(calibration, forecasts=bad)
