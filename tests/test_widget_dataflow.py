"""The data-flow widget: every shape against hooks on the real model."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from traitlets import TraitError
from widgets_common import ask, refuses, shown

from lookback.attention import attend, causal
from lookback.heads import attention_weights
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import PAD
from lookback.widgets import Dataflow
from lookback.widgets.dataflow import LIMITS, STATIONS

SIZES = {
    "batch": 3,
    "source": 7,
    "target": 5,
    "d_model": 24,
    "heads": 4,
    "d_ff": 40,
    "layers": 2,
    "vocab": 50,
}
PARTS = {
    "self": ("encoder", "attention", "around_attention"),
    "masked": ("decoder", "attention", "around_attention"),
    "cross": ("decoder", "cross", "around_cross"),
}
FEEDS = {"inner": "encoder", "outer": "decoder"}


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    s = SIZES
    config = TransformerConfig(
        s["vocab"],
        s["vocab"],
        d_model=s["d_model"],
        heads=s["heads"],
        layers=s["layers"],
        d_ff=s["d_ff"],
        tied="all",
        dropout=0.0,
    )
    return Transformer(config).eval()


def computed(mode: str, **more) -> dict:
    """What the widget's script says of these sizes."""
    return ask("dataflow", "stations", {**SIZES, **more, "mode": mode})


def shapes(found: dict) -> dict[str, tuple]:
    return {
        one["key"]: tuple(n for _, n in one["shape"]) for one in found["all"]
    }


def watch(model: Transformer, mode: str) -> dict[str, tuple]:
    """The shapes that pass through the real model, by station."""
    seen: dict[str, tuple] = {}

    def note(key):
        def hook(_, given, out):
            out = out[0] if isinstance(out, tuple) else out
            seen.setdefault(key, tuple(out.shape))

        return hook

    def looked(part):
        def spy(query, keys, values, mask, _, scale):
            assert keys.shape == values.shape
            seen[f"{part}/keys, values"] = tuple(keys.shape)
            if mask is not None:
                seen[f"{part}/mask"] = tuple(mask.shape)
            context, weights = attend(query, keys, values, mask, True, scale)
            seen[f"{part}/scores"] = tuple(weights.shape)
            seen[f"{part}/softmax"] = tuple(weights.shape)
            seen[f"{part}/split queries"] = tuple(query.shape)
            seen[f"{part}/mix"] = tuple(context.shape)
            return context, weights

        return spy

    def came(part):
        def hook(_, given):
            seen[f"{part}/concat"] = tuple(given[0].shape)

        return hook

    def tokens(part):
        def hook(_, given, out):
            seen[f"{part}/words"] = tuple(given[0].shape)
            seen[f"{part}/+ position"] = tuple(out.shape)

        return hook

    handles = []
    for part, (stack, attention, around) in PARTS.items():
        layer = getattr(model, stack)[0]
        inner, outer = getattr(layer, attention), getattr(layer, around)
        inner.attend = looked(part)
        handles += [
            inner.W_Q.register_forward_hook(note(f"{part}/W_Q")),
            inner.W_K.register_forward_hook(note(f"{part}/W_K, W_V")),
            inner.W_O.register_forward_hook(note(f"{part}/W_O")),
            inner.W_O.register_forward_pre_hook(came(part)),
            outer.dropout.register_forward_hook(note(f"{part}/add")),
            outer.norm.register_forward_hook(note(f"{part}/norm")),
        ]
    for part, stack in FEEDS.items():
        layer = getattr(model, stack)[0]
        feed, around = layer.feedforward, layer.around_feedforward
        handles += [
            feed.W_1.register_forward_hook(note(f"{part}/W_1, ReLU")),
            feed.W_2.register_forward_hook(note(f"{part}/W_2")),
            around.dropout.register_forward_hook(note(f"{part}/add")),
            around.norm.register_forward_hook(note(f"{part}/norm")),
        ]
    source = torch.randint(4, SIZES["vocab"], (3, SIZES["source"]))
    target = torch.randint(4, SIZES["vocab"], (3, SIZES["target"]))
    embed, first = model.target_embedding, []
    first.append(embed.register_forward_hook(tokens("source")))
    first.append(embed.words.register_forward_hook(note("source/embedding")))
    memory = model.encode(source)
    [handle.remove() for handle in first]
    if mode == "generation":
        cache, logits = model.start(memory), None
        for token in target[:, :-1].unbind(1):
            _, cache, _ = model.step(token, cache, memory)
        read = ("source", "self", "inner", "cross/W_K")
        seen_before = {k: v for k, v in seen.items() if k.startswith(read)}
        seen.clear()
        seen.update(seen_before)
        target = target[:, -1:]
    embed.register_forward_hook(tokens("target"))
    embed.words.register_forward_hook(note("target/embedding"))
    if mode == "generation":
        logits = model.step(target[:, 0], cache, memory)[0][:, None]
    else:
        logits = model.decode(target, memory)
    seen["out/logits"] = seen["out/softmax"] = tuple(logits.shape)
    [handle.remove() for handle in handles]
    for stack, attention, _ in PARTS.values():
        del getattr(getattr(model, stack)[0], attention).attend
    return {key: tuple(shape) for key, shape in seen.items()}


