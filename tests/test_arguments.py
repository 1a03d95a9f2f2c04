"""What a reader can get wrong in a call of the bench is said in a sentence.

Each public function has a row: a right call, and for its arguments values that
somebody may well give instead. Every one has to end in an error that names the
argument. A new function needs a row, or a reason in `LEFT`.
"""

import importlib
import inspect
import pkgutil
import random
import re
import traceback
from itertools import repeat
from math import nan
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

import lookback
from lookback.bottleneck import Bottleneck
from lookback.lab import (
    aligner,
    checkpoints,
    corpus,
    significance,
    story_task,
    subwords,
    synthetic_handwriting,
    training,
)
from lookback.lab.corpus import Pair
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.vocabulary import END, Vocabulary

SAID = [["a", "dog", "runs"], ["a", "cat"]]
TRUE = [["a", "dog", "sits"], ["a", "cat"]]
PAIRS = [Pair(["a", "b"], ["x"]), Pair(["c"], ["y", "z", "x"])]
SOURCE, TARGET = Vocabulary(["a", "b", "c"]), Vocabulary(["w", "x", "y", "z"])
SIZES = dict(embed=4, hidden=4, maxout=4, align=4)
MODEL = RNNsearch(RNNsearchConfig(len(SOURCE), len(TARGET), **SIZES))
TOKENS = torch.tensor([[4, 5, END], [6, END, 0]])
LINKS = [{(0, 0), (1, 1)}, {(0, 0)}]
WEIGHTS = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
TOLD = story_task.stories(0, 2, 12, 1)
WRITTEN = synthetic_handwriting.Hand(), np.random.default_rng(0)
PIECES = subwords.Subwords.learn(SAID, 20)
TABLE = aligner.learn(PAIRS, 1)
CONFIG = checkpoints.TrainingConfig(epochs=1)
COUNTS = "3 2 1 0 4 5, 1 0 0 0 1 2"
ROWS_OF = significance.caption_rows(COUNTS)
RUN = {
    "tests": {
        split: {
            "greedy": {"counts": COUNTS, "chrf": 50.0},
            "loss": 2.0,
        }
        for split in corpus.TESTS
    },
    "long": {"2": {"counts": COUNTS, "first": "a", "stops": [1.0, 1.0]}},
}
SPREAD = significance.Deviation(1.0, 2)
RUNS = {"old": [RUN, RUN], "new": [RUN, RUN]}

# What people give instead


def once(values):
    return (each for each in values)


WHOLE = (None, True, 2.5, nan, "3", [3], torch.tensor([1, 2]))
FLAG = (None, 1, "yes", 0.5)
NUMBER = (None, True, nan, float("inf"), "1", [1.0], torch.tensor(1.0))
TEXT = (None, 3, ["a"], b"a", Path("a"))
WORDS = (None, "a dog", b"a dog", 3, ["a dog"], [4, 5], [["a"]], {"a"}, [None])
SENTENCES = (
    None,
    "a dog runs",
    ["a dog runs", "a cat"],
    ["a", "dog"],
    [["a dog runs"], ["a cat"]],
    [[4, 5], [6]],
    [["a", None], ["b"]],
    [None, ["a"]],
    [[["a", "dog"]], [["a", "cat"]]],
    [(["a"], None), (["b"], None)],  # what `translate` returns
    [("a" for _ in range(2)), ["b"]],
    {("a",), ("b",)},
    np.array([["a", "b"]]),
    TOKENS,
    7,
)
LISTS = (*SENTENCES, once(SAID))
MATES = (
    None,
    "a dog",
    [("a dog", "un chien")],
    [Pair("a dog", "un chien")],
    [Pair(["a dog"], ["un chien"])],
    [Pair([4, 5], [6])],
    [["a"], ["b"]],
    PAIRS[0],
    TOKENS,
    7,
)
WORDS_OF = (None, ["a", "b"], {"a": 4}, "en", 7, MODEL)
NO_MODEL = (None, "rnnsearch", (MODEL, SOURCE, TARGET), RNNsearch, torch.nn.GRU)
NO_SOURCE = (
    None,
    "a b",
    [[4, 5, END]],
    [["a", "b"]],
    TOKENS[0],
    TOKENS[None],
    TOKENS.numpy(),
    TOKENS.float(),
    TOKENS > 0,
    TOKENS[:0],
    TOKENS[:, :0],
    4,
)
NO_TOKENS = (
    *NO_SOURCE,
    torch.zeros(1, 2, dtype=torch.long),
    torch.tensor([[4, END], [0, 0]]),
    torch.tensor([[0, 4, END]]),
    torch.tensor([[4, 0, END]]),
    torch.tensor([[4, -1, END]]),
    torch.tensor([[4, 7, END]]),  # a number of the other language
)
PLACE = (None, "runs", 3, ["runs"])
NO_LINKS = (None, LINKS[0], {(0, 0)}, once(LINKS), [(0, 0), (1, 1)], "0-0", 3)
NO_LINKS += ([{0, 1}, {0}], [None, {(0, 0)}], [[[0, 0]], [[0, 0]]], [WEIGHTS])
NO_RUNS = (None, ROWS_OF, [], [ROWS_OF[0]], [ROWS_OF[:, :6]], [COUNTS], 3)
NO_RUNS += ([ROWS_OF, ROWS_OF[:1]], once([ROWS_OF]), [RUN])
NO_RUN = (None, [RUN], "search", {}, COUNTS)
SPLIT = (None, "val", "test", ["all"], 3)
HANDS = (None, 0, "right", WRITTEN[1])
RNG = (None, 0, random.Random(0), torch.Generator())
LETTERS = (None, 3, "A", "é", ["a"])
NUMBERS = (None, "12", [], 3.5, [True], [nan], ["1"], [None], once([1.0]))


