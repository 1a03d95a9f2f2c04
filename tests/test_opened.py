"""The opened Transformer: traces, switches and patches, torch against the page.

One implementation in torch (hooks), one in the page's script: they agree to
1e-4 on every tensor, and token by token on what is written.
"""

from base64 import b64decode
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from saying import said
from widgets_common import ask, refuses, shown

from lookback import opened
from lookback.exercises import opened as exercises
from lookback.lab import corpus, int8, records
from lookback.lab.decoding import greedy
from lookback.lab.moses_tokenizer import words
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import END, START
from lookback.widgets import Opened, machines
from lookback.widgets.opened import LIMITS, answer, costs

NAME = "tuned-en-fr"
HARD = [f"decoder.{i}.attention.head.{i}" for i in range(4)]
MIXED = [*HARD, "encoder.1.feedforward", "decoder.2.cross.residual", "mask"]
NORMS = ["encoder.2.attention.norm", "decoder.1.cross.norm"]
NORMS += ["encoder.norm", "decoder.norm", "decoder.3.attention"]


@cache
def machine():
    model, pieces = machines.load(NAME)
    return int8.rounded(model).double().eval(), pieces


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("opened") / "machine"
    path.write_bytes(machines.packed(NAME))
    return str(path)


@cache
def captions(count: int = 0) -> list[torch.Tensor]:
    """The first captions of the validation set, or the page's examples."""
    texts = [words(text) for text in LIMITS["examples"]]
    if count:
        texts = [pair.source for pair in corpus.load("val")[:count]]
    return [torch.tensor([*machine()[1].encode(t), END]) for t in texts]


def written(source: torch.Tensor, off: list[str]) -> list[int]:
    with opened.switched(machine()[0], off):
        return greedy(machine()[0], source[None])[0].tokens


def close(file: str, sources: list[torch.Tensor], off: list[str]) -> None:
    """Every tensor of the page's trace is torch's."""
    model, _ = machine()
    given = [
        {"source": s.tolist(), "ids": written(s, off)[:20]} for s in sources
    ]
    for at in range(0, len(given), 10):
        part = given[at : at + 10]
        answers = ask(
            "opened", "traced", {"file": file, "each": part, "off": off}
        )
        for one, found in zip(part, answers, strict=True):
            with opened.switched(model, off):
                truth = opened.trace(
                    model,
                    torch.tensor(one["source"]),
                    torch.tensor([START, *one["ids"][:-1]]),
                )
            assert set(found) == set(truth)
            for name, (shape, data) in found.items():
                flat = np.frombuffer(b64decode(data), np.float32)
                mine = torch.from_numpy(flat.copy()).view(*shape)
                torch.testing.assert_close(
                    mine,
                    truth[name].float(),
                    rtol=1e-4,
                    atol=1e-4,
                    msg=lambda text, name=name: f"{name}: {text}",
                )


@pytest.mark.parametrize(
    "off", [[], MIXED, NORMS, ["positions", "scaling", "diagonal"]]
)
def test_every_tensor_is_torchs(file, off):
    close(file, captions(), off)


@pytest.mark.nightly
@pytest.mark.multi30k
def test_every_tensor_of_two_hundred_captions_is_torchs(file):
    close(file, captions(200), [])


def translations(file: str, sources: list, off: list[str]) -> None:
    given = {"file": file, "sources": [s.tolist() for s in sources], "off": off}
    found = ask("opened", "translated", given)
    said = [[step["id"] for step in one["steps"]] for one in found]
    assert said == [written(s, off) for s in sources]


@pytest.mark.parametrize("preset", opened.PRESETS)
def test_what_a_preset_writes_is_what_torch_writes(file, preset):
    translations(file, captions(), opened.preset(machine()[0], preset))


@pytest.mark.nightly
@pytest.mark.multi30k
@pytest.mark.parametrize("preset", opened.PRESETS)
def test_two_hundred_captions_of_a_preset(file, preset):
    translations(file, captions(200), opened.preset(machine()[0], preset))


