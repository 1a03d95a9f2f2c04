"""Greedy and beam search, on toy models whose every probability is known."""

import itertools
import math
from typing import NamedTuple

import pytest
import stand_in
import torch
from torch import nn

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.lab.corpus import Pair, pad
from lookback.lab.decoding import beam, force, greedy, translate
from lookback.lab.training import device
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, START, UNK, Vocabulary

A, B, C = 4, 5, 6
WORDS = Vocabulary(["a", "b", "c"])
SOURCES = [[A, B, C, A, END], [B, END], [C, C, END]]
SIZE = 9973


class Memory(NamedTuple):
    source: torch.Tensor


class Prefix(NamedTuple):
    code: torch.Tensor  # a number that stands for all the words so far


class Toy(Translator):
    """The next word depends, at random but for ever, on the whole prefix."""

    def __init__(self, seed: int, end: float = 0.0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        table = 2 * torch.randn(SIZE, 7, generator=generator)
        table[:, END] += end  # how much it likes to stop
        self.table = nn.Parameter(table)
        self.looks = nn.Parameter(torch.randn(SIZE, 8, generator=generator))

    def encode(self, source):
        return Memory(source)

    def start(self, memory):
        return Prefix(memory.source.sum(dim=1))

    def step(self, token, state, memory):
        code = (31 * state.code + 7 * token + 1) % SIZE
        e = self.looks[code, : memory.source.shape[1]]
        e = e.masked_fill(memory.source == PAD, -torch.inf)
        return self.table[code], Prefix(code), e.softmax(-1)


class Chain(Translator):
    """The next word depends on the last alone, by a table of probabilities.

    The logits are a view of the model's own table, which must stay as it is.
    """

    def __init__(self, table: dict[int, dict[int, float]]):
        super().__init__()
        rows = torch.zeros(7, 7)
        for last in range(7):
            nexts = table.get(last, {END: 1.0})
            for word, probability in nexts.items():
                rows[last, word] = probability
        self.table = nn.Parameter(rows.log(), requires_grad=False)

    def encode(self, source):
        return Memory(source)

    def start(self, memory):
        return Prefix(memory.source[:, 0])

    def step(self, token, state, memory):
        if (token == token[0]).all():
            return self.table[token[0]].expand(len(token), -1), state, None
        return self.table[token], state, None


def log_probabilities(model, source, words):
    """log p of each word, one at a time; <pad> and <start> cannot be said."""
    memory = model.encode(torch.tensor([source]))
    state, last, logs = model.start(memory), START, []
    for word in words:
        logits, state, _ = model.step(torch.tensor([last]), state, memory)
        row = logits[0].tolist()
        row[PAD] = row[START] = -math.inf
        total = math.log(sum(math.exp(x) for x in row))
        logs.append(row[word] - total)
        last = word
    return logs


def naive_greedy(model, source, longest):
    memory = model.encode(torch.tensor([source]))
    state, words = model.start(memory), [START]
    while len(words) <= longest and words[-1] != END:
        logits, state, _ = model.step(torch.tensor([words[-1]]), state, memory)
        row = logits[0].tolist()
        row[PAD] = row[START] = -math.inf
        words.append(row.index(max(row)))
    return words[1:]


def exhaustive(model, source, longest):
    """The best of all sequences that end, or that are `longest` words."""
    best = (-math.inf, [])
    for length in range(1, longest + 1):
        for body in itertools.product((UNK, A, B, C), repeat=length - 1):
            last = (END,) if length < longest else (UNK, END, A, B, C)
            for word in last:
                words = [*body, word]
                logs = log_probabilities(model, source, words)
                best = max(best, (sum(logs) / length, words))
    return best


def real_models():
    torch.manual_seed(0)
    sizes = dict(embed=8, hidden=8, maxout=8, dropout=0.5)
    models = [
        Bottleneck(BottleneckConfig(7, 7, **sizes)),
        RNNsearch(RNNsearchConfig(7, 7, align=8, **sizes)),
    ]
    for model in models:
        for weight in model.parameters():
            nn.init.normal_(weight)  # so that it says different things
    return models


MODELS = [Toy(1), Toy(2, end=2.0), *real_models()]
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=["toy", "terse", "gru", "search"]
)


@every_model
def test_greedy_equals_a_naive_loop(model):
    found = greedy(model, pad(SOURCES))
    for source, each in zip(SOURCES, found, strict=True):
        words = naive_greedy(model, source, 2 * len(source) + 10)
        assert each.tokens == words
        logs = log_probabilities(model, source, words)
        assert each.score == pytest.approx(sum(logs) / len(logs), abs=1e-5)


def same(mine, true):
    for a, b in zip(mine, true, strict=True):
        assert a.tokens == b.tokens
        assert a.score == pytest.approx(b.score, abs=1e-5)
        assert (a.weights is None) == (b.weights is None)
        if a.weights is not None:
            torch.testing.assert_close(a.weights, b.weights)