def row(name, right, /, **wrong):
    return name, (right, wrong)


def pairs_of(_):
    return PAIRS


def score(_):
    return {"score": 1.0}


both = dict(hypotheses=SAID, references=TRUE)
asked_of = dict(model=MODEL, source=SOURCE, target=TARGET)
sides = dict(source=SOURCE, target=TARGET)
NO_SIDES = dict(source=WORDS_OF, target=WORDS_OF)
OTHER = dict(source=(*WORDS_OF, TARGET), target=(*WORDS_OF, SOURCE))
HYPOTHESES = dict(hypotheses=(*LISTS, []), references=(*LISTS, [], SAID[:1]))

ROWS = dict(
    [
        row("metrics.bleu", both, **HYPOTHESES, resamples=(*WHOLE, 1, -5)),
        row("metrics.counts", both, **HYPOTHESES),
        row("metrics.chrf", both, **HYPOTHESES),
        row("metrics.matched", both, **HYPOTHESES),
        row(
            "metrics.bleu_by_length",
            dict(both, lengths=[3, 2], edges=[1, 4], resamples=2),
            **HYPOTHESES,
            lengths=(None, 3, "32", [3], [3, 2.5], ["3", "2"], SAID),
            edges=(None, 3, "14", [4], [4, 1], [1, nan], ["1", "4"]),
            resamples=(*WHOLE, 1),
        ),
        row(
            "metrics.links",
            dict(weights=WEIGHTS),
            weights=(
                None,
                WEIGHTS.numpy(),
                WEIGHTS.tolist(),
                WEIGHTS[0],
                WEIGHTS[None],
                WEIGHTS[:, :0],
                WEIGHTS * nan,
                [WEIGHTS],
            ),
        ),
        row(
            "metrics.alignment_error_rate",
            dict(found=LINKS, sure=LINKS),
            found=(*NO_LINKS, []),
            sure=(*NO_LINKS, [], LINKS[:1]),
            possible=(*NO_LINKS[1:], []),
        ),
        row("decoding.limit", dict(source=TOKENS), source=NO_SOURCE),
        row(
            "decoding.greedy",
            dict(model=MODEL, source=TOKENS, longest=2),
            model=NO_MODEL,
            source=NO_TOKENS,
            longest=(*WHOLE[1:], 0),
            forbid_unknown=FLAG,
        ),
        row(
            "decoding.beam",
            dict(model=MODEL, source=TOKENS, longest=2),
            model=NO_MODEL,
            source=NO_TOKENS,
            width=(*WHOLE, 0),
            longest=(*WHOLE[1:], 0),
            forbid_unknown=FLAG,
            power=(*NUMBER, -1.0),
        ),
        row(
            "decoding.translate",
            dict(asked_of, sentences=[["a", "b"], ["c"]]),
            model=NO_MODEL,
            sentences=(*LISTS, [["a"], []]),
            **OTHER,
            width=(*WHOLE, 0),
            size=(*WHOLE, 0, -1),
            power=(*NUMBER, -1.0),
        ),
        row(
            "decoding.force",
            dict(asked_of, pairs=PAIRS),
            model=NO_MODEL,
            pairs=(*MATES, once(PAIRS), [Pair([], ["x"])]),
            **OTHER,
            size=(*WHOLE, 0, -1),
        ),
        row(
            "corpus.read",
            dict(source=Path("some.en"), target=Path("some.fr")),
            source=PLACE,
            target=PLACE,
        ),
        row(
            "corpus.load",
            dict(split="val"),
            split=(None, "dev", 3, ["val"]),
            source=(None, "es", 3, "fr"),
            target=(None, "es", 3, "en"),
        ),
        row(
            "corpus.join",
            dict(pairs=PAIRS, sizes=repeat(2)),
            pairs=MATES,
            sizes=(None, 3, "22", [0], [2.0], [True], [nan], [1], [None]),
        ),
        row(
            "corpus.Batch.of",
            dict(rows=corpus.encode(PAIRS, SOURCE, TARGET)),
            rows=(None, [], "a b", PAIRS, [[4, 5]], TOKENS, 7, once([[4]])),
        ),
        row(
            "corpus.Batch.to",
            dict(
                self=corpus.collate(PAIRS, SOURCE, TARGET),
                device=torch.device("cpu"),
            ),
            device=(None, "cpu", "cuda", 0, MODEL),
        ),
        row(
            "corpus.pad",
            dict(rows=[[4, 5], [6]]),
            rows=(
                None,
                [],
                [[]],
                "a b",
                [4, 5],
                SAID,
                [["4", "5"]],
                [[4.7, 5.2]],
                [[4, nan]],
                [[True, False]],
                [[None]],
                [[[4]]],
                once([[4]]),
                [once([4])],
                7,
            ),
        ),
        row(
            "corpus.encode",
            dict(sides, pairs=PAIRS),
            pairs=(*MATES, once(PAIRS)),
            **NO_SIDES,
        ),
        row(
            "corpus.collate",
            dict(sides, pairs=PAIRS),
            pairs=(*MATES, once(PAIRS), []),
            **NO_SIDES,
        ),
        row("corpus.text", dict(words=["a", "dog"]), words=WORDS),
        row(
            "corpus.batches",
            dict(pairs=PAIRS, size=1, seed=0),
            pairs=(None, "a dog", once(PAIRS), TOKENS, 7),
            size=(*WHOLE, 0, -1),
            seed=WHOLE,
        ),
        row(
            "training.loss",
            dict(logits=torch.randn(2, 3, 8), target_out=TOKENS, smoothing=0.1),
            logits=(
                None,
                TOKENS,
                torch.randn(2, 8),
                torch.randn(3, 2, 8),
                torch.randn(2, 3, 8).numpy(),
                torch.randn(2, 8, 3),
            ),
            target_out=(None, TOKENS[0], TOKENS.T, TOKENS.float(), [[4]]),
            smoothing=(*NUMBER, -0.1, 1.0),
        ),
        row(
            "training.learning_rate",
            dict(config=CONFIG, step=0, steps=10),
            config=(None, {"learning_rate": 1e-3}, 1e-3),
            step=(*WHOLE, -1),
            steps=(*WHOLE, 0),
        ),
        row(
            "training.validation_loss",
            dict(asked_of, pairs=PAIRS),
            model=NO_MODEL,
            pairs=(*MATES, once(PAIRS), []),
            **OTHER,
            size=(*WHOLE, 0, -1),
        ),
        row(
            "training.train",
            dict(
                asked_of,
                pairs=pairs_of,
                config=CONFIG,
                folder=Path("runs"),
                validate=score,
            ),
            model=NO_MODEL,
            pairs=(None, PAIRS, lambda _: [], lambda _: ["a dog"]),
            **OTHER,
            config=(None, {"epochs": 1}),
            folder=PLACE,
            validate=(None, 1.0, [PAIRS], lambda _: 1.0),
            keep=(*WHOLE, -1),
        ),
        row(
            "training.average",
            dict(model=MODEL, folder=Path("runs"), epochs=[1]),
            model=NO_MODEL,
            folder=PLACE,
            epochs=(None, 3, [], "12", [1.5], [True], ["1"], once([1])),
        ),
        row(
            "checkpoints.TrainingConfig",
            dict(epochs=1),
            **dict.fromkeys(("epochs", "batch", "patience"), (*WHOLE, 0)),
            **dict.fromkeys(("save_every",), (*WHOLE, 0)),
            warmup=(*WHOLE, -1),
            seed=WHOLE,
            **dict.fromkeys(("learning_rate", "clip"), (*NUMBER, 0.0, -1)),
            smoothing=(*NUMBER, -0.1, 1.0),
        ),
        row(
            "aligner.learn",
            dict(pairs=PAIRS),
            pairs=(*MATES, once(PAIRS), []),
            rounds=(*WHOLE, 0),
        ),
        row(
            "aligner.align",
            dict(table=TABLE, pair=PAIRS[0]),
            table=(None, PAIRS, [TABLE], "a"),
            pair=(None, "a dog", PAIRS, ("a b", "x"), Pair("a b", "x")),
        ),
        row(
            "phrasebook.sentences",
            {},
            seed=(*WHOLE, -1),
            length=(3, True, "huge", ["short"]),
            clauses=(*WHOLE[1:], 0),
        ),
        row(
            "phrasebook.sample",
            dict(n=1),
            n=(*WHOLE, -1),
            seed=(*WHOLE, -1),
            length=(3, True, "huge", ["short"]),
            clauses=(*WHOLE[1:], 0),
        ),
        row(
            "vocabulary.Vocabulary",
            dict(words=["a"]),
            words=(*WORDS, ["a", "a"], {"a": 4}, np.array(["a"]), SAID),
        ),
        row(
            "vocabulary.Vocabulary.count",
            dict(sentences=SAID),
            sentences=(*SENTENCES[:-5], 7, TOKENS, [], once([]), PAIRS),
            least=(*WHOLE, 0),
        ),
        row(
            "vocabulary.Vocabulary.encode",
            dict(self=SOURCE, words=("a", "b")),
            words=WORDS,
        ),
        row(
            "vocabulary.Vocabulary.decode",
            dict(self=SOURCE, numbers=torch.tensor([4, END])),
            numbers=(
                None,
                "45",
                4,
                ["a"],
                [4.0],
                [True],
                [7],
                [-1],
                [nan],
                [None],
                TOKENS,
                torch.tensor(4),
                torch.tensor([4.0]),
                torch.tensor([7]),
            ),
        ),
        row(
            "subwords.Subwords.learn",
            dict(sentences=SAID, size=20),
            sentences=(*SENTENCES[:-5], 7, TOKENS, [], once([]), PAIRS),
            size=(*WHOLE, 0, -1, 4),
        ),
        row(
            "subwords.Subwords.load",
            dict(text=PIECES.dump()),
            text=(*TEXT, "", "{}", PIECES),
        ),
        row(
            "subwords.Subwords.pieces",
            dict(self=PIECES, words=["a", "dog"]),
            words=WORDS,
        ),
        row(
            "subwords.Subwords.encode",
            dict(self=PIECES, words=["a", "dog"]),
            words=WORDS,
        ),
        row(
            "subwords.Subwords.decode",
            dict(self=PIECES, numbers=torch.tensor([4, END])),
            numbers=(None, "45", 4, ["a"], [4.0], [True], [99], [-1], TOKENS),
        ),
        row(
            "subwords.dump",
            dict(vocabulary=PIECES),
            vocabulary=(None, ["a"], "a", {"a": 4}),
        ),
        row("subwords.restore", dict(text='["a"]'), text=(*TEXT, "", "a", "{")),
        row(
            "significance.caption_rows",
            dict(text=COUNTS),
            text=(
                *TEXT,
                "",
                "1 2 3",
                "a b c d e f",
                f"{COUNTS},",
                "1 2 3 4 5 x",
            ),
        ),
        row(
            "significance.pooled_counts",
            dict(run=RUN, split="all"),
            run=NO_RUN,
            split=SPLIT,
            kind=(None, "beam", 5),
        ),
        row(
            "significance.caption_mean",
            dict(run=RUN, split="all", score=lambda told: told["loss"]),
            run=NO_RUN,
            split=SPLIT,
            score=(None, "loss", 1.0),
        ),
        row(
            "significance.chrf",
            dict(run=RUN, split="all"),
            run=NO_RUN,
            split=SPLIT,
            kind=(None, "beam", 5),
        ),
        row(
            "significance.cross_entropy",
            dict(run=RUN, split="all"),
            run=NO_RUN,
            split=SPLIT,
        ),
        row(
            "significance.mean_and_spread",
            dict(values=[1.0, 2.0]),
            values=(*NUMBERS, torch.tensor([1.0, 2.0])),
        ),
        row(
            "significance.bleu_over_seeds",
            dict(sums=[ROWS_OF.sum(0)]),
            sums=(None, [], ROWS_OF, [ROWS_OF], [RUN], [3], once([ROWS_OF])),
        ),
        row(
            "significance.scores",
            dict(runs=[RUN], split="all"),
            runs=(None, RUN, [], once([RUN]), 3),
            split=SPLIT,
            kind=(None, "beam", 5),
        ),
        row(
            "significance.joined_scores",
            dict(runs=[RUN], count=2),
            runs=(None, RUN, [], once([RUN]), 3),
            count=(None, 3, "two", 2.5),
        ),
        row(
            "significance.pooled_deviation",
            dict(scores=[[1.0, 2.0], [3.0]]),
            scores=(
                *(None, 3.0, [1.0, 2.0], "12", [], [[1.0]], once([[1.0]])),
                *([[1.0, nan]], [["1", "2"]], [[True, 1.0]], [[], [1.0, 2.0]]),
            ),
        ),
        row(
            "significance.bleu_deviation",
            dict(found=RUNS, split="all"),
            found=(None, [RUN], RUN["tests"]["test_2016_flickr"], "old"),
            split=SPLIT,
            kind=(None, "beam", 5),
        ),
        row(
            "significance.difference",
            dict(one=[ROWS_OF], two=[ROWS_OF]),
            one=NO_RUNS,
            two=NO_RUNS,
        ),
        row(
            "significance.paired_randomization_test",
            dict(one=[ROWS_OF], two=[ROWS_OF]),
            one=NO_RUNS,
            two=NO_RUNS,
        ),
        row(
            "significance.confidence_interval",
            dict(one=[ROWS_OF], two=[ROWS_OF], deviation=SPREAD),
            one=NO_RUNS,
            two=NO_RUNS,
            deviation=(None, 1.0, (1.0, 2)),
        ),
        row(
            "significance.compare",
            dict(one=[ROWS_OF], two=[ROWS_OF], deviation=SPREAD),
            one=NO_RUNS,
            two=NO_RUNS,
            deviation=(None, 1.0, (1.0, 2)),
        ),
        row(
            "significance.compare_runs",
            dict(runs=RUNS, one="old", two="new", split="all"),
            runs=(None, [RUN], "old"),
            one=(None, "older", RUN, 3),
            two=(None, "older", RUN, 3),
            split=SPLIT,
            kind=(None, "beam", 5),
        ),
        row(
            "significance.p_value",
            dict(difference=torch.tensor(1.0), randomized=torch.randn(9)),
            difference=(None, 1.0, "1", torch.tensor(nan), torch.randn(2)),
            randomized=(None, 1.0, [1.0], torch.tensor([nan])),
            exact=FLAG,
        ),
        row(
            "significance.standard_error",
            dict(deviation=SPREAD, one=2, two=2),
            deviation=(None, 1.0, (1.0, 2)),
            one=(*WHOLE, 0),
            two=(*WHOLE, 0),
        ),
        row(
            "significance.student",
            dict(freedom=2, count=2),
            freedom=(*WHOLE, 0),
            count=(*WHOLE, 0),
        ),
        row("moses_tokenizer.words", dict(text="A dog."), text=TEXT),
        row(
            "glyphs.pictures",
            dict(each=1, seed=0),
            each=(*WHOLE, 0),
            seed=(*WHOLE, -1),
        ),
        row(
            "pictures.sample",
            dict(count=1, seed=0),
            count=(*WHOLE, 0),
            seed=(*WHOLE, -1),
            move=NUMBER,
        ),
        row(
            "synthetic_handwriting.write",
            dict(text="a", hand=WRITTEN[0], rng=WRITTEN[1]),
            text=LETTERS,
            hand=HANDS,
            rng=RNG,
        ),
        row("synthetic_handwriting.signs", dict(text="a b"), text=LETTERS),
        row(
            "synthetic_handwriting.lines",
            dict(texts=["a b"], rng=WRITTEN[1]),
            texts=(None, "a b", [], ["A"], [3], once(["a"])),
            rng=RNG,
        ),
        row(
            "synthetic_handwriting.words",
            dict(length=3, rng=WRITTEN[1]),
            length=(*WHOLE, 0),
            rng=RNG,
        ),
        row(
            "synthetic_handwriting.ink",
            dict(points=np.zeros((4, 3))),
            points=(None, "a", 3, np.zeros(3), np.zeros((4, 2)), [[1, 2]]),
        ),
        row("story_task.facts_of", dict(name="key"), name=(None, "keys", 3)),
        row(
            "story_task.say",
            dict(name="key", holder="bag"),
            name=(None, "keys", 3),
            holder=(None, "attic", 3),
        ),
        row(
            "story_task.read",
            dict(sentence=("anna", "took", "the", "bag")),
            sentence=(*WORDS, [], ["anna", "took"], "anna took the bag"),
        ),
        row("story_task.ask", dict(name="key"), name=(None, "keys", 3)),
        row(
            "story_task.follow",
            dict(sentences=TOLD[0].sentences, name="anna"),
            sentences=(None, "anna took the bag", ["anna took"], TOLD[0], 3),
            name=(None, "keys", 3),
        ),
        row(
            "story_task.outdated",
            dict(story=TOLD[0]),
            story=(None, TOLD, SAID, "anna", 3),
        ),
        row(
            "story_task.tell",
            dict(chance=random.Random(0), length=12, facts=1),
            chance=(None, 0, WRITTEN[1]),
            length=(*WHOLE, 8),
            facts=(None, 0, 4, "1", [1]),
        ),
        row(
            "story_task.stories",
            dict(seed=0, count=1, length=12, facts=1),
            seed=WHOLE,
            count=(*WHOLE, -1),
            length=(*WHOLE, 8),
            facts=(None, 0, 4, "1", [1]),
        ),
        row(
            "story_task.collate",
            dict(told=TOLD, words=story_task.vocabulary()),
            told=(None, [], TOLD[0], once(TOLD), SAID, "anna", 3),
            words=WORDS_OF,
        ),
        row(
            "live_edit.adopt",
            dict(edited=training.device, into="lookback.lab.training"),
            edited=(None, "loss", 3),
            into=(None, 3, training, Path("training")),
        ),
        row(
            "int8.split",
            dict(matrix=WEIGHTS, most=31),
            matrix=(None, WEIGHTS[0], WEIGHTS.numpy(), [[1.0]], MODEL),
            most=(*WHOLE, 0, 128),
        ),
        row("int8.rounded", dict(model=MODEL), model=(None, WEIGHTS, "gpt")),
        row(
            "int8.pack",
            dict(model=MODEL, pieces=SOURCE),
            model=(None, WEIGHTS, "gpt"),
            pieces=WORDS_OF,
        ),
        row(
            "records.load",
            dict(name="search"),
            name=(*TEXT, "searches"),
            folder=PLACE[1:],
        ),
        row(
            "records.quote",
            dict(place="search/seeds/0"),
            place=(*TEXT, "search/none"),
        ),
        row(
            "weights.load",
            dict(name="copying-8", kind=Bottleneck),
            name=(*TEXT, "gpt5"),
            kind=(None, "RNNsearch", MODEL, RNNsearch),
            folder=PLACE[1:],
        ),
        row(
            "weights.save",
            dict(sides, name="tiny", model=MODEL, folder=Path()),
            name=TEXT,
            model=(None, "rnnsearch", WEIGHTS, MODEL.state_dict()),
            source=WORDS_OF,
            target=WORDS_OF,
            folder=PLACE[1:],
        ),
        row("weights.find", dict(name="copying-8"), name=(*TEXT, "gpt5")),
    ]
)

