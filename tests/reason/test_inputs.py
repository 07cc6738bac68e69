"""Typed inputs: what the data says of a method is what its code reads, and what makes no sense is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

import pytest

from memfolio.errors import InputError
from memfolio.reason.inputs import Chances, Matrix, Share, between, input_types, read, sized
from memfolio.reason.reason import code_of, methods


def test_data_names_the_inputs_that_the_code_reads() -> None:
    for name, method in methods().items():
        if method.computes:
            kind = get_type_hints(code_of(method).__wrapped__)["given"]  # type: ignore[attr-defined]
            ways = [input_types(each) for each in get_args(kind) or (kind,)]
            assert {each for way in ways for each in way} == set(method.inputs), name
            assert all(any(set(need) <= set(way) for way in ways) for need in method.needs), name


class Inner(NamedTuple):
    from_: int
    note: str = ""


class Outer(NamedTuple):
    share: Share
    names: Sequence[str] = ()
    inner: Mapping[str, Inner | Sequence[float]] = {}
    kind: Literal["a", "b"] = "a"
    count_: Annotated[int, between(1, 9)] = 1


def test_values_are_read_as_their_types_say() -> None:
    given = {"share": 1, "names": "one", "inner": {"x": {"from": 2.0}, "y": [1]}, "kind": None, "count": 3}
    assert read(Outer, given, "") == Outer(1.0, ["one"], {"x": Inner(2), "y": [1.0]}, "a", 3)


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (Outer, {}, "share is missing"),
        (Outer, {"share": 2}, "share is 2"),
        (Outer, {"share": True}, "share is True"),
        (Outer, {"share": 1, "shre": 1}, "there is no 'shre'"),
        (Outer, {"share": 1, "names": [1]}, r"names\[0\] is 1"),
        (Outer, {"share": 1, "inner": {"x": {}}}, "inner.x.from is missing"),
        (Outer, {"share": 1, "inner": {"x": {"from": 1, "too": 2}}}, "there is no 'inner.x.too'"),
        (Outer, {"share": 1, "inner": []}, "inner is a list"),
        (Outer, {"share": 1, "kind": "c"}, "kind is 'c'"),
        (Outer, {"share": 1, "count": 10}, "count is 10"),
        (Outer, {"share": 1, "count": 1.5}, "count is 1.5"),
        (Outer, "all", "what is given is a str"),
        (Chances, {"a": 0.5}, "add up to 0.5"),
        (Matrix, [[1, 2], [3]], "differ in length"),
        (Annotated[Sequence[Any], sized(2)], [1], "has 1 members"),
        (str, " ", "is ' '"),
        (bool, 1, "is 1"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_place(kind: Any, value: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(kind, value, "" if kind is Outer else "it")
    assert caught.value.hint
