"""The exercises of `opened`: each check beside its reference solution.

What is right comes from the layers, called one after the other by hand, and
from numbers worked out one token at a time.
"""

import statistics

import torch

from lookback.attention import causal
from lookback.exercises.by_hand import MOST, by_hand, exactly, stage
from lookback.exercises.checking import Hint, exercise, float64, random_inputs
from lookback.transformer import Transformer, TransformerConfig

LAYER, HEAD, HEADS, LAYERS = 1, 4, 4, 4  # tests/test_opened.py computes them


def odd_head_by_hand_solution():
    """The layer and the head, counted from 1 as the picture does."""
    return [1, 4]


@by_hand(odd_head_by_hand_solution, "a layer and a head", ["layer", "head"])
def odd_head_by_hand():
    """The one head of cross-attention that attends elsewhere."""
    mistakes = {
        "Those are counted from 0. The buttons count layers and heads from "
        "1.": [LAYER - 1, HEAD - 1],
        "The layer comes first, then the head.": [HEAD, LAYER],
    }
    found = stage(
        float64([LAYER, HEAD]),
        {hint: float64(wrong) for hint, wrong in mistakes.items()},
        "It is another head. Choose the decoder's token “un”, open the "
        "weights of cross-attention, and go through the heads of every layer.",
        exactly,
    )
    few = "There are four layers of four heads, counted from 1."
    anywhere, outside = [-MOST, MOST], ([-MOST, 0.99], [HEADS + 0.01, MOST])
    for wrong in outside:
        found["mistakes"] += [few, [wrong, anywhere]], [few, [anywhere, wrong]]
    return (
        "fifteen heads attend most to the noun, and this one to the article.",
        found,
    )


def lens_solution(streams, E, gain, bias):
    """softmax(LN(y) Eᵀ) of every level."""
    mean = streams.mean(-1, keepdim=True)
    variance = streams.var(-1, correction=0, keepdim=True)
    y = gain * (streams - mean) / torch.sqrt(variance + 1e-5) + bias
    return torch.softmax(y @ E.T, dim=-1)


def _token_by_token(streams, E, gain, bias):
    """The same in float64, one token after the other."""
    found = []
    for row in streams.double().flatten(0, 1).tolist():
        mean = statistics.fmean(row)
        by = (statistics.pvariance(row) + 1e-5) ** 0.5
        normal = float64([(x - mean) / by for x in row])
        scores = E.double() @ (gain.double() * normal + bias.double())
        found.append(torch.softmax(scores, 0))
    return torch.stack(found).view(*streams.shape[:2], -1)


@exercise(lens_solution)
def lens(mine):
    """Probabilities that the output matrix gives at every level."""
    cases = []
    # In the last the variance is no larger than the 1e-5 beside it.
    for seed, shape, by in ((1, (3, 4, 6), 3), (2, (4, 5, 8), 0.003)):
        d = shape[-1]
        streams, E, gain, bias = random_inputs(seed, shape, (7, d), (d,), (d,))
        given = (by * (streams + 1), E, gain, bias)
        cases.append((given, _token_by_token(*given)))
    lens.compare(mine, cases, "[levels, tokens, vocab]")
    return "each level through the last LayerNorm and the output matrix."


lens.slip(
    "The stream goes into the output matrix as it is. The model normalizes it "
    "first, with its last LayerNorm.",
    lambda streams, E, gain, bias: torch.softmax(streams @ E.T, dim=-1),
)
lens.slip(
    "Those are logits. Softmax over the vocabulary makes probabilities.",
    "torch.softmax(y @ E.T, dim=-1)",
    "y @ E.T",
)
lens.slip(
    "Your probabilities sum to 1 over the tokens. Take the softmax over the "
    "vocabulary, the last axis.",
    "dim=-1)",
    "dim=1)",
)
lens.slip(
    "Your probabilities sum to 1 over the levels. Take the softmax over the "
    "vocabulary, the last axis.",
    "dim=-1)",
    "dim=0)",
)
lens.slip(
    "LayerNorm describes each token's numbers: its mean and variance are taken "
    "over the last axis.",
    lambda streams, E, gain, bias: (
        lens_solution(
            streams.transpose(1, 2), torch.eye(streams.shape[1]).to(E), 1, 0
        ).transpose(1, 2)
        @ E.T
    ),
)
lens.slip(
    "The gain and the bias of the last LayerNorm are left out.",
    "gain * (streams - mean) / torch.sqrt(variance + 1e-5) + bias",
    "(streams - mean) / torch.sqrt(variance + 1e-5)",
)
lens.slip(
    "The bias of the last LayerNorm is left out.",
    "+ 1e-5) + bias",
    "+ 1e-5)",
)
lens.slip(
    "The gain of the last LayerNorm is left out.",
    "gain * (streams",
    "(streams",
)
lens.slip(
    "You divided by the variance; divide by its square root.",
    "torch.sqrt(variance + 1e-5)",
    "(variance + 1e-5)",
)
lens.slip("The mean is not taken off.", "(streams - mean)", "streams")
_ROOT = "torch.sqrt(variance + 1e-5)"
for _hint, _few in (
    ("ε is 10⁻⁵, and stands under the root: √(variance + ε).", 0),
    (
        "Torch's std and var divide the squares by d − 1; LayerNorm divides by "
        "d: correction=0. And 10⁻⁵ stands under the root, √(variance + ε).",
        1,
    ),
):
    for _by in ("var({0}) + {1}).sqrt()", "std({0}) + {1})"):
        for _epsilon in ("0", "1e-12", "1e-8", "1e-6", "1e-5", "1e-3"):
            if not (_few == 0 and "var" in _by and _epsilon == "1e-5"):
                _given = f"-1, correction={_few}, keepdim=True"
                lens.slip(
                    _hint,
                    *(_ROOT, f"(streams.{_by.format(_given, _epsilon)}"),
                )


