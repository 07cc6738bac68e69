"""Cases and patterns, against published answers."""

from __future__ import annotations

from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.experience import NONE, case_based, correlations, pattern_recognition
from tests.reason.asking import BARE, ask, knowing

LIGHTS: dict[str, Any] = {
    "features": {"problem": "brake light", "car": "Audi 80", "year": 1989, "battery": 12.6, "lights": "ok"},
    "weights": {"problem": 6, "car": 1, "year": 1, "battery": 6, "lights": 6},
    "similarities": {
        "problem": {"values": {"front light": {"brake light": 0.8}}},
        "car": {"values": {"Audi 80": {"VW Golf": 0.4, "Audi A6": 0.8}}},
        "year": {"range": 10},
        "battery": {"values": {"12.6": {"13.6": 0.9, "12.9": 0.95}}},
    },
    "cases": [
        {
            "name": "case 1",
            "features": {"problem": "front light", "car": "VW Golf", "year": 1993, "battery": 13.6, "lights": "ok"},
            "solution": "replace the fuse",
        },
        {
            "name": "case 2",
            "features": {"problem": "front light", "car": "Audi A6", "year": 1995, "battery": 12.9, "lights": "broken"},
            "solution": "replace the bulb",
        },
    ],
}


def test_inreca_car_lights() -> None:
    """Bergmann et al., Developing Industrial CBR Applications (LNAI 1612, 2003), ch. 2: 0.86 and 0.585."""
    found = ask(case_based, **LIGHTS)
    assert found.answer["similarities"] == pytest.approx({"case 1": 0.86, "case 2": 0.585})
    assert found.answer["best"] == "replace the fuse"
    assert found.confidence == pytest.approx(0.86 * 2 / 3)  # a case that worked once proves little
    assert "problem was front light" in found.conclusion
    assert found.would_change == ("case 2 (0.58) would lead to: replace the bulb",)


def test_han_kamber_and_pei_2012_mixed_attributes() -> None:
    """J. Han, M. Kamber, J. Pei, Data Mining (3rd ed. 2012), example 2.22: distances .85 .65 .83 .13 .71 .79."""
    rows = {"1": ("A", 1, 45), "2": ("B", 0, 22), "3": ("C", 0.5, 64), "4": ("A", 1, 28)}
    known = {each: dict(zip(("nominal", "ordinal", "numeric"), row, strict=True)) for each, row in rows.items()}
    ranges = {"ordinal": {"range": 1}, "numeric": {"range": 42}}
    distances = [
        1 - ask(case_based, features=known[one], similarities=ranges, cases=cases).answer["similarities"][other]
        for other, one in (("2", "1"), ("3", "1"), ("3", "2"), ("4", "1"), ("4", "2"), ("4", "3"))
        for cases in [[{"name": other, "features": known[other], "solution": "any"}]]
    ]
    assert distances == pytest.approx([0.85, 0.65, 0.83, 0.13, 0.71, 0.79], abs=0.006)


def test_tan_steinbach_and_kumar_2006_simple_matching() -> None:
    """P.-N. Tan, M. Steinbach, V. Kumar, Introduction to Data Mining (2006), section 2.4.5: SMC = 0.7."""
    one, other = ({f"bit {at}": int(bit) for at, bit in enumerate(bits)} for bits in ("1000000000", "0000001001"))
    found = ask(case_based, features=one, cases=[{"name": "y", "features": other, "solution": "any"}])
    assert found.answer["similarities"] == pytest.approx({"y": 0.7})


def test_features_that_only_one_side_has_do_not_count() -> None:
    cases = [{"name": "a", "features": {"colour": "red", "height": 2}, "solution": "s"}]
    here = {"colour": "red", "height": 4, "unknown there": 1}
    found = ask(case_based, features=here, cases=cases, similarities={"height": {"range": 8}})
    assert found.answer["similarities"]["a"] == pytest.approx((1 + (1 - 2 / 8)) / 2)


def test_case_that_failed_is_told_as_a_warning_and_not_followed() -> None:
    cases = [
        {"name": "failed", "features": {"x": 1}, "solution": "wait", "success": False},
        {"name": "worked", "features": {"x": 2}, "solution": "act"},
    ]
    found = ask(case_based, features={"x": 1}, cases=cases, similarities={"x": {"range": 4}})
    assert (found.answer["best"], found.answer["warnings"]) == ("act", {"failed": "wait"})
    none = case_based({"features": {"x": 9}, "cases": cases}, BARE)
    assert (none.conclusion, none.notes) == ("", (NONE,))