def test_every_switch_changes_the_trace_and_is_put_back():
    model, source = machine()[0], captions()[0]
    target = torch.tensor([START, *written(source, [])[:-1]])
    before = opened.trace(model, source, target)["decoder.logits"]
    for name in opened.switches(model):
        with opened.switched(model, [name]):
            after = opened.trace(model, source, target)["decoder.logits"]
        assert not torch.equal(before, after), name
    again = opened.trace(model, source, target)["decoder.logits"]
    assert torch.equal(before, again)


def test_a_switch_leaves_no_method_of_its_own_on_the_model():
    """Else a later edit of the class would not reach it."""
    model, source = machine()[0], captions()[0]
    held = {name: set(vars(part)) for name, part in model.named_modules()}
    with opened.switched(model, opened.switches(model)):
        opened.trace(model, source, torch.tensor([START]))
    assert held == {n: set(vars(part)) for n, part in model.named_modules()}


@pytest.mark.parametrize("positions", ["sinusoidal", "rope", "learned"])
def test_a_model_of_two_vocabularies_is_opened_too(positions):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 0}
    config = TransformerConfig(30, 20, **sizes, positions=positions)
    model, given = Transformer(config).eval(), torch.tensor([25, 28, 27, END])
    target = torch.tensor([START, 7, 9])
    found = opened.trace(model, given, target)
    words = model.source_embedding(given[None])[0]
    torch.testing.assert_close(found["encoder.stream"], words)
    last = opened.lens(model, found)[-1]
    torch.testing.assert_close(last, found["decoder.logits"])
    mixed = torch.tensor([28, 25, 27, END])
    for off in ([], ["positions"]):
        with opened.switched(model, off):
            one, two = (model.encode(x[None]).x[0] for x in (given, mixed))
        assert torch.allclose(one[2], two[2], atol=1e-5) == bool(off)


def test_a_switch_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"there is no decoder\.9\.cross"):
        with opened.switched(machine()[0], ["decoder.9.cross"]):
            pass


def test_the_last_level_of_the_lens_is_the_model_itself():
    model, source = machine()[0], captions()[0]
    target = torch.tensor([START, *written(source, [])[:-1]])
    found = opened.trace(model, source, target)
    levels = opened.lens(model, found)
    assert levels.shape[:2] == (len(model.decoder) + 1, len(target))
    torch.testing.assert_close(levels[-1], found["decoder.logits"])


OWN: dict[tuple[int, ...], list[int]] = {}  # translations, untouched
PAIRS = [
    ("a black cat sleeps on a chair .", "a white dog sleeps on a chair ."),
    ("a man is eating a red apple .", "a woman is riding a blue bike ."),
]
PATCHES = [
    ("encoder.{}.feedforward.stream", 2),
    ("encoder.{}.attention.head.1", 1),
    ("decoder.{}.cross.stream", 2),
    ("decoder.{}.cross.head.3", 1),
    ("decoder.{}.attention.head.0", 2),
]


def log_p(source: torch.Tensor) -> torch.Tensor:
    """log p of each piece of the model's own translation, now."""
    model = machine()[0]
    ids = torch.tensor(OWN[tuple(source.tolist())])
    start = torch.tensor([START, *ids[:-1].tolist()])
    logits = model(source[None], start[None])[0]
    logits[:, [0, START]] = -torch.inf
    return logits.log_softmax(-1)[torch.arange(len(ids)), ids]


