"""The experiments on one matrix, and what the page says of their records."""

from dataclasses import replace

import pytest
import torch
from saying import said

from lookback.experiments import (
    capacity,
    decay,
    linear_attention,
    linear_cross_attention,
)
from lookback.fastweights import (
    delta,
    draw_features,
    favor,
    gated_delta,
    recall,
    remember,
)
from lookback.lab import records
from lookback.linear_cross_attention import (
    RULES,
    LinearTranslator,
    LinearTranslatorConfig,
)
from lookback.scores import unit


def test_a_task_binds_each_key_so_often_and_asks_for_the_last():
    said(
        "fastweights",
        "16 keys, each bound three times; the correct answer is the last value",
    )
    torch.manual_seed(0)
    for bound in (1, 3):
        keys, values, asked, truth = capacity.task(4, bound)
        assert keys.shape == values.shape == (4, capacity.PAIRS)
        for b in range(4):
            counts = keys[b].bincount()
            assert counts.eq(bound).all()
            last = dict(zip(keys[b].tolist(), values[b].tolist(), strict=True))
            assert [last[int(k)] for k in asked[b]] == truth[b].tolist()


@pytest.mark.parametrize("rule", [*capacity.RULES, *capacity.GATED])
def test_what_is_taken_is_what_the_rules_read(rule):
    """Code: the rules of the experiment."""
    torch.manual_seed(0)
    key, value = torch.randn(2, 2, 5, 4, dtype=torch.float64)
    query = torch.randn(2, 3, 4, dtype=torch.float64)
    beta = torch.rand(2, 5, dtype=torch.float64)
    found = capacity.taken(rule, query, key, beta, 2.0, 0.9) @ value
    keep = torch.full((2, 5), 0.9, dtype=torch.float64)
    if rule == "softmax":
        truth = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, scale=2.0
        )
    elif rule == "sum":
        truth = query @ remember(key, beta[..., None] * value).mT
    elif rule == "delta":
        truth = query @ delta(key, value, beta).mT
    elif rule == "gated delta":
        truth = query @ gated_delta(key, value, beta, keep).mT
    elif rule == "decay":
        W = torch.zeros(2, 4, 4, dtype=torch.float64)
        for i in range(5):
            W = 0.9 * W + beta[:, i, None, None] * (
                value[:, i, :, None] * key[:, i, None, :]
            )
        truth = query @ W.mT
    else:
        phi = [torch.where(x > 0, x + 1, x.exp()) for x in (query, key)]
        w = phi[0] @ phi[1].mT
        truth = w @ value / w.sum(-1, keepdim=True)
    torch.testing.assert_close(found, truth)


