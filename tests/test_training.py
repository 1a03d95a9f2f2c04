"""The training loop: it learns, and a kill at any moment changes nothing.

Run as a program, this file trains a small model in a folder again and again,
is killed at set moments, goes on, and leaves what came out for the tests.
"""

import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from functools import partial, wraps
from inspect import unwrap
from itertools import pairwise
from pathlib import Path

import pytest
import stand_in
import torch
from safetensors.torch import load_file, save_file
from tqdm.auto import tqdm

from lookback import rnnsearch
from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.lab import checkpoints, corpus, distributed, training
from lookback.lab.checkpoints import Run, TrainingConfig, write
from lookback.lab.corpus import Pair, collate
from lookback.lab.decoding import translate
from lookback.lab.fingerprint import reached
from lookback.lab.subwords import Subwords
from lookback.lab.training import (
    average,
    learning_rate,
    loss,
    train,
    validation_loss,
)
from lookback.rnnsearch import AdditiveAttention, RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, START, Vocabulary

SOURCE = Vocabulary("the a black white cat dog sleeps barks".split())
TARGET = Vocabulary("le un noir blanc chat chien dort aboie".split())
PAIRS = [
    Pair("the black cat sleeps".split(), "le chat noir dort".split()),
    Pair("a dog barks".split(), "un chien aboie".split()),
    Pair("the white dog sleeps".split(), "le chien blanc dort".split()),
    Pair("a cat".split(), "un chat".split()),
]
TINY = TrainingConfig(
    epochs=3, batch=4, warmup=2, save_every=2, learning_rate=1e-2
)


def model_of(kind=RNNsearch, width=16, dropout=0.0, seed=0):
    torch.manual_seed(seed)
    sizes = dict(embed=width, hidden=width, maxout=width, dropout=dropout)
    if kind is Bottleneck:
        config = BottleneckConfig(len(SOURCE), len(TARGET), **sizes)
    else:
        config = RNNsearchConfig(len(SOURCE), len(TARGET), align=width, **sizes)
    return kind(config)


def held_out(model):
    lost = validation_loss(model, PAIRS, SOURCE, TARGET)
    return {"score": -lost, "loss": lost}


def pairs_of(epoch):
    """22 pairs in six batches, other ones in every epoch."""
    return random.Random(epoch).choices(PAIRS, k=22)


# The program that is killed.