LEFT = {
    "it holds what a function of the bench has made": (
        "checkpoints.Progress significance.Deviation corpus.Pair corpus.Numbers"
        " corpus.Batch decoding.Translation pictures.Pictures story_task.Story"
        " story_task.Batch subwords.Subwords synthetic_handwriting.Hand"
        " synthetic_handwriting.Line synthetic_handwriting.Lines"
    ),
    "it is an error": "training.Diverged records.RecordError checkpoints.Busy",
    "it takes nothing, or only what the bench made": (
        "corpus.shakespeare story_task.vocabulary subwords.Subwords.dump"
        " synthetic_handwriting.Hand.draw training.device records.place"
        " records.commit records.installed_from weights.digests"
    ),
    "it is a formula that a page prints, or one beside it, on tensors": (
        "significance.bleu significance.precision_and_brevity"
        " significance.randomized_differences"
        " significance.bootstrap_differences"
    ),
    "it looks at arguments": (
        "arguments vocabulary.shown vocabulary.each_of vocabulary.words_of"
        " vocabulary.sentences_of vocabulary.numbers_of metrics.check_links"
        " synthetic_handwriting.spelled"
    ),
    "the bench alone calls it": (
        "distributed download files fingerprint grammar lexicon tables"
        " significance.resamplings corpus.length int8.join"
        " decoding.pick decoding.retrace glyphs.picture"
        " pictures.draw pictures.strokes story_task.Batch.to"
        " story_task.Batch.pick synthetic_handwriting.curves"
        " synthetic_handwriting.through synthetic_handwriting.walk"
        " synthetic_handwriting.letter checkpoints.Run checkpoints.Run.begin"
        " checkpoints.Run.settle checkpoints.Run.save checkpoints.Run.restore"
        " checkpoints.alone checkpoints.read checkpoints.write"
        " training.no_denormals training.keep_memory training.train_step"
        " training.go_on training.recall training.finish_epoch"
        " records.measured records.provenance records.save  records.validate"
        " records.follow weights.kept weights.check weights.whole weights.read"
        " weights.origin weights.git_show weights.vocabularies"
        " checkpoints.check"
        " checkpoints.digest_of_pairs"
        " checkpoints.give"
        " checkpoints.of_epochs"
        " checkpoints.save"
        " checkpoints.state"
        " checkpoints.take_up"
        " records.made_by"
        " training.fault"
    ),
}
NOT_RUN = {"corpus.load", "training.average"}  # they need what is not here


