"""Small static models in folders, as Model2Vec saves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = (
    "alex drinks green tea every morning in the has a cup of deploy server on friday rollback broken database".split()
)


def static_model(folder: Path, *, tensor: str = "embeddings", dtype: str = "F32", dimension: int = 256) -> Path:
    """A folder with a tokenizer of words and letters, and a table of random vectors for them."""
    tokens = ["[PAD]", "[UNK]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS[:-1], "你", "好"]
    names = list(dict.fromkeys([*tokens, WORDS[-1]]))
    write_tokenizer(folder / "tokenizer.json", names)
    table = np.random.default_rng(5).normal(0, 1, (len(names), dimension)).astype({"F32": "<f4", "F16": "<f2"}[dtype])
    write_table(folder / "model.safetensors", {tensor: table})
    return folder


def write_tokenizer(path: Path, names: list[str]) -> None:
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(path))


def write_table(path: Path, tables: dict[str, np.ndarray[Any, Any]]) -> None:
    """A safetensors file."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, table in tables.items():
        kind = {"f4": "F32", "f2": "F16", "i1": "I8"}[table.dtype.str[1:]]
        offsets = [len(data), len(data) + table.nbytes]
        header[name] = {"dtype": kind, "shape": list(table.shape), "data_offsets": offsets}
        data += table.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
