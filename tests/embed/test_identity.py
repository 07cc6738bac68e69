"""Identities: which stored vectors an embedder can be compared with."""

from __future__ import annotations

import pytest

from memfolio.embed.embedder import HashedEmbedder, Identity
from memfolio.errors import InputError

STRICT = Identity(provider="local", model="m", dimension=256, fingerprint="00ff")
LOOSE = Identity(provider="http", model="org/m", dimension=256, fingerprint="00ff", slack=2)


def test_text_holds_all_that_tells_embedders_apart() -> None:
    assert STRICT.text == "local/m/256/00ff"
    assert LOOSE.text == "http/org/m/256/00ff"


@pytest.mark.parametrize(
    "stored", ["", "local/m/256/00fe", "local/m/256/", "local/m/128/00ff", "local/n/256/00ff", "http/m/256/00ff"]
)
def test_identity_that_differs_anywhere_does_not_match(stored: str) -> None:
    assert STRICT.matches(STRICT.text)
    assert not STRICT.matches(stored)


@pytest.mark.parametrize(
    ("fingerprint", "same"),
    [("00ff", True), ("00fc", True), ("00f8", False), ("ff00", False), ("0ff", False), ("00zz", False)],
)
def test_slack_is_how_many_bits_may_differ(fingerprint: str, same: bool) -> None:
    assert LOOSE.matches(f"http/org/m/256/{fingerprint}") is same


def test_hashed_embedders_of_two_dimensions_are_not_mixed() -> None:
    assert not HashedEmbedder(32).identity.matches(HashedEmbedder(64).identity.text)


@pytest.mark.parametrize("dimension", [0, -1, 10**9])
def test_dimension_out_of_range_is_refused(dimension: int) -> None:
    with pytest.raises(InputError, match="dimension"):
        HashedEmbedder(dimension)


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    row = HashedEmbedder(8).embed(["Green tea"])[0]
    assert [round(float(number), 3) for number in row] == [0.0, 0.0, -0.447, 0.447, 0.447, -0.447, -0.447, 0.0]