def public() -> dict[str, object]:
    """The functions, classes and methods without an underscore, by name."""
    found = {}
    lab = Path(lookback.__file__).parent / "lab"
    names = [f"lab.{each.name}" for each in pkgutil.iter_modules([str(lab)])]
    for name in [*names, "vocabulary"]:
        module = importlib.import_module(f"lookback.{name}")
        for key, value in vars(module).items():
            if (
                key.startswith("_")
                or not callable(value)
                or getattr(value, "__module__", "") != module.__name__
            ):
                continue
            place = f"{name.removeprefix('lab.')}.{key}"
            found[place] = value
            if not isinstance(value, type):
                continue
            for method, one in vars(value).items():
                one = getattr(one, "__func__", one)
                if inspect.isfunction(one) and not method.startswith("_"):
                    found[f"{place}.{method}"] = getattr(value, method)
    return found


FOUND = public()


def test_every_public_function_has_a_row_or_a_reason():
    left = {name for names in LEFT.values() for name in names.split()}
    modules = {name.split(".")[0] for name in FOUND}
    asked = {name for name in FOUND if name.split(".")[0] not in left}
    assert asked - left == ROWS.keys()
    assert left <= asked | modules


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A folder with two files, and no type checks but a reader's own."""
    monkeypatch.chdir(tmp_path)
    for side in ("some.en", "some.fr"):
        Path(side).write_text("a\n")
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def spent(answer):
    """A generator computes nothing before it is asked."""
    return next(answer) if inspect.isgenerator(answer) else answer