@every_model
def test_a_beam_of_width_1_is_greedy(model):
    same(beam(model, pad(SOURCES), width=1), greedy(model, pad(SOURCES)))


@every_model
@pytest.mark.parametrize("width", [1, 3])
def test_batched_equals_one_by_one(model, width):
    alone = [beam(model, torch.tensor([s]), width)[0] for s in SOURCES]
    same(beam(model, pad(SOURCES), width), alone)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("end", [0.0, 3.0])
def test_a_wide_beam_equals_exhaustive_search(seed, end):
    model, longest = Toy(seed, end), 4
    found = beam(model, pad(SOURCES), width=600, longest=longest)
    for source, each in zip(SOURCES, found, strict=True):
        score, words = exhaustive(model, source, longest)
        assert each.tokens == words
        assert each.score == pytest.approx(score, abs=1e-5)


@every_model
@pytest.mark.parametrize("width", [2, 5])
def test_the_score_is_the_mean_log_probability(model, width):
    for source, each in zip(
        SOURCES, beam(model, pad(SOURCES), width), strict=True
    ):
        logs = log_probabilities(model, source, each.tokens)
        assert each.score == pytest.approx(sum(logs) / len(logs), abs=1e-5)


def naive_beam(model, source, width, longest, power):
    """At every step the `width` best by log-probability / length ** power."""
    kept = [(0.0, [])]
    for _ in range(longest):
        grown = []
        for score, words in kept:
            if words[-1:] == [END]:
                grown.append((score, words))
                continue
            for word in (UNK, END, A, B, C):
                logs = log_probabilities(model, source, [*words, word])
                score = sum(logs) / len(logs) ** power
                grown.append((score, [*words, word]))
        kept = sorted(grown, reverse=True)[:width]
    return kept[0]


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_beam_equals_a_naive_one(width, power, seed):
    model = Toy(seed, end=1.0)
    found = beam(model, pad(SOURCES), width, longest=6, power=power)
    for source, each in zip(SOURCES, found, strict=True):
        score, words = naive_beam(model, source, width, 6, power)
        assert each.tokens == words
        assert each.score == pytest.approx(score, abs=1e-5)


# Greedy says "a" and can only go on badly; "b c" is better in the end.
TRAP = {
    START: {A: 0.6, B: 0.4},
    A: {A: 0.3, B: 0.3, C: 0.2, END: 0.2},
    B: {C: 1.0},
    C: {END: 1.0},
}


def test_beam_finds_what_greedy_misses():
    model, source = Chain(TRAP), torch.tensor([[A, END]])
    [first], [best] = greedy(model, source), beam(model, source, width=2)
    assert first.tokens[0] == A
    assert best.tokens == [B, C, END]
    assert best.score == pytest.approx(math.log(0.4) / 3, abs=1e-6)
    assert best.score > first.score


def test_a_finished_prefix_stays_and_costs_nothing_more():
    table = {
        START: {A: 0.9, B: 0.1},
        A: {END: 0.7, B: 0.3},
        B: {B: 0.6, END: 0.4},
    }
    [best] = beam(Chain(table), torch.tensor([[A, END]]), width=3)
    assert best.tokens == [A, END]
    assert best.score == pytest.approx(math.log(0.9 * 0.7) / 2, abs=1e-6)


def test_length_normalisation():
    # "a <end>" has p = 0.3 in all; "b b c <end>" only 0.26, but more a word
    table = {
        START: {A: 0.48, B: 0.52},
        A: {END: 0.625, C: 0.375},
        B: {C: 0.5, UNK: 0.5},
        C: {END: 1.0},
        UNK: {UNK: 1.0},
    }
    [best] = beam(Chain(table), torch.tensor([[A, END]]), 9, longest=3)
    assert math.log(0.26) / 3 > math.log(0.3) / 2
    assert best.tokens in ([B, C, END], [B, UNK, UNK])
    assert best.score == pytest.approx(math.log(0.26) / 3, abs=1e-6)
    [short] = beam(Chain(table), torch.tensor([[A, END]]), 9, 3, power=0.0)
    assert short.tokens == [A, END]
    assert short.score == pytest.approx(math.log(0.3), abs=1e-6)


def test_unknown_words_can_be_forbidden():
    table = {
        START: {UNK: 0.9, A: 0.1},
        UNK: {END: 1.0},
        A: {END: 0.5, UNK: 0.5},
    }
    model, source = Chain(table), torch.tensor([[A, END]])
    assert greedy(model, source)[0].tokens == [UNK, END]
    for found in (
        greedy(model, source, forbid_unknown=True),
        beam(model, source, 2, forbid_unknown=True),
    ):
        assert found[0].tokens == [A, END]


def test_the_model_s_own_tensors_are_left_alone():
    model = Chain(TRAP)
    before = model.table.clone()
    greedy(model, torch.tensor([[A, END]]), forbid_unknown=True)
    assert torch.equal(model.table, before)


