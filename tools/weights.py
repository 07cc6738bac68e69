"""Make the data of the local embedder out of the package wordllama: `python -m tools.weights`.

The table is written with one byte a number, each row scaled by a power of two: half the size, and sums stay exact.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np

from memfolio.embed.local import DATA, OWN_TENSOR, LocalEmbedder

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
LARGEST = 127


def package() -> Path:
    """Where wordllama is; it is not imported, since it would bring half the internet with it."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("this needs wordllama: pip install wordllama")
    return Path(spec.submodule_search_locations[0])


def table_of(source: Path) -> bytes:
    """The table as a safetensors file of bytes; the last number of a row is its exponent."""
    data = source.read_bytes()
    size = int.from_bytes(data[:8], "little")
    shape = json.loads(data[8 : 8 + size])["embedding.weight"]["shape"]
    rows = np.frombuffer(data[8 + size :], "<f2").reshape(shape).astype(np.float64)
    exponents = np.ceil(np.log2(np.maximum(np.abs(rows).max(axis=1), 1e-9) / LARGEST)).astype(np.intc)[:, None]
    whole = np.clip(np.rint(np.ldexp(rows, -exponents)), -LARGEST, LARGEST)
    table = np.hstack([whole, exponents]).astype(np.int8)
    entry = {"dtype": "I8", "shape": list(table.shape), "data_offsets": [0, table.nbytes]}
    header = json.dumps({OWN_TENSOR: entry}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + table.tobytes()


def vocabulary_of(source: Path) -> bytes:
    """The tokens in their order, from which the pairs to join and their ranks follow."""
    numbers: dict[str, int] = json.loads(source.read_bytes())["model"]["vocab"]
    return json.dumps(sorted(numbers, key=numbers.__getitem__), ensure_ascii=False, separators=(",", ":")).encode()


def main() -> None:
    DATA.mkdir(exist_ok=True)
    (DATA / LocalEmbedder.weights_name).write_bytes(table_of(package() / WEIGHTS))
    (DATA / LocalEmbedder.tokenizer_name).write_bytes(vocabulary_of(package() / TOKENIZER))
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