def test_patching_is_torchs_patch(file):
    """Twenty patches: five stations, two pairs, two layers each."""
    model, pieces = machine()
    ids = lambda text: torch.tensor([*pieces.encode(text.split()), END])  # noqa: E731
    for pair in PAIRS:
        into, come = map(ids, pair)
        OWN[tuple(into.tolist())] = written(into, [])
        own = written(come, [])
        had = opened.trace(model, come, torch.tensor([START, *own[:-1]]))
        for pattern, position in PATCHES:
            asked, wanted = [], []
            for layer in (1, 3):
                name = pattern.format(layer)
                path, _, head = name.partition(".head.")
                vector = had[f"{path}.heads" if head else name][position]
                if head:
                    vector = vector.view(model.config.heads, -1)[int(head)]
                with torch.no_grad():
                    before = log_p(into)
                    with opened.patched(model, name, position, vector):
                        wanted.append((before, log_p(into)))
                asked.append(
                    {
                        "text": pair[0],
                        "other": pair[1],
                        "name": name,
                        "position": position,
                    }
                )
            given = {"file": file, "what": "patch", "each": asked}
            for found, (before, after) in zip(
                ask("opened", "opened", given), wanted, strict=True
            ):
                torch.testing.assert_close(
                    torch.tensor(found["before"]).double(),
                    before,
                    rtol=1e-4,
                    atol=1e-4,
                )
                torch.testing.assert_close(
                    torch.tensor(found["after"]).double(),
                    after,
                    rtol=1e-4,
                    atol=1e-4,
                )
                assert not torch.allclose(before, after, atol=1e-6)


def test_the_line_of_code_that_a_station_shows_stands_in_the_source():
    source = Path(opened.__file__).parent
    for kind, (_, _, file, line, page, _) in LIMITS["stations"].items():
        assert line in (source / file).read_text(encoding="utf-8"), kind
        assert (source.parents[1] / f"book/{page}.md").is_file(), kind


def test_the_odd_head_is_the_one_that_the_exercise_names():
    told, found = answer(LIMITS["examples"][0])
    noun, reads = told["source"].index("cat"), told["target"].index("un")
    odd = [
        (layer + 1, head + 1)
        for layer in range(exercises.LAYERS)
        for head in range(exercises.HEADS)
        if found[f"decoder.{layer}.cross.weights"][head, reads].argmax() != noun
    ]
    assert odd == [(exercises.LAYER, exercises.HEAD)]
    said("opened", "It attends to the first *a*, the article, with a weight")
    weights = found["decoder.0.cross.weights"][3, reads]
    assert weights.argmax() == 0 and weights.max() > 0.9


def test_without_positions_it_does_not_matter_who_bites_whom():
    widget = Opened()
    pair = "A dog bites a man.", "A man bites a dog."
    own = [widget.translation(text) for text in pair]
    assert own == ["un chien mord un homme .", "un homme mord un chien ."]
    without = {widget.translation(text, ("positions",)) for text in pair}
    said("opened", "*A man bites a dog* gets the same French, word for word")
    assert without == {"un homme mord un chien ."}
    held = {
        widget.translation(one, ("positions",))
        for one in (
            "A child is holding a woman.",
            "A woman is holding a child.",
        )
    }
    said("opened", "and writes *une femme tient un enfant* both times")
    assert held == {"une femme tient un enfant ."}
    said("opened", "is head 4 of the decoder's first cross-attention")
    said("opened", "It can go without a word changing")
    dog = "A dog bites a man."
    head = ("decoder.0.cross.head.3",)
    assert widget.translation(dog, head) == widget.translation(dog)
    said("opened", "the encoder's first residual connection cannot")
    around = ("encoder.0.attention.residual",)
    assert widget.translation(dog, around) != widget.translation(dog)
    said("opened", "The cat's sentence survives")
    cat = LIMITS["examples"][0]
    assert widget.translation(cat, ("positions",)) == widget.translation(cat)
    said("opened", "without it the cat's sentence, too, stays the same")
    assert widget.translation(cat, head) == widget.translation(cat)
    said("opened", "who kicks a blue ball, the colors change places")
    boy = "A boy in a red shirt is kicking a blue ball."
    assert widget.translation(boy, ("positions",)) == (
        "un garçon en t-shirt bleu frappe dans un ballon rouge ."
    )


def test_which_single_part_changes_the_cat_s_sentence():
    said("opened", "Any residual connection does, and most of the LayerNorms")
    said("opened", "Here that holds for every head and every whole sublayer")
    widget, cat = Opened(), LIMITS["examples"][0]
    names, own = opened.switches(widget.model), widget.translation(cat)
    changed = {n for n in names if widget.translation(cat, (n,)) != own}
    residual = {n for n in names if n.endswith(".residual")}
    norms = {n for n in names if n.endswith(".norm")}
    assert residual < changed and len(changed & norms) > 0.6 * len(norms)
    assert changed - residual - norms == {"diagonal"}


