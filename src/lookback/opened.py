r"""The Transformer, opened: what every station holds, each part with a switch.

The stations of one attention sublayer of a pre-norm layer, for tokens x:

    norm    LN(x)                     q, k, v   LN(x) W_Q, … W_K, … W_V
    scores  q kᵀ / √d_k               weights   softmax(scores)
    heads   Concat(weights v)         out       heads W_O
    stream  x + out                   the residual stream goes on

A feed-forward sublayer has `norm`, `hidden` = max(0, LN(x) W_1 + b_1), `out`
and `stream`. Each stands in the trace under its sublayer's path, as in
"decoder.2.cross.weights".

`switched` removes parts of a trained model. `lens` reads the residual stream
with the output matrix (nostalgebraist 2020, the logit lens). `patched` carries
a vector from one run into another (activation patching; Vig et al. 2020,
arXiv 2004.12265; Meng et al. 2022, arXiv 2202.05262).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.heads import MultiHeadAttention
from lookback.transformer import Memory, Transformer

GLOBAL = ("positions", "scaling", "mask", "diagonal")
# The book's stories: names of switches, `*` for any.
PRESETS = {
    "no positions": ["positions"],
    "no residual connections": ["*.residual"],
    "only the last cross-attention": ["decoder.[012].cross"],
    "one head a layer": ["*.head.[123]"],
    "no feed-forward layers": ["*.feedforward"],
    "attention straight along the diagonal": ["diagonal"],
}


def sublayers(model: Transformer) -> dict[str, tuple[nn.Module, nn.Module]]:
    """What stands around each sublayer, and its f: by path, in order."""
    sides = {"encoder": model.encoder, "decoder": model.decoder}
    parts = ("attention", "cross", "feedforward")
    return {
        f"{side}.{i}.{part}": (
            getattr(layer, f"around_{part}"),
            getattr(layer, part),
        )
        for side, layers in sides.items()
        for i, layer in enumerate(layers)
        for part in parts
        if getattr(layer, part, None) is not None
    }


def embeddings(model: Transformer) -> dict[str, nn.Module]:
    """What embeds the source and the target: two, or one that they share."""
    target = model.target_embedding
    return {
        "encoder": getattr(model, "source_embedding", target),
        "decoder": target,
    }


def switches(model: Transformer) -> list[str]:
    """The name of everything that `switched` knows."""
    found = [*GLOBAL, "encoder.norm", "decoder.norm"]
    for path, (_, f) in sublayers(model).items():
        found += [path, f"{path}.residual", f"{path}.norm"]
        if isinstance(f, MultiHeadAttention):
            found += [f"{path}.head.{head}" for head in range(f.heads)]
    return found


def preset(model: Transformer, name: str) -> list[str]:
    """The switches of one of the PRESETS."""
    return [
        one
        for one in switches(model)
        if any(fnmatch(one, pattern) for pattern in PRESETS[name])
    ]


@contextmanager
def swap(owner: object, name: str, value: object) -> Iterator[None]:
    """Within it the attribute is another one."""
    own, kept = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own or isinstance(kept, nn.Module):
            setattr(owner, name, kept)
        else:  # a method, of the class again
            delattr(owner, name)


@contextmanager
def hooked(*handles) -> Iterator[None]:
    """Hooks that are there within it."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def switched(model: Transformer, off: Iterable[str]) -> Iterator[None]:
    """The model without these parts.

    A head gives nothing to W_O, a sublayer nothing to the stream; without its
    residual connection a sublayer's output replaces its input; without its
    norm it is given the stream as it is. "diagonal" puts weights in place of
    cross-attention's: target position i attends to source position i.

    Raises:
        ValueError: for a name that `switches` does not list.
    """
    off, parts = set(off), sublayers(model)
    if strange := off - set(switches(model)):
        raise ValueError(
            f"there is no {', '.join(sorted(strange))}: `switches(model)`"
            " lists what can be switched off"
        )
    with ExitStack() as held:
        enter = held.enter_context
        for path, (around, f) in parts.items():
            if path in off:
                enter(hooked(f.register_forward_hook(nothing)))
            if f"{path}.residual" in off:
                enter(swap(around, "residual", False))
            if f"{path}.norm" in off:
                enter(swap(around, "norm", nn.Identity()))
            if not isinstance(f, MultiHeadAttention):
                continue
            for head in range(f.heads):
                if f"{path}.head.{head}" in off:
                    zero = put_in(head, f.heads, lambda x: x * 0)
                    enter(hooked(f.W_O.register_forward_pre_hook(zero)))
            if "scaling" in off:
                enter(swap(f, "scale", 1.0))
            if "diagonal" in off and path.endswith("cross"):
                enter(swap(f, "attend", along))
            if "mask" in off and path.startswith("decoder.") and "att" in path:
                enter(hooked(f.register_forward_pre_hook(unmasked)))
        for side in ("encoder", "decoder"):
            if f"{side}.norm" in off:
                enter(swap(model, f"after_{side}", nn.Identity()))
        if "positions" in off:
            for embedding in set(embeddings(model).values()):
                enter(swap(embedding, "positions", "none"))
            for _, f in parts.values():
                if getattr(f, "rope", False):
                    enter(swap(f, "rope", False))
        if off & {"mask", "diagonal"}:
            enter(uncached(model))
        yield


