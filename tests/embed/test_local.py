"""The local embedder: equal to its reference, small, and clear about what is missing."""

from __future__ import annotations

import importlib.util
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

from memfolio.embed.local import LocalEmbedder, WordTokens
from memfolio.errors import EmbedderError
from tests.conftest import many

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def package() -> Path:
    spec = importlib.util.find_spec("wordllama")
    assert spec
    return Path((spec.submodule_search_locations or [])[0])


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def reference_tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(package() / TOKENIZER))


@pytest.fixture(scope="module")
def table() -> NDArray[np.float32]:
    data = (package() / WEIGHTS).read_bytes()
    return np.frombuffer(data[8 + int.from_bytes(data[:8], "little") :], np.float16).reshape(32000, 256).astype("f4")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (WEIGHTS, TOKENIZER):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(package() / name, tmp_path / name)
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
def test_vector_is_that_of_wordllama(
    embedder: LocalEmbedder, reference_tokenizer: Tokenizer, table: NDArray[np.float32], parts: list[str]
) -> None:
    text = " ".join(parts) if len(parts) % 2 else "".join(parts)
    if not text.strip():
        return
    mean = table[reference_tokenizer.encode(text, add_special_tokens=False).ids].mean(axis=0)
    assert np.abs(embedder.embed([text])[0] - mean / np.linalg.norm(mean)).max() < 1e-5


def test_vector_is_what_the_package_itself_computes(embedder: LocalEmbedder) -> None:
    code = (
        "import sys, json, logging, pathlib, wordllama;"
        "model = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True);"
        "print(json.dumps(model.embed(json.loads(sys.argv[1]), norm=True).tolist()))"
    )
    texts = ["Alex drinks green tea", "Deploy on Friday, but not before the review.", "你好 😀", "word " * 300]
    run = subprocess.run([sys.executable, "-c", code, json.dumps(texts)], check=True, capture_output=True, text=True)
    assert np.abs(embedder.embed(texts) - np.array(json.loads(run.stdout))).max() < 1e-5


def test_markers_of_the_model_in_a_text_are_plain_text(embedder: LocalEmbedder) -> None:
    plain, marked = embedder.embed(["a tag", "a <s> tag </s>"])
    assert plain @ marked < 0.99


@pytest.mark.parametrize("text", ["hello wörld " * 90_000, "x" * 1_000_000, "\n" * 999_999 + "a", " " * 999_999 + "a"])
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


def test_words_remembered_are_bounded(embedder: LocalEmbedder) -> None:
    before = embedder.embed(["tea"])
    embedder.embed([f"{n}x{n}" for n in range(40_000)])
    assert np.array_equal(embedder.embed(["tea"]), before)
    tokens = embedder._model[0]
    assert isinstance(tokens, WordTokens)
    assert len(tokens._words) <= 32_768


def test_nothing_heavy_loads_before_first_use_and_the_package_never() -> None:
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
    assert run.stdout.splitlines() == ["LocalEmbedder", "", "numpy tokenizers"]
    run = subprocess.run([sys.executable, "-c", code, "http://x"], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == ["HttpEmbedder"]


def test_missing_package_is_an_error_with_the_line_that_installs_it() -> None:
    # Without site-packages, but with memfolio itself, nothing that is installed can be found.
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        from memfolio.config import load_config
        from memfolio.embed.choose import open_embedder
        from memfolio.embed.local import LocalEmbedder
        from memfolio.errors import EmbedderError
        print(open_embedder(load_config("nowhere", environ={"TZ": "UTC"})))
        try:
            LocalEmbedder().identity
        except EmbedderError as error:
            print(error.hint)
    """
    source = Path(__file__).parents[2] / "src"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code, source], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == ["None", "pip install wordllama"]


def fails(folder: Path) -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        LocalEmbedder(folder).embed(["tea"])
    assert "wordllama" in caught.value.hint
    return caught.value


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert str(copy / name) in fails(copy).message
    with pytest.raises(EmbedderError):
        _ = LocalEmbedder(copy).identity


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("size", [0, 3, 60, 1_000_000])
def test_file_that_breaks_off_is_named(copy: Path, name: str, size: int) -> None:
    (copy / name).write_bytes((package() / name).read_bytes()[:size])
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
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\0\0")
    with pytest.raises(EmbedderError):
        _ = LocalEmbedder(tmp_path).identity


def test_weights_that_are_not_finite_are_an_error_and_not_a_vector(copy: Path) -> None:
    data = bytearray((copy / WEIGHTS).read_bytes())
    data[96:] = np.full((len(data) - 96) // 2, np.nan, np.float16).tobytes()
    (copy / WEIGHTS).write_bytes(data)
    assert "not finite" in fails(copy).message


def test_changed_weights_or_tokens_change_the_identity(copy: Path) -> None:
    first = LocalEmbedder(copy).identity
    assert first == LocalEmbedder().identity
    tokens = (copy / TOKENIZER).read_bytes()
    (copy / TOKENIZER).write_bytes(tokens + b"\n")
    second = LocalEmbedder(copy).identity
    data = np.frombuffer((copy / WEIGHTS).read_bytes()[96:], np.float16)
    (copy / WEIGHTS).write_bytes((package() / WEIGHTS).read_bytes()[:96] + (data * np.float16(0.5)).tobytes())
    assert len({first.text, second.text, LocalEmbedder(copy).identity.text}) == 3
