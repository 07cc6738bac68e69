"""Plain values compare, hash and show themselves as the dataclasses of the standard library do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, replace
from itertools import product
from typing import Any

import pytest

from memfolio.types import frozen

Maker = Callable[[type[Any]], Any]


def standard(cls: type[Any]) -> type[Any]:
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def values(make: Maker) -> list[Any]:
    """The same values, of classes that one decorator has made."""

    @make
    class Nothing:
        pass

    @make
    class One:
        number: float

    @make
    class Several:
        name: str
        key: str = field(default="", repr=False)
        note: str = field(default="", compare=False)
        more: list[int] = field(default_factory=list, hash=False)

    @make
    class Further(Several):
        name: str = "further"
        last: object = None

    @make
    class Own:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and bool(self.name.lower() == other.name.lower())

        def __repr__(self) -> str:
            return "own"

    none = float("nan")
    kinds: list[Any] = [Nothing, One, Several, Further, Own]  # whose arguments are known when they are made
    nothing, one, several, further, own = kinds
    some = [
        several(name="a", key="secret"),
        several(name="a", key="secret", note="b"),
        several(name="a"),
        several(name="a", more=[1]),
    ]
    others = [further(), further(last=none), further(name="a", last=(1, some[0])), own(name="a"), own(name="A")]
    return [nothing(), nothing(), one(number=1), one(number=1.0), one(number=none), *some, *others]


def test_values_are_equal_as_those_of_dataclasses_are() -> None:
    ours, theirs = values(frozen), values(standard)
    equal = [one == other for one, other in product(theirs, theirs)]
    assert [one == other for one, other in product(ours, ours)] == equal
    assert len(set(equal)) == 2
    assert [one != "a" for one in ours] == [True] * len(ours)


def test_values_have_the_hashes_of_dataclasses() -> None:
    hashes = [hash(each) for each in values(standard) if "Own" not in type(each).__name__]
    found = [hash(each) for each in values(frozen) if "Own" not in type(each).__name__]
    is_stable = [a == b for a, b in product(hashes, hashes)]
    assert [a == b for a, b in product(found, found)] == is_stable


def test_values_show_themselves_as_dataclasses_do() -> None:
    assert [repr(each) for each in values(frozen)] == [repr(each) for each in values(standard)]
    assert "secret" not in repr(values(frozen))


def test_values_cannot_be_changed_but_replaced() -> None:
    one = next(each for each in values(frozen) if type(each).__name__ == "One")
    with pytest.raises(FrozenInstanceError):
        one.number = 2
    assert replace(one, number=2) == type(one)(number=2)
