"""Two machines that learn: gradients, steps and looks against torch."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from widgets_common import ask, near, refuses, shown

from lookback.lab.corpus import Pair
from lookback.lab.decoding import force, greedy
from lookback.rnnsearch import Annotations, RNNsearch, RNNsearchConfig, annotate
from lookback.vocabulary import END, PAD, START, Vocabulary
from lookback.widgets import Learning
from lookback.widgets.learning import LIMITS

LETTERS = LIMITS["letters"]
BOTH = pytest.mark.parametrize("kind", ["fixed", "look"])
TASKS = pytest.mark.parametrize("task", LIMITS["tasks"])


class Fixed(RNNsearch):
    """RNNsearch with one vector in place of the look, and no other change."""

    def __init__(self, config: RNNsearchConfig):
        super().__init__(config)
        del self.attention
        self.squeeze = nn.Linear(2 * config.hidden, 2 * config.hidden)

    def encode(self, source):
        mask = source != PAD
        values = annotate(self.encoder, self.source_embedding(source), mask)
        on, back = values.chunk(2, dim=-1)
        end = on[torch.arange(len(source)), mask.sum(1) - 1]
        c = torch.tanh(self.squeeze(torch.cat([end, back[:, 0]], dim=-1)))
        return Annotations(c[:, None], c[:, None], mask[:, :1], back[:, 0])

    def look(self, state, memory):
        return memory.values[:, 0], None


def build(tensors: list) -> RNNsearch:
    """The machine in torch, from its tensors by name."""
    exact = {"dtype": torch.float64}
    held = {name: torch.tensor(x, **exact) for name, x, *_ in tensors}
    width = len(held["bridge.bias"])
    look = "attention.v" in held
    config = RNNsearchConfig(
        *[len(LETTERS) + 4] * 2,
        embed=LIMITS["d_embed"],
        hidden=width,
        align=len(held["attention.v"]) if look else 1,
        maxout=width // 2,
        dropout=0.0,
    )
    model = (RNNsearch if look else Fixed)(config).double()
    parameters = dict(model.named_parameters())
    assert held.keys() == parameters.keys()
    for name, parameter in parameters.items():
        parameter.data = held[name].reshape(parameter.shape)
    return model


def loss_of(model: RNNsearch, batch: list, task: str) -> torch.Tensor:
    """Of all its strings, of whatever length, in one padded batch."""
    strings = [ids for part in batch for ids in part]
    turn = -1 if task == "reverse" else 1
    source, target = (
        nn.utils.rnn.pad_sequence(
            [torch.tensor([*first, *ids[::way], END]) for ids in strings],
            batch_first=True,
            padding_value=PAD,
        )
        for first, way in (((), 1), ((START,), turn))
    )
    logits = model(source, target[:, :-1])
    return F.cross_entropy(
        logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
    )


def batches(seed: int, count: int) -> list:
    """Strings in parts of one length each, and one alone: a long gradient."""
    torch.manual_seed(seed)
    many = [
        [torch.randint(4, 30, (3, n)).tolist() for n in (1, 4, 7)]
        for _ in range(count)
    ]
    return [*many, [[[9, 9]]]]


@BOTH
@TASKS
@pytest.mark.parametrize("width", LIMITS["widths"])
def test_loss_and_every_gradient_are_those_of_torch(kind, width, task):
    given = {"kind": kind, "width": width, "seed": 5, "task": task}
    rate, drawn = 0.03, batches(width, 3)
    found = ask("learning", "learned", given | {"rate": rate, "batches": drawn})
    model = build(found["drawn"])
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    cut = set()
    for step, batch in zip(found["steps"], drawn, strict=True):
        optimiser.zero_grad()
        loss = loss_of(model, batch, task)
        near(step["loss"], loss, by=1e-9)
        loss.backward()
        gradients = {name: x for name, x, _ in step["gradient"]}
        for name, parameter in model.named_parameters():
            near(gradients[name], parameter.grad.flatten(), by=1e-9)
        length = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        cut.add(bool(length > 1))
        optimiser.step()
        moved = {name: x for name, x, _ in step["weights"]}
        for name, parameter in model.named_parameters():
            near(moved[name], parameter.detach().flatten(), by=1e-9)
    assert cut == {False, True}


def test_the_gradient_vanishes_nowhere():
    """Else the test above might compare zeros."""
    given = {"width": 12, "seed": 5, "task": "reverse", "rate": 0.03}
    for kind in ("fixed", "look"):
        more = {"kind": kind, "batches": batches(0, 2)}
        found = ask("learning", "learned", given | more)
        for name, gradient, _ in found["steps"][1]["gradient"]:
            assert any(gradient), name


@pytest.mark.parametrize("width", LIMITS["widths"])
def test_both_have_nearly_as_many_weights(width):
    fixed, look = (
        sum(
            len(x)
            for _, x, _ in ask(
                "learning",
                "learned",
                {"kind": kind, "width": width, "seed": 0, "batches": []},
            )["drawn"]
        )
        for kind in ("fixed", "look")
    )
    assert abs(fixed - look) / fixed < 0.01
    assert width != Learning().width or 5000 < fixed < 5500


@BOTH
@TASKS
def test_what_is_written_and_where_it_looks_are_those_of_torch(kind, task):
    texts = [[4 + LETTERS.index(x) for x in word] for word in ("noir", "ab")]
    given = {"kind": kind, "width": 8, "seed": 3, "task": task, "rate": 0.03}
    found = ask("learning", "written", given | {"steps": 60, "texts": texts})
    assert all(a != b for a, b in pairwise(found["losses"]))
    model, words = build(found["tensors"]).eval(), Vocabulary([*LETTERS])
    for ids, mine in zip(texts, found["texts"], strict=True):
        source = torch.tensor([[*ids, END]])
        [said] = greedy(model, source, len(ids) + 3)
        assert mine["written"] == [id for id in said.tokens if id != END]
        right = ids[::-1] if task == "reverse" else ids
        pair = Pair(words.decode(ids), words.decode(right))
        if kind == "look":
            near(mine["gaze"], force(model, [pair], words, words)[0])


def place(task: str, n: int, i: int) -> int:
    """Where the letter stands that is the i-th to be written."""
    return n - 1 - i if task == "reverse" else i


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_look_finds_the_letters_from_the_shipped_settings(seed):
    """In 400 steps; about 250 are enough."""
    torch.manual_seed(0)
    texts = torch.randint(4, 30, (40, 6)).tolist()
    state, n = Learning(), 6
    given = {"width": state.width, "task": state.task, "rate": state.rate}
    given |= {"kind": "look", "seed": seed, "steps": 400, "texts": texts}
    found = ask("learning", "written", given)
    hits = [
        max(range(n + 1), key=row.__getitem__) == place(state.task, n, i)
        for one in found["texts"]
        for i, row in enumerate(one["gaze"][:n])
    ]
    assert sum(hits) / len(hits) > 0.85
    assert sum(found["right"][:6]) / 6 > 60


@pytest.mark.nightly
def test_what_the_chapter_says_is_seen():
    state = Learning()
    given = {"width": state.width, "task": state.task, "rate": state.rate}
    given |= {"seed": state.seed, "steps": 400, "texts": []}
    fixed, look = (
        ask("learning", "written", given | {"kind": kind})
        for kind in ("fixed", "look")
    )

    def lately(one: dict, step: int) -> float:
        return sum(loss for (loss,) in one["losses"][step - 20 : step]) / 20

    assert abs(lately(look, 100) / lately(fixed, 100) - 1) < 0.1
    assert lately(look, 200) < 0.5 * lately(fixed, 200)
    assert lately(fixed, 400) < lately(fixed, 200)
    assert fixed["right"][0] > 60 and max(fixed["right"][3:]) < 10
    assert min(look["right"][:5]) > 80 and look["right"][9] <= 10


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"task": "sort"}, "task is 'sort': give one of"),
        ({"width": 13}, "width is 13: give one of"),
        ({"width": True}, "give a number"),
        ({"rate": 0.0}, "rate is 0.0: give 0.0001 to 0.1"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"text": ""}, "give 1 to 10 letters"),
        ({"text": "abcdefghijk"}, "give 1 to 10 letters"),
        ({"text": "Noir!"}, "not among the letters"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, says):
    refuses(Learning(), wrong, says)


def test_it_has_a_picture_and_words():
    assert "“kcabkool”" in shown(Learning())
    assert "“noir”" in Learning(task="copy", text="noir").words()
