"""A static model in a folder of the user's: token vectors as Model2Vec and wordllama save them."""

from __future__ import annotations

from pathlib import Path

from memfolio.embed.local import LocalEmbedder
from memfolio.embed.tokens import PlainTokens
from memfolio.errors import EmbedderError

_STATIC = "embedding.path is the folder of a static model: model.safetensors with one table, and tokenizer.json"
_ONNX = ("model.onnx", "onnx/model.onnx")


class FolderEmbedder(LocalEmbedder):
    """Averages the vectors of a text's tokens, from the weights in a folder; unknown tokens do not count."""

    weights_name = "model.safetensors"
    tokenizer_name = "tokenizer.json"
    remedy = _STATIC
    tokens_of = PlainTokens

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.model = "".join(c if c.isprintable() else "?" for c in folder.name) or "folder"

    @property
    def _found(self) -> Path:
        folder = super()._found
        if not folder.is_dir():
            raise EmbedderError(f"{folder} is not a folder", hint=_STATIC)
        if not (folder / self.weights_name).exists() and any((folder / name).exists() for name in _ONNX):
            raise EmbedderError(
                f"{folder} holds an ONNX model, which memfolio does not run",
                hint="use a static model, or let a server run this one and set embedding.url",
            )
        return folder