@pytest.mark.parametrize("width", [1, 2])
def test_the_longest_translation(width):
    for_ever = Chain({START: {A: 1.0}, A: {A: 1.0}})
    found = beam(for_ever, pad(SOURCES), width, longest=7)
    assert [each.tokens for each in found] == [[A] * 7] * 3
    found = beam(for_ever, pad(SOURCES), width)
    assert [len(e.tokens) for e in found] == [
        2 * len(source) + 10 for source in SOURCES
    ]


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[3]])
@pytest.mark.parametrize("width", [1, 4])
def test_the_weights_are_those_of_the_words_said(model, width):
    sentences = [["a", "b", "c", "a"], ["b"], ["c", "c"]]
    found = translate(model, sentences, WORDS, WORDS, width)
    ended = [each.tokens[-1] == END for _, each in found]
    assert any(ended)
    for words, (said, each), whole in zip(sentences, found, ended, strict=True):
        [looks] = force(model, [Pair(words, said)], WORDS, WORDS)
        assert each.weights.shape == (len(each.tokens), len(words) + 1)
        torch.testing.assert_close(each.weights, looks if whole else looks[:-1])


def test_a_model_that_never_looks_has_no_weights():
    model = MODELS[2]
    assert greedy(model, pad(SOURCES))[0].weights is None
    with pytest.raises(ValueError, match="never looks"):
        force(model, [Pair(["a"], ["b"])], WORDS, WORDS)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3]])
def test_force_batched_equals_one_by_one(model):
    pairs = [
        Pair(["a", "b", "c"], ["b"]),
        Pair(["c"], ["a", "b", "b", "c"]),
        Pair(["b", "a"], ["c", "c"]),
    ]
    together = force(model, pairs, WORDS, WORDS)
    for pair, looks in zip(pairs, together, strict=True):
        assert looks.shape == (len(pair.target) + 1, len(pair.source) + 1)
        [alone] = force(model, [pair], WORDS, WORDS)
        torch.testing.assert_close(looks, alone)
        torch.testing.assert_close(
            looks.sum(-1), torch.ones(len(pair.target) + 1)
        )
    for a, b in zip(
        together, force(model, pairs, WORDS, WORDS, size=1), strict=True
    ):
        torch.testing.assert_close(a, b)


@every_model
def test_translate_answers_in_the_order_of_the_questions(model):
    sentences = [["a", "b", "c", "a"], ["b"], ["c", "unheard"], ["a", "a"]]
    numbers = [[A, B, C, A, END], [B, END], [C, UNK, END], [A, A, END]]
    for size, power in ((1, 1.0), (3, 1.0), (100, 1.0), (3, 2.0)):
        found = translate(model, sentences, WORDS, WORDS, 2, size, power)
        for (words, each), source in zip(found, numbers, strict=True):
            [alone] = beam(model, torch.tensor([source]), 2, power=power)
            assert each.tokens == alone.tokens
            assert each.score == pytest.approx(alone.score, abs=1e-5)
            assert words == WORDS.decode(each.tokens)


def test_translate_turns_dropout_off():
    model = MODELS[3].train()
    said = [
        translate(model, [["a", "b"]], WORDS, WORDS)[0][1].tokens
        for _ in range(3)
    ]
    assert said[0] == said[1] == said[2] and not model.training


@pytest.mark.parametrize("width", [0, -1])
def test_a_beam_holds_something(width):
    with pytest.raises(ValueError, match=f"width is {width}"):
        beam(MODELS[0], pad(SOURCES), width)


@pytest.mark.parametrize("width", [1, 3])
def test_a_step_asks_the_gpu_once(width):
    waits = []
    with stand_in.StandIn():
        model = Toy(1, end=-100.0).to("cuda")
        source = pad(SOURCES).to("cuda")
        for longest in (4, 9):
            before = stand_in.WAITS
            found = beam(model, source, width, longest)
            assert {len(each.tokens) for each in found} == {longest}
            waits.append(stand_in.WAITS - before)
    assert waits[1] - waits[0] == 9 - 4
    assert waits[0] < 4 + 8  # and a few for the batch


@pytest.mark.parametrize("longest", [0, -3])
def test_a_translation_has_a_word(longest):
    with pytest.raises(ValueError, match=f"longest is {longest}"):
        greedy(MODELS[0], pad(SOURCES), longest)


def test_an_empty_sentence():
    with pytest.raises(ValueError, match=r"sentences\[1\] is empty"):
        translate(MODELS[0], [["a"], []], WORDS, WORDS)
    assert translate(MODELS[0], [], WORDS, WORDS) == []


@pytest.mark.cuda
@every_model
def test_cpu_equals_cuda(model):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    here = beam(model, pad(SOURCES), 3)
    where = device()  # in fp32
    there = beam(model.to(where), pad(SOURCES).to(where), 3)
    model.cpu()
    same(there, here)


def test_a_model_that_has_diverged_is_named():
    model = real_models()[0]
    next(model.parameters()).data.fill_(float("nan"))
    with pytest.raises(ValueError, match="diverged"):
        beam(model, pad(SOURCES), 2)
