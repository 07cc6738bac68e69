"""What every embedder promises, asked of each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.embed.embedder import Embedder, HashedEmbedder
from memfolio.embed.http import DIALECTS, HttpEmbedder
from memfolio.embed.local import FolderEmbedder, LocalEmbedder
from tests.embed.models import static_model
from tests.embed.server import running

TEA = "Alex drinks green tea every morning"
TEXTS = [
    TEA,
    "",
    "Deploy the server on Friday",
    " \n\t",
    "x",
    "naïve café 你好 😀",
    "tea\0pot",
    "a\ud800b",
    "word " * 500,
]
BLANK = [1, 3]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.fixture(params=["local", "folder", "hashed", *DIALECTS], scope="module")
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Embedder]]:
    """Makes embedders of one kind that have nothing in common but their settings."""
    if request.param in DIALECTS:
        with running() as server:
            address, dialect = server.address(request.param), DIALECTS[request.param]
            yield lambda: HttpEmbedder(address, dialect=dialect, model="test")
    elif request.param == "folder":
        folder = static_model(tmp_path_factory.mktemp("model"))
        yield lambda: FolderEmbedder(folder)
    else:
        yield {"local": LocalEmbedder, "hashed": HashedEmbedder}[request.param]


@pytest.fixture(scope="module")
def embedder(make: Callable[[], Embedder]) -> Embedder:
    return make()


def test_each_text_gets_one_row_of_unit_length_in_its_place(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.identity.dimension)
    for index, text in enumerate(TEXTS):
        assert np.linalg.norm(rows[index]) == pytest.approx(0 if index in BLANK else 1, abs=1e-6)
        assert np.array_equal(rows[index], embedder.embed([text])[0])


def test_question_has_a_vector_as_long_as_that_of_what_answers_it(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS, query=True)
    assert rows.shape == (len(TEXTS), embedder.identity.dimension)
    assert [row.any() for row in rows] == [index not in BLANK for index in range(len(TEXTS))]


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.identity.dimension)


def test_sequence_that_is_not_a_list_will_do(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(tuple(TEXTS)), embedder.embed(TEXTS))


@settings(max_examples=40)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=8))
def test_vector_of_any_text_is_the_same_to_the_bit_in_any_batch(embedder: Embedder, texts: list[str]) -> None:
    together = embedder.embed(texts)
    assert np.isfinite(together).all()
    assert np.array_equal(embedder.embed(texts[::-1])[::-1], together)
    assert np.array_equal(embedder.embed([texts[0], TEA * 100])[0], together[0])


def test_many_texts_keep_their_order(embedder: Embedder) -> None:
    texts = [f"memory number {n} of {n * 7}" for n in range(1100)]
    rows = embedder.embed(texts)
    for index in (0, 127, 128, 1023, 1024, 1099):
        assert np.array_equal(rows[index], embedder.embed([texts[index]])[0])


def test_texts_about_the_same_are_closer_than_others(embedder: Embedder) -> None:
    one, other, far = embedder.embed(
        [TEA, "In the morning Alex has a cup of green tea", "Rollback the broken database"]
    )
    assert one @ other > one @ far + 0.2


def test_other_embedder_with_the_same_settings_has_the_same_identity_and_vectors(
    make: Callable[[], Embedder], embedder: Embedder
) -> None:
    other = make()
    assert other.identity == embedder.identity
    assert other.identity.matches(embedder.identity.text)
    assert np.array_equal(other.embed(TEXTS), embedder.embed(TEXTS))


def test_identity_is_one_line_that_names_provider_and_dimension(embedder: Embedder) -> None:
    identity = embedder.identity
    assert str(identity) == identity.text
    assert identity.text.startswith(f"{identity.provider}/{identity.model}/{identity.dimension}/")
    assert identity.text.isprintable()
    assert embedder.name == identity.provider


def test_threads_share_an_embedder_from_its_first_use(make: Callable[[], Embedder], embedder: Embedder) -> None:
    shared = make()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared.embed(TEXTS), range(16)))
    assert all(np.array_equal(rows, embedder.embed(TEXTS)) for rows in found)
