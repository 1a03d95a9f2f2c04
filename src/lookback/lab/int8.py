"""A trained machine as a page fetches it, and as the book keeps it: a byte a
weight.

    w_ij ≈ s_i · b_ij,   s_i = max_j |w_ij| / 127,   b_ij from −127 to 127

Each row of a matrix has a scale of its own, in float16; so have vectors all
their numbers. `weights` keeps b and s. For a page one file holds the config,
the words or their pieces, and the weights, gzipped: widgets/lib/int8.js reads
it.
"""

import gzip
import json
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor, nn

from lookback.lab import arguments
from lookback.lab.subwords import Subwords
from lookback.vocabulary import Vocabulary

MOST = 127


def split(matrix: Tensor, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """b, int8 [rows, columns], and s, float16 [rows].

    `most`, 127 or less, takes the place of 127.
    """
    give = "a tensor [rows, columns]"
    if arguments.kind("matrix", matrix, Tensor, give).ndim != 2:
        raise arguments.wrong("matrix", matrix, give)
    arguments.whole("most", most, 1, MOST)
    rows = matrix.detach().cpu().double().numpy()
    scales = (np.abs(rows).max(1) / most).astype("<f2")
    by = np.where(scales > 0, scales, 1).astype(float)[:, None]
    levels = np.clip(np.rint(rows / by), -most, most).astype(np.int8)
    return levels, scales


def join(levels: np.ndarray, scales: np.ndarray) -> Tensor:
    """s_i b_ij, [rows, columns]: `split` gives the same b and s of it."""
    return torch.from_numpy(levels * scales.astype(float)[:, None])


@torch.no_grad()
def rounded(model: nn.Module) -> nn.Module:
    """The model, every matrix as its bytes have it: changed in place."""
    arguments.kind("model", model, nn.Module, "a model")
    for tensor in model.state_dict().values():
        if tensor.ndim == 2:
            tensor.copy_(join(*split(tensor)))
    return model


def pack(model: nn.Module, pieces: Vocabulary) -> bytes:
    """One file: the length of a header, the header (JSON), the numbers.

    Raises ValueError where an entry of a model is neither matrix nor vector.
    """
    arguments.kind("model", model, nn.Module, "a model")
    arguments.kind("pieces", pieces, Vocabulary, "a Vocabulary")
    numbers, tensors = [], []
    for name, tensor in model.state_dict().items():
        if tensor.ndim == 2:
            levels, scales = split(tensor)
            numbers += [levels.tobytes(), scales.tobytes()]
        elif tensor.ndim == 1:
            numbers.append(tensor.cpu().numpy().astype("<f2").tobytes())
        else:
            raise ValueError(f"{name} has {tensor.ndim} axes, and not 1 or 2")
        tensors.append([name, list(tensor.shape)])
    merges = []  # whole words were never merged
    if isinstance(pieces, Subwords):
        merges = json.loads(pieces.dump())["model"]["merges"]
    header = {
        "model": type(model).__name__,
        "config": asdict(model.config),
        "pieces": pieces.words,
        "merges": [pieces.index[part] for pair in merges for part in pair],
        "tensors": tensors,
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    length = len(text).to_bytes(4, "little")
    return gzip.compress(b"".join([length, text, *numbers]), 9, mtime=0)
