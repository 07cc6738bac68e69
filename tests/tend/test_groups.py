"""Which memories belong together."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from memfolio.tend.consolidate import group

SETS = st.lists(st.frozensets(st.sampled_from("abcdefgh"), max_size=5), max_size=30)


def compared_one_by_one(sets: list[frozenset[str]], threshold: float) -> list[list[int]]:
    free, groups = dict.fromkeys(range(len(sets))), []
    while free:
        seed = next(iter(free))
        kin = [each for each in free if each == seed or is_alike(sets[seed], sets[each], threshold)]
        groups.append(kin)
        for each in kin:
            del free[each]
    return groups


def is_alike(one: frozenset[str], other: frozenset[str], threshold: float) -> bool:
    return bool(one | other) and (one == other or len(one & other) / len(one | other) > threshold)


@given(SETS, st.sampled_from([0.0, 0.25, 0.3, 1 / 3, 0.5, 1.0]))
def test_groups_are_those_of_comparing_each_with_each(sets: list[frozenset[str]], threshold: float) -> None:
    assert group(sets, threshold) == compared_one_by_one(sets, threshold)


def test_example_of_the_specification_has_its_true_groups() -> None:
    tags = [
        "authentication bug session token-ttl",
        "authentication token api",
        "authentication oauth2 security",
        "authentication jwt security",
        "session security cookie",
    ]
    assert group([frozenset(each.split()) for each in tags], 0.3) == [[0], [1], [2, 3], [4]]


def test_what_has_no_tags_is_like_nothing() -> None:
    assert group([frozenset(), frozenset(), frozenset("a")], 0.3) == [[0], [1], [2]]


def test_what_nearly_all_have_does_not_bring_them_together() -> None:
    sets = [frozenset({"common", f"own-{number}"}) for number in range(30)]
    assert len(group(sets, 0.3)) == 1
    assert len(group(sets, 0.3, common=10)) == 30


def test_a_hundred_thousand_pairs_of_tags_are_not_compared_pair_by_pair() -> None:
    sets = [frozenset({"a", f"b{one}", f"c{other}", "d"}) for one, other in product(range(100), range(100))]
    assert sum(map(len, group(sets, 0.9))) == 10_000