@pytest.mark.parametrize("name", sorted(ROWS.keys() - NOT_RUN))
def test_what_is_right_is_not_refused(name, here):
    right, _ = ROWS[name]
    spent(FOUND[name](**right))


@pytest.mark.parametrize("name", ROWS)
def test_what_is_wrong_is_said_in_a_sentence(name, here):
    right, wrong = ROWS[name]
    silent = []
    for argument, values in wrong.items():
        for value in values:
            try:
                spent(FOUND[name](**right | {argument: value}))
            except Exception as error:
                if fault := unfit(error, argument, value):
                    silent.append(f"{argument}={value!r:.60}: {fault}")
            else:
                silent.append(f"{argument}={value!r:.60}: no error")
    assert not silent, "\n".join(silent)


def unfit(error, argument, value):
    """What an error lacks, if anything."""
    said, frames = str(error), traceback.extract_tb(error.__traceback__)
    if not isinstance(error, (ValueError, TypeError, corpus.CorpusError)):
        return repr(error)
    if "lookback" not in Path(frames[-1].filename).parts:
        return f"not ours: {said}"
    if "\n" in said or len(said) > 400:
        return f"no sentence: {said}"
    if not re.search(rf"\b{argument}\b", said) and (
        getattr(value, "__name__", str(value)) not in said
    ):
        return f"does not name it: {said}"
    return ""
