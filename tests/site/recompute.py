"""What each widget should show, computed again from its embedded state."""

import numpy as np
import torch

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.vocabulary import END, START

FIRST, MOST = 4, 30  # id of the alphabet's first letter; letters at most


def softmax(scores: list | np.ndarray) -> np.ndarray:
    """exp(e_j) / Σ exp(e_k) over the last axis, in double precision."""
    scores = np.asarray(scores, dtype=np.float64)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def alignment(state: dict, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and context of one target word of the present example."""
    example = state["examples"][state["example"]]
    weights = softmax(example["energies"][step])
    return weights, weights @ np.array(example["values"])


def stages(state: dict) -> tuple[np.ndarray, np.ndarray]:
    """Weights and mix of the softmax stepper."""
    by = state["temperature"]
    by *= state["d_k"] ** 0.5 if state["scale"] else 1
    weights = softmax([score / by for score in state["scores"]])
    if not state["values"]:
        return weights, np.zeros(0)
    return weights, weights @ np.array(state["values"])


def tensor(packed: dict) -> torch.Tensor:
    """One tensor from bytes of little-endian float16."""
    raw = np.frombuffer(packed["data"], dtype="<f2")
    return torch.from_numpy(raw.astype(np.float64)).reshape(packed["shape"])


def bottleneck(packed: dict) -> Bottleneck:
    """The trained model that the page carries, as the package's own."""
    weights = {name: tensor(one) for name, one in packed.items()}
    words, embed = weights["source_embedding.weight"].shape
    config = BottleneckConfig(
        source_vocab=words,
        target_vocab=weights["target_embedding.weight"].shape[0],
        embed=embed,
        hidden=weights["encoder.weight_hh_l0"].shape[1],
        maxout=weights["readout.output.weight"].shape[1],
    )
    model = Bottleneck(config).double().eval()
    model.load_state_dict(weights)
    return model


@torch.no_grad()
def squeeze(state: dict) -> tuple[np.ndarray, str]:
    """The one vector, and what is written from it, greedily."""
    model = bottleneck(state["models"][state["width"]])
    alphabet = state["alphabet"]
    ids = [FIRST + alphabet.index(letter) for letter in state["text"]]
    memory = model.encode(torch.tensor([[*ids, END]]))
    now, token, written = model.start(memory), START, ""
    while len(written) < MOST:
        logits, now, _ = model.step(torch.tensor([token]), now, memory)
        token = int(logits.argmax())
        if token == END:
            break
        written += alphabet[token - FIRST] if token >= FIRST else "?"
    return memory.c[0].numpy(), written