def test_the_lens_of_the_cat():
    told, _ = answer(LIMITS["examples"][0])
    reads = told["target"].index("chat")
    best = [level[reads][0] for level in told["lens"]]
    said("opened", "says *chat* at levels 0 and 1")
    said("opened", "says *noir* with 0.33")
    assert [one["piece"] for one in best] == ["chat"] * 2 + ["noir"] * 3
    assert round(best[2]["p"], 2) == 0.33 and best[3]["p"] > 0.9
    said("opened", "After layer 3. Up to layer 2 it would say *un*")
    before = [level[told["target"].index("un")][0] for level in told["lens"]]
    assert [one["piece"] for one in before] == ["un"] * 3 + ["chat"] * 2


def test_a_patched_noun_brings_article_and_adjective():
    widget = Opened()
    horse = "A brown horse is standing in a field."
    had = widget.trace("A brown cow is standing in a field.")

    def carried(name: str, position: int) -> str:
        with opened.patched(widget.model, name, position, had[name][position]):
            return widget.translation(horse)

    said("opened", "three French words have changed: noun, article, adjective")
    whole = carried("encoder.3.feedforward.stream", 2)
    assert whole.startswith("une vache brune est debout")


def test_the_adjective_follows_the_french_and_not_the_english():
    """The table of the exercise, and the forced words beside it."""
    widget = Opened()
    horse, cow = (
        f"A brown {one} is standing in a field." for one in ("horse", "cow")
    )
    model, pieces = widget.model, machine()[1]
    (source, own), had = widget.translate(horse), widget.trace(cow)
    word = {one: pieces.encode([one])[0] for one in ("brun", "brune")}

    def p(words: list[int], which: str, source=source) -> float:
        """Of the adjective, after the first two of these words."""
        start = torch.tensor([[START, *words[:2]]])
        with torch.no_grad():
            logits = model(source[None], start)[0, -1]
        return float(logits.softmax(-1)[word[which]])

    def carried(name: str, position: int = 2) -> float:
        with opened.patched(model, name, position, had[name][position]):
            return p(own, "brun")

    found = {
        part: [
            round(carried(f"decoder.{i}.{part}.stream"), 2) for i in range(4)
        ]
        for part in ("attention", "cross")
    }
    said("opened", "it works on each token alone, so the column comes out")
    after = [
        round(carried(f"decoder.{i}.feedforward.stream"), 2) for i in range(4)
    ]
    assert after == found["cross"]
    said("opened", "| self-attention | 0.81 | 0.20 | 0.09 | 0.01 |")
    assert found["attention"] == [0.81, 0.20, 0.09, 0.01]
    said("opened", "| cross-attention | 0.54 | 0.20 | 0.09 | 0.01 |")
    assert found["cross"] == [0.54, 0.20, 0.09, 0.01]
    said("opened", "the probability of *brun* falls only from 0.89 to 0.87")
    assert round(p(own, "brun"), 2) == 0.89
    assert round(carried("encoder.3.feedforward.stream"), 2) == 0.87
    said("opened", "Four of the five falls come with self-attention")
    said("opened", "the largest, 0.34, in layer 2")
    said("opened", "cross-attention in layer 1 brings the second largest, 0.27")
    order = [0.89, *(found[part][i] for i in range(4) for part in found)]
    falls = [round(a - b, 2) for a, b in pairwise(order)]
    assert falls == [0.08, 0.27, 0.34, 0, 0.11, 0, 0.08, 0]
    said("opened", "gives *brune* 0.45 and *brun* 0.08, though the source says")
    cows, theirs = widget.translate(cow)
    assert round(p(theirs, "brune"), 2) == 0.45
    assert round(p(theirs, "brun"), 2) == 0.08
    said("opened", "it gives *brun* 0.87 and *brune* next to nothing, though")
    assert round(p(own, "brun", cows), 2) == 0.87
    assert p(own, "brune", cows) < 0.001
    said("opened", "with the cow in the source, too, *brune* gets 0.74")
    assert round(p(theirs, "brune", cows), 2) == 0.74