@pytest.mark.parametrize("mode", ["training", "generation"])
def test_every_shape_is_that_of_the_model(model, mode):
    with torch.no_grad():
        seen = watch(model, mode)
    mine = shapes(computed(mode))
    for key, shape in seen.items():
        assert mine[key] == shape, key
    unseen = {"source/× √d_model", "target/× √d_model"}
    if mode == "generation":  # nothing to hide, so there is no such tensor
        unseen.add("masked/mask")
    assert set(mine) - set(seen) == unseen
    for key in unseen - {"masked/mask"}:
        assert mine[key] == seen[key.split("/")[0] + "/embedding"]


def test_parameters_are_those_of_the_model(model):
    found = computed("training")
    assert found["totals"]["parameters"] == sum(
        p.numel() for p in model.parameters()
    )
    one = {s["key"]: s["parameters"] for s in found["all"]}
    layer = model.decoder[0]

    def count(*parts):
        return sum(p.numel() for part in parts for p in part.parameters())

    cross = layer.cross
    assert one["cross/W_K, W_V"] == count(cross.W_K, cross.W_V)
    assert one["cross/norm"] == count(layer.around_cross)
    assert one["outer/W_1, ReLU"] == count(layer.feedforward.W_1)
    assert one["source/embedding"] == count(model.target_embedding)
    assert one["target/embedding"] == one["out/logits"] == 0


def counted(run) -> int:
    """Multiplications of all matrix products; torch counts sums as well."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run()
    assert counter.get_total_flops() % 2 == 0
    return counter.get_total_flops() // 2


def test_products_are_those_that_torch_counts(model):
    model.requires_grad_(False)
    source = torch.randint(4, SIZES["vocab"], (3, SIZES["source"]))
    target = torch.randint(4, SIZES["vocab"], (3, SIZES["target"]))

    def weighed(run, *given):  # not by the fused kernel
        with attention_weights(model):
            return run(*given)

    def read():
        return weighed(model.encode, source)

    whole = computed("training")["totals"]
    memory = read()
    written = counted(lambda: weighed(model.decode, target, memory))
    assert whole["products"] == counted(read) + written
    assert whole["once"] == 0

    cache = model.start(memory)
    for token in target[:, :-1].unbind(1):
        _, cache, _ = model.step(token, cache, memory)
    step = computed("generation")["totals"]
    assert step["once"] == counted(read)
    assert step["products"] == counted(
        lambda: weighed(model.step, target[:, -1], cache, memory)
    )


def test_the_masks_have_the_shapes_that_the_model_makes():
    source = torch.tensor([[5, 6, PAD]])
    mine = shapes(computed("training", batch=1, source=3, target=4))
    assert mine["self/mask"] == tuple((source != PAD)[:, None, None].shape)
    assert mine["masked/mask"] == tuple(causal(4).shape)


def test_script_and_python_agree_on_what_they_refuse():
    assert len(computed("training")["all"]) == STATIONS
    for wrong in (
        {"heads": 5},
        {"d_model": 9, "heads": 3},
        {"batch": 0},
        {"vocab": LIMITS["vocab"] + 1},
    ):
        sizes = {**SIZES, **wrong}
        assert computed("training", **wrong)["wrong"]
        with pytest.raises(TraitError):
            Dataflow(**sizes)
    assert computed("training")["wrong"] == ""


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"heads": 7}, "7 heads cannot share 512"),
        ({"d_model": 511}, "d_model is 511: it must be even"),
        ({"batch": 0}, "batch is 0: give 1 to 1,000"),
        ({"mode": "sleep"}, "mode is 'sleep'"),
        ({"step": STATIONS}, "0 to 53 exist"),
        ({"step": -1}, "0 to 53 exist"),
    ],
)
def test_dataflow_refuses_and_keeps_what_was_there(wrong, says):
    refuses(Dataflow(), wrong, says)


def test_dataflow_has_a_view_a_picture_and_words():
    assert "logits (2, 1, 37000)" in shown(Dataflow(mode="generation"))