def run_once(folder: Path, moment: str) -> None:
    """Train; `moment` says where to be killed, "" nowhere."""
    what, _, number = moment.partition(" ")
    left = [int(number or 0)]

    def die_after(function, before=lambda *_: None):
        @wraps(function)  # it is the same validation
        def doomed(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                before(*arguments, **named)
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return doomed

    def half_a_file(tensors, path, metadata):
        save(tensors, path, metadata=metadata)
        os.truncate(path, path.stat().st_size // 2)

    save, validate = checkpoints.save_file, held_out
    if what == "step":
        training.train_step = die_after(training.train_step)
    if what == "validation":
        validate = die_after(held_out)
    if what == "write":
        checkpoints.save_file = die_after(save, before=half_a_file)
    if what == "move":
        os.replace = die_after(os.replace)
    if what == "moved":
        os.replace = die_after(os.replace, before=os.replace)
    if what == "alarm":  # by the clock, wherever it is
        signal.setitimer(signal.ITIMER_REAL, left[0] / 1000)
    model = model_of(width=8, dropout=0.3)
    progress = train(model, pairs_of, SOURCE, TARGET, TINY, folder, validate)
    signal.setitimer(signal.ITIMER_REAL, 0)
    write(folder / "final.safetensors", model.state_dict(), {})
    (folder / "final.json").write_text(json.dumps(asdict(progress)))


def live(folder: Path, moment: str) -> bool:
    """`run_once` in a process of its own; did it live to the end?"""
    child = os.fork()
    if child == 0:
        try:
            run_once(folder, moment)
        except BaseException as error:  # reported, then gone
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


# save_file is called at steps 2, 4 and 6, for the best weights, for the end
# of the epoch, and so on: calls 4 and 5 end the first epoch.
MOMENTS = {
    "before the first checkpoint": ["step 2"],
    "in the middle of an epoch": ["step 10"],
    "just after a checkpoint": ["step 9"],
    "at the first step of an epoch": ["step 7"],
    "in the first validation": ["validation 1"],
    "in a later validation": ["validation 2"],
    "writing the first checkpoint": ["write 1"],
    "writing a checkpoint": ["write 7"],
    "writing the best weights": ["write 4"],
    "before the best weights are moved": ["move 4"],
    "between the best weights and the checkpoint": ["moved 4"],
    "at the end of an epoch": ["write 5"],
    "after the end of an epoch": ["moved 5"],
    "four times": ["step 3", "write 3", "validation 1", "moved 3"],
}


BY_DAY = (
    "in the middle of an epoch",
    "writing a checkpoint",
    "between the best weights and the checkpoint",
)
CLOCK = "by the clock"
NAMES = [
    name
    if name in BY_DAY
    else pytest.param(name, marks=pytest.mark.nightly, id=name)
    for name in (*MOMENTS, CLOCK)
]


def main(folder: Path, *names: str) -> None:
    torch.set_num_threads(1)  # so that it is safe to fork
    # By default all forks share one: who dies with it stops the others.
    tqdm.set_lock(threading.RLock())
    run_once(folder / "never", "")
    for name in {*MOMENTS} & {*names}:
        for moment in MOMENTS[name]:
            assert not live(folder / name, moment), (name, moment)
        assert live(folder / name, ""), name
    if CLOCK in names:
        kills, wait = 0, 30
        while not live(folder / CLOCK, f"alarm {wait}"):
            kills, wait = kills + 1, wait * 3 // 2
        (folder / "kills").write_text(str(kills))


@pytest.fixture(scope="module")
def killed(request, tmp_path_factory):
    """A folder for each moment that somebody asks about, by day or night."""
    folder = tmp_path_factory.mktemp("killed")
    names = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.name.startswith("test_a_killed_run_ends_as_one_that_was_not[")
    ]
    done = subprocess.run(
        [sys.executable, __file__, str(folder), *names],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def outcome(folder):
    """Final weights, and all that was counted but the seconds."""
    counted = json.loads((folder / "final.json").read_text())
    for row in [counted, *counted["curve"]]:
        del row["seconds"]
    return load_file(folder / "final.safetensors"), counted


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_ends_as_one_that_was_not(killed, name):
    weights, counted = outcome(killed / name)
    expected_weights, expected = outcome(killed / "never")
    assert counted == expected
    assert counted["step"] == 18 and len(counted["curve"]) == 3
    assert weights.keys() == expected_weights.keys()
    for key, weight in weights.items():
        assert torch.equal(weight, expected_weights[key]), key


@pytest.mark.nightly
def test_the_clock_did_kill(killed):
    assert int((killed / "kills").read_text()) > 0


# Learning.


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [Bottleneck, RNNsearch])
def test_a_tiny_model_learns_four_pairs_by_heart(kind, tmp_path):
    model = model_of(kind)
    config = TrainingConfig(
        epochs=6,
        batch=4,
        learning_rate=2e-2,
        warmup=1,
        smoothing=0.0,
        patience=6,
    )
    progress = train(
        model,
        lambda _: PAIRS * 20,  # 20 steps an epoch
        SOURCE,
        TARGET,
        config,
        tmp_path,
        held_out,
    )
    assert progress.curve[0]["train_loss"] > 0.5
    assert held_out(model)["loss"] < 0.02
    said = translate(model, [p.source for p in PAIRS], SOURCE, TARGET)
    assert [words for words, _ in said] == [p.target for p in PAIRS]


@pytest.mark.nightly
def test_seeds_are_fixed(tmp_path):
    ends = []
    for number, seed in enumerate((0, 0, 1)):
        model = model_of(dropout=0.3)
        config = replace(TINY, seed=seed)
        folder = tmp_path / str(number)
        train(model, pairs_of, SOURCE, TARGET, config, folder, held_out)
        ends.append(model.readout.output.weight)
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def plainly(model, config: TrainingConfig) -> list[float]:
    """The same training, as one would first write it; the losses of its
    epochs. It makes each batch of words and fetches each number at once."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    means, step = [], 0
    for epoch in range(config.epochs):
        model.train()
        pairs, dice = pairs_of(epoch), random.Random(epoch)
        dice.shuffle(pairs)
        pairs.sort(key=lambda pair: (len(pair.target), len(pair.source)))
        size, total, count = config.batch, 0.0, 0
        parts = [pairs[i : i + size] for i in range(0, len(pairs), size)]
        dice.shuffle(parts)
        for part in parts:
            torch.manual_seed(step)
            said = [TARGET.encode(pair.target) for pair in part]
            given, target_in, target_out = (
                torch.nn.utils.rnn.pad_sequence(
                    [torch.tensor(row) for row in rows], batch_first=True
                )
                for rows in (
                    [[*SOURCE.encode(pair.source), END] for pair in part],
                    [[START, *row] for row in said],
                    [[*row, END] for row in said],
                )
            )
            words = (target_out != PAD).sum().item()
            lost = loss(model(given, target_in), target_out, config.smoothing)
            adam.zero_grad()
            (lost / words).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            adam.param_groups[0]["lr"] = learning_rate(config, step, 18)
            adam.step()
            total, count, step = total + lost.item(), count + words, step + 1
        means.append(total / count)
    return means


@pytest.mark.parametrize("kind", [Bottleneck, RNNsearch])
def test_it_learns_to_the_bit_what_a_plain_loop_learns(kind, tmp_path):
    """Though it encodes ahead, and lets the device add up its losses."""
    model = model_of(kind, dropout=0.3)
    with training.no_denormals():
        means = plainly(model, TINY)
    ours = model_of(kind, dropout=0.3)
    progress = train(ours, pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out)
    assert [row["train_loss"] for row in progress.curve] == means
    last = load_file(tmp_path / "last.safetensors")
    for key, weight in model.state_dict().items():
        assert torch.equal(last[f"model.{key}"], weight), key


def test_an_epoch_s_pairs_are_encoded_once(tmp_path):
    """And those of an epoch like the one before not at all."""

    class Counting(Vocabulary):
        def encode(self, words):
            counted.append(words)
            return super().encode(words)

    def like_the_one_before(epoch):
        return pairs_of(epoch // 2)

    counted, english = [], Counting(SOURCE.words[4:])
    config = replace(TINY, epochs=4, patience=4)
    given = english, TARGET, config, tmp_path, lambda _: {"score": 0.0}
    train(model_of(), like_the_one_before, *given)
    assert len(counted) == 2 * 22


def scripted(scores, seen):
    """A validation that gives set scores and keeps the weights it saw."""
    given = iter(scores)

    def validate(model):
        seen.append({k: v.clone() for k, v in model.state_dict().items()})
        return {"score": next(given)}

    return validate


def test_stops_early_and_keeps_the_best_weights(tmp_path):
    seen, config = [], replace(TINY, epochs=20, patience=2)
    model = model_of()
    validate = scripted([1.0, 3.0, 2.0, 3.0, 9.0], seen)
    progress = train(
        model, pairs_of, SOURCE, TARGET, config, tmp_path, validate
    )
    assert len(seen) == progress.epoch == 4
    assert (progress.best, progress.best_epoch) == (3.0, 2)
    for key, value in model.state_dict().items():
        assert torch.equal(value, seen[1][key])


def test_the_last_weights_are_kept_and_averaged(tmp_path):
    seen, model = [], model_of()
    validate = scripted([3.0, 2.0, 1.0], seen)
    config = replace(TINY, epochs=3)
    train(model, pairs_of, SOURCE, TARGET, config, tmp_path, validate, keep=2)
    assert {path.stem for path in tmp_path.glob("epoch-*")} == {
        "epoch-2",
        "epoch-3",
    }
    average(model, tmp_path, [2, 3])
    for key, value in model.state_dict().items():
        mean = (seen[1][key] + seen[2][key]) / 2
        torch.testing.assert_close(value, mean)


def test_an_epoch_of_another_run_is_not_averaged(tmp_path):
    for name, seed in (("one", 0), ("other", 1)):
        folder, config = tmp_path / name, replace(TINY, seed=seed)
        given = model_of(), pairs_of, SOURCE, TARGET, config, folder
        train(*given, held_out, keep=1)
    name = f"epoch-{TINY.epochs}.safetensors"
    (tmp_path / "one" / name).replace(tmp_path / "other" / name)
    with pytest.raises(
        ValueError, match=r"epoch 3 .*other settings \(seed\).*again"
    ):
        average(model_of(), tmp_path / "other", [3])


def test_there_is_nothing_to_average(tmp_path):
    with pytest.raises(ValueError, match="weights of epoch 2.*train again"):
        average(model_of(), tmp_path, [2])


def test_a_finished_run_is_not_trained_again(tmp_path):
    train(model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out)
    again = model_of(seed=1)
    first = load_file(tmp_path / "best.safetensors")

    @wraps(held_out)
    def never(model):
        pytest.fail("it was asked again")

    progress = train(again, pairs_of, SOURCE, TARGET, TINY, tmp_path, never)
    assert progress.epoch == 3 and not again.training
    for key, value in again.state_dict().items():
        assert torch.equal(value, first[key])


def test_a_run_that_diverges_says_so(tmp_path):
    with pytest.raises(ValueError, match="lower the learning rate"):
        train(
            model_of(),
            pairs_of,
            SOURCE,
            TARGET,
            TINY,
            tmp_path,
            lambda _: {"score": math.nan},
        )


def test_counts_and_rates(tmp_path):
    progress = train(
        model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    )
    words = sum(len(p.target) + 1 for e in range(3) for p in pairs_of(e))
    assert progress.trained == words
    rate = progress.tokens_per_second
    assert rate == pytest.approx(words / progress.seconds)
    assert [row["epoch"] for row in progress.curve] == [1, 2, 3]


# Checkpoints.


def started(folder, model=None, config=TINY):
    """A run that was stopped after its first epoch."""

    class Stop(Exception):
        pass

    def stop(_):
        raise Stop

    with pytest.raises(Stop):
        train(
            model or model_of(),
            pairs_of,
            SOURCE,
            TARGET,
            config,
            folder,
            stop,
        )
    return folder / "last.safetensors"


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (dict(), replace(TINY, learning_rate=0.5)),
        (dict(), replace(TINY, seed=1)),
        (dict(dropout=0.1), TINY),
        (dict(width=17), TINY),
        (dict(kind=Bottleneck), TINY),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path, model, config):
    path = started(tmp_path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="with other.*remove") as caught:
        Run(model_of(**model), config, tmp_path, (SOURCE, TARGET), pairs_of)
    assert str(tmp_path) in str(caught.value)
    assert path.read_bytes() == before


def test_a_checkpoint_of_other_words_is_refused(tmp_path):
    """As many of them: the weights fit, and would mean something else."""
    started(tmp_path)
    other = Vocabulary(sorted(TARGET.words[4:]))
    assert len(other) == len(TARGET) and other.words != TARGET.words
    Run(model_of(), TINY, tmp_path, (SOURCE, TARGET), pairs_of)
    with pytest.raises(ValueError, match="with other vocabularies: go"):
        Run(model_of(), TINY, tmp_path, (SOURCE, other), pairs_of)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused(tmp_path, share):
    path = started(tmp_path)
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(ValueError, match="cannot go on.*remove"):
        Run(model_of(), TINY, tmp_path)


def test_a_strange_checkpoint_is_refused(tmp_path):
    save_file({"x": torch.zeros(1)}, tmp_path / "last.safetensors")
    with pytest.raises(ValueError, match="cannot go on.*remove"):
        Run(model_of(), TINY, tmp_path)


def test_a_full_disk_keeps_the_old_checkpoint(tmp_path):
    path = started(tmp_path)
    before = path.read_bytes()
    run = Run(model_of(), TINY, tmp_path, (SOURCE, TARGET), pairs_of)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(Exception, match="[Tt]oo large"):
            run.save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {path.name, "lock"}


def test_a_damaged_checkpoint_is_refused(tmp_path):
    """One bit of a weight, a digit of the progress, or a lost moment."""

    def again():
        return Run(model_of(), TINY, tmp_path)

    run, path = again(), tmp_path / "last.safetensors"
    training.train_step(run, collate(PAIRS, SOURCE, TARGET), 10)
    run.save()
    assert again().progress.step == 1
    whole = bytearray(path.read_bytes())
    digit = whole.index(b'step\\": ') + len(b'step\\": ')
    for at, bit in ((-5, 1), (digit, 1), (digit, 64)):  # a digit, a letter
        whole[at] ^= bit
        path.write_bytes(whole)
        with pytest.raises(ValueError, match="it is damaged.*: remove"):
            again()
        whole[at] ^= bit
    path.write_bytes(whole)
    tensors, meta = checkpoints.read(path)
    del tensors[next(name for name in tensors if name.endswith("exp_avg"))]
    write(path, tensors, meta)
    with pytest.raises(ValueError, match="it is damaged.*: remove"):
        again()


def test_a_checkpoint_of_other_sentences_is_refused(tmp_path):
    """One word, or their order, in any epoch to come."""
    given = model_of(), TINY, tmp_path, (SOURCE, TARGET)
    Run(*given, lambda epoch: PAIRS).save()
    Run(*given, lambda epoch: [*PAIRS]).save()  # the same by other code
    word = [*PAIRS[:-1], Pair(["a", "cat"], ["un", "chien"])]
    for other in (PAIRS[::-1], PAIRS[:-1], word):
        for first in range(TINY.epochs):
            pairs = lambda epoch: PAIRS if epoch < first else other  # noqa
            with pytest.raises(ValueError, match="with other sentences: go"):
                Run(*given, pairs)


def test_an_epoch_without_sentences_is_named(tmp_path):
    given = SOURCE, TARGET, TINY, tmp_path, held_out
    with pytest.raises(ValueError, match="epoch 3 has no sentences"):
        train(model_of(), lambda epoch: PAIRS[: 2 - epoch], *given)


def test_a_checkpoint_of_other_code_is_refused(tmp_path, monkeypatch):
    started(tmp_path)
    original = rnnsearch.annotate

    def annotate(encoder, embedded, mask):
        return 0 * original(encoder, embedded, mask)

    with monkeypatch.context() as edited:
        edited.setattr(rnnsearch, "annotate", annotate)
        with pytest.raises(ValueError, match="of a run with other code: go"):
            Run(model_of(), TINY, tmp_path, (SOURCE, TARGET), pairs_of)

    def scores(self, query, keys):
        return 0 * keys.sum(-1)

    with monkeypatch.context() as edited:
        edited.setattr(AdditiveAttention, "scores", scores)
        with pytest.raises(ValueError, match="of a run with other code: go"):
            Run(model_of(), TINY, tmp_path, (SOURCE, TARGET), pairs_of)
    Run(model_of(), TINY, tmp_path, (SOURCE, TARGET), pairs_of)


def held_out_with(pairs):
    """A validation that holds on to its sentences."""

    def validate(model):
        return {"score": -validation_loss(model, pairs, SOURCE, TARGET)}

    return validate


@pytest.mark.nightly
@pytest.mark.parametrize(
    "other",
    [
        held_out_with(PAIRS[:2]),
        held_out,
        partial(held_out_with, PAIRS),
        lambda model: {"score": 0.0},
    ],
)
def test_a_checkpoint_of_another_validation_is_refused(tmp_path, other):
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path
    train(model_of(), *given, held_out_with(PAIRS))
    train(model_of(), *given, held_out_with(list(PAIRS)))
    with pytest.raises(ValueError, match="with other validation: go back"):
        train(model_of(), *given, other)


def test_a_checkpoint_of_another_loss_is_refused(tmp_path, monkeypatch):
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    train(model_of(), *given)
    monkeypatch.setattr(training, "loss", lambda *given: 2 * loss(*given))
    with pytest.raises(ValueError, match="other training and validation: go"):
        train(model_of(), *given)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (training, "learning_rate"),
        (training, "train_step"),
        (training, "finish_epoch"),
        (training, "batches"),
        (corpus, "pad"),
        (corpus.Batch, "to"),
        (distributed, "share"),
        (Run, "save"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(
    tmp_path, monkeypatch, owner, name
):
    """The schedule, the step, the batches: whatever a training calls."""
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    started(tmp_path)
    original = getattr(owner, name)
    with monkeypatch.context() as edited:
        edited.setattr(owner, name, lambda *given: original(*given))
        with pytest.raises(ValueError, match="with other training.*: go back"):
            train(model_of(), *given)


def test_an_epoch_goes_on_with_its_own_sentences_or_not_at_all(tmp_path):
    """Those that it was said to have before the training began."""
    asked = []

    def pairs(epoch):
        asked.append(epoch)
        again = asked.count(epoch) > 1
        return pairs_of(epoch + (again if epoch == 1 else 0))

    with pytest.raises(ValueError, match="epoch 2 has other sentences than"):
        train(model_of(), pairs, SOURCE, TARGET, TINY, tmp_path, held_out)
    assert (
        train(
            model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
        ).step
        == 18
    )  # the first epoch was kept


def held_for(value):
    """A validation that holds on to a value, and does not use it."""

    def validate(model):
        return held_out(model) if value else None

    return validate


def changed(owner, name, value):
    return lambda patch: patch.setattr(owner, name, value, raising=False)


SAME_WORDS = [
    Subwords.learn([["ab", "abc", "bc", "c"]] * 9, count) for count in (16, 16)
]
SIBLINGS = {
    "a default argument": changed(
        unwrap(corpus.batches), "__defaults__", (19,)
    ),
    "another default": changed(unwrap(validation_loss), "__defaults__", (99,)),
    "a constant of the training": changed(training, "PAD", 1),
    "a constant of the corpus": changed(corpus, "START", 1),
    "a constant of another module": changed(distributed, "PAD", 1),
    "a limit": changed(checkpoints, "LIMITS", {}),
    "a base class": changed(Translator, "start", lambda self, memory: None),
    "a method of a vocabulary": changed(
        Vocabulary, "encode", lambda self, words: [len(self)] * len(words)
    ),
    "a class attribute": changed(Run, "beta", 0.9),
    "a gradient that is clipped by value": changed(
        training, "train_step", lambda run, batch, steps: None
    ),
    "the versions": changed(torch, "__version__", "1.0.0"),
}


@pytest.mark.parametrize("what", SIBLINGS)
def test_a_checkpoint_of_a_sibling_is_refused(tmp_path, monkeypatch, what):
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    train(model_of(), *given)
    with monkeypatch.context() as edited:
        SIBLINGS[what](edited)
        with pytest.raises(ValueError, match="of a run with other .*: go back"):
            train(model_of(), *given)
    train(model_of(), *given)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SOURCE, Vocabulary(SOURCE.words[:3:-1])),
        (torch.zeros(3), torch.ones(3)),
        ({"a": {1, 2}}, {"a": {1, 3}}),
        (TINY, replace(TINY, seed=1)),
        (partial(loss, smoothing=0.1), partial(loss, smoothing=0.2)),
        (partial(int, base=2), partial(int, x=2)),
        (held_for(1), held_for(2)),
        ([held_for(1)], [held_for(2)]),
    ],
    ids=range(8),
)
def test_what_a_validation_holds_is_a_part_of_it(one, other):
    assert reached(held_for(one)) == reached(held_for(one))
    assert reached(held_for(one)) != reached(held_for(other))


def test_a_dropout_that_no_config_names_is_a_part_of_the_model():
    model, other = model_of(), model_of()
    assert reached(model) == reached(other)
    drop = next(m for m in other.modules() if isinstance(m, torch.nn.Dropout))
    drop.p = 0.4
    assert reached(model) != reached(other)
    hooked = model_of()
    hooked.readout.register_forward_hook(lambda _, given, made: 2 * made)
    assert reached(model) != reached(hooked)
    turned = model_of(seed=1).eval()  # weights and mode are no part of it
    assert reached(model) == reached(turned)


def test_subwords_that_merge_otherwise_are_others():
    told = json.loads(SAME_WORDS[0].dump())
    assert len(told["model"]["merges"]) > 1
    told["model"]["merges"] = told["model"]["merges"][::-1]
    other = Subwords.load(json.dumps(told))
    assert other.words == SAME_WORDS[0].words
    assert reached([SAME_WORDS[0]]) == reached([SAME_WORDS[1]])
    assert reached([SAME_WORDS[0]]) != reached([other])


def test_code_is_what_was_imported_and_not_what_the_file_says_now(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "score_of_mine.py"
    path.write_text("SCALE = 1\n\n\ndef score(model):\n    return SCALE\n")
    import score_of_mine

    before = reached(score_of_mine.score)
    path.write_text("SCALE = 2\n\n\ndef score(model):\n    return 2 * SCALE\n")
    assert reached(score_of_mine.score) == before
    monkeypatch.setattr(score_of_mine, "SCALE", 2)
    assert reached(score_of_mine.score) != before


REACHED = """
import hashlib, test_training as t
from lookback.lab.fingerprint import reached
things = t.train, t.held_out, t.model_of(), [t.SOURCE, t.SAME_WORDS[0]]
print(hashlib.sha256(reached(*things).encode()).hexdigest())
"""


def test_another_process_finds_the_same():
    """Whatever order it keeps its sets in, and with another device."""
    told = set()
    for seed in ("1", "2"):
        paths = [str(Path(__file__).parent), *sys.path]
        env = os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed}
        env["PYTHONPATH"] = os.pathsep.join(paths)
        run = [sys.executable, "-c", REACHED]
        told.add(subprocess.check_output(run, env=env, text=True))
    assert len(told) == 1


def test_a_docstring_may_change():
    def rate(config, step, steps):
        """Twice."""
        return 2 * learning_rate(config, step, steps)

    first = reached(rate)

    def rate(config, step, steps):
        """Twice as fast."""
        return 2 * learning_rate(config, step, steps)

    assert reached(rate) == first


def test_two_processes_in_one_folder_are_one_too_many(tmp_path):
    with checkpoints.alone(tmp_path):
        with pytest.raises(ValueError, match="another process is training"):
            train(
                model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
            )
    train(model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out)


@pytest.mark.parametrize("harm", ["missing", "cut", "exchanged"])
def test_best_weights_that_are_not_the_run_s_are_refused(tmp_path, harm):
    train(model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out)
    path = tmp_path / "best.safetensors"
    if harm == "missing":
        path.unlink()
    elif harm == "cut":
        os.truncate(path, 100)
    else:
        write(path, model_of().state_dict(), {})
    with pytest.raises(ValueError, match="best weights.*remove"):
        train(model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("epochs", True),
        ("epochs", 10**9),
        ("epochs", None),
        ("batch", -1),
        ("batch", 1.5),
        ("batch", 4.0),
        ("batch", "4"),
        ("batch", 2**70),
        ("patience", 0),
        ("save_every", 0),
        ("warmup", -1),
        ("warmup", 10**400),
        ("seed", 2**70),
        ("seed", -1),
        ("seed", False),
        ("seed", 0.5),
        ("learning_rate", 0.0),
        ("learning_rate", -1e-3),
        ("learning_rate", math.nan),
        ("learning_rate", math.inf),
        ("learning_rate", True),
        ("learning_rate", "1e-3"),
        ("learning_rate", 1j),
        ("clip", -1.0),
        ("clip", None),
        ("smoothing", 1.0),
        ("smoothing", -0.1),
        ("smoothing", math.nan),
        ("smoothing", "x" * 5000),
    ],
)
def test_settings_that_make_no_sense_are_named(name, value):
    """In a notebook, where nobody else looks at the types."""
    config = replace(TINY)
    object.__setattr__(config, name, value)
    with pytest.raises(
        ValueError, match=f"^{name} is .*: it has to be a "
    ) as e:
        config.__post_init__()
    assert len(str(e.value)) < 400


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dropout", math.nan),
        ("dropout", True),
        ("dropout", -0.1),
        ("dropout", 2),
        ("dropout", "0.1"),
        ("embed", 4.0),
        ("hidden", True),
    ],
)
def test_sizes_that_make_no_sense_are_named(tmp_path, name, value):
    """Of a model, when its training is started."""
    model = model_of()
    object.__setattr__(model.config, name, value)
    with pytest.raises(ValueError, match=f"^{name} is .*: it has to be a "):
        Run(model, TINY, tmp_path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "numbers",
    [
        {"score": "0.5"},
        {"score": None},
        {"score": True},
        {"score": torch.tensor(0.5)},
        {"score": 1j},
        {"score": 0.5, "loss": torch.tensor(0.5)},
        {"score": 0.5, "all": {1, 2}},
        {"loss": 0.5},
        0.5,
        None,
    ],
    ids=repr,
)
def test_a_validation_that_returns_no_numbers_is_told_so(tmp_path, numbers):
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path
    with pytest.raises(ValueError, match="validate returned .*: mend"):
        train(model_of(), *given, lambda model: numbers)
    _, progress, _ = checkpoints.take_up(tmp_path / "last.safetensors")
    assert (progress["step"], progress["done"]) == (6, 6)  # nothing is lost


@pytest.mark.parametrize("name", ["lock", "last.safetensors"])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_in_a_folder_of_checkpoints_is_named(
    tmp_path, name, make
):
    make(tmp_path / name)
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    with pytest.raises(ValueError, match=f"{name} is a folder, a pipe"):
        train(model_of(), *given)


@pytest.mark.parametrize(
    "name", ["x" * 5000, "a\0b", "file/below", "/dev/null/x"], ids=len
)
def test_a_folder_that_cannot_be_is_named(tmp_path, name):
    (tmp_path / "file").touch()
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path / name, held_out
    with pytest.raises(ValueError, match="^cannot train in .*: name ano") as e:
        train(model_of(), *given)
    assert len(str(e.value)) < 700


@pytest.mark.parametrize("number", [28, 27, 122, 30])
def test_a_disk_that_is_full_later_loses_no_step_before(
    tmp_path, monkeypatch, number
):
    """ENOSPC, EFBIG, EDQUOT, EROFS, wherever it strikes."""
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    for most, owner, name in (2, checkpoints, "save_file"), (3, os, "replace"):
        calls, real = [], getattr(owner, name)

        @wraps(real)
        def full(*given, calls=calls, real=real, most=most, **named):
            calls.append(1)
            if len(calls) > most:
                raise OSError(number, os.strerror(number))
            return real(*given, **named)

        with monkeypatch.context() as edited:
            edited.setattr(owner, name, full)
            with pytest.raises(OSError, match="cannot write .*: free some sp"):
                train(model_of(), *given)
        assert not [*tmp_path.glob("*.part")]
        _, progress, _ = checkpoints.take_up(tmp_path / "last.safetensors")
        assert progress["step"] >= 4
    assert train(model_of(), *given).step == 18


# The parts.


def test_loss_equals_a_loop():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 5, dtype=torch.float64)
    out, smoothing, total = [[2, 4, 0], [3, 0, 0]], 0.1, 0.0
    for i, row in enumerate(out):
        for j, word in enumerate(row):
            if word == 0:
                continue  # padding
            exps = [math.exp(x) for x in logits[i, j].tolist()]
            logs = [math.log(x / sum(exps)) for x in exps]
            total -= (1 - smoothing) * logs[word]
            total -= smoothing * sum(logs) / 5
    mine = loss(logits, torch.tensor(out), smoothing)
    assert mine.item() == pytest.approx(total, rel=1e-6)


def test_padding_does_not_count():
    logits = torch.randn(2, 4, 6, requires_grad=True)
    out = torch.tensor([[4, 3, 0, 0], [5, 4, 4, 3]])
    loss(logits, out, 0.1).backward()
    grads = logits.grad.abs().sum(-1)
    assert ((grads > 0) == (out != 0)).all()


def test_validation_loss_is_per_word_whatever_the_batches():
    model = model_of()
    total = count = 0
    for pair in PAIRS:
        batch = collate([pair], SOURCE, TARGET)
        logits = model(batch.source, batch.target_in)
        total += loss(logits, batch.target_out).item()
        count += len(pair.target) + 1
    for size in (1, 3, 100):
        found = validation_loss(model, PAIRS, SOURCE, TARGET, size)
        assert found == pytest.approx(total / count, rel=1e-5)


def test_learning_rate():
    config = TrainingConfig(learning_rate=2.0, warmup=4)
    rates = [learning_rate(config, step, 10) for step in range(12)]
    rise = [0.25, 0.5, 0.75] + [1.0] * 9
    fall = [1 - step / 10 for step in range(10)] + [0.0, 0.0]
    expected = [2 * a * b for a, b in zip(rise, fall, strict=True)]
    assert rates == pytest.approx(expected)
    assert learning_rate(replace(config, warmup=0), 0, 10) == 2.0


def test_a_batch_is_sorted_by_pieces_where_there_are_pieces(
    tmp_path, monkeypatch
):
    words = [["ab" * n, "a" * n] for n in range(1, 41)]  # two words, always
    pairs = [Pair(each, each) for each in words]
    pieces = Subwords.learn([["a", "b", "ab"]] * 9, 12)
    seen = []

    def look(run, batch, steps):
        seen.append((batch.target_out != PAD).sum(1))
        run.progress.step += 1
        run.progress.done += 1
        run.progress.tokens += 1

    monkeypatch.setattr(training, "train_step", look)
    model, size = model_of(), len(pieces)
    model.config = replace(model.config, source_vocab=size, target_vocab=size)
    train(
        model,
        lambda epoch: pairs,
        pieces,
        pieces,
        TrainingConfig(epochs=1, batch=4),
        tmp_path,
        lambda model: {"score": 0.0},
    )
    seen.sort(key=min)
    assert len(seen) == 10
    for shorter, longer in pairwise(seen):
        assert shorter.max() <= longer.min()


def test_a_step_clips_the_gradient_and_takes_the_rate(tmp_path):
    run = Run(model_of(), replace(TINY, clip=1e-3), tmp_path)
    batch = collate(PAIRS, SOURCE, TARGET)
    before = run.model.readout.output.bias.clone()
    training.train_step(run, batch, steps=10)
    norm = sum(p.grad.square().sum() for p in run.model.parameters()).sqrt()
    assert norm.item() == pytest.approx(1e-3, rel=1e-3)
    rate = learning_rate(run.config, 0, 10)
    moved = (run.model.readout.output.bias - before).abs().max().item()
    assert moved == pytest.approx(rate, rel=0.05)  # Adam's first step


def transformer() -> Transformer:
    sizes = dict(d_model=16, heads=2, layers=2, d_ff=32)
    torch.manual_seed(0)
    return Transformer(TransformerConfig(len(SOURCE), len(TARGET), **sizes))


# Packing wants the lengths on the CPU and sends an order back, which
# unpacking fetches.
@pytest.mark.parametrize(("make", "waits"), [(transformer, 0), (model_of, 3)])
def test_a_step_does_not_wait_for_the_gpu(make, waits, tmp_path, monkeypatch):
    # It sends its factor to where the weights are, by what C++ says: here.
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: None)
    monkeypatch.setattr(torch.backends.cudnn, "is_acceptable", lambda _: False)
    batch = collate(PAIRS, SOURCE, TARGET)
    with stand_in.StandIn():
        run = Run(make().to("cuda"), TINY, tmp_path)
        training.train_step(run, batch, 10)
        before = stand_in.WAITS, stand_in.COUNT
        training.train_step(run, batch, 10)
        assert stand_in.WAITS - before[0] == waits
        assert stand_in.COUNT > before[1] + 100  # so it was there
        assert run.progress.loss == 0 == run.progress.seconds
        before = stand_in.WAITS
        run.settle()
        assert stand_in.WAITS == before + 1
    assert run.progress.loss > 0 and run.progress.seconds > 0


def test_validation_waits_for_the_gpu_once(tmp_path):
    with stand_in.StandIn():
        model = transformer().to("cuda")
        before = stand_in.WAITS
        validation_loss(model, PAIRS, SOURCE, TARGET, size=1)
        assert stand_in.WAITS == before + 1


def test_a_settlement_counts_neither_twice_nor_what_is_between(tmp_path):
    run, batch = Run(model_of(), TINY, tmp_path), collate(PAIRS, SOURCE, TARGET)
    training.train_step(run, batch, 10)
    run.settle()
    first = asdict(run.progress)
    time.sleep(0.2)  # as if it validated
    run.settle()
    assert asdict(run.progress) == first
    begun = time.perf_counter()
    training.train_step(run, batch, 10)
    run.settle()
    spent = time.perf_counter() - begun
    assert first["seconds"] < run.progress.seconds
    assert run.progress.seconds <= first["seconds"] + spent
    assert run.progress.loss > first["loss"] > 0


DEVICE = training.device  # as it is, before the fixture `on_the_cpu`


@pytest.mark.parametrize(("there", "kind"), [(True, "cuda"), (False, "cpu")])
def test_the_device_is_the_gpu_if_there_is_one(monkeypatch, there, kind):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert DEVICE().type == kind


def test_a_gpu_s_recurrence_is_not_rounded(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    DEVICE()
    assert not torch.backends.cudnn.allow_tf32


def test_numbers_too_small_to_be_normal_are_0_while_it_trains(tmp_path):
    def tiny():
        return (torch.tensor([1e-30]) * torch.tensor([1e-12])).item()

    seen = []

    def validate(model):
        seen.append(tiny())
        return held_out(model)

    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot be told")
    train(model_of(), pairs_of, SOURCE, TARGET, TINY, tmp_path, validate)
    assert set(seen) == {0.0} and tiny() > 0


@pytest.mark.cuda
@pytest.mark.parametrize("kind", [Bottleneck, RNNsearch])
def test_trains_on_cuda(kind, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    model = model_of(kind).cuda()
    config = replace(TINY, epochs=40, learning_rate=2e-2, patience=40)
    progress = train(
        model, lambda _: PAIRS, SOURCE, TARGET, config, tmp_path, held_out
    )
    assert progress.curve[-1]["loss"] < 0.5 * progress.curve[0]["loss"]


@pytest.mark.cuda
def test_a_step_on_cuda_waits_for_nothing(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    run = Run(transformer().cuda(), TINY, tmp_path)
    batch = collate(PAIRS, SOURCE, TARGET)
    training.train_step(run, batch, 10)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            training.train_step(run, batch, 10)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    run.settle()
    assert run.progress.loss > 0


@pytest.mark.cuda
def test_a_run_goes_from_cuda_to_the_cpu_and_back(tmp_path):
    """Adam counts its steps on either; a checkpoint fits both."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    batch = collate(PAIRS, SOURCE, TARGET)
    for steps, place in enumerate(("cuda", "cpu", "cuda"), start=1):
        run = Run(transformer().to(place), TINY, tmp_path)
        training.train_step(run, batch, 10)
        run.save()
        assert run.progress.step == steps


def test_a_run_whose_weights_are_no_numbers_stops_and_keeps_its_best(
    tmp_path, monkeypatch
):
    model, step = model_of(), training.train_step

    @wraps(step)
    def diverging(run, *more):
        if run.progress.epoch == 1:
            model.target_embedding.weight.data.fill_(math.nan)
        step(run, *more)

    monkeypatch.setattr(training, "train_step", diverging)
    given = pairs_of, SOURCE, TARGET, TINY, tmp_path, held_out
    for _ in range(2):  # and so it does when it is taken up again
        progress = train(model, *given)
        assert progress.epoch == progress.best_epoch == 1
        assert all(p.isfinite().all() for p in model.parameters())


if __name__ == "__main__":
    begun = time.perf_counter()
    main(Path(sys.argv[1]), *sys.argv[2:])
    print(f"{time.perf_counter() - begun:.1f} s", file=sys.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux's kernel")
@pytest.mark.nightly
def test_memory_that_is_freed_stays_with_the_process():
    code = """
import resource, torch
from lookback.lab import training
training.keep_memory()
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    tensors = torch.ones(10_000_000), torch.ones(9_000_000)
    del tensors
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    pages = [int(line) for line in run.stdout.split()]
    assert pages[0] > 10_000 and pages[-1] < 100