def test_the_numbers_between_eight_tokens():
    said("opened", "Eight tokens in, eight out, since *bites* and *mord*")
    said("opened", "and two hundred thousand numbers between them")
    dog = "A dog bites a man."
    found = Opened().trace(dog)
    said("opened", "each side has one special token, `<end>` or `<start>`")
    told, _ = answer(dog)
    assert told["source"][-1] == "<end>" and told["target"][0] == "<start>"
    assert len(found["encoder.stream"]) == len(found["decoder.stream"]) == 8
    assert round(sum(t.numel() for t in found.values()), -5) == 200_000


def test_the_widget_refuses_what_does_not_fit():
    shown(Opened())
    refuses(Opened(), {"head": 4}, "head")
    refuses(Opened(), {"off": ["decoder.7.cross"]}, "there is no decoder.7")
    refuses(Opened(), {"mode": "dance"}, "one of walk")
    refuses(Opened(), {"text": "a" * 401}, "at most 400 letters")


def test_widget_and_oracle_give_the_same_answer(file):
    """What the page has from the start is what its worker will say."""
    told, _ = answer(LIMITS["examples"][0])
    asked = {"file": file, "what": "lens", "each": [{"text": told["text"]}]}
    (found,) = ask("opened", "opened", asked)
    for name in ("source", "target", "sentence"):
        assert found[name] == told[name]
    for mine, theirs in zip(found["table"], told["lens"], strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one[0]["piece"] == other[0]["piece"]
            assert abs(one[0]["p"] - other[0]["p"]) < 1e-3


def test_what_a_switch_costs_is_in_the_record():
    told, _ = costs()
    assert set(told) == {*opened.PRESETS, *opened.switches(machine()[0])}


@pytest.mark.multi30k
def test_the_costs_are_counted_on_all_validation_captions():
    assert costs()[1] == len(corpus.load("val"))


def test_sublayers_stand_in_for_one_another():
    """The three findings of the page, each from the record."""
    off = records.load("switches")["results"]["off"]
    gain = {name: row["step"]["gain"] for name, row in off.items()}
    whole = {
        n: x for n, x in gain.items() if n in opened.sublayers(machine()[0])
    }
    said("opened", "The costliest of the twenty, the decoder's first cross")
    assert min(whole, key=whole.get) == "decoder.0.cross"
    assert len(whole) == 20
    forward = {n: x for n, x in whole.items() if n.endswith("forward")}
    said("opened", "The costliest of the eight feed-forward layers")
    assert min(forward, key=forward.get) == "encoder.0.feedforward"
    said("opened", "Together they cost more than nine times the sum")
    assert gain["no feed-forward layers"] < 9 * sum(forward.values())
    said("opened", "Only the norms before cross-attention and the decoder's")
    said("opened", "at most … BLEU. Each of the others costs at least")
    for name, x in gain.items():
        if name.endswith((".norm", ".residual")):
            small = name.endswith("cross.norm") or name == "decoder.norm"
            most, least = "decoder.norm", "decoder.0.feedforward.residual"
            assert x >= gain[most] if small else x <= gain[least], name
    said("opened", "A part can cost more than the whole it belongs to.")
    head, all_four = off["decoder.0.cross.head.3"], off["decoder.0.cross"]
    assert head["step"]["high"] < all_four["step"]["low"]
    said("opened", "BLEU over all the captions, more than any other head")
    heads = {n: x for n, x in gain.items() if ".head." in n}
    assert min(heads, key=heads.get) == "decoder.0.cross.head.3"
    said("opened", "Most parts can go alone, and the words stay.")
    same = [off[name]["same"] for name in whole]
    assert sorted(same)[10] > 500  # of 1014 translations, word for word
