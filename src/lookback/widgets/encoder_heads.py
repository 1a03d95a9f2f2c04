"""The widget `heads`, filled from a trained Transformer's encoder."""

from collections.abc import Sequence

import torch

from lookback.transformer import Transformer
from lookback.vocabulary import END, Vocabulary
from lookback.widgets.heads import Heads
from lookback.widgets.lib.half import pack


@torch.no_grad()
def encoder_heads(
    model: Transformer,
    source: Vocabulary,
    sentences: Sequence[str],
    **place: int,
) -> Heads:
    """Queries and keys of every encoder head for each sentence.

    `place` says where the widget opens: layer, head, step. Raises ValueError
    for an empty sentence.
    """
    model.eval()
    examples = []
    for sentence in sentences:
        words = sentence.split()
        if not words:
            raise ValueError("a sentence is empty: give it a word")
        ids = torch.tensor([[*source.encode(words), END]], device=model.device)
        x = model.source_embedding(ids)
        queries, keys = [], []
        for layer in model.encoder:
            look = layer.attention
            queries.append(look.split(look.W_Q(x))[0])
            keys.append(look.project(x)[0][0])
            x = layer(x)
        both = {"queries": torch.stack(queries), "keys": torch.stack(keys)}
        examples.append({"words": [*words, "<end>"], **pack(both)})
    return Heads(examples, **place)
