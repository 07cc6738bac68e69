"""A static model by its path: its vectors, its identity, and what is said where the folder holds something else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from memfolio import Memory
from memfolio.config import load_config
from memfolio.embed.choose import open_embedder
from memfolio.embed.local import FolderEmbedder, LocalEmbedder
from memfolio.errors import EmbedderError
from tests.embed.models import static_model, write_table, write_tokenizer
from tools import weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my-model").mkdir()
    return static_model(tmp_path / "my-model")


def failure(folder: Path) -> str:
    with pytest.raises(EmbedderError) as caught:
        FolderEmbedder(folder).embed(["tea"])
    with pytest.raises(EmbedderError):
        _ = FolderEmbedder(folder).identity
    return f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize("tensor", ["embeddings", "embedding.weight"])
@pytest.mark.parametrize("dtype", ["F32", "F16"])
def test_vector_is_the_mean_of_the_vectors_of_all_known_tokens(tmp_path: Path, tensor: str, dtype: str) -> None:
    static_model(tmp_path, tensor=tensor, dtype=dtype)
    data = (tmp_path / "model.safetensors").read_bytes()
    kind = {"F32": "<f4", "F16": "<f2"}[dtype]
    table = np.frombuffer(data[8 + int.from_bytes(data[:8], "little") :], kind).reshape(-1, 256)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    words = "Alex drinks green tea every morning in the broken database server"
    ids = np.array([tokenizer.token_to_id(word) for word in words.lower().split()])
    mean = table[ids].astype("f8").mean(axis=0)
    row = FolderEmbedder(tmp_path).embed([f"{words} ☃"])[0]
    assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


def test_weights_of_wordllama_in_a_folder_give_nearly_the_vectors_of_the_local_embedder(tmp_path: Path) -> None:
    shutil.copyfile(weights.package() / weights.WEIGHTS, tmp_path / "model.safetensors")
    shutil.copyfile(weights.package() / weights.TOKENIZER, tmp_path / "tokenizer.json")
    texts = ["Alex drinks green tea", "Deploy on Friday, but not before the review.", "你好", "word " * 299 + "word"]
    assert (FolderEmbedder(tmp_path).embed(texts) * LocalEmbedder().embed(texts)).sum(axis=1).min() > 0.9995


def test_text_of_nothing_but_unknown_tokens_has_no_direction(folder: Path) -> None:
    assert not FolderEmbedder(folder).embed(["☃ ☂", "", "  "]).any()


def test_long_text_counts_to_its_end(folder: Path) -> None:
    tea, long = FolderEmbedder(folder).embed(["tea", "friday " + "tea " * 50_000])
    assert tea @ long > 0.99


def test_identity_is_that_of_the_weights_and_the_tokens(folder: Path) -> None:
    first = FolderEmbedder(folder).identity
    assert first.text.startswith("local/my-model/256/")
    write_table(folder / "model.safetensors", {"embeddings": np.ones((100, 256), "<f4")})
    second = FolderEmbedder(folder).identity
    write_tokenizer(folder / "tokenizer.json", ["[UNK]", "tea"])
    assert len({first.text, second.text, FolderEmbedder(folder).identity.text}) == 3


@pytest.mark.parametrize("provider", ["local", "auto"])
def test_path_in_the_configuration_is_used(home: Path, folder: Path, provider: str) -> None:
    embedder = open_embedder(
        load_config(
            home, environ={}, overrides={"embedding_provider": provider, "embedding_path": f"{folder.parent}/my-model"}
        )
    )
    assert isinstance(embedder, FolderEmbedder)
    with Memory.open(home, embedder=embedder, background=False) as memory:
        memory.remember("Alex drinks green tea")
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert {reason.strategy for reason in memory.recall("a cup of tea")[0].why} >= {"vector"}


def test_folder_that_is_missing_or_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        assert failure(tmp_path / name).startswith(f"{tmp_path / name} is not a folder | embedding.path is the folder")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("size", [None, 0, 5, 300])
def test_file_that_is_missing_or_breaks_off_is_named(folder: Path, name: str, size: int | None) -> None:
    path = folder / name
    data = path.read_bytes()
    path.unlink()
    if size is not None:
        path.write_bytes(data[:size])
    with pytest.raises(EmbedderError, match=name) as caught:
        FolderEmbedder(folder).embed(["tea"])
    assert "embedding.path is the folder of a static model" in caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_onnx_model_is_said_not_to_be_supported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    (tmp_path / "tokenizer.json").touch()
    assert "holds an ONNX model, which memfolio does not run | use a static model" in failure(tmp_path)


TABLE = np.ones((200, 256), "<f4")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"encoder.layer.0": TABLE, "embeddings": TABLE}, "it holds 2 tables, and not one called"),
        ({"encoder.layer.0": TABLE}, "it holds 1 tables, and not one called embedding.weight or embeddings"),
        ({}, "it holds 0 tables"),
        ({"embeddings": TABLE.astype("i1")}, "it holds numbers of type 'I8', and not of F16 or F32"),
        ({"embeddings": TABLE[0]}, "is not the table of weights it should be"),
    ],
)
def test_weights_of_another_kind_of_model_are_told_apart(
    folder: Path, tables: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]], said: str
) -> None:
    write_table(folder / "model.safetensors", tables)
    assert said in failure(folder)


def test_table_that_is_too_small_for_the_tokenizer_is_refused(folder: Path) -> None:
    write_table(folder / "model.safetensors", {"embeddings": TABLE[:3]})
    with pytest.raises(EmbedderError, match="weights for 3 tokens, but a tokenizer that needs 94"):
        FolderEmbedder(folder).embed(["tea"])


@pytest.mark.parametrize("number", [200, 4_000_000_000])
def test_token_whose_number_is_beyond_the_table_is_refused(folder: Path, number: int) -> None:
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["vocab"]["tea"] = number
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(EmbedderError, match=f"but a tokenizer that needs {number + 1}"):
        FolderEmbedder(folder).embed(["tea"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
def test_what_is_no_file_is_not_read(folder: Path, name: str, kind: str) -> None:
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero")
    assert f"{name} cannot be read: it is not a file" in failure(folder)


@pytest.mark.parametrize(("name", "most"), [("model.safetensors", 2 * 1024**3), ("tokenizer.json", 64 * 1024**2)])
def test_file_that_is_too_large_is_not_read(folder: Path, name: str, most: int) -> None:
    os.truncate(folder / name, most + 1)
    assert f"{name} cannot be read: it has {most + 1:,} bytes" in failure(folder)


def test_link_to_a_file_is_followed(folder: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).rename(folder / f"real-{name}")
        (folder / name).symlink_to(f"real-{name}")
    assert FolderEmbedder(folder).embed(["tea"]).any()