def nothing(_, __, out):
    """What a sublayer that is switched off adds."""
    zero = torch.zeros_like
    return (zero(out[0]), *out[1:]) if isinstance(out, tuple) else zero(out)


def unmasked(_, given: tuple) -> tuple:
    """x, and no mask."""
    return (given[0], None, *given[2:])


def put_in(head: int, heads: int, make: Callable[[Tensor], Tensor]):
    """A hook before W_O that changes the output of one head."""

    def hook(_, given: tuple[Tensor]) -> Tensor:
        each = given[0].unflatten(-1, (heads, -1)).clone()
        each[..., head, :] = make(each[..., head, :])
        return each.flatten(-2)

    return hook


def along(query, key, value, mask, need_weights, scale=None):
    """Attention whose weights are 1 along the diagonal, or at the end."""
    last = mask.sum(-1, keepdim=True) - 1
    rows = torch.arange(query.shape[-2], device=key.device)[:, None]
    weights = F.one_hot(torch.minimum(rows, last), key.shape[-2]).to(key)
    weights = weights.squeeze(-2).expand(*query.shape[:-1], -1)
    return weights @ value, weights if need_weights else None


@contextmanager
def uncached(model: Transformer) -> Iterator[None]:
    """Within it each step computes all positions again: no KV cache."""

    def start(memory: Memory) -> tuple:
        return (memory.x[:, :0, 0].long(),)

    def step(token, state: tuple, memory: Memory):
        tokens = torch.cat([state[0], token[:, None]], dim=1)
        return model.decode(tokens, memory)[:, -1], (tokens,), None

    with swap(model, "start", start), swap(model, "step", step):
        yield


@torch.no_grad()
def trace(
    model: Transformer,
    source: Int[Tensor, " source"],
    target_in: Int[Tensor, " target"],
) -> dict[str, Tensor]:
    """Every station's tensor for one sentence, and the logits, by name.

    Vectors are [tokens, …]; scores and weights [heads, target, source].
    """
    found: dict[str, Tensor] = {}

    def keep(name: str, kind: str = "out"):
        def hook(_, given, out=None):
            found[name] = (given[0] if kind == "in" else out)[0].clone()

        return hook

    with ExitStack() as held:

        def after(module: nn.Module, name: str) -> None:
            handle = module.register_forward_hook(keep(name))
            held.enter_context(hooked(handle))

        def before(module: nn.Module, name: str) -> None:
            handle = module.register_forward_pre_hook(keep(name, "in"))
            held.enter_context(hooked(handle))

        for path, (around, f) in sublayers(model).items():
            after(around.norm, f"{path}.norm")
            before(around.dropout, f"{path}.out")
            after(around, f"{path}.stream")
            if not isinstance(f, MultiHeadAttention):
                before(f.W_2, f"{path}.hidden")
                continue
            for letter in "QKV":
                after(getattr(f, f"W_{letter}"), f"{path}.{letter.lower()}")
            before(f.W_O, f"{path}.heads")
            spied = spying(f.attend, found, path)
            held.enter_context(swap(f, "attend", spied))
        after(model.after_encoder, "encoder.norm")
        after(model.after_decoder, "decoder.norm")
        given = {"encoder": source, "decoder": target_in}
        for side, embedding in embeddings(model).items():
            words = embedding.words(given[side])
            found[f"{side}.embedding"] = words * model.config.d_model**0.5
            found[f"{side}.stream"] = embedding(given[side][None])[0]
        found["decoder.logits"] = model(source[None], target_in[None])[0]
    return found


def spying(attend, found: dict[str, Tensor], path: str):
    """`attend`, which leaves its scores and weights in `found`."""

    def spied(query, key, value, mask, need_weights, scale):
        context, weights = attend(query, key, value, mask, True, scale)
        by = query.shape[-1] ** -0.5 if scale is None else scale
        scores = query @ key.mT * by
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        found[f"{path}.scores"], found[f"{path}.weights"] = (
            scores[0],
            weights[0],
        )
        return context, weights if need_weights else None

    return spied


@torch.no_grad()
def lens(
    model: Transformer, found: dict[str, Tensor]
) -> Float[Tensor, "*batch target vocab"]:
    """The logits that each level of a trace's stream would give: logit lens.

    Level 0 is the embedded token, level n the decoder's n-th layer.
    """
    last = "feedforward" if model.config.d_ff else "cross"
    levels = [found["decoder.stream"]] + [
        found[f"decoder.{i}.{last}.stream"] for i in range(len(model.decoder))
    ]
    return model.logits(model.after_decoder(torch.stack(levels)))


@contextmanager
def patched(
    model: Transformer,
    name: str,
    position: int,
    vector: Float[Tensor, " d_model"],
) -> Iterator[None]:
    """Within it one vector of the residual stream, or a head's output, is this.

    `name` is a sublayer's path with ".stream", or with ".head.2", say.
    """
    path, last, *head = name.rsplit(".", 1 if name.endswith("stream") else 2)
    around, f = sublayers(model)[path]

    def change(x: Tensor) -> Tensor:
        x = x.clone()
        x[:, position : position + 1] = vector  # none, before it is written
        return x

    if last == "stream":
        handle = around.register_forward_hook(lambda _, __, out: change(out))
    else:
        hook = put_in(int(head[0]), f.heads, change)
        handle = f.W_O.register_forward_pre_hook(hook)
    with hooked(handle), uncached(model):
        yield