def test_the_nearest_stored_value():
    said("fastweights", "our count is about the nearest value")
    value = torch.eye(3)[None]
    answer = torch.tensor([[[0.1, 0.9, 0.0], [5.0, 1.0, 4.9]]])
    assert capacity.nearest(answer, value).tolist() == [[1, 0]]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "module", [capacity, decay, linear_attention, linear_cross_attention]
)
def test_it_runs_resumes_and_writes_its_record(module, tmp_path, monkeypatch):
    """Code: a run, at a toy's size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    small = {
        capacity: {"STORED": (4,), "DRAWS": 2, "UPDATES": 2, "SEEDS": 2},
        decay: {"SEEDS": 2},
        linear_attention: {
            "LENGTHS": (8, 16),
            "ROUNDS": 1,
            "FEATURES": (2, 4),
            "DRAWS": 2,
        },
        linear_cross_attention: {
            "PAIRS": 20,
            "TESTS": 8,
            "CLAUSES": (1,),
            "LONG": 2,
            "HELD_OUT": 4,
            "KINDS": {"sum": ("sum", 16), "delta, wide": ("delta", 64)},
            "TRAINING": replace(
                linear_cross_attention.TRAINING, epochs=1, batch=8
            ),
        },
    }[module]
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)
    if module is decay:
        for name, value in {"STORED": (4,), "DRAWS": 2, "UPDATES": 2}.items():
            monkeypatch.setattr(capacity, name, value)
    arguments = ["--seeds", "2"] if module is linear_cross_attention else []
    module.main(arguments)
    name = module.__name__.rsplit(".")[-1]
    results = records.load(name)["results"]
    if module is linear_cross_attention:
        assert len(results["delta, wide"]["runs"]) == 2
        wide = results["delta, wide"]["runs"][0]["config"]
        assert (wide["rule"], wide["d_k"]) == ("delta", 64)
    elif module is decay:
        assert set(results) == {"given", *decay.LEARNED}
    elif module is capacity:
        assert set(results) == {"given", *capacity.LEARNED}
        assert len(results["once, sum"]["each"]) == 2
    else:
        assert set(results["speed"]["seconds"]) == {
            "softmax",
            "fused",
            "linear",
        }
        return  # times are measured anew
    if module is linear_cross_attention:
        monkeypatch.setattr(module, "fit_phrases", None)
    else:
        monkeypatch.setattr(capacity, "Pairs", None)
    module.main(arguments)
    assert records.load(name)["results"] == results


# What the page says of the records


@pytest.fixture(scope="module")
def held():
    record = records.load("capacity")
    assert record["seeds"] == [0, 1, 2, 3, 4]
    return record["results"]


def test_given_the_sum_rule_holds_more_and_the_delta_rule_is_nearer(held):
    said("fastweights", "The sum rule holds more than the delta rule with")
    said("fastweights", "they lie closer to the stored values")
    said("fastweights", "has almost none, softmax all")
    for n in ("16", "32", "64", "128"):
        row = held["given"][n]
        assert min(row["sum"]["right"]["each"]) > max(
            row["delta"]["right"]["each"]
        )
        assert (
            row["delta 0.1"]["right"]["mean"]
            > (row["delta 0.5"]["right"]["mean"])
        )
        assert row["delta 0.5"]["right"]["mean"] > row["delta"]["right"]["mean"]
        assert row["delta"]["error"]["mean"] < row["sum"]["error"]["mean"]
        assert row["softmax"]["right"]["mean"] > 0.999
        guess = row["positive"]["right"]["mean"] * int(n)
        assert 0.9 < guess < 1.2  # one of all
    row = held["given"]["64"]
    said(
        "fastweights",
        "it gets … of 64 pairs right, against the sum rule's …",
    )
    assert row["delta 0.1"]["right"]["mean"] >= row["sum"]["right"]["mean"]
    said("fastweights", "The delta rule thus offers hardly any extra room")
    said("fastweights", "It holds hardly more than the sum rule")
    for n in ("16", "32", "64", "128"):
        tenth, whole = (held["given"][n][k]["right"]["mean"] for k in
                        ("delta 0.1", "sum"))  # fmt: skip
        assert tenth < whole + 0.03
    old = held["given"]["64"]["delta"]
    said("fastweights", "by the delta rule 0.96 and 0.07")
    assert round(old["newest"]["mean"], 2) == 0.96
    assert round(old["oldest"]["mean"], 2) == 0.07
    even = held["given"]["64"]["sum"]
    said(
        "fastweights",
        "The sum rule takes nothing back, and treats old and new alike",
    )
    assert abs(even["newest"]["mean"] - even["oldest"]["mean"]) < 0.02


def test_the_seeds_agree_within_a_point(held, decayed):
    said("fastweights", "deviation over seeds is at most one percentage point")
    columns = ("sum", "delta", "positive", "softmax")
    for n, row in held["given"].items():
        spreads = [row[rule]["right"]["spread"] for rule in columns]
        spreads.append(decayed["given"][n]["decay"]["right"]["spread"])
        assert max(spreads) < 0.01
    said("fastweights", "with standard deviations as small as before")
    learned = [held[name] for name in capacity.LEARNED]
    learned += [decayed[name] for name in decay.LEARNED]
    assert max(one["spread"] for one in learned) < 0.01


def test_an_old_pair_loses_one_direction_at_each_write():
    said("fastweights", "so of an old pair's answer $(31/32)^t$ is left")
    torch.manual_seed(0)
    draws, d, n = 400, 32, 20
    key = torch.nn.functional.normalize(
        torch.randn(draws, n + 1, d, dtype=torch.float64), dim=-1
    )
    value = torch.zeros(draws, n + 1, 1, dtype=torch.float64)
    value[:, 0] = 1  # only the first pair writes anything
    W = delta(key, value, torch.ones(draws, n + 1, dtype=torch.float64))
    kept = recall(W, key[:, 0]).mean()
    assert abs(float(kept) - (31 / 32) ** n) < 0.02


def test_old_answers_of_the_delta_rule_shrink_and_those_of_a_sum_do_not():
    said("fastweights", "An old answer of the delta rule has shrunk towards 0")
    said("fastweights", "the sum rule's answers keep their values at full size")
    torch.manual_seed(0)
    key, value = unit(torch.randn(2, 100, 32, 32, dtype=torch.float64))
    kept, noise = {}, {}
    for rule in ("sum", "delta"):
        full = torch.ones(100, 32, dtype=torch.float64)
        answer = capacity.taken(rule, key, key, full, capacity.SHARP) @ value
        part = (answer * value).sum(-1, keepdim=True)
        kept[rule] = float(part[:, :8].mean())
        noise[rule] = float((answer - part * value)[:, :8].norm(dim=-1).mean())
    assert kept["delta"] < 0.5 and abs(kept["sum"] - 1) < 0.05
    said("fastweights", "of the value is small against the crosstalk")
    assert kept["delta"] < 0.6 * noise["delta"]
    said("fastweights", "Crosstalk carries them farther off")
    assert noise["delta"] < noise["sum"] < 1.1 * kept["sum"]


@pytest.fixture(scope="module")
def decayed():
    return records.load("decay")["results"]


def test_given_a_decay_leaves_the_newest(held, decayed):
    said("fastweights", "With a decay nearly all of the newest and a tenth")
    said("fastweights", "fade at the same pace, so the newest survive")
    row = decayed["given"]["64"]["decay"]
    assert row["newest"]["mean"] > 0.95 and 0.05 < row["oldest"]["mean"] < 0.15
    said("fastweights", "multiplied by $31/32$ before each write")
    assert records.load("decay")["config"]["decay"] == 31 / 32
    row = held["given"]["64"]["sum"]
    assert row["newest"]["mean"] < 0.9


def test_elu_fails_because_of_the_keys(held, decayed):
    said("fastweights", "Subtract the mean from the features, and the sum rule")
    assert decayed["given"]["32"]["centred"]["right"]["mean"] > 0.97


def test_a_learned_decay_tells_old_from_new(held, decayed):
    said("fastweights", "fading tells old from new")
    gated = decayed["again, decay"]["each"]
    assert len(gated) == 5
    assert min(gated) > 2 * max(held["again, sum"]["each"])
    said("fastweights", "With a learned decay the sum rule has")
    least = min(held["again, delta"]["each"])
    assert least - 0.1 < min(gated) <= max(gated) < least
    said("fastweights", "training set it to …, and nothing changed")
    for name, bare in (
        ("again, gated delta", "again, delta"),
        ("once, decay", "once, sum"),
    ):
        assert min(decayed[name]["alpha"]["each"]) > 0.998
        assert abs(decayed[name]["mean"] - held[bare]["mean"]) < 0.01


def test_learned_once_the_delta_rule_makes_itself_a_sum_rule(held):
    once = {rule: held[f"once, {rule}"] for rule in RULES}
    said("fastweights", "In the task once, softmax gets everything right")
    assert min(once["softmax"]["each"]) > 0.999
    said("fastweights", "The sum rule and the delta rule are even")
    assert abs(once["sum"]["mean"] - once["delta"]["mean"]) < 0.02
    said("fastweights", "the delta rule makes itself a sum rule")
    assert max(once["delta"]["beta"]["each"]) < 0.06
    assert once["positive"]["mean"] < 0.4


def test_bound_again_only_the_delta_rule_is_not_near_a_third(held):
    said("fastweights", "get about a third right: the score of a guess among")
    for rule in ("sum", "softmax"):
        assert all(0.33 < x < 0.37 for x in held[f"again, {rule}"]["each"])
    said("fastweights", "holds fewer pairs in once too, stays below even that")
    assert max(held["again, positive"]["each"]) < 0.3
    assert max(held["once, positive"]["each"]) < min(held["once, sum"]["each"])
    said("fastweights", "The delta rule has …, and … if keys have … numbers")
    assert min(held["again, delta"]["each"]) > 0.85
    assert min(held["again, delta, wide"]["each"]) > 0.999
    said(
        "fastweights",
        "Softmax gets there too, with keys of … numbers, if each key",
    )
    assert min(held["again, softmax, places"]["each"]) > 0.99
    assert capacity.LEARNED["again, softmax, places"][2] == capacity.D_K
    said("fastweights", "and to about a third where each came three times")
    assert 0.3 < held["again, delta"]["beta"]["mean"] < 0.4


def test_the_small_run_of_the_page():
    said("fastweights", "After the third pair the sum rule reads $(8, 7.2)$")
    said("fastweights", "The delta rule reads $(5, 5)$")
    keys = torch.tensor([[1.0, 0.0], [0.6, 0.8], [1.0, 0.0]])
    values = torch.tensor([[3.0, 1.0], [0.0, 2.0], [5.0, 5.0]])
    found = recall(remember(keys, values), keys[0])
    torch.testing.assert_close(found, torch.tensor([8.0, 7.2]))
    found = recall(delta(keys, values, torch.ones(3)), keys[0])
    torch.testing.assert_close(found, torch.tensor([5.0, 5.0]))


@pytest.fixture(scope="module")
def timed():
    return records.load("linear_attention")["results"]


def test_linear_attention_is_slower_below_several_hundred_words(timed):
    speed = timed["speed"]
    said("fastweights", "The two cross near 700 words")
    said(
        "fastweights", "On our CPU it is for texts longer than about 700 words"
    )
    said("fastweights", "Below several hundred words the fused softmax")
    assert 650 < speed["crossing"]["fused"] < 750
    said("fastweights", "the fused kernel is about six times as fast")
    assert 5.7 < 1 / speed["ratio"]["64"]["fused"] < 6.3
    said("fastweights", "At 8,192 words linear attention is … times as fast")
    assert speed["ratio"]["8192"]["fused"] > 4
    assert speed["ratio"]["8192"]["softmax"] > 30


def test_where_the_multiplications_would_be_equal():
    d = size = 64
    said("fastweights", "about two multiplications for each number in the")
    step = 2 * d * d  # for each word: write W, read it
    said("fastweights", "needs one for each number in all keys and values")
    said("fastweights", "By multiplications it would be 128, or 256")

    def softmax(n):  # half of the pairs are masked
        return n * n / 2 * 2 * d

    assert softmax(128) == 128 * step
    said("fastweights", "as the chunkwise form needs twice as many")
    chunk = 2 * size * size * d + 2 * size * d * d  # scores, their sum; W
    assert chunk == size * 2 * step and softmax(256) == 256 * 2 * step


def test_random_features_do_worse_than_not_looking(timed):
    lost = timed["features"]
    ways = ("independent", "orthogonal")
    assert lost["0.25"]["independent"]["1024"]["mean"] < 0.12
    said("fastweights", "do worse than not attending")
    said(
        "fastweights",
        "At a spread of 2, even four thousand do not quite match the plain "
        "mean",
    )
    for way in ways:
        sharp = lost["1"][way]["1024"]["mean"]
        assert sharp > lost["1"]["mean of values"]
        level = lost["2"][way]["4096"]["mean"] - lost["2"]["mean of values"]
        assert 0 < level < 0.12
        for row in lost.values():
            errors = [row[way][m]["mean"] for m in row[way]]
            assert errors[0] > errors[-1]


def test_the_median_of_the_draws_is_far_too_small():
    torch.manual_seed(0)
    typical, share = [], []
    for size in (0.25, 4.0):
        q, k = (size / 4) ** 0.5 * torch.randn(2, 100, 16, dtype=torch.float64)
        draws = [draw_features(16, 16) for _ in range(300)]
        found = torch.stack(
            [(favor(q, w) * favor(k, w)).sum(-1) for w in draws]
        )
        factor = found / (q * k).sum(-1).exp()
        typical.append(float(factor.median()))
        share.append(float((factor < 1).double().mean()))
    said(
        "fastweights",
        "a few samples are enormous, and the others far too small",
    )
    assert typical[0] > 0.8 and typical[1] < 0.01
    said(
        "fastweights", "Where scores are large nearly every sample is too small"
    )
    assert share[0] < 0.7 and share[1] > 0.95


@pytest.fixture(scope="module")
def translators():
    return records.load("linear_cross_attention")["results"]


def test_softmax_is_far_ahead_and_the_two_matrices_are_even(translators):
    scores = {rule: translators[rule]["bleu"] for rule in RULES}
    assert all(len(one["each"]) == 3 for one in scores.values())
    others = [x for r in RULES[1:] for x in scores[r]["each"]]
    said("fastweights", "Softmax is far ahead with every seed")
    assert min(scores["softmax"]["each"]) > max(others) + 15
    gap = abs(scores["sum"]["mean"] - scores["delta"]["mean"])
    said(
        "fastweights", "that three seeds cannot say which of the two is better"
    )
    assert gap < min(scores["sum"]["spread"], scores["delta"]["spread"])
    ways = {rule: translators[rule]["aer"]["mean"] for rule in RULES}
    straight = translators["softmax"]["runs"][0]["aer_diagonal"]
    said("fastweights", "only softmax's largest weights were aligned better")
    assert ways["softmax"] < straight < min(ways[r] for r in RULES[1:])


def test_the_matrix_is_as_large_as_fourteen_pairs(translators):
    said("fastweights", "as many numbers as the keys and values of 14 words")
    assert 16 * 128 // (16 + 128) == 14
    for rule in RULES:
        one = translators[rule]["runs"][0]
        model = LinearTranslator(LinearTranslatorConfig(**one["config"]))
        assert sum(p.numel() for p in model.parameters()) == one["parameters"]
        assert one["config"]["d_k"] == 16 and one["config"]["hidden"] == 64
    curves = [run["curve"] for r in RULES[1:] for run in translators[r]["runs"]]
    rising = [c[-1]["score"] > c[-3]["score"] for c in curves]
    said("fastweights", "were still learning when the budget ended")
    assert all(rising)  # still learning


def test_the_exercises_beta_grows_with_what_is_to_be_forgotten(held):
    said("fastweights", "For one it is … in the record's five seeds, for three")
    once, again = held["once, delta"]["beta"], held["again, delta"]["beta"]
    assert [round(x, 2) for x in once["each"]] == 5 * [0.04]
    assert all(0.33 < x < 0.36 for x in again["each"])


def test_room_in_the_keys_changes_next_to_nothing(translators):
    said("fastweights", "change BLEU by less than five points either way")
    for rule in RULES:
        narrow = translators[rule]["bleu"]["each"]
        wide = translators[f"{rule}, wide"]["bleu"]["each"]
        for one, other in zip(narrow, wide, strict=False):
            assert abs(one - other) < 5
        config = translators[f"{rule}, wide"]["runs"][0]["config"]
        assert config["d_k"] == 4 * 16