def test_kept_cases_are_reused_with_what_differs(memory: Memory) -> None:
    at = {"beliefs": ["B-1", "B-2"], "desires": ["D-1"]}
    kept = memory.cases.store(at, {"actions": ["revert"]}, {"success": True})
    memory.cases.store(at, {"actions": ["wait"]}, {"success": False})
    found = ask(case_based, knowing(memory), beliefs=["B-1", "B-3"], desires=["D-1"])
    assert found.conclusion == f"Do as in {kept.id}: revert (different: there also B-2; here also B-3)"
    assert found.confidence == pytest.approx(0.7 * 2 / 3)
    assert [*found.answer["warnings"].values()] == ["wait"]


@pytest.mark.parametrize("bad", [{"weights": {"colour": 1}}, {"cases": [{"features": 3}]}, {"limit": 0}])
def test_cases_that_make_no_sense_are_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        ask(case_based, **{**LIGHTS, **bad})


def examples(rows: list[tuple[Any, str]]) -> list[dict[str, Any]]:
    return [{"values": list(values), "label": label} for values, label in rows]


ISLR = examples(
    [
        ((0, 3, 0), "red"),
        ((2, 0, 0), "red"),
        ((0, 1, 3), "red"),
        ((0, 1, 2), "green"),
        ((-1, 0, 1), "green"),
        ((1, 1, 1), "red"),
    ]
)


def test_james_et_al_2013_six_observations() -> None:
    """G. James et al., An Introduction to Statistical Learning (2013), exercise 2.7: green for K = 1, red for K = 3."""
    found = ask(pattern_recognition, item=[0, 0, 0], examples=ISLR, k=3)
    assert found.answer["distances"] == pytest.approx([3, 2, 10**0.5, 5**0.5, 2**0.5, 3**0.5])
    assert found.answer["best"] == "red"
    assert found.confidence == pytest.approx(2 / 3)
    assert "with k = 1 it would be green" in found.would_change


def test_teknomo_2006_paper_tissue() -> None:
    """K. Teknomo, K-Nearest Neighbors Tutorial (2006): squared distances 16, 25, 9, 13; two of three are good."""
    tissue = examples([((7, 7), "bad"), ((7, 4), "bad"), ((3, 4), "good"), ((1, 4), "good")])
    found = ask(pattern_recognition, item=[3, 7], examples=tissue)
    assert [each**2 for each in found.answer["distances"]] == pytest.approx([16, 25, 9, 13])
    assert (found.answer["best"], found.answer["votes"]) == ("good", {"good": 2, "bad": 1})


def test_box_and_jenkins_1976_batch_yields() -> None:
    """Box and Jenkins, Time Series Analysis (1976), series F, table 2.2: r1 to r5 = -0.39, 0.30, -0.17, 0.07, -0.10."""
    series = """47 64 23 71 38 64 55 41 59 48 71 35 57 40 58 44 80 55 37 74 51 57 50 60 45 57 50 45 25 59 50 71 56 74
    50 58 45 54 36 54 48 55 45 57 50 62 44 64 43 52 38 59 55 41 53 49 34 35 54 45 68 38 50 60 39 59 40 57 54 23"""
    found = correlations([*map(float, series.split())], 5)
    assert [round(each, 2) for each in found[1:]] == [-0.39, 0.30, -0.17, 0.07, -0.10]


def test_schwabe_1844_sunspots_come_every_ten_to_eleven_years() -> None:
    """H. Schwabe, Sonnenbeobachtungen im Jahre 1843, Astron. Nachr. 21 (1844); yearly means from 1749 by Wolf."""
    spots = """81 83 48 48 31 12 10 10 32 48 54 63 86 61 45 36 21 11 38 70 106 101 82 66 35 31 7 20 92 154 126 85 68 38
    23 10 24 83 132 131 118 90 67 60 47 41 21 16 6 4 7 14 34 45 43 48 42 28 10 8 2 0 1 5 12 14 35 46 41 30 24 16 7 4
    2 8 17 36 50 62 67 71 48 28 8 13 57 122 138 103 86 63 37 24 11 15 40 62 98 124 96 66 64 54 39 21 7 4 23 55 94 96
    77 59 44 47 30 16 7 37 74"""
    found = ask(pattern_recognition, series=[*map(float, spots.split())])
    assert found.answer["period"] in (10, 11)


@pytest.mark.parametrize(
    "bad",
    [
        {"item": [1, 2], "examples": examples([((1,), "a")])},
        {"item": [1], "examples": []},
        {"series": [1, 2]},
        {"item": [1], "exmples": []},
    ],
)
def test_patterns_that_make_no_sense_are_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        ask(pattern_recognition, **bad)