@lens.style
def _with_torchs_own(streams, E, gain, bias):
    y = torch.nn.functional.layer_norm(streams, gain.shape, gain, bias)
    return torch.einsum("ltd,vd->ltv", y, E).softmax(-1)


def caught_streams_solution(model, source, target_in):
    """What each decoder layer gives back, caught by forward hooks."""
    found = []
    hooks = [
        layer.register_forward_hook(lambda _, __, out: found.append(out))
        for layer in model.decoder
    ]
    model(source, target_in)
    for hook in hooks:
        hook.remove()
    return torch.stack(found)


def _small(seed, layers):
    """A model of random weights, and the same for each seed."""
    config = TransformerConfig(
        9,
        9,
        d_model=8,
        heads=2,
        layers=layers,
        d_ff=12,
        dropout=0.0,
        norm="pre",
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return Transformer(config).eval()


def _layer_by_layer(model, source, target_in):
    """The decoder's layers, called by hand."""
    memory = model.encode(source)
    y, found = model.target_embedding(target_in), []
    mask = causal(target_in.shape[1])
    for layer, pair in zip(model.decoder, memory.layers, strict=True):
        y = layer(y, pair, memory.mask, mask)
        found.append(y)
    return torch.stack(found).detach()


@exercise(caught_streams_solution)
def caught_streams(mine):
    """The residual stream after every decoder layer."""
    cases = []
    source, target_in = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
    for seed, layers in ((0, 2), (1, 3)):
        model = _small(seed, layers)
        given = (model, source, target_in)
        cases.append((given, _layer_by_layer(*given)))
    caught_streams.compare(mine, cases, "[layers, batch, target, d_model]")
    for part in mine.handed[0].modules():
        if part._forward_hooks:
            raise Hint(
                "The streams are right, but your hooks are still there: each "
                "further call would be caught, too. Keep what "
                "register_forward_hook gives back, and call its remove()."
            )
    return "the output of every decoder layer, in order; no hook is left."


caught_streams.slip(
    "Those are the layers' inputs. A forward hook is given (module, inputs, "
    "output): keep the output.",
    "lambda _, __, out: found.append(out)",
    "lambda _, given, __: found.append(given[0])",
)
_SOURCE = (
    "Yours has a row for each token of the source. Hook the layers of "
    "model.decoder, and call model(source, target_in)."
)
caught_streams.slip(_SOURCE, "model.decoder", "model.encoder")
caught_streams.slip(_SOURCE, "(source, target_in)\n", "(target_in, source)\n")
caught_streams.slip(
    "You caught what feed-forward adds, before the sum. The stream is what the "
    "whole layer gives back.",
    "in model.decoder",
    "in [each.feedforward for each in model.decoder]",
)
caught_streams.slip(
    "The layers are in reverse order.", "stack(found)", "stack(found[::-1])"
)
caught_streams.slip(
    "That is the last layer alone; stack what every layer gives back.",
    "torch.stack(found)",
    "found[-1]",
)
caught_streams.slip(
    "The streams went through the model's last LayerNorm. Give them as the "
    "layers leave them.",
    "torch.stack(found)",
    "model.after_decoder(torch.stack(found))",
)


@caught_streams.style
def _by_name(model, source, target_in):
    kept = {}

    def keeper(name):
        def hook(module, inputs, output):
            kept[name] = output.detach()

        return hook

    handles = [
        layer.register_forward_hook(keeper(i))
        for i, layer in enumerate(model.decoder)
    ]
    with torch.no_grad():
        model(source, target_in)
    [handle.remove() for handle in handles]
    return torch.stack([kept[i] for i in range(len(model.decoder))])
