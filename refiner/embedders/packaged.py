"""The embedding model whose weights are installed with the product. Never opens a connection.

A text's vector depends on that text alone: neither on the batch it comes in nor on the padding a batch would need.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from refiner.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from refiner.ports import Vectors

PACKAGE = "wordllama"
MODEL = "l2_supercat"
DIMENSIONS = 256
_CHUNK = 512  # texts tokenised at a time
_lock = Lock()


class PackagedEmbedder:
    """wordllama's static word vectors, averaged: 256 dimensions. The model is read at the first use, once a process.

    Raises EmbedderError when the package is not installed.
    """

    name = "packaged"

    def __init__(self) -> None:
        self.identity = f"{PACKAGE} {_installed()} {MODEL} {DIMENSIONS}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns `(len(texts), 256) float32` with rows of unit norm; a text without words gets the even row.

        Raises EmbedderError when the model cannot be read.
        """
        import numpy as np

        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        words, tokenizer = _model()
        for start in range(0, len(texts), _CHUNK):
            chunk = [_encodable(text) for text in texts[start : start + _CHUNK]]
            for row, tokens in enumerate(tokenizer.encode_batch(chunk, add_special_tokens=False), start):
                rows[row] = _average(words, np.asarray(tokens.ids, dtype=np.int64))
        return rows


def _average(words: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of the words' vectors, scaled to unit norm; the even row when there is none."""
    import numpy as np

    distinct, counts = np.unique(ids.clip(0, len(words) - 1), return_counts=True)
    total = counts.astype(np.float32) @ words[distinct]
    norm = float(np.linalg.norm(total))
    return total / np.float32(norm) if norm else np.full(words.shape[1], words.shape[1] ** -0.5, dtype=np.float32)


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced: the tokeniser takes valid Unicode only."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _installed() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise EmbedderError(f"the package {PACKAGE} is not installed: run `make setup`") from None


def _model() -> tuple[NDArray[np.float32], Any]:
    with _lock:
        return _load()


@functools.cache
def _load() -> tuple[NDArray[np.float32], Any]:
    """The word vectors (32,000, 256) and the tokeniser."""
    with _logging_untouched():
        try:
            import wordllama
        except ImportError as problem:
            raise EmbedderError(f"{PACKAGE} cannot be imported ({problem}): run `make setup`") from problem
    folder = Path(wordllama.__file__).parent
    try:
        model = wordllama.WordLlama.load(MODEL, cache_dir=folder, dim=DIMENSIONS, disable_download=True)
    except FileNotFoundError as problem:
        raise EmbedderError(f"the weights of {PACKAGE} are missing in {folder}: run `make setup`") from problem
    model.tokenizer.no_padding()
    return model.embedding, model.tokenizer


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Importing wordllama sets up the root logger at level INFO; what logs is not for a library to decide."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
