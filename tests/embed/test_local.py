"""The local embedder: equal to its reference, small, and clear about what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memfolio.embed.local import DATA, LocalEmbedder, WordTokens
from memfolio.errors import EmbedderError
from tests.conftest import many
from tools import weights

WEIGHTS, TOKENIZER = LocalEmbedder.weights_name, LocalEmbedder.tokenizer_name
HEADER = 8 + int.from_bytes((DATA / WEIGHTS).read_bytes()[:8], "little")


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def reference_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(weights.package() / weights.TOKENIZER))
    tokenizer.encode_special_tokens = True
    return tokenizer


@pytest.fixture(scope="module")
def table() -> NDArray[np.float32]:
    data = (weights.package() / weights.WEIGHTS).read_bytes()
    return np.frombuffer(data[8 + int.from_bytes(data[:8], "little") :], np.float16).reshape(32000, 256).astype("f4")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (WEIGHTS, TOKENIZER):
        shutil.copyfile(DATA / name, tmp_path / name)
    return tmp_path


WORDS = st.sampled_from(
    [
        "tea",
        "Tea,",
        "naïve",
        "e.g.",
        "\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "\r\n",
        "x=1;",
        "你好",
        "😀",
        "▁",
        "\0",
        "-",
        "don't",
    ]
)


@many(300)
@given(parts=st.lists(WORDS | st.text(max_size=8), min_size=1, max_size=30))
@example(parts=["if (a) {\r\n", "    return;\r\n}\r\n"])
@example(parts=[" " * 100, "a", " " * 50])
def test_tokens_are_those_of_wordllama_and_the_vector_nearly_so(
    embedder: LocalEmbedder, reference_tokenizer: Tokenizer, table: NDArray[np.float32], parts: list[str]
) -> None:
    text = " ".join(parts) if len(parts) % 2 else "".join(parts)
    if not text.strip():
        return
    ids = reference_tokenizer.encode(text, add_special_tokens=False).ids
    assert list(embedder._model[0].numbers(text)) == ids
    mean = table[ids].mean(axis=0)
    assert embedder.embed([text])[0] @ mean / np.linalg.norm(mean) > 0.999  # one byte a number instead of two


def test_data_is_what_the_tool_makes_of_the_package() -> None:
    assert (DATA / WEIGHTS).read_bytes() == weights.table_of(weights.package() / weights.WEIGHTS)
    assert (DATA / TOKENIZER).read_bytes() == weights.vocabulary_of(weights.package() / weights.TOKENIZER)


def test_vector_is_nearly_what_the_package_itself_computes(embedder: LocalEmbedder) -> None:
    code = (
        "import sys, json, logging, pathlib, wordllama;"
        "model = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True);"
        "print(json.dumps(model.embed(json.loads(sys.argv[1]), norm=True).tolist()))"
    )
    texts = ["Alex drinks green tea", "Deploy on Friday, but not before the review.", "你好 😀", "word " * 300]
    run = subprocess.run([sys.executable, "-c", code, json.dumps(texts)], check=True, capture_output=True, text=True)
    assert (embedder.embed(texts) * np.array(json.loads(run.stdout))).sum(axis=1).min() > 0.9995


def test_markers_of_the_model_in_a_text_are_plain_text(embedder: LocalEmbedder) -> None:
    plain, marked = embedder.embed(["a tag", "a <s> tag </s>"])
    assert plain @ marked < 0.99


LONG_RUN = [
    pytest.param("x" * 1_000_000, marks=pytest.mark.long),
    pytest.param(" " * 999_999 + "a", marks=pytest.mark.long),
]


@pytest.mark.parametrize("text", ["hello wörld " * 90_000, "\n" * 999_999 + "a", *LONG_RUN])
def test_text_of_a_megabyte_needs_little_memory(embedder: LocalEmbedder, text: str) -> None:
    embedder.embed(["warm"])
    tracemalloc.start()
    try:
        rows = embedder.embed([text])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.linalg.norm(rows[0]) == pytest.approx(1, abs=1e-6)
    assert peak < 40_000_000


def test_text_of_a_megabyte_costs_little_beside_short_ones_and_keeps_its_vector(embedder: LocalEmbedder) -> None:
    text = "tea and coffee " * 70_000
    embedder.embed([text[:100]])
    tracemalloc.start()
    try:
        rows = embedder.embed([text, "tea"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.array_equal(rows[0], embedder.embed([text])[0])
    assert peak < 100e6


def test_words_remembered_are_bounded(embedder: LocalEmbedder) -> None:
    before = embedder.embed(["tea"])
    embedder.embed([f"{n}x{n}" for n in range(40_000)])
    assert np.array_equal(embedder.embed(["tea"]), before)
    tokens = embedder._model[0]
    assert isinstance(tokens, WordTokens)
    assert len(tokens._words) <= 32_768


def test_nothing_heavy_loads_before_first_use_and_never_more_than_numpy() -> None:
    code = """if True:
        import sys
        from memfolio.config import load_config
        from memfolio.embed.choose import open_embedder
        embedder = open_embedder(load_config("nowhere", environ={"MEMFOLIO_EMBEDDING_URL": sys.argv[1]}))
        heavy = {"numpy", "tokenizers", "wordllama", "requests", "huggingface_hub", "urllib.request", "http.client"}
        print(type(embedder).__name__, *sorted(heavy & set(sys.modules)))
        if not sys.argv[1]:
            embedder.identity
            print(*sorted(heavy & set(sys.modules)))
            embedder.embed(["tea"])
            print(*sorted(heavy & set(sys.modules)))
    """
    run = subprocess.run([sys.executable, "-c", code, ""], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == ["LocalEmbedder", "", "numpy"]
    run = subprocess.run([sys.executable, "-c", code, "http://x"], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == ["HttpEmbedder"]


def fails(folder: Path) -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        LocalEmbedder(folder).embed(["tea"])
    assert "install memfolio again" in caught.value.hint
    return caught.value


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert str(copy / name) in fails(copy).message
    with pytest.raises(EmbedderError):
        _ = LocalEmbedder(copy).identity


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("size", [0, 3, 60, 300_000])
def test_file_that_breaks_off_is_named(copy: Path, name: str, size: int) -> None:
    (copy / name).write_bytes((DATA / name).read_bytes()[:size])
    assert str(copy / name) in fails(copy).message


@settings(max_examples=30)
@given(
    header=st.binary(max_size=80) | st.recursive(st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
@example(header=b'{"embedding.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}')
@example(header=b'{"embedding.weight":{"dtype":"F16","shape":[-1,-2],"data_offsets":[0,4]}}')
@example(header=b'{"embedding.weight":{"dtype":"F16","shape":[0,0],"data_offsets":[0,0]}}')
@example(header=b"[" * 100_000)
def test_any_header_gives_a_typed_error(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / WEIGHTS
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\0\0")
    with pytest.raises(EmbedderError):
        _ = LocalEmbedder(tmp_path).identity


def test_changed_weights_or_tokens_change_the_identity(copy: Path) -> None:
    first = LocalEmbedder(copy).identity
    assert first == LocalEmbedder().identity
    tokens = (copy / TOKENIZER).read_bytes()
    (copy / TOKENIZER).write_bytes(tokens + b"\n")
    second = LocalEmbedder(copy).identity
    data = (copy / WEIGHTS).read_bytes()
    (copy / WEIGHTS).write_bytes(data[:HEADER] + bytes(len(data) - HEADER))
    assert len({first.text, second.text, LocalEmbedder(copy).identity.text}) == 3
